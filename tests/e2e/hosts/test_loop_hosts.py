"""Feedback in a loop ledger that nobody has answered reaches real hosts, however many sessions later.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped.
"""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from passdown.core.briefs.budgets import PREVIEW
from passdown.core.formats.loops import PLACEHOLDER
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from tests.hosts.drivers import ClaudeCode, Codex, Copilot, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Step
from tests.hosts.stages import PASSDOWN, accounts, briefs, copilot_hooks, hooks, need, teach

pytestmark = pytest.mark.timeout(300)

SESSIONS: Final = 10
FEEDBACK: Final = "keep the streaks, but never make anybody feel guilty"
TOLD: Final = f"habits/proposal turn 1: {FEEDBACK}"


def leave_feedback(place: Ground) -> None:
    """Let an agent add a turn, and a person answer it in an editor; then ten sessions go by."""
    for arguments in (
        ("open", "habits", "proposal"),
        ("append", "habits", "proposal", "Streaks, with a penalty."),
    ):
        ended = place.run([str(PASSDOWN), "loop", *arguments])
        assert ended.code == 0, ended
    path = place.root / "changes" / "habits" / "loops" / "proposal.md"
    path.write_text(path.read_text(encoding="utf-8").replace(PLACEHOLDER, FEEDBACK), encoding="utf-8")
    for number in range(SESSIONS):
        done = [
            NewFact(FactKind.DONE, f"session {number}, step {step}: {'much ' * 20}") for step in range(20)
        ]
        aims = [NewFact(FactKind.GOAL, f"goal {number} " + "g" * 250), NewFact(FactKind.NOW, "n" * 280)]
        rules = [NewFact(FactKind.CONSTRAINT, f"rule {number}.{one}: {'never ' * 20}") for one in range(5)]
        teach(place, [*aims, *done, *rules])


def check(place: Ground, request: Mapping[str, Any]) -> None:
    """Check that the first request has the feedback where no host cuts, and that it still waits."""
    (brief,) = briefs([request])
    assert TOLD in brief[:PREVIEW]
    assert PREVIEW == 2_000
    assert [one.feedback for one in accounts(place)[-1].deliveries][-1] != ()
    listed = place.run([str(PASSDOWN), "feedback"])
    assert TOLD in " ".join(listed.out.split())
    assert accounts(place)[-1].agent in listed.out


@pytest.mark.requirement("R80", "R147", "R154")
def test_claude_code_is_told_of_feedback_ten_sessions_later(ground: tuple[Ground, Model]) -> None:
    place, model = ground
    driver = ClaudeCode(need("claude"), place)
    leave_feedback(place)
    settings = place.home / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(hooks(), encoding="utf-8")
    model.prepare([Step(text="ok")], str(place.root))

    ended = driver.turn("first", [])

    assert ended.code == 0, ended
    check(place, next(one for one in model.requests if briefs([one])))


@pytest.mark.requirement("R80", "R147", "R154")
def test_codex_is_told_of_feedback_ten_sessions_later(ground: tuple[Ground, Model]) -> None:
    place, model = ground
    driver = Codex(need("codex"), place)
    leave_feedback(place)
    (place.home / ".codex" / "hooks.json").write_text(hooks(), encoding="utf-8")
    model.prepare([Step(text="ok")], str(place.root))

    ended = driver.turn("first", ["--dangerously-bypass-hook-trust"])

    assert ended.code == 0, ended
    check(place, model.requests[0])


@pytest.mark.requirement("R80", "R147", "R154")
def test_copilot_is_told_of_feedback_ten_sessions_later(ground: tuple[Ground, Model]) -> None:
    place, model = ground
    driver = Copilot(need("copilot"), place)
    leave_feedback(place)
    folder = place.root / ".github" / "hooks"
    folder.mkdir(parents=True)
    (folder / "passdown.json").write_text(copilot_hooks(), encoding="utf-8")
    model.prepare([Step(text="ok")], str(place.root))

    ended = driver.turn("first", [])

    assert ended.code == 0, ended
    check(place, next(one for one in model.requests if one.get("tools")))
