"""Every document format Passdown reads: how to know it, read it, repair it, and show it."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final, Protocol, TypeVar

from passdown.core import archives, events, examples, journal, ledgers, sessions, streams, views
from passdown.core.frontmatter import split_entries, split_front_matter
from passdown.core.ids import fold, parse_event_file_name
from passdown.core.patterns import pattern
from passdown.core.problems import Problem, Unknown, warning
from passdown.core.schemas import schema_of
from passdown.errors import UsageError
from passdown.records import record


class Document(Protocol):
    """What every format's value has."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the text it was read from."""
        ...

    @property
    def unknown(self) -> tuple[Unknown, ...]:
        """What no field holds, verbatim."""
        ...


D = TypeVar("D", bound=Document)


@record
class Format:
    """One document format."""

    name: str
    title: str
    doc: str
    version: int
    type: type
    paths: tuple[str, ...]
    parse: Callable[[str], Document]
    render: Callable[[Document], str]
    sample: Document
    fix: Callable[[str], str] | None = None

    def example(self) -> str:
        """Return a valid document."""
        return self.render(self.sample)

    def schema(self) -> dict[str, object]:
        """Return the JSON Schema of what a check gives for such a document."""
        return schema_of(self.type, self.title, self.doc)


def _renders(kind: type[D], render: Callable[[D], str]) -> Callable[[Document], str]:
    """Make a renderer of one kind of document into one that is asked for any, and refuses the others."""

    def checked(document: Document) -> str:
        if not isinstance(document, kind):
            raise TypeError(f"a {type(document).__name__} is not written as a {kind.__name__}")
        return render(document)

    return checked


LEDGER: Final = Format(
    name="ledger",
    title="Live ledger",
    doc="The running account one session keeps of itself: goal, done, now, next. Local, ignored by git.",
    version=ledgers.VERSION,
    type=ledgers.Ledger,
    paths=("conductor/sessions/active/LEDGER.md", "conductor/sessions/active/<agent>/LEDGER.md"),
    parse=ledgers.parse_ledger,
    render=_renders(ledgers.Ledger, ledgers.render_ledger),
    sample=examples.LEDGER,
    fix=lambda text: ledgers.fix_ledger(ledgers.parse_ledger(text)),
)
STREAM: Final = Format(
    name="stream",
    title="Stream document",
    doc="One piece of work over several sessions, with a Ledger section that is read first. Shared.",
    version=streams.VERSION,
    type=streams.Stream,
    paths=("thoughts/shared/handoffs/<stream>/current.md",),
    parse=streams.parse_stream,
    render=_renders(streams.Stream, streams.render_stream),
    sample=examples.STREAM,
    fix=lambda text: streams.fix_stream(streams.parse_stream(text)),
)
EVENT: Final = Format(
    name="event",
    title="Event",
    doc="An immutable batch of facts that one session publishes. Shared, never edited.",
    version=events.VERSION,
    type=events.Event,
    paths=(
        "thoughts/shared/handoffs/events/<stamp>_<agent>.md",
        "thoughts/shared/handoffs/events/<day>/<stamp>_<agent>.md",
    ),
    parse=events.parse_event,
    render=_renders(events.Event, events.render_event),
    sample=examples.EVENT,
)
VIEW: Final = Format(
    name="view",
    title="View",
    doc="All events merged into one document; it may be deleted and rebuilt, never edited.",
    version=views.VERSION,
    type=views.View,
    paths=("thoughts/shared/handoffs/current.md", ".conductor/current.md"),
    parse=views.parse_view,
    render=_renders(views.View, views.render_view),
    sample=examples.VIEW,
)
SESSION_STATE: Final = Format(
    name="session-state",
    title="Session state",
    doc="Where one session stands, for tools that read JSON. Local, ignored by git.",
    version=sessions.VERSION,
    type=sessions.SessionState,
    paths=(".conductor/session-state_<agent>.json",),
    parse=sessions.parse_session_state,
    render=_renders(sessions.SessionState, sessions.render_session_state),
    sample=examples.SESSION_STATE,
)
ARCHIVE: Final = Format(
    name="archive",
    title="Session archive",
    doc="The record of one session that ended or was cut off, for whoever comes after. Shared.",
    version=archives.VERSION,
    type=archives.Archive,
    paths=("conductor/sessions/archive/<minute>-<trigger>.md",),
    parse=archives.parse_archive,
    render=_renders(archives.Archive, archives.render_archive),
    sample=examples.ARCHIVE,
    fix=lambda text: archives.fix_archive(archives.parse_archive(text)),
)
JOURNAL: Final = Format(
    name="journal",
    title="Journal",
    doc="A session's facts as they happen, one JSON line each, append-only. Local.",
    version=journal.VERSION,
    type=journal.Journal,
    paths=("<git common dir>/passdown/journal/<session>.jsonl", ".conductor/journal/<session>.jsonl"),
    parse=journal.parse_journal,
    render=_renders(journal.Journal, journal.render_journal),
    sample=examples.JOURNAL,
)

FORMATS: Final = (LEDGER, STREAM, EVENT, VIEW, SESSION_STATE, ARCHIVE, JOURNAL)

_JSON_START: Final = pattern(r"\ufeff?\s*\{")
_PATHS: Final = (
    (pattern(r"(^|/)session-state_[^/]*\.json$"), SESSION_STATE),
    (pattern(r"(^|/)(?:passdown|\.conductor)/journal/[^/]*\.jsonl$"), JOURNAL),
    (pattern(r"(^|/)LEDGER\.md$"), LEDGER),
    (pattern(r"(^|/)sessions/archive/[^/]*\.md$"), ARCHIVE),
    (pattern(r"(^|/)events/(?:[0-9-]+/)?[0-9]{4}-[0-9]{2}-[0-9]{2}T[^/]*_[^/]*\.md$"), EVENT),
    (pattern(r"(^|/)handoffs/[^/]+/current\.md$"), STREAM),
    (pattern(r"(^|/)(?:handoffs|\.conductor)/current\.md$"), VIEW),
)
_TITLES: Final = (
    (pattern(r"^# Session Ledger\b", re.MULTILINE), LEDGER),
    (pattern(r"^# Work Stream:", re.MULTILINE), STREAM),
    (pattern(r"^# Session Handoff\b", re.MULTILINE), ARCHIVE),
)
_KEYS: Final = (
    (frozenset({"ts", "agent"}), EVENT),
    (frozenset({"session_id", "trigger"}), ARCHIVE),
    (frozenset({"session_id", "platform"}), LEDGER),
    (frozenset({"updated", "session_id"}), LEDGER),
    (frozenset({"session_name", "status"}), STREAM),
)


def find_format(name: str) -> Format:
    """Return the format called `name`; raise `UsageError` naming those there are."""
    for known in FORMATS:
        if known.name == name:
            return known
    raise UsageError(f"there is no format {name}", hint="known are " + ", ".join(one.name for one in FORMATS))


def recognise(path: str, text: str) -> Format | None:
    """Tell a document's format.

    1. JSON: by a member that only one format has.
    2. A footer of ours makes a view.
    3. The keys of the front matter.
    4. The title.
    5. The path, for a document too broken to tell.
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
    return JOURNAL if re.match(r'\s*\{"v":[0-9]+,"seq":', head) else None


def _by_path(path: str) -> Format | None:
    posix = path.replace("\\", "/")
    return next((found for pattern, found in _PATHS if pattern.search(posix)), None)


def judge_path(found: Format, path: str, document: Document) -> Iterator[Problem]:
    """Find what is wrong with where a document lies."""
    posix = path.replace("\\", "/")
    name = posix.rpartition("/")[2]
    if found is EVENT and re.search(r"handoffs/(?!events/)[^/]+/events/", posix):
        yield warning(1, "path", "lies in a stream's folder", "all events lie in one `events/` folder")
    if "thoughts/ledgers/" in posix:
        hint = "the Ledger section of a stream document took their place"
        yield warning(1, "path", "separate ledger files are deprecated", hint)
    if re.fullmatch(r"ledger-[^/]+\.md", name):
        yield warning(1, "path", "ledgers scoped by agent were replaced by events", "publish an event")
    if isinstance(document, events.Event):
        yield from _judge_event_name(name, document)


def _judge_event_name(name: str, event: events.Event) -> Iterator[Problem]:
    named = parse_event_file_name(name)
    if named is None:
        yield warning(1, "path", "is not named `<stamp>_<agent>.md`")
        return
    if event.agent is not None and named.agent not in {event.agent, fold(event.agent)}:
        yield warning(1, "agent", f"is {event.agent[:40]}, but the file is named for {named.agent[:40]}")
    if event.ts is not None and abs(event.ts - named.at) > timedelta(seconds=1):
        yield warning(1, "ts", "differs from the time in the file's name")
