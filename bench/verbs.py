"""How long each verb of a session takes as a user feels it, in multiples of P: the interpreter alone.

Each is a whole process of the installed wheel, in a repository with a session, its journal and its ledger.
"""

import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from bench.budgets import BUDGETS, Budget
from bench.rows import Row
from bench.start_up import make_environment
from bench.timing import time_commands

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
        subprocess.run(["git", "init", "-q", "-b", "main", str(project)], check=True)
        commands = {"P": [str(programs / "python"), "-I", "-c", "pass"]}
        commands |= {f"passdown {verb[0]}": [str(programs / "passdown"), *verb] for verb in VERBS}
        times = time_commands(commands, home, rounds, folder=project)
    floor, middle = min(times["P"]), statistics.median(times["P"])
    return [
        Row(
            part="verbs",
            name=name,
            value=min(seconds) * 1000,
            unit="ms",
            ratio=min(seconds) / floor,
            budget=_budget(name),
            median_ratio=statistics.median(seconds) / middle,
        )
        for name, seconds in times.items()
    ]


def _budget(name: str) -> Budget | None:
    """Give the budget of a verb: its own, or that of all; the interpreter alone has none."""
    budgets = BUDGETS["verbs"]
    return None if name == "P" else budgets.get(name.removeprefix("passdown "), budgets[""])
