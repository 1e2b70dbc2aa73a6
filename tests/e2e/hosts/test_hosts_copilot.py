"""Copilot calls our hooks: it is briefed, what it edits is in the ledger, and its end is known.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped.
"""

from typing import Final

import pytest

from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account
from tests.hosts.drivers import Copilot, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import SAYING, accounts, briefs, copilot_hooks, has_all, need
from tests.hosts.talks import CopilotTalk

pytestmark = pytest.mark.timeout(180)

PATCH: Final = "*** Begin Patch\n*** Add File: {name}\n+text\n*** End Patch\n"
LEDGER: Final = "conductor/sessions/active/LEDGER.md"


def files(account: Account) -> set[str]:
    return {entry.text for entry in account.of(FactKind.FILE)}


@pytest.mark.requirement("R80", "R120", "R121", "G14", "G17")
@pytest.mark.parametrize("speaks", [True, False])
def test_copilot_is_told_what_it_knew_and_its_edits_and_end_are_known(
    ground: tuple[Ground, Model], *, speaks: bool
) -> None:
    place, model = ground
    driver = Copilot(need("copilot"), place)
    folder = place.root / ".github" / "hooks"
    folder.mkdir(parents=True)
    (folder / "passdown.json").write_text(copilot_hooks(), encoding="utf-8")
    say = Call(tool="bash", input={"command": SAYING, "description": "say"})

    def turn(prompt: str, name: str) -> str:
        before = len(model.requests)
        calls = (Call(tool="apply_patch", input=PATCH.format(name=name)), *([say] if speaks else []))
        model.prepare([Step(calls=calls), Step(text="ok")], str(place.root))
        ended = driver.turn(prompt, [])
        assert ended.code == 0, ended
        return briefs([one for one in model.requests[before:] if one.get("tools")])[0]

    turn("please fix the parser", "one.txt")

    (first,) = accounts(place)
    assert (first.start.host, first.start.host_session) == ("copilot", driver.session)
    assert files(first) == {"one.txt"}
    assert "one.txt" in (place.root / LEDGER).read_text(encoding="utf-8")
    assert (first.ended_at is not None, first.end_reason) == (True, "complete")
    assert first.goal is not None

    resumed = turn("go on", "two.txt")

    assert has_all(resumed) if speaks else "please fix the parser" in resumed
    driver.session = ""
    begun = turn("a new session", "three.txt")
    assert has_all(begun) if speaks else "please fix the parser" in begun
    assert {"one.txt", "two.txt", "three.txt"} == set().union(*map(files, accounts(place)))
    assert [one.end_reason for one in accounts(place)] == ["complete"] * 3
    events = (place.root / "thoughts" / "shared" / "handoffs" / "events").rglob("*.md")
    published = "".join(path.read_text(encoding="utf-8") for path in events)
    assert "one.txt" in published
    assert "two.txt" in published
    assert "please fix the parser" not in published
    assert place.hook_errors() == []


@pytest.mark.requirement("R80", "G9")
def test_copilot_is_told_again_after_a_compaction(ground: tuple[Ground, Model]) -> None:
    place, model = ground
    program = need("copilot")
    folder = place.root / ".github" / "hooks"
    folder.mkdir(parents=True)
    (folder / "passdown.json").write_text(copilot_hooks(), encoding="utf-8")
    count = Call(tool="bash", input={"command": "seq 3000", "description": "count"})
    full = Step(calls=(count,), tokens=96_000)

    with CopilotTalk(program, place, model) as talk:
        said = Step(calls=(Call(tool="bash", input={"command": SAYING, "description": "say"}),))
        (*_, forgotten) = talk.say("please fix the parser", said, full, full, Step(text="ok"))
        assert briefs([forgotten]) == []

        (told,) = talk.say("go on", Step(text="ok"))

        assert has_all(briefs([told])[0])
        talk.say("and on", Step(text="ok"))
        # What comes with a prompt is in the transcript as the model got it; what comes at a start is not.
        states = [one.state for account in accounts(place) for one in account.deliveries]
        assert states == ["sent", "whole"]
    assert place.hook_errors() == []
