"""`passdown observe`, as a user calls it."""

import json
import shutil
from pathlib import Path

import pytest

from passdown.engines.system import SystemEntropy
from tests.hosts.scripts import RECORDINGS, ROOT, Recording, read_recording
from tests.support.commands import Caller
from tests.support.gits import Project, make_started
from tests.support.projects import stop_clock
from tests.support.sessions import LEDGER, CountedEntropy

BEGINS = "passdown: no session was running here; started generic-00000001\n"


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give a repository whose commits are older than its sessions, in which names are counted."""
    started = make_started(tmp_path / "project")
    stop_clock(monkeypatch, "2099-01-11T12:00:00Z")
    entropy = CountedEntropy()
    monkeypatch.setattr(SystemEntropy, "token", lambda _, size: entropy.token(size))
    return started


def put(name: str, project: Project, folder: Path) -> tuple[Recording, str]:
    """Put a recorded transcript, with those of its subagents, where a host would."""
    recording = read_recording(RECORDINGS / f"{name}.script.json")
    source = recording.transcript.parent
    shutil.copytree(source, folder, dirs_exist_ok=True)
    for path in folder.rglob("*.jsonl"):
        path.write_text(
            path.read_text(encoding="utf-8").replace(ROOT, project.folder.as_posix()), encoding="utf-8"
        )
    return recording, str(folder / recording.transcript.relative_to(source))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("claude-code-work", "observed 5 edits, 5 tests (2 failed), 1 commit, 20 other facts\n"),
        ("codex-work", "observed 6 edits, 5 tests (2 failed), 1 commit, 19 other facts\n"),
        ("codex-agents", "observed 1 edit, 1 test, 3 other facts\n"),
    ],
)
def test_a_recorded_session_is_told_in_one_line_and_once(
    command: Caller, project: Project, tmp_path: Path, name: str, wanted: str
) -> None:
    recording, path = put(name, project, tmp_path / "host")
    left = recording.script.leaves()
    edits, tests = [path for one in left for path in one.edited], [one for one in left if one.test]

    assert wanted.startswith(f"observed {len(edits)} edit")
    assert f", {len(tests)} test" in wanted
    assert command("observe", path) == (0, wanted, BEGINS)
    assert command("observe", path) == (0, "observed nothing new\n", "")


def test_programs_are_told_the_numbers(command: Caller, project: Project, tmp_path: Path) -> None:
    _, path = put("codex-agents", project, tmp_path / "host")
    with Path(path).open("ab") as file:
        file.write(b'{"payload":{"type":"user_message"\n')

    done = command("observe", "--host", "codex", "--json", path)

    assert done.code == 0
    assert done.err == f"{BEGINS}passdown: 1 line of the transcript could not be read\n"
    assert json.loads(done.out) == {
        "version": 1,
        "session": "s-000000000002",
        "agent": "generic-00000001",
        "prompts": 1,
        "edits": 1,
        "reads": 0,
        "commands": 1,
        "tests": 1,
        "commits": 0,
        "plan_items": 0,
        "words": 1,
        "failed_tests": 0,
        "passed_over": 1,
    }


def test_without_a_transcript_git_tells(command: Caller, project: Project) -> None:
    command("start")
    project.write("new.txt")

    assert command("observe") == (0, "observed nothing new\n", "")
    assert "Modified" in (project.folder / LEDGER).read_text(encoding="utf-8")


def test_a_transcript_that_is_not_there_is_refused(command: Caller, tmp_path: Path) -> None:
    done = command("observe", str(tmp_path / "no.jsonl"))

    assert done.code == 2
    assert "there is no transcript" in done.err
    assert "no session was running" not in done.err


def test_a_host_that_nobody_knows_is_refused(command: Caller) -> None:
    done = command("observe", "--host", "emacs", "x")

    assert done.code == 2
    assert "claude-code" in done.err
