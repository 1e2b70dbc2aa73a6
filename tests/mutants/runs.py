"""Try mutants: each in a process that is forked for it, with the tests that reach its line, quickest first.

The fault is only in the process that tries it: no file is written. A test that starts a process of its own
does not meet it there.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Final, NoReturn

import coverage
import pytest

from passdown.records import record, replace
from tests.mutants.changes import Mutant

_OPTIONS: Final = (
    "-x",
    "-q",
    "-n0",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:cov",
    "--assert=plain",
    "--timeout=0",
)
_LOADED: Final = ("click", "hypothesis.strategies", "jsonschema", "sqlite3", "unittest.mock", "yaml")
"""What most tests need and no fault changes: loaded once, before the forks."""

_LEAST_SECONDS: Final = 10.0
_TIMES: Final = 5.0
"""How much longer than without a fault a test may take."""

_TIMES_ALONE: Final = 2.0
"""How much longer it may take in the second try, which runs alone."""

_MOST_CROWD: Final = 4.0
"""How much longer it may take, at most, for the machine is busy."""

PASSED: Final = 0
NONE_RAN: Final = int(pytest.ExitCode.NO_TESTS_COLLECTED)
TOO_LONG: Final = -1
_MOST_HEARD: Final = 4096


@record
class Reach:
    """Which tests reach a line of a module, and how many seconds each took."""

    seconds: dict[str, float]
    by_line: dict[int, frozenset[str]]
    at_import: frozenset[int]

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Give the tests that may notice a fault, the quickest first; all of them for what runs at import.

        If the fault names its tests, no other counts.
        """
        lines = range(mutant.line, mutant.last_line + 1)
        found = set().union(*(self.by_line.get(line, frozenset()) for line in lines))
        if not found and any(line in self.at_import for line in lines):
            found = set(self.seconds)
        if mutant.tests:
            found = {test for test in found if is_named(test, mutant.tests)}
        return sorted(found, key=lambda test: (self.seconds.get(test, 0.0), test))


def is_named(test: str, names: Sequence[str]) -> bool:
    """Tell whether a test has one of these names, with any parameters, or is in a file or class of them."""
    return any(test == name or test.startswith((f"{name}[", f"{name}::")) for name in names)


class _Watch:
    """Notes for every test what it reaches and how long it takes."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self.seconds: dict[str, float] = {}
        self._measured = measured

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._measured.switch_context(item.nodeid)
        start = time.perf_counter()
        answer = yield
        self.seconds[item.nodeid] = time.perf_counter() - start
        return answer


class _Only:
    """Runs some tests alone, in a given order, and tells when each has ended."""

    def __init__(self, tests: Sequence[str], tell: Callable[[], object]) -> None:
        self._places = {test: place for place, test in enumerate(tests)}
        self._tell = tell

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self._places),
            key=lambda item: self._places[item.nodeid],
        )

    def pytest_runtest_logfinish(self) -> None:
        self._tell()


class _Faulty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module with a fault in it."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = name_of(mutant.path)
        self._path = str(Path(mutant.path).resolve())
        self._data = mutant.apply(Path(mutant.path).read_bytes())

    def find_spec(
        self, fullname: str, path: object, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._data, self._path, "exec"), module.__dict__)  # noqa: S102 - our own module


def prepare(folder: str) -> None:
    """Load and compile once what every trial needs; a folder keeps what is compiled."""
    sys.pycache_prefix, sys.dont_write_bytecode = folder, False
    for name in _LOADED:
        importlib.import_module(name)


def name_of(path: str) -> str:
    """Give the module's name of a path below `src/`."""
    return path.removeprefix("src/").removesuffix(".py").replace("/", ".")


def find_reach(path: str, files: Sequence[str]) -> Reach:
    """Run the tests of these files without a fault, and note what they reach; they must pass."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "reach.json"
        code = _wait_for(*fork(lambda _: _measure(path, files, answer)))
        if code != PASSED:
            raise SystemExit(f"mutate: the tests of {path} fail without a fault: {' '.join(files)}")
        data = json.loads(answer.read_text(encoding="utf-8"))
    by_line = {int(line): frozenset(tests) - {""} for line, tests in data["lines"].items()}
    at_import = frozenset(int(line) for line, tests in data["lines"].items() if "" in tests)
    return Reach(seconds=data["seconds"], by_line=by_line, at_import=at_import)


def _measure(path: str, files: Sequence[str], answer: Path) -> int:
    measured = coverage.Coverage(
        data_file=None, include=[str(Path(path).resolve())], config_file=False, messages=False
    )
    watch = _Watch(measured)
    measured.start()
    code = pytest.main([*_OPTIONS, *files], plugins=[watch])
    measured.stop()
    lines = measured.get_data().contexts_by_lineno(str(Path(path).resolve()))
    answer.write_text(json.dumps({"seconds": watch.seconds, "lines": lines}), encoding="utf-8")
    return int(code)


@record
class Trial:
    """A mutant that is being tried: its process, what is heard of it, and how long each test may take."""

    mutant: Mutant
    process: int
    end: int
    seconds: Sequence[float]
    deadline: float
    folder: str
    ended: int = 0


Start = Callable[[Mutant, Sequence[str], Sequence[float]], Trial]


def try_mutants(
    mutants: Sequence[Mutant],
    reaches: Mapping[str, Reach],
    jobs: int,
    until: float,
    start: Start | None = None,
) -> Iterator[tuple[Mutant, int]]:
    """Try mutants side by side; give each with how its tests ended, until the time is over.

    Tests that took too long or were killed say nothing yet: they are run once more, alone and for longer.
    """
    doubtful: list[Mutant] = []
    for mutant, code in _run(mutants, reaches, jobs, until, start or _start):
        if code < 0:
            doubtful.append(mutant)
        else:
            yield mutant, code
    yield from _run(doubtful, reaches, 1, until, partial(_start_patiently, start or _start))


def _run(
    mutants: Sequence[Mutant], reaches: Mapping[str, Reach], jobs: int, until: float, start: Start
) -> Iterator[tuple[Mutant, int]]:
    waiting = list(reversed(mutants))
    running: dict[int, Trial] = {}
    while running or (waiting and time.monotonic() < until):
        while waiting and len(running) < jobs and time.monotonic() < until:
            mutant = waiting.pop()
            tests = reaches[mutant.path].tests_of(mutant)
            if not tests:
                yield mutant, NONE_RAN
                continue
            trial = start(mutant, tests, _patience(reaches[mutant.path], tests))
            running[trial.end] = trial
        for trial, is_ended in _hear(running):
            yield trial.mutant, _finish(trial, is_ended=is_ended)


def _hear(running: dict[int, Trial]) -> list[tuple[Trial, bool]]:
    """Wait for news; take out and give the trials that have ended, or that said nothing for too long."""
    if not running:
        return []
    first = min(trial.deadline for trial in running.values())
    heard, _, _ = select.select(list(running), [], [], max(0.0, first - time.monotonic()))
    over: list[tuple[Trial, bool]] = []
    for end in heard:
        if news := os.read(end, _MOST_HEARD):
            trial = running[end]
            ended = min(trial.ended + len(news), len(trial.seconds) - 1)
            deadline = time.monotonic() + trial.seconds[ended]
            running[end] = replace(trial, ended=ended, deadline=deadline)
        else:
            over.append((running.pop(end), True))
    late = [end for end, trial in running.items() if trial.deadline <= time.monotonic()]
    return [*over, *((running.pop(end), False) for end in late)]


def is_noticed(code: int) -> bool:
    """Say whether tests that ended so noticed the fault."""
    return code not in {PASSED, NONE_RAN}


def _patience(reach: Reach, tests: Sequence[str]) -> list[float]:
    """Say how long each test may take: longer while more processes want to run than there are processors."""
    crowd = min(_MOST_CROWD, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))
    return [crowd * max(_LEAST_SECONDS, _TIMES * reach.seconds[test]) for test in tests]


def _start(mutant: Mutant, tests: Sequence[str], seconds: Sequence[float]) -> Trial:
    folder = tempfile.mkdtemp(prefix="mutate-")
    process, end = fork(lambda tell: _try(mutant, tests, folder, tell))
    deadline = time.monotonic() + seconds[0]
    return Trial(mutant=mutant, process=process, end=end, seconds=seconds, deadline=deadline, folder=folder)


def _start_patiently(start: Start, mutant: Mutant, tests: Sequence[str], seconds: Sequence[float]) -> Trial:
    return start(mutant, tests, [_TIMES_ALONE * one for one in seconds])


def _try(mutant: Mutant, tests: Sequence[str], folder: str, tell: Callable[[], object]) -> int:
    sys.meta_path.insert(0, _Faulty(mutant))
    files = sorted({test.partition("::")[0] for test in tests})
    only = _Only(tests, tell)
    return int(pytest.main([*_OPTIONS, f"--basetemp={folder}/tests", *files], plugins=[only]))


def _finish(trial: Trial, *, is_ended: bool) -> int:
    """End a trial, with all that it started if it has not ended, and say how its tests ended."""
    if not is_ended:
        try:
            os.killpg(trial.process, signal.SIGKILL)
        except ProcessLookupError:  # it ended just now, or has not become a group yet
            os.kill(trial.process, signal.SIGKILL)
    code = _wait_for(trial.process, trial.end)
    shutil.rmtree(trial.folder, ignore_errors=True)
    return code if is_ended else TOO_LONG


def fork(work: Callable[[Callable[[], object]], int]) -> tuple[int, int]:
    """Do something in a process of its own; give the process, and what is heard of it until it ends."""
    end, told = os.pipe()
    process = os.fork()
    if not process:
        _become(lambda: work(lambda: os.write(told, b".")))
    os.close(told)
    return process, end


def _become(work: Callable[[], int]) -> NoReturn:
    """Be the process that was forked: nobody reads what it says, and everything it starts ends with it."""
    code = 1
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        code = work()
    finally:
        os._exit(code)


def _wait_for(process: int, end: int) -> int:
    os.close(end)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


def group_by_path(mutants: Sequence[Mutant]) -> dict[str, list[Mutant]]:
    """Give the mutants of each module."""
    found: defaultdict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        found[mutant.path].append(mutant)
    return dict(found)
