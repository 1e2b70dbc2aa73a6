"""The database of a clone is lost while eight sessions work: nobody gets what another has (C146).

Each session reserves, releases, claims and closes by commands of its own. Meanwhile the file is deleted,
emptied, damaged or replaced. What a command acknowledged stays true.
"""

import json
import random
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from passdown.core.formats.journal import parse_journal
from passdown.core.sessions.session_facts import Account, fold_journal
from tests.faults.coordination.test_coordination_faults import DATABASE
from tests.faults.sessions.lives import JOURNALS
from tests.proof import proof_count
from tests.stores.lost_files import OLDER, WAYS, copy_database
from tests.support.commands import Done, run
from tests.support.gits import make_started

pytestmark = [pytest.mark.process, pytest.mark.timeout(0), pytest.mark.requirement("C146", through="command")]

SESSIONS: Final = tuple(f"s{number}" for number in range(8))
PATHS: Final = ("a.py", "b.py", "lib/")
ROUNDS: Final = proof_count(fast=1, ci=10, long=100)
TASKS: Final = tuple(f"t-{number}" for number in range(8))
CLOSED: Final = 2
HELD: Final = 3
AGAIN: Final = 5
"""How a command ends that the loss of the file stopped: nothing was changed, or nobody knows."""


class Answer(NamedTuple):
    """A command of a session, and how it ended."""

    session: str
    words: tuple[str, ...]
    done: Done


class Team:
    """A repository with eight sessions, and what their commands acknowledged."""

    def __init__(self, folder: Path, seed: int) -> None:
        """Start the sessions."""
        self.folder = folder
        self.random = random.Random(seed)
        self.fences: dict[str, int] = {}
        self.closed: set[str] = set()
        self.answers: list[Answer] = []
        for name in SESSIONS:
            self.call(name, "start", "--new", "--nickname", name)
        for task in TASKS:
            self.call(SESSIONS[0], "task", "add", f"Do {task}", "--id", task)

    @property
    def database(self) -> Path:
        """The file."""
        return self.folder / DATABASE

    def call(self, session: str, *words: str) -> Answer:
        """Let a session call a command."""
        given = ("--session", session) if words[0] not in {"status", "task"} else ()
        answer = Answer(session, words, run(*words, *given, cwd=self.folder))
        expected = {0, HELD, AGAIN, *([CLOSED] if words[0] in {"claim", "close"} else [])}
        assert answer.done.code in expected, answer
        return answer

    def accounts(self) -> dict[str, Account]:
        """Give what the journals of the sessions say, by session."""
        found: dict[str, Account] = {}
        for path in (self.folder / JOURNALS).glob("s-*.jsonl"):
            account = fold_journal(path.stem, parse_journal(path.read_text(encoding="utf-8")).lines)
            found[account.session] = account
        return found

    def work(self, number: int) -> None:
        """Let all sessions call two commands each, at the same time, and lose the file in between."""
        way = self.random.choice([*WAYS])
        calls = [(name, self._choose()) for name in SESSIONS for _ in range(2)]
        with ThreadPoolExecutor(len(SESSIONS) + 1) as pool:
            running = [pool.submit(self.call, name, *words) for name, words in calls]
            running[self.random.randrange(len(calls))].result()
            with suppress(FileNotFoundError, sqlite3.Error):  # it is being restored at this moment
                WAYS[way](self.database)
            answers = [one.result() for one in running]
        self.answers += answers
        self._check(answers, f"round {number}, {way}")

    def _choose(self) -> tuple[str, ...]:
        path, task = self.random.choice(PATHS), self.random.choice(TASKS)
        return self.random.choice(
            [
                ("reserve", path),
                ("reserve", path),
                ("release",),
                ("claim", task, "--another"),
                ("close", task),
            ]
        )

    def _check(self, answers: Sequence[Answer], where: str) -> None:
        """Compare what commands said with the journals and with the file."""
        self.call(SESSIONS[0], "status")
        for name in SESSIONS:  # whatever was cut off is finished, and what was lost is known as lost
            self.call(name, "reserve", f"own/{name}.txt")
        accounts = self.accounts()
        for path in (*PATHS, *TASKS):
            holders = {
                name: {**one.claims, **one.reservations}[path]
                for name, one in accounts.items()
                if path in {**one.claims, **one.reservations}
            }
            assert len(holders) <= 1, (where, path, holders, answers)
            for fence in holders.values():
                assert fence >= self.fences.get(path, 0), (where, path, fence, self.fences)
                self.fences[path] = fence
        self.closed |= {one.words[1] for one in answers if one.words[0] == "close" and one.done.code == 0}
        listed = json.loads(self.call(SESSIONS[0], "task", "list", "--all", "--json").done.out)["tasks"]
        states = {one["task"]["task"]: one["task"]["state"] for one in listed}
        assert len(states) == len(TASKS), (where, states)
        assert {states[task] for task in self.closed} <= {"closed"}, (where, self.closed, states)


def test_a_lost_file_gives_nobody_what_another_has(tmp_path: Path) -> None:
    team = Team(make_started(tmp_path / "project").folder, seed=ROUNDS)
    copy_database(team.database, tmp_path / OLDER)

    for number in range(ROUNDS):
        team.work(number)

    restored = [one for one in team.answers if "it was restored from" in one.done.err]
    away = [one for one in team.answers if one.done.code == AGAIN]
    print(
        f"\n{ROUNDS} lost files: {len(team.answers)} commands, {len(restored)} told it, {len(away)} to repeat"
    )
    assert ROUNDS == 1 or restored
