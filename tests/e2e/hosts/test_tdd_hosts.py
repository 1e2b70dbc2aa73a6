"""Claude Code works one task test-first, and never names the cycle: phases, notes and durations are right.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from passdown.core.work.tdd import NOTES, list_phases
from tests.hosts.drivers import Ended, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import PASSDOWN, accounts, hooks, make_ground, need
from tests.hosts.talks import ClaudeTalk

pytestmark = pytest.mark.timeout(240)

TEST: Final = "import dates, unittest\nclass T(unittest.TestCase):\n  def test(self): dates.parse('1')\n"
CODE: Final = "def parse(text):\n    return int(text)\n"
CLEAN: Final = 'def parse(text: str) -> int:\n    """Read a day."""\n    return int(text)\n'


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[tuple[Ground, Model]]:
    """Give a project with our hooks, and a model that does as it is told."""
    variables = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    with Model() as model:
        place = make_ground(tmp_path, model.address, **variables)
        settings = place.home / ".claude" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(hooks(), encoding="utf-8")
        yield place, model


def _write(place: Ground, name: str, content: str) -> Step:
    return Step(calls=(Call(tool="Write", input={"file_path": str(place.root / name), "content": content}),))


def _bash(words: str) -> Step:
    return Step(calls=(Call(tool="Bash", input={"command": words, "description": "run"}),))


def _passdown(place: Ground, *arguments: str) -> Ended:
    ended = place.run([str(PASSDOWN), *arguments])
    assert ended.code == 0, ended
    return ended


def _data(place: Ground, *arguments: str) -> Mapping[str, object]:
    return dict(json.loads(_passdown(place, *arguments, "--json").out))


RUN: Final = _bash("python3 -m unittest -q test_dates")
COMMIT: Final = _bash("git add -A && git -c user.name=a -c user.email=a@b.c commit -m 'Parse dates'")
END: Final = Step(text="ok")


@pytest.mark.requirement("R175", "R176", "R177", "R178", "C103", "G8")
@pytest.mark.parametrize("is_killed", [False, True], ids=["in one go", "killed in GREEN and resumed"])
def test_claude_code_works_test_first_without_naming_it(
    ground: tuple[Ground, Model], *, is_killed: bool
) -> None:
    place, model = ground
    program = need("claude")
    task = str(json.loads(_passdown(place, "task", "add", "Parse dates", "--json").out)["task"]["task"])
    claim, close = (_bash(f"'{PASSDOWN}' {verb} {task}") for verb in ("claim", "close"))
    first = (_write(place, "test_dates.py", TEST), RUN, _write(place, "dates.py", CODE), RUN)
    # Claude Code writes its transcript every 100 ms: the end of a turn may be read with the next one.
    # A file must be read before Claude Code writes it again; a command needs no permission to.
    rest = (_bash(f"cat > dates.py <<'END'\n{CLEAN}END"), RUN, COMMIT)

    with ClaudeTalk(program, place, model) as talk:
        talk.say("take the task", claim, END)
        talk.say("parse dates", *first, *(() if is_killed else rest), END)
        session = talk.session
        if not is_killed:
            talk.say("done?", END)
            talk.say("close it", close, END)
    if is_killed:
        with ClaudeTalk(program, place, model, "--resume", session) as talk:
            talk.say("where are we?", END)
            assert [one.tdd for one in accounts(place)][-1] == "GREEN"
            talk.say("go on", *rest, END)
            talk.say("done?", END)
            talk.say("close it", close, END)

    told = [
        (fact.text, fact.key, at, fact.because) for one in accounts(place) for fact, at in list_phases(one)
    ]
    phases = [*dict.fromkeys(told)]  # the session that goes on carries the phase it was in
    assert [(phase, name) for phase, name, _, _ in phases] == [
        ("RED", task),
        ("GREEN", task),
        ("REFACTOR", task),
    ]
    assert phases[0][3] == "test_dates.py was written"
    assert [at for _, _, at, _ in phases] == sorted(at for _, _, at, _ in phases)
    measured = _data(place, "metrics")
    means = measured["tdd_mean_durations"]
    assert isinstance(means, dict)
    assert {*means} == {"RED", "GREEN", "REFACTOR"}
    assert all(0 < float(seconds) < 200 for seconds in means.values())
    shown = json.loads(_passdown(place, "task", "show", task, "--json").out)["task"]["task"]
    assert shown["state"] == "closed"
    assert shown["note"].splitlines()[:3] == [*NOTES.values()]
    assert "IN_PROGRESS" not in "\n".join(shown["note"].splitlines()[3:])
