"""Read the text of events, and combine the logs of several checkouts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from types import MappingProxyType
from typing import Final, NamedTuple

from passdown.core.facts import is_commit
from passdown.core.formats.events import Event, parse_event
from passdown.core.formats.journal import SESSION_END
from passdown.core.formats.origins import parse_origins
from passdown.core.kinds import FactKind
from passdown.core.merge.rollups import Rollup, find_member, is_rollup
from passdown.core.phases import PhaseState
from passdown.errors import FormatError, PassdownError
from passdown.ports.event_log import EventLog, FileMark
from passdown.ports.index import EventFile, EventFilter, EventLocation, Index, LogChange
from passdown.services.log.events import parse_events, update_index
from passdown.services.log.indexing import Step
from passdown.services.workspace.workspaces import Workspace

_CANDIDATES: Final = 10
_GOAL: Final = FactKind.GOAL.row.event_key
_NOW: Final = FactKind.NOW.row.event_key
_LAST: Final = "Last worked on: "
_NO_RECORD: Final = "no record"
_ENDED: Final = "ended"
_NO_SUBJECTS: Final[Mapping[str, str]] = MappingProxyType({})
_FILES: Final = 5
_A_DAY: Final = timedelta(days=1)


class EventTexts:
    """The texts of events; the last rollup is cached, because its events are usually read in a row."""

    def __init__(self, log: EventLog) -> None:
        """Keep the log to read from."""
        self._log = log
        self._file = ("", "")
        self._data = b""

    def read(self, place: EventLocation) -> str | None:
        """Return the text of an event, or None if it is no longer there."""
        file = (place.folder, place.name)
        if not is_rollup(place.name):
            data = self._log.read(*file)
        else:
            if self._file != file:
                self._file, self._data = file, self._log.read(*file) or b""
            data = find_member(self._data, place.rank.hash)
        return None if data is None else data.decode("utf-8", "replace")


def parse_text(text: str | None) -> Event:
    """Parse an event as far as possible; return an empty one if it is missing or invalid."""
    try:
        return parse_event(text or "")
    except FormatError:
        return Event()


def label(event: Event, subjects: Mapping[str, str] = _NO_SUBJECTS) -> str:
    """Return a short label for an event: what its session stated, or else what was observed.

    A carried-on goal or now does not count. The current step of a session that ended is labelled as what it
    last worked on (C152). `subjects` has the subjects of commits, by their ids.
    """
    # A session that had already published everything only publishes its end.
    is_end_alone = event.type == SESSION_END and not event.goal and not event.now and not event.next
    last = _ENDED if is_end_alone else _NO_RECORD
    found = (*_label_stated(event), *_label_seen(event, subjects), last)
    return " ".join(found[0].split())


def _label_stated(event: Event) -> Iterator[str]:
    """Yield labels from what the session itself stated."""
    origins = parse_origins(tuple((pair.key, pair.value) for pair in event.origins))
    carried = {key for key, found in origins.items() if any(one and one.agent for one in found)}
    doing = event.now if event.now and _NOW not in carried else ""
    if doing:
        yield f"{_LAST}{doing}" if event.type == SESSION_END else doing
    yield from event.this_session
    if event.goal and _GOAL not in carried:
        yield event.goal
    yield from (f"{pair.key}: {pair.value}" for pair in event.decisions)
    yield from event.open_questions
    yield from (f"{pair.key}: {pair.value}" for pair in event.answers)
    yield from (f"retracts {name}" for name in event.retracted_events)
    yield from _label_progress(event)
    work = (*event.retracted_done, *event.retracted_decisions, *event.retracted_constraints)
    taken_back = (*work, *event.retracted_now, *event.retracted_receipts)
    yield from (f"retracted: {text}" for text in taken_back)


def _label_progress(event: Event) -> Iterator[str]:
    """Yield labels about progress: phases, gates and loop turns."""
    for one in event.checkpoints:
        name = f" ({one.name})" if one.name else ""
        yield f"Phase {one.phase or '?'}{name}: {one.status or PhaseState.PENDING}"
    yield from (f"gate {one.gate}: {one.status}" for one in event.gates if one.status)
    yield from dict(event.more).get(FactKind.TURN.row.event_key, ())


def _label_seen(event: Event, subjects: Mapping[str, str]) -> Iterator[str]:
    """Yield labels from observations: subjects of commits, edited files, tests."""
    known = [subjects[name] for name in event.receipts if name in subjects]
    if known:
        yield "; ".join(known)
    if event.files_modified:
        yield f"edited {', '.join(event.files_modified[:_FILES])}"
    yield from (one for one in event.receipts if not is_commit(one))


def read_subjects(workspace: Workspace, events: Iterable[Event]) -> Mapping[str, str]:
    """Ask git for the subjects of commits in events without statements."""
    silent = (event for event in events if next(_label_stated(event), None) is None)
    names = [name for event in silent for name in event.receipts if is_commit(name)]
    return {one.id: one.subject for one in workspace.history.describe(names)} if names else {}


class FoundEvent(NamedTuple):
    """An event, and the number of the checkout in which it was found."""

    place: EventLocation
    where: int


def join_logs(logs: Sequence[Sequence[EventLocation]]) -> Iterator[FoundEvent]:
    """Yield the events of several checkouts without duplicates, newest first.

    An event is shown as in the first checkout that has it. It is retracted if any checkout says so.
    """
    found: dict[str, FoundEvent] = {}
    for where, places in enumerate(logs):
        for place in places:
            known = found.get(place.rank.hash)
            if known is None:
                found[place.rank.hash] = FoundEvent(place, where)
            elif place.is_retracted and not known.place.is_retracted:
                found[place.rank.hash] = known._replace(place=known.place._replace(is_retracted=True))
    yield from sorted(found.values(), key=lambda seen: seen.place.order, reverse=True)


def find_event(logs: Sequence[Sequence[EventLocation]], name: str) -> FoundEvent:
    """Return the only event whose id or hash starts with a name; an exact match wins.

    Raises a PassdownError if there is none, or if there are several, which it lists.
    """
    found = list(join_logs(logs))
    exact = [seen for seen in found if name in {seen.place.rank.id, seen.place.rank.hash}]
    found = exact or found
    if len(found) == 1:
        return found[0]
    if not found:
        raise PassdownError(f"there is no event {name}", hint="run `passdown log` to see the events")
    names = [seen.place.rank.hash[:16] if exact else seen.place.rank.id for seen in found[:_CANDIDATES]]
    more = f" and {len(found) - _CANDIDATES} more" if len(found) > _CANDIDATES else ""
    problem = f"{name} matches {len(found)} events: {', '.join(names)}{more}"
    raise PassdownError(problem, hint="type the full name of one")


def list_places(workspace: Workspace, prefix: str = "", step: Step | None = None) -> Sequence[EventLocation]:
    """Update the index of a checkout and list its events, newest first."""
    update_index(workspace.log, workspace.index, step)
    return workspace.index.places(prefix)


class LogPart(NamedTuple):
    """The newest events of a checkout that match, how many match, and a hash of the events of each day."""

    newest: Sequence[EventLocation]
    total: int
    days: Mapping[date, str]


def read_part(workspace: Workspace, wanted: EventFilter, limit: int, step: Step | None = None) -> LogPart:
    """Update the index of a checkout and return its part of a list of events."""
    update_index(workspace.log, workspace.index, step)
    index = workspace.index
    return LogPart(index.matching(wanted, limit), index.count(wanted), index.days())


def list_days(workspace: Workspace, wanted: EventFilter, days: Iterable[date]) -> list[EventLocation]:
    """Return the events of some days that match."""
    found: list[EventLocation] = []
    for day in days:
        start = datetime.combine(day, time(), UTC)
        end = start + _A_DAY if day < date.max else None
        found += workspace.index.matching(wanted._replace(since=max(start, wanted.since or start), until=end))
    return found


def find_different_days(parts: Sequence[LogPart]) -> frozenset[date]:
    """Return the days whose events are not the same in all checkouts."""
    days = [frozenset(part.days.items()) for part in parts]
    first, *others = days
    return frozenset(day for day, _ in first.union(*others) - first.intersection(*others))


class InputFile(NamedTuple):
    """A file that was given as input; its content is None if it could not be read."""

    path: str
    data: bytes | None


def index_files(index: Index, files: Iterable[InputFile]) -> None:
    """Fill an index with exactly these files, wherever they are."""
    found: list[EventFile] = []
    for number, (path, data) in enumerate(files):
        mark = FileMark(len(data or b""), 0, number)
        events = Rollup(skipped=1) if data is None else parse_events(path.rpartition("/")[2], data)
        sources = tuple(source for _, source in events.members)
        found.append(EventFile("", path, mark, sources, events.skipped))
    with index.changing():
        index.apply(LogChange({}, (), found))
