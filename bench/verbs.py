"""How long each verb of a session takes as a user feels it, in multiples of P: the interpreter alone.

Each is a whole process of the installed wheel, in a repository with a session, its journal and its ledger.
The aim is 8 P for each. The figures of three inform: a start looks after whoever never ended, publishing asks
the index of the log, and an end makes the archive and the view, too.
"""

import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from bench.results import Row
from bench.start_up import make_environment
from bench.timing import time_commands

ROUNDS: Final = 15
MOST: Final = 10.0
"""The aim is 8; the rest is for a busy machine."""
_LONGER: Final = frozenset({"P", "passdown start", "passdown publish", "passdown end"})
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
            budget=None if name in _LONGER else MOST,
            median_ratio=statistics.median(seconds) / middle,
        )
        for name, seconds in times.items()
    ]
