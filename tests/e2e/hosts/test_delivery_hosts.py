"""Whether a brief arrives whole in real hosts: within their caps it does; one that they cut is sent again.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from passdown.core.briefs.brief_frame import BriefFrame, receipt_of
from passdown.core.briefs.budgets import PREVIEW
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Delivery
from passdown.faces.hooks.starts import CUT
from tests.hosts import crowded
from tests.hosts.drivers import Codex, Copilot, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Step
from tests.hosts.stages import PASSDOWN, accounts, briefs, copilot_hooks, hooks, need, teach, text_of
from tests.hosts.talks import ClaudeTalk, CodexTalk, Message

pytestmark = pytest.mark.timeout(180)

CAP: Final = 10_000
"""What Claude Code lets through, in UTF-16 units, and Codex, in bytes; more is cut."""

FIRST: Final = (
    NewFact(FactKind.GOAL, "Every letter sent from the lighthouse reaches the mainland whole"),
    NewFact(FactKind.NOW, "counting the letters of the last storm"),
    *(NewFact(FactKind.FEEDBACK, f"the keeper asks for the list of storm number {at}") for at in range(3)),
    *(NewFact(FactKind.QUESTION, f"Blocked: boat {at} has no oars") for at in range(2)),
    *(NewFact(FactKind.CONSTRAINT, f"do not send pigeons against wind number {at}") for at in range(6)),
    *(NewFact(FactKind.RECEIPT, f"lamp {at} was lit") for at in range(3)),
)
"""What a brief of the usual size holds, whatever else there is."""

HEAD: Final = FIRST[:5]
"""What every brief holds: goal, now and the newest feedback."""

MORE: Final = tuple(
    NewFact(FactKind.DECISION, f"box {at}: Möwen, 灯台, 🕊: " + "oak with iron bands " * 10, f"box-{at}")
    for at in range(90)
)


def deliveries(place: Ground) -> Sequence[Delivery]:
    """Give what became of the briefs of the last session."""
    return accounts(place)[-1].deliveries


def receipt(request: Message, delivery: Delivery) -> str:
    """Hash what the model was really told of a brief."""
    return receipt_of(text_of(request), BriefFrame(nonce=delivery.nonce))


def lost(text: str, facts: Sequence[NewFact] = FIRST) -> list[str]:
    """Name the facts that a text lacks."""
    return [fact.text for fact in facts if fact.text not in text]


def name_committer(place: Ground) -> None:
    """Let git know who commits: what the session that taught left is committed by the next start."""
    for key, value in (("user.name", "somebody"), ("user.email", "somebody@localhost")):
        place.run(["git", "config", key, value])


def check_sent_again(place: Ground, talk: ClaudeTalk | CodexTalk) -> Message:
    """Talk to a host that cuts the first brief; give what the model was told then."""
    (first, *_) = talk.say("first", Step(text="ok"))
    (cut,) = deliveries(place)
    assert cut.state == "cut"
    assert cut.nonce in text_of(first)
    assert receipt(first, cut) != cut.hash
    assert CUT not in talk.notices()

    (second, *_) = talk.say("second", Step(text="ok"))

    _, again = deliveries(place)
    assert (again.state, receipt(second, again)) == ("whole", again.hash)
    (brief,) = briefs([second])
    assert again.nonce in brief
    assert len(brief) <= PREVIEW
    assert lost(brief, HEAD) == []
    assert "pigeons" in brief
    talk.say("third", Step(text="ok"))
    assert [one.state for one in deliveries(place)] == ["cut", "whole"]
    assert talk.notices().count(CUT) == 1
    assert place.hook_errors() == []
    return first


@pytest.mark.requirement("R80", "G9", "G17")
def test_a_brief_whose_tail_a_host_cuts_off_is_sent_again_smaller(ground: tuple[Ground, Model]) -> None:
    place, model = ground
    program = need("claude")
    name_committer(place)
    teach(place, FIRST + MORE)
    settings = place.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    line = f"'{sys.executable}' '{crowded.__file__}' '{PASSDOWN}' 7000"
    settings.write_text(hooks(line), encoding="utf-8")

    with ClaudeTalk(program, place, model) as talk:
        first = text_of(check_sent_again(place, talk))

    assert "begins" in first
    assert briefs([{"text": first}]) == []
    assert lost(first, HEAD) == []  # the head of a brief is what matters most


def cap_codex(place: Ground, limit: int) -> str:
    """Let Codex cut what our hooks say, in a project that knows more than that; give the program."""
    program = need("codex")
    Codex(program, place)
    name_committer(place)
    teach(place, FIRST + MORE)
    (place.home / ".codex" / "hooks.json").write_text(hooks(additionalContextLimit=limit), encoding="utf-8")
    return program


@pytest.mark.requirement("R80", "G9", "G17")
def test_a_brief_whose_middle_a_host_cuts_out_is_sent_again_smaller(ground: tuple[Ground, Model]) -> None:
    place, model = ground
    program = cap_codex(place, 600)

    with CodexTalk(program, place, model) as talk:
        first = text_of(check_sent_again(place, talk))

    assert briefs([{"text": first}])  # both marks are there, which proves nothing
    assert lost(first)


def in_utf16(text: str) -> int:
    """Count as Claude Code does."""
    return len(text.encode("utf-16-le")) // 2


def in_bytes(text: str) -> int:
    """Count as Codex does."""
    return len(text.encode())


def found_in(paths: Sequence[Path], delivery: Delivery) -> set[str]:
    """Hash what a host wrote down of a brief, wherever that is."""
    lines = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    texts = [text_of({**one, "attachment": _unechoed(one.get("attachment"))}) for one in lines]
    frame = BriefFrame(nonce=delivery.nonce)
    return {receipt_of(text, frame) for text in texts if delivery.nonce in text}


def _unechoed(attachment: object) -> object:
    """Take out what our hook printed, which is not what the model was told."""
    members = attachment if isinstance(attachment, dict) else {}
    return {name: value for name, value in members.items() if name != "stdout"}


@pytest.mark.requirement("R80", "R120", "G9")
def test_of_twenty_thousand_characters_claude_code_is_told_what_fits_its_cap(
    ground: tuple[Ground, Model],
) -> None:
    place, model = ground
    program = need("claude")
    teach(place, FIRST + MORE)
    assert sum(in_utf16(fact.text) for fact in FIRST + MORE) >= 20_000
    settings = place.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(hooks(), encoding="utf-8")

    with ClaudeTalk(program, place, model) as talk:
        (request, *_) = talk.say("first", Step(text="ok"))
        paths = list((place.home / ".claude" / "projects").rglob(f"{talk.session}.jsonl"))

    (brief,) = briefs([request])
    (delivery,) = deliveries(place)
    assert in_utf16(brief) <= CAP
    assert lost(brief) == []
    assert (delivery.state, receipt(request, delivery)) == ("whole", delivery.hash)
    assert found_in(paths, delivery) == {delivery.hash}


@pytest.mark.requirement("R80", "R120", "G9")
def test_of_twenty_thousand_bytes_codex_is_told_what_fits_its_cap(ground: tuple[Ground, Model]) -> None:
    place, model = ground
    driver = Codex(need("codex"), place)
    teach(place, FIRST + MORE)
    assert sum(in_bytes(fact.text) for fact in FIRST + MORE) >= 20_000
    (place.home / ".codex" / "hooks.json").write_text(hooks(), encoding="utf-8")
    model.prepare([Step(text="ok")], str(place.root))

    ended = driver.turn("first", ["--dangerously-bypass-hook-trust"])

    assert ended.code == 0, ended
    (request, *_) = model.requests
    (brief,) = briefs([request])
    (delivery,) = deliveries(place)
    assert in_bytes(brief) <= CAP
    assert lost(brief) == []
    assert (delivery.state, receipt(request, delivery)) == ("whole", delivery.hash)
    assert found_in(driver.transcripts(), delivery) == {delivery.hash}


@pytest.mark.requirement("R80", "R120")
def test_of_twenty_thousand_characters_copilot_is_told_what_matters_most(
    ground: tuple[Ground, Model],
) -> None:
    place, model = ground
    driver = Copilot(need("copilot"), place)
    teach(place, FIRST + MORE)
    folder = place.root / ".github" / "hooks"
    folder.mkdir(parents=True)
    (folder / "passdown.json").write_text(copilot_hooks(), encoding="utf-8")
    model.prepare([Step(text="ok")], str(place.root))

    ended = driver.turn("first", [])

    assert ended.code == 0, ended
    (request, *_) = [one for one in model.requests if one.get("tools")]
    (brief,) = briefs([request])
    (delivery,) = deliveries(place)
    assert in_utf16(brief) <= CAP
    assert lost(brief) == []
    assert receipt(request, delivery) == delivery.hash
    assert delivery.state == "sent"  # its transcript does not tell what the model was told


@pytest.mark.requirement("R80", "G9")
def test_a_brief_that_is_cut_again_is_sent_smaller_still(ground: tuple[Ground, Model]) -> None:
    place, model = ground
    program = cap_codex(place, 300)

    with CodexTalk(program, place, model) as talk:
        talk.say("first", Step(text="ok"))
        talk.say("second", Step(text="ok"))
        (third, *_) = talk.say("third", Step(text="ok"))
        talk.say("fourth", Step(text="ok"))

        assert [one.state for one in deliveries(place)] == ["cut", "cut", "whole"]
        assert talk.notices().count(CUT) == 2
    brief = briefs([third])[-1]
    assert len(brief) <= PREVIEW // 2
    assert lost(brief, HEAD) == []
    assert "more: `passdown" in brief  # what did not fit is counted, with the command that shows it
