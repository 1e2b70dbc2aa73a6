"""A test that ran is a result; what must not be done again is only what somebody says so (C121)."""

import json
from pathlib import Path

import pytest

from passdown.core.sessions.session_facts import NO_PROCESS
from passdown.engines.process import SystemProcesses
from tests.support.claude_lines import ClaudeTranscript
from tests.support.commands import Caller
from tests.support.gits import Project, make_started
from tests.support.projects import stop_clock

DONE = "Already done; do not repeat:"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository."""
    return make_started(tmp_path / "project")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command, at noon of a day in January, where nobody knows processes."""
    monkeypatch.setattr(SystemProcesses, "find_host", lambda _: NO_PROCESS)
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    return Caller(monkeypatch, capsys, project.folder)


@pytest.fixture
def agent(command: Caller, project: Project) -> ClaudeTranscript:
    """Give an agent in a session."""
    command("start", "--session", "one")
    return ClaudeTranscript(path=project.folder.parent / "one.jsonl", root=project.folder)


def brief(command: Caller, agent: ClaudeTranscript) -> str:
    """Read what the agent did, and give the brief."""
    assert command("observe", str(agent.path), "--session", "one").code == 0
    return command("brief").out


def part(text: str, title: str) -> list[str]:
    """Give the lines of one part of a brief."""
    _, _, rest = text.partition(f"\n{title}\n")
    return [line for line in rest.splitlines()[: _length(rest)] if line]


def _length(rest: str) -> int:
    lines = rest.splitlines()
    return next((at for at, line in enumerate(lines) if line.endswith(":") and ">" not in line), len(lines))


@pytest.mark.requirement("C121", through="command")
def test_a_test_that_passed_is_a_result_with_its_commit_and_what_was_edited_since(
    command: Caller, agent: ClaudeTranscript, project: Project
) -> None:
    head = project.git("rev-parse", "HEAD").strip()
    agent.edit("kept.txt")
    agent.run("pytest")

    assert part(brief(command, agent), "Test results:")[0].endswith(f"> pytest: exit 0 at commit {head[:12]}")

    agent.edit("other.txt")
    agent.edit("kept.txt")
    agent.edit("other.txt")
    text = brief(command, agent)
    assert part(text, "Test results:")[0].endswith(
        f"> pytest: exit 0 at commit {head[:12]}, 2 files edited since"
    )
    assert DONE not in text
    command("end", "--session", "one")
    assert part(command("brief").out, "Test results:")[0].endswith("2 files edited since")
    agent.run("pytest")
    command("start", "--session", "two")
    assert command("observe", str(agent.path), "--session", "two").code == 0
    assert part(command("brief").out, "Test results:")[0].endswith(f"exit 0 at commit {head[:12]}")


@pytest.mark.requirement("C121", through="command")
def test_only_what_is_done_once_must_not_be_done_again(command: Caller, agent: ClaudeTranscript) -> None:
    agent.run("make test")
    said = command("done", "--once", "Deployed 1.2 to production")

    assert said.out == "done, never to be repeated: Deployed 1.2 to production\n"
    text = brief(command, agent)
    assert part(text, DONE) == ["> Deployed 1.2 to production"]
    assert "> Deployed 1.2 to production" in part(text, "Recently done:")
    command("end", "--session", "one")
    assert part(command("brief").out, DONE)[0].endswith("> Deployed 1.2 to production")
    assert "Deployed 1.2 to production" in command("view").out

    command("start", "--session", "two")
    command("retract", "Deployed 1.2 to production", "--kind", "receipt")
    assert DONE not in command("brief").out


@pytest.mark.requirement("C121", through="command")
def test_what_is_retracted_need_not_be_done_only_once_any_more(command: Caller) -> None:
    command("start", "--session", "one")
    command("now", "Migrate the tables")
    assert json.loads(command("done", "--once", "--json").out)["text"] == "Migrate the tables"
    assert DONE in command("brief").out

    command("retract", "Migrate")

    text = command("brief").out
    assert DONE not in text
    assert "Migrate the tables" not in text
    assert command("certify").code == 0


@pytest.mark.requirement("C121", through="command")
@pytest.mark.parametrize("code", [126, 127])
def test_a_command_that_could_not_be_run_is_no_test_result(
    command: Caller, agent: ClaudeTranscript, code: int
) -> None:
    agent.run("python -m pytest", code, "bash: python: command not found")

    text = brief(command, agent)

    assert "pytest" not in text
    command("end", "--session", "one")
    assert "pytest" not in command("brief").out
    assert command("certify").code == 0


@pytest.mark.requirement("C121", through="command")
def test_a_test_is_one_entry_however_it_was_spelled_and_a_pass_clears_it(
    command: Caller, agent: ClaudeTranscript
) -> None:
    agent.run("python -m pytest", 1)
    agent.run("uv run pytest -q", 2)
    text = brief(command, agent)
    (blocker,) = part(text, "Blockers:")
    assert "> failed: uv run pytest -q: exit 2 at commit " in blocker
    command("end", "--session", "one")
    command("start", "--session", "two")
    (blocker,) = part(command("brief").out, "Blockers:")
    assert "uv run pytest -q: exit 2" in blocker

    agent.run(".venv/bin/pytest --tb=short", 0)
    assert command("observe", str(agent.path), "--session", "two").code == 0

    text = command("brief").out
    assert "Blockers:" not in text
    (result,) = part(text, "Test results:")
    assert "> pytest --tb=short: exit 0" in result
    assert command("certify").code == 0


@pytest.mark.requirement("C121", through="command")
def test_a_pass_of_all_tests_clears_the_failure_of_some_and_not_the_other_way_round(
    command: Caller, agent: ClaudeTranscript
) -> None:
    agent.run("pytest tests/unit/test_a.py", 1)
    agent.run("pytest tests/e2e", 1)
    agent.run("cargo test", 1)
    agent.run("pytest tests/unit")
    text = brief(command, agent)
    assert [line.partition(" > ")[2].partition(" at ")[0] for line in part(text, "Blockers:")] == [
        "failed: cargo test: exit 1",
        "failed: pytest tests/e2e: exit 1",
    ]

    agent.run("pytest -k unit")
    assert "failed: pytest tests/e2e: exit 1" in brief(command, agent)

    agent.run("pytest")
    assert "pytest tests/e2e" not in "".join(part(brief(command, agent), "Blockers:"))


@pytest.mark.requirement("C121", through="command")
def test_a_run_whose_result_nobody_knows_clears_nothing(command: Caller, agent: ClaudeTranscript) -> None:
    agent.run("make test", 2)
    agent.run("make test | tail -3")

    assert "failed: make test: exit 2" in brief(command, agent)
    command("end", "--session", "one")
    assert "failed: make test: exit 2" in command("brief").out
    assert command("certify").code == 0


@pytest.mark.requirement("C121", through="command")
def test_a_person_dismisses_a_failed_test_by_its_text(
    command: Caller, agent: ClaudeTranscript, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.run("python -m pytest --token=secret", 1)
    agent.run("cargo test", 1)
    assert len(part(brief(command, agent), "Blockers:")) == 2
    command("end", "--session", "one")
    command("start", "--session", "two")

    said = command("retract", "cargo test")

    assert said.out == "retraction: cargo test\n"
    assert len(part(command("brief").out, "Blockers:")) == 1
    assert command("retract", "python -m pytest").code == 0
    assert "Blockers:" not in command("brief").out
    command("end", "--session", "two")
    assert "Blockers:" not in command("brief").out
    assert "secret" not in "".join(command(*words).out for words in (("log", "--json"), ("view",)))
    assert command("certify").code == 0

    stop_clock(monkeypatch, "2026-01-11T13:00:00Z")
    command("start", "--session", "three")
    agent.run("cargo test", 1)
    assert command("observe", str(agent.path), "--session", "three").code == 0
    assert len(part(command("brief").out, "Blockers:")) == 1
    stop_clock(monkeypatch, "2026-01-11T13:01:00Z")
    assert command("retract", "failed: cargo").code == 0
    assert "Blockers:" not in command("brief").out


@pytest.mark.requirement("C121", through="command")
def test_another_clone_sees_what_was_dismissed(
    command: Caller,
    agent: ClaudeTranscript,
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent.run("pytest", 1)
    command("observe", str(agent.path), "--session", "one")
    command("end", "--session", "one")
    command("start", "--session", "two")
    command("retract", "pytest")
    command("end", "--session", "two")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=all")
    project.git("clone", "--quiet", ".", str(tmp_path / "clone"))

    monkeypatch.chdir(tmp_path / "clone")

    assert "Blockers:" not in command("brief").out
