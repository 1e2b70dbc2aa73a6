"""A face that is not part of the package needs nothing but actions, and answers like the command line."""

import ast
import inspect
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import passdown
from passdown.actions.table import ACTIONS, find_action
from passdown.engines.system import SystemEntropy
from passdown.errors import UsageError
from tests.house import read_modules
from tests.house.tree import dotted, walk
from tests.support.commands import Caller
from tests.support.gits import make_started
from tests.support.projects import call_at_noon
from tests.unit.cli import json_lines
from tests.unit.cli.test_json_answers import CountingEntropy

SESSION = "PASSDOWN_SESSION"
PACKAGE = Path(passdown.__file__).parent
_MARKS = re.compile(r"(?<=brief )[0-9a-f]{12}|^[0-9a-f]{12}$|^[0-9a-f]{64}$")
"""The mark of a brief is random, and its hash has the mark in it."""
_VARYING = frozenset({"left", "silent"})
"""Seconds that the engine counts by a clock of its own."""


def steady(answer: object, folder: Path) -> object:
    """Return an answer without what differs between two projects and two moments."""
    if isinstance(answer, dict):
        return {name: 0 if name in _VARYING else steady(value, folder) for name, value in answer.items()}
    if isinstance(answer, list):
        return [steady(one, folder) for one in answer]
    if not isinstance(answer, str):
        return answer
    return _MARKS.sub("#", answer.replace(str(folder), "/project"))


def ask(folder: Path, action: str, request: object = None, session: str = "") -> Any:
    """Ask the made-up face for one thing."""
    variables = {SESSION: session} if session else {}
    line = json.dumps({"action": action, "request": request, "variables": variables})
    (answer,) = json_lines.answer_lines([line], folder)
    return json.loads(answer)


def count_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make names of numbers, from the first on."""
    entropy = CountingEntropy()
    monkeypatch.setattr(SystemEntropy, "token", lambda _, size: entropy.token(size))


def run_by_actions(folder: Path) -> Iterator[object]:
    """Let two sessions work through the made-up face."""
    for name in ("amber", "birch"):
        request = {"start": {"host_session": name, "is_named": True, "nickname": name}, "is_asked": True}
        yield ask(folder, "starts.start", request)
    yield ask(folder, "facts.decide", {"key": "store", "text": "SQLite", "because": "no server"}, "amber")
    yield ask(folder, "facts.decide", {"key": "store", "text": "Postgres"}, "birch")
    yield ask(folder, "claims.claim", {"tasks": ["t-1"]}, "amber")
    yield ask(folder, "claims.claim", {"tasks": ["t-1"]}, "birch")
    yield ask(folder, "status.status", {"shows_all": False}, "amber")
    yield ask(folder, "briefs.describe_brief", {"tokens": 2_000, "characters": 8_000}, "birch")


DAY: Sequence[tuple[str, tuple[str, ...]]] = (
    ("", ("start", "--session", "amber", "--nickname", "amber")),
    ("", ("start", "--session", "birch", "--nickname", "birch")),
    ("amber", ("decide", "store", "SQLite", "--because", "no server")),
    ("birch", ("decide", "store", "Postgres")),
    ("amber", ("claim", "t-1")),
    ("birch", ("claim", "t-1")),
    ("amber", ("status",)),
    ("birch", ("brief", "--tokens", "2000", "--chars", "8000")),
)


def run_by_command(command: Caller, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Let two sessions do the same through the command line."""
    for session, words in DAY:
        monkeypatch.setenv(SESSION, session)
        answer = json.loads(command(*words, "--json").out)
        answer.pop("version")
        yield answer


@pytest.mark.requirement("C157", through="command")
def test_a_made_up_face_answers_like_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [make_started(tmp_path / name).folder for name in ("one", "two")]
    commands = [call_at_noon(monkeypatch, capsys, folder) for folder in folders]
    for command in commands:
        (command.folder / "passdown.toml").write_text("", encoding="utf-8")
        monkeypatch.chdir(command.folder)
        assert command("task", "add", "Document the store", "--id", "t-1").code == 0
    count_names(monkeypatch)
    by_command = [steady(one, folders[1]) for one in run_by_command(commands[1], monkeypatch)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(SESSION, "")
    count_names(monkeypatch)

    by_actions = [steady(one, folders[0]) for one in run_by_actions(folders[0])]

    assert len(by_actions) == len(DAY)
    assert by_actions == by_command


# --- the table of actions -----------------------------------------------------------------------------


def _list_named() -> list[str]:
    return [f"{noun}.{verb}" for noun, (_, verbs) in ACTIONS.items() for verb in verbs]


@pytest.mark.parametrize("name", _list_named())
def test_every_action_of_the_table_takes_a_caller_and_at_most_one_request(name: str) -> None:
    first, *rest = inspect.signature(find_action(name)).parameters

    assert first in {"caller", "around"}
    assert len(rest) <= 1


@pytest.mark.parametrize("name", ["facts", "facts.", "facts._record", "nothing.decide", "facts.decide.x"])
def test_what_is_not_in_the_table_is_no_action(name: str) -> None:
    with pytest.raises(UsageError, match="there is no action"):
        find_action(name)


def test_the_table_has_what_faces_call_and_nothing_else() -> None:
    modules, _ = read_modules(PACKAGE)
    defined = {
        f"passdown.actions.{'.'.join(module.parts[1:])}.{node.name}"
        for module in modules
        if module.parts[0] == "actions"
        for node in module.tree.body
        if isinstance(node, ast.FunctionDef)
        and node.args.args
        and node.args.args[0].arg in {"caller", "around"}
    }
    used = {
        name
        for module in modules
        if module.parts[0] == "faces"
        for node in walk(module.tree)
        if isinstance(node, ast.Name | ast.Attribute) and (name := dotted(module, node)) in defined
    }
    nouns = {
        f"passdown.actions.{room}.{noun}.{verb}" for noun, (room, verbs) in ACTIONS.items() for verb in verbs
    }

    assert nouns == {name for name in used if not name.startswith("passdown.actions.callers.")}
