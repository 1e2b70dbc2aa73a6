"""What hooks save as a context fills: the document of the track at 70 %, the anchored context at 85 %."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.hooks.test_hooks import HOST
from tests.unit.sessions.test_ordinary_sessions import Day

CONTEXT = ".conductor/session-context.md"
STREAM = "thoughts/shared/handoffs/parser/current.md"

EndTurn = Callable[[int], str]
"""Ends a turn at which the context is so full, in percent; gives what the user is told."""


@pytest.fixture
def day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Day:
    """Give a repository that is set up."""
    made = Day(tmp_path / "project", monkeypatch, capsys)
    made.set_up()
    return made


@pytest.fixture(params=["claude", "codex"])
def end_turn(request: pytest.FixtureRequest, day: Day, monkeypatch: pytest.MonkeyPatch) -> EndTurn:
    """Start a session: of a host with a status line, and of one whose transcript has the use of tokens."""
    host: str = request.param
    day.host.call("SessionStart", "--host", host, source="startup")

    def tell_status(percent: int) -> None:
        told = {
            "session_id": HOST,
            "workspace": {"current_dir": str(day.project.folder)},
            "context_window": {"used_percentage": percent},
        }
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(told).encode())))
        assert f"context {percent} %" in day.command("status-line").out

    def tell_transcript(percent: int) -> None:
        told = {"last_token_usage": {"total_tokens": percent * 10}, "model_context_window": 1000}
        line = {"type": "event_msg", "payload": {"type": "token_count", "info": told}}
        with day.host.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def end(percent: int) -> str:
        (tell_status if host == "claude" else tell_transcript)(percent)
        return str(day.host.call("Stop", "--host", host).get("systemMessage", ""))

    return end


@pytest.mark.requirement("R76", "R93", "C104")
def test_the_document_of_a_track_is_brought_up_to_date_at_seventy_percent(
    day: Day, end_turn: EndTurn
) -> None:
    path = day.project.folder / STREAM
    for words in (("track", "bind", "parser"), ("checkpoint", "start", "1"), ("now", "the printer")):
        assert day.command(*words).code == 0
    before = path.read_bytes()

    end_turn(69)
    assert path.read_bytes() == before
    end_turn(70)

    assert "[->] the printer" in path.read_text(encoding="utf-8")
    day.command("now", "the linker")
    end_turn(72)  # a clear may come at any time
    assert "[->] the linker" in path.read_text(encoding="utf-8")
    day.command("now", "the loader")
    end_turn(88)
    assert "[->] the loader" in path.read_text(encoding="utf-8")


@pytest.mark.requirement("R76", "C104")
def test_without_a_document_none_is_made_at_seventy_percent(day: Day, end_turn: EndTurn) -> None:
    day.command("track", "bind", "parser")

    end_turn(75)

    assert not (day.project.folder / STREAM).exists()


@pytest.mark.requirement("R76", "C104")
def test_a_document_that_must_be_mended_is_left_alone_and_the_log_says_so(
    day: Day, end_turn: EndTurn
) -> None:
    for words in (("track", "bind", "parser"), ("checkpoint", "start", "1")):
        day.command(*words)
    (day.project.folder / STREAM).write_text("<<<<<<< ours\n", encoding="utf-8")

    end_turn(75)

    assert (day.project.folder / STREAM).read_text(encoding="utf-8") == "<<<<<<< ours\n"
    assert f"Stop: {STREAM}:1: has merge conflict markers" in day.host.log()


@pytest.mark.requirement("R231", "R232", "C106")
def test_a_context_is_saved_when_over_eighty_five_percent_are_used(day: Day, end_turn: EndTurn) -> None:
    path = day.project.folder / CONTEXT
    for words in (("goal", "Ship it"), ("rule-out", "a daemon"), ("now", "the parser")):
        assert day.command(*words).code == 0

    end_turn(84)
    assert not path.exists()
    end_turn(86)

    assert "- RULED_OUT: a daemon" in path.read_text(encoding="utf-8")
    before = path.stat()
    end_turn(87)  # nothing is new
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    day.command("now", "the printer")
    end_turn(92)
    assert "\nthe printer\n" in path.read_text(encoding="utf-8")


@pytest.mark.requirement("R232", "R234", "C106")
def test_a_context_without_what_it_must_preserve_is_not_saved_at_a_turn_end(
    day: Day, end_turn: EndTurn
) -> None:
    day.command("goal", "Ship it")

    end_turn(90)

    assert not (day.project.folder / CONTEXT).exists()
    assert day.host.log() == ""
    (day.project.folder / CONTEXT).write_text("# Session Context\n", encoding="utf-8")
    end_turn(91)
    assert (day.project.folder / CONTEXT).read_text(encoding="utf-8") == "# Session Context\n"
    assert "Constraints & Ruled-Out [PRESERVE] section is empty" in day.host.log()
