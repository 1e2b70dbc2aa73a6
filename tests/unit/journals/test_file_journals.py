"""Journals as files: damage is passed over, places are joined, what is acknowledged is there."""

import errno
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.formats.journal import MAX_LINE, JournalLine, Scope, checksum, render_line
from passdown.engines.files import read, write
from passdown.engines.files.journals import FileJournals
from passdown.errors import StorageError, UnsureError
from passdown.records import replace
from tests.support.handles import free_handle
from tests.support.sessions import make_line

ONE = "s-000000000001"


def make_done(seq: int) -> JournalLine:
    return make_line(seq, "done", f"fact {seq}")


def open_in(*folders: Path) -> FileJournals:
    return FileJournals([str(folder) for folder in folders])


def path_in(folder: Path) -> Path:
    return folder / f"{ONE}.jsonl"


def test_a_journal_is_for_its_owner_alone(tmp_path: Path) -> None:
    open_in(tmp_path / "journal").append(ONE, make_done)

    assert path_in(tmp_path / "journal").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "journal").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("tail", ["", '{"v":1,"seq":2,"fa', "\x00\x00\x00", "{}\n", "\n\n", "  \r\n"])
def test_damage_is_left_out_and_the_next_line_stands_on_its_own(tmp_path: Path, tail: str) -> None:
    path_in(tmp_path).write_text(render_line(make_done(1)) + tail, encoding="utf-8")
    journals = open_in(tmp_path)

    added = journals.append(ONE, make_done)

    assert list(journals.read(ONE)) == [make_done(1), added]
    assert added.seq == 2


@pytest.mark.parametrize("tail", [b"", b'{"v":1,"seq":3,"fa', b"\xff\xfe\n", b"x" * 9000])
def test_the_last_whole_line_is_found_before_what_a_crash_left(tmp_path: Path, tail: bytes) -> None:
    path_in(tmp_path).write_bytes(render_line(make_done(1)).encode() + tail)

    assert open_in(tmp_path).last(ONE) == make_done(1)
    path_in(tmp_path).write_bytes(tail)
    assert open_in(tmp_path).last(ONE) is None


def test_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path_in(tmp_path).write_bytes(render_line(make_done(1)).replace("\n", "\r\n").encode())

    assert list(open_in(tmp_path).read(ONE)) == [make_done(1)]
    assert open_in(tmp_path).last(ONE) == make_done(1)


def test_a_line_that_is_there_twice_is_one(tmp_path: Path) -> None:
    numbers = [1, 1, 2]
    path_in(tmp_path).write_text("".join(render_line(make_done(seq)) for seq in numbers), encoding="utf-8")

    assert list(open_in(tmp_path).read(ONE)) == [make_done(1), make_done(2)]


def test_numbers_go_on_where_the_end_of_the_file_holds_no_whole_line(tmp_path: Path) -> None:
    path_in(tmp_path).write_bytes(render_line(make_done(7)).encode() + b"\xff" * 600_000 + b"\n")

    assert open_in(tmp_path).append(ONE, make_done).seq == 8


@given(st.lists(st.tuples(st.integers(1, 30), st.sampled_from(["", "damaged", "spaced"])), max_size=6))
def test_the_next_number_is_above_that_of_every_whole_line(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[int, str]]
) -> None:
    folder = tmp_path_factory.mktemp("journals")
    for seq, how in lines:
        text = render_line(make_done(seq))
        if how == "damaged":
            text = text.replace('"seq":', '"seq":9')
        elif how == "spaced":  # as another program could write it
            body = text.rpartition(',"sum":')[0].replace(',"seq":', ', "seq": ')
            text = f'{body},"sum":"{checksum(body)}"}}\n'
        with path_in(folder).open("a", encoding="utf-8") as file:
            file.write(text)

    added = open_in(folder).append(ONE, make_done)

    assert added.seq == 1 + max((seq for seq, how in lines if how != "damaged"), default=0)


def test_only_names_of_sessions_are_listed(tmp_path: Path) -> None:
    for name in ("s-2.jsonl", "s-1.jsonl", "S-1.jsonl", "-x.jsonl", "notes.md", ".passdown-1-00.tmp"):
        (tmp_path / name).touch()

    assert list(open_in(tmp_path, tmp_path / "none").sessions(Scope.ALL)) == ["s-1", "s-2"]


@pytest.mark.requirement("C58")
def test_lines_of_two_places_are_joined_and_equal_ones_are_one(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    open_in(second).append(ONE, make_done)
    open_in(first).append(ONE, make_done)
    journals = open_in(first, second)

    added = journals.append(ONE, make_done)

    assert list(journals.read(ONE)) == [make_done(1), added]
    assert (added.seq, path_in(first).read_text().count("\n")) == (2, 2)
    assert journals.changed(ONE) == path_in(first).stat().st_mtime_ns


@pytest.mark.requirement("C58")
def test_a_sandboxed_journal_grows_in_the_checkout_and_its_numbers_go_on(tmp_path: Path) -> None:
    git, checkout = tmp_path / "git", tmp_path / "checkout"
    open_in(git).append(ONE, make_done)

    def refuse(handle: int, data: memoryview) -> int:
        if str(Path(f"/proc/self/fd/{handle}").readlink()).startswith(str(git)):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return os.write(handle, data)

    sandboxed = FileJournals([str(git), str(checkout)], operations=replace(write.HERE, write=refuse))
    added = sandboxed.append(ONE, make_done)

    assert (added.seq, path_in(git).read_text().count("\n"), path_in(checkout).read_text().count("\n")) == (
        2,
        1,
        1,
    )
    assert open_in(git, checkout).append(ONE, make_done).seq == 3


@pytest.mark.requirement("C119")
def test_a_journal_that_is_ignored_is_not_there(tmp_path: Path) -> None:
    git, checkout = tmp_path / "git", tmp_path / "checkout"
    open_in(checkout).append(ONE, make_done)
    (checkout / "s-2.jsonl").write_text(render_line(make_done(1)), encoding="utf-8")
    before = path_in(checkout).read_bytes()

    def is_ignored(folder: str, name: str) -> bool:
        return folder == str(checkout) and name == f"{ONE}.jsonl"

    journals = FileJournals([str(git), str(checkout)], is_ignored=is_ignored)
    assert (journals.sessions(Scope.ALL), journals.mentioning(Scope.ALL, "fact")) == (["s-2"], ["s-2"])
    assert (list(journals.read(ONE)), journals.last(ONE), journals.changed(ONE)) == ([], None, 0)

    assert journals.append(ONE, lambda seq: make_line(seq, "done", "ours")).seq == 1
    assert path_in(checkout).read_bytes() == before
    with pytest.raises(StorageError, match="git tracks it"):
        FileJournals([str(checkout)], is_ignored=is_ignored).append(ONE, make_done)


def test_a_journal_that_nobody_takes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StorageError, match="could not write") as found:
        open_in(tmp_path / "file" / "a", tmp_path / "file" / "b").append(ONE, make_done)
    assert found.value.hint
    with pytest.raises(StorageError, match="no folder in which to write a journal"):
        FileJournals([]).append(ONE, make_done)


def test_a_line_that_could_not_be_read_again_is_refused(tmp_path: Path) -> None:
    journals = open_in(tmp_path)

    with pytest.raises(StorageError, match="a line of the journal") as found:
        journals.append(ONE, lambda seq: make_line(seq, "done", "x" * MAX_LINE))

    assert found.value.hint
    assert list(journals.read(ONE)) == []
    assert journals.append(ONE, make_done).seq == 1


def test_where_windows_locks_a_byte_behind_the_end_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked: list[tuple[int, int, int]] = []

    def locking(handle: int, how: int, count: int) -> None:
        locked.append((os.lseek(handle, 0, os.SEEK_CUR), how, count))

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=1))
    journals = open_in(tmp_path)

    lines = [journals.append(ONE, make_done), journals.append(ONE, make_done)]

    assert locked == [(0x7FFF_FFF0, 1, 1)] * 2
    assert list(journals.read(ONE)) == lines


def test_a_line_is_not_acknowledged_before_it_is_durable(tmp_path: Path) -> None:
    def fail(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), handle)

    journals = FileJournals([str(tmp_path)], operations=replace(write.HERE, sync=fail))

    with pytest.raises(StorageError, match="Input/output error"):
        journals.append(ONE, make_done)


@pytest.mark.parametrize("where", ["write", "sync"])
def test_a_line_that_may_not_be_durable_is_taken_back_and_is_not_written_elsewhere(
    tmp_path: Path, where: str
) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    open_in(first).append(ONE, make_done)
    before = path_in(first).read_bytes()

    def fail(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), handle)

    def write_half(handle: int, data: memoryview) -> int:
        return os.write(handle, data[: len(data) // 2])

    faults = {"write": replace(write.HERE, write=write_half), "sync": replace(write.HERE, sync=fail)}
    journals = FileJournals([str(first), str(second)], operations=faults[where])

    with pytest.raises(UnsureError, match="could not write") as found:
        journals.append(ONE, make_done)

    assert found.value.hint
    assert (path_in(first).read_bytes(), path_in(second).exists()) == (before, False)
    assert open_in(first, second).append(ONE, make_done).seq == 2


@pytest.mark.requirement("C57")
@pytest.mark.parametrize("place", ["a", "b"])
def test_who_must_be_alone_is_refused_while_another_has_the_journal_in_any_folder(
    tmp_path: Path, place: str
) -> None:
    for name in ("a", "b"):
        open_in(tmp_path / name).append(ONE, make_done)
    folders = [str(tmp_path / "a"), str(tmp_path / "b")]
    handle = os.open(path_in(tmp_path / place), os.O_RDWR)
    made: list[int] = []

    def make(seq: int) -> list[JournalLine]:
        made.append(seq)
        return []

    assert write.HERE.lock(handle, None)
    with pytest.raises(StorageError, match="is in use") as found:
        FileJournals(folders, wait=0.0).extend(ONE, make, alone=True)
    os.close(handle)

    assert (made, bool(found.value.hint)) == ([], True)
    assert FileJournals(folders, wait=0.0).extend(ONE, make, alone=True) == []
    assert made == [2]


def test_where_a_file_system_has_no_locks_facts_are_taken_and_nobody_is_alone(tmp_path: Path) -> None:
    def refuse(handle: int, wait: float | None) -> bool:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK), str((handle, wait)))

    journals = FileJournals([str(tmp_path)], operations=replace(write.HERE, lock=refuse))
    journals.append(ONE, make_done)

    assert journals.append(ONE, make_done).seq == 2
    with pytest.raises(StorageError, match="cannot be locked here"):
        journals.extend(ONE, lambda seq: [make_done(seq)], alone=True)
    assert [line.seq for line in journals.read(ONE)] == [1, 2]


def test_what_is_unchanged_is_given_again_and_what_grew_is_read_on(tmp_path: Path) -> None:
    ours, theirs = open_in(tmp_path), open_in(tmp_path)
    ours.append(ONE, make_done)
    first, last = ours.read(ONE), ours.last(ONE)

    assert ours.read(ONE) is first
    assert ours.last(ONE) is last
    theirs.append(ONE, make_done)
    assert ours.last(ONE) == theirs.last(ONE) == make_done(2)
    assert [line.seq for line in ours.read(ONE)] == [1, 2]
    assert ours.read(ONE) == theirs.read(ONE)
    assert ours.read(ONE)[0] is first[0]


@pytest.mark.parametrize("too_much", [0, 1])
def test_a_journal_takes_lines_up_to_its_limit_and_none_beyond(tmp_path: Path, too_much: int) -> None:
    last, new = (len(render_line(make_done(seq)).encode()) for seq in (7, 8))
    with path_in(tmp_path).open("wb") as file:
        file.seek(read.JOURNAL + too_much - new - last - 1)
        file.write(b"\n" + render_line(make_done(7)).encode())
    journals = open_in(tmp_path)

    if too_much:
        with pytest.raises(StorageError, match="is full"):
            journals.append(ONE, make_done)
    else:
        assert journals.append(ONE, make_done).seq == 8
    assert path_in(tmp_path).stat().st_size == read.JOURNAL + too_much * (1 - new)


def test_reading_and_writing_leave_no_file_open(tmp_path: Path) -> None:
    journals = open_in(tmp_path)
    journals.append(ONE, make_done)
    journals.read(ONE), journals.last(ONE)  # the folder stays open
    before = free_handle()

    for _ in range(3):
        journals.append(ONE, make_done)
        journals.read(ONE), journals.last(ONE)

    assert free_handle() == before


def test_a_line_that_was_half_written_when_it_was_read_is_read_when_it_is_whole(tmp_path: Path) -> None:
    journals = open_in(tmp_path)
    journals.append(ONE, make_done)
    second = render_line(make_done(2)).encode()
    with path_in(tmp_path).open("ab") as file:
        file.write(second[:20])
    assert [line.seq for line in journals.read(ONE)] == [1]

    with path_in(tmp_path).open("ab") as file:
        file.write(second[20:-1])
    assert [line.seq for line in journals.read(ONE)] == [1, 2]
    with path_in(tmp_path).open("ab") as file:
        file.write(second[-1:])

    assert [line.seq for line in journals.read(ONE)] == [1, 2]


@pytest.mark.parametrize("numbers", [[7], [7, 8], [7, 8, 9]], ids=["shorter", "as long", "longer"])
def test_a_journal_that_was_exchanged_is_read_anew(tmp_path: Path, numbers: list[int]) -> None:
    journals = open_in(tmp_path)
    for _ in range(2):
        journals.append(ONE, make_done)
    assert [line.seq for line in journals.read(ONE)] == [1, 2]

    path_in(tmp_path).write_text("".join(render_line(make_done(seq)) for seq in numbers), encoding="utf-8")
    os.utime(path_in(tmp_path), (1_000, 1_000))

    assert [line.seq for line in journals.read(ONE)] == numbers


def test_a_journal_that_grew_beyond_its_limit_is_not_read_however_much_was_read_before(
    tmp_path: Path,
) -> None:
    journals = open_in(tmp_path)
    journals.append(ONE, make_done)
    assert len(journals.read(ONE)) == 1

    os.truncate(path_in(tmp_path), read.JOURNAL + 1)

    assert list(journals.read(ONE)) == list(open_in(tmp_path).read(ONE)) == []


def test_a_journal_that_is_gone_has_no_lines(tmp_path: Path) -> None:
    journals = open_in(tmp_path)
    journals.append(ONE, make_done)
    assert len(journals.read(ONE)) == 1

    path_in(tmp_path).unlink()

    assert list(journals.read(ONE)) == []
