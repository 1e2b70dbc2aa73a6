"""The session archive: the record of a session that ended or was cut off (G2)."""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Final

from passdown.core.documents.documents import TAIL, DocumentFormat, DocumentShape, key_line
from passdown.core.documents.fields import in_key, in_section, in_sections
from passdown.core.documents.frontmatter import split_front_matter
from passdown.core.documents.markdown import find_rule
from passdown.core.documents.outlines import Outline
from passdown.core.documents.places import ListOf, Omittable, rows_of
from passdown.core.ids import fold_id
from passdown.core.kinds import CARRIED
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Problem, Unknown, warning
from passdown.core.times import parse_instant, render_archive_stamp
from passdown.records import field, record, replace

VERSION: Final = 1
LEDGER: Final = TAIL
"""The place of the whole ledger at the end of older archives."""

_SECOND_FRONT: Final = pattern(r"---[ \t]*\r?\n(?:(?!---)[^\n]*\n)*?(?:updated|session_id):")
_NAME: Final = pattern(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[-T]([0-9]{2})-([0-9]{2})-([a-z0-9._-]+)\.md")
_NUMBER: Final = pattern(r"-[0-9]+$")


class ArchiveStatus(StrEnum):
    """The state of the session when it was archived."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    HANDOFF = "handoff"


_STATUSES: Final = MappingProxyType(
    {
        "manual": ArchiveStatus.COMPLETE,
        "pre-compact": ArchiveStatus.HANDOFF,
        "session-end": ArchiveStatus.COMPLETE,
        "stale": ArchiveStatus.INTERRUPTED,
        "track-switch": ArchiveStatus.HANDOFF,
        "track-complete": ArchiveStatus.COMPLETE,
    }
)
TRIGGERS: Final = (
    *_STATUSES,
    *("checkpoint", "milestone", "token-budget", "design-end", "epic-start", "epic-end"),
    *("pre-finish", "idle"),
)
_TRIGGER: Final = pattern(rf"({'|'.join(sorted(TRIGGERS, key=len, reverse=True))})(?:-.*)?")


@record
class ArchiveDecision:
    """A row of Key Decisions."""

    decision: Annotated[str, "What was chosen."]
    reasoning: Annotated[str, "Why."] = ""


@record
class Artifact:
    """A file, with its change or its purpose."""

    file: Annotated[str, "Path within the project."]
    note: Annotated[str, "The change, or the purpose."] = ""


@record
class Archive:
    """The record of one session, for the sessions after it."""

    date: Annotated[datetime | None, "When it was archived.", in_key(required=True)] = None
    session_id: Annotated[str | None, "The session.", in_key(required=True)] = None
    trigger: Annotated[str | None, "What caused it: manual, session-end, stale, …", in_key(required=True)] = (
        None
    )
    status: Annotated[ArchiveStatus | None, "The state of the session.", in_key(required=True)] = None
    track: Annotated[str | None, "The track it was bound to.", in_key()] = None
    events: Annotated[
        tuple[str, ...],
        "The events with the facts of the session, which are not repeated here; then empty sections are left "
        "out.",
        in_key(),
    ] = ()
    title: Annotated[str, "The document's title."] = "Session Handoff"
    summary: Annotated[str, "What happened, in one or two sentences.", in_section("Summary")] = ""
    completed: Annotated[tuple[str, ...], "Finished work.", in_section("Completed")] = ()
    in_progress: Annotated[tuple[str, ...], "Unfinished work.", in_section("In Progress")] = ()
    blocked: Annotated[
        tuple[str, ...],
        "Work that cannot continue.",
        in_section("Blocked", ListOf(str, str, nothing="- None")),
    ] = ()
    next_steps: Annotated[
        tuple[str, ...], "The next steps, in order.", in_section("Next Steps", ListOf(str, str, mark="1. "))
    ] = ()
    decisions: Annotated[
        tuple[ArchiveDecision, ...],
        "Decisions with their reasons.",
        in_section("Key Decisions", rows_of(ArchiveDecision, "Decision", "Reasoning")),
    ] = ()
    modified: Annotated[
        tuple[Artifact, ...],
        "Changed files.",
        in_section("Artifacts/Modified", rows_of(Artifact, "File", "Change")),
    ] = ()
    created: Annotated[
        tuple[Artifact, ...],
        "Created files.",
        in_section("Artifacts/Created", rows_of(Artifact, "File", "Purpose")),
    ] = ()
    context: Annotated[str, "What the next session should know.", in_section("Context for Next Session")] = ""
    questions: Annotated[tuple[str, ...], "Open questions.", in_section("Open Questions")] = ()
    further_facts: Annotated[
        tuple[tuple[str, tuple[str, ...]], ...],
        "Facts of further kinds, by section.",
        in_sections(tuple(kind.row.heading for kind in CARRIED)),
    ] = ()
    unknown: Annotated[tuple[Unknown, ...], "Text that no field holds, verbatim."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


def archive_status(trigger: str) -> ArchiveStatus:
    """Return the status for a trigger; the default is a handoff."""
    return _STATUSES.get(trigger, ArchiveStatus.HANDOFF)


def archive_file_name(at: datetime, trigger: str, agent: str, number: int = 0) -> str:
    """Return the file name of an archive; a second one by the agent in the same minute gets a number.

    The name includes the agent; otherwise two clones that archive in the same minute would conflict (C116).
    """
    parts = (render_archive_stamp(at), fold_id(trigger), *([fold_id(agent)] if agent else ()))
    return f"{'-'.join(parts)}{f'-{number}' if number else ''}.md"


def parse_archive_file_name(name: str) -> tuple[datetime, str] | None:
    """Return the instant and trigger from an archive's file name; older forms are read too.

    Older forms have no agent, and some have a `T` before the time. A trigger that is not in `TRIGGERS` cannot
    be separated from the agent after it, so both are returned.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    day, hour, minute, rest = match.groups()
    at, known = parse_instant(f"{day}T{hour}:{minute}:00Z"), _TRIGGER.fullmatch(rest)
    return (at, known[1] if known else _NUMBER.sub("", rest)) if at else None


def _cut_ledger(text: str) -> tuple[str, str]:
    """Split off the whole ledger at the end of older archives, whose sections are not the archive's."""
    body = len(text) - len(split_front_matter(text).body)
    at = find_rule(text[body:])
    if at < 0 or not _SECOND_FRONT.match(text, body + at):
        return text, ""
    return text[: body + at], text[body + at :]


def _judge(text: str, archive: Archive) -> Iterator[Problem]:
    """Find problems in values that could be read."""
    trigger, status = archive.trigger, archive.status
    if trigger is not None and trigger not in TRIGGERS:
        hint = "use one of " + ", ".join(TRIGGERS)
        yield warning(key_line(text, "trigger"), "trigger", f"is not a known trigger: {trigger[:40]}", hint)
    wanted = _STATUSES.get(trigger or "")
    if wanted is not None and status is not None and status is not wanted:
        shown = f"is {status.value}, but the trigger {trigger} means {wanted.value}"
        yield warning(key_line(text, "status"), "status", shown)


class _ShortFormat(DocumentFormat[Archive]):
    """The format of archives that name events: only the summary is always there."""

    @cached_property
    def shape(self) -> DocumentShape:
        """The parts of the documents, all but the first optional."""
        whole = super().shape
        first, *others = whole.outline.places
        optional = (replace(one, codec=Omittable(one.codec), required=False) for one in others)
        return replace(whole, outline=Outline((first, *optional)))


FORMAT: Final = DocumentFormat(Archive, "archive", VERSION, _judge, title="Session Handoff", cut=_cut_ledger)
_SHORT: Final = _ShortFormat(Archive, "archive", VERSION, _judge, title="Session Handoff", cut=_cut_ledger)


def parse_archive(text: str) -> Archive:
    """Read an archive without losing anything; `problems` lists what is wrong.

    Raises `FormatError` if the text is too large or newer than this reader.
    """
    archive = FORMAT.parse(text)
    return _SHORT.parse(text) if archive.events else archive


def render_archive(archive: Archive) -> str:
    """Write an archive; one that was read keeps every byte outside the places whose value changed."""
    return _form_of(archive).render(archive)


def fix_archive(archive: Archive) -> str:
    """Write an archive that was read, repairing what is safe to repair."""
    return _form_of(archive).fix(archive)


def _form_of(archive: Archive) -> DocumentFormat[Archive]:
    return _SHORT if archive.events else FORMAT
