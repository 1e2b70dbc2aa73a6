"""The one module that opens files for reading: no link, regular files only, and never more than the limit."""

import errno
import os
import stat
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from passdown.engines.files import read, write
from passdown.engines.files.transcripts import FileTranscripts
from passdown.errors import StorageError
from passdown.records import replace

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and FIFOs need rights there")
pytestmark = pytest.mark.requirement("C118")
WAYS = [pytest.param(True, id="with handles", marks=posix), pytest.param(False, id="without handles")]
both_ways = pytest.mark.parametrize("by_handle", WAYS)


def put(path: Path, data: bytes = b"content") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def refusal(ask: Callable[[], object]) -> int:
    """Return the number of the error that a call raises."""
    with pytest.raises(OSError) as refused:  # noqa: PT011 - the number says which
        ask()
    return refused.value.errno or 0


@both_ways
def test_a_file_below_the_root_is_read(tmp_path: Path, by_handle: bool) -> None:
    put(tmp_path / "a" / "b" / "c.md")

    assert read.read(tmp_path, tmp_path / "a/b/c.md", 7, by_handle=by_handle) == b"content"
    assert read.names(tmp_path, tmp_path / "a", by_handle=by_handle) == ["b"]
    assert stat.S_ISDIR(read.status(tmp_path, tmp_path, by_handle=by_handle).st_mode)


@posix
@both_ways
@pytest.mark.parametrize("target", ["outside", "/dev/zero", "a", "nowhere", "real"])
@pytest.mark.parametrize("above", ["a", "a/b", "a/b/c.md"])
def test_no_component_below_the_root_may_be_a_link(
    tmp_path: Path, above: str, target: str, by_handle: bool
) -> None:
    put(tmp_path / "outside" / "b" / "c.md")
    put(tmp_path / "root" / "real" / "b" / "c.md")
    link = tmp_path / "root" / above
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / target if target == "outside" else target)
    path = tmp_path / "root" / "a/b/c.md"

    assert refusal(lambda: read.read(tmp_path / "root", path, 10, by_handle=by_handle)) == errno.ELOOP
    assert refusal(lambda: read.status(tmp_path / "root", path, by_handle=by_handle)) == errno.ELOOP
    assert refusal(lambda: read.open_folder(tmp_path / "root", link, by_handle=by_handle)) == errno.ELOOP


@posix
@both_ways
def test_the_root_itself_may_be_reached_through_a_link(tmp_path: Path, by_handle: bool) -> None:
    put(tmp_path / "real" / "root" / "a.md")
    (tmp_path / "link").symlink_to("real")

    root = tmp_path / "link" / "root"

    assert read.read(root, root / "a.md", 7, by_handle=by_handle) == b"content"


@posix
@both_ways
@pytest.mark.timeout(10)
def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path, by_handle: bool) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()

    for path in (tmp_path / "fifo", tmp_path / "folder"):
        assert refusal(partial(read.read, tmp_path, path, 1, by_handle=by_handle)) == errno.EINVAL
    assert refusal(lambda: read.read("/dev", "/dev/zero", 1, by_handle=by_handle)) == errno.EINVAL
    assert refusal(lambda: read.read_trusted(tmp_path / "fifo")) == errno.EINVAL
    assert (
        refusal(lambda: read.require_plain(tmp_path, tmp_path / "fifo", by_handle=by_handle)) == errno.EINVAL
    )


@posix
def test_a_limit_holds_although_a_file_says_that_it_is_small() -> None:
    handle = os.open("/dev/zero", os.O_RDONLY)
    try:
        assert os.fstat(handle).st_size == 0
        assert refusal(lambda: read.read_handle(handle, 1_000_000)) == errno.EFBIG
    finally:
        os.close(handle)


@both_ways
def test_a_file_may_have_as_many_bytes_as_the_limit(tmp_path: Path, by_handle: bool) -> None:
    path = put(tmp_path / "a", b"x" * 100)

    assert len(read.read(tmp_path, path, 100, by_handle=by_handle)) == 100
    assert refusal(lambda: read.read(tmp_path, path, 99, by_handle=by_handle)) == errno.EFBIG


def test_a_file_that_grows_or_shrinks_while_it_is_read_ends_where_it_ends(tmp_path: Path) -> None:
    path = put(tmp_path / "a", b"x" * 10)
    handle = read.open_trusted(path)
    try:
        os.truncate(path, 4)
        assert read.read_handle(handle, 10) == b"xxxx"
    finally:
        os.close(handle)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_file_of_the_system_that_says_it_is_empty_is_read_whole() -> None:
    assert read.read_trusted("/proc/self/mountinfo").endswith(b"\n")


@posix
@both_ways
@pytest.mark.parametrize("path", ["..", "../x", "/etc/passwd"])
def test_a_path_out_of_the_root_is_refused(tmp_path: Path, path: str, by_handle: bool) -> None:
    assert refusal(lambda: read.read(tmp_path, os.path.join(tmp_path, path), 9, by_handle=by_handle))


def test_a_relative_root_is_that_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "a" / "b")
    monkeypatch.chdir(tmp_path)

    assert read.read(".", "a/b", 7) == b"content"


@posix
def test_a_file_swapped_for_another_while_it_is_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "victim", b"secret")
    path = put(tmp_path / "root" / "a")
    seen = read.OpenFolder.status

    def swap(folder: read.OpenFolder, name: str) -> os.stat_result:
        found = seen(folder, name)
        path.unlink()
        path.symlink_to(tmp_path / "victim")
        return found

    monkeypatch.setattr(read.OpenFolder, "status", swap)
    monkeypatch.setattr(read, "_NOFOLLOW", 0)  # as on Windows

    assert refusal(lambda: read.read(tmp_path / "root", path, 9, by_handle=False)) == errno.ELOOP


@pytest.mark.parametrize(
    ("mode", "tag", "expected"),
    [
        (stat.S_IFLNK, 0, True),
        (stat.S_IFDIR, 0xA000_0003, True),
        (stat.S_IFREG, 0xA000_000C, True),
        (stat.S_IFREG, 0x9000_001A, False),
        (stat.S_IFREG, 0, False),
    ],
    ids=["link", "junction", "link on Windows", "file in a cloud", "file"],
)
def test_links_and_junctions_are_known_by_their_tags(mode: int, tag: int, expected: bool) -> None:
    found = SimpleNamespace(st_mode=mode, st_reparse_tag=tag)

    assert read.is_link(found) is expected  # type: ignore[arg-type]  # a status of Windows


@posix
@both_ways
def test_a_walk_enters_no_link_and_no_unreadable_folder(tmp_path: Path, by_handle: bool) -> None:
    put(tmp_path / "outside" / "secret")
    put(tmp_path / "root" / "a" / "b" / "x")
    put(tmp_path / "root" / "skipped" / "y")
    (tmp_path / "root" / "link").symlink_to(tmp_path / "outside")
    root = str(tmp_path / "root")

    found = dict(read.walk(root, root, lambda _, name: name != "skipped", by_handle=by_handle))

    assert found == {root: [], f"{root}/a": [], f"{root}/a/b": ["x"]}
    assert not list(read.walk(root, f"{root}/link", lambda *_: True, by_handle=by_handle))


@posix
def test_folders_in_each_other_are_listed_to_a_limit(tmp_path: Path) -> None:
    put(tmp_path / ("d/" * (read.DEEPEST + 5)) / "x")

    assert len(list(read.walk(tmp_path, tmp_path, lambda *_: True))) == read.DEEPEST + 1


@both_ways
def test_an_open_folder_is_kept_until_its_path_names_another(tmp_path: Path, by_handle: bool) -> None:
    put(tmp_path / "a" / "x", b"old")
    cache = read.FolderCache(str(tmp_path), by_handle=by_handle)
    folder = str(tmp_path / "a")
    first = cache.get(folder)

    assert first.read("x", 9) == b"old"
    assert (cache.get(folder) is first) is by_handle
    (tmp_path / "a").rename(tmp_path / "b")
    put(tmp_path / "a" / "x", b"new")
    assert cache.get(folder).read("x", 9) == b"new"
    (tmp_path / "a").rename(tmp_path / "c")
    assert refusal(lambda: cache.get(folder)) == errno.ENOENT


def test_few_folders_are_kept_open(tmp_path: Path) -> None:
    cache = read.FolderCache(str(tmp_path))
    for number in range(20):
        (tmp_path / str(number)).mkdir()
        cache.get(str(tmp_path / str(number)))

    assert len(cache._kept) == 8


def test_a_path_belongs_to_the_nearest_root() -> None:
    roots = [os.path.join("x", "a"), os.path.join("x", "a", "b")]

    assert read.root_of(os.path.join("x", "a", "b", "c"), roots) == roots[1]
    assert read.root_of(os.path.join("x", "ab"), roots) == os.path.join("x", "ab")


@posix
@both_ways
@pytest.mark.parametrize("act", ["create", "append", "replace", "make_folder"])
def test_nothing_is_written_through_a_link_below_the_root(tmp_path: Path, act: str, by_handle: bool) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a").symlink_to(tmp_path / "outside")
    operations = replace(write.HERE, folder_handles=by_handle)
    data = () if act == "make_folder" else (b"x\n",)

    with pytest.raises(StorageError, match=r"could not write .*: .*/a is a symbolic link") as refused:
        getattr(write, act)(
            tmp_path / "root" / "a" / "b" / "c", *data, root=tmp_path / "root", operations=operations
        )

    assert "put a real file or folder there" in refused.value.hint
    assert os.listdir(tmp_path / "outside") == []


@posix
@pytest.mark.timeout(10)
def test_a_transcript_is_a_regular_file_and_no_link(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(put(tmp_path / "real"))
    (tmp_path / "parent").symlink_to(tmp_path)
    transcripts = FileTranscripts()

    for path in (tmp_path / "fifo", Path("/dev/zero"), tmp_path / "link"):
        with pytest.raises(StorageError, match="could not read"):
            transcripts.read(str(path), 0)
    with pytest.raises(StorageError, match="could not read"):
        transcripts.read("a\0b", 0)
    assert transcripts.read(str(tmp_path / "parent" / "real"), 3) == b"tent"
    assert [transcripts.size(str(tmp_path / name)) for name in ("real", "link", "none")] == [7, 0, 0]
