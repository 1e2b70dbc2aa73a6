"""All document formats that Passdown reads: how to recognise, read, repair and show them."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final

from passdown import layout
from passdown.core.documents.documents import AnyDocument
from passdown.core.documents.frontmatter import split_entries, split_front_matter
from passdown.core.formats import (
    addressed_handoffs,
    archives,
    change_states,
    events,
    examples,
    history,
    journal,
    ledgers,
    loops,
    session_contexts,
    state_file,
    streams,
    views,
)
from passdown.core.ids import fold_id, parse_event_file_name
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Problem, warning
from passdown.core.schemas import schema_of
from passdown.errors import UsageError
from passdown.records import record


@record
class Format:
    """One document format."""

    name: str
    title: str
    doc: str
    version: int
    paths: tuple[str, ...]
    parse: Callable[[str], AnyDocument]
    renderer: Callable[..., str]
    sample: AnyDocument
    fix: Callable[[str], str] | None = None

    def render(self, document: AnyDocument) -> str:
        """Write a document; raise `TypeError` if it is of another format."""
        kind = type(self.sample)
        if not isinstance(document, kind):
            raise TypeError(f"a {type(document).__name__} is not written as a {kind.__name__}")
        return self.renderer(document)

    def example(self) -> str:
        """Return a valid document."""
        return self.render(self.sample)

    def schema(self) -> dict[str, object]:
        """Return the JSON Schema of a document's fields as `check` returns them."""
        return schema_of(type(self.sample), self.title, self.doc)


LEDGER: Final = Format(
    name="ledger",
    title="Live ledger",
    doc="The running record of one session: goal, done, now, next. Local, ignored by git.",
    version=ledgers.VERSION,
    paths=(f"{layout.LEDGERS}/{layout.LEDGER}", f"{layout.LEDGERS}/<agent>/{layout.LEDGER}"),
    parse=ledgers.parse_ledger,
    renderer=ledgers.render_ledger,
    sample=examples.LEDGER,
    fix=lambda text: ledgers.fix_ledger(ledgers.parse_ledger(text)),
)
STREAM: Final = Format(
    name="stream",
    title="Stream document",
    doc="One piece of work over several sessions, with a Ledger section that is read first. Shared.",
    version=streams.VERSION,
    paths=(f"{layout.HANDOFFS}/<stream>/{layout.CURRENT}",),
    parse=streams.parse_stream,
    renderer=streams.render_stream,
    sample=examples.STREAM,
    fix=lambda text: streams.fix_stream(streams.parse_stream(text)),
)
EVENT: Final = Format(
    name="event",
    title="Event",
    doc="An immutable batch of facts that one session publishes. Shared, never edited.",
    version=events.VERSION,
    paths=(f"{layout.EVENTS}/<stamp>_<agent>.md", f"{layout.EVENTS}/<day>/<stamp>_<agent>.md"),
    parse=events.parse_event,
    renderer=events.render_event,
    sample=examples.EVENT,
)
VIEW: Final = Format(
    name="view",
    title="View",
    doc="All events merged into one document. Can be deleted and rebuilt; do not edit it.",
    version=views.VERSION,
    paths=(layout.VIEW, f"{layout.RUNTIME}/{layout.CURRENT}"),
    parse=views.parse_view,
    renderer=views.render_view,
    sample=examples.VIEW,
)
SESSION_STATE: Final = Format(
    name="session-state",
    title="Session state",
    doc="The state of one session, for tools that read JSON. Local, ignored by git.",
    version=state_file.VERSION,
    paths=(layout.session_state(layout.RUNTIME, "<agent>"),),
    parse=state_file.parse_session_state,
    renderer=state_file.render_session_state,
    sample=examples.SESSION_STATE,
)
ARCHIVE: Final = Format(
    name="archive",
    title="Session archive",
    doc="The record of a session that ended or was cut off, for later sessions. Shared.",
    version=archives.VERSION,
    paths=(
        f"{layout.ARCHIVE}/<minute>-<trigger>-<agent>.md",
        f"{layout.ARCHIVE}/<month>/<minute>-<trigger>-<agent>.md",
    ),
    parse=archives.parse_archive,
    renderer=archives.render_archive,
    sample=examples.ARCHIVE,
    fix=lambda text: archives.fix_archive(archives.parse_archive(text)),
)
JOURNAL: Final = Format(
    name="journal",
    title="Journal",
    doc="A session's facts as they happen, one JSON line each, append-only. Local.",
    version=journal.VERSION,
    paths=(
        f"<git common dir>/{layout.in_git(layout.JOURNALS)}/<session>.jsonl",
        f"<git common dir>/{layout.in_git(layout.JOURNALS)}/{layout.ENDED}/<year-month>/<session>.jsonl",
        f"{layout.RUNTIME}/{layout.JOURNALS}/<session>.jsonl",
    ),
    parse=journal.parse_journal,
    renderer=journal.render_journal,
    sample=examples.JOURNAL,
)
HISTORY: Final = Format(
    name="history",
    title="History",
    doc="What an imported transcript says, one JSON line each after a head. Local, never published.",
    version=history.VERSION,
    paths=(
        f"<git common dir>/{layout.history_folder()}/{layout.history_file('<host>', '<session>')}",
        f"<user state>/{layout.OURS}/{layout.HISTORY}/<project>/{layout.history_file('<host>', '<session>')}",
    ),
    parse=history.parse_history,
    renderer=history.render_history,
    sample=examples.HISTORY,
)
ADDRESSED_HANDOFF: Final = Format(
    name="handoff",
    title="Addressed handoff",
    doc="A text from one agent to another, shown when that one starts. Local; deleted after 24 hours.",
    version=addressed_handoffs.VERSION,
    paths=(f"{layout.RUNTIME}/{layout.handoff_name('<from>', '<to>')}",),
    parse=addressed_handoffs.parse_addressed_handoff,
    renderer=addressed_handoffs.render_addressed_handoff,
    sample=examples.ADDRESSED_HANDOFF,
)
LOOP: Final = Format(
    name="loop",
    title="Loop ledger",
    doc="The turns of one loop of a change, each followed by a slot for a person's feedback. Shared.",
    version=loops.VERSION,
    paths=(layout.loop_ledger(layout.LOOPS, "<change>", "<loop>"),),
    parse=loops.parse_loop,
    renderer=loops.render_loop,
    sample=examples.LOOP,
)
CHANGE_STATE: Final = Format(
    name="change-state",
    title="Change state",
    doc="The progress of a change, and what a person has approved. Shared; people edit it.",
    version=change_states.VERSION,
    paths=(layout.change_state(layout.LOOPS, "<change>"),),
    parse=change_states.parse_change_state,
    renderer=change_states.render_change_state,
    sample=examples.CHANGE_STATE,
    fix=lambda text: change_states.fix_change_state(change_states.parse_change_state(text)),
)
SESSION_CONTEXT: Final = Format(
    name="session-context",
    title="Session context",
    doc="What a session leaves for the next session of the same agent, in one file. Local, ignored by git.",
    version=session_contexts.VERSION,
    paths=(layout.session_context(layout.RUNTIME), layout.session_context(layout.RUNTIME, "<agent>")),
    parse=session_contexts.parse_session_context,
    renderer=session_contexts.render_session_context,
    sample=examples.SESSION_CONTEXT,
    fix=lambda text: session_contexts.fix_session_context(session_contexts.parse_session_context(text)),
)

FORMATS: Final = (
    LEDGER,
    STREAM,
    EVENT,
    VIEW,
    SESSION_STATE,
    ARCHIVE,
    JOURNAL,
    HISTORY,
    ADDRESSED_HANDOFF,
    LOOP,
    CHANGE_STATE,
    SESSION_CONTEXT,
)

_ENDED: Final = rf"(?:{layout.ENDED}/[0-9]{{4}}-[0-9]{{2}}/)?"
_RUNTIME: Final = re.escape(layout.RUNTIME)
_JSON_START: Final = pattern(r"\ufeff?\s*\{")
_PATHS: Final = (
    (pattern(r"(^|/)session-state_[^/]*\.json$"), SESSION_STATE),
    (pattern(rf"(^|/){layout.ADDRESSED}[^/]*_to_[^/]*\.json$"), ADDRESSED_HANDOFF),
    (pattern(rf"(^|/)(?:{layout.OURS}|{_RUNTIME})/{layout.JOURNALS}/{_ENDED}[^/]*\.jsonl$"), JOURNAL),
    (pattern(rf"(^|/){layout.OURS}/{layout.HISTORY}/(?:[0-9a-f]+/)?[^/]+/[^/]*\.jsonl$"), HISTORY),
    (pattern(rf"(^|/){layout.SESSION_CONTEXT}(?:_[^/]*)?\.md$"), SESSION_CONTEXT),
    (pattern(r"(^|/)LEDGER\.md$"), LEDGER),
    (pattern(r"(^|/)sessions/archive/(?:[0-9]{4}-[0-9]{2}/)?[^/]*\.md$"), ARCHIVE),
    (pattern(r"(^|/)events/(?:[0-9-]+/)?[0-9]{4}-[0-9]{2}-[0-9]{2}T[^/]*_[^/]*\.md$"), EVENT),
    (pattern(r"(^|/)handoffs/[^/]+/current\.md$"), STREAM),
    (pattern(rf"(^|/)(?:handoffs|{_RUNTIME})/current\.md$"), VIEW),
    (pattern(rf"(^|/){layout.LOOPS}/[^/]+/{layout.LOOP_FOLDER}/[^/]+\.md$"), LOOP),
    (pattern(rf"(^|/){layout.LOOPS}/[^/]+/state\.md$"), CHANGE_STATE),
)
_TITLES: Final = (
    (pattern(r"\ufeff?<!--[ \t]*session-context v[0-9]+"), SESSION_CONTEXT),
    (pattern(r"^# Session Ledger\b", re.MULTILINE), LEDGER),
    (pattern(r"^# Work Stream:", re.MULTILINE), STREAM),
    (pattern(r"^# Session Handoff\b", re.MULTILINE), ARCHIVE),
    (pattern(r"\ufeff?# SDD State:"), CHANGE_STATE),
    (pattern(r"^<!-- turn [0-9]+ [^\n]*-->\r?$", re.MULTILINE), LOOP),
)
_KEYS: Final = (
    (frozenset({"ts", "agent"}), EVENT),
    (frozenset({"session_id", "trigger"}), ARCHIVE),
    (frozenset({"session_id", "platform"}), LEDGER),
    (frozenset({"updated", "session_id"}), LEDGER),
    (frozenset({"session_name", "status"}), STREAM),
)


def find_format(name: str) -> Format:
    """Return the format called `name`; raise `UsageError` with the known formats if there is none."""
    for known in FORMATS:
        if known.name == name:
            return known
    raise UsageError(
        f"there is no format {name}", hint="use one of " + ", ".join(one.name for one in FORMATS)
    )


def recognise(path: str, text: str) -> Format | None:
    """Return a document's format, or None if it is not recognised.

    1. JSON: by a member that only one format has.
    2. Our footer: a view.
    3. The keys of the front matter.
    4. The title.
    5. The path, for a document that is too damaged.
    """
    head = text[:65_536]
    if _JSON_START.match(head):  # 1
        return _recognise_json(head) or _by_path(path)
    if "\n_synthesized:" in text:  # 2
        return VIEW
    matter = split_front_matter(head).matter
    keys = {entry.key for entry in split_entries(matter)[0]}
    by_keys = next((found for needed, found in _KEYS if needed <= keys), None)  # 3
    by_title = next((found for title, found in _TITLES if title.search(head)), None)  # 4
    return by_keys or by_title or _by_path(path)  # 5


def _recognise_json(head: str) -> Format | None:
    if '"agentId"' in head and '"lastUpdated"' in head:
        return SESSION_STATE
    if '"createdAt"' in head and '"expiresAt"' in head:
        return ADDRESSED_HANDOFF
    if re.match(r'\s*\{"v": [0-9]+, "host": ', head):
        return HISTORY
    return JOURNAL if re.match(r'\s*\{"v":[0-9]+,"seq":', head) else None


def _by_path(path: str) -> Format | None:
    posix = path.replace("\\", "/")
    return next((found for pattern, found in _PATHS if pattern.search(posix)), None)


def judge_path(found: Format, path: str, document: AnyDocument) -> Iterator[Problem]:
    """Find problems with the path of a document."""
    posix = path.replace("\\", "/")
    name = posix.rpartition("/")[2]
    if found is EVENT and re.search(r"handoffs/(?!events/)[^/]+/events/", posix):
        yield warning(1, "path", "is in a stream's folder", "all events belong in one `events/` folder")
    if f"{layout.OLD_LEDGERS}/" in posix:
        hint = "use the Ledger section of a stream document instead"
        yield warning(1, "path", "separate ledger files are deprecated", hint)
    if re.fullmatch(r"ledger-[^/]+\.md", name):
        yield warning(1, "path", "ledgers per agent were replaced by events", "publish an event instead")
    if isinstance(document, events.Event):
        yield from _judge_event_name(name, document)


def _judge_event_name(name: str, event: events.Event) -> Iterator[Problem]:
    named = parse_event_file_name(name)
    if named is None:
        yield warning(1, "path", "is not named `<stamp>_<agent>.md`")
        return
    if event.agent is not None and named.agent not in {event.agent, fold_id(event.agent)}:
        yield warning(1, "agent", f"is {event.agent[:40]}, but the file is named for {named.agent[:40]}")
    if event.ts is not None and abs(event.ts - named.at) > timedelta(seconds=1):
        yield warning(1, "ts", "differs from the time in the file name")
