"""What sessions wait for: hooks, verbs and `end`, in a project after its first day and after a year.

Each session is new, in a host process of its own, with a transcript of 2 MB and a git identity; another one
runs beside it, with 1,000 lines. Figures are multiples of P, the interpreter alone, in the same run; each is
also compared with its own cost in the small project.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.agents import make_transcript, make_turn
from bench.budgets import BUDGETS, Budget
from bench.projects import LARGE, SMALL, Size, make_project
from bench.rows import Row
from bench.start_up import make_environment

ROUNDS: Final = 7
TRANSCRIPT: Final = 2_000_000
_HOST: Final = Path(__file__).with_name("host.py")
_AT_ONCE: Final = {"PASSDOWN_EVENTS_PUBLISH_MINUTES": "0"}

VERBS: Final = (
    ("goal", "Ship the parser before the end of the week"),
    ("now", "write the parser"),
    ("decide", "db", "SQLite", "--because", "it is there"),
    ("note", "look at the tests first"),
    ("next", "write the tests", "write the pages"),
    ("done", "write the tests"),
    ("claim",),
    ("reserve", "src/0.py"),
    ("inbox",),
    ("status",),
    ("log",),
    ("brief",),
    ("search", "credential endpoint"),
)

Step = dict[str, Any]


class Sessions:
    """The steps of sessions in one project."""

    def __init__(self, home: Path, project: Path, programs: Path) -> None:
        """Keep transcripts and payloads in the home of the user."""
        self._home = home
        self._project = project
        self._python = str(programs / "python")
        self._passdown = str(programs / "passdown")

    def steps(self, number: int) -> Iterator[Step]:
        """Yield what a host and its agent do in one session."""
        yield {"name": "P", "command": [self._python, "-I", "-c", "pass"]}
        transcript = self._home / f"{self._project.name}-{number}.jsonl"
        transcript.write_bytes(make_transcript(TRANSCRIPT, str(self._project)))
        turn = [[str(transcript), make_turn(str(self._project)).decode()]]
        yield self._hook(number, "start", hook_event_name="SessionStart", source="startup")
        yield self._hook(number, "prompt", hook_event_name="UserPromptSubmit", prompt="go on")
        yield self._hook(number, "first turn end, 2 MB", hook_event_name="Stop")
        for verb in VERBS:
            yield self._verb(number, *verb)
        held = {"hook_event_name": "PreToolUse", "tool_name": "Edit"}
        edit = {"tool_input": {"file_path": str(self._project / "part0" / "1.py")}}
        yield self._hook(number, "edit of a held file", **held, **edit)
        edit = {"tool_input": {"file_path": str(self._project / "free.py")}}
        yield self._hook(number, "edit of a free file", **held, **edit)
        stop = {"hook_event_name": "Stop"}
        yield {**self._hook(number, "turn end", **stop), "writes": turn}
        publishing = self._hook(number, "turn end with event, view and commit", **stop)
        yield {**publishing, "writes": turn, "variables": _AT_ONCE}
        yield self._verb(number, "release", "src/0.py")
        yield self._verb(number, "note", "it is done")
        if number % 2:
            yield self._verb(number, "end")
        else:
            yield self._hook(number, "end by the host", hook_event_name="SessionEnd", reason="clear")

    def _verb(self, number: int, *words: str) -> Step:
        variables = {"PASSDOWN_SESSION": f"bench-{number}"}
        return {"name": words[0], "command": [self._passdown, *words], "variables": variables}

    def _hook(self, number: int, name: str, **told: object) -> Step:
        payload = {
            "session_id": f"bench-{number}",
            "cwd": str(self._project),
            "transcript_path": str(self._home / f"{self._project.name}-{number}.jsonl"),
            **told,
        }
        path = self._home / f"{self._project.name}-{number}-{name}.json"
        path.write_text(json.dumps(payload), encoding="utf-8")
        command = [self._passdown, "hook", "--host", "claude"]
        return {"name": name, "command": command, "input": str(path)}


def measure_sessions(rounds: int = ROUNDS, large: Size = LARGE) -> list[Row]:
    """Let sessions live in both projects in turn, so that a busy machine slows both; compare the minima."""
    programs = make_environment() / "bin"
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environment = {"HOME": folder, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        projects = {
            size.name: make_project(
                home / size.name.replace(" ", "-"), size, programs / "passdown", environment
            )
            for size in (SMALL, large)
        }
        times: dict[str, dict[str, list[float]]] = {name: {} for name in projects}
        for number in range(-1, rounds):
            for name, project in projects.items():
                steps = [*Sessions(home, project, programs).steps(number)]
                for step, seconds in run_host([steps], project, environment).items():
                    if number >= 0:  # the first session only warms the caches
                        times[name].setdefault(step, []).extend(seconds)
    return [row for name in times for row in _rows(name, times)]


def run_host(
    rounds: Sequence[Sequence[Step]], folder: Path, environment: Mapping[str, str]
) -> dict[str, list[float]]:
    """Run sessions, each in a process of its own; give the seconds of each of their steps."""
    order = {"folder": str(folder), "environment": dict(environment), "rounds": rounds}
    done = subprocess.run(
        [sys.executable, "-I", str(_HOST)],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"bench: {done.stderr.strip()}")
    times: dict[str, list[float]] = json.loads(done.stdout)
    return times


def _rows(size: str, times: Mapping[str, Mapping[str, Sequence[float]]]) -> Iterator[Row]:
    mine, base = times[size], times[SMALL.name]
    # The projects take turns, so one P is that of both.
    floors = [seconds for each in times.values() for seconds in each["P"]]
    floor, middle = min(floors), statistics.median(floors)
    for name, seconds in mine.items():
        yield Row(
            part="sessions",
            name=f"{size}: {name}",
            value=min(seconds) * 1000,
            unit="ms",
            ratio=min(seconds) / floor,
            budget=_budget(name),
            median_ratio=statistics.median(seconds) / middle,
        )
    if size != SMALL.name:
        for name in mine:
            grown = min(mine[name]) / min(base[name])
            row = f"{name}, to {SMALL.name}"
            budget = BUDGETS["sessions"]["to day 1"]
            yield Row(part="sessions", name=row, value=grown, unit="ms", ratio=grown, budget=budget)


def _budget(name: str) -> Budget | None:
    return BUDGETS["sessions"].get(name)
