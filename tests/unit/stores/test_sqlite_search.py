"""The search's cache in a file: damage, locks and other versions may make it useless, but never wrong."""

import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from passdown.core.project.search_query import DocumentKind, parse_query
from passdown.engines.sqlite import database
from passdown.engines.sqlite import search_index as engine
from passdown.engines.sqlite.database import read_queries
from passdown.engines.sqlite.search_index import VERSION, WORN, SqliteSearch, open_search
from passdown.errors import CacheError
from passdown.ports.event_log import FileMark
from passdown.ports.search import SearchChange, SearchDocument, SearchFile, SearchFilter
from tests.support.events import START

HERE = Path(engine.__file__).parent
QUERIES = read_queries(HERE / "search_queries.sql")
MANY = 600
OF_ALL = {"list_folders", "read_counters", "save_counters", "read_size", "list_sizes", "sum_lengths"}
"""Queries that are meant to look at everything."""


@contextmanager
def opened(path: Path, *, shared_memory: bool = True) -> Iterator[SqliteSearch]:
    index = open_search(str(path), shared_memory=shared_memory)
    try:
        yield index
    finally:
        index.close()


def make_files(count: int, start: int = 0, text: str = "alpha beta") -> list[SearchFile]:
    numbers = range(start, start + count)
    documents = [
        SearchDocument(f"{number:032x}", "", START, "toast", f"{text} n{number}") for number in numbers
    ]
    return [SearchFile("", f"{one.key}.md", FileMark(1, 2, 3), (one,)) for one in documents]


def apply(
    index: SqliteSearch, files: list[SearchFile], *, mark: int | None = 1, gone: tuple[str, ...] = ()
) -> None:
    folders = {} if mark is None else {"": mark}
    with index.changing():
        index.apply(SearchChange(DocumentKind.ARCHIVE, folders, [("", name) for name in gone], files))


def total(index: SqliteSearch, text: str = "alpha") -> int:
    return index.find(parse_query(text), SearchFilter(), 1).total


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "search.db"
    with opened(path) as index:
        apply(index, make_files(3))
    return path


def test_what_was_taken_in_is_there_the_next_time(path: Path) -> None:
    with opened(path) as index:
        assert (total(index), index.folders(DocumentKind.ARCHIVE)) == (3, {"": 1})


def test_no_text_is_kept(path: Path) -> None:
    """The words are in an index without content: what a document says is in its file alone."""
    data = path.read_bytes()

    assert b"alpha beta" not in data
    assert b"alpha" in data


@pytest.mark.parametrize(
    "damage", [b"this is no database at all" * 400, b"SQLite format 3\0" + b"\xff" * 9000]
)
def test_a_damaged_file_is_thrown_away(path: Path, damage: bytes) -> None:
    path.write_bytes(damage)

    with opened(path) as index:
        assert (total(index), index.folders(DocumentKind.ARCHIVE)) == (0, {})
        apply(index, make_files(3))
        assert total(index) == 3


def test_a_file_whose_damage_shows_later_is_made_anew_the_next_time(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE words_data SET block = x'00' WHERE id > 100")
    connection.commit()
    connection.close()
    with opened(path) as index, pytest.raises(CacheError, match="malformed"):
        total(index)

    with opened(path) as index:
        assert (total(index), index.folders(DocumentKind.ARCHIVE)) == (0, {})


def test_a_file_of_another_version_is_emptied(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.execute("CREATE TABLE newer (thing TEXT)")
    connection.close()

    with opened(path) as index:
        assert (total(index), index.folders(DocumentKind.ARCHIVE)) == (0, {})
        apply(index, make_files(2))
        assert total(index) == 2


@pytest.mark.requirement("C133")
def test_an_index_without_stems_gets_them_without_reading_a_document(tmp_path: Path) -> None:
    """Version 1 had the same words, but no stems, and no lengths of documents."""
    path = tmp_path / "search.db"
    texts = [f"session {'word ' * count}redis" for count in (1, 130, 20_000)]
    with opened(path) as index:
        for number, text in enumerate(texts):
            apply(index, make_files(1, start=number, text=text), mark=None)
        apply(index, make_files(1, start=9, text="keeping"))
        expected = index.find(parse_query("the keeper keeps sessions of words"), SearchFilter(), 5)
    connection = sqlite3.connect(path)
    connection.executescript(
        "DROP TABLE occurrences; DROP TABLE forms; ALTER TABLE documents DROP COLUMN length;"
        "ALTER TABLE counters DROP COLUMN length; PRAGMA user_version = 1"
    )
    connection.close()

    with opened(path) as index:
        assert index.find(parse_query("the keeper keeps sessions of words"), SearchFilter(), 5) == expected
        assert expected.total == 4
        apply(index, make_files(1, start=10, text="sessions"))
        assert total(index, "session") == 4


def test_two_who_open_an_index_without_stems_add_them_once(tmp_path: Path) -> None:
    path = tmp_path / "search.db"
    with opened(path) as index:
        apply(index, make_files(3))
        version = index._version
        answers = iter([1, VERSION])
        index._version = lambda: next(answers, version())  # type: ignore[method-assign]
        index.prepare()
        assert total(index) == 3


def test_a_file_that_is_mostly_words_of_what_is_gone_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "search.db"
    with opened(path) as index:
        files = make_files(WORN + 100)
        apply(index, files)
        apply(index, [], gone=tuple(file.name for file in files[:WORN]))
    with opened(path) as index:
        assert total(index) == 100
        apply(index, [], gone=(files[WORN].name,))
        assert total(index) == 99

    with opened(path) as index:
        assert (total(index), index.folders(DocumentKind.ARCHIVE)) == (0, {})


def test_without_full_text_search_there_is_no_such_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MODULE", "missing")

    with pytest.raises(CacheError, match="no such module") as raised:
        open_search(str(tmp_path / "search.db"), shared_memory=True)
    assert raised.value.hint


def test_a_file_that_was_made_with_full_text_search_is_not_used_without(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'fts5', 'missing') WHERE name = 'words'")
    connection.commit()
    connection.close()

    with pytest.raises(CacheError, match="no such module"):
        open_search(str(path), shared_memory=True)


def test_a_file_that_cannot_be_opened_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match="cannot be used: unable to open"):
        open_search(str(tmp_path / "missing" / "search.db"), shared_memory=True)


def test_a_file_that_another_holds_is_not_thrown_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT_SECONDS", 0.01)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with opened(path) as index:
        with pytest.raises(CacheError, match="locked"):
            apply(index, make_files(1, start=9))
        assert total(index) == 3
        holder.execute("ROLLBACK")
        apply(index, make_files(1, start=9))
        assert total(index) == 4
    holder.close()


def test_a_file_that_can_no_longer_be_written_is_not_thrown_away(path: Path) -> None:
    with opened(path) as index:
        index._connection.execute("PRAGMA query_only = 1")  # as on a full disk
        with pytest.raises(CacheError, match="readonly"):
            apply(index, make_files(1, start=9))
    with opened(path) as index:
        assert total(index) == 3


def segments(path: Path) -> int:
    """Count the parts that a query must look at."""
    connection = sqlite3.connect(path)
    count = connection.execute("SELECT count(DISTINCT segid) FROM words_idx").fetchone()[0]
    connection.close()
    return int(count)


def test_what_comes_many_at_once_is_merged_when_all_is_there(tmp_path: Path) -> None:
    path = tmp_path / "search.db"
    with opened(path) as index:
        for batch in range(6):
            apply(index, make_files(MANY, start=batch * MANY), mark=None)
        assert segments(path) == 6
        apply(index, make_files(MANY, start=6 * MANY))
        assert (segments(path), total(index, '"n7" alpha')) == (1, 1)


def test_few_that_come_to_many_are_not_merged_with_all(tmp_path: Path) -> None:
    path = tmp_path / "search.db"
    with opened(path) as index:
        apply(index, make_files(8 * MANY))
        apply(index, make_files(MANY, start=8 * MANY), mark=None)
        apply(index, make_files(1, start=9 * MANY), mark=None)
        assert segments(path) == 3
        assert total(index, f"n{9 * MANY}") == 1


def test_many_single_changes_do_not_pile_up(tmp_path: Path) -> None:
    path = tmp_path / "search.db"
    with opened(path) as index:
        apply(index, make_files(MANY))
        for number in range(60):
            apply(index, make_files(1, start=MANY + number), mark=number)
        assert segments(path) <= 20
        assert total(index) == MANY + 60


def test_room_that_is_not_needed_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "search.db"
    with opened(path) as index:
        for batch in range(4):
            apply(index, make_files(MANY, start=batch * MANY), mark=batch)
    connection = sqlite3.connect(path)
    free = connection.execute("PRAGMA freelist_count").fetchone()[0]
    connection.close()

    assert free == 0


def test_room_is_kept_for_later_when_somebody_else_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WAIT_SECONDS", 0.01)
    path = tmp_path / "search.db"
    with opened(path) as index:
        apply(index, make_files(MANY), mark=None)
        other = sqlite3.connect(path, isolation_level=None)
        connection = index._connection  # the moment between two statements
        connection.set_trace_callback(
            lambda statement: other.execute("BEGIN IMMEDIATE") if "vacuum" in statement else None
        )
        apply(index, make_files(MANY, start=MANY))
        connection.set_trace_callback(None)
        assert total(index) == 2 * MANY
        other.close()


def test_two_who_take_in_the_same_at_once_have_it_once(tmp_path: Path) -> None:
    path = tmp_path / "search.db"
    with opened(path):
        pass
    failed: list[BaseException] = []

    def build() -> None:
        try:
            with opened(path) as index:
                for batch in range(5):
                    apply(index, make_files(100, start=batch * 100), mark=None)
                apply(index, [], mark=7)
        except BaseException as error:  # noqa: BLE001 - the test tells
            failed.append(error)

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    with opened(path) as index:
        assert (total(index), len(index.files(DocumentKind.ARCHIVE, ""))) == (500, 500)
        assert index.folders(DocumentKind.ARCHIVE) == {"": 7}


@pytest.mark.parametrize("name", sorted(QUERIES.keys() - OF_ALL))
def test_a_query_that_runs_for_one_document_uses_an_index(name: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript((HERE / "search_schema.sql").read_text(encoding="utf-8"))
    connection.execute("CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'ascii')")
    connection.execute("CREATE VIRTUAL TABLE occurrences USING fts5vocab (words, instance)")
    query = QUERIES[name]
    named = set(re.findall(r":(\w+)", query))
    values: dict[str, int] | list[int] = dict.fromkeys(named, 1) if named else [1] * query.count("?")
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", values)]
    connection.close()

    allowed = re.compile(
        r"SCAN ((words|wanted|occurrences) VIRTUAL TABLE INDEX|CONSTANT ROW|agents|\(?(subquery|held))"
    )
    assert [step for step in plan if step.startswith("SCAN") and not allowed.match(step)] == []
