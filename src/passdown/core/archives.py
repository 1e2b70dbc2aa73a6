"""The session archive record: what a session left behind when it ended or was cut off (G2)."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from passdown.core.documents import (
    Content,
    Found,
    Shape,
    fix_document,
    read_document,
    refuse_unreadable,
    render_document,
    revise_document,
    write_document,
)
from passdown.core.fields import choice_key, count_key, instant_key, text_key
from passdown.core.frontmatter import split_front_matter
from passdown.core.ids import fold
from passdown.core.markdown import find_rule
from passdown.core.outlines import Outline
from passdown.core.patterns import pattern
from passdown.core.places import Heading, ListOf, Paragraph, Place, TableOf
from passdown.core.problems import Problem, Unknown, warning
from passdown.core.times import parse_instant, render_archive_stamp
from passdown.records import field, record

VERSION: Final = 1
TRIGGERS: Final = (
    "manual",
    "pre-compact",
    "session-end",
    "stale",
    "track-switch",
    "track-complete",
    "checkpoint",
    "milestone",
    "token-budget",
    "design-end",
    "epic-start",
    "epic-end",
    "pre-finish",
    "idle",
)
LEDGER: Final = "ledger"

_SECOND_FRONT: Final = pattern(r"---[ \t]*\r?\n(?:(?!---)[^\n]*\n)*?(?:updated|session_id):")
_NAME: Final = pattern(r"([0-9]{4}-[0-9]{2}-[0-9]{2}[-T][0-9]{2}-[0-9]{2})-([a-z-]+?)(?:-[0-9]+)?\.md")


class ArchiveStatus(StrEnum):
    """How the session stood when it was archived."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    HANDOFF = "handoff"


_PAIRING: Final = (
    ("manual", ArchiveStatus.COMPLETE),
    ("pre-compact", ArchiveStatus.HANDOFF),
    ("session-end", ArchiveStatus.COMPLETE),
    ("stale", ArchiveStatus.INTERRUPTED),
    ("track-switch", ArchiveStatus.HANDOFF),
    ("track-complete", ArchiveStatus.COMPLETE),
)


@record
class ArchiveDecision:
    """A row of Key Decisions."""

    decision: Annotated[str, "What was chosen."]
    reasoning: Annotated[str, "Why."] = ""


@record
class Artifact:
    """A file with what was done to it or what it is for."""

    file: Annotated[str, "Path within the project."]
    note: Annotated[str, "The change, or the purpose."] = ""


@record
class Archive:
    """The record of one session, for whoever comes after."""

    date: Annotated[datetime | None, "When it was archived."] = None
    session_id: Annotated[str | None, "The session."] = None
    trigger: Annotated[str | None, "What made it: manual, session-end, stale, …"] = None
    status: Annotated[ArchiveStatus | None, "How the session stood."] = None
    track: Annotated[str | None, "The track it was bound to."] = None
    title: Annotated[str, "The document's title."] = "Session Handoff"
    summary: Annotated[str, "What happened, in one or two sentences."] = ""
    completed: Annotated[tuple[str, ...], "What is finished."] = ()
    in_progress: Annotated[tuple[str, ...], "What is half done."] = ()
    blocked: Annotated[tuple[str, ...], "What cannot go on."] = ()
    next_steps: Annotated[tuple[str, ...], "What to do next, in order."] = ()
    decisions: Annotated[tuple[ArchiveDecision, ...], "Choices with their reasons."] = ()
    modified: Annotated[tuple[Artifact, ...], "Files changed."] = ()
    created: Annotated[tuple[Artifact, ...], "Files made."] = ()
    context: Annotated[str, "What the next session should know."] = ""
    questions: Annotated[tuple[str, ...], "What is open."] = ()
    unknown: Annotated[tuple[Unknown, ...], "What no field holds, verbatim."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


def _read_artifact(cells: list[str]) -> Artifact:
    return Artifact(file=cells[0], note=cells[1])


def _write_artifact(one: Artifact) -> tuple[str, str]:
    return one.file, one.note


def _read_decision(cells: list[str]) -> ArchiveDecision:
    return ArchiveDecision(decision=cells[0], reasoning=cells[1])


_DATE: Final = instant_key("date", required=True)
_SESSION: Final = text_key("session_id", required=True)
_TRIGGER: Final = text_key("trigger", required=True)
_STATUS: Final = choice_key("status", ArchiveStatus, required=True)
_TRACK: Final = text_key("track")
_FORMAT: Final = count_key("format")

_TEXTS: Final[ListOf[str]] = ListOf(str, str)
_SUMMARY: Final = Place("Summary", Paragraph(), "## Summary", "\n\n")
_COMPLETED: Final = Place("Completed", _TEXTS, "## Completed", "\n\n")
_IN_PROGRESS: Final = Place("In Progress", _TEXTS, "## In Progress", "\n\n")
_BLOCKED: Final = Place("Blocked", ListOf(str, str, nothing="- None"), "## Blocked", "\n\n")
_NEXT: Final = Place("Next Steps", ListOf(str, str, mark="1. "), "## Next Steps", "\n\n")
_DECISIONS: Final = Place(
    "Key Decisions",
    TableOf(("Decision", "Reasoning"), _read_decision, lambda one: (one.decision, one.reasoning)),
    "## Key Decisions",
    "\n\n",
)
_ARTIFACTS: Final = Place("Artifacts", Heading(), "## Artifacts")
_MODIFIED: Final = Place(
    "Artifacts/Modified", TableOf(("File", "Change"), _read_artifact, _write_artifact), "### Modified"
)
_CREATED: Final = Place(
    "Artifacts/Created", TableOf(("File", "Purpose"), _read_artifact, _write_artifact), "### Created"
)
_CONTEXT: Final = Place("Context for Next Session", Paragraph(), "## Context for Next Session", "\n\n")
_QUESTIONS: Final = Place("Open Questions", _TEXTS, "## Open Questions", "\n\n")

SHAPE: Final = Shape(
    name="archive",
    keys=(_DATE, _SESSION, _TRIGGER, _STATUS, _TRACK, _FORMAT),
    outline=Outline(
        (
            _SUMMARY,
            _COMPLETED,
            _IN_PROGRESS,
            _BLOCKED,
            _NEXT,
            _DECISIONS,
            _ARTIFACTS,
            _MODIFIED,
            _CREATED,
            _CONTEXT,
            _QUESTIONS,
        )
    ),
    title="Session Handoff",
)


def archive_status(trigger: str) -> ArchiveStatus:
    """Return the status that goes with a trigger; one without a rule of its own is a handoff."""
    return dict(_PAIRING).get(trigger, ArchiveStatus.HANDOFF)


def archive_file_name(at: datetime, trigger: str, number: int = 0) -> str:
    """Name an archive; a minute is not precise, so a second one in it gets a number."""
    return f"{render_archive_stamp(at)}-{fold(trigger)}{f'-{number}' if number else ''}.md"


def parse_archive_file_name(name: str) -> tuple[datetime, str] | None:
    """Return instant and trigger of an archive's name; the older form with a `T` is read too."""
    match = _NAME.fullmatch(name)
    at = parse_instant(match[1].replace("T", "-")) if match else None
    return (at, match[2]) if match and at else None


def parse_archive(text: str) -> Archive:
    """Read an archive; nothing is lost, and what is wrong is in `problems`.

    Raises `FormatError` when the text is too large or newer than this reader.
    """
    refuse_unreadable(text, None, 0, SHAPE.name)
    own, ledger = _cut_ledger(text)
    found = read_document(own, SHAPE)
    refuse_unreadable(text, found.key(_FORMAT), VERSION, SHAPE.name)
    return Archive(
        date=found.key(_DATE),
        session_id=found.key(_SESSION),
        trigger=found.key(_TRIGGER),
        status=found.key(_STATUS),
        track=found.key(_TRACK),
        title=found.body.title,
        summary=found.place(_SUMMARY),
        completed=found.place(_COMPLETED),
        in_progress=found.place(_IN_PROGRESS),
        blocked=found.place(_BLOCKED),
        next_steps=found.place(_NEXT),
        decisions=found.place(_DECISIONS),
        modified=found.place(_MODIFIED),
        created=found.place(_CREATED),
        context=found.place(_CONTEXT),
        questions=found.place(_QUESTIONS),
        unknown=found.unknown + ((Unknown(place=LEDGER, text=ledger.rstrip()),) if ledger else ()),
        problems=tuple(sorted([*found.problems, *_judge(text, found)], key=lambda one: one.line)),
        source=text,
    )


def _cut_ledger(text: str) -> tuple[str, str]:
    """Cut off the whole ledger that older archives end with; its sections are not the archive's."""
    body = len(text) - len(split_front_matter(text).body)
    at = find_rule(text[body:])
    if at < 0 or not _SECOND_FRONT.match(text, body + at):
        return text, ""
    return text[: body + at], text[body + at :]


def _judge(text: str, found: Found) -> list[Problem]:
    """Find what is readable and still wrong."""
    trigger, status = found.key(_TRIGGER), found.key(_STATUS)
    problems: list[Problem] = []
    if trigger is not None and trigger not in TRIGGERS:
        hint = "known are " + ", ".join(TRIGGERS)
        problems.append(warning(found.line_of(text, "trigger"), "trigger", f"is {trigger[:40]}", hint))
    wanted = dict(_PAIRING).get(trigger or "")
    if wanted is not None and status is not None and status is not wanted:
        shown = f"is {status.value}, but {trigger} goes with {wanted.value}"
        problems.append(warning(found.line_of(text, "status"), "status", shown))
    return problems


def _content(archive: Archive) -> Content:
    return Content(
        title=archive.title,
        keys=(
            _DATE.holds(archive.date),
            _SESSION.holds(archive.session_id),
            _TRIGGER.holds(archive.trigger),
            _STATUS.holds(archive.status),
            _TRACK.holds(archive.track),
        ),
        places=(
            _SUMMARY.holds(archive.summary),
            _COMPLETED.holds(archive.completed),
            _IN_PROGRESS.holds(archive.in_progress),
            _BLOCKED.holds(archive.blocked),
            _NEXT.holds(archive.next_steps),
            _DECISIONS.holds(archive.decisions),
            _ARTIFACTS.holds(None),
            _MODIFIED.holds(archive.modified),
            _CREATED.holds(archive.created),
            _CONTEXT.holds(archive.context),
            _QUESTIONS.holds(archive.questions),
        ),
        unknown=archive.unknown,
    )


def _write(archive: Archive) -> str:
    return write_document(SHAPE, _content(archive))


def _revise(archive: Archive, source: str, fix: frozenset[str]) -> str:
    own, ledger = _cut_ledger(source)
    return revise_document(own, SHAPE, _content(archive), fix) + ledger


def render_archive(archive: Archive) -> str:
    """Write an archive; one that was read keeps every byte that its values did not change."""
    return render_document(archive, parse_archive, _write, _revise)


def fix_archive(archive: Archive) -> str:
    """Write an archive that was read, with what is safe to repair repaired."""
    return fix_document(archive, _revise)
