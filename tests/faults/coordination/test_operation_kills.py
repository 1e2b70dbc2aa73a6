"""A command that changes what sessions share, killed at any write or sync: its effect happens exactly once.

After the kill the same command is typed again, or any other. A grant happens at most once: one that was not
made is dropped. What was done is in journal, ledger, brief and certificate.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from passdown.core.formats.journal import parse_journal
from passdown.core.work.operations import GRANTS, Outcome, SharedOperation, read_operations
from tests.faults.coordination.test_coordination_faults import (
    CALLS,
    DATABASE,
    Command,
    check_adopted,
    prepare,
    run_traced,
)
from tests.faults.sessions.lives import JOURNALS
from tests.faults.sessions.test_write_faults import strace
from tests.proof import proof_count
from tests.support.commands import Done, run

__all__ = ["strace"]

KILLS: Final = proof_count(fast=1, ci=6, long=200)
"""How many kills of each command; half of them are followed by the same command, half by another."""


class Verb(NamedTuple):
    """A command that changes something, and how often its effect is there."""

    command: Command
    effects: str
    """A statement that counts the effects."""
    done: str = ""
    """What is told as done when the effect is there."""
    before: int = 0
    """How often the effect is there before the command."""


_CLAIMED: Final = (("amber", "claim", "t-1"), ("amber", "reserve", "src/"))
_LOGGED: Final = "SELECT count(*) FROM log WHERE verb = '{}'"


def make(words: str, count: str, before: tuple[tuple[str, ...], ...] = (), **more: object) -> Verb:
    """Make a command of amber."""
    return Verb(Command(tuple(words.split()), "amber", before, ""), count, **more)  # type: ignore[arg-type]


VERBS: Final = {
    "claim": make("claim t-1", _LOGGED.format("claim")),
    "reserve": make("reserve docs/", "SELECT count(*) FROM leases WHERE name = 'docs/' AND ended IS NULL"),
    "release": make(
        "release", "SELECT count(*) FROM leases WHERE name = 'src/' AND ended IS NOT NULL", _CLAIMED
    ),
    "close": make(
        "close --msg finished",
        "SELECT (SELECT count(*) FROM tasks WHERE state = 'closed') * "
        "(SELECT count(*) FROM messages WHERE content = 'finished')",
        _CLAIMED,
        done="Sign in form (t-1)",
    ),
    "give back": make("task give-back t-1", "SELECT count(*) FROM log WHERE verb LIKE 'give%'", _CLAIMED),
    "note": make("task note t-1 halfway", "SELECT count(*) FROM tasks WHERE note = 'halfway'"),
    "msg": make("msg hello --to birch", "SELECT count(*) FROM messages WHERE content = 'hello'"),
    "task add": make("task add Docs", "SELECT count(*) FROM tasks WHERE title = 'Docs'"),
    "offer": make("handoff offer --to birch", "SELECT count(*) FROM offers", _CLAIMED),
    "accept": make(
        "handoff accept",
        "SELECT count(*) FROM offers WHERE state = 'accepted'",
        (("birch", "claim", "t-1"), ("birch", "decide", "db", "SQLite"), ("birch", "handoff", "offer")),
    ),
}


def ask(root: Path, statement: str) -> int:
    """Ask the file itself for a number."""
    with closing(sqlite3.connect(root / DATABASE)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return int(connection.execute(statement).fetchone()[0])


def operations(root: Path) -> Iterator[SharedOperation]:
    """Read the operations of all journals."""
    for path in (root / JOURNALS).glob("*.jsonl"):
        yield from read_operations(path.stem, parse_journal(path.read_text(encoding="utf-8")).lines)


def check_once(root: Path, verb: Verb, *, is_same: bool, said: str) -> None:
    """The effect is there once; a grant that was not made was dropped, and that was told."""
    found = ask(root, verb.effects)
    begun = [
        one for one in operations(root) if one.call.words[: len(verb.command.words)] == verb.command.words
    ]
    assert not any(one.is_open for one in begun), begun
    dropped = [one for one in begun if one.outcome == Outcome.NOT_MADE]
    if is_same or (begun and not dropped):
        assert found == 1, found
    else:
        assert found == 0, found
        assert all(one.action in GRANTS or one.after for one in dropped), dropped
        assert not dropped or "a command was interrupted" in said, said


def check_told(root: Path, verb: Verb) -> None:
    """What is done is told, in the brief and in the certificate; the ledger lies in the first checkout."""
    check_adopted(root, "amber")
    assert run("certify", "--session", "amber", cwd=root).code == 0
    if verb.done and ask(root, "SELECT count(*) FROM tasks WHERE state = 'closed'"):
        brief = json.loads(run("brief", "--json", "--session", "amber", cwd=root).out)
        assert verb.done in json.dumps(brief)


def finish(root: Path, verb: Verb, *, is_same: bool) -> Done:
    """Type the same command again, or another one."""
    words = verb.command.words if is_same else ("now", "something else")
    ran = run(*words, "--session", "amber", cwd=root)
    assert ran.code == 0, ran
    return ran


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("C142", "C79", through="command")
@pytest.mark.parametrize("name", VERBS)
def test_a_command_that_is_killed_happens_once(strace: str, tmp_path: Path, name: str) -> None:
    verb = VERBS[name]
    kept = prepare(tmp_path / "kept", verb.command)
    assert ask(kept, verb.effects) == 0
    clean = shutil.copytree(kept, tmp_path / "clean")
    unharmed = run_traced(strace, clean, verb.command.call)
    assert (unharmed.code, ask(clean, verb.effects)) == (0, 1), unharmed.said
    check_told(clean, verb)
    points = [*unharmed.points()]
    assert {call for call, _ in points} <= {*CALLS}
    first = [*VERBS].index(name) % max(len(points) // KILLS, 1)
    chosen = points[first :: max(len(points) // KILLS, 1)][: max(KILLS, 1)]

    def check(turn: int, point: tuple[str, int]) -> None:
        call, number = point
        root = shutil.copytree(kept, tmp_path / f"{call}-{number}")
        ended = run_traced(strace, root, verb.command.call, f"inject={call}:signal=SIGKILL:when={number}")
        is_same = turn % 2 == 0 and not ended.said  # what was answered would be meant anew
        try:
            ran = finish(root, verb, is_same=is_same)
            check_once(root, verb, is_same=is_same, said=ran.err)
            check_told(root, verb)
        except AssertionError as error:
            what = f"{name} killed at {call} {number}, then {'the same' if is_same else 'another'}"
            raise AssertionError(f"{what}: {ended[:2]}, {error}") from error
        shutil.rmtree(root)

    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(check, range(len(chosen)), chosen))
    print(f"{name}: {len(chosen)} of {len(points)} kills")


@pytest.mark.requirement("C142", through="command")
def test_what_is_sent_twice_on_purpose_happens_twice(tmp_path: Path) -> None:
    root = prepare(tmp_path / "twice", VERBS["msg"].command)
    for words in (
        ("msg", "hello", "--to", "birch"),
        ("task", "add", "Docs"),
        ("task", "add", "Docs"),
        ("msg", "hello", "--to", "birch"),
        ("claim", "--another"),
        ("claim", "--another"),
        ("reserve", "docs/"),
        ("release", "docs/"),
        ("reserve", "docs/"),
    ):
        assert run(*words, "--session", "amber", cwd=root).code == 0, words

    assert ask(root, "SELECT count(*) FROM messages WHERE content = 'hello'") == 2
    assert ask(root, "SELECT count(*) FROM tasks WHERE title = 'Docs'") == 2
    assert ask(root, "SELECT count(*) FROM leases WHERE kind = 'task' AND ended IS NULL") == 2
    assert ask(root, "SELECT count(*) FROM leases WHERE name = 'docs/' AND ended IS NULL") == 1
    assert ask(root, "SELECT count(*) FROM log WHERE verb IN ('acquire', 'reserve', 'release')") == 3
