"""Commands of coordination whose writes fail, or are the last thing they do.

What was acknowledged is there, what was refused is not, the file is whole, and the same command or the next
one writes down what the engine says. All calls in a long run; a sample of them in CI, with each fault at each
kind of call.
"""

import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from passdown.core.formats.journal import parse_journal
from passdown.core.sessions.session_facts import Account, fold_journal
from tests.faults.sessions.lives import JOURNALS, find_torn
from tests.faults.sessions.test_write_faults import strace
from tests.proof import proof_count
from tests.support.commands import environment, run
from tests.support.gits import make_started

__all__ = ["strace"]

DATABASE: Final = ".git/passdown/coordination.sqlite"
CALLS: Final = ("write", "pwrite64", "fsync", "fdatasync", "ftruncate")
FAULTS: Final = ("signal=SIGKILL", "error=EIO", "error=ENOSPC")
STEP: Final = proof_count(fast=120, ci=120, long=1)
"""Every how many calls something goes wrong; each command and fault begins elsewhere."""
OF_EACH: Final = proof_count(fast=0, ci=0, long=1)
"""How often each fault is put at each kind of call, whatever the step is."""
UNSURE: Final = "may or may not hold the change"
Point = tuple[str, str, int]
"""A fault, the call that it is put at, and the number of that call among those of its name."""


class Command(NamedTuple):
    """A command, what comes before it, and the question whether it is done."""

    words: tuple[str, ...]
    session: str
    before: tuple[tuple[str, ...], ...]
    done: str
    """A statement that counts 1 if it is done, and 0 if not."""
    again: int = 0
    """How the command ends that is repeated when it is done."""

    @property
    def call(self) -> tuple[str, ...]:
        """Give the words with the session that says them."""
        return (*self.words, "--session", self.session)


_CLAIMED: Final = (("amber", "claim", "t-1"), ("amber", "reserve", "src/"))
COMMANDS: Final = {
    "claim": Command(
        ("claim", "t-1"),
        "amber",
        (),
        "SELECT count(*) FROM leases WHERE kind = 'task' AND name = 't-1' AND ended IS NULL",
    ),
    "reserve": Command(
        ("reserve", "docs/"),
        "amber",
        (),
        "SELECT count(*) FROM leases WHERE kind = 'path' AND name = 'docs/' AND ended IS NULL",
    ),
    "close": Command(
        ("close", "t-1"),
        "amber",
        _CLAIMED,
        "SELECT count(*) FROM tasks WHERE task = 't-1' AND state = 'closed' AND is_held = 0 "
        "AND NOT EXISTS (SELECT 1 FROM leases WHERE ended IS NULL)",
        again=3,
    ),
    "msg": Command(
        ("msg", "hello", "--to", "birch"),
        "amber",
        (),
        "SELECT min(count(*), 1) FROM inbox JOIN messages USING (project, message) WHERE content = 'hello'",
    ),
    "handoff accept": Command(
        ("handoff", "accept"),
        "birch",
        (*_CLAIMED, ("amber", "handoff", "offer")),
        "SELECT count(DISTINCT session) FROM leases WHERE ended IS NULL AND session <> "
        "(SELECT giver FROM offers) AND 2 = (SELECT count(*) FROM leases WHERE ended IS NULL)",
        again=2,
    ),
}


class Traced(NamedTuple):
    """How a traced command ended."""

    code: int
    said: str
    calls: tuple[str, ...]

    def points(self) -> Iterator[tuple[str, int]]:
        """Name all calls, each with its number among those of its name."""
        counts: Counter[str] = Counter()
        for line in self.calls:
            if found := re.match(r"([a-z0-9]+)\(", line):
                counts[found[1]] += 1
                yield found[1], counts[found[1]]


def run_traced(
    tracer: str, root: Path, words: Sequence[str], *rules: str, calls: Sequence[str] = CALLS
) -> Traced:
    """Run a command under the tracer; processes that it starts are left alone."""
    log = root.parent / f"{root.name}.trace"
    more = [word for rule in rules for word in ("-e", rule)]
    called = [sys.executable, "-m", "passdown", *words]
    ended = subprocess.run(
        [tracer, "-qq", "-o", str(log), "-e", f"trace={','.join(calls)}", *more, *called],
        cwd=root,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        check=False,
    )
    trace = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return Traced(ended.returncode, ended.stdout + ended.stderr, tuple(trace))


def ask(root: Path, statement: str) -> list[tuple[object, ...]]:
    """Ask the file itself."""
    with closing(sqlite3.connect(root / DATABASE)) as connection:
        return connection.execute(statement).fetchall()


def is_done(root: Path, command: Command) -> bool:
    """Look whether the command is done, and whether the file is whole."""
    assert ask(root, "PRAGMA integrity_check") == [("ok",)]
    positions = [position for (position,) in ask(root, "SELECT pos FROM log ORDER BY pos")]
    assert positions == [*range(1, len(positions) + 1)]
    assert ask(root, "SELECT pos FROM projects") == [(len(positions),)]
    twice = "SELECT name FROM leases WHERE ended IS NULL GROUP BY kind, name HAVING count(*) > 1"
    assert ask(root, twice) == []
    return ask(root, command.done) == [(1,)]


def accounts(root: Path) -> Iterator[Account]:
    """Read what each session knows about itself; what git's folder does not take is in the checkout."""
    for path in (root / JOURNALS).glob("*.jsonl"):
        parts = [part for part in (path, root / ".conductor/journal" / path.name) if part.exists()]
        texts = [part.read_text(encoding="utf-8", errors="replace") for part in parts]
        yield fold_journal(path.stem, [line for text in texts for line in parse_journal(text).lines])


def check_adopted(root: Path, session: str) -> None:
    """What a session knows to hold is what the engine says."""
    (own,) = [one for one in accounts(root) if session in one.host_sessions]
    statement = "SELECT kind, name, fence FROM leases WHERE ended IS NULL AND session = '{}'"
    held = {(kind, name): fence for kind, name, fence in ask(root, statement.format(own.session))}
    known = {("task", name): fence for name, fence in own.claims.items()}
    assert known | {("path", name): fence for name, fence in own.reservations.items()} == held


def prepare(folder: Path, command: Command) -> Path:
    """Make a project with two sessions and a task, and what comes before the command."""
    root = make_started(folder).folder
    assert run("init", "--yes", cwd=root).code == 0
    run("task", "add", "Sign in form", "--id", "t-1", cwd=root)
    for name in ("amber", "birch"):
        assert run("start", "--new", "--session", name, "--nickname", name, cwd=root).code == 0
        assert run("inbox", "--session", name, cwd=root).code == 0
    for session, *words in command.before:
        assert run(*words, "--session", session, cwd=root).code == 0
    return root


def check_fault(ended: Traced, root: Path, command: Command, *, is_kill: bool) -> None:
    """What was acknowledged is there, what was refused is not."""
    done = is_done(root, command)
    assert list(find_torn(root)) == []
    if is_kill:
        assert ended.code in {-signal.SIGKILL, 128 + signal.SIGKILL}, ended.said
        return
    assert "Traceback" not in ended.said
    if "left as a handoff for " in ended.said:  # the engine did not answer, so the message is a file (C86)
        assert [*(root / ".conductor").glob("handoff_*_to_birch.json")], ended.said
    elif ended.code == 0:
        assert done, ended.said
    elif "the coordination database" in ended.said and UNSURE not in ended.said:
        assert not done, ended.said


def check_again(root: Path, command: Command) -> None:
    """Run the command again, and another one: then it is done, and the session knows what it holds."""
    was_done = is_done(root, command)
    again = run(*command.words, "--session", command.session, cwd=root)
    assert again.code in ({0, command.again} if was_done else {0}), again  # a repeat gives the same answer
    assert is_done(root, command)
    assert run("reserve", "tests/", "--session", command.session, cwd=root).code == 0
    check_adopted(root, command.session)


def choose(points: list[Point], turn: int) -> list[Point]:
    """Choose a sample; each turn gives another one."""
    chosen = points[turn % STEP :: STEP]
    for fault, call in product(FAULTS, CALLS):
        alike = [point for point in points if point[:2] == (fault, call)]
        if len({*alike} & {*chosen}) < OF_EACH:
            chosen.append(alike[turn % len(alike)])
    return chosen


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("C78", "C79", through="command")
@pytest.mark.parametrize("name", COMMANDS)
def test_what_was_acknowledged_is_there_and_what_was_refused_is_not(
    strace: str, tmp_path: Path, name: str
) -> None:
    command = COMMANDS[name]
    kept = prepare(tmp_path / "kept", command)
    clean = shutil.copytree(kept, tmp_path / "clean")
    assert not is_done(clean, command)
    unharmed = run_traced(strace, clean, command.call)
    assert (unharmed.code, is_done(clean, command)) == (0, True), unharmed.said
    check_adopted(clean, command.session)
    points = [(fault, *point) for fault in FAULTS for point in unharmed.points()]
    assert {call for _, call, _ in points} == {*CALLS}
    chosen = choose(points, [*COMMANDS].index(name))

    def check(point: Point) -> None:
        fault, call, number = point
        root = shutil.copytree(kept, tmp_path / f"{fault}-{call}-{number}")
        ended = run_traced(strace, root, command.call, f"inject={call}:{fault}:when={number}")
        try:
            check_fault(ended, root, command, is_kill="KILL" in fault)
            check_again(root, command)
        except AssertionError as error:
            raise AssertionError(f"{name}, {fault} at {call} {number}: {ended[:2]}, {error}") from error
        shutil.rmtree(root)

    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(check, chosen))
    print(f"{name}: {len(chosen)} of {len(points)} faults")
