"""Write events, and bring an index up to date with the log."""

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from passdown.core.events import Event, render_event
from passdown.core.ids import event_file_name
from passdown.core.rollups import is_rollup, parse_rollup
from passdown.core.sources import ID_SIZE, parse_source, read_covered
from passdown.core.times import FOLLOW_LIMIT, next_instant
from passdown.errors import StorageError
from passdown.ports.clock import Clock
from passdown.ports.event_log import EventLog, FileMark
from passdown.ports.index import Change, Found, Index
from passdown.records import replace

_END: Final = datetime.max.replace(tzinfo=UTC)
_UNREAD: Final = FileMark(-1, -1, -1)

Step = Callable[[int, int], None]
"""Called with how many files of how many were read, now and then."""


class Look(NamedTuple):
    """What a look at the log shows to be different from the index: names only, nothing was read."""

    folders: Mapping[str, int | None]
    gone: list[tuple[str, str]]
    new: list[tuple[str, str, FileMark]]


def take_in(log: EventLog, index: Index, step: Step | None = None) -> None:
    """Bring an index up to date with its log; when nothing changed, only folders are looked at."""
    known = index.folders()
    there = log.folders(known)
    if there == known and all(there.values()):
        return
    with index.changing():
        # Whoever was faster has changed the index; then the folders must be looked at again.
        _apply(log, index, step, there if index.folders() == known else None)


def _apply(
    log: EventLog, index: Index, step: Step | None = None, there: Mapping[str, int] | None = None
) -> None:
    look = _look(log, index, there)
    if not (look.folders or look.gone or look.new):
        return
    found: list[Found] = []
    for number, (folder, name, mark) in enumerate(look.new, 1):
        found.append(_read(log, folder, name, mark))
        if step is not None:
            step(number, len(look.new))
    index.apply(Change(look.folders, look.gone, found))


def _look(log: EventLog, index: Index, there: Mapping[str, int] | None) -> Look:
    """Compare the folders, and list those that changed; `there` are the folders if they are known already."""
    known = index.folders()
    there = log.folders(known) if there is None else there
    changed = {folder: mark for folder, mark in there.items() if not mark or known.get(folder) != mark}
    look = Look({folder: None for folder in known if folder not in there}, [], [])
    folders = dict(look.folders)
    for folder, mark in changed.items():
        listed, had = log.files(folder), index.files(folder)
        look.gone.extend((folder, name) for name in had if name not in listed)
        look.new.extend((folder, name, one) for name, one in sorted(listed.items()) if had.get(name) != one)
        if known.get(folder) != mark:
            folders[folder] = mark
    return look._replace(folders=folders)


def _read(log: EventLog, folder: str, name: str, mark: FileMark) -> Found:
    data = log.read(folder, name)
    if data is None:  # it may be readable next time, and its mark would not tell
        return Found(folder, name, _UNREAD, (), 1)
    if is_rollup(name):
        rollup = parse_rollup(data)
        return Found(folder, name, mark, tuple(source for _, source in rollup.members), rollup.skipped)
    source = parse_source(data, name)
    return Found(folder, name, mark, (source,) if source else (), 0 if source else 1)


class Written(NamedTuple):
    """An event that is on disk, and where."""

    event: Event
    folder: str
    name: str


def write_event(log: EventLog, index: Index, clock: Clock, event: Event, *, by_day: bool) -> Written | None:
    """Write an event, durable when this returns; None when what it publishes is published already.

    Its time is later than that of every event in the log, however wrong a clock is; its id is the hash of
    what it says. Raises a StorageError when it cannot be written.
    """
    with index.changing():
        _apply(log, index)
        last = read_covered(event.covers or "")
        if event.session and last and last <= index.published(event.session).line:
            return None
        written = _create(log, index, clock, event, by_day=by_day)
        _apply(log, index)
    return written


def _create(log: EventLog, index: Index, clock: Clock, event: Event, *, by_day: bool) -> Written:
    now = clock.now()
    newest = index.newest(now + min(FOLLOW_LIMIT, _END - now))
    seen = [newest] if newest else []
    while True:
        at = next_instant(now, seen)
        stamped = name_event(replace(event, ts=at))
        name = event_file_name(at, stamped.agent or "")
        folder = at.date().isoformat() if by_day else ""
        if log.create(folder, name, render_event(stamped).encode()):
            return Written(stamped, folder, name)
        if at in seen:
            raise StorageError(f"there is no later time than {name}", hint="set this machine's clock")
        seen.append(at)
        now = at  # or an event 24 h ahead would not be followed once more


def name_event(event: Event) -> Event:
    """Give an event the id that is made of what it says."""
    text = render_event(replace(event, id=None, source=None))
    return replace(event, id=f"ev-{hashlib.sha256(text.encode()).hexdigest()[:ID_SIZE]}", source=None)
