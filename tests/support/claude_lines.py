"""A transcript as Claude Code writes it, made line by line."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from passdown.records import record
from tests.looks import hands_on


@record
class ClaudeTranscript:
    """What a person and an agent said and did, in the order in which it is added."""

    path: Path
    root: Path
    session: str = "h-1"
    tell_time: Callable[[], str] = lambda: "2026-01-11T12:00:00.000Z"

    def ask(self, prompt: str) -> None:
        """Let the person say something."""
        self._add("user", {"role": "user", "content": prompt})

    def say(self, text: str, *, is_agents: bool = False) -> None:
        """Let the agent say something, or one of its subagents."""
        self._add(
            "assistant",
            {"role": "assistant", "content": [{"type": "text", "text": text}]},
            is_agents=is_agents,
        )

    def run(self, command: str, code: int = 0, output: str = "") -> None:
        """Let the agent run a command."""
        failed = f"Exit code {code}\n{output}" if code else output
        self._use("Bash", {"command": command}, failed, is_error=bool(code))

    def edit(self, path: str) -> None:
        """Let the agent edit a file."""
        self._use("Edit", {"file_path": str(self.root / path)}, "done")

    def plan(self, **items: str) -> None:
        """Let the agent make its plan: each item, and how far it is."""
        self.plan_all({text.replace("_", " "): status for text, status in items.items()})

    def plan_all(self, items: Mapping[str, str]) -> None:
        """Let the agent make its plan of items in any words."""
        todos = [{"content": text, "status": status} for text, status in items.items()]
        self._use("TodoWrite", {"todos": todos}, "done")

    @hands_on
    def _use(self, tool: str, given: object, answer: str, *, is_error: bool = False) -> None:
        name = f"toolu_{self._size()}"
        call = {"type": "tool_use", "id": name, "name": tool, "input": given}
        self._add("assistant", {"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": name, "content": answer, "is_error": is_error}
        self._add("user", {"role": "user", "content": [result]})

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @hands_on
    def _add(self, kind: str, message: object, *, is_agents: bool = False) -> None:
        line = {
            "parentUuid": None,
            "isSidechain": is_agents,
            "type": kind,
            "message": message,
            "uuid": f"{self.path.stem}-{self._size()}",
            "timestamp": self.tell_time(),
            "cwd": str(self.root),
            "sessionId": self.session,
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
