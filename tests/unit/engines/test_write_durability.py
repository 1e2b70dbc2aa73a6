"""What a write makes durable before it returns: which files, and the names in which folders."""

import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from passdown.engines.files import write
from passdown.engines.files.read import open_folder
from passdown.engines.files.write import F_FULLFSYNC, HERE, FileOperations, full_sync, operations_for
from passdown.errors import StorageError
from passdown.records import replace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot sync folders")


class Synced:
    """Syncs, and remembers of which folders."""

    def __init__(self) -> None:
        """Begin with none."""
        self._folders: list[tuple[int, int]] = []
        self.files = 0
        self.operations: FileOperations = replace(HERE, sync=self._sync)

    def _sync(self, handle: int) -> None:
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            self._folders.append((found.st_dev, found.st_ino))
        else:
            self.files += 1
        HERE.sync(handle)

    def has(self, folder: Path) -> bool:
        """Say whether the names in a folder were made durable."""
        found = folder.stat()
        return (found.st_dev, found.st_ino) in self._folders


@pytest.fixture
def synced() -> Synced:
    """Give operations that remember."""
    return Synced()


@pytest.mark.requirement("R104")
def test_the_name_of_a_created_file_is_durable(tmp_path: Path, synced: Synced) -> None:
    write.create(tmp_path / "file", b"x", operations=synced.operations)

    assert synced.has(tmp_path)
    assert synced.files == 1


@pytest.mark.requirement("R104")
def test_the_name_of_a_replaced_file_is_durable(tmp_path: Path, synced: Synced) -> None:
    (tmp_path / "file").write_bytes(b"old")

    write.replace(tmp_path / "file", b"new", operations=synced.operations)

    assert synced.has(tmp_path)
    assert synced.files == 1


def test_the_name_of_a_journal_is_durable_from_its_first_line_on(tmp_path: Path, synced: Synced) -> None:
    write.append(tmp_path / "journal", b"one\n", operations=synced.operations)
    later = Synced()
    write.append(tmp_path / "journal", b"two\n", operations=later.operations)

    assert synced.has(tmp_path)
    assert synced.files == 1
    assert not later.has(tmp_path)
    assert later.files == 1


def test_the_name_of_every_folder_that_is_made_is_durable(tmp_path: Path, synced: Synced) -> None:
    (tmp_path / "there").mkdir()

    write.make_folder(tmp_path / "there" / "a" / "b", operations=synced.operations, root=tmp_path)

    assert synced.has(tmp_path / "there")
    assert synced.has(tmp_path / "there" / "a")
    assert not synced.has(tmp_path)


def test_what_is_removed_from_a_folder_stays_removed(tmp_path: Path, synced: Synced) -> None:
    with open_folder(tmp_path, tmp_path) as folder:
        write.sync_folder(folder, operations=synced.operations)

    assert synced.has(tmp_path)


@pytest.mark.parametrize("lines", [b"a", b"a\nb", b"\na\n", b"a\n\nb\n", b"\n"])
def test_lines_that_are_made_must_each_be_whole(tmp_path: Path, lines: bytes) -> None:
    with pytest.raises(ValueError, match="each end in a line feed"):
        write.append(tmp_path / "journal", lambda _: lines)

    assert (tmp_path / "journal").read_bytes() == b""


def test_lines_that_are_made_may_be_several_or_none(tmp_path: Path, synced: Synced) -> None:
    assert write.append(tmp_path / "journal", lambda _: b"a\nb\n") == b"a\nb\n"
    assert write.append(tmp_path / "journal", lambda _: b"", operations=synced.operations) == b""

    assert (tmp_path / "journal").read_bytes() == b"a\nb\n"
    assert synced.files == 0


@pytest.mark.parametrize(
    ("is_local", "file_mode", "folder_mode"), [(True, 0o600, 0o700), (False, 0o644, 0o755)]
)
def test_local_folders_are_for_their_owner_and_shared_ones_follow_the_umask(
    tmp_path: Path, is_local: bool, file_mode: int, folder_mode: int
) -> None:
    before = os.umask(0o022)
    try:
        write.create(tmp_path / "a" / "b" / "file", b"x", local=is_local, root=tmp_path)
    finally:
        os.umask(before)

    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b", "a/b/file")]
    assert modes == [folder_mode, folder_mode, file_mode]


@pytest.mark.parametrize(("number", "is_left"), [(errno.EIO, False), (errno.EINVAL, True)])
def test_a_created_file_whose_name_cannot_be_made_durable_is_not_left_behind(
    tmp_path: Path, number: int, is_left: bool
) -> None:
    def sync(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, os.strerror(number))

    try:
        was_created = write.create(tmp_path / "file", b"x", operations=replace(HERE, sync=sync))
    except StorageError:
        was_created = False

    assert was_created is is_left
    assert [path.name for path in tmp_path.iterdir()] == ["file"][: int(is_left)]


def test_created_and_replaced_files_are_shared_and_journals_private_unless_said_otherwise(
    tmp_path: Path,
) -> None:
    before = os.umask(0o022)
    try:
        write.create(tmp_path / "a" / "created", b"x")
        write.replace(tmp_path / "b" / "replaced", b"x")
        write.append(tmp_path / "c" / "journal", b"x\n")
        write.make_folder(tmp_path / "d")
    finally:
        os.umask(before)

    modes = {
        path.relative_to(tmp_path).as_posix(): stat.S_IMODE(path.stat().st_mode)
        for path in tmp_path.rglob("*")
    }
    assert modes == {
        "a": 0o755,
        "a/created": 0o644,
        "b": 0o755,
        "b/replaced": 0o644,
        "c": 0o700,
        "c/journal": 0o600,
        "d": 0o700,
    }


def test_each_system_syncs_and_publishes_in_its_way() -> None:
    linux, darwin, windows = map(operations_for, ("linux", "darwin", "win32"))

    assert (linux.sync, darwin.sync, windows.sync) == (os.fsync, full_sync, os.fsync)
    assert (linux.publish, darwin.publish) == (write.publish_by_link, write.publish_by_link)
    assert windows.publish is write.publish_by_rename
    assert [one.folder_handles for one in (linux, darwin, windows)] == [True, True, False]
    assert [one.attempts for one in (linux, darwin, windows)] == [1, 1, 8]


def test_the_cache_of_a_drive_is_emptied_by_the_request_of_macos_or_the_file_is_synced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int, int]] = []
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)

    def control(handle: int, request: int) -> None:
        asked.append((handle, request))
        if handle == 8:
            raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))

    full_sync(7, control)
    full_sync(8, control)

    assert F_FULLFSYNC == 51
    assert asked == [(7, 51), (8, 51)]
    assert synced == [8]
