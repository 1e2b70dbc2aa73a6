"""Where commands run in unit tests; a file that needs another place has a fixture of its own."""

from pathlib import Path

import pytest

from tests.support.commands import Caller
from tests.support.gits import Project
from tests.support.projects import make_january


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give a repository that is set up, on a day in January."""
    return make_january(monkeypatch, tmp_path / "project")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command there."""
    return Caller(monkeypatch, capsys, project.folder)
