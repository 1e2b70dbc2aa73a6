"""What kind of file system holds a folder: SQLite may share memory on disks known to be local, only there."""

import ctypes
import ntpath
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passdown.engines.sqlite.mounts import MountKind, find_mount

LOCAL, REMOTE, UNKNOWN = MountKind.LOCAL, MountKind.REMOTE, MountKind.UNKNOWN

TABLE = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw
23 22 0:5 / /net rw - nfs4 server:/share rw
24 23 0:6 / /net/disk rw - xfs /dev/sdb rw
25 22 0:7 / /with\040space rw - fuse.sshfs me@there: rw
26 22 0:8 / /covered rw - ext4 /dev/sdc rw
27 22 0:9 / /covered rw - cifs //server/share rw
28 22 0:10 / /stick rw - fuseblk /dev/sdd rw
a line that is none
"""
LISTED = """/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
devfs on /dev (devfs, local, nobrowse)
/dev/disk3s5 on /Volumes/My disk (old) (apfs, local, journaled)
//me@server/share on /Volumes/share (smbfs, nodev, nosuid, mounted by me)
com.apple.share on /Volumes/guest (virtiofs, local, nodev)
a line that is none
"""

posix = pytest.mark.skipif(sys.platform == "win32", reason="the paths are written as others write them")


class Functions:
    """A library of the system that has these functions."""

    def __init__(self, **functions: Callable[..., int]) -> None:
        """Offer each function under its name."""
        vars(self).update(functions)


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "mountinfo"
    path.write_text(TABLE, encoding="utf-8")
    return str(path)


@posix
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/somewhere/cache", LOCAL),
        ("/net", REMOTE),
        ("/net/cache", REMOTE),
        ("/network/cache", LOCAL),
        ("/net/disk/cache", LOCAL),
        ("/with space/cache", REMOTE),
        ("/covered/cache", REMOTE),
        ("/stick/cache", UNKNOWN),
    ],
)
def test_the_nearest_mount_point_decides_and_the_last_one_covers(
    table: str, path: str, expected: MountKind
) -> None:
    assert find_mount(path, "linux", table) is expected


@posix
@pytest.mark.requirement("C75")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, LOCAL) for name in ("ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay")),
        *((name, REMOTE) for name in ("nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "afs", "ceph")),
        *((name, REMOTE) for name in ("lustre", "fuse", "fuse.glusterfs", "fuse.sshfs", "fuse.s3fs")),
        *((name, REMOTE) for name in ("vboxsf", "fakeowner", "drvfs", "fuse.grpcfuse")),
        *((name, UNKNOWN) for name in ("fuseblk", "fusectl", "vfat", "autofs", "somethingfs", "")),
    ],
)
def test_linux_names_the_kind_of_file_system(tmp_path: Path, name: str, expected: MountKind) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"22 1 8:1 / / rw - {name} source rw\n", encoding="utf-8")

    assert find_mount("/a", "linux", str(table)) is expected


@posix
def test_a_table_that_is_missing_or_empty_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("", encoding="utf-8")

    assert find_mount("/a", "linux", str(tmp_path / "missing")) is UNKNOWN
    assert find_mount("/a", "linux", str(tmp_path / "empty")) is UNKNOWN


def plant_status(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, tuple[str, int]], call: str = "statfs"
) -> None:
    """Make this system look like a macOS that has these types and flags for these folders."""

    def ask(path: bytes, status: Any) -> int:
        if path.decode() not in names:
            return -1
        name, flags = names[path.decode()]
        status[64:68] = flags.to_bytes(4, "little")
        status[72 : 72 + len(name)] = name.encode()
        return 0

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Functions(**{call: ask}))


def plant_mounts(monkeypatch: pytest.MonkeyPatch, folder: Path, *, code: int = 0) -> None:
    """Make the program `mount` list these, and the library one that does not know the call."""
    program = folder / "mount"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{LISTED}'\nexit {code}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Functions())


@posix
@pytest.mark.requirement("C75")
@pytest.mark.parametrize(
    ("name", "flags", "expected"),
    [
        ("apfs", 0x0480_1000, LOCAL),
        ("hfs", 0x1000, LOCAL),
        ("smbfs", 0x0008_0000, REMOTE),
        ("nfs", 0, REMOTE),
        ("macfuse", 0x1000, REMOTE),
        ("virtiofs", 0x1000, REMOTE),
    ],
)
@pytest.mark.parametrize("call", ["statfs", "statfs$INODE64"])
def test_on_macos_the_kernel_tells_the_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, flags: int, call: str, expected: MountKind
) -> None:
    plant_status(monkeypatch, {str(tmp_path): (name, flags)}, call)

    assert find_mount(str(tmp_path), "darwin") is expected
    assert find_mount(str(tmp_path / "not" / "there" / "yet"), "darwin") is expected


def test_on_macos_of_intel_the_call_with_the_newer_layout_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant_status(monkeypatch, {str(tmp_path): ("apfs", 0x1000)}, "statfs$INODE64")
    newer = ctypes.CDLL(None)
    vars(newer)["statfs"] = lambda *_: pytest.fail("called the older one")

    assert find_mount(str(tmp_path), "darwin") is LOCAL


@posix
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/Users/me", LOCAL),
        ("/Volumes/My disk (old)/project", LOCAL),
        ("/Volumes/share", REMOTE),
        ("/Volumes/share/project", REMOTE),
        ("/Volumes/shared", LOCAL),
        ("/Volumes/guest/project", REMOTE),
    ],
)
def test_on_macos_a_program_lists_the_mounts_if_the_library_does_not_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, expected: MountKind
) -> None:
    plant_mounts(monkeypatch, tmp_path)

    assert find_mount(path, "darwin") is expected


@posix
def test_on_macos_what_nobody_tells_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant_mounts(monkeypatch, tmp_path, code=1)
    assert find_mount("/Users/me", "darwin") is UNKNOWN

    plant_status(monkeypatch, {})
    assert find_mount("/Users/me", "darwin") is UNKNOWN

    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    monkeypatch.setitem(sys.modules, "ctypes", None)
    assert find_mount("/Users/me", "darwin") is UNKNOWN


def plant_drives(monkeypatch: pytest.MonkeyPatch, drives: dict[str, int]) -> None:
    """Make this system look like a Windows with these drives."""

    def ask(root: Any) -> int:
        return drives.get(root.value, 1)

    monkeypatch.setattr(ctypes, "WinDLL", lambda _: Functions(GetDriveTypeW=ask), raising=False)
    monkeypatch.setattr(ntpath, "realpath", ntpath.normpath)


@pytest.mark.requirement("C75")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("C:\\project\\cache", LOCAL),
        ("c:/project/cache", LOCAL),
        ("\\\\?\\C:\\project", LOCAL),
        ("D:\\project", LOCAL),
        ("R:\\project", LOCAL),
        ("Z:\\project", REMOTE),
        ("\\\\server\\share", REMOTE),
        ("//server/share", REMOTE),
        ("\\\\wsl.localhost\\Debian\\home", REMOTE),
        ("\\\\?\\UNC\\server\\share", REMOTE),
        ("E:\\project", UNKNOWN),
        ("X:\\project", UNKNOWN),
    ],
)
def test_on_windows_the_path_and_the_drive_tell(
    monkeypatch: pytest.MonkeyPatch, path: str, expected: MountKind
) -> None:
    plant_drives(monkeypatch, {"C:\\": 3, "c:\\": 3, "D:\\": 2, "R:\\": 6, "Z:\\": 4, "E:\\": 0})

    assert find_mount(path, "win32") is expected


def test_on_windows_a_link_to_a_share_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_drives(monkeypatch, {"C:\\": 3})
    monkeypatch.setattr(ntpath, "realpath", lambda _: "\\\\?\\UNC\\server\\share\\project")

    assert find_mount("C:\\link", "win32") is REMOTE


def test_on_windows_what_nobody_tells_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "WinDLL", lambda _: object(), raising=False)
    assert find_mount("C:\\project", "win32") is UNKNOWN

    monkeypatch.setitem(sys.modules, "ctypes", None)
    assert find_mount("C:\\project", "win32") is UNKNOWN


def test_this_folder_is_on_some_file_system(tmp_path: Path) -> None:
    assert find_mount(str(tmp_path), sys.platform) is find_mount(str(tmp_path / "new"), sys.platform)
