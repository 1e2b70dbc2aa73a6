"""Write events, and bring an index up to date with the log."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from passdown.core.formats.events import Event, render_event
from passdown.core.formats.journal import NOT_PUBLISHED, PublishedExtent
from passdown.core.formats.origins import parse_origins
from passdown.core.ids import event_file_name, fold_id
from passdown.core.merge.event_facts import ID_SIZE, EventFacts, parse_event_facts, read_covered
from passdown.core.merge.ranks import limit_of
from passdown.core.merge.rollups import Rollup, RollupMember, is_rollup, name_rollup_data, parse_rollup
from passdown.core.times import LAST_INSTANT, next_instant, to_millis
from passdown.errors import StorageError
from passdown.ports.clock import Clock
from passdown.ports.event_log import EventLog, FileMark
from passdown.ports.index import EventFile, Index, LogChange, NewestEvents
from passdown.records import replace
from passdown.services.log.indexing import (
    UNREAD,
    NewFile,
    Step,
    bring_up_to_date,
    find_changed,
    make_unread,
    require_complete,
)
from passdown.settings import EventLayout

_A_DAY: Final = timedelta(days=1)
_MANY: Final = 1_000
_FEW: Final = 500


def update_index(log: EventLog, index: Index, step: Step | None = None) -> None:
    """Bring an index up to date with its log; if nothing changed, only folders are checked.

    Raises an UnreadError if the log allows only a part to be read; that part is kept. Only a brief may be
    made from an incomplete index (C131).
    """
    update_portion(log, index, step)
    require_complete(index)


def update_portion(log: EventLog, index: Index, step: Step | None = None) -> int:
    """Read as many new files as the log allows, newest first; return how many are still unread."""
    unread = index.unread()
    if unread and not log.may_read():
        return unread
    known = index.folders()
    there = find_changed(log, known)
    if there is None and not unread:
        return 0
    with index.changing():
        # If another process has changed the index, the folders must be checked again.
        _take_in(_Events(log, index), there if index.folders() == known else None, step)
    return index.unread()


def _take_in(target: "_Events", there: Mapping[str, int] | None = None, step: Step | None = None) -> None:
    """Read new files and apply them, within a change of the index."""
    bring_up_to_date(target.log, target, there, step)
    if not target.is_applied and target.index.unread():  # the unread files are gone
        target.apply({}, (), ())


class _Events:
    """The events of a log as an update target, all applied at once."""

    def __init__(
        self, log: EventLog, index: Index, needs: Callable[[str, str], bool] = lambda _folder, _name: False
    ) -> None:
        """Keep the log, the index, and a test for files that must be read however many others there are."""
        self.log = log
        self.index = index
        self.folders = index.folders
        self.files = index.files
        self.is_applied = False
        self.is_lacking = False
        """Whether a needed file could not be read."""
        self._needs = needs
        self._unread: Counter[str] = Counter()

    def choose(self, new: Sequence[NewFile]) -> Iterator[NewFile]:
        """Yield the newest files that may be read, and all needed ones."""
        for folder, name, mark in sorted(new, key=_age_of, reverse=True):
            if self.log.may_read() or self._needs(folder, name):
                yield folder, name, mark
            else:
                self._unread[folder] += 1

    def read(self, folder: str, name: str, mark: FileMark) -> EventFile:
        found = self._read(folder, name, mark)
        self.log.may_read(max(len(found.sources), 1))
        return found

    def _read(self, folder: str, name: str, mark: FileMark) -> EventFile:
        data = self.log.read(folder, name)
        if data is None:
            self.is_lacking = self.is_lacking or self._needs(folder, name)
            return EventFile(folder, name, UNREAD, (), 1)
        if self._is_same(folder, name, data):
            return EventFile(folder, name, mark, (), 0, is_same=True)
        found = parse_events(name, data)
        return EventFile(folder, name, mark, tuple(source for _, source in found.members), found.skipped)

    def _is_same(self, folder: str, name: str, data: bytes) -> bool:
        """Return whether a file that changed holds what was read from it: git wrote it again, or a copy."""
        if is_rollup(name):
            return name_rollup_data(data) == name and self.index.is_held(folder, name)
        digest = hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()
        return self.index.is_held(folder, name, digest)

    def is_enough(self) -> bool:
        return False

    def apply(
        self, folders: Mapping[str, int | None], gone: Sequence[tuple[str, str]], found: Sequence[EventFile]
    ) -> None:
        # A folder with unread files is listed again next time, and so is the top folder: while its mark is
        # unchanged, a log looks only at known folders.
        left = {"", *self._unread} if self._unread else set[str]()
        whole = {folder: mark for folder, mark in folders.items() if folder not in left}
        self.index.apply(LogChange(whole, gone, found, self._unread.total()))
        self.is_applied = True


def _age_of(new: NewFile) -> tuple[str, str]:
    """Sort files by the time in their names; a rollup comes after the events of its day."""
    folder, name, _ = new
    return (f"{folder}U" if is_rollup(name) else name), folder


class WrittenEvent(NamedTuple):
    """An event that was written, and where."""

    event: Event
    folder: str
    name: str


def write_event(
    log: EventLog, index: Index, clock: Clock, event: Event, *, layout: EventLayout = EventLayout.AUTO
) -> WrittenEvent | None:
    """Write an event durably; return None if what it publishes is already published.

    It names the last events that were read. Its time is later than theirs, unless they are dated ahead, and
    later than its session's own events (C115). Its id is the hash of its content. Raises a StorageError if it
    cannot be written.
    """
    with index.changing():
        catch_up(log, index)
        require_complete(index)
        return add_event(log, index, clock, event, layout=layout)


def catch_up(log: EventLog, index: Index) -> None:
    """Read as many new files as the log allows, within a change of the index."""
    _take_in(_Events(log, index))


def catch_up_session(log: EventLog, index: Index, agent: str, began: datetime | None) -> None:
    """Read as `catch_up` does, but at least all events of an agent's session (C131).

    They are in files named after the agent, or in rollups of the days since the session began. The day before
    counts too, because another machine's clock may have been ahead. Raises an UnreadError if one of them
    cannot be read.
    """
    end, since = f"_{fold_id(agent)}.md", (began - _A_DAY).date().isoformat() if began else ""

    def is_own(folder: str, name: str) -> bool:
        return folder >= since if is_rollup(name) else name.endswith(end)

    target = _Events(log, index, is_own)
    _take_in(target)
    if target.is_lacking and (unread := index.unread()):
        raise make_unread(unread)


def add_event(
    log: EventLog, index: Index, clock: Clock, event: Event, *, layout: EventLayout = EventLayout.AUTO
) -> WrittenEvent | None:
    """Write an event as `write_event` does, within a change of an index with all events of its session."""
    last = read_covered(event.covers or "")
    published = index.published(event.session) if event.session else NOT_PUBLISHED
    if last and last <= published.line:
        return None
    now = clock.now()
    # If the clock was set back, the time of the session's own last event counts.
    read = index.newest(max(now, published.at or now), event.session or "")
    by_day = stores_by_day(index, layout)
    written = _create(log, read, published, event, by_day=by_day)
    new = (written.folder, written.name)
    _take_in(_Events(log, index, lambda folder, name: (folder, name) == new))
    return written


def stores_by_day(index: Index, layout: EventLayout) -> bool:
    """Return whether the next event goes to the folder of its day (C130).

    By itself, from 1,000 events with files of their own until fewer than 500 are left. In between, new events
    go where the newest one is: nothing else is stored about it. Files that an incomplete index has not read
    count as events.
    """
    if layout is not EventLayout.AUTO:
        return layout is EventLayout.DAY
    live = index.live(_MANY)
    count = live.events + index.unread()
    return count >= _MANY or (count >= _FEW and bool(live.newest_folder))


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
            raise StorageError(f"no event can be later than {name}", hint="correct this machine's clock")
        at = next_instant(at, [at])


def _said_at(event: Event) -> Iterator[datetime]:
    """Yield the times of the facts of an event, which must not be older than its facts."""
    for origins in parse_origins((pair.key, pair.value) for pair in event.origins).values():
        yield from (origin.at for origin in origins if origin is not None)


def parse_events(name: str, data: bytes) -> Rollup:
    """Read the events of a file, either a rollup or a single event; count what cannot be merged."""
    if is_rollup(name):
        return parse_rollup(data)
    source = parse_event_facts(data, name)
    return Rollup(((RollupMember(name, data), source),)) if source else Rollup(skipped=1)


def read_sources(log: EventLog) -> Iterator[EventFacts]:
    """Yield every event of a log, including those in rollups, without events that cannot be merged."""
    for folder in log.folders({}):
        for name in log.files(folder):
            yield from (source for _, source in parse_events(name, log.read(folder, name) or b"").members)


def name_event(event: Event) -> Event:
    """Return an event with the id computed from its content."""
    text = render_event(replace(event, id=None, source=None))
    return replace(event, id=f"ev-{hashlib.sha256(text.encode()).hexdigest()[:ID_SIZE]}", source=None)
