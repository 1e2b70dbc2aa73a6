"""A project after its first day and after a year: what sessions start, work and end in."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from bench.agents import BUSY, fill_statements, make_busy_journal, make_journals
from bench.corpus import make_log
from passdown import layout
from passdown.core.sessions.session_facts import HostProcess
from passdown.engines.files.ended_journals import LEARNED
from passdown.engines.process import SystemProcesses

LONG_AGO: Final = 1_767_225_600
LIVE_LINES: Final = 1_000


class Size(NamedTuple):
    """How much a project holds."""

    name: str
    ended: int
    """Sessions that ended."""
    events: int
    tasks: int
    reservations: int
    are_away: bool = True
    """Whether the journals of ended sessions are archived, or lie beside those of running ones."""


SMALL: Final = Size("day 1", 5, 100, 10, 10)
LARGE: Final = Size("a year", 4_000, 100_000, 10_000, 1_000)
CI_SIZE: Final = Size("a month", 400, 2_000, 1_000, 100)


def make_project(folder: Path, size: Size, program: Path, environment: Mapping[str, str]) -> Path:
    """Make a repository with an identity, everything committed, and the cache of its events warm."""
    _run(folder.parent, environment, "git", "init", "-q", "-b", "main", str(folder))
    for name, value in (("user.name", "Somebody"), ("user.email", "somebody@localhost"), ("gc.auto", "0")):
        _run(folder, environment, "git", "config", name, value)
    (folder / layout.SETTINGS).write_text("", encoding="utf-8")
    write_events(folder, size.events)
    for path in ("part0", "src"):
        (folder / path).mkdir()
        (folder / path / "0.py").write_text("pass\n", encoding="utf-8")
    _run(folder, environment, "git", "add", "-A")
    _run(folder, environment, "git", "commit", "-q", "-m", "Everything so far")
    write_journals(folder, size.ended, are_away=size.are_away)
    # The index of ended journals knows them all, as where each was archived when its session had ended.
    briefs = [["brief"]] * (1 + size.ended // LEARNED)
    for words in (["reserve", "src/0.py"], ["end"], *briefs):
        _run(folder, environment, str(program), *words)
    process = SystemProcesses().find_host()
    busy = folder / layout.GIT / layout.OURS / layout.JOURNALS / f"{BUSY}.jsonl"
    busy.write_text(make_busy_journal(LIVE_LINES, str(folder), process), encoding="utf-8")
    fill_coordination(folder, size, process)
    return folder


def write_events(folder: Path, count: int) -> None:
    """Write so many single events, by day, into folders that are as old as those of a log are."""
    events = folder / "thoughts" / "shared" / "handoffs" / "events"
    for day, name, text in make_log(count):
        path = events / day / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in (*events.iterdir(), events):
        os.utime(path, (LONG_AGO, LONG_AGO))


def write_journals(folder: Path, count: int, *, are_away: bool) -> None:
    """Write the journals of so many ended sessions."""
    journals = folder / layout.GIT / layout.OURS / layout.JOURNALS
    journals.mkdir(parents=True, exist_ok=True)
    for month, session, text in make_journals(count, str(folder)):
        place = journals / "ended" / month if are_away else journals
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{session}.jsonl").write_text(text, encoding="utf-8")


def fill_coordination(folder: Path, size: Size, process: HostProcess) -> None:
    """Add tasks, ended sessions and reservations to the database that the sessions share."""
    connection = sqlite3.connect(folder / layout.GIT / layout.OURS / layout.COORDINATION)
    with connection:
        for text, values in fill_statements(size.tasks, size.reservations, size.ended, process):
            connection.execute(text, values)
    connection.close()
    # What is logged about the database does not know these rows, and would be restored in their place.
    shutil.rmtree(folder / layout.GIT / layout.OURS / layout.COORDINATION_CHANGES, ignore_errors=True)


def _run(folder: Path, environment: Mapping[str, str], *command: str) -> None:
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
