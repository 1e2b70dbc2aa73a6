"""Every engine keeps the promises of `ChangeFiles`."""

from pathlib import Path

import pytest

from passdown.engines.files.change_files import FileChanges
from passdown.engines.system import SystemClock
from passdown.ports.change_files import ChangeFiles
from passdown.testing.conformance.change_files import ChangeFilesConformance
from passdown.testing.memory.change_files import MemoryChanges
from tests.support.projects import put


class TestMemoryChanges(ChangeFilesConformance):
    """Those that live as long as the process."""

    def make(self, folder: Path) -> ChangeFiles:
        """Make changes that lie nowhere."""
        del folder
        return MemoryChanges()

    def put(self, files: ChangeFiles, change: str, name: str, data: bytes) -> None:
        """Write a file."""
        assert isinstance(files, MemoryChanges)
        files.write(change, name, data)


class TestFileChanges(ChangeFilesConformance):
    """Files of this machine."""

    folder: Path

    def make(self, folder: Path) -> ChangeFiles:
        """Make changes below a folder that need not exist."""
        self.folder = folder
        return FileChanges(str(folder), str(folder / "changes"), SystemClock())

    def put(self, files: ChangeFiles, change: str, name: str, data: bytes) -> None:
        """Write a file."""
        del files
        path = put(self.folder, f"changes/{change}/{name}", "")
        path.write_bytes(data)


def test_links_and_odd_names_are_left_out(tmp_path: Path) -> None:
    files = FileChanges(str(tmp_path), str(tmp_path / "changes"), SystemClock())
    put(tmp_path, "elsewhere/state.md", "text")
    put(tmp_path, "changes/a/loops/ok.md", "text")
    put(tmp_path, "changes/a/loops/.hidden.md", "text")
    put(tmp_path, "changes/\u202ex/state.md", "text")
    (tmp_path / "changes" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "changes" / "a" / "loops" / "link.md").symlink_to(tmp_path / "elsewhere" / "state.md")
    (tmp_path / "changes" / "a" / "loops" / "folder.md").mkdir()

    assert [*files.changes()] == ["a"]
    assert [*files.files("a")] == ["loops/ok.md"]
    assert files.files("linked") == {}
    assert files.read("linked", "state.md") is None


def test_a_folder_that_changed_just_now_has_the_mark_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = FileChanges(str(tmp_path), str(tmp_path / "changes"), SystemClock())
    put(tmp_path, "changes/a/state.md", "text")
    now = SystemClock().now()

    assert files.mark() == 0
    monkeypatch.setattr(SystemClock, "now", lambda _: now.replace(year=now.year + 1))
    assert files.mark() > 0
