"""A checkout to try services on: files in a folder, git in memory, a clock that is moved."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from passdown.engines.files.documents import FileDocuments
from passdown.engines.files.event_log import FileEventLog
from passdown.engines.memory.index import MemoryIndex
from passdown.records import record, replace
from passdown.settings import Settings
from passdown.testing.memory.repository import MemoryRepository
from tests.support.events import MovedClock
from tests.support.projects import ARCHIVE, EVENTS
from tests.support.sessions import MemoryWorkspace

NOON = datetime(2026, 1, 11, 12, tzinfo=UTC)


@record
class Bench:
    """A checkout and what a test changes about it."""

    folder: Path
    checkout: MemoryWorkspace
    repository: MemoryRepository
    clock: MovedClock

    def read(self, path: str) -> str:
        """Read a file."""
        return (self.folder / path).read_text(encoding="utf-8")

    def with_settings(self, settings: Settings) -> MemoryWorkspace:
        """Give the checkout with other settings."""
        return replace(self.checkout, settings=settings)


def make_bench(folder: Path, *, with_git: bool = True) -> Bench:
    """Make a checkout of an empty project."""
    clock = MovedClock(NOON)
    documents = FileDocuments(folder)
    repository = MemoryRepository(documents)
    repository.there = with_git
    checkout = MemoryWorkspace(
        root=str(folder),
        log=FileEventLog(str(folder / EVENTS), str(folder / ARCHIVE), clock),
        index=MemoryIndex(),
        documents=documents,
        repository=repository,
        tracking=repository,
        archive_branch=repository,
        clock=clock,
    )
    return Bench(folder=folder, checkout=checkout, repository=repository, clock=clock)


def committed(bench: Bench) -> Mapping[str, str]:
    """Give what the last commit holds."""
    return bench.repository.listing("")
