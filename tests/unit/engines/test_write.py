"""The three writes: what they promise of content, names, modes and odd files, on each kind of system."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import passdown
from passdown.engines.files import write
from passdown.engines.files.displaced_names import is_leftover
from passdown.engines.files.write import (
    F_FULLFSYNC,
    HERE,
    FileOperations,
    full_sync,
    operations_for,
)
from passdown.engines.system import SystemClock, SystemEntropy, pause
from passdown.errors import StorageError, UnsureError
from passdown.ports.clock import Clock, Entropy
from passdown.records import replace
from tests.support.handles import free_handle

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes, FIFOs or folder handles")
MIB = 1024 * 1024


def rename_like_windows(src: str, dst: str, /, *, src_dir_fd: int | None, dst_dir_fd: int | None) -> None:
    """Rename, but refuse a name that exists, as Windows does."""
    if os.path.lexists(dst):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), dst)
    os.rename(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)


WAYS = {
    "here": HERE,
    "linux": operations_for("linux"),
    "darwin": operations_for("darwin"),
    "win32": replace(operations_for("win32"), rename=rename_like_windows),
    "no-hard-links": replace(HERE, publish=write.publish_by_claim),
}


@pytest.fixture(params=[name for name in WAYS if sys.platform != "win32" or name in {"here", "win32"}])
def operations(request: pytest.FixtureRequest) -> FileOperations:
    """Each way to write that this system can take."""
    return WAYS[str(request.param)]


@pytest.fixture
def umask() -> Iterator[None]:
    """A usual umask, whatever the machine has."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def names(folder: Path) -> list[str]:
    """Name what lies in a folder."""
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    """Give the permission bits of a file."""
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.requirement("R104")
def test_a_name_is_created_once(tmp_path: Path, operations: FileOperations) -> None:
    path = tmp_path / "event.md"

    assert write.create(path, b"one", operations=operations) is True
    assert write.create(path, b"two", operations=operations) is False
    assert path.read_bytes() == b"one"
    assert names(tmp_path) == ["event.md"]


@pytest.mark.requirement("R168")
def test_content_is_replaced_as_a_whole(tmp_path: Path, operations: FileOperations) -> None:
    path = tmp_path / "state.json"

    write.replace(path, b"long content", operations=operations)
    write.replace(path, b"short", operations=operations)

    assert path.read_bytes() == b"short"
    assert names(tmp_path) == ["state.json"]


def test_lines_are_added_one_by_one(tmp_path: Path, operations: FileOperations) -> None:
    path = tmp_path / "journal.jsonl"

    write.append(path, b"one\n", operations=operations)
    write.append(path, b"two\n", operations=operations)

    assert path.read_bytes() == b"one\ntwo\n"


@pytest.mark.requirement("R58", "R203")
@pytest.mark.parametrize("act", [write.create, write.replace, write.append])
def test_folders_are_made_on_demand(
    tmp_path: Path, operations: FileOperations, act: Callable[..., object]
) -> None:
    path = tmp_path / ".conductor" / "sessions" / "continuity" / "file"

    act(path, b"x\n", operations=operations)

    assert path.read_bytes() == b"x\n"


def test_a_bare_name_is_written_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operations: FileOperations
) -> None:
    monkeypatch.chdir(tmp_path)

    write.replace("here", b"1", operations=operations)
    write.replace(Path("new", "there"), b"2", operations=operations)

    assert (tmp_path / "here").read_bytes() == b"1"
    assert (tmp_path / "new" / "there").read_bytes() == b"2"


@pytest.mark.parametrize("size", [0, 1, 3 * MIB])
def test_any_amount_is_written_however_little_the_system_takes(tmp_path: Path, size: int) -> None:
    def take_a_little(handle: int, data: memoryview) -> int:
        return os.write(handle, data[: max(1, len(data) // 2)])

    data = os.urandom(size)
    write.create(tmp_path / "a", data, operations=replace(HERE, write=take_a_little))

    assert (tmp_path / "a").read_bytes() == data


@posix
@pytest.mark.usefixtures("umask")
def test_local_files_are_for_their_owner_and_shared_ones_follow_the_umask(tmp_path: Path) -> None:
    for local, name in ((True, "local"), (False, "shared")):
        folder = tmp_path / name / "folder"
        write.create(folder / "created", b"", local=local)
        write.replace(folder / "replaced", b"", local=local)
        write.append(folder / "appended", b"\n", local=local)
        found = {mode(path) for path in folder.iterdir()}
        assert found == ({0o600} if local else {0o644})
        assert {mode(folder), mode(folder.parent)} == ({0o700} if local else {0o755})


@posix
@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("kept", [0o600, 0o664, 0o755, 0o444])
def test_a_shared_file_keeps_its_mode_and_a_local_one_becomes_private(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(kept)

    write.replace(path, b"shared")
    assert mode(path) == kept

    write.replace(path, b"local", local=True)
    assert mode(path) == 0o600


def make_link(path: Path) -> None:
    """Put a link to a file beside it."""
    path.with_name("victim").write_bytes(b"victim")
    path.symlink_to(path.with_name("victim"))


def make_fifo(path: Path) -> None:
    """Put a FIFO there, which nobody reads."""
    if sys.platform != "win32":
        os.mkfifo(path)


ODD: dict[str, Callable[[Path], None]] = {
    "link": make_link,
    "dangling link": lambda path: path.symlink_to("nowhere"),
    "folder": lambda path: path.mkdir(),
    "fifo": make_fifo,
}


@posix
@pytest.mark.parametrize("act", [write.replace, write.append])
@pytest.mark.parametrize("odd", ODD)
def test_what_is_not_a_regular_file_is_refused(
    tmp_path: Path, operations: FileOperations, act: Callable[..., object], odd: str
) -> None:
    path = tmp_path / "odd"
    ODD[odd](path)
    before = names(tmp_path)

    with pytest.raises(StorageError, match="not a regular file") as refused:
        act(path, b"x\n", operations=operations)

    assert refused.value.hint
    assert names(tmp_path) == before
    assert not path.is_symlink() or path.with_name("victim").exists() is (odd == "link")
    assert odd != "link" or path.read_bytes() == b"victim"


@posix
@pytest.mark.parametrize("odd", ODD)
def test_an_odd_file_holds_its_name_against_creation(
    tmp_path: Path, operations: FileOperations, odd: str
) -> None:
    path = tmp_path / "odd"
    ODD[odd](path)

    assert write.create(path, b"x", operations=operations) is False
    assert not (tmp_path / "nowhere").exists()


@posix
def test_a_link_put_there_at_the_last_moment_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    victim = tmp_path / "victim"
    victim.write_bytes(b"victim")

    def swap(_size: int) -> bytes:
        path.symlink_to(victim)
        return b"12345678"

    write.replace(path, b"x", operations=replace(HERE, token=swap))

    assert victim.read_bytes() == b"victim"
    assert path.read_bytes() == b"x"
    assert not path.is_symlink()


@posix
def test_a_folder_swapped_for_a_link_does_not_redirect_the_write(tmp_path: Path) -> None:
    folder, moved, elsewhere = tmp_path / "folder", tmp_path / "moved", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()

    def swap(_size: int) -> bytes:
        folder.rename(moved)
        folder.symlink_to(elsewhere)
        return b"12345678"

    write.replace(folder / "file", b"x", operations=replace(HERE, token=swap))

    assert names(elsewhere) == []
    assert (moved / "file").read_bytes() == b"x"


@pytest.mark.parametrize("path", ["", ".", "..", "folder/", "folder/.."])
def test_a_path_without_a_file_name_is_refused(path: str) -> None:
    with pytest.raises(StorageError, match="not a regular file"):
        write.create(path, b"x")


def test_a_file_in_the_place_of_a_folder_is_reported(tmp_path: Path, operations: FileOperations) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StorageError) as refused:
        write.replace(tmp_path / "file" / "below" / "target", b"x", operations=operations)

    assert str(tmp_path / "file" / "below" / "target") in refused.value.message
    assert refused.value.hint


@posix
def test_a_folder_that_is_a_dangling_link_is_reported(tmp_path: Path, operations: FileOperations) -> None:
    (tmp_path / "link").symlink_to("nowhere")

    with pytest.raises(StorageError):
        write.replace(tmp_path / "link" / "target", b"x", operations=operations)

    assert names(tmp_path) == ["link"]


@posix
@pytest.mark.requirement("R104")
@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK])
def test_without_hard_links_the_name_is_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def no_links(*_paths: str, **_folders: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", no_links)
    path = tmp_path / "event.md"

    assert write.create(path, b"one") is True
    assert write.create(path, b"two") is False
    assert path.read_bytes() == b"one"
    assert names(tmp_path) == ["event.md"]


def test_a_claimed_name_is_given_back_when_the_move_fails(tmp_path: Path) -> None:
    def fail(*_paths: str, **_folders: int | None) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    operations = replace(HERE, publish=write.publish_by_claim, replace=fail)

    with pytest.raises(StorageError):
        write.create(tmp_path / "event.md", b"one", operations=operations)

    assert names(tmp_path) == []


def test_on_windows_a_denied_move_is_tried_again(tmp_path: Path) -> None:
    pauses: list[float] = []
    denials = iter([True, True, False])

    def deny_twice(src: str, dst: str, /, *, src_dir_fd: int | None, dst_dir_fd: int | None) -> None:
        if next(denials):
            raise PermissionError(errno.EACCES, "The process cannot access the file")
        os.replace(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    operations = replace(operations_for("win32"), replace=deny_twice, pause=pauses.append)
    write.replace(tmp_path / "view.md", b"new", operations=operations)

    assert (tmp_path / "view.md").read_bytes() == b"new"
    assert pauses == [0.005, 0.01]


def test_on_windows_a_move_denied_for_long_is_reported(tmp_path: Path) -> None:
    pauses: list[float] = []
    (tmp_path / "view.md").write_bytes(b"old")

    def deny(*_paths: str, **_folders: int | None) -> None:
        raise PermissionError(errno.EACCES, "The process cannot access the file")

    operations = replace(operations_for("win32"), replace=deny, pause=pauses.append)
    with pytest.raises(StorageError, match="cannot access the file"):
        write.replace(tmp_path / "view.md", b"new", operations=operations)

    assert (tmp_path / "view.md").read_bytes() == b"old"
    assert names(tmp_path) == ["view.md"]
    assert len(pauses) == 7
    assert sum(pauses) < 1


@pytest.mark.skipif(sys.platform != "win32", reason="only Windows refuses to rename over a file")
def test_windows_itself_refuses_to_rename_over_a_file(tmp_path: Path) -> None:
    assert write.create(tmp_path / "a", b"1", operations=operations_for("win32")) is True
    assert write.create(tmp_path / "a", b"2", operations=operations_for("win32")) is False


@posix
def test_on_macos_the_cache_of_the_drive_is_emptied(tmp_path: Path) -> None:
    requests: list[int] = []
    path = tmp_path / "file"

    def control(_handle: int, request: int) -> int:
        requests.append(request)
        return 0

    operations = replace(operations_for("darwin"), sync=lambda handle: full_sync(handle, control))
    write.replace(path, b"x", operations=operations)

    assert requests == [F_FULLFSYNC, F_FULLFSYNC]


@posix
def test_on_macos_a_file_system_without_that_request_is_synced_as_usual(tmp_path: Path) -> None:
    def refuse(_handle: int, _request: int) -> int:
        raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))

    operations = replace(operations_for("darwin"), sync=lambda handle: full_sync(handle, refuse))
    write.replace(tmp_path / "file", b"x", operations=operations)

    assert (tmp_path / "file").read_bytes() == b"x"


@posix
@pytest.mark.parametrize(("number", "fails"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_only_a_folder_that_cannot_be_synced_at_all_is_excused(
    tmp_path: Path, number: int, *, fails: bool
) -> None:
    def sync(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, os.strerror(number))

    operations = replace(HERE, sync=sync)

    if fails:
        with pytest.raises(StorageError):
            write.create(tmp_path / "file", b"x", operations=operations)
    else:
        assert write.create(tmp_path / "file", b"x", operations=operations)


@pytest.mark.parametrize("line", [b"", b"a", b"a\nb", b"a\nb\n", b"a\n\n"])
def test_only_one_whole_line_can_be_added(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(ValueError, match="only line feed"):
        write.append(tmp_path / "journal", line)

    assert names(tmp_path) == []


def test_a_line_is_never_glued_to_a_torn_one(tmp_path: Path, operations: FileOperations) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b'{"n":1}\n{"n":')

    write.append(path, b'{"n":3}\n', operations=operations)

    assert path.read_bytes() == b'{"n":1}\n{"n":\n{"n":3}\n'


@pytest.mark.parametrize("size", [0, 1, 524_288, 524_289, 3 * MIB])
def test_a_line_is_made_from_at_most_the_last_512_kib(
    tmp_path: Path, operations: FileOperations, size: int
) -> None:
    path = tmp_path / "journal"
    before = (b"0123456\n" * (size // 8 + 1))[-size:] if size else b""
    path.write_bytes(before)
    seen: list[bytes] = []

    def make(end: bytes) -> bytes:
        seen.append(end)
        return b"new\n"

    write.append(path, make, operations=operations)

    assert seen == [before[-524_288:]]
    assert path.read_bytes() == before + b"new\n"


def test_half_a_line_is_not_acknowledged(tmp_path: Path) -> None:
    def take_half(handle: int, data: memoryview) -> int:
        return os.write(handle, data[: len(data) // 2])

    with pytest.raises(StorageError, match="No space left"):
        write.append(tmp_path / "journal", b"12345\n", operations=replace(HERE, write=take_half))

    write.append(tmp_path / "journal", b"next\n")
    assert (tmp_path / "journal").read_bytes() == b"123\nnext\n"


@posix
@pytest.mark.parametrize("odd", ["link", "fifo"])
def test_a_line_is_not_added_to_what_took_the_name_after_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    def nothing_there_yet(*_path: str, **_options: object) -> None:
        raise FileNotFoundError

    ODD[odd](tmp_path / "journal")
    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", nothing_there_yet)
        with pytest.raises(StorageError):
            write.append(tmp_path / "journal", b"x\n")

    assert odd != "link" or (tmp_path / "victim").read_bytes() == b"victim"


@posix
@pytest.mark.parametrize("way", ["win32", "here"])
@pytest.mark.parametrize("there", [True, False])
def test_where_folders_have_no_handles_a_file_swapped_after_the_check_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, *, there: bool
) -> None:
    path = tmp_path / "journal"
    if there:
        path.write_bytes(b"ours\n")
    (tmp_path / "other").write_bytes(b"other\n")
    real = os.open

    def swap(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_APPEND:
            (tmp_path / "other").replace(path)
        return real(name, flags, mode, dir_fd=dir_fd)

    operations = WAYS[way]
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", swap)
        if way == "win32" and there:
            with pytest.raises(StorageError):
                write.append(path, b"x\n", operations=operations)
        else:
            write.append(path, b"x\n", operations=operations)

    assert path.read_bytes() == (b"other\n" if way == "win32" and there else b"other\nx\n")


def test_where_there_are_no_locks_a_line_that_may_not_be_durable_stays(tmp_path: Path) -> None:
    """Another process may have added to it: cutting the file would lose what that acknowledged."""

    def no_locks(_handle: int, _wait: float | None) -> bool:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    def fail(_handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = tmp_path / "journal"
    path.write_bytes(b"one\n")
    operations = replace(HERE, lock=no_locks, sync=fail)

    with pytest.raises(UnsureError):
        write.append(path, lambda _: b"two\n", operations=operations)

    assert path.read_bytes() == b"one\ntwo\n"


@posix
def test_a_file_that_appears_while_others_are_locked_is_locked_too(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    second.touch()

    def lock(handle: int, wait: float | None) -> bool:
        first.touch()
        return HERE.lock(handle, wait)

    roots = {str(path): str(tmp_path) for path in (first, second)}
    with write.locked(roots, 0, operations=replace(HERE, lock=lock)) as held:
        assert held == {str(first): True, str(second): True}
        with write.locked(roots, 0) as again:
            assert again == {str(first): False, str(second): False}


@posix
def test_what_cannot_be_opened_is_not_locked(tmp_path: Path) -> None:
    path = tmp_path / "link"
    path.symlink_to("nowhere")

    with write.locked({str(path): str(tmp_path), str(tmp_path / "none"): str(tmp_path)}, 0) as held:
        assert held == {str(path): False}


@posix
@pytest.mark.usefixtures("umask")
def test_a_file_that_another_library_writes_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    modes = {"shared": 0o644, "own": 0o600, "only read": 0o400}
    for name, mode_before in modes.items():
        (tmp_path / name).write_bytes(b"x")
        (tmp_path / name).chmod(mode_before)
    (tmp_path / "folder").mkdir(mode=0o755)
    (tmp_path / "target").write_bytes(b"x")
    (tmp_path / "link").symlink_to("target")

    for name in (*modes, "folder", "link", "new"):
        write.make_private(tmp_path / name)

    assert {name: mode(tmp_path / name) for name in (*modes, "folder", "target", "new")} == {
        "shared": 0o600,
        "own": 0o600,
        "only read": 0o400,
        "folder": 0o755,
        "target": 0o644,
        "new": 0o600,
    }
    assert (tmp_path / "new").read_bytes() == b""
    assert (tmp_path / "shared").read_bytes() == b"x"


@posix
@pytest.mark.parametrize("act", ["create", "append", "replace", "make_private", "make_folder", "locked"])
def test_no_write_leaves_a_file_open(tmp_path: Path, act: str) -> None:
    path = tmp_path / "file"
    acts: dict[str, Callable[[], object]] = {
        "create": lambda: write.create(path, b"x\n"),
        "append": lambda: write.append(path, b"x\n"),
        "replace": lambda: write.replace(path, b"x\n", expected=b"x\n"),
        "make_private": lambda: write.make_private(path),
        "make_folder": lambda: write.make_folder(tmp_path / "a" / "b"),
        "locked": lambda: _lock_once(path),
    }
    before = free_handle()

    for _ in range(2):
        acts[act]()

    assert free_handle() == before


def _lock_once(path: Path) -> None:
    path.touch()
    with write.locked({str(path): str(path.parent)}, 0) as held:
        assert held == {str(path): True}


CUT_SHORT = """
import os, resource, signal, sys
from passdown.engines.files import write
from passdown.errors import StorageError, UnsureError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
for act in (write.append, write.create, write.replace):
    try:
        act(f"{sys.argv[1]}/{act.__name__}", b"123456789012345\\n")
    except StorageError as error:
        print(error.message.rpartition(": ")[2])
"""


@posix
def test_a_disk_that_takes_only_a_part_is_reported_and_the_next_line_is_whole(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-S", "-c", CUT_SHORT, str(tmp_path)],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(passdown.__file__).parents[1])},
    )

    assert child.stdout.splitlines() == [os.strerror(errno.ENOSPC), *[os.strerror(errno.EFBIG)] * 2]
    assert names(tmp_path) == ["append"]
    write.append(tmp_path / "append", b"next\n")
    assert (tmp_path / "append").read_bytes() == b"1234567890\nnext\n"


@pytest.mark.requirement("R168")
def test_a_temporary_file_names_its_process_and_can_be_recognised(tmp_path: Path) -> None:
    seen: list[str] = []

    def look(handle: int) -> None:
        seen.extend(name for name in names(tmp_path) if name != "file")
        os.fsync(handle)

    write.replace(tmp_path / "file", b"x", operations=replace(HERE, sync=look))

    assert len(seen) == 1
    assert is_leftover(seen[0])
    assert str(os.getpid()) in seen[0]
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("name", ["file", ".passdown-1-0123456789abcdef.tmp.md", ".passdown-x.tmp", "x.tmp"])
def test_files_of_others_are_no_leftovers(name: str) -> None:
    assert not is_leftover(name)


def test_the_clock_is_in_utc_and_the_entropy_has_the_size_asked_for() -> None:
    clock: Clock = SystemClock()
    entropy: Entropy = SystemEntropy()
    first, second = clock.monotonic(), clock.monotonic()
    pause(0)

    assert clock.now().utcoffset() is not None
    assert str(clock.now().tzinfo) == "UTC"
    assert first <= second
    assert len(entropy.token(16)) == 16
