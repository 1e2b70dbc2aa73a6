"""Journals on disk that were archived, where not all of it works: no index, no renaming, damaged lines."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from passdown.core.formats.journal import JournalLine, Scope
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import SessionStart, make_start
from passdown.engines.files import write
from passdown.engines.files.journals import FileJournals
from passdown.engines.sqlite.ended_index import SqliteEndedIndex, open_ended
from passdown.errors import CacheError
from passdown.ports.journals import EndedIndex
from passdown.records import replace
from tests.support.sessions import AGENT, NOON, make_line

ONE, TWO = "s-000000000001", "s-000000000002"


def open_in(
    folder: Path,
    operations: write.FileOperations = write.HERE,
    index: Callable[[], EndedIndex | None] | None = None,
) -> FileJournals:
    folders = [str(folder / "git"), str(folder / "checkout")]
    build = index or (lambda: open_ended(str(folder / "ended.sqlite")))
    return FileJournals(folders, roots=[str(folder)], operations=operations, open_index=build)


def begin(seq: int) -> JournalLine:
    start = SessionStart(host_session=f"host-{seq}")
    return JournalLine(seq=seq, fact=make_start(start, NOON, AGENT))


def make_done(seq: int) -> JournalLine:
    return make_line(seq, FactKind.DONE)


def put_away(folder: Path, session: str = ONE) -> None:
    journals = open_in(folder)
    journals.append(session, begin)
    assert journals.put_away(session, 1)
    journals.close()


@pytest.mark.requirement("C129")
def test_where_a_journal_cannot_be_brought_back_its_numbers_go_on_in_another_folder(tmp_path: Path) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    put_away(tmp_path)
    stuck = open_in(tmp_path, replace(write.HERE, rename=refuse))

    assert stuck.append(ONE, make_done).seq == 2

    for journals in (stuck, open_in(tmp_path)):
        assert [line.seq for line in journals.read(ONE)] == [1, 2]
        assert journals.last(ONE) == journals.read(ONE)[-1]
        assert list(journals.sessions(Scope.ALL)) == [ONE]
    assert open_in(tmp_path).append(ONE, make_done).seq == 3
    assert [line.seq for line in open_in(tmp_path).read(ONE)] == [1, 2, 3]


@pytest.mark.requirement("C129")
@pytest.mark.parametrize("is_there", [True, False])
def test_without_an_index_nothing_is_put_away_and_all_of_it_is_read(tmp_path: Path, is_there: bool) -> None:
    if is_there:
        put_away(tmp_path)
    journals = open_in(tmp_path, index=lambda: None)
    journals.append(TWO, begin)

    assert not journals.put_away(TWO, 1)
    assert list(journals.mentioning(Scope.ALL, "host-1")) == ([ONE, TWO] if is_there else [TWO])
    assert list(journals.mentioning(Scope.ALL, "host-2")) == []


@pytest.mark.requirement("C129")
def test_a_new_index_does_not_count_a_folder_as_known_that_holds_other_journals(tmp_path: Path) -> None:
    put_away(tmp_path)
    (tmp_path / "ended.sqlite").unlink()

    put_away(tmp_path, TWO)  # before anybody asked for the first one

    journals = open_in(tmp_path)
    assert list(journals.mentioning(Scope.ALL, "host-1")) == [ONE, TWO]


class BrokenIndex(SqliteEndedIndex):
    """An index that cannot be read any more."""

    def folders(self) -> dict[str, int]:
        """Fail."""
        raise CacheError("it is damaged")


@pytest.mark.requirement("C129")
def test_an_index_that_fails_is_done_without(tmp_path: Path) -> None:
    put_away(tmp_path)
    known = open_ended(str(tmp_path / "ended.sqlite"))
    broken = BrokenIndex(known._connection, "")
    journals = open_in(tmp_path, index=lambda: broken)

    assert list(journals.mentioning(Scope.ALL, "host-1")) == [ONE]
    assert list(journals.mentioning(Scope.ALL, "host-2")) == []


@pytest.mark.requirement("C129")
def test_a_journal_with_a_damaged_line_stays_live(tmp_path: Path) -> None:
    journals = open_in(tmp_path)
    journals.append(ONE, begin)
    with (tmp_path / "git" / f"{ONE}.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"v":2}\n')

    assert not journals.put_away(ONE, 1)
    assert list(journals.sessions(Scope.LIVE)) == [ONE]


@pytest.mark.requirement("C129")
def test_a_journal_that_lies_in_two_folders_stays_live(tmp_path: Path) -> None:
    open_in(tmp_path).append(ONE, begin)
    FileJournals([str(tmp_path / "checkout")]).append(ONE, make_done)

    assert not open_in(tmp_path).put_away(ONE, 1)
    assert list(open_in(tmp_path).sessions(Scope.LIVE)) == [ONE]


@pytest.mark.requirement("C129")
def test_a_journal_that_was_changed_by_hand_is_read_again(tmp_path: Path) -> None:
    put_away(tmp_path)
    assert list(open_in(tmp_path).mentioning(Scope.ALL, "host-1")) == [ONE]
    (path,) = (tmp_path / "git").glob("ended/*/*")
    other = JournalLine(seq=1, fact=make_start(SessionStart(host_session="another"), NOON, AGENT))
    FileJournals([str(tmp_path / "made")]).append(ONE, lambda _: other)
    path.unlink()
    path.write_bytes((tmp_path / "made" / f"{ONE}.jsonl").read_bytes())

    assert list(open_in(tmp_path).mentioning(Scope.ALL, "another")) == [ONE]


@pytest.mark.requirement("C129")
def test_without_handles_a_journal_that_grew_while_it_was_renamed_comes_back(tmp_path: Path) -> None:
    def rename(src: str, dst: str, /, **_: object) -> None:
        if "ended" in dst:
            FileJournals([str(tmp_path / "git")]).append(ONE, make_done)
        os.rename(src, dst)

    journals = open_in(tmp_path, replace(write.HERE, folder_handles=False, rename=rename))
    journals.append(ONE, begin)

    assert not journals.put_away(ONE, 1)
    assert list(journals.sessions(Scope.LIVE)) == [ONE]
    assert [line.seq for line in open_in(tmp_path).read(ONE)] == [1, 2]


@pytest.mark.requirement("C129")
def test_what_is_listed_once_is_not_listed_again_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 4):
        put_away(tmp_path, f"s-00000000000{number}")
    (folder,) = (tmp_path / "git").glob("ended/*")
    os.utime(folder, (1, 1))  # it rests since long
    assert open_in(tmp_path).mentioning(Scope.ALL, "host-1")
    listed: list[str] = []
    scan = os.scandir

    def count(path: object = ".") -> object:
        listed.append(os.readlink(f"/proc/self/fd/{path}") if isinstance(path, int) else str(path))
        return scan(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", count)

    assert len(open_in(tmp_path).mentioning(Scope.ALL, "host-1")) == 3
    assert str(folder) not in listed
    assert str(folder.parent) in listed
