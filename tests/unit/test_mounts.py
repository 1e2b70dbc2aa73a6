"""Where SQLite may use shared memory: on disks that are known to be local, and nowhere else."""

from pathlib import Path

import pytest

from passdown.engines.sqlite.mounts import is_local

TABLE = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw
23 22 0:5 / /net rw - nfs4 server:/share rw
24 23 0:6 / /net/disk rw - xfs /dev/sdb rw
25 22 0:7 / /with\040space rw - fuse.sshfs me@there: rw
26 22 0:8 / /covered rw - ext4 /dev/sdc rw
27 22 0:9 / /covered rw - cifs //server/share rw
a line that is none
"""


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "mountinfo"
    path.write_text(TABLE, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/somewhere/index.db", True),
        ("/net", False),
        ("/net/index.db", False),
        ("/network/index.db", True),
        ("/net/disk/index.db", True),
        ("/with space/index.db", False),
        ("/covered/index.db", False),
    ],
)
def test_the_nearest_mount_point_decides_and_the_last_one_covers(
    table: str, path: str, *, expected: bool
) -> None:
    assert is_local(path, "linux", table) is expected


def test_what_is_not_known_is_taken_for_a_network(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("", encoding="utf-8")

    assert not is_local("/a", "linux", str(tmp_path / "missing"))
    assert not is_local("/a", "linux", str(tmp_path / "empty"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [("C:\\project\\index.db", True), ("\\\\server\\share", False), ("//server/share", False)],
)
def test_on_windows_a_network_path_begins_with_two_strokes(path: str, *, expected: bool) -> None:
    assert is_local(path, "win32") is expected
