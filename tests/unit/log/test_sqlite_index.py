"""The index in a file: damage, locks and other writers may make it useless, but never wrong."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from passdown.core.formats.events import Event
from passdown.core.kinds import FactKind
from passdown.core.merge.merge import Digest, make_digest, merge_events
from passdown.engines.files.event_log import FileEventLog
from passdown.engines.memory.event_log import MemoryEventLog
from passdown.engines.memory.index import MemoryIndex
from passdown.engines.sqlite import database
from passdown.engines.sqlite.event_index import VERSION, SqliteIndex, open_index
from passdown.engines.system import SystemClock
from passdown.errors import StorageError
from passdown.ports.index import Index
from passdown.services.log.events import update_index, write_event
from passdown.settings import EventLayout
from tests.support.events import make_text

COUNT = 400


def make_log(count: int = COUNT) -> MemoryEventLog:
    log = MemoryEventLog()
    for number in range(count):
        text = make_text(
            f"2026-01-{1 + number % 28:02}T00:00:00Z",
            now=f"{number}",
            this_session=[f"done {number} {'x' * 100}"],
            decisions={f"k{number}": "v"},
            open_questions=[f"q{number % 7}"],
        )
        log.create("", f"{number}.md", text.encode())
    return log


@contextmanager
def opened(path: Path, *, shared_memory: bool = True) -> Iterator[SqliteIndex]:
    index = open_index(str(path), shared_memory=shared_memory)
    try:
        yield index
    finally:
        index.close()


@pytest.fixture(scope="module")
def log() -> MemoryEventLog:
    return make_log()


@pytest.fixture(scope="module")
def expected(log: MemoryEventLog) -> Digest:
    index = MemoryIndex()
    update_index(log, index)
    return index.digest(20)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, log: MemoryEventLog) -> bytes:
    path = tmp_path_factory.mktemp("filled") / "index.db"
    with opened(path, shared_memory=False) as index:
        update_index(log, index)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, filled: bytes) -> Path:
    path = tmp_path / "index.db"
    path.write_bytes(filled)
    return path


def digest_of(path: Path, log: MemoryEventLog) -> Digest:
    with opened(path, shared_memory=False) as index:
        update_index(log, index)
        return index.digest(20)


@pytest.mark.requirement("R119")
def test_what_was_taken_in_is_there_the_next_time(path: Path, expected: Digest) -> None:
    with opened(path) as index:
        assert index.digest(20) == expected
        assert len(index.files("")) == COUNT


def test_an_index_of_another_version_is_emptied_and_filled_again(
    path: Path, log: MemoryEventLog, expected: Digest
) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()

    with opened(path) as index:
        assert (index.folders(), index.digest(1).event_count) == ({}, 0)
    assert digest_of(path, log) == expected


def test_the_tables_are_made_once_when_several_open_a_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: MemoryEventLog, expected: Digest
) -> None:
    path, version = tmp_path / "index.db", SqliteIndex._version  # a race by hand

    def slow_version(index: SqliteIndex) -> int:
        """Let somebody else make the tables between the two looks at the version."""
        monkeypatch.setattr(SqliteIndex, "_version", version)
        found = version(index)
        digest_of(path, log)
        return found

    monkeypatch.setattr(SqliteIndex, "_version", slow_version)

    with opened(path, shared_memory=False) as index:
        assert index.digest(20) == expected


# --- damage ---------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0, 1, 15, 16, 100, 4095, 4096, 5000, 8192, 40_960, 41_000])
def test_a_cut_file_is_refused_or_filled_again(
    path: Path, log: MemoryEventLog, expected: Digest, keep: int
) -> None:
    path.write_bytes(path.read_bytes()[:keep])

    assert read_or_refuse(path, log) in {None, expected.events_sha256}


@pytest.mark.parametrize("filler", [b"\0", b"\xff", b"SQL "])
def test_overwritten_pages_are_refused_or_not_needed(
    path: Path, log: MemoryEventLog, expected: Digest, filler: bytes
) -> None:
    whole = path.read_bytes()
    outcomes = set[bool]()
    for page in range(0, len(whole) // 4096, 7):
        start = page * 4096
        path.write_bytes(whole[:start] + filler * (4096 // len(filler)) + whole[start + 4096 :])

        found = read_or_refuse(path, log, expected)

        outcomes.add(found is None)
    assert True in outcomes


def read_or_refuse(path: Path, log: MemoryEventLog, expected: Digest | None = None) -> str | None:
    """Give the hash of what an index says, None when it is refused."""
    try:
        digest = digest_of(path, log)
    except StorageError:
        return None
    assert expected is None or digest == expected
    return digest.events_sha256


def test_a_file_that_is_no_index_is_thrown_away(path: Path, log: MemoryEventLog, expected: Digest) -> None:
    path.write_bytes(b"this is a text and no database\n" * 1000)

    assert digest_of(path, log) == expected


def test_a_file_with_other_tables_is_refused(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE sources")
    connection.close()

    with opened(path) as index, pytest.raises(StorageError) as refused:
        index.digest(1)

    assert "delete it at any time" in refused.value.hint


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.db").mkdir()

    for place in (tmp_path / "index.db", tmp_path / "missing" / "index.db"):
        with pytest.raises(StorageError) as refused:
            open_index(str(place), shared_memory=True)
        assert refused.value.hint


def test_a_file_that_cannot_be_written_is_refused_and_keeps_what_it_has(
    path: Path, log: MemoryEventLog, expected: Digest
) -> None:
    index = SqliteIndex(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None))

    with pytest.raises(StorageError) as refused:
        update_index(make_log(COUNT + 1), index)
    index.digest(20)
    index.remember("view", "text")

    assert refused.value.hint
    assert index.recall("view") is None
    assert index.digest(20) == expected
    index.close()
    assert digest_of(path, log) == expected


def test_a_disk_without_space_is_told_and_nothing_is_kept(tmp_path: Path, log: MemoryEventLog) -> None:
    with opened(tmp_path / "index.db", shared_memory=False) as index:
        connection = index._connection  # SQLite's own limit plays the full disk
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 3}")

        with pytest.raises(StorageError, match="full") as refused:
            update_index(log, index)

        assert refused.value.hint
        assert not connection.in_transaction
        assert (index.folders(), index.digest(1).event_count) == ({}, 0)


# --- others at the same file ----------------------------------------------------------------


@pytest.mark.parametrize("shared_memory", [True, False])
def test_a_locked_file_is_refused_and_can_be_used_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, shared_memory: bool
) -> None:
    monkeypatch.setattr(database, "WAIT_SECONDS", 0.01)
    path, small = tmp_path / "index.db", make_log(3)
    with opened(path, shared_memory=shared_memory) as one, opened(path, shared_memory=shared_memory) as two:
        with one.changing(), pytest.raises(StorageError, match="locked") as refused:
            update_index(small, two)
        assert refused.value.hint

        update_index(small, two)
        assert one.digest(1) == two.digest(1)
        assert two.digest(1).event_count == 3


def test_a_reader_in_the_way_of_a_commit_leaves_no_half_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WAIT_SECONDS", 0.01)
    path = tmp_path / "index.db"
    with opened(path, shared_memory=False) as index:
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM files").fetchall()

        with pytest.raises(StorageError, match="locked"):
            update_index(make_log(3), index)
        reader.close()

        assert (index.folders(), index.digest(1).event_count) == ({}, 0)
        update_index(make_log(3), index)
        assert index.digest(1).event_count == 3


class Interrupted(SqliteIndex):
    """An index that is changed by somebody else in the middle of an answer."""

    other: Index
    log = make_log(0)

    def _total(self, kind: FactKind) -> int:
        number = len(self.log.files(""))
        self.log.create("", f"{number}.md", make_text(this_session=[f"{number}"], now="x").encode())
        update_index(self.log, self.other)
        return super()._total(kind)


def test_a_digest_is_of_one_state_whatever_others_write_meanwhile(tmp_path: Path) -> None:
    path = str(tmp_path / "index.db")
    with opened(tmp_path / "index.db") as other:
        index = Interrupted(sqlite3.connect(path, isolation_level=None))
        index.other = other
        update_index(make_log(1), other)

        seen = index.digest(5)

        alone = MemoryIndex()
        update_index(make_log(1), alone)
        assert seen == alone.digest(5)
        assert other.digest(5) != seen
        index.close()


def test_what_was_made_from_an_older_state_is_not_remembered(tmp_path: Path) -> None:
    with opened(tmp_path / "index.db") as one, opened(tmp_path / "index.db") as two:
        update_index(make_log(1), one)
        one.digest(5)
        update_index(make_log(2), two)

        one.remember("view", "of one event")

        assert (one.recall("view"), two.recall("view")) == (None, None)
        one.digest(5)
        one.remember("view", "of two events")
        assert two.recall("view") == "of two events"


def test_a_digest_within_a_change_shows_the_change(tmp_path: Path) -> None:
    with opened(tmp_path / "index.db") as index, index.changing():
        assert index.digest(5) == make_digest(merge_events(()), 0, 5)


def test_many_writers_at_once_lose_nothing_and_write_nothing_twice(tmp_path: Path) -> None:
    clock, failures = SystemClock(), list[BaseException]()

    def write(number: int) -> None:
        try:
            log = FileEventLog(str(tmp_path / "events"), str(tmp_path / "archive"), clock)
            with opened(tmp_path / "index.db") as index:
                for turn in range(5):
                    own = Event(agent=f"a-{number}", this_session=(f"{number} {turn}",))
                    assert write_event(log, index, clock, own, layout=[*EventLayout][turn % 3])
                    shared = Event(agent=f"a-{number}", session="s", covers=f"1-{turn + 1}", now=f"{turn}")
                    write_event(log, index, clock, shared)
        except BaseException as error:  # noqa: BLE001 - it is raised again below
            failures.append(error)

    with opened(tmp_path / "index.db"):
        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert failures == []
    log = FileEventLog(str(tmp_path / "events"), str(tmp_path / "archive"), clock)
    fresh = MemoryIndex()
    update_index(log, fresh)
    with opened(tmp_path / "index.db") as index:
        update_index(log, index)
        assert index.digest(50) == fresh.digest(50)
    assert fresh.digest(50).kinds["done"].total == 20
    assert fresh.digest(50).event_count == 25
