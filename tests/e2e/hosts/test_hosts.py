"""What holds for all hosts together: every moment is answered, and work goes from one host to another.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped. The model is
scripted and on this machine; the home is empty; what the model was sent is what is looked at.
"""

from passdown.faces.hooks.main import ACTS
from passdown.hosts.hooks import EVENTS
from tests.hosts.drivers import ClaudeCode, Codex, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import SAYING, accounts, briefs, has_all, hooks, need


def test_every_moment_that_is_registered_is_answered() -> None:
    assert set(EVENTS.values()) == set(ACTS)


def test_a_session_begun_in_one_host_is_continued_in_another_and_back(ground: tuple[Ground, Model]) -> None:
    place, model = ground
    claude_program, codex_program = need("claude"), need("codex")
    (place.home / ".claude").mkdir()
    (place.home / ".claude" / "settings.json").write_text(hooks(), encoding="utf-8")
    codex = Codex(codex_program, place)
    (place.home / ".codex" / "hooks.json").write_text(hooks(), encoding="utf-8")
    say = Call(tool="Bash", input={"command": SAYING, "description": "say"})

    first: list[str] = []
    for driver, steps, options in (
        (ClaudeCode(claude_program, place), [Step(calls=(say,)), Step(text="ok")], []),
        (codex, [Step(text="ok")], ["--dangerously-bypass-hook-trust"]),
        (ClaudeCode(claude_program, place), [Step(text="ok")], []),
    ):
        before = len(model.requests)
        model.prepare(steps, str(place.root))
        assert driver.turn("go on", options).code == 0
        first.append(briefs(model.requests[before : before + 1])[-1])

    assert [has_all(brief) for brief in first] == [False, True, True]
    assert [account.start.host for account in accounts(place)] == ["claude", "codex", "claude"]
