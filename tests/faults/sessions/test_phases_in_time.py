"""A turn in which the test-first cycle went round five times ends in time, also where `bd` hangs."""

import itertools
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.faults.hooked import HOST, Stage, make_stage
from tests.timing import Took, judge
from tests.trackers.dying_bd import make_hanging

PHASES: Final = 10
CLAIM: Final = "bd update bd-7 --status in_progress"


def list_calls() -> Iterator[tuple[str, str]]:
    """Give the commands of one turn, with what they say: a failing test and a passing one, five times."""
    for _ in range(PHASES // 2):
        yield "pytest -q", "Exit code 1\n1 failed"
        yield "pytest -q", "1 passed"


def write_call(stage: Stage, number: int, command: str, said: str) -> None:
    """Let the model run a command, as the host writes it down."""
    name = f"toolu_{number}"
    used = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}
    result = {
        "type": "tool_result",
        "tool_use_id": name,
        "content": said,
        "is_error": said.startswith("Exit code"),
    }
    with stage.transcript.open("a", encoding="utf-8") as file:
        for kind, content in (("assistant", used), ("user", result)):
            line = {"type": kind, "message": {"role": kind, "content": [content]}, "sessionId": HOST}
            more = {"uuid": f"{kind}-{number}", "timestamp": "2026-01-11T12:00:00.000Z", "isSidechain": False}
            file.write(json.dumps({**line, **more}, separators=(",", ":")) + "\n")


def count_phases(stage: Stage) -> int:
    return sum('"kind":"tdd"' in line for line in stage.known())


@pytest.mark.timed
@pytest.mark.requirement("C103", "C99")
@pytest.mark.skipif(sys.platform == "win32", reason="the tracker that would hang is a shell script")
def test_a_turn_with_ten_phases_ends_in_time_beside_a_tracker_that_hangs(in_memory: Path) -> None:
    stage = make_stage(in_memory)
    programs = in_memory / "programs"
    make_hanging(programs, stage.root)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    write_call(stage, 0, CLAIM, "✓ Updated issue: bd-7")
    assert stage.call(stage.payload("turn end"), PATH=path).code == 0
    turns = itertools.count(1)

    def act() -> Took:
        turn = next(turns)
        assert stage.call(stage.payload("turn end"), PATH=path).code == 0
        before = count_phases(stage)
        for number, (command, said) in enumerate(list_calls()):
            write_call(stage, 100 * turn + number, command, said)
        ended = stage.call(stage.payload("turn end"), PATH=path)
        assert (ended.code, ended.err) == (0, "")
        assert count_phases(stage) == before + PHASES
        return ended.took

    judge("turn end, ten phases", act)
    assert not (programs / "started").exists()
