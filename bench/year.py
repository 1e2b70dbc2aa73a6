"""A year of agents in one clone: what sessions and people wait for on the first day, and at the end of it.

Clones of several ages are made side by side (`bench/year_clones.py`); each ends today. Sessions then live in
all of them in turn, a host process each, so that a busy machine slows all of them alike. A cost is told in P,
the interpreter alone, and compared with the same cost on day 1. Sizes are told beside those of a small team.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.budgets import BUDGETS, Budget
from bench.projects import Size, fill_coordination
from bench.rows import Row
from bench.sessions import Sessions, run_host
from bench.start_up import make_environment
from bench.year_clones import OWN, git, make_clone, remove
from bench.year_days import Year
from passdown import layout
from passdown.engines.files.ended_journals import LEARNED
from passdown.engines.process import SystemProcesses
from passdown.records import record

MOST_SECONDS: Final = 240.0
"""How long CI lets the small year take."""
MORE_MS: Final = 25.0
"""How many milliseconds more the user's git may take in a repository without files of its own."""
OPEN: Final = 2_000
"""How many events may be single files beside those of a day."""
_MB: Final = 1_000_000
_ROUNDS_OF_GIT: Final = 9
_SEARCHED: Final = "signature check"
_START: Final = """
import os, sys
quiet = os.open(os.devnull, os.O_WRONLY)
said = [(os.POSIX_SPAWN_DUP2, quiet, 1), (os.POSIX_SPAWN_DUP2, quiet, 2)]
started = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=said)
_, status, used = os.wait4(started, 0)
print(used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@record
class Span:
    """The clones to measure: their ages, and a small team of the greatest age to compare sizes with."""

    agents: int
    events_of_each: int
    ages: tuple[int, ...]
    rounds: int
    small: tuple[int, int] | None = None
    """Agents and events of each a day in the small team."""

    def years(self) -> Iterator[Year]:
        """Yield the clones whose costs are compared, the youngest first."""
        for days in self.ages:
            yield Year(name=f"day {days}", agents=self.agents, events_of_each=self.events_of_each, days=days)

    def small_year(self) -> Iterator[Year]:
        """Yield the clone of the small team, if there is one."""
        if self.small is not None:
            agents, events = self.small
            yield Year(name=f"{agents} agents", agents=agents, events_of_each=events, days=self.ages[-1])


WHOLE: Final = Span(agents=50, events_of_each=99, ages=(1, 10, 100, 365), rounds=7, small=(5, 30))
SMALL: Final = Span(agents=18, events_of_each=27, ages=(1, 10, 37), rounds=3)


class Clone:
    """A clone that was made, with what a host needs to work in it."""

    def __init__(self, year: Year, folder: Path, programs: Path) -> None:
        """Make it, and let its caches be read once."""
        self.year = year
        self.root = folder / year.name.replace(" ", "-")
        self._home = folder
        self._passdown = str(programs / "passdown")
        self.environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        start = time.perf_counter()
        make_clone(year, self.root)
        self.made = time.perf_counter() - start
        self.call("search", _SEARCHED)
        for _ in range(year.agents * year.days // LEARNED):  # as the sessions of all days did
            self.call("brief")
        self._share()
        self.sessions = Sessions(folder, self.root, programs)

    def read_first(self, copied: Path) -> tuple[float, float]:
        """Let a brief read all events in a fresh clone; give its seconds and its megabytes."""
        return run_measured([self._passdown, "brief"], copied, self.environment)

    def call(self, *words: str) -> None:
        """Call the command, which must succeed. One process makes all calls, so they are of one session."""
        command = [self._passdown, *words]
        subprocess.run(command, cwd=self.root, env=self.environment, check=True, capture_output=True)

    def _share(self) -> None:
        """Put into the shared database what the sessions of its 30 days leave there."""
        self.call("reserve", f"{OWN}/0.py")
        self.call("end")
        ended = self.year.agents * min(self.year.days, 30)
        size = Size(self.year.name, ended, 0, tasks=ended // 5 + 10, reservations=10)
        fill_coordination(self.root, size, SystemProcesses().find_host())

    def live(self, number: int) -> Mapping[str, Sequence[float]]:
        """Let one session live here; give the seconds of each of its steps."""
        return run_host([[*self.sessions.steps(number)]], self.root, self.environment)


def run_measured(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    """Run a command; give its seconds, and the most megabytes that it or what it started had.

    A process counts as large as the one that started it, so a small one starts it.
    """
    start = time.perf_counter()
    started = [sys.executable, "-I", "-S", "-c", _START, *command]
    done = subprocess.run(started, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return time.perf_counter() - start, int(done.stdout) * 1024 / _MB


def measure_year(span: Span = WHOLE) -> list[Row]:
    """Make the clones, let sessions and a person work in each of them in turn, and compare with day 1."""
    began = time.perf_counter()
    programs = make_environment() / "bin"
    with tempfile.TemporaryDirectory(dir=os.environ.get("PASSDOWN_BENCH_FOLDER")) as name:
        clones = [Clone(year, Path(name), programs) for year in span.years()]
        lived: dict[str, list[Mapping[str, Sequence[float]]]] = {clone.year.name: [] for clone in clones}
        for number in range(-1, span.rounds):
            for clone in clones:
                seconds = clone.live(number)
                if number >= 0:  # the first session only warms the caches
                    lived[clone.year.name].append(seconds)
        rows = [*_compare(lived), *_measure_git(clones)]
        others = [Clone(year, Path(name), programs) for year in span.small_year()]
        for clone in (*clones, *others):
            rows += _weigh(clone, Path(name))
    took = time.perf_counter() - began
    budget = BUDGETS["year"]["made and measured"] if span == SMALL else None
    return [
        *rows,
        Row(
            part="year",
            name="made and measured",
            value=took,
            unit="s",
            ratio=took / MOST_SECONDS,
            budget=budget,
        ),
    ]


# --- what is waited for -------------------------------------------------------------------------------


def _compare(lived: Mapping[str, Sequence[Mapping[str, Sequence[float]]]]) -> Iterator[Row]:
    """Compare the cost of each step, in P, with its own on the first day."""
    first, *_ = lived
    # The clones take turns, so one P is that of all.
    floors = [seconds for sessions in lived.values() for one in sessions for seconds in one["P"]]
    least = {name: _in_p(min, sessions, floors) for name, sessions in lived.items()}
    middle = {name: _in_p(statistics.median, sessions, floors) for name, sessions in lived.items()}
    for step in least[first]:
        for name in lived if step != "P" else ():
            yield Row(
                part="year",
                name=f"{name}: {step}",
                value=least[name][step],
                unit="P",
                ratio=least[name][step] / least[first][step],
                budget=None if name == first else BUDGETS["year"]["to day 1"],
                median_ratio=middle[name][step] / middle[first][step],
            )


def _in_p(
    choose: Callable[[Sequence[float]], float],
    sessions: Sequence[Mapping[str, Sequence[float]]],
    floors: Sequence[float],
) -> dict[str, float]:
    """Return what each step costs in multiples of P."""
    joined: dict[str, list[float]] = {}
    for session in sessions:
        for step, seconds in session.items():
            joined.setdefault(step, []).extend(seconds)
    floor = choose(floors)
    return {step: choose(seconds) / floor for step, seconds in joined.items()}


def _measure_git(clones: Sequence[Clone]) -> Iterator[Row]:
    """Time the user's own git, with many files of their own and with none."""
    places = {f"{clone.year.name}: ": clone.root for clone in clones}
    bare = {f"{clone.year.name}: no files, ": _without_own(clone) for clone in clones}
    times = _time_git({**places, **bare})
    for kind, roots in (("", places), ("no files, ", bare)):
        first = next(iter(roots))
        for what in ("git status", "git commit"):
            base = min(times[first, what])
            for name in roots:
                value = min(times[name, what])
                more = (value - base) * 1000 / MORE_MS
                budget = BUDGETS["year"]["git, more ms" if kind else "git"]
                yield Row(
                    part="year",
                    name=f"{name}{what}",
                    value=value * 1000,
                    unit="ms",
                    ratio=more if kind else value / base,
                    budget=None if name == first else budget,
                )


def _time_git(roots: Mapping[str, Path]) -> Mapping[tuple[str, str], list[float]]:
    """Let a person look at the status and commit one changed file, everywhere in turn."""
    times: dict[tuple[str, str], list[float]] = {}
    for number in range(_ROUNDS_OF_GIT):
        for name, root in roots.items():
            (root / "mine.txt").write_text(f"{number}\n", encoding="utf-8")
            git(root, "add", "mine.txt")
            for what, words in (("git status", ("status",)), ("git commit", ("commit", "-qm", "Mine"))):
                start = time.perf_counter()
                git(root, *words)
                times.setdefault((name, what), []).append(time.perf_counter() - start)
    return times


def _without_own(clone: Clone) -> Path:
    """Clone it, and remove the files that are not ours."""
    root = clone.root.with_name(f"{clone.root.name}-alone")
    git(clone.root, "clone", "-q", "--shared", str(clone.root), str(root))
    for key, value in (("user.name", "Ada"), ("user.email", "ada@example.invalid"), ("gc.auto", "0")):
        git(root, "config", key, value)
    git(root, "rm", "-rq", OWN)
    git(root, "commit", "-qm", "Only ours")
    return root


# --- what it weighs -----------------------------------------------------------------------------------


def _weigh(clone: Clone, folder: Path) -> Iterator[Row]:
    """Tell the sizes of a clone, and what it takes to make and to clone."""
    ours = clone.root / layout.GIT / layout.OURS
    singles = _count_singles(clone.root)
    most = clone.year.events_a_day + OPEN
    budget = BUDGETS["year"]["tracked single files"]
    yield _size(clone, "events", float(clone.year.events_a_day * clone.year.days), "")
    yield _size(clone, "sessions", float(clone.year.agents * clone.year.days), "")
    yield _size(clone, "tracked single files", float(singles), "files", singles / most, budget)
    git(clone.root, "repack", "-adq")
    copied = folder / "copied"
    seconds, memory = run_measured(
        ["git", "clone", "-q", "--no-local", clone.root.as_uri(), str(copied)], folder, clone.environment
    )
    read, most_read = clone.read_first(copied)
    remove(copied)
    weights = {
        "events in the checkout": _weigh_folder(clone.root / layout.EVENTS),
        "records of sessions": _weigh_folder(clone.root / layout.ARCHIVE),
        "pack": _weigh_folder(clone.root / layout.GIT / "objects"),
        "cache": _weigh_folder(ours / layout.CACHE),
        "journals": _weigh_folder(ours / layout.JOURNALS),
        "shared database": sum(_weigh_file(path) for path in ours.glob(f"{layout.COORDINATION}*")),
    }
    for name, size in weights.items():
        yield _size(clone, name, size / _MB, "MB")
    yield _size(clone, "git clone", seconds, "s")
    yield _size(clone, "git clone, memory", memory, "MB")
    yield _size(clone, "first brief in a fresh clone", read, "s")
    yield _size(clone, "first brief in a fresh clone, memory", most_read, "MB")
    yield _size(clone, "made in", clone.made, "s")


def _size(
    clone: Clone, what: str, value: float, unit: str, ratio: float = 1.0, budget: Budget | None = None
) -> Row:
    name = f"{clone.year.name}: {what}"
    return Row(part="year", name=name, value=value, unit=unit, ratio=ratio, budget=budget)


def _count_singles(root: Path) -> int:
    """Count the tracked events that have a file of their own, also in the archive."""
    listed = git(root, "ls-files", "--", layout.EVENTS, layout.EVENT_ARCHIVE).splitlines()
    return sum(path.endswith(".md") for path in listed)


def _weigh_folder(folder: Path) -> float:
    return sum(_weigh_file(path) for path in folder.rglob("*") if path.is_file())


def _weigh_file(path: Path) -> float:
    return float(path.stat().st_blocks * 512)
