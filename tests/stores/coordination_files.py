"""A file of coordination on a machine whose clocks a test moves."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from passdown.engines.files.locks import Gate
from passdown.engines.sqlite.coordination import (
    LocalMachine,
    ReadOnlyStore,
    SqliteStore,
    open_reader,
    open_store,
)
from passdown.engines.sqlite.coordination_database import CoordinationDatabase
from passdown.engines.sqlite.mounts import MountKind
from passdown.ports.clock import BootTime
from tests.support.events import MovedClock

START: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)


NEWER: Final = len(CoordinationDatabase.scripts()) + 1
"""A version of the file that this code does not know."""


@contextmanager
def too_new(path: Path) -> Iterator[None]:
    """Let a later version have changed the tables meanwhile."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (known,) = connection.execute("PRAGMA user_version").fetchone()
        before = connection.execute("SELECT value, name FROM meta").fetchall()
        connection.execute("UPDATE meta SET value = ?", (NEWER,))
        connection.execute(f"PRAGMA user_version = {NEWER}")
        yield
        connection.executemany("UPDATE meta SET value = ? WHERE name = ?", before)
        connection.execute(f"PRAGMA user_version = {known}")


class MovedBoot:
    """The clock of a boot, moved by the test."""

    def __init__(self, boot: str = "boot-a", seconds: float = 100.0) -> None:
        """Start at some seconds after the boot."""
        self.at = BootTime(boot, seconds)

    def read(self) -> BootTime:
        """Give the instant that the test set."""
        return self.at

    def go_on(self, seconds: float) -> None:
        """Let time pass."""
        self.at = self.at._replace(seconds=self.at.seconds + seconds)


class SharedFile:
    """The file that sessions of a clone share, on a machine whose clocks the test moves."""

    def __init__(self, folder: Path) -> None:
        """Use a folder that need not exist."""
        self.path = folder / "coordination.sqlite"
        self.boot = MovedBoot()
        self.clock = MovedClock(START)
        self.open_ones: list[SqliteStore] = []

    @property
    def local(self) -> LocalMachine:
        """What the store is given."""
        return LocalMachine(
            boot_clock=self.boot, clock=self.clock, is_running=lambda process: process == "alive" or None
        )

    def open(
        self,
        project: str = "local",
        *,
        mount: MountKind = MountKind.LOCAL,
        gate: Gate | None = None,
        wait: float = 10.0,
    ) -> SqliteStore:
        """Open the file."""
        store = open_store(str(self.path), project, self.local, mount=mount, gate=gate, wait=wait)
        self.open_ones.append(store)
        return store

    def read(self, project: str = "local") -> ReadOnlyStore:
        """Open the file for reading only."""
        return open_reader(str(self.path), project, self.local)

    def close(self) -> None:
        """Close all that was opened."""
        for store in self.open_ones:
            store.close()
        self.open_ones.clear()

    def ask(self, statement: str, *values: object) -> object:
        """Give the first value of the first row; the file must be closed."""
        connection = sqlite3.connect(self.path, isolation_level=None)
        row = connection.execute(statement, values).fetchone()
        connection.close()
        return row and row[0]
