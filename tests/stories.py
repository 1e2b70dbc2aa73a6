"""Stories: tests that act as people, agents and hosts do, and record what these see as a page of the docs.

    uv run python -m tests.stories     writes the pages again

A story is told in the order in which it happens. Its page, in docs/explanation/stories/, has the prose of the
test, the commands and their output, the files that were written, and the answers of a host's hooks. Each
command is a process of its own. Values that differ each time are made up (`tests/steady.py`).
"""

import difflib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from passdown.core.times import render_millis
from tests.steady import MOMENT, steady
from tests.support.claude_lines import ClaudeTranscript
from tests.support.terminals import PROMPT, Terminal
from tests.trackers.beads import find_bd, make_database
from tests.transcripts import ROOT, Desk

PAGES: Final = ROOT / "docs" / "explanation" / "stories"
BD: Final = "0.44.0"
"""The build of Beads that the source documents were written for."""
_PAYLOADS: Final = ROOT / "tests" / "hosts" / "payloads"
_WRITES: Final = os.environ.get("PASSDOWN_STORIES") == "write"
"""Read before the guards of `conftest.py` remove our variables."""
_KINDS: Final = ("source", "trigger", "reason", "agent_type", "tool_name")
"""The members of a payload that are shown to the reader."""
_TITLES: Final = ("shown to the person", "told to the agent", "refused, and the agent is told why")
_NOTE: Final = "<!-- Written by `python -m tests.stories`: change the test, not this page. -->"


class Part(NamedTuple):
    """A part of a page: prose, or a fence with its kind and title."""

    text: str
    kind: str = ""
    title: str = ""


class Answer(NamedTuple):
    """The answer of a hook: what the host shows to a person, and what it passes to the agent."""

    shown: str
    given: str
    reason: str = ""


class Actor:
    """A person at a desk: what they type and save becomes part of the story."""

    def __init__(self, story: "Story", desk: Desk, name: str) -> None:
        """Store the story, and the actor's name in it."""
        self.desk = desk
        self._story = story
        self._name = name

    def types(self, line: str, code: int | None = 0) -> str:
        """Type a command and return its output; it must end with the code, if one is given."""
        printed = self.desk.type(line)
        ended = self.desk.code
        assert code in {ended, None}, (line, ended, printed)
        shown = f"$ {line}\n{printed}" + (f"$ echo $?\n{ended}\n" if ended else "")
        self._story.add(Part(shown, "console", self._name))
        return printed

    def reads(self, path: str) -> str:
        """Show a file."""
        return self.types(f"cat {path}")

    def saves(self, path: str, text: str, kind: str = "markdown") -> None:
        """Write a file in an editor."""
        self.desk.save(path, text)
        self._story.add(Part(text, kind, path))

    def edits(self, path: str, difference: str) -> None:
        """Change a file in an editor."""
        self.desk.edit(path, difference)
        self._story.add(Part(difference, "diff", path))

    def at_terminal(self, line: str) -> str:
        """Type a command at a real terminal, as only a person can, and return its output."""
        keys = ("PATH", "HOME", "PYTHONPATH", "TZ")
        variables = {key: self.desk.environment[key] for key in keys if key in self.desk.environment}
        with Terminal(self.desk.folder, variables) as terminal:
            screen = terminal.run(line, PROMPT)
        printed = screen.removeprefix(f"{PROMPT}{line}\n")
        self._story.add(Part(f"$ {line}\n{printed}", "console", self._name))
        return printed


class HostedActor(Actor):
    """An agent in Claude Code, which keeps a transcript and calls its hooks with recorded payloads."""

    def __init__(self, story: "Story", desk: Desk, name: str, session: str) -> None:
        """Start in a session of the host."""
        super().__init__(story, desk, name)
        self.begin(session)

    def begin(self, session: str) -> None:
        """Switch to another session of the host."""
        path = self.desk.home / f"{session}.jsonl"
        path.touch()
        self._transcript = ClaudeTranscript(
            path=path, root=self.desk.folder, session=session, tell_time=_tell_time
        )
        self.desk.environment["CLAUDE_CODE_SESSION_ID"] = session

    def types(self, line: str, code: int | None = 0) -> str:
        """Type a command, which the transcript records too."""
        printed = super().types(line, code)
        self._transcript.run(line, self.desk.code, printed)
        return printed

    def saves(self, path: str, text: str, kind: str = "markdown") -> None:
        """Write a file, which the transcript records too."""
        super().saves(path, text, kind)
        self._transcript.edit(path)

    def edits(self, path: str, difference: str) -> None:
        """Change a file, which the transcript records too."""
        super().edits(path, difference)
        self._transcript.edit(path)

    def calls(self, event: str, **told: Any) -> Answer:
        """Make the host call a hook, and return the answer; `told` replaces members of the payload."""
        payload = self._find_payload(event, told)
        (self.desk.home / "payload.json").write_text(json.dumps(payload), encoding="utf-8")
        printed = self.desk.type(f"passdown hook --host claude < {self.desk.home / 'payload.json'}")
        assert self.desk.code == 0, printed
        answer = _read_answer(printed)
        name = " ".join((event, *(told[key] for key in _KINDS if key in told)))
        self._story.add(Part(f"Claude Code calls the hook `{name}`."))
        for title, text in zip(_TITLES, answer, strict=True):
            if text:
                self._story.add(Part(text.rstrip("\n") + "\n", "text", title))
        return answer

    def _find_payload(self, event: str, told: dict[str, Any]) -> dict[str, Any]:
        """Return the recorded payload of an event that fits best, for this session and this folder."""
        found = [one for one in _read_payloads() if one["hook_event_name"] == event]
        found.sort(key=lambda one: sum(one.get(name) == value for name, value in told.items()))
        where = {
            "session_id": self._transcript.session,
            "cwd": str(self.desk.folder),
            "transcript_path": str(self._transcript.path),
        }
        return {**found[-1], **where, **told}


def _tell_time() -> str:
    return render_millis(datetime.now(UTC))


def _read_payloads() -> Iterator[dict[str, Any]]:
    for name in ("claude.jsonl", "claude.tools.jsonl"):
        for line in (_PAYLOADS / name).read_text(encoding="utf-8").splitlines():
            yield json.loads(line)["payload"]


def _read_answer(printed: str) -> Answer:
    """Read the output of a hook, which is JSON or nothing."""
    answer = json.loads(printed) if printed.strip() else {}
    more = answer.get("hookSpecificOutput", {})
    return Answer(
        answer.get("systemMessage", ""),
        more.get("additionalContext", ""),
        more.get("permissionDecisionReason", ""),
    )


class Story:
    """A story with its desks, and the page that it becomes."""

    def __init__(self, home: Path) -> None:
        """Start with an empty home."""
        self.home = home
        self._parts: list[Part] = []
        self._desks: list[Desk] = []
        self._variables = {"PAGER": "cat"}

    def __enter__(self) -> Self:
        """Return the story."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all windows."""
        for desk in self._desks:
            desk.__exit__()

    # --- the actors -------------------------------------------------------------------------------

    def prepare(self, files: Mapping[str, str], *, beads: Path | None = None) -> None:
        """Make the repository `shop`, with Passdown and a first commit; the page does not show this."""
        desk = Desk(self.home)
        # A commit in the second in which a session starts would count as its own.
        desk.environment["GIT_COMMITTER_DATE"] = desk.environment["GIT_AUTHOR_DATE"] = f"{MOMENT}Z"
        for line in ("git init --quiet shop", "cd shop", "passdown init --yes"):
            desk.type(line)
        for name, text in files.items():
            desk.save(name, text)
        desk.type("git add .")
        desk.type("git commit --quiet --message Start")
        assert desk.code == 0
        if beads:
            self._use_beads(beads)

    def _use_beads(self, template: Path) -> None:
        programs = self.home.parent / "bin"
        programs.mkdir()
        (programs / "bd").symlink_to(find_bd(BD))
        make_database(BD, self.home / "shop", template)
        self._variables["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self._variables["BEADS_NO_DAEMON"] = "1"

    def sit(self, name: str = "", folder: str = "shop") -> Actor:
        """Add a person at a desk of their own, whose window can be closed."""
        return Actor(self, self._open(folder), name)

    def host(self, name: str = "", folder: str = "shop", session: str = "session-1") -> HostedActor:
        """Add an agent in Claude Code."""
        return HostedActor(self, self._open(folder), name, session)

    def _open(self, folder: str) -> Desk:
        desk = Desk(self.home)
        desk.folder = self.home / folder
        desk.environment.update(self._variables)
        desk.type("script -q /dev/null")
        self._desks.append(desk)
        return desk

    # --- the page ---------------------------------------------------------------------------------

    def says(self, text: str) -> None:
        """Add prose to the page: a heading or a paragraph."""
        self.add(Part(text))

    def add(self, part: Part) -> None:
        """Add a part to the page; commands of the same window go together."""
        last = self._parts[-1] if self._parts else None
        if last and part.kind == last.kind == "console" and part.title == last.title:
            self._parts[-1] = last._replace(text=last.text + part.text)
        else:
            self._parts.append(part)

    def list_parts(self) -> list[Part]:
        """Return all parts; what differs each time is made up."""
        texts = steady([part.text for part in self._parts], str(self.home))
        return [part._replace(text=text) for part, text in zip(self._parts, texts, strict=True)]

    def make_page(self, name: str) -> str:
        """Return the page of this name."""
        blocks = [_fence(part) for part in self.list_parts()]
        test = f"tests/e2e/stories/test_story_{name}.py"
        end = f"This is what `{test}` saw. Ids, times and ages in it are made up."
        return "\n\n".join([blocks[0], _NOTE, *blocks[1:], end]) + "\n"


def _fence(part: Part) -> str:
    if not part.kind:
        return part.text
    mark = "````" if "```" in part.text else "```"
    title = f' title="{part.title}"' if part.title else ""
    return f"{mark}{part.kind}{title}\n{part.text}{mark}"


@contextmanager
def tell(name: str, folder: Path) -> Iterator[Story]:
    """Tell a story; at the end, compare its page with the docs, or write it."""
    home = folder / "home"
    home.mkdir()
    with Story(home) as story:
        try:
            yield story
        finally:
            sys.stdout.write(story.make_page(name))
    compare(PAGES / f"{name}.md", story.make_page(name))


def compare(path: Path, page: str) -> None:
    """Fail with the difference if a page of the docs is not the same; write it if asked to."""
    if _WRITES:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = difflib.unified_diff(kept.splitlines(), page.splitlines(), "the docs", "the story", lineterm="")
    assert page == kept, "\n".join([f"{path.name}: run `python -m tests.stories`", *lines])


def main() -> int:
    """Write the pages again."""
    variables = {**os.environ, "PASSDOWN_STORIES": "write"}
    stories = sorted(str(path) for path in (ROOT / "tests" / "e2e" / "stories").glob("test_story_*.py"))
    recorded = str(
        ROOT / "tests" / "unit" / "cli" / "test_json_answers.py"
    )  # not a page, but written and compared alike
    command = [sys.executable, "-m", "pytest", "-q", *stories, recorded]
    return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
