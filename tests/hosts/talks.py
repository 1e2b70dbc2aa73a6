"""A person who talks to one process of a host for as long as it lives."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

from tests.hosts.drivers import COPILOT, QUIET, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Step

_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
Message = dict[str, Any]


class Pipe:
    """A program that is told, and tells, one object of JSON on each line."""

    def __init__(self, command: Sequence[str], place: Ground, variables: Mapping[str, str]) -> None:
        """Start it in the project, with nothing of our environment."""
        self._process = subprocess.Popen(
            command,
            cwd=place.root,
            env={"HOME": str(place.home), "PATH": _PATH, "LANG": "C.UTF-8", **place.variables, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def tell(self, **message: object) -> None:
        """Tell it something."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def hear(self, is_last: Callable[[Message], bool]) -> list[Message]:
        """Hear what it says, to the last that is waited for."""
        assert self._process.stdout is not None
        heard: list[Message] = []
        for line in self._process.stdout:
            heard.append(json.loads(line))
            if is_last(heard[-1]):
                return heard
        raise AssertionError(f"the host is gone; it said: {heard}")

    def kill(self) -> None:
        """Kill it, and what it started: some of these programs run another one that does the work."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def __enter__(self) -> Self:
        """Talk."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, found: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill it: nothing may depend on its end."""
        self.kill()


class ClaudeTalk(Pipe):
    """One process of Claude Code."""

    def __init__(self, program: str, place: Ground, model: Model, *options: str) -> None:
        """Start it."""
        self._model, self._place = model, place
        self.session = ""
        command = [
            program,
            *("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
            *("--permission-mode", "acceptEdits", "--allowedTools", "Bash,Edit,Write,Read,Agent,Task"),
            *options,
        ]
        super().__init__(
            command, place, {"ANTHROPIC_BASE_URL": place.address, "ANTHROPIC_API_KEY": "test", **QUIET}
        )

    def say(self, text: str, *steps: Step) -> list[Message]:
        """Say something, wait for the answer, and give what the model was sent for it."""
        before = len(self._model.requests)
        self._model.prepare(steps, str(self._place.root))
        self.tell(type="user", message={"role": "user", "content": text})
        heard = self.hear(lambda one: one.get("type") == "result")
        self.session = heard[-1]["session_id"]
        return list(self._model.requests[before:])

    def notices(self) -> list[str]:
        """Give what the host showed the person for our hooks, as its transcript tells."""
        paths = (self._place.home / ".claude" / "projects").rglob("*.jsonl")
        lines = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
        shown = [one["attachment"] for one in lines if one.get("type") == "attachment"]
        return [one["content"] for one in shown if one.get("type") == "hook_system_message"]


class CodexTalk(Pipe):
    """One process of Codex, as an editor runs it; the person trusts all hooks first."""

    def __init__(self, program: str, place: Ground, model: Model, thread: str = "") -> None:
        """Trust what there is, and begin a conversation, or go on with one."""
        trusted = {} if thread else list_hooks(program, place)
        with (place.home / ".codex" / "config.toml").open("a", encoding="utf-8") as file:
            file.writelines(
                f'[hooks.state."{key}"]\ntrusted_hash = "{one}"\n' for key, one in trusted.items()
            )
        self._model, self._place = model, place
        self._heard: list[Message] = []
        super().__init__([program, "app-server"], place, {})
        _greet(self)
        go_on = {"threadId": thread} if thread else {}
        method = "thread/resume" if thread else "thread/start"
        self.tell(id=2, method=method, params={"cwd": str(place.root), **go_on})
        begun = self.hear(lambda one: one.get("id") == 2)
        assert "result" in begun[-1], begun[-1]
        self.session: str = begun[-1]["result"]["thread"]["id"]

    def say(self, text: str, *steps: Step) -> list[Message]:
        """Say something, wait for the answer, and give what the model was sent for it."""
        before = len(self._model.requests)
        self._model.prepare(steps, str(self._place.root))
        said = [{"type": "text", "text": text}]
        self.tell(id=3, method="turn/start", params={"threadId": self.session, "input": said})
        self._heard += self.hear(lambda one: one.get("method") == "turn/completed")
        return list(self._model.requests[before:])

    def notices(self) -> list[str]:
        """Give what the host showed the person for our hooks."""
        return self._entries("warning")

    def failures(self) -> list[str]:
        """Give what the host said about hooks that failed."""
        return self._entries("error")

    def _entries(self, kind: str) -> list[str]:
        ended = [one["params"]["run"] for one in self._heard if one.get("method") == "hook/completed"]
        return [entry["text"] for run in ended for entry in run["entries"] if entry["kind"] == kind]


class CopilotTalk(Pipe):
    """One process of Copilot, as an editor runs it."""

    def __init__(self, program: str, place: Ground, model: Model) -> None:
        """Begin a conversation."""
        self._model, self._place = model, place
        address = {"COPILOT_PROVIDER_BASE_URL": f"{place.address}/v1"}
        super().__init__([program, "--acp", "--allow-all-paths"], place, {**COPILOT, **address})
        self._ask(1, "initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        begun = self._ask(2, "session/new", {"cwd": str(place.root), "mcpServers": []})
        self.session: str = begun["result"]["sessionId"]

    def say(self, text: str, *steps: Step) -> list[Message]:
        """Say something, wait for the answer, and give what the model was sent for it."""
        before = len(self._model.requests)
        self._model.prepare(steps, str(self._place.root))
        said = [{"type": "text", "text": text}]
        self._ask(3, "session/prompt", {"sessionId": self.session, "prompt": said})
        return [one for one in self._model.requests[before:] if one.get("tools")]

    def _ask(self, name: int, method: str, about: Mapping[str, object]) -> Message:
        self.tell(jsonrpc="2.0", id=name, method=method, params=about)
        return self.hear(lambda one: one.get("id") == name and "method" not in one)[-1]


def list_hooks(program: str, place: Ground) -> dict[str, str]:
    """Ask Codex for the hash by which it would trust each hook."""
    with Pipe([program, "app-server"], place, {}) as server:
        _greet(server)
        server.tell(id=2, method="hooks/list", params={"cwds": [str(place.root)]})
        told = server.hear(lambda one: one.get("id") == 2)[-1]
    return {hook["key"]: hook["currentHash"] for hook in told["result"]["data"][0]["hooks"]}


def _greet(server: Pipe) -> None:
    about = {"name": "x", "title": "x", "version": "1"}
    server.tell(id=1, method="initialize", params={"clientInfo": about})
    server.hear(lambda one: one.get("id") == 1)
    server.tell(method="initialized")
