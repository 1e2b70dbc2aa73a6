"""What a host waits for when it calls our hooks, in multiples of P: the interpreter alone.

Each is a whole process of the installed wheel, in a repository with a log of events whose cache is warm, and
whose folders are as old as those of a log are.
"""

import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from bench.budgets import BUDGETS
from bench.corpus import make_log
from bench.rows import Row
from bench.start_up import make_environment
from bench.timing import time_commands

ROUNDS: Final = 10
PROMISED_MS: Final = 250.0
"""What a hook takes at most on a machine that is not slow."""
EVENTS: Final = int(os.environ.get("PASSDOWN_BENCH_HOOK_EVENTS", "100000"))
_LONG_AGO: Final = 1_767_225_600

MOMENTS: Final = {
    "start": {"hook_event_name": "SessionStart", "source": "resume"},
    "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": "go on"},
    "turn end": {"hook_event_name": "Stop"},
    "end": {"hook_event_name": "SessionEnd", "reason": "clear"},
}


def measure_hooks(rounds: int = ROUNDS, events: int = EVENTS) -> list[Row]:
    """Let a host call every hook once a round; ratios are of the minima."""
    programs = make_environment() / "bin"
    with tempfile.TemporaryDirectory() as home:
        project = _make_project(Path(home) / "project", events)
        environment = {"HOME": home, "PATH": os.environ["PATH"]}
        warm = [str(programs / "passdown"), "brief"]
        subprocess.run(warm, cwd=project, env=environment, check=True, stdout=subprocess.DEVNULL)
        commands = {"P": [str(programs / "python"), "-I", "-c", "pass"]}
        commands |= {name: [str(programs / "passdown"), "hook", "--host", "claude"] for name in MOMENTS}
        inputs = {name: _write_payload(Path(home), project, name) for name in MOMENTS}
        times = time_commands(commands, home, rounds, folder=project, inputs=inputs)
    floor, middle = min(times["P"]), statistics.median(times["P"])
    slowest = max(min(times[name]) for name in MOMENTS) * 1000
    rows = [
        Row(
            part="hooks",
            name=f"{name}, {events} events" if name == "start" else name,
            value=min(seconds) * 1000,
            unit="ms",
            ratio=min(seconds) / floor,
            budget=BUDGETS["hooks"].get(name),
            median_ratio=statistics.median(seconds) / middle,
        )
        for name, seconds in times.items()
    ]
    name = "slowest, to 250 ms"
    budget = BUDGETS["hooks"][name]
    return [
        *rows,
        Row(part="hooks", name=name, value=slowest, unit="ms", ratio=slowest / PROMISED_MS, budget=budget),
    ]


def _make_project(project: Path, events: int) -> Path:
    subprocess.run(["git", "init", "-q", "-b", "main", str(project)], check=True)
    (project / "passdown.toml").write_text('[events]\nlayout = "day"\n', encoding="utf-8")
    folder = project / "thoughts" / "shared" / "handoffs" / "events"
    for day, name, text in make_log(events):
        path = folder / day / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in (*folder.iterdir(), folder):
        os.utime(path, (_LONG_AGO, _LONG_AGO))
    return project


def _write_payload(home: Path, project: Path, name: str) -> str:
    transcript = home / "transcript.jsonl"
    transcript.touch()
    path = home / f"{name}.json"
    payload = {
        "session_id": "bench",
        "cwd": str(project),
        "transcript_path": str(transcript),
        **MOMENTS[name],
    }
    path.write_text(json.dumps(payload), encoding="utf-8")
    return str(path)
