"""A plugin without its program, in real hosts: one line in a session, and no error.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import pytest

import passdown
from passdown.hosts.plugins import ADD
from tests.hosts.drivers import COPILOT, Codex, Copilot, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Step
from tests.hosts.stages import need, text_of
from tests.hosts.talks import ClaudeTalk, CodexTalk

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(sys.platform == "win32", reason="the shell and its paths are those of a POSIX system"),
]

ROOT: Final = Path(__file__).parents[3]
LINE: Final = "Passdown: the passdown program is not installed"
OK: Final = Step(text="ok")


@pytest.fixture
def marketplace(tmp_path: Path) -> Path:
    """Give the marketplace of this repository, with the plugin as hosts get it from there."""
    folder = tmp_path / "marketplace"
    shutil.copytree(ROOT / ".claude-plugin", folder / ".claude-plugin")
    shutil.copytree(Path(passdown.__file__).parent / "plugin", folder / "src/passdown/plugin")
    return folder


def test_claude_code_is_told_once_in_a_session(ground: tuple[Ground, Model], marketplace: Path) -> None:
    place, model = ground
    plugin = str(marketplace / "src/passdown/plugin")

    with ClaudeTalk(need("claude"), place, model, "--plugin-dir", plugin) as talk:
        for text in ("hello", "/compact", "go on", "and on"):
            talk.say(text, OK)
        (notice,) = talk.notices()

    assert notice.startswith(LINE)
    paths = (place.home / ".claude" / "projects").rglob("*.jsonl")
    lines = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    shown = [one["attachment"]["type"] for one in lines if one.get("type") == "attachment"]
    assert not [one for one in shown if "error" in one]


def test_codex_is_told_once_in_a_session(ground: tuple[Ground, Model], marketplace: Path) -> None:
    place, model = ground
    program = need("codex")
    Codex(program, place)  # writes its settings
    shutil.copy(marketplace / "src/passdown/plugin/hooks/hooks.json", place.home / ".codex/hooks.json")

    with CodexTalk(program, place, model) as talk:
        for text in ("hello", "go on", "and on"):
            talk.say(text, OK)
        (notice,) = talk.notices()

    assert notice.startswith(LINE)
    assert talk.failures() == []


def test_copilot_is_told_once_in_a_session(ground: tuple[Ground, Model], marketplace: Path) -> None:
    place, model = ground
    program = need("copilot")
    add_plugin(place, program, marketplace, "install", **COPILOT)
    driver = Copilot(program, place)

    told: list[Any] = []
    for text in ("hello", "go on"):
        before = len(model.requests)
        model.prepare([OK], str(place.root))
        assert driver.turn(text, ()).code == 0
        told.append(text_of(model.requests[before:]))

    assert told[0].count(LINE) == 1
    assert told[1].count(LINE) <= 1  # what was said before, and nothing new


def add_plugin(place: Ground, program: str, marketplace: Path, verb: str, **variables: str) -> None:
    for words in ((*ADD[:-1], str(marketplace)), ("plugin", verb, "passdown@passdown")):
        ended = place.run([program, *words], **variables)
        assert ended.code == 0, ended
