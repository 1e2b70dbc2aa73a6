"""The part of a hook that runs often: what it decides without loading the rest."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from passdown import layout
from passdown.core.project import pauses
from passdown.faces.cli.main import HookWork
from passdown.faces.hooks import main as whole
from passdown.faces.hooks import quick
from passdown.settings import FILE_NAME
from tests.support.gits import Project, make_started

ALLOWED = frozenset({"passdown.faces.hooks", "passdown.faces.hooks.quick", "passdown.layout"})
"""All of ours that a hook may load when there is nothing to do, beside what the program starts with."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a project whose owner agreed."""
    folder = make_started(tmp_path / "project").folder
    (folder / FILE_NAME).touch()
    return folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the events that the whole hook is asked to answer."""
    events: list[str] = []

    def answer(
        arguments: list[str], payload: dict[str, object], root: str, elapsed: Callable[[], float]
    ) -> int:
        assert arguments == []
        assert elapsed() > 0
        events.append(f"{payload['hook_event_name']} {Path(root).name}")
        return 0

    monkeypatch.setattr(whole, "answer", answer)
    return events


def call(monkeypatch: pytest.MonkeyPatch, payload: object, data: bytes | None = None) -> int:
    """Call the hook as a host does."""
    text = json.dumps(payload).encode() if data is None else data
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    return quick.main([], HookWork())


def payload(root: Path, event: str = "SessionStart", session: str = "abc") -> dict[str, object]:
    return {"hook_event_name": event, "session_id": session, "cwd": str(root)}


def test_a_start_is_answered_from_anywhere_in_the_project(
    root: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    below = root / "src" / "deep"
    below.mkdir(parents=True)

    assert call(monkeypatch, payload(below)) == 0
    monkeypatch.chdir(below)
    assert call(monkeypatch, {"hook_event_name": "Stop"}) == 0

    assert asked == ["SessionStart project", "Stop project"]


@pytest.mark.requirement("G14", "C50")
def test_nothing_is_done_where_nobody_agreed(
    root: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / FILE_NAME).unlink()
    before = sorted(root.iterdir())

    assert call(monkeypatch, payload(root)) == 0
    told = capsys.readouterr()
    assert call(monkeypatch, payload(root.parent / "elsewhere")) == 0
    assert asked == []
    assert [*json.loads(told.out).values()] == [
        "Passdown is not set up in this repository; run `passdown init` to set it up. (Shown once.)"
    ]
    assert (told.err, capsys.readouterr()) == ("", ("", ""))
    assert sorted(root.iterdir()) == before


def test_settings_above_the_repository_are_those_of_another(
    root: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / FILE_NAME).rename(root.parent / FILE_NAME)

    assert call(monkeypatch, payload(root)) == 0
    assert asked == []


@pytest.mark.parametrize("value", ["1", "true", "yes"])
def test_the_environment_turns_it_off(
    root: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("PASSDOWN_OFF", value)

    assert call(monkeypatch, payload(root)) == 0
    assert asked == []
    assert pauses.is_off(os.environ)


@pytest.mark.parametrize("mark", [".git/passdown/paused", ".conductor/paused"])
def test_a_paused_project_is_left_alone(
    root: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    (root / mark).parent.mkdir(parents=True, exist_ok=True)
    (root / mark).touch()

    assert call(monkeypatch, payload(root)) == 0
    assert asked == []


@pytest.mark.requirement("C119")
def test_a_mark_or_a_message_that_git_tracks_is_passed_over(
    root: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(folder=root)
    for path in (".conductor/paused", ".conductor/waiting/abc", ".conductor/levels/abc"):
        project.write(path, "")
    project.git("add", "--force", ".conductor")

    assert call(monkeypatch, payload(root)) == 0
    assert call(monkeypatch, payload(root, "UserPromptSubmit")) == 0

    assert asked == ["SessionStart project"]
    assert not quick.is_paused(str(root))
    assert not quick.is_waiting(str(root), "abc")
    assert not quick.has_file(str(root), layout.CONTEXT_LEVELS, "abc")
    project.git("rm", "--quiet", "--cached", "-r", ".conductor")
    assert quick.is_paused(str(root))
    assert quick.is_waiting(str(root), "abc")


@pytest.mark.requirement("C119")
def test_a_mark_inside_of_a_bare_repository_is_passed_over(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "bare")], check=True)

    assert quick.is_tracked(str(tmp_path / "bare"), str(tmp_path / "bare/.conductor"), "paused")


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b" " * (quick.MOST_BYTES + 1)]
)
def test_what_is_no_payload_is_passed_over(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    assert call(monkeypatch, None, data) == 0
    assert asked == []


@pytest.mark.parametrize(
    "text", ['{"a": [1, 2.5, null, "\\u00e9"]}', ' {"b": true}\n', "{", "", "[1", '{"a" 1}', "nope"]
)
def test_the_quick_reader_reads_what_the_usual_one_does(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    outcomes: list[object] = []
    for is_there in (True, False):
        if not is_there:
            monkeypatch.setitem(sys.modules, "_json", None)
        try:
            outcomes.append(quick._parse(text))  # the part that is compared
        except ValueError:
            outcomes.append("refused")

    assert outcomes[0] == outcomes[1]


def test_a_closed_input_and_a_folder_that_is_gone_do_no_harm(
    root: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert quick.main([], HookWork()) == 0

    def gone() -> str:
        raise FileNotFoundError

    monkeypatch.setattr(os, "getcwd", gone)
    assert call(monkeypatch, {"hook_event_name": "Stop"}) == 0
    assert asked == []
    assert root.exists()


@pytest.mark.parametrize("folder", [".git/passdown/waiting", ".conductor/waiting"])
def test_a_prompt_is_answered_only_when_something_waits(
    root: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    prompt = payload(root, "UserPromptSubmit", "a/b c")
    assert call(monkeypatch, prompt) == 0
    assert asked == []
    (root / folder).mkdir(parents=True)
    (root / folder / "a-b-c").touch()

    assert call(monkeypatch, prompt) == 0
    assert call(monkeypatch, {**prompt, "session_id": "other"}) == 0

    assert asked == ["UserPromptSubmit project"]


def test_an_empty_git_folder_is_no_repository(root: Path) -> None:
    inner = root / "inner"
    (inner / ".git").mkdir(parents=True)

    assert quick.find_root(str(inner)) == quick.find_top(str(inner)) == str(root)


def test_worktrees_share_the_folder_of_git(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "worktree", "add", "-q", str(other)], cwd=root, check=True)

    assert Path(quick.find_common(str(other))).resolve() == (root / ".git").resolve()
    assert quick.find_common(str(root / "src")) == str(root / ".git")
    (other / ".git").write_text("nonsense")
    assert quick.find_common(str(other)) == str(other / "nonsense")
    (other / ".git").write_text("gitdir:")
    assert quick.find_common(str(other)) == ""
    assert quick.find_common("") == ""
    assert quick.find_common(str(tmp_path)) in {"", quick.find_common(str(tmp_path.parent))}


def test_an_entry_of_git_that_cannot_be_read_has_no_shared_folder(root: Path) -> None:
    assert quick._first_line(str(root)) == ""  # a folder is in its way


def test_a_session_without_a_name_has_a_file_all_the_same() -> None:
    assert layout.session_file("") == "-"
    assert layout.session_file("../../x") == "------x"


def test_a_prompt_loads_next_to_nothing(root: Path) -> None:
    script = (
        "import sys; sys.argv = ['passdown', 'hook']; before = set(sys.modules)\n"
        "from passdown.faces.cli.main import main\n"
        "code = main(); print(code, *sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(payload(root, "UserPromptSubmit")),
        env={name: text for name, text in os.environ.items() if not name.startswith(("COV", "PYTHON"))},
        capture_output=True,
        text=True,
        check=True,
    )
    code, *names = done.stdout.split()

    assert code == "0"
    start = {"gc", "passdown", "passdown.faces", "passdown.faces.cli", "passdown.faces.cli.main"}
    assert {name for name in names if name.startswith("passdown")} <= ALLOWED | start
    assert not {"re", "typing", "pathlib", "dataclasses", "datetime"} & set(names)
