"""Where real hosts run, and where commands do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.drivers import Ground
from tests.hosts.model import Model
from tests.hosts.stages import make_ground
from tests.support.commands import Caller
from tests.support.gits import Project
from tests.support.projects import make_january


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[tuple[Ground, Model]]:
    """Give a project whose owner agreed, an empty home, and a model that does as it is told."""
    with Model() as model:
        yield make_ground(tmp_path, model.address), model


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give a repository that is set up, on a day in January."""
    return make_january(monkeypatch, tmp_path / "project")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command there."""
    return Caller(monkeypatch, capsys, project.folder)
