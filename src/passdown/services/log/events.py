"""Write events, and bring an index up to date with the log."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from passdown.core.formats.events import Event, render_event
from passdown.core.formats.origins import parse_origins
from passdown.core.ids import event_file_name
from passdown.core.merge.event_facts import ID_SIZE, parse_event_facts, read_covered
from passdown.core.merge.ranks import limit_of
from passdown.core.merge.rollups import is_rollup, parse_rollup
from passdown.core.times import LAST_INSTANT, next_instant, to_millis
from passdown.errors import StorageError
from passdown.ports.clock import Clock
from passdown.ports.event_log import EventLog, FileMark
from passdown.ports.index import NOT_PUBLISHED, EventFile, Index, LogChange, NewestEvents, PublishedExtent
from passdown.records import replace
from passdown.services.log.indexing import UNREAD, Step, bring_up_to_date, find_changed


def update_index(log: EventLog, index: Index, step: Step | None = None) -> None:
    """Bring an index up to date with its log; if nothing changed, only folders are checked."""
    known = index.folders()
    there = find_changed(log, known)
    if there is None:
        return
    with index.changing():
        # If another process has changed the index, the folders must be checked again.
        bring_up_to_date(log, _Events(log, index), there if index.folders() == known else None, step)


class _Events:
    """The events of a log as an update target, all applied at once."""

    def __init__(self, log: EventLog, index: Index) -> None:
        self._log = log
        self._index = index
        self.folders = index.folders
        self.files = index.files

    def read(self, folder: str, name: str, mark: FileMark) -> EventFile:
        data = self._log.read(folder, name)
        if data is None:
            return EventFile(folder, name, UNREAD, (), 1)
        if is_rollup(name):
            rollup = parse_rollup(data)
            return EventFile(
                folder, name, mark, tuple(source for _, source in rollup.members), rollup.skipped
            )
        source = parse_event_facts(data, name)
        return EventFile(folder, name, mark, (source,) if source else (), 0 if source else 1)

    def is_enough(self) -> bool:
        return False

    def apply(
        self, folders: Mapping[str, int | None], gone: Sequence[tuple[str, str]], found: Sequence[EventFile]
    ) -> None:
        self._index.apply(LogChange(folders, gone, found))


class WrittenEvent(NamedTuple):
    """An event that was written, and where."""

    event: Event
    folder: str
    name: str


def write_event(
    log: EventLog, index: Index, clock: Clock, event: Event, *, by_day: bool
) -> WrittenEvent | None:
    """Write an event, durable when this returns; return None if what it publishes is already published.

    It names the last events that were read. Its time is later than theirs as far as they are not dated ahead,
    and later than its session's own (C115); its id is the hash of its content. Raises a StorageError if it
    cannot be written.
    """
    with index.changing():
        catch_up(log, index)
        return add_event(log, index, clock, event, by_day=by_day)


def catch_up(log: EventLog, index: Index) -> None:
    """Bring an index up to date within a change of it."""
    bring_up_to_date(log, _Events(log, index))


def add_event(
    log: EventLog, index: Index, clock: Clock, event: Event, *, by_day: bool
) -> WrittenEvent | None:
    """Write an event as `write_event` does, within a change of an index that is up to date."""
    last = read_covered(event.covers or "")
    published = index.published(event.session) if event.session else NOT_PUBLISHED
    if last and last <= published.line:
        return None
    now = clock.now()
    # Whose clock was set back goes on from its own last event.
    read = index.newest(max(now, published.at or now), event.session or "")
    written = _create(log, read, published, event, by_day=by_day)
    catch_up(log, index)
    return written


def _create(
    log: EventLog, read: NewestEvents, published: PublishedExtent, event: Event, *, by_day: bool
) -> WrittenEvent:
    event = replace(event, after=read.heads, ahead=tuple(dict.fromkeys((*event.ahead, *read.ahead))))
    seen = [at for at in (read.at, published.at) if at is not None]
    at = next_instant(read.present, seen)
    limit = limit_of(at)
    at = max([at, *(to_millis(said) for said in _said_at(event) if said <= limit)])
    while True:
        stamped = name_event(replace(event, ts=at))
        name = event_file_name(at, stamped.agent or "")
        folder = at.date().isoformat() if by_day else ""
        if log.create(folder, name, render_event(stamped).encode()):
            return WrittenEvent(stamped, folder, name)
        if at >= LAST_INSTANT:
            raise StorageError(f"there is no time later than {name}", hint="set this machine's clock")
        at = next_instant(at, [at])


def _said_at(event: Event) -> Iterator[datetime]:
    """Yield when the facts of an event were said: it is not older than what it tells."""
    for origins in parse_origins((pair.key, pair.value) for pair in event.origins).values():
        yield from (origin.at for origin in origins if origin is not None)


def name_event(event: Event) -> Event:
    """Return an event with the id computed from its content."""
    text = render_event(replace(event, id=None, source=None))
    return replace(event, id=f"ev-{hashlib.sha256(text.encode()).hexdigest()[:ID_SIZE]}", source=None)
