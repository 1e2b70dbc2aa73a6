"""Codex calls our hooks: whatever happens to a session, the model is told what it knew.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped.
"""

from typing import Any, Final

import pytest

from passdown.core.kinds import FactKind
from tests.hosts.drivers import Codex, Ground
from tests.hosts.model import SUMMARY, Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import SAYING, accounts, briefs, has_all, hooks, need, text_of

pytestmark = pytest.mark.timeout(180)

PATCH: Final = "*** Begin Patch\n*** Add File: one.txt\n+text\n*** End Patch\n"


@pytest.mark.requirement("R80", "R120", "G9")
@pytest.mark.parametrize("speaks", [True, False])
@pytest.mark.parametrize("sandbox", ["danger-full-access", "workspace-write", "read-only"])
def test_codex_is_told_what_it_knew_after_compaction_and_resume(
    ground: tuple[Ground, Model], sandbox: str, *, speaks: bool
) -> None:
    place, model = ground
    driver = Codex(need("codex"), place)
    (place.home / ".codex" / "hooks.json").write_text(hooks(), encoding="utf-8")
    options = ["--dangerously-bypass-hook-trust", "-c", f'sandbox_mode="{sandbox}"']

    def turn(prompt: str, *steps: Step) -> list[dict[str, Any]]:
        before = len(model.requests)
        model.prepare(steps, str(place.root))
        ended = driver.turn(prompt, options)
        assert ended.code == 0, ended
        return list(model.requests[before:])

    edit = Call(tool="apply_patch", input=PATCH)
    say = Call(tool="exec_command", input={"cmd": SAYING})
    work = (edit, say) if speaks else (edit,)
    first = turn("please fix the parser", *(Step(calls=(one,)) for one in work), Step(text="ok"))
    assert briefs(first)
    resumed = turn("go on", Step(text="ok", tokens=90_000), Step(text="ok"))
    compacted = turn("after the compaction", Step(text="ok"), Step(text="ok"))

    assert SUMMARY in text_of(compacted[-1])

    is_free = sandbox == "danger-full-access"
    for requests in (resumed, compacted):
        brief = briefs(requests)[-1]
        # What a sandbox does not let the agent say is taken from what the person said.
        assert has_all(brief) if is_free and speaks else "please fix the parser" in brief or has_all(brief)
    edited = {entry.text for account in accounts(place) for entry in account.of(FactKind.FILE)}
    assert edited == (set() if sandbox == "read-only" else {"one.txt"})
    states = [one.state for account in accounts(place) for one in account.deliveries]
    assert "whole" in states
    assert "cut" not in states
    assert place.hook_errors() == []
