"""Claude Code calls our hooks: whatever happens to a session, the model is told what it knew.

`PASSDOWN_HOSTS` names the folder with the hosts' programs, `PASSDOWN_OLDER_HOSTS` one with older versions of
them; without the folder a test is skipped.
"""

from collections.abc import Callable, Sequence
from typing import Final

import pytest

from passdown.core.kinds import FactKind
from tests.hosts.drivers import ClaudeCode, Ground
from tests.hosts.model import SUMMARY, Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import FACTS, SAYING, accounts, briefs, has_all, hooks, need, need_older, text_of
from tests.hosts.talks import ClaudeTalk, Message
from tests.support.gits import Project

pytestmark = pytest.mark.timeout(180)

ASKED: Final = "helper: look around"
HELPER: Final = Call(
    tool="Agent",
    input={
        "description": "look",
        "prompt": ASKED,
        "subagent_type": "general-purpose",
        "run_in_background": False,
    },
)


def edit(place: Ground, name: str) -> Call:
    return Call(tool="Write", input={"file_path": str(place.root / name), "content": "text\n"})


@pytest.mark.requirement("R80", "R120", "R121", "R131", "G9", "G14", "G17")
@pytest.mark.parametrize("speaks", [True, False])
@pytest.mark.parametrize("find", [need, need_older], ids=["newest", "older"])
def test_claude_code_is_told_what_it_knew_after_compaction_clear_crash_and_resume(
    ground: tuple[Ground, Model], find: Callable[[str], str], *, speaks: bool
) -> None:
    place, model = ground
    program = find("claude")
    settings = place.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(hooks(), encoding="utf-8")
    work = [edit(place, "one.txt"), edit(place, "two.txt")]
    if speaks:
        work.append(Call(tool="Bash", input={"command": SAYING, "description": "say"}))

    def is_told(requests: Sequence[Message]) -> bool:
        (*_, brief) = briefs(requests)
        return has_all(brief) if speaks else "please fix the parser" in brief

    with ClaudeTalk(program, place, model) as talk:
        first = talk.say("please fix the parser", Step(calls=tuple(work)), Step(text="ok"))
        assert len(briefs(first)) == len(first)
        by_helper = Step(calls=(edit(place, "three.txt"),), agent="helper")
        found = Step(text="found", agent="helper")
        helped = talk.say("ask a helper", Step(calls=(HELPER,)), by_helper, found, Step(text="ok"))
        of_helper = [one for one in helped if ASKED in text_of(one["messages"][0])]
        assert len(of_helper) == 2
        assert is_told(of_helper)
        talk.say("/compact")
        compacted = talk.say("go on", Step(text="ok"))
        assert SUMMARY in text_of(compacted[-1])
        assert is_told(compacted)
        talk.say("/clear")
        assert is_told(talk.say("and on", Step(text="ok")))
        session = talk.session
    (live,) = accounts(place)
    assert {delivery.state for delivery in live.deliveries} <= {"whole", "sent"}
    assert sum(delivery.state == "whole" for delivery in live.deliveries) >= 3
    assert {entry.text for entry in live.of(FactKind.FILE)} == {"one.txt", "two.txt", "three.txt"}

    with ClaudeTalk(program, place, model, "--resume", session) as talk:  # the one that was killed
        assert is_told(talk.say("where were we", Step(text="ok")))
    driver = ClaudeCode(program, place)
    for prompt in ("a new session", "the same, resumed"):
        before = len(model.requests)
        model.prepare([Step(text="ok")], str(place.root))
        assert driver.turn(prompt, []).code == 0
        assert is_told(model.requests[before:])
    events = "".join(
        path.read_text(encoding="utf-8")
        for path in (place.root / "thoughts" / "shared" / "handoffs" / "events").rglob("*.md")
    )
    assert "one.txt" in events
    assert ("please fix the parser" in events) is False  # what a person says stays on the machine
    assert all(fact in events for fact in FACTS) is speaks
    assert Project(folder=place.root).count() == 1  # no start commits anything
    assert place.hook_errors() == []
