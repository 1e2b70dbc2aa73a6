"""A command that coordinates through a server, killed at any write, sync or message: it happens once."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from passdown.core.formats.journal import parse_journal
from passdown.core.work.operations import GRANTS, read_operations
from tests.e2e.coordination.test_team_server import Clone, make_clones
from tests.faults.coordination.test_coordination_faults import run_traced
from tests.faults.coordination.test_lost_answers import count
from tests.faults.sessions.lives import JOURNALS
from tests.faults.sessions.test_write_faults import strace
from tests.proof import proof_count
from tests.stores.servers import MigratedDatabase
from tests.support.commands import run

__all__ = ["strace"]

pytestmark = [pytest.mark.server, pytest.mark.proof]

KILLS: Final = proof_count(fast=1, ci=2, long=100)
"""How many kills of each command; half of them are followed by the same command, half by another."""
CALLS: Final = ("write", "pwrite64", "fsync", "fdatasync", "sendto")
"""Where a command is killed: what it writes, syncs, and sends to the server."""
VERBS: Final = {
    "msg": "msg {text} --to birch",
    "task add": "task add {text}",
    "close": "close {text}",
    "reserve": "reserve {text}",
    "claim": "claim {text}",
}


def count_effects(name: str, text: str, amber: Clone, birch: Clone) -> int:
    """Count how often the effect of a command is there."""
    if name in {"msg", "task add", "close"}:
        return count(name, text, amber, birch)
    status = json.loads(run("status", "--json", cwd=birch.folder).out)
    if name == "reserve":
        return list(status["reservations"]).count(text)
    return sum(one["id"] == text and one["agent"].startswith("amber") for one in status["tasks"])


def check_settled(clone: Clone, words: Sequence[str], found: int) -> None:
    """Nothing is left open in the journal; what is not there was a grant."""
    for path in (clone.folder / JOURNALS).glob("s-*.jsonl"):
        begun = read_operations(path.stem, parse_journal(path.read_text(encoding="utf-8")).lines)
        assert not [one for one in begun if one.is_open]
        own = [one for one in begun if one.call.words[: len(words)] == tuple(words)]
        assert found or all(one.action in GRANTS or one.after for one in own), own


@pytest.mark.timeout(0)
@pytest.mark.requirement("C142", through="command")
@pytest.mark.parametrize("name", VERBS)
def test_a_command_that_is_killed_happens_once(
    strace: str, tmp_path: Path, database: MigratedDatabase, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", database.url())
    amber, birch = make_clones(tmp_path)
    assert amber("inbox").code == birch("inbox").code == 0
    points: list[tuple[str, int]] = []
    for turn in range(KILLS + 1):  # the first shows where a command can be killed
        text = f"round-{turn}"
        words = VERBS[name].format(text=text).split()
        if name in {"close", "claim"}:
            assert amber("task", "add", text, "--id", text).code == 0
        if name == "close":
            assert amber("claim", text).code == 0
        rule: tuple[str, ...] = ()
        if points:
            call, number = points[(turn - 1) * len(points) // KILLS]
            rule = (f"inject={call}:signal=SIGKILL:when={number}",)
        ended = run_traced(strace, amber.folder, (*words, "--session", amber.name), *rule, calls=CALLS)
        points = points or [*ended.points()]

        is_same = turn % 2 == 0 and not ended.said
        if ended.code != 0:
            again = amber(*words) if is_same else amber("now", f"working on {turn}")
            assert again.code == 0, (turn, rule, ended, again)

        found = count_effects(name, text, amber, birch)
        assert found == 1 if is_same or ended.code == 0 else found <= 1, (turn, rule, ended)
        check_settled(amber, words, found)
        if name == "claim" and found:
            assert amber("close", text).code == 0
    print(f"{name}: {KILLS} kills at {len(points)} points")
