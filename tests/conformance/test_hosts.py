"""Every host keeps the promises of `Host`, one outside the package too."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from passdown import hosts
from passdown.core.hosts.hook_calls import HookPoint
from passdown.core.hosts.installs import PLUGIN, PLUGIN_ID
from passdown.hosts import HOSTS
from passdown.ports.host import Host
from passdown.testing.conformance.host import HostConformance, RecordedTool
from tests.hosts import acme

FOLDER: Final = Path(__file__).parents[1] / "hosts"
ROWS: Final = {row.names[0]: row for row in HOSTS.rows}


def recorded(name: str) -> list[tuple[Mapping[str, object], HookPoint | None]]:
    lines = (FOLDER / "payloads" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    read = [json.loads(line) for line in lines]
    return [(one["payload"], HookPoint(one["moment"]) if one["moment"] else None) for one in read]


def recorded_tools(name: str, *more: tuple[str, object, tuple[str, ...], str]) -> list[RecordedTool]:
    """Give what was recorded before a tool, and the same with other tools and inputs."""
    lines = (FOLDER / "payloads" / f"{name}.tools.jsonl").read_text(encoding="utf-8").splitlines()
    read = [json.loads(line) for line in lines]
    told = [
        RecordedTool(one["payload"], one["tool"], tuple(one["paths"]), one["command"], one["subagent"])
        for one in read
    ]
    first = told[0].payload
    return told + [
        RecordedTool({**first, "tool_name": tool, "tool_input": given}, tool, paths, command)
        for tool, given, paths, command in more
    ]


def transcript(pattern: str) -> bytes:
    return next(iter(sorted((FOLDER / "recordings").glob(pattern)))).read_bytes()


def note_in_json(settings: bytes | None, command: Sequence[str]) -> bytes:
    """Note a plugin as hosts with settings in JSON do, in their own layout."""
    data: dict[str, Any] = json.loads(settings) if settings and settings.strip() else {}
    places, plugins = data.setdefault("extraKnownMarketplaces", {}), data.setdefault("enabledPlugins", {})
    match list(command):
        case ["plugin", "marketplace", "add", folder]:
            places[PLUGIN] = {"source": {"source": "directory", "path": folder}}
        case ["plugin", "marketplace", "remove", name]:
            del places[name]
        case ["plugin", "install", name]:
            plugins[name] = True
        case ["plugin", "uninstall", name]:
            del plugins[name]
    return json.dumps(data, indent=2).encode() + b"\n"


def note_in_toml(settings: bytes | None, command: Sequence[str]) -> bytes:
    """Note a plugin as Codex does: at the end, with a line end before it."""
    text = (settings or b"").decode()
    plugin = f'\n[plugins."{PLUGIN_ID}"]\nenabled = true\n'
    text = text if not text or text.endswith("\n") else f"{text}\n"
    match list(command):
        case ["plugin", "marketplace", "add", folder]:
            text += f'\n[marketplaces.{PLUGIN}]\nsource = "{folder}"\n'
        case ["plugin", "marketplace", "remove", name]:
            text = text.partition(f"\n[marketplaces.{name}]")[0]
        case ["plugin", "add", _]:
            text = text.replace(plugin, "") + plugin
        case _:
            text = text.replace(plugin, "")
    assert tomllib.loads(text) is not None
    return text.encode()


class TestClaude(HostConformance):
    """Claude Code."""

    row = ROWS["claude"]
    transcript = transcript("claude-code-work/*.jsonl")
    status = json.loads((FOLDER / "payloads" / "claude.status.json").read_text(encoding="utf-8"))
    settings = (None, b'{"model":  "opus",\r\n"statusLine": {"type": "command", "command": "mine"}}')

    def payloads(self) -> Sequence[tuple[Mapping[str, object], HookPoint | None]]:
        """Give what was recorded."""
        return recorded("claude")

    def tool_calls(self) -> Sequence[RecordedTool]:
        """Give what was recorded, and tools that were not."""
        edits = [{"old_string": "a", "new_string": "b"}]
        return recorded_tools(
            "claude",
            ("MultiEdit", {"file_path": "/r/ä b\n.py", "edits": edits}, ("/r/ä b\n.py",), ""),
            ("NotebookEdit", {"notebook_path": "/r/a.ipynb", "new_source": "x"}, ("/r/a.ipynb",), ""),
            ("Write", {"file_path": "C:\\r\\'a\".py", "content": ""}, ("C:\\r\\'a\".py",), ""),
            ("Edit", {}, (), ""),
            ("mcp__notes__Edit", {"file_path": "/r/a.py"}, (), ""),
        )

    def obey(self, settings: bytes | None, command: Sequence[str]) -> bytes | None:
        """Note the plugin."""
        return note_in_json(settings, command)


class TestCodex(HostConformance):
    """Codex."""

    row = ROWS["codex"]
    transcript = transcript("codex-work/*.jsonl")
    settings = (None, b"# mine\nmodel = 'x'  # best", b"")

    def payloads(self) -> Sequence[tuple[Mapping[str, object], HookPoint | None]]:
        """Give what was recorded."""
        return recorded("codex")

    def tool_calls(self) -> Sequence[RecordedTool]:
        """Give what was recorded, and patches that were not."""
        patch = "*** Begin Patch\r\n*** Delete File: ä'b \".txt\r\n*** Add File: d/e.txt\n+*** Add File: no\n"
        shell = f"apply_patch <<'EOF'\n{patch}EOF"
        paths = ("ä'b \".txt", "d/e.txt")
        return recorded_tools(
            "codex",
            ("apply_patch", {"command": patch}, paths, ""),
            ("apply_patch", {"command": "*** Add File: \n"}, (), ""),
            ("Bash", {"command": shell}, paths, shell),
            ("Bash", {"command": f"cat '{patch}'"}, (), f"cat '{patch}'"),
            ("mcp__notes__edit", {"command": patch}, (), ""),
        )

    def obey(self, settings: bytes | None, command: Sequence[str]) -> bytes | None:
        """Note the plugin."""
        return note_in_toml(settings, command)


class TestCopilot(HostConformance):
    """Copilot CLI."""

    row = ROWS["copilot"]
    transcript = transcript("copilot-work/**/*.jsonl")
    settings = (None, b'{"theme": "dark"}')

    def payloads(self) -> Sequence[tuple[Mapping[str, object], HookPoint | None]]:
        """Give what was recorded."""
        return recorded("copilot")

    def tool_calls(self) -> Sequence[RecordedTool]:
        """Give what was recorded, and a tool that was not."""
        return recorded_tools("copilot", ("Write", {"path": "new.txt", "file_text": "x"}, ("new.txt",), ""))

    def test_a_subagent_belongs_to_the_session_that_started_it(self, host: Host) -> None:
        """It has an id of its own, which names no session of ours."""
        (by,) = [one for one in self.tool_calls() if one.subagent]
        call = host.read_call(by.payload)

        assert call is not None
        assert call.session == by.payload["parent_agent_id"] != by.payload["session_id"]
        assert call.subagent_type == "general-purpose"

    def obey(self, settings: bytes | None, command: Sequence[str]) -> bytes | None:
        """Note the plugin."""
        return note_in_json(settings, command)


class TestAcme(HostConformance):
    """A host that does not exist, and is not part of the package."""

    row = acme.ROW
    transcript = b'{"no": "1", "said": "fix it"}\n{"other": 1}\n{"no": "2", "wrote": "a.py"}\n'

    def payloads(self) -> Sequence[tuple[Mapping[str, object], HookPoint | None]]:
        """Give what it would tell."""
        moments = {
            "begin": HookPoint.START,
            "ask": HookPoint.PROMPT,
            "rest": HookPoint.TURN_END,
            "finish": HookPoint.END,
        }
        known = [({"event": event, "run": "r-1", "log": ""}, point) for event, point in moments.items()]
        return [*known, ({"event": "tool", "run": "r-1"}, None)]

    def tool_calls(self) -> Sequence[RecordedTool]:
        """Give what it would tell."""
        told = {"event": "use", "run": "r-1", "cwd": "/r", "by": "r-2"}
        return [
            RecordedTool({**told, "uses": "pen", "files": ["a", "b c"]}, "pen", ("a", "b c"), "", "r-2"),
            RecordedTool({**told, "uses": "shell", "runs": "ls"}, "shell", (), "ls", "r-2"),
        ]

    def is_denial(self, answer: Mapping[str, object]) -> bool:
        """Tell its answer apart."""
        return "stop" in answer

    def obey(self, settings: bytes | None, command: Sequence[str]) -> bytes | None:
        """Note the plugin."""
        return note_in_json(settings, command)


def test_every_host_is_tried() -> None:
    tried = {suite.row.names[0] for suite in (TestClaude, TestCodex, TestCopilot)}

    folders = {path.parent.name for path in Path(hosts.__file__).parent.glob("*/__init__.py")}

    assert tried == set(ROWS) == folders
