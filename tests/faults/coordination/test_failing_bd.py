"""A real `bd` whose n-th call fails as a real one did: nothing is lost or doubled, nothing false is said.

Each round adds a task, claims it, notes something and closes it, by command, while calls fail: one alone,
three in a row, or all of a command; instead of their effect or after it.
"""

import itertools
import json
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from passdown.engines import system
from tests.proof import proof_count
from tests.support.commands import Done
from tests.support.teams import Team
from tests.trackers.bd_words import list_failures
from tests.trackers.beads import BUILDS, find_bd, make_database
from tests.trackers.failing_bd import FailingBd, Failure

pytestmark = [pytest.mark.beads, pytest.mark.skipif(os.name == "nt", reason="the wrapper is a script")]

CALLS: Final = 16
"""A round makes fewer calls if none fails."""
TIMES: Final = (1, 3, 20)
FALSE: Final = ("othing was changed", "there is no task", "refused", "is held by", "Traceback")
"""What would be false about a failure that may pass."""


def list_rounds(version: str, count: int) -> Sequence[Failure]:
    """Return the rounds of a run: all, or some in which each message comes up."""
    every = itertools.product(list_failures(version), range(1, CALLS + 1), TIMES, (False, True))
    rounds = [Failure(*one) for one in every]
    if count >= len(rounds):
        return rounds
    picked: list[Failure] = []
    random.Random(20260111).shuffle(rounds)
    messages = itertools.cycle(list_failures(version))
    while len(picked) < count:
        message = next(messages)
        picked.append(next(one for one in rounds if one.answer == message and one not in picked))
    return picked


class Round:
    """One task from its beginning to its end, while calls of `bd` fail."""

    def __init__(self, team: Team, bd: FailingBd, failure: Failure, number: int) -> None:
        """Keep what is needed."""
        self.team, self.bd, self.failure = team, bd, failure
        self.title, self.note, self.done = f"Task {number}", f"note of {number}", f"done in {number}"
        self.agent = team.agent("amber")
        self.wrong: list[str] = []

    def run(self) -> Iterator[str]:
        """Run it; give what is wrong."""
        self.bd.fail(self.failure)
        task = self._add()
        self._claim(task)
        noted = self._call("task", "note", task, self.note)
        self._check(noted, f"Noted: {task}", self.note in self.bd.show(task).get("notes", ""))
        closed = self._call("close", task, "--note", f"COMPLETED: {self.done}")
        self._check(closed, "Closed: ", self.bd.show(task)["status"] == "closed")
        seen = self.bd.mend()
        self._call("ready")
        self._see(task)
        for one in self.wrong:
            yield f"{self.failure.said} ({seen} calls): {one}"

    def _call(self, *words: str) -> Done:
        done = self.team.run("amber", *words) if words != ("ready",) else self.team.command(*words)
        told = " ".join(done.err.split())
        self.wrong += [f"{words[0]} said {one!r}: {told}" for one in FALSE if one in told]
        return done

    def _check(self, done: Done, word: str, is_true: bool) -> None:
        """What is said to be done is done; what is not waits, and that is said."""
        if done.code != 0:
            self.wrong.append(f"exit code {done.code}: {done.err}")
        elif done.out.startswith(word) and not is_true:
            self.wrong.append(f"said {word!r}, which is not true")
        elif not done.out.startswith((word, "Note queued: ", "Close queued: ")):
            self.wrong.append(f"said {done.out!r}")

    def _add(self) -> str:
        added = self._call("task", "add", self.title, "--json")
        made = self.bd.titled(self.title)
        if len(made) > 1:
            self.wrong.append(f"made {len(made)} tasks")
        if added.code == 0:
            if [json.loads(added.out)["task"]["task"]] != made:
                self.wrong.append(f"said {added.out}, and made {made}")
            return made[0]
        if self.failure.times < TIMES[-1] or added.code != 1:
            self.wrong.append(f"add ended with {added.code}: {added.err}")
        if made and "may have been added" not in " ".join(added.err.split()):
            self.wrong.append(f"a task was made, and nobody said so: {added.err}")
        self.bd.mend()
        return (
            made[0]
            if made
            else str(json.loads(self._call("task", "add", self.title, "--json").out)["task"]["task"])
        )

    def _claim(self, task: str) -> None:
        claimed = self._call("claim", task)
        row = self.bd.show(task)
        is_mine = (row.get("assignee"), row["status"]) == (self.agent, "in_progress")
        if claimed.code == 0 and not (is_mine and claimed.out.startswith(f"Claimed: {task}")):
            self.wrong.append(f"said {claimed.out!r}, and the task is {row}")
        if claimed.code == 0:
            return
        if self.failure.times < TIMES[-1] or claimed.code != 1:
            self.wrong.append(f"claim ended with {claimed.code}: {claimed.err}")
        self.bd.mend()
        if self._call("claim", task).code != 0:
            self.wrong.append("the task could not be claimed afterwards")

    def _see(self, task: str) -> None:
        """Look at what came of it when calls do not fail any more."""
        row, count = self.bd.show(task), len(self.bd.titled(self.title))
        notes: str = row.get("notes", "")
        waiting = json.loads(self.team.command("status", "--json").out)["outbox"]
        expected: tuple[object, ...] = (1, "closed", 1, 1, [])
        found = (
            count,
            row["status"],
            notes.count(self.note),
            notes.count(f"COMPLETED: {self.done}"),
            waiting,
        )
        if found != expected:
            self.wrong.append(f"{found} instead of {expected}; notes: {notes!r}")


@pytest.mark.requirement("C148")
@pytest.mark.timeout(0)
@pytest.mark.parametrize("version", BUILDS)
def test_no_operation_is_lost_or_doubled_and_no_message_is_false(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    version: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    real = find_bd(version)
    team = Team(tmp_path / "project", monkeypatch, capsys)
    database = make_database(
        version, team.project.folder, tmp_path_factory.getbasetemp() / f"beads-{version}"
    )
    bd = FailingBd(tmp_path, real, database)
    for name, value in bd.variables().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(system, "pause", lambda _: None)
    team.join("amber")
    rounds = list_rounds(version, proof_count(fast=2, ci=4, long=10_000))

    wrong = [one for number, failure in enumerate(rounds) for one in Round(team, bd, failure, number).run()]

    assert wrong == [], "\n".join(wrong)
    assert len(rounds) >= 2
