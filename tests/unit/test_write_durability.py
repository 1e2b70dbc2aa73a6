"""What a write makes durable before it returns: which files, and the names in which folders."""

import os
import stat
import sys
from pathlib import Path

import pytest

from passdown.engines.files import write
from passdown.engines.files.read import open_folder
from passdown.engines.files.write import HERE, FileOperations
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
