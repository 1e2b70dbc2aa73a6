"""A server does what it is told, and its answer is lost on the way: each effect happens once (C142)."""

import json
from pathlib import Path
from typing import Final

import pytest

from passdown.core.formats.journal import parse_journal
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import fold_journal
from passdown.core.work.operations import read_operations
from tests.e2e.coordination.test_team_server import Clone, make_clones
from tests.faults.sessions.lives import JOURNALS
from tests.proof import proof_count
from tests.stores.proxies import Proxy
from tests.stores.servers import APP
from tests.support.commands import run

pytestmark = [pytest.mark.server, pytest.mark.proof]

ROUNDS: Final = proof_count(fast=2, ci=7, long=170)
"""How many answers of each command are lost; half of the commands are typed again."""
VERBS: Final = ("msg", "task add", "close")
WAIT: Final = "PASSDOWN_COORDINATION_WAIT_SECONDS"
TRIES: Final = 5
"""How often a command whose answer is not lost is typed: on a busy machine a server may count as away."""


@pytest.fixture
def clones(tmp_path: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> tuple[Clone, Clone]:
    """Two clones that coordinate through the proxy."""
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", proxy.url(APP, "postgres"))
    monkeypatch.setenv(WAIT, "60")
    return make_clones(tmp_path)


def insist(clone: Clone, *words: str, names_session: bool = True) -> str:
    """Run a command until a busy machine lets it through; return what it printed."""
    for _ in range(TRIES):
        (clone.folder / ".git/passdown/engine-away.json").unlink(missing_ok=True)
        done = clone(*words) if names_session else run(*words, cwd=clone.folder)
        if done.code != 5:
            assert done.code == 0, (words, done)
            return done.out
    pytest.fail(f"{words}: the server was away {TRIES} times")


def count(name: str, text: str, amber: Clone, birch: Clone) -> int:
    """Count how often the effect of a command is there."""
    if name == "msg":
        told = json.loads(insist(birch, "inbox", "--keep", "--json"))["messages"]
        return sum(one["message"]["content"] == text for one in told)
    tasks = json.loads(insist(amber, "task", "list", "--all", "--json", names_session=False))["tasks"]
    alike = [one["task"] for one in tasks if one["task"]["title"] == text]
    return len(alike) if name == "task add" else sum(one["state"] == "closed" for one in alike)


def check_settled(clone: Clone, text: str, *, is_closed: bool) -> None:
    """Nothing is left open in the journal, and a task that was closed is told as done."""
    for path in (clone.folder / JOURNALS).glob("s-*.jsonl"):
        lines = parse_journal(path.read_text(encoding="utf-8")).lines
        assert not [one for one in read_operations(path.stem, lines) if one.is_open]
        done = [fact.text for fact in fold_journal(path.stem, lines).of(FactKind.DONE)]
        assert not is_closed or sum(one.startswith(f"{text} (") for one in done) == 1, done


@pytest.mark.timeout(0)
@pytest.mark.requirement("C142", "C144", through="command")
@pytest.mark.parametrize("name", VERBS)
def test_what_was_done_without_an_answer_is_done_once(
    clones: tuple[Clone, Clone], proxy: Proxy, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    amber, birch = clones
    points, lost = 0, 0
    for turn in range(ROUNDS + 1):  # the first shows how many messages there are
        text = f"round {turn}"
        words = {"msg": ("msg", text, "--to", "birch"), "task add": ("task", "add", text)}.get(
            name, ("close", f"t-{turn}")
        )
        if name == "close":
            insist(amber, "task", "add", text, "--id", f"t-{turn}")
            insist(amber, "claim", f"t-{turn}")
        proxy.restore()
        if points:
            proxy.silent_from, proxy.swallows_answer = 1 + (turn - 1) * points // ROUNDS, True
            monkeypatch.setenv(WAIT, "1")
        ended = amber(*words)
        monkeypatch.setenv(WAIT, "60")
        points = points or proxy.messages
        lost += ended.code == 5
        proxy.restore()

        is_same = turn % 2 == 0
        if ended.code != 0:
            insist(amber, *(words if is_same else ("now", f"working on {turn}")))

        found = count(name, text, amber, birch)
        what = (turn, is_same, ended)
        assert found == 1 if is_same or ended.code == 0 else found <= 1, what
        check_settled(amber, text, is_closed=name == "close" and found == 1)
    print(f"{name}: {lost} of {ROUNDS} answers lost")
    assert lost
