"""Whoever reads an answer may be gone at any moment: what was not shown does not count as read (C90)."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.teams import Team

WORDS = (("inbox",), ("inbox", "--json"), ("claim",), ("claim", "--json"))


class BrokenPipe(io.StringIO):
    """An output whose reader goes away at one of its writes."""

    def __init__(self, lasts: int) -> None:
        """Let some writes succeed."""
        super().__init__()
        self.lasts = lasts

    def write(self, text: str) -> int:
        """Write, or find that nobody reads."""
        self.lasts -= 1
        if self.lasts < 0:
            raise BrokenPipeError(32, "Broken pipe")
        return super().write(text)


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a project with two sessions and a task."""
    made = Team(tmp_path / "project", monkeypatch, capsys)
    (made.project.folder / "passdown.toml").touch()
    made.join("amber", "birch")
    made.add("Document the store")
    return made


def unread(team: Team) -> list[str]:
    """Give what the second session has not read."""
    return [one["message"]["content"] for one in team.ask("birch", "inbox", "--keep")["messages"]]


def break_at_each_write(team: Team, *words: str) -> Iterator[int]:
    """Call a command again and again, with a reader that is gone one write later each time."""
    lasts = 0
    while True:
        with pytest.MonkeyPatch.context() as patch:
            pipe = BrokenPipe(lasts)
            patch.setattr(sys, "stdout", pipe)
            assert team.command(*words).code == 0
        if pipe.lasts >= 0:
            return
        yield lasts
        lasts += 1


@pytest.mark.requirement("C90", through="command")
@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_mail_stays_unread_whenever_the_reader_goes_away(team: Team, words: tuple[str, ...]) -> None:
    for text in ("the API changed", "and so did its tests"):
        assert team.run("amber", "msg", text, "--to", team.agent("birch")).code == 0

    for _ in break_at_each_write(team, *words, "--session", "birch"):
        assert unread(team) == ["the API changed", "and so did its tests"]

    assert unread(team) == []
