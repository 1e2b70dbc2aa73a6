"""The coordination file of one clone: opened if it is still the same, and restored if it was lost (C146).

A lost file is restored before anything is granted, and what is left of it is moved aside. Only a process that
has passed the gate does this.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from passdown.core.coordination.leases import KnownHolder
from passdown.engines.coordination.rows import Statements
from passdown.engines.sqlite.change_log import (
    Call,
    ChangeLog,
    FileState,
    Known,
    LoggedChange,
    Period,
    find_state,
)
from passdown.engines.sqlite.coordination_database import TITLE, CoordinationDatabase
from passdown.engines.sqlite.database import (
    copy_database,
    discard_database,
    is_damage,
    move_database,
    open_read_only,
    put_in_place,
)
from passdown.engines.sqlite.engine_clock import ClockRow
from passdown.errors import AwayError, StorageError
from passdown.records import record

if TYPE_CHECKING:
    from passdown.engines.sqlite.restoring import Restored

NEXT_COMMAND: Final = "Run any `passdown` command to restore it, such as `passdown status`."
_NEW: Final = ".new"
_LOST: Final = ".lost-"


@record
class Recovery:
    """What is needed to notice that a file was lost, and to restore it."""

    log: ChangeLog
    today: Callable[[], str]
    make_identity: Callable[[], int]
    """Makes a number for a new database."""
    tell_time: Callable[[Statements, str], ClockRow]
    """Returns the time of a project."""
    holders: Callable[[], Mapping[str, Sequence[KnownHolder]]]
    """Returns what the sessions of each project hold according to their own records."""
    tell: Callable[[str], None]
    """Called with a message when something was restored."""
    is_hurried: bool = False
    """Whether the caller is a hook, which has no time to restore or copy anything."""


class OpenFile:
    """An open database, the last known status of its file, and the log of its changes if there is one."""

    def __init__(self, path: str, log: ChangeLog | None) -> None:
        self.path = path
        self.log = log
        self.database: CoordinationDatabase | None = None
        self.state: FileState | None = None
        """The status of the file when it was last known that no other program had touched it."""

    def is_same(self) -> bool:
        """Return whether no other program has touched the file since."""
        return self.state is not None and find_state(self.path) == self.state

    def log_change(self, project: str, position: int, calls: Sequence[Call]) -> bool:
        """Log a change that was made; return whether it can be found again, whatever happens to the file.

        SQLite has written it to its own log. So if the file itself has changed, another program did that, and
        the next process to open it examines it.
        """
        is_same = self.is_same()
        change, state = LoggedChange(project, position, calls), self.state if is_same else None
        return self.log is None or self.log.add(change, state) or is_same

    def log_state(self) -> None:
        """Log the status of the file, after SQLite itself has changed it."""
        self.state = find_state(self.path)
        if self.log is not None:
            self.log.note_state(self.state)

    def log_damage(self) -> None:
        """Log that the file was found damaged, so that the next process to open it examines all of it."""
        if self.log is not None:
            self.log.note_state(None)

    def shorten_log(self) -> None:
        """Move SQLite's own log into the file if the log is long."""
        if self.database is not None and self.is_same() and self.database.shorten_log():
            self.log_state()

    def close(self) -> None:
        """Close the database, if it is open; SQLite may move its own log into the file."""
        if self.database is None:
            return
        is_same = self.is_same()
        self.database.close()
        self.database = None
        if is_same and not self.is_same():
            self.log_state()


class CoordinationFile:
    """The coordination file of a clone: opens, examines and restores it."""

    def __init__(
        self, path: str, open_at: Callable[[str], CoordinationDatabase], recovery: Recovery | None = None
    ) -> None:
        self._path = path
        self._open_at = open_at
        self._recovery = recovery
        self._positions: Mapping[str, int] = {}
        self.opened = OpenFile(path, recovery.log if recovery else None)

    def connect(self) -> CoordinationDatabase:
        """Open the file; create it if it is new, and restore it first if it was lost."""
        recovery = self._recovery
        if recovery is None:
            return self._open_here()
        known, database = recovery.log.known(), None
        while known and database is None:
            database, lost = self._open_known(recovery, known)
            if lost:
                self._restore(recovery, known, lost)
                known = recovery.log.known()
        database = database or self._open_here()
        if not recovery.is_hurried and self._is_copy_due(recovery, known):
            self._copy_here(recovery, database)
        return database

    def _open_here(self) -> CoordinationDatabase:
        database = self._open_at(self._path)
        self.opened.database, self.opened.state = database, find_state(self._path)
        return database

    def refresh(self) -> CoordinationDatabase:
        """Return the database to use now: the open one, unless another program has touched its file."""
        opened, found = self.opened, find_state(self._path)
        if opened.database is None:
            return self.connect()
        if found is not None and found == opened.state:
            return opened.database
        is_there = found is not None and opened.state is not None and found.inode == opened.state.inode
        known = opened.log.known() if opened.log else None
        if is_there and (known is None or known.state == found):  # other processes have moved SQLite's log
            opened.state = found
            return opened.database
        opened.database.close()
        return self.connect()

    # --- restoring a lost file ------------------------------------------------------------------------

    def _open_known(self, recovery: Recovery, known: Known) -> tuple[CoordinationDatabase | None, str]:
        """Open the file if it is still the same; otherwise return why it counts as lost."""
        found = find_state(self._path)
        if found is None:
            return None, "is missing"
        if found.size == 0:
            return None, "is empty"
        try:
            database = self._open_here()
            self._positions = database.positions()
            lost = find_loss(database.identity(), self._positions, known)
            is_touched = found != known.state or not self.opened.is_same()
            if not lost and is_touched and not recovery.is_hurried:
                lost = self._examine(database, recovery, known)
        except StorageError as error:
            if is_damage(error.__cause__):
                return None, f"is damaged: {error.__cause__}"
            raise
        if lost:
            database.close()
            return None, lost
        return database, ""

    def _examine(self, database: CoordinationDatabase, recovery: Recovery, known: Known) -> str:
        """Return what is wrong with a file that another program may have touched; empty if nothing is."""
        from passdown.engines.sqlite.restoring import compare, find_base, replay

        if damage := _describe_damage(database.find_damage()):
            return damage
        if database.positions() == known.positions:
            made, base = self._path + _NEW, find_base(recovery.log)
            with closing(self._make_base(recovery, base, made)) as expected:
                replay(expected, recovery.log, base)
                differs = compare(database, expected)
            discard_database(made)
            if differs:
                return f"differs from what was written to it: {differs}"
        if not self.opened.is_same():
            return "was changed by another program while Passdown examined it"
        self.opened.log_state()
        return ""

    def _make_base(self, recovery: Recovery, base: Period | None, made: str) -> CoordinationDatabase:
        """Make a file with the state at the start of a period."""
        discard_database(made)
        if base is not None and base.has_copy:
            copy_database(recovery.log.copy_of(base.number), made)
        return self._open_at(made)

    def _restore(self, recovery: Recovery, known: Known, lost: str) -> None:
        from passdown.engines.sqlite.restoring import fill, find_base

        if recovery.is_hurried:
            raise AwayError(f"{TITLE} {lost}", hint=NEXT_COMMAND)
        made, log = self._path + _NEW, recovery.log
        base = find_base(log)
        with closing(self._make_base(recovery, base, made)) as database:
            database.set_identity(known.period.identity)
            restored = fill(database, log, base, known, recovery.holders(), recovery.tell_time)
            database.empty_log()
            aside = self._move_aside()
            told = describe_restored(lost, restored, os.path.basename(aside))
            _begin_period(recovery, database, None, told)
        log.note_state(find_state(made))
        put_in_place(made, self._path)
        recovery.tell(told)

    def _move_aside(self) -> str:
        """Rename what is left of the file, and return the new name; empty if nothing is left."""
        if not _has_bytes(self._path):
            discard_database(self._path)  # SQLite's own log may be there without it
            return ""
        number = 1
        while find_state(f"{self._path}{_LOST}{number}") is not None:
            number += 1
        aside = f"{self._path}{_LOST}{number}"
        move_database(self._path, aside)
        return aside

    def _is_copy_due(self, recovery: Recovery, known: Known | None) -> bool:
        """Return whether a new period must begin: new file, another day, many changes, or a gap."""
        if known is None or recovery.log.is_full(known.period, recovery.today()):
            return True
        has_gap = any(at > known.positions.get(name, 0) for name, at in self._positions.items())
        return has_gap or known.period.version != len(CoordinationDatabase.scripts())

    def _copy_here(self, recovery: Recovery, database: CoordinationDatabase) -> None:
        """Begin a period with this database; if it cannot be copied, a later command tries again."""
        with suppress(StorageError):
            if not database.identity():
                database.set_identity(recovery.make_identity())
            _begin_period(recovery, database, self.opened)
            recovery.log.note_state(self.opened.state if self.opened.is_same() else None)


def examine(path: str, log: ChangeLog) -> str:
    """Return why a file counts as lost, without changing anything; empty if it does not."""
    known = log.known()
    if known is None:
        return ""
    if not _has_bytes(path):
        return "is empty" if find_state(path) else "is missing"
    try:
        with closing(CoordinationDatabase(open_read_only(path), path)) as database:
            lost = find_loss(database.identity(), database.positions(), known)
            return lost or _describe_damage(database.find_damage())
    except (StorageError, sqlite3.Error) as error:
        return f"is damaged: {error.__cause__ or error}" if is_damage(error.__cause__ or error) else ""


def _begin_period(
    recovery: Recovery, database: CoordinationDatabase, opened: OpenFile | None, restored: str = ""
) -> None:
    """Copy a database and log its changes from now on, unless another program touches its file meanwhile."""
    log = recovery.log
    log.make_folder()
    positions, number = database.positions(), log.next_number()
    has_copy = any(positions.values())
    discard_database(log.copy_of(number))
    if has_copy:
        database.copy_to(log.copy_of(number))
    if opened is not None and not opened.is_same():
        return
    version, day = len(database.scripts()), recovery.today()
    log.begin(Period(number, database.identity(), version, day, positions, has_copy, restored))
    for path in log.list_old():
        discard_database(path)


def _describe_damage(found: str) -> str:
    return f"is damaged: {found}" if found else ""


def find_loss(identity: int, positions: Mapping[str, int], known: Known) -> str:
    """Return why an open database is not the same as before; empty if it may be."""
    if identity != known.period.identity:
        return "was replaced by another file"
    for name, at in known.positions.items():
        if positions.get(name, 0) < at:
            return f"is older than before: it has change {positions.get(name, 0)} of {at}"
    return ""


def _has_bytes(path: str) -> bool:
    found = find_state(path)
    return found is not None and found.size > 0


def describe_restored(lost: str, restored: "Restored", aside: str) -> str:
    """Return a message: what happened to the file, what it was restored from, and what was lost."""
    base = restored.base
    sources = [f"the copy of {base.day}"] if base is not None and base.has_copy else []
    sources += [_count(restored.changes, "logged change")] if restored.changes or not sources else []
    sources += [_count(restored.holdings, "holding") + " that sessions recorded"] if restored.holdings else []
    parts = [f"{TITLE} {lost}; it was restored from {' and '.join(sources)}"]
    lacking = _count(restored.missing, "change")
    parts.append(f"{lacking} could not be restored" if restored.missing else "no known change is missing")
    parts += [f"the old file is kept as {aside}"] if aside else []
    return "; ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
