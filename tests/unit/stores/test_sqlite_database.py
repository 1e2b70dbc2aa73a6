"""What is kept in SQLite and nowhere else is never thrown away; a cache that is of no use is made anew."""

import gc
import os
import sqlite3
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from passdown.engines.sqlite import database
from passdown.engines.sqlite.database import (
    Database,
    KeptDatabase,
    RebuildableDatabase,
    open_database,
    open_read_only,
    split_statements,
)
from passdown.engines.sqlite.mounts import MountKind
from passdown.errors import CacheError, OtherThreadError, StorageError

MIGRATIONS = {
    "0001_tasks.sql": "CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT NOT NULL);\n",
    "0002_owners.sql": "ALTER TABLE tasks ADD COLUMN owner TEXT;\nUPDATE tasks SET owner = 'nobody';\n",
}
QUERIES = "-- name: add\nINSERT INTO tasks (title) VALUES (?);\n-- name: list\nSELECT title FROM tasks;\n"
NO_DATABASE = b"this is no database at all" * 400


class Tasks(KeptDatabase):
    """A small database that must never be lost."""

    title = "the database of tasks"

    def add(self, title: str) -> None:
        """Keep a task."""
        with self.changing():
            self._run("add", title)

    def titles(self) -> list[str]:
        """Name the tasks."""
        return [title for (title,) in self._all("list")]

    def ask(self, statement: str) -> object:
        """Give the first value of the first row."""
        return self._connection.execute(statement).fetchone()[0]


class CachedTasks(RebuildableDatabase):
    """The same as a cache."""

    title = "the cache of tasks"
    origin = "the tasks"
    version = 1

    def titles(self) -> list[str]:
        """Name the tasks."""
        return [title for (title,) in self._all("list")]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the place of a database whose migrations lie in a folder beside it."""
    for kind in (Tasks, CachedTasks):
        monkeypatch.setattr(kind, "queries", tmp_path / "queries.sql", raising=False)
    monkeypatch.setattr(Tasks, "migrations", tmp_path / "migrations", raising=False)
    monkeypatch.setattr(CachedTasks, "schema", tmp_path / "schema.sql", raising=False)
    (tmp_path / "queries.sql").write_text(QUERIES)
    (tmp_path / "schema.sql").write_text(MIGRATIONS["0001_tasks.sql"])
    put_migrations(tmp_path, 1)
    return tmp_path / "tasks.db"


def put_migrations(folder: Path, count: int, **others: str) -> None:
    """Let this version of the program know so many migrations, and others."""
    (folder / "migrations").mkdir(exist_ok=True)
    for name, text in [*MIGRATIONS.items()][:count]:
        (folder / "migrations" / name).write_text(text)
    for name, text in others.items():
        (folder / "migrations" / f"{name}.sql").write_text(text)


@contextmanager
def opened(path: Path, *, wait: float | None = None) -> Iterator[Tasks]:
    tasks = open_database(Tasks, str(path), wait=wait)
    try:
        yield tasks
    finally:
        tasks.close()


@pytest.fixture
def filled(path: Path) -> Path:
    with opened(path) as tasks:
        tasks.add("write a test")
    return path


def files(path: Path) -> dict[str, bytes]:
    """Read every file of a database."""
    return {file.name: file.read_bytes() for file in path.parent.glob(f"{path.name}*")}


def damage_table(path: Path) -> None:
    """Overwrite the page of the table; opening does not look at it."""
    with opened(path) as tasks:
        page, size = tasks.ask("SELECT rootpage FROM sqlite_master"), tasks.ask("PRAGMA page_size")
    assert isinstance(page, int)
    assert isinstance(size, int)
    whole = path.read_bytes()
    path.write_bytes(whole[: (page - 1) * size] + b"\xff" * size + whole[page * size :])


def test_a_new_database_has_all_migrations_and_survives_a_power_cut(path: Path) -> None:
    put_migrations(path.parent, 2)

    with opened(path) as tasks:
        tasks.add("write a test")
        assert (tasks.ask("PRAGMA user_version"), tasks.ask("PRAGMA synchronous")) == (2, 2)
    with opened(path) as tasks:
        assert tasks.titles() == ["write a test"]


def test_an_older_database_is_brought_forward_with_all_that_it_holds(filled: Path) -> None:
    put_migrations(filled.parent, 2)

    with opened(filled) as tasks:
        assert (tasks.titles(), tasks.ask("SELECT owner FROM tasks")) == (["write a test"], "nobody")
        assert tasks.ask("PRAGMA user_version") == 2


def test_a_migration_that_fails_changes_nothing(filled: Path) -> None:
    put_migrations(filled.parent, 2, **{"0003_wrong": "DROP TABLE tasks;\nCREATE NONSENSE;\n"})

    with pytest.raises(StorageError, match=r"tasks cannot be used: .*syntax error") as refused:
        open_database(Tasks, str(filled))

    assert str(filled) in refused.value.hint
    (filled.parent / "migrations" / "0003_wrong.sql").unlink()
    with opened(filled) as tasks:
        assert tasks.titles() == ["write a test"]


def test_a_database_that_another_brings_forward_first_is_not_migrated_twice(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_migrations(filled.parent, 2)
    version = Database._version  # a race by hand

    def slow_version(tasks: Database) -> int:
        monkeypatch.setattr(Database, "_version", version)
        found = version(tasks)
        with opened(filled):
            pass
        return found

    monkeypatch.setattr(Database, "_version", slow_version)

    with opened(filled) as tasks:
        assert (tasks.titles(), tasks.ask("PRAGMA user_version")) == (["write a test"], 2)


def test_a_newer_database_is_refused_and_left_as_it_is(filled: Path) -> None:
    put_migrations(filled.parent, 2)
    with opened(filled):
        pass
    (filled.parent / "migrations" / "0002_owners.sql").unlink()
    before = files(filled)

    found = "the database of tasks is too new: it has version 2, but this version of Passdown knows only 1"
    with pytest.raises(StorageError, match=found) as refused:
        open_database(Tasks, str(filled))

    assert refused.value.hint == "Update Passdown."
    assert not isinstance(refused.value, CacheError)
    assert files(filled) == before


@pytest.mark.parametrize("damage", [NO_DATABASE, b"SQLite format 3\0" + b"\xff" * 9000])
def test_a_damaged_database_is_reported_and_left_in_place(filled: Path, damage: bytes) -> None:
    filled.write_bytes(damage)

    with pytest.raises(StorageError, match="the database of tasks is damaged") as refused:
        open_database(Tasks, str(filled))

    assert (str(filled) in refused.value.hint, filled.read_bytes()) == (True, damage)


def test_damage_that_shows_later_is_reported_and_left_in_place(filled: Path) -> None:
    damage_table(filled)
    before = filled.read_bytes()

    for _ in range(2):
        with opened(filled) as tasks, pytest.raises(StorageError, match="is damaged"):
            tasks.titles()

    assert filled.read_bytes() == before


@pytest.mark.parametrize("kind", [Tasks, CachedTasks])
def test_a_database_in_another_thread_says_so_and_is_not_said_to_be_damaged(
    path: Path, kind: type[Tasks] | type[CachedTasks]
) -> None:
    tasks = open_database(kind, str(path))
    for act in (tasks.titles, tasks.changing().__enter__):
        with ThreadPoolExecutor(1) as other, pytest.raises(OtherThreadError) as caught:
            other.submit(act).result()

        assert caught.value.message == f"{kind.title} was opened in another thread"
        assert caught.value.hint == "Open the project once in each thread."
    assert tasks.titles() == []
    tasks.close()
    with closing(open_read_only(str(path))) as left:
        assert left.execute("PRAGMA user_version").fetchone() == (1,)  # a damaged cache would have none


def test_a_database_that_another_holds_is_not_said_to_be_damaged(filled: Path) -> None:
    holder = sqlite3.connect(filled, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    with opened(filled, wait=0.01) as tasks, pytest.raises(StorageError, match=r"cannot be used: .*locked"):
        tasks.add("wait")

    holder.close()
    with opened(filled) as tasks:
        assert tasks.titles() == ["write a test"]


@pytest.mark.parametrize(
    ("kind", "mode"),
    [(MountKind.LOCAL, "wal"), (MountKind.REMOTE, "truncate"), (MountKind.UNKNOWN, "truncate")],
)
def test_the_write_ahead_log_is_used_on_a_disk_of_this_machine(
    path: Path, monkeypatch: pytest.MonkeyPatch, kind: MountKind, mode: str
) -> None:
    monkeypatch.setattr(database, "find_mount", lambda *_: kind)

    with opened(path) as tasks:
        assert tasks.ask("PRAGMA journal_mode") == mode


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Let new files be open to everybody, unless their writer says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(path: Path) -> dict[str, int]:
    """Give the rights on each file of a database."""
    return {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.glob(f"{path.name}*")}


@pytest.mark.requirement("G18")
@pytest.mark.usefixtures("open_umask")
@pytest.mark.skipif(os.name != "posix", reason="there are no such rights")
@pytest.mark.parametrize("is_old", [False, True])
def test_only_its_owner_can_read_a_database(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, is_old: bool
) -> None:
    monkeypatch.setattr(database, "find_mount", lambda *_: MountKind.LOCAL)
    if is_old:
        sqlite3.connect(path).close()
        path.touch()
        path.chmod(0o644)

    with opened(path) as tasks:
        tasks.add("write a test")

        assert modes(path) == {f"{path.name}{end}": 0o600 for end in ("", "-shm", "-wal")}


def test_a_database_that_is_let_go_is_closed_without_a_warning(path: Path) -> None:
    held: list[object] = [open_database(Tasks, str(path))]
    held.append(held)  # as in a workspace whose parts know each other
    del held

    gc.collect()  # from Python 3.13 on, a connection that was left open warns here

    assert [one.name for one in path.parent.glob(f"{path.name}?*")] == []


@pytest.mark.parametrize("damage", [None, NO_DATABASE])
def test_a_cache_of_another_version_is_emptied_and_a_damaged_one_thrown_away(
    filled: Path, damage: bytes | None
) -> None:
    connection = sqlite3.connect(filled)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    if damage is not None:
        filled.write_bytes(damage)

    cached = open_database(CachedTasks, str(filled))

    assert cached.titles() == []
    cached.close()


def test_a_cache_whose_damage_shows_in_a_change_is_made_anew_the_next_time(filled: Path) -> None:
    damage_table(filled)
    cached = open_database(CachedTasks, str(filled))
    with pytest.raises(CacheError, match="malformed"), cached.changing():
        cached.titles()
    cached.close()

    cached = open_database(CachedTasks, str(filled))

    assert cached.titles() == []
    cached.close()


def test_a_database_can_be_opened_only_to_look(filled: Path) -> None:
    odd = filled.parent / "a #1 ?100%.db"
    filled.rename(odd)
    connection = open_read_only(str(odd))

    assert connection.execute("SELECT title FROM tasks").fetchall() == [("write a test",)]
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM tasks")
    connection.close()


def test_a_script_is_cut_into_statements_and_a_trigger_stays_whole() -> None:
    trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN\n  DELETE FROM b;\n  DELETE FROM c;\nEND;\n"

    found = list(split_statements(f"-- About a; and b.\nCREATE TABLE a (x);\n{trigger}SELECT 1\n\n"))

    assert found == ["-- About a; and b.\nCREATE TABLE a (x);\n", trigger, "SELECT 1\n\n"]
