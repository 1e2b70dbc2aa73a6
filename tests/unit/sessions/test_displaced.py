"""What `replace` displaces is kept until it was taken in and nobody can write to it any more."""

import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from passdown.engines.files import displaced, write
from passdown.engines.files.displaced import read_settled
from passdown.engines.files.displaced_names import Displaced, judge_displaced
from passdown.engines.files.documents import FileDocuments
from passdown.engines.files.read import OpenFolder
from passdown.engines.files.system_calls import exchange_names, is_unused
from passdown.engines.files.write import HERE, FileOperations
from passdown.errors import StorageError
from passdown.records import replace

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has a file open")
WITHOUT_EXCHANGE = replace(HERE, exchange=lambda *_: False)
WITHOUT_LEASES = replace(HERE, is_unused=lambda _: None)


@pytest.fixture(params=["here", "without exchange", "without leases"])
def operations(request: pytest.FixtureRequest) -> FileOperations:
    """Each way to exchange that a system may leave us."""
    return {"here": HERE, "without exchange": WITHOUT_EXCHANGE, "without leases": WITHOUT_LEASES}[
        str(request.param)
    ]


def find_displaced(
    path: str, seen: Sequence[bytes] = (), *, operations: FileOperations = HERE
) -> list[bytes]:
    """Return what was displaced from a path, as documents do."""
    folder, name = os.path.split(path)
    return list(FileDocuments(folder, operations=operations).displaced(name, seen))


def names(folder: Path) -> list[str]:
    """Name the files of a folder."""
    return sorted(path.name for path in folder.iterdir())


def hidden(folder: Path) -> list[Path]:
    """Return the displaced files."""
    return [path for path in folder.iterdir() if path.name.endswith(".displaced")]


@linux
def test_what_was_expected_is_gone_as_soon_as_it_was_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "LEDGER.md"
    path.write_bytes(b"old")

    write.replace(path, b"new", local=True, expected=b"old")

    assert len(hidden(tmp_path)) == 1
    assert find_displaced(str(path)) == []
    assert (names(tmp_path), path.read_bytes()) == (["LEDGER.md"], b"new")


def test_where_nobody_tells_who_has_it_open_a_displaced_file_is_kept_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "LEDGER.md"
    path.write_bytes(b"old")
    write.replace(path, b"new", expected=b"old", operations=WITHOUT_LEASES)

    assert find_displaced(str(path), operations=WITHOUT_LEASES) == []
    (kept,) = hidden(tmp_path)
    kept.write_bytes(b"written late")
    assert find_displaced(str(path), operations=WITHOUT_LEASES) == [b"written late"]
    assert find_displaced(str(path), [b"written late"], operations=WITHOUT_LEASES) == []
    assert find_displaced(str(path), operations=WITHOUT_LEASES) == []
    assert len(hidden(tmp_path)) == 1
    monkeypatch.setattr(displaced, "KEPT", 0.0)
    assert find_displaced(str(path), operations=WITHOUT_LEASES) == []
    assert names(tmp_path) == ["LEDGER.md"]


@linux
def test_what_is_written_to_a_displaced_file_is_returned_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "LEDGER.md"
    path.write_bytes(b"old")
    with path.open("r+b", buffering=0) as editor:
        write.replace(path, b"new", expected=b"old")
        assert find_displaced(str(path)) == []
        editor.write(b"half")
        assert find_displaced(str(path)) == []
        editor.write(b" and whole")

    assert find_displaced(str(path)) == [b"half and whole"]
    assert find_displaced(str(path), [b"half and whole"]) == []
    assert (names(tmp_path), path.read_bytes()) == (["LEDGER.md"], b"new")


@linux
def test_what_was_seen_is_not_returned_again_while_somebody_may_write_to_it(tmp_path: Path) -> None:
    path = tmp_path / "LEDGER.md"
    path.write_bytes(b"edited")
    write.replace(path, b"new", expected=b"old")
    held = replace(HERE, is_unused=lambda _: None)

    assert find_displaced(str(path), operations=held) == [b"edited"]
    assert find_displaced(str(path), [b"edited"], operations=held) == []
    assert find_displaced(str(path), operations=held) == []
    assert len(hidden(tmp_path)) == 1


def test_a_replacement_that_is_not_finished_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "LEDGER.md"
    path.write_bytes(b"old")

    def die(handle: int | None, first: str, second: str) -> bool:
        raise KeyboardInterrupt(handle, first, second)

    with pytest.raises(KeyboardInterrupt):
        write.replace(path, b"new", expected=b"old", operations=replace(HERE, exchange=die))

    assert find_displaced(str(path)) == []
    assert ([one.read_bytes() for one in hidden(tmp_path)], path.read_bytes()) == ([b"new"], b"old")
    monkeypatch.setattr(displaced, "KEPT", 0.0)
    assert find_displaced(str(path)) == []
    assert names(tmp_path) == ["LEDGER.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems may not exchange names")
def test_the_name_of_a_displaced_file_says_that_the_exchange_is_done(tmp_path: Path) -> None:
    path = tmp_path / "LEDGER.md"
    path.write_bytes(b"new")

    write.replace(path, b"new", expected=b"old")

    (kept,) = hidden(tmp_path)
    assert (path.read_bytes(), kept.read_bytes()) == (b"new", b"new")
    assert judge_displaced(kept.name, b"new") is Displaced.CHANGED
    assert judge_displaced(kept.name, b"old") is Displaced.EXPECTED


def test_a_file_that_appears_at_the_last_moment_is_displaced_too(tmp_path: Path) -> None:
    path = tmp_path / "LEDGER.md"
    path.write_bytes(b"old")
    left = [b"first", b"second"]

    def race(folder: OpenFolder, temporary: str, name: str, operations: FileOperations) -> None:
        if left:
            path.write_bytes(left.pop(0))
        write.publish_by_link(folder, temporary, name, operations)

    write.replace(path, b"new", expected=b"old", operations=replace(WITHOUT_EXCHANGE, publish=race))

    assert path.read_bytes() == b"new"
    assert sorted(find_displaced(str(path))) == [b"first", b"second"]


def test_a_file_that_appears_again_and_again_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "LEDGER.md"

    def refuse(folder: OpenFolder, temporary: str, name: str, operations: FileOperations) -> None:
        raise FileExistsError(errno.EEXIST, name, temporary, None, str((folder, operations)))

    with pytest.raises(StorageError, match="could not write"):
        write.replace(path, b"new", expected=b"", operations=replace(WITHOUT_EXCHANGE, publish=refuse))


def test_a_missing_file_is_created_and_nothing_is_displaced(
    tmp_path: Path, operations: FileOperations
) -> None:
    path = tmp_path / "LEDGER.md"

    write.replace(path, b"new", local=True, expected=b"", operations=operations)

    assert (names(tmp_path), path.read_bytes()) == (["LEDGER.md"], b"new")
    assert find_displaced(str(path), operations=operations) == []


def test_a_link_in_the_place_of_a_displaced_file_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")
    folder = tmp_path / "folder"
    folder.mkdir()
    marks = "00000000-1.00000000-1.0123456789abcdef"
    (folder / f".LEDGER.md.{marks}.displaced").symlink_to(outside)
    (folder / f".OTHER.md.{marks}.displaced").mkdir()

    assert find_displaced(str(folder / "LEDGER.md")) == []
    assert find_displaced(str(folder / "OTHER.md")) == []


@linux
def test_a_file_that_is_being_written_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "LEDGER.md"
    pauses: list[float] = []
    documents = FileDocuments(tmp_path, operations=replace(HERE, pause=pauses.append))
    with path.open("wb") as editor:
        editor.write(b"whole")
        with pytest.raises(StorageError, match="another program is writing to it") as found:
            documents.read("LEDGER.md", settled=True)

    assert (len(pauses), bool(found.value.hint)) == (8, True)
    assert documents.read("LEDGER.md", settled=True) == b"whole"


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "LEDGER.md"
    path.write_bytes(b"torn")
    left = [b"whole"]

    def write_on(_: int) -> bool:
        if left:
            path.write_bytes(left.pop())
        return True

    handle = os.open(path, os.O_RDONLY)
    assert read_settled(handle, replace(HERE, is_unused=write_on)) == b"whole"
    os.close(handle)


def test_where_nobody_tells_a_file_that_was_just_written_is_read_after_a_pause(tmp_path: Path) -> None:
    path = tmp_path / "LEDGER.md"
    path.write_bytes(b"text")
    pauses: list[float] = []
    handle = os.open(path, os.O_RDONLY)

    assert read_settled(handle, replace(WITHOUT_LEASES, pause=pauses.append)) == b"text"
    os.utime(path, (1_000, 1_000))
    assert read_settled(handle, replace(WITHOUT_LEASES, pause=pauses.append)) == b"text"

    os.close(handle)
    assert pauses == [displaced.SETTLED]


def test_an_edit_at_the_moment_of_removal_is_kept(tmp_path: Path, operations: FileOperations) -> None:
    path = tmp_path / "LEDGER.md"
    path.write_bytes(b"old")

    def edit(size: int) -> bytes:
        path.write_bytes(b"edited")
        return HERE.token(size)

    documents = FileDocuments(tmp_path, operations=replace(operations, token=edit))

    assert not documents.remove("LEDGER.md", b"old", kept=True)
    assert not path.exists()
    assert [*documents.displaced("LEDGER.md")] == [b"edited"]


def test_a_file_that_vanishes_at_the_moment_of_removal_was_removed_by_another(tmp_path: Path) -> None:
    path = tmp_path / "LEDGER.md"
    path.write_bytes(b"old")

    def vanish(size: int) -> bytes:
        path.unlink()
        return HERE.token(size)

    documents = FileDocuments(tmp_path, operations=replace(HERE, token=vanish))

    assert not documents.remove("LEDGER.md", b"old", kept=True)


def test_names_are_exchanged_where_the_system_can(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    assert not exchange_names(None, str(tmp_path / "a"), str(tmp_path / "b"))
    if not hasattr(os, "O_DIRECTORY"):
        return
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        if exchange_names(folder, "a", "b"):
            assert (tmp_path / "a").read_text() == "b"
            with pytest.raises(FileNotFoundError):
                exchange_names(folder, "a", "none")
    finally:
        os.close(folder)


def test_a_library_that_cannot_exchange_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    def refuse(*_: object, **__: object) -> object:
        raise OSError(errno.ENOENT, "no library")

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    folder = os.open(tmp_path, os.O_RDONLY)
    assert not exchange_names(folder, "a", "b")
    os.close(folder)


def test_a_system_without_leases_does_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").touch()
    handle = os.open(tmp_path / "a", os.O_RDONLY)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    assert is_unused(handle) is None
    monkeypatch.undo()
    os.close(handle)
    writing = os.open(tmp_path / "a", os.O_RDWR)  # a lease needs a file that is open for reading only
    assert not is_unused(writing)
    os.close(writing)
