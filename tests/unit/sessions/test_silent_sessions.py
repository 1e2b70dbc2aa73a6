"""Agents that edit, test, commit and record nothing still leave a useful brief (C60, C135)."""

import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from passdown.faces.cli.main import HookWork
from passdown.faces.hooks import quick
from passdown.settings import FILE_NAME
from tests.looks import hands_on
from tests.support.claude_lines import ClaudeTranscript
from tests.support.commands import Caller, take_answer
from tests.support.gits import Project, make_started

WORDS = "Subtraction works. One test of the parser still fails, because it expects a space."


class Desk:
    """A checkout, with a host that calls the hooks."""

    def __init__(
        self, project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Begin without a session."""
        self.project = project
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    @hands_on
    def call(self, event: str, name: str, **told: object) -> dict[str, Any]:
        """Call a hook for a session, and give the answer."""
        payload = {
            "hook_event_name": event,
            "session_id": name,
            "cwd": str(self.project.folder),
            "transcript_path": str(self.agent(name).path),
            **told,
        }
        data = io.BytesIO(json.dumps(payload).encode())
        self._monkeypatch.chdir(self.project.folder)
        self._monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data, isatty=lambda: False))
        self._capsys.readouterr()
        assert quick.main([], HookWork()) == 0
        return take_answer(self._capsys)

    def agent(self, name: str) -> ClaudeTranscript:
        """Give the transcript of a session."""
        folder = self.project.folder
        return ClaudeTranscript(path=folder.parent / f"{name}.jsonl", root=folder, session=name)

    def start(self, name: str) -> str:
        """Start a session, and give its brief."""
        answer = self.call("SessionStart", name, source="startup")
        text: str = answer["hookSpecificOutput"]["additionalContext"]
        return text

    def end(self, name: str) -> None:
        """End a turn, and the session."""
        self.call("Stop", name)
        self.call("SessionEnd", name, reason="other")

    def change(self, agent: ClaudeTranscript, path: str) -> None:
        """Let an agent edit a file."""
        text = self.project.folder / path
        before = text.read_text(encoding="utf-8") if text.exists() else ""
        self.project.write(path, f"{before}more\n")
        agent.edit(path)

    def commit(self, agent: ClaudeTranscript, subject: str) -> str:
        """Let an agent commit everything."""
        self.project.git("add", "--all")
        said = self.project.git("commit", "--message", subject)
        agent.run(f"git commit -am '{subject}'", 0, said)
        return self.project.git("rev-parse", "HEAD").strip()

    def command(self, *words: str) -> str:
        """Run a command here, and give what it printed."""
        done = Caller(self._monkeypatch, self._capsys, self.project.folder)(*words)
        assert done.code == 0, done.err
        return done.out


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    """Give a checkout whose owner agreed."""
    project = make_started(tmp_path / "project")
    (project.folder / FILE_NAME).touch()
    project.git("add", "--all")
    project.git("commit", "--quiet", "--amend", "--no-edit")
    return Desk(project, monkeypatch, capsys)


def part(text: str, title: str) -> list[str]:
    """Give what stands after the `>` in the lines of one part of a brief."""
    _, _, rest = text.partition(f"\n{title}:\n")
    lines: list[str] = []
    for line in rest.splitlines():
        if not re.match(r"(?:\([^>]*\) )?> ", line):
            break
        lines.append(line.partition("> ")[2])
    return lines


def work_three_times(desk: Desk) -> list[str]:
    """Let three agents work that record nothing; give the ids of their commits."""
    made: list[str] = []
    for number, (subject, prompt) in enumerate(
        (
            ("Add numbers", "Please add two numbers"),
            ("Parse numbers", "Now parse them"),
            ("Subtract numbers", "Subtract them, too"),
        )
    ):
        name = f"silent-{number}"
        desk.start(name)
        agent = desk.agent(name)
        agent.ask(prompt)
        desk.change(agent, "src/calc.py")
        desk.change(agent, f"src/part_{number}.py")
        agent.run("python -m pytest tests/test_parser.py", 1 if number == 1 else 127)
        made.append(desk.commit(agent, subject))
        agent.say(WORDS if number == 2 else f"Done with part {number}.")
        desk.end(name)
    return made


def test_programs_are_told_all_that_was_seen_of_silent_agents(desk: Desk) -> None:
    made = work_three_times(desk)
    desk.command("start", "--new", "--session", "next")

    told = json.loads(desk.command("brief", "--json", "--session", "next"))

    assert told["words"]["text"] == WORDS
    assert [(one["text"], one["subject"], one["files"]) for one in told["commits"]] == [
        (made[2], "Subtract numbers", ["src/calc.py", "src/part_2.py"]),
        (made[1], "Parse numbers", ["src/calc.py", "src/part_1.py"]),
        (made[0], "Add numbers", ["src/calc.py", "src/part_0.py"]),
    ]


FILES = ["src/calc.py", "src/part_0.py", "src/part_1.py", "src/part_2.py"]


@pytest.mark.requirement("C60", "C135", "C152", through="hook")
def test_three_silent_agents_leave_subjects_files_a_failed_test_and_last_words(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = work_three_times(desk)

    fourth = desk.start("fourth")

    subjects = ["Subtract numbers", "Parse numbers", "Add numbers"]
    commits = [f"{name[:12]} {subject}" for name, subject in zip(reversed(made), subjects, strict=True)]
    assert part(fourth, "Commits") == commits
    files = part(fourth, "Files changed, most edited first")
    assert (files[0], sorted(files)) == ("src/calc.py", FILES)
    (failed,) = part(fourth, "Blockers")
    assert failed.startswith("failed: python -m pytest tests/test_parser.py: exit 1 at commit ")
    assert part(fourth, "The agent's last message") == [WORDS]
    assert part(fourth, "Goal") == ["Subtract them, too"]
    assert "\nNow:\nnone yet\n" in fourth  # one prompt is not both
    assert "exit 127" not in fourth

    desk.project.git("add", "--all")
    desk.project.git("commit", "--quiet", "--message=All events")
    desk.project.git("clone", "--quiet", ".", str(tmp_path / "elsewhere" / "project"))
    other = Desk(Project(folder=tmp_path / "elsewhere" / "project"), monkeypatch, capsys)
    told = other.start("there")

    assert part(told, "Commits") == commits
    assert sorted(part(told, "Files changed, most edited first")) == FILES
    assert part(told, "Files changed, most edited first")[0] == "src/calc.py"
    (failed,) = part(told, "Blockers")
    assert failed.startswith("failed: python -m pytest tests/test_parser.py: exit 1 at commit ")
    assert "Last words" not in told
    for private in (WORDS, "Subtract them", "Please add", "Done with part"):
        assert private not in told
        assert not any(
            private in path.read_text(encoding="utf-8")
            for path in other.project.folder.rglob("*.md")
            if ".git" not in path.parts
        )
    assert other.command("certify")


@pytest.mark.requirement("C152", through="hook")
def test_after_a_silent_agent_the_brief_tells_of_its_prompts_and_what_was_stated_before(desk: Desk) -> None:
    desk.start("first")
    desk.command("goal", "Ship the importer", "--session", "first")
    desk.command("now", "Write the reader", "--session", "first")
    desk.end("first")
    desk.start("second")
    agent = desk.agent("second")
    agent.ask("Fix the typo in the README")
    agent.ask("And the one in the changelog")
    agent.say("Both are fixed.")
    desk.end("second")

    third = desk.start("third")

    assert part(third, "Goal") == ["Fix the typo in the README"]
    assert part(third, "Last prompt") == ["And the one in the changelog"]
    assert part(third, "Before that") == ["goal: Ship the importer", "last worked on: Write the reader"]
    assert part(third, "The agent's last message") == ["Both are fixed."]
    assert desk.command("certify")


@pytest.mark.requirement("C60", through="hook")
def test_the_last_plan_of_a_silent_agent_is_what_is_next(desk: Desk) -> None:
    desk.start("first")
    agent = desk.agent("first")
    agent.ask("Ship it")
    agent.plan(Write_the_reader="completed", Write_the_writer="in_progress", Write_the_docs="pending")
    desk.end("first")

    assert part(desk.start("second"), "Next") == ["Write the writer", "Write the docs"]


@pytest.mark.requirement("C135", through="hook")
def test_of_the_words_of_an_agent_the_last_are_kept_cut_and_without_secrets(desk: Desk) -> None:
    desk.start("first")
    agent = desk.agent("first")
    agent.ask("Ship it")
    agent.say("I begin.")
    secret = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    agent.say(f"The token is {secret}. " + "It works. " * 100)
    agent.say("A subagent is done.", is_agents=True)
    desk.end("first")

    second = desk.start("second")

    (words,) = part(second, "The agent's last message")
    assert words.startswith("The token is [redacted: ")
    assert words.endswith("…")
    assert len(words) <= 500
    journals = desk.project.folder / ".git" / "passdown"
    kept = "".join(path.read_text(encoding="utf-8") for path in journals.rglob("*.jsonl"))
    assert "It works." in kept
    assert secret not in kept
    assert "I begin." not in kept


@pytest.mark.requirement("C135", through="hook")
def test_words_that_the_transcript_does_not_have_yet_are_taken_from_the_hook(desk: Desk) -> None:
    desk.start("first")
    agent = desk.agent("first")
    agent.ask("Ship it")
    agent.say("I begin.")
    desk.call("Stop", "first", last_assistant_message=WORDS)
    desk.call("SubagentStop", "first", agent_id="a1", last_assistant_message="A subagent is done.")
    desk.call("SessionEnd", "first", reason="other")

    assert part(desk.start("second"), "The agent's last message") == [WORDS]


@pytest.mark.requirement("C135", through="hook")
def test_commits_of_ours_and_on_no_branch_are_left_out(desk: Desk) -> None:
    desk.start("first")
    agent = desk.agent("first")
    agent.ask("Ship it")
    desk.change(agent, "src/a.py")
    lost = desk.commit(agent, "Try something")
    desk.call("Stop", "first")
    desk.project.git("reset", "--quiet", "--hard", "HEAD~1")
    desk.change(agent, "src/b.py")
    kept = desk.commit(agent, "Do it right")
    desk.change(agent, "src/b.py")
    own = desk.commit(agent, "passdown: 1 event")
    desk.end("first")

    second = desk.start("second")

    assert part(second, "Commits") == [f"{kept[:12]} Do it right"]
    assert lost[:12] not in part(second, "Commits")
    assert own[:12] not in second


@pytest.mark.requirement("C152", through="command")
def test_a_headline_in_the_log_is_the_sessions_own(desk: Desk) -> None:
    desk.start("first")
    desk.command("goal", "Ship the importer", "--session", "first")
    desk.command("end", "--session", "first")
    desk.start("second")
    agent = desk.agent("second")
    agent.ask("Look at it")
    desk.change(agent, "README.md")
    desk.end("second")
    desk.start("third")
    agent = desk.agent("third")
    agent.ask("Fix the typo")
    desk.commit(agent, "Fix a typo")
    desk.end("third")
    desk.start("fourth")

    lines = [line.strip() for line in desk.command("log").splitlines()[1::2]]

    assert lines == ["Fix a typo", "edited README.md", "Ship the importer"]
