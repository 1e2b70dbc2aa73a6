"""Time commands as whole processes, in turn, by a small process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_SCRIPT: Final = Path(__file__).with_name("spawn.py")


def time_commands(
    commands: Mapping[str, list[str]],
    home: str,
    rounds: int,
    *,
    folder: Path | None = None,
    inputs: Mapping[str, str] | None = None,
) -> dict[str, list[float]]:
    """Run every command once a round in an emptied environment; give the seconds of each."""
    order = {
        "commands": commands,
        "inputs": inputs or {},
        "environment": {"HOME": home, "PATH": os.defpath, "LANG": "C.UTF-8"},
    }
    done = subprocess.run(
        [sys.executable, "-I", str(_SCRIPT), str(rounds)],
        input=json.dumps(order),
        capture_output=True,
        cwd=folder,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"bench: {done.stderr.strip()}")
    times: dict[str, list[float]] = json.loads(done.stdout)
    return times
