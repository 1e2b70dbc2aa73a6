"""Starts programs of servers as a user without rights, and ends them."""

import os
import random
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final

_NOBODY: Final = "nobody"
"""Who runs servers where we are root: PostgreSQL refuses to."""
_ENVIRONMENT: Final = {"PATH": os.environ["PATH"], "LANG": "C", "HOME": "/nonexistent"}
_GLANCE: Final = 0.02
_PORTS: Final = range(12_000, 32_000)
"""Below those that Linux, macOS and Windows choose from for outgoing connections."""


def find_port() -> int:
    """Return a port that nobody listens on; it is none that a system gives to who connects to somebody."""
    while True:
        port = random.choice(_PORTS)
        with socket.socket() as found, suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port


def as_nobody(*command: str) -> str:
    """Run a program as a user without rights; return what it printed, also if a child keeps that open."""
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(
            [*_lower(), *command],
            cwd="/",
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
            env=_ENVIRONMENT,
        )
        output.seek(0)
        said = output.read()
    assert done.returncode == 0, (command, said)
    return said


def start_as_nobody(log: Path, *command: str) -> "subprocess.Popen[bytes]":
    """Start a program as a user without rights, in a session of its own."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [*_lower(), *command],
            cwd="/",
            stdout=output,
            stderr=output,
            start_new_session=True,
            env=_ENVIRONMENT,
        )


def kill_tree(process: int) -> None:
    """Kill a process and all that it started, as a power failure would, and wait until they are gone."""
    killed = freeze_tree(process)
    _signal(killed, signal.SIGKILL)
    for one in killed:
        while not _is_gone(one):
            Event().wait(_GLANCE)


def find_server(data: Path) -> Sequence[int]:
    """Return the first process of the PostgreSQL server in a folder; empty if it does not run."""
    with suppress(FileNotFoundError, ValueError, IndexError):
        return [int((data / "postmaster.pid").read_text(encoding="utf-8").split()[0])]
    return []


def kill_server(data: Path) -> None:
    """Kill a PostgreSQL server; its number is forgotten, as after a restart of the machine."""
    for process in find_server(data):
        kill_tree(process)
        (data / "postmaster.pid").unlink()


def freeze_tree(process: int) -> Sequence[int]:
    """Stop a process and all that it started, so that it starts nothing meanwhile; return who they are."""
    found = [process]
    for one in found:
        _signal([one], signal.SIGSTOP)
        found += _list_children(one)
    return found


def thaw(processes: Sequence[int]) -> None:
    """Let stopped processes go on."""
    _signal(processes, signal.SIGCONT)


def _signal(processes: Sequence[int], what: signal.Signals) -> None:
    for one in processes:
        with suppress(ProcessLookupError):
            os.kill(one, what)


def _list_children(process: int) -> Sequence[int]:
    found = subprocess.run(["pgrep", "-P", str(process)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def _is_gone(process: int) -> bool:
    """Return whether a process is gone; one that only waits to be asked for its outcome is."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def _lower() -> tuple[str, ...]:
    return ("runuser", "-u", _NOBODY, "--") if os.geteuid() == 0 else ()
