"""What a run proved: the outcome of each test with a requirement marker, and through which face.

    pytest --outcomes tree.json        writes the outcomes of this run, of all its workers

Whether a test went through a face is observed, not guessed from its name: while its body runs, calls of a
real host, of our hook or of our command are recorded, in this process or as a process of their own. A call
counts if the test then looked at the answer or at something written (tests/looks.py). If the call cannot be
observed, the marker says so: `@pytest.mark.requirement("R97", through="hook")`; this counts if the test
looked at anything. All other tests are `inside`.
"""

import functools
import json
import os
import re
import subprocess
from collections.abc import Callable, Container, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

import pytest

from tests import looks
from tests.looks import LOOKS

P = ParamSpec("P")
R = TypeVar("R")

INSIDE: Final = "inside"
KINDS: Final = (INSIDE, "command", "hook", "host")
"""The kinds of proof, from the inside out."""

LEFT_OUT: Final = "left out"
_WORST: Final = ("passed", "skipped", "failed")
_MOST: Final = (LEFT_OUT, "skipped", "passed", "failed")
"""The outcomes of cases, by how much one run says about all runs."""

_KEY: Final = "requirement"
_COMMAND: Final = re.compile(
    r"""(^|[\s/'"])(passdown|cc-synthesize)['"]?(\s|$)|passdown\.faces|run_module\("passdown"\)?"""
)
_HOOK: Final = re.compile(r"(^|\s)hook(\s|$)|passdown\.faces\.hooks")
_HOST_FOLDERS: Final = ("PASSDOWN_HOSTS", "PASSDOWN_OLDER_HOSTS")


class Outcome(NamedTuple):
    """The outcome of one case of a test, what it proves, and through what.

    `unseen` is what it called without looking at the result; `why` is the reason for a skip.
    """

    test: str
    ids: tuple[str, ...]
    through: tuple[str, ...]
    outcome: str
    unseen: tuple[str, ...] = ()
    why: str = ""


# --- reading ----------------------------------------------------------------------------------------


def read_outcomes(files: Iterable[Path]) -> list[Outcome]:
    """Read the files of several runs; a case failed if it failed in one, else passed if it passed in one."""
    found: dict[str, Outcome] = {}
    for file in files:
        for one in json.loads(file.read_text(encoding="utf-8")):
            new = _make(one, one["test"], one["outcome"], one["why"])
            found[new.test] = _join(found[new.test], new) if new.test in found else new
    return list(found.values())


def _make(told: Mapping[str, Iterable[str]], test: str, outcome: str, why: str = "") -> Outcome:
    ids, through, unseen = (tuple(told[name]) for name in ("ids", "through", "unseen"))
    return Outcome(test, ids, through, outcome, unseen, why)


def _join(one: Outcome, other: Outcome) -> Outcome:
    if one.outcome != other.outcome:
        return max(one, other, key=lambda case: _MOST.index(case.outcome))
    through = _in_order({*one.through, *other.through})
    return one._replace(through=through, unseen=_in_order({*one.unseen, *other.unseen}.difference(through)))


def _in_order(kinds: Container[str]) -> tuple[str, ...]:
    return tuple(kind for kind in KINDS if kind in kinds)


# --- writing ----------------------------------------------------------------------------------------


def find_kind(command: Sequence[str], host_folders: Iterable[str]) -> str:
    """Return through what a process that a test starts goes."""
    program = os.path.dirname(command[0]) if command else ""
    if program and program in set(host_folders):
        return "host"
    text = " ".join(command)
    if not _COMMAND.search(text):
        return INSIDE
    return "hook" if _HOOK.search(text) else "command"


def find_marks(item: pytest.Item) -> tuple[list[str], list[str]]:
    """Return the ids in the markers of a test, and through what the markers say it goes."""
    ids: list[str] = []
    through: list[str] = []
    for marker in item.iter_markers("requirement"):
        ids += [str(name) for name in marker.args if str(name) not in ids]
        through += [str(said) for said in marker.kwargs.values()]
    return ids, through


def unknown_kinds(items: Iterable[pytest.Item]) -> list[str]:
    """Return the values of `through` in markers that are not kinds."""
    return sorted({kind for item in items for kind in find_marks(item)[1]}.difference(KINDS))


def _reason(report: pytest.TestReport) -> str:
    """Return the reason why a test was skipped."""
    told = report.longrepr
    return str(told[2] if isinstance(told, tuple) else getattr(report, "wasxfail", told))


class Recorder:
    """Watches the tests of one process, and writes the reports of all processes."""

    def __init__(self, file: Path) -> None:
        """Start without any outcomes."""
        self._file = file
        self._folders = tuple(os.environ[name] for name in _HOST_FOLDERS if name in os.environ)
        self._found: dict[str, Outcome] = {}
        self._left_out: dict[str, Sequence[str]] = {}

    def watch(self) -> None:
        """Record each call of a face and each look from now on; tests import the faces later."""
        from passdown.faces.cli import main
        from passdown.faces.hooks import quick

        main.main = self._noting("command", main.main)
        main.synthesize = self._noting("command", main.synthesize)
        quick.main = self._noting("hook", quick.main)
        looks.watch()
        # An audit hook would see processes too, but Python 3.11 starts no two traced threads beside one.
        subprocess.Popen.__init__ = self._noting_words(subprocess.Popen.__init__)  # type: ignore[method-assign]

    def _noting(self, kind: str, function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def noted(*arguments: P.args, **named: P.kwargs) -> R:
            LOOKS.call(kind)
            with LOOKS.helping():
                return function(*arguments, **named)

        return noted

    def _noting_words(self, start: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(start)
        def noted(process: object, args: Any, *more: Any, **named: Any) -> None:
            words = [args] if isinstance(args, (str, bytes, os.PathLike)) else args
            kind = find_kind([os.fsdecode(word) for word in words], self._folders)
            if kind != INSIDE:
                LOOKS.call(kind)
            start(process, args, *more, **named)

        return noted

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Forget the calls of the previous test; a test whose fixtures fail is never called."""
        LOOKS.forget()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Count the calls and reads of the test itself, not those of its fixtures or of pytest."""
        LOOKS.begin()
        try:
            return (yield)
        finally:
            LOOKS.end()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add what a marked test proves to its report, which carries it from a worker to us."""
        report = yield
        ids, through = find_marks(item)
        if ids:
            for kind in set(through) - {INSIDE}:
                LOOKS.believe(kind)
            seen = _in_order(LOOKS.seen - {INSIDE}) or (INSIDE,)
            unseen = _in_order(LOOKS.unseen.difference(seen))
            report.user_properties.append((_KEY, {"ids": ids, "through": seen, "unseen": unseen}))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst outcome of a test; reports of workers arrive here, too."""
        told = dict(report.user_properties).get(_KEY)
        if not isinstance(told, dict) or (report.when != "call" and report.passed):
            return
        before = self._found.get(report.nodeid)
        if before is None or _WORST.index(before.outcome) < _WORST.index(report.outcome):
            why = _reason(report) if report.skipped else ""
            self._found[report.nodeid] = _make(told, report.nodeid, report.outcome, why)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Record which cases were left out: each case of a test must run in one of the runs."""
        self._left_out.update((item.nodeid, tuple(ids)) for item in items if (ids := find_marks(item)[0]))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker left out: with workers, only they collect tests."""
        self._left_out.update(getattr(node, "workeroutput", {}).get(_KEY, {}))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the file, unless this is a worker."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_KEY] = self._left_out
        else:
            for test, ids in self._left_out.items():
                left_out = Outcome(test, tuple(ids), (), LEFT_OUT)
                self._found.setdefault(test, left_out)
            rows = [one._asdict() for _, one in sorted(self._found.items())]
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(rows, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file."""
    parser.addoption("--outcomes", type=Path, help="write what the tests with requirement markers proved")


def pytest_configure(config: pytest.Config) -> None:
    """Watch and write if the option is given."""
    if file := config.getoption("outcomes"):
        recorder = Recorder(file)
        recorder.watch()
        config.pluginmanager.register(recorder, "outcomes-recorder")
