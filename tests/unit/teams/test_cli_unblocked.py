"""Where view or archive cannot be written, the verbs of a session warn and do the rest."""

from pathlib import Path

import pytest

from tests.support.commands import Caller
from tests.support.gits import make_started
from tests.support.projects import EVENTS, VIEW, put


@pytest.mark.requirement("R21")
def test_what_cannot_be_written_halts_no_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = Caller(monkeypatch, capsys, make_started(tmp_path / "project").folder)
    put(command.folder, f"{VIEW}/in-the-way", "")
    put(command.folder, "conductor/sessions/archive", "in the way")
    command("start", "--session", "one")
    command("goal", "Ship it", "--session", "one")

    assert command("publish", "--checkpoint", "2", "--session", "one").code == 0
    command("now", "Look around", "--session", "one")
    done = command("end", "--session", "one")

    assert done.code == 0
    assert done.err.startswith("passdown: could not ")
    assert "hint: A part of the path is a file and not a folder" in done.err
    assert len(list((command.folder / EVENTS).rglob("*.md"))) == 2
    assert command("start", "--session", "two").code == 0
    assert "> Ship it\n" in command("brief").out
