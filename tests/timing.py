"""How long a call takes, in P: multiples of what a start of Python takes on this machine at the same time.

A limit in milliseconds would test the machine. So a call and as many starts of Python as it usually costs are
measured in turn, and the minimum of each counts, because other programs run too. Both clocks are judged: the
processor time of the process and of those it starts, and the wall clock, which also notices a call that
waits. `usual.toml` has the usual cost of each call; a call may cost twice as much.

    PASSDOWN_TIMES=record  writes the current cost of each call to `usual.toml`
    PASSDOWN_TIMES=work    makes each call three times slower by work, and fails if that is not noticed
    PASSDOWN_TIMES=wait    does the same by waiting

`scripts/timed` runs all of them repeatedly.
"""

import compileall
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

ROOM: Final = 2.0
"""How many times its usual cost a call may cost."""

SLOWER: Final = 3.0
"""A call that is this many times slower must be noticed."""

MOST_TRIES: Final = 40
TRIES_WHEN_SLOW: Final = 4
MEASUREMENTS_WHEN_SLOW: Final = 4
"""How often a call that was made slower is measured, until it is noticed."""
_ROOM_OF_FIRST: Final = (1.25, 1.5)
"""What the first tries may cost: a single one is less reliable, so it must be closer to the usual cost."""
_TRIES_TO_RECORD: Final = 8
_USUAL: Final = Path(__file__).with_name("usual.toml")
_START: Final = (sys.executable, "-I", "-c", "pass")
_MODE: Final = os.environ.get("PASSDOWN_TIMES", "")
_CODE: Final = {
    "work": "for _ in range({:.0f}): pass\n",
    "wait": "import time; time.sleep({})\n",
}
_TURNS: Final = 1_000_000
_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder is made in it that is ours alone
_ROOM_IN_MEMORY: Final = 100_000_000
IS_SLOWED: Final = _MODE in _CODE
_drag: ContextVar[str] = ContextVar("drag", default="")

T = TypeVar("T")


class Took(NamedTuple):
    """Seconds: wall clock, and processor time of a process and those that it started."""

    wall: float
    work: float

    def least(self, other: "Took") -> "Took":
        """Return the smaller value of each clock."""
        return Took(min(self.wall, other.wall), min(self.work, other.work))


FOREVER: Final = Took(float("inf"), float("inf"))


class Cost(NamedTuple):
    """The least that a call cost, and the least that a start of Python cost."""

    took: Took
    start: Took
    waits: float
    tries: int

    @property
    def p(self) -> float:
        """The cost in starts of Python, by the worse of both clocks, without intended waits.

        Without a folder in memory a call also waits for the disk: then only the processor time is judged.
        """
        work = self.took.work / self.start.work
        return max((self.took.wall - self.waits) / self.start.wall, work) if has_memory() else work

    def tell(self, name: str, usual: float) -> str:
        """Return the figures as text."""
        wall, work, start = (
            f"{seconds * 1000:.0f} ms" for seconds in (self.took.wall, self.took.work, self.start.wall)
        )
        tries = f"{self.tries} tries" if self.tries > 1 else "1 try"
        return (
            f"{name}: {self.p:.1f} P, usually {usual:.1f}, at most {ROOM * usual:.1f}"
            f" ({wall}, {work} of processor time, P {start}, {tries})"
        )


class TooSlowError(AssertionError):
    """A call costs more than twice what it usually does."""


# --- to measure -----------------------------------------------------------------------------------


def take(act: Callable[[], T]) -> tuple[T, Took]:
    """Do something that starts processes; return its result, and what they took."""
    began, before = time.perf_counter(), _work_of_children()
    found = act()
    return found, Took(time.perf_counter() - began, _work_of_children() - before)


@functools.cache
def has_memory() -> bool:
    """Return whether there is a folder in memory, where no call waits for a disk."""
    return os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM_IN_MEMORY


@contextmanager
def open_folder() -> Iterator[Path]:
    """Yield an empty folder for measurements, in memory if possible."""
    with tempfile.TemporaryDirectory(prefix="passdown-", dir=_MEMORY if has_memory() else None) as name:
        yield Path(name).resolve()


def drag(script: str) -> str:
    """Return a Python program to run: as it is, or slower if a test must notice that."""
    return _drag.get() + script


@contextmanager
def dragging(how: str, seconds: float) -> Iterator[None]:
    """Make each program slower, by work or by waiting."""
    mark = _drag.set(make_slower(how, seconds))
    try:
        yield
    finally:
        _drag.reset(mark)


def make_slower(how: str, seconds: float) -> str:
    """Return a line of Python that takes that long, by waiting or by work.

    Work is counted in turns of a loop, because the speed of a machine changes within seconds: the line then
    slows down together with the program.
    """
    return _CODE[how].format(seconds / time_turn() if how == "work" else seconds)


def time_turn() -> float:
    """Return the least processor time, in seconds, of one turn of the loop."""
    turns = compile(_CODE["work"].format(_TURNS), "<turns>", "exec")
    took = []
    for _ in range(5):
        began = time.process_time()
        exec(turns, {})  # noqa: S102 - a line of ours
        took.append(time.process_time() - began)
    return min(took) / _TURNS


@functools.cache
def compile_package() -> None:
    """Compile the package, as an installer does: otherwise every process would, which takes as long again."""
    import passdown  # another checkout may be measured without it

    compileall.compile_dir(os.path.dirname(passdown.__file__), quiet=2)


def measure(
    act: Callable[[], Took],
    usual: float,
    *,
    waits: float = 0.0,
    tries: int = MOST_TRIES,
    is_judged: bool = True,
) -> Cost:
    """Measure a call and starts of Python in turn; if it is judged, until it is fast enough.

    There are as many starts as the call usually costs, so that both take equally long and are slowed alike.
    """
    compile_package()
    took = series = FOREVER
    starts = max(1, round(usual))
    cost = Cost(took, series, waits, 0)
    for number in range(1, tries + 1):
        series = series.least(start_python(starts))
        took = took.least(act())
        cost = Cost(took, Took(series.wall / starts, series.work / starts), waits, number)
        room = (*_ROOM_OF_FIRST, ROOM)[min(number, 3) - 1]
        if is_judged and cost.p <= room * usual:
            break
    return cost


def judge(name: str, act: Callable[[], Took], *, waits: float = 0.0) -> None:
    """Fail if a call costs more than twice what `usual.toml` says; print what it cost.

    `waits` are the seconds that it waits on purpose on any machine.
    """
    if _MODE == "record":
        _record(name, act, waits)
    usual = read_usual().get(name, 0.0)
    if not usual:
        import pytest  # `scripts/house` starts programs without it

        pytest.fail(f"usual.toml does not say what {name!r} costs; PASSDOWN_TIMES=record writes it")
    cost = measure_slower(act, usual, _MODE, waits=waits) if IS_SLOWED else measure(act, usual, waits=waits)
    rule(cost.p <= ROOM * usual, cost.tell(name, usual))


def measure_slower(act: Callable[[], Took], usual: float, how: str, *, waits: float = 0.0) -> Cost:
    """Measure a call that is made slower by twice its usual cost, by `work` or by `wait`.

    The usual cost counts, not the cost on this machine: where a call costs half of that, a call three times
    slower would still be fast enough. A machine that is slow just while Python starts makes the call look
    fast; then it is measured again.
    """
    costs = (_measure_dragged(act, usual, how, waits) for _ in range(MEASUREMENTS_WHEN_SLOW))
    cost = next(costs)
    while cost.p <= ROOM * usual and (again := next(costs, None)):
        cost = again
    return cost


def _measure_dragged(act: Callable[[], Took], usual: float, how: str, waits: float) -> Cost:
    start = functools.reduce(Took.least, (start_python(1) for _ in range(10)))
    with dragging(how, (SLOWER - 1) * usual * start.wall):
        return measure(act, usual, waits=waits, tries=TRIES_WHEN_SLOW)


def rule(is_quick: bool, told: str) -> None:
    """Print the measurement, and fail if it was too slow, or not noticed although it was made slower."""
    print(told)
    if IS_SLOWED and is_quick:
        import pytest

        pytest.fail(f"three times slower, and not noticed: {told}")
    if not IS_SLOWED and not is_quick:
        raise TooSlowError(told)


def drag_here(seconds: float) -> None:
    """Slow this process down three times after something took that long, if a test must notice that."""
    if IS_SLOWED:
        exec(make_slower(_MODE, (SLOWER - 1) * seconds), {})  # noqa: S102 - a line of ours


def start_python(count: int) -> Took:
    """Return how long some starts of Python take, one after the other."""
    return take(lambda: [subprocess.run(_START, check=True) for _ in range(count)])[1]


def _work_of_children() -> float:
    if sys.platform == "win32":  # which does not tell
        return time.perf_counter()
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# --- to know what is usual ------------------------------------------------------------------------


def read_usual() -> dict[str, float]:
    """Return what calls usually cost, by name."""
    found: dict[str, float] = tomllib.loads(_USUAL.read_text(encoding="utf-8"))["P"]
    return found


def _record(name: str, act: Callable[[], Took], waits: float) -> None:
    """Measure how many starts of Python a call costs, then again with that many starts beside it."""
    known = read_usual()
    about = known.get(name) or measure(act, 5.0, waits=waits, tries=2, is_judged=False).p
    known[name] = round(measure(act, about, waits=waits, tries=_TRIES_TO_RECORD, is_judged=False).p, 1)
    head = _USUAL.read_text(encoding="utf-8").partition("[P]")[0]
    lines = [f'"{one}" = {known[one]}\n' for one in sorted(known)]
    _USUAL.write_text(f"{head}[P]\n{''.join(lines)}", encoding="utf-8")
