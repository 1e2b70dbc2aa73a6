"""How clones call the command in these tests."""

from pathlib import Path

import pytest

from tests.support.clones.archivers import Calling, make_call
from tests.support.commands import Caller


@pytest.fixture
def calling(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Calling:
    """Give a way to call the command in this process."""
    return make_call(monkeypatch, Caller(monkeypatch, capsys, tmp_path))
