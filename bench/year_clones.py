"""Clones in which agents have worked for a number of days, made quickly: history, files, journals, caches.

Days that are long closed are made as the job leaves them: their sessions' commits, and then the commit in
which the rollup takes the place of the single files. The last days are archived by the command, a run a day.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Final, NamedTuple

from bench.year_days import Published, Work, Year, make_day
from passdown import layout
from passdown.core.merge.event_facts import EventFacts, EventRank
from passdown.core.merge.rollups import RollupMember, name_rollup, render_rollups

OWN: Final = "src"
OWN_FILES: Final = 20_000
"""How many files of their own the owners of the repository track."""
MANY: Final = 2_000
"""While more events are single files, the job archives all days that are over, and leaves no copies."""
DAYS_OF_COPIES: Final = 38
"""How old the oldest copy of an event is where a week has fewer."""

_SETTINGS: Final = '[events]\narchiver = "job"\n'
_ENDED: Final = "ended"
_FLAT: Final = 1_000
"""How many records of sessions lie in one folder before there is one for each month."""
_FILE: Final = b"M 100644 inline "
_FOLLOWS: Final = b"from refs/heads/main^0\n"
_NEWEST: Final = 50
"""How many journals stay with the live ones."""
_AT: Final = (
    "import runpy, sys; from datetime import datetime; from passdown.engines.system import SystemClock;"
)
_MOVED: Final = f"{_AT} now = datetime.fromisoformat(sys.argv.pop(1)); SystemClock.now = lambda _: now;"
_CALL: Final = f"{_MOVED} runpy.run_module('passdown', run_name='__main__')"


class DayFiles(NamedTuple):
    """A day: what is committed for its sessions, and what the job makes of it."""

    number: int
    day: date
    commits: Sequence[bytes]
    rollups: Sequence[tuple[str, str]]


def make_clone(year: Year, root: Path) -> Path:
    """Make a clone with all days of a year; the last is today, and its events are single files."""
    _begin(root)
    real = min(count_runs(year), year.days - 1)
    first = datetime.now(UTC).date() - timedelta(days=year.days - 1)
    make = partial(_make_files, year, first, root)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        made = pool.map(make, range(year.days), chunksize=1)
        closed = year.days - 1 - real
        _import(root, (part for one in _take(made, closed) for part in _close(one)))
        for one in made:
            _put_away(root, one.day)
            _import(root, one.commits)
        git(root, "reset", "-q", "--hard")
    _put_away(root, datetime.now(UTC).date())
    _age(root)
    return root


def count_runs(year: Year) -> int:
    """Return how many of the last runs decide what is there today; the command makes these."""
    is_early = year.events_a_day * 8 > MANY
    return MANY // year.events_a_day + 2 if is_early else DAYS_OF_COPIES


def _take(made: Iterator[DayFiles], count: int) -> Iterator[DayFiles]:
    for _ in range(count):
        yield next(made)


def _begin(root: Path) -> None:
    """Make a repository with files of its own that is set up."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    for key, value in (("user.name", "Ada"), ("user.email", "ada@example.invalid"), ("gc.auto", "0")):
        git(root, "config", key, value)
    (root / layout.SETTINGS).write_text(_SETTINGS, encoding="utf-8")
    call(root, datetime.now(UTC), "init", "--yes")
    git(root, "add", "--all")
    git(root, "commit", "-qm", "Begin")
    _import(root, _own_files())
    git(root, "reset", "-q", "--hard")


def _own_files() -> Iterator[bytes]:
    yield _head(datetime.now(UTC), "Work of many years")
    for number in range(OWN_FILES):
        path = f"{OWN}/part{number % 200:03}/module{number // 200:03}.py"
        yield _file(path, f'"""Module {number}."""\n\nVALUE = {number}\n')
    yield b"\n"


def call(root: Path, at: datetime, *words: str) -> None:
    """Call the command at an instant of the past."""
    command = [sys.executable, "-c", _CALL, at.isoformat(), *words]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench: passdown {' '.join(words)}: {done.stderr.strip()}")


def git(root: Path, *words: str) -> str:
    """Run git with none of the settings of whoever measures."""
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(
        ["git", *words], cwd=root, check=True, env=environment, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def _put_away(root: Path, day: date) -> None:
    """Let the job make its run at the beginning of a day."""
    git(root, "reset", "-q", "--hard")
    now = datetime.now(UTC)
    call(root, min(now, datetime.combine(day, time(0, 5), UTC)), "archive", "run")


# --- history ------------------------------------------------------------------------------------------


def _make_files(year: Year, first: date, root: Path, number: int) -> DayFiles:
    """Make the commits of a day, and write its journals; in a process of its own."""
    day = first + timedelta(days=number)
    works = list(make_day(year, number, day, datetime.now(UTC)))
    ended = year.agents * year.days - _NEWEST
    for place, work in enumerate(works):
        is_put_away = number * year.agents + place < ended
        _write_journal(root, work, f"{_ENDED}/{day:%Y-%m}" if is_put_away else "")
    folder = f"{day:%Y-%m}/" if number * year.agents >= _FLAT else ""
    commits = [b"".join(_commit_of(work, day, folder)) for work in works]
    rollups = roll_up(day, [event for work in works for event in work.events])
    return DayFiles(number, day, commits, rollups)


def _write_journal(root: Path, work: Work, folder: str) -> None:
    place = root / layout.GIT / layout.OURS / layout.JOURNALS / folder
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{work.session}.jsonl"
    path.write_text(work.journal, encoding="utf-8")
    os.utime(path, (work.ended_at.timestamp(), work.ended_at.timestamp()))


def _commit_of(work: Work, day: date, folder: str) -> Iterator[bytes]:
    """Yield the commit at the end of a session: its events, and its record in a folder."""
    yield _head(work.ended_at, f"passdown: {len(work.events)} events, 1 document")
    for event in work.events:
        yield _file(f"{layout.EVENTS}/{day}/{event.name}", event.text)
    yield _file(f"{layout.ARCHIVE}/{folder}{work.record_name}", work.record)
    yield b"\n"


def roll_up(day: date, events: Iterable[Published]) -> list[tuple[str, str]]:
    """Return the rollups of a day, each with its name."""
    return [(name_rollup(text), text) for text in render_rollups(day, map(_as_member, events))]


def _as_member(event: Published) -> tuple[RollupMember, EventFacts]:
    rank = EventRank(event.at, event.agent, event.id, event.hash)
    facts = EventFacts(rank, (), (), "", "", "", 0, ())
    return RollupMember(event.name, event.text.encode()), facts


def _close(made: DayFiles) -> Iterator[bytes]:
    """Yield the commits of a closed day: those of its sessions, and that of the job."""
    yield from made.commits
    yield _head(datetime.combine(made.day + timedelta(days=1), time(0, 5), UTC), "passdown: archive")
    yield f"D {layout.EVENTS}/{made.day}\n".encode()
    for name, text in made.rollups:
        yield _file(f"{layout.EVENTS}/{made.day}/{name}", text)
    yield b"\n"


def _head(at: datetime, message: str) -> bytes:
    who = f"committer Ada <ada@example.invalid> {int(at.timestamp())} +0000\n"
    return f"commit refs/heads/main\n{who}data {len(message)}\n{message}\n".encode()


def _file(path: str, text: str) -> bytes:
    data = text.encode()
    return _FILE + f"{path}\ndata {len(data)}\n".encode() + data + b"\n"


def _import(root: Path, parts: Iterable[bytes]) -> None:
    """Let git take in commits on top of the branch."""
    parts = iter(parts)
    first = next(parts, b"")
    if not first:
        return
    head, end, rest = first.partition(_FILE)
    parts = chain([head, _FOLLOWS, end, rest], parts)  # the first commit says what it follows
    command = ["git", "fast-import", "--quiet", "--force"]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for part in parts:
            process.stdin.write(part)
        process.stdin.close()
        if process.wait():
            sys.exit("bench: git could not take in the days")


def _age(root: Path) -> None:
    """Let folders rest, as they do when nobody has written to them for an hour."""
    old = datetime.now(UTC).timestamp() - 3600
    for folder in (root / layout.EVENTS, root / layout.GIT / layout.OURS):
        for path in (folder, *(one for one in folder.rglob("*") if one.is_dir())):
            os.utime(path, (old, old))


def remove(root: Path) -> None:
    """Remove a clone."""
    shutil.rmtree(root, ignore_errors=True)
