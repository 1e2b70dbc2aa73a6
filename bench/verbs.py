"""How long each verb of a session takes as a user feels it, in multiples of P: the interpreter alone.

Each is a whole process of the installed wheel, in a repository with a session, its journal and its ledger.
The aim is at most 8 P for each; that is not reached yet, so the figures only inform.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bench.results import Row
from bench.start_up import make_environment

ROUNDS: Final = 15
VERBS: Final = (
    ("start",),
    ("goal", "Ship the parser before the end of the week"),
    ("now", "write the parser"),
    ("done", "wrote the parser"),
    ("next", "write the tests", "write the pages"),
    ("decide", "db", "SQLite", "--because", "it is there"),
    ("rule-out", "a daemon"),
    ("ask", "why is it slow?"),
    ("answer", "why", "it is not"),
    ("note", "look at the tests first"),
    ("retract", "wrote"),
    ("heartbeat",),
    ("status",),
    ("publish",),
    ("end",),
)


def measure_verbs(rounds: int = ROUNDS) -> list[Row]:
    """Let sessions live one after the other, each verb in turn; ratios are of the minima."""
    programs = make_environment() / "bin"
    with tempfile.TemporaryDirectory() as home:
        project = Path(home) / "project"
        subprocess.run(["git", "init", "-q", "-b", "main", str(project)], check=True)  # noqa: S607 - as users do
        commands = {"P": [str(programs / "python"), "-I", "-c", "pass"]}
        commands |= {f"passdown {verb[0]}": [str(programs / "passdown"), *verb] for verb in VERBS}
        times = _time(commands, home, project, rounds)
    floor, middle = min(times["P"]), statistics.median(times["P"])
    return [
        Row(
            part="verbs",
            name=name,
            value=min(seconds) * 1000,
            unit="ms",
            ratio=min(seconds) / floor,
            median_ratio=statistics.median(seconds) / middle,
        )
        for name, seconds in times.items()
    ]


def _time(commands: Mapping[str, list[str]], home: str, project: Path, rounds: int) -> dict[str, list[float]]:
    order = {"commands": commands, "environment": {"HOME": home, "PATH": os.defpath, "LANG": "C.UTF-8"}}
    done = subprocess.run(
        [sys.executable, "-I", str(Path(__file__).with_name("spawn.py")), str(rounds)],
        input=json.dumps(order),
        capture_output=True,
        cwd=project,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"bench: {done.stderr.strip()}")
    times: dict[str, list[float]] = json.loads(done.stdout)
    return times
