"""The transcripts of Codex: items of the model's responses, and events that report their outcome.

An event is complete (a command with its exit code, a patch with its files) and comes before the result that
the model sees. Older versions have only calls and results. Whichever comes first counts. A subagent writes
its own transcript, named by its id, in the folder of the day on which it was started.
"""

import json
import re
from collections.abc import Collection, Sequence
from typing import Final

from passdown.core.hosts.transcripts import (
    Object,
    ToolCall,
    TranscriptCollector,
    TranscriptMark,
    TranscriptReader,
    load_line,
)
from passdown.core.json_text import list_at, load_object, number_at, object_at, text_at
from passdown.core.kinds import FactKind
from passdown.core.lazy_regex import pattern
from passdown.hosts.hooks import find_patched

_EXIT: Final = pattern(r"^(?:Process exited with code|Exit code:) (-?\d{1,9})$", re.MULTILINE)
_RUNNING: Final = pattern(r"^Process running with session ID (\d{1,18})$", re.MULTILINE)
_HEAD: Final = 400
"""How many characters of an output can contain the exit code."""

_WANTED: Final = pattern(
    rb'"(?:function_call|custom_tool_call|local_shell_call|UserMessage|CommandExecution|FileChange'
    rb'|session_meta|turn_context|user_message|exec_command_end|patch_apply_end)"'
)
_RESULT: Final = pattern(rb'"(?:function_call|custom_tool_call)_output".*?"call_id":"([^"\\]*)"')
_GLANCE: Final = 600
"""How many bytes of a line can contain its type."""

_SAID: Final = pattern(rb'"(?:agent_message|AgentMessage)"|"role":"assistant"')
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "cmd", "pwsh", "powershell"})
_WITH_SCRIPT: Final = 3


def _wants(line: bytes, waiting: Collection[str]) -> bool:
    """Return whether a line may matter, judging by its start; a result that no call waits for does not."""
    head = line[:_GLANCE]
    if _WANTED.search(head):
        return True
    result = _RESULT.search(head)
    return result is not None and result[1].decode("utf-8", "replace") in waiting


def _fullness(line: bytes) -> int | None:
    """Return how full the context is, from the tokens of the last request and the size of the window."""
    if b'"token_count"' not in line[:_GLANCE]:
        return None
    told = load_object(line)
    used = number_at(told, "payload", "info", "last_token_usage", "total_tokens")
    room = number_at(told, "payload", "info", "model_context_window")
    return min(100, used * 100 // room) if used is not None and room and used >= 0 < room else None


def _take(collector: TranscriptCollector, line: Object) -> None:
    kind, payload = line.get("type"), object_at(line, "payload")
    if kind == "session_meta":
        # The transcript of a forked session begins with that of its parent.
        collector.is_agents = (
            collector.is_agents
            or bool(object_at(payload, "source", "subagent"))
            or (text_at(payload, "thread_source") == "subagent")
        )
        collector.folder = text_at(payload, "cwd") or collector.folder
    elif kind == "turn_context":
        collector.folder = text_at(payload, "cwd") or collector.folder
    elif kind == "response_item":
        _take_item(collector, payload)
    elif kind == "event_msg":
        _take_event(collector, payload, text_at(line, "timestamp"))


def _take_event(collector: TranscriptCollector, event: Object, at: str) -> None:
    kind = event.get("type")
    if kind == "item_completed":
        item = object_at(event, "item")
        name = text_at(item, "id")
        match text_at(item, "type"):
            case "UserMessage":
                _take_prompt(collector, _texts(list_at(item, "content")), name)
            case "CommandExecution":
                _take_ran(collector, item, name)
            case "FileChange":
                _take_patched(collector, item, name, is_done=text_at(item, "status") == "completed")
            case _:  # what the agent said, thought or searched for
                pass
    elif kind == "user_message":
        _take_prompt(collector, text_at(event, "message"), at)
    elif kind == "exec_command_end":
        _take_ran(collector, event, text_at(event, "call_id"))
    elif kind == "patch_apply_end":
        _take_patched(collector, event, text_at(event, "call_id"), is_done=event.get("success") is True)


def _take_prompt(collector: TranscriptCollector, text: str, ref: str) -> None:
    if not collector.is_agents:
        collector.see(FactKind.PROMPT, text, ref)


def _texts(blocks: Sequence[object]) -> str:
    return "\n".join(text for block in blocks if (text := text_at(block, "text")))


def _take_ran(collector: TranscriptCollector, item: Object, name: str) -> None:
    """Take a command that ended; a killed command has no exit code."""
    call = collector.waiting.pop(name, None)
    command = _script(list_at(item, "command")) or (call.texts[0] if call else "")
    code = number_at(item, "exit_code")
    output = text_at(item, "aggregated_output") or text_at(item, "stdout")
    folder = text_at(item, "cwd").removeprefix("file://") or collector.folder
    collector.see_command(command, None if code is None or code < 0 else code, output, name)
    reads = [one for one in list_at(item, "parsed_cmd") if text_at(one, "type") == "read"]
    before, collector.folder = collector.folder, folder
    collector.see_files(FactKind.READ, [path for one in reads if (path := text_at(one, "path"))], name)
    collector.folder = before


def _script(words: Sequence[object]) -> str:
    """Return the script that a shell ran, such as `["/bin/bash", "-lc", "make test"]`."""
    texts = [word for word in words if isinstance(word, str)]
    is_shell = len(texts) == _WITH_SCRIPT and texts[0].rpartition("/")[2].removesuffix(".exe") in _SHELLS
    return texts[2] if is_shell else " ".join(texts)


def _take_patched(collector: TranscriptCollector, item: Object, name: str, *, is_done: bool) -> None:
    collector.waiting.pop(name, None)
    changes = object_at(item, "changes")
    if is_done:
        moved = [path for one in changes.values() if (path := text_at(one, "move_path"))]
        collector.see_files(FactKind.FILE, [*changes, *moved], name)


def _take_item(collector: TranscriptCollector, item: Object) -> None:
    name = text_at(item, "call_id")
    match item.get("type"):
        case "function_call":
            _take_call(collector, text_at(item, "name"), name, _load(text_at(item, "arguments")))
        case "local_shell_call":
            collector.wait(ToolCall(name, FactKind.COMMAND, (_script(list_at(item, "action", "command")),)))
        case "custom_tool_call" if text_at(item, "name") == "apply_patch":
            collector.wait(ToolCall(name, FactKind.FILE, find_patched(text_at(item, "input"))))
        case "function_call_output" | "custom_tool_call_output":
            _take_result(collector, name, text_at(item, "output") or text_at(item, "output", "content"))
        case _:
            pass


def _take_call(collector: TranscriptCollector, tool: str, name: str, given: object) -> None:
    if tool == "apply_patch":
        collector.wait(
            ToolCall(name, FactKind.FILE, find_patched(text_at(given, "input") or text_at(given, "patch")))
        )
    elif tool == "update_plan":
        items = list_at(given, "plan")
        texts = [part for one in items for part in (text_at(one, "step"), text_at(one, "status"))]
        collector.wait(ToolCall(name, FactKind.PLAN, tuple(texts)))
    elif tool == "spawn_agent":
        collector.wait(ToolCall(name, FactKind.START, (tool,)))
    else:
        command = text_at(given, "cmd") or text_at(given, "command")
        collector.wait(ToolCall(name, FactKind.COMMAND, (command or _script(list_at(given, "command")),)))


def _take_result(collector: TranscriptCollector, name: str, output: str) -> None:
    call = collector.waiting.pop(name, None)
    if call is None:
        return
    found = _EXIT.search(output[:_HEAD])
    data = _load(output)
    code = int(found[1]) if found else number_at(data, "metadata", "exit_code")
    match call.kind:
        case FactKind.COMMAND if found is None and _RUNNING.search(output[:_HEAD]):
            collector.wait(call)
        case FactKind.COMMAND if code is not None:
            collector.see_command(call.texts[0], code, text_at(data, "output") or output, call.id)
        case FactKind.FILE if code == 0:
            collector.see_files(FactKind.FILE, call.texts, call.id)
        case FactKind.PLAN if output.startswith("Plan updated"):
            collector.see_whole_plan(list(zip(call.texts[::2], call.texts[1::2], strict=False)), call.id)
        case FactKind.START if agent := text_at(data, "agent_id"):
            collector.agents[agent] = None
        case _:
            pass


def _load(text: str) -> object:
    """Parse JSON nested in JSON; return None if it is not a valid object."""
    if not text.startswith("{"):
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def may_say(line: bytes) -> bool:
    """Return whether a line may hold a message of the agent, judging by its start."""
    return _SAID.search(line[:_GLANCE]) is not None


def say(line: Object) -> str:
    """Return the agent's text in a line: from the event that reports it, or the model's response."""
    payload = object_at(line, "payload")
    match payload.get("type"):
        case "agent_message":
            return text_at(payload, "message").strip()
        case "item_completed" if text_at(payload, "item", "type") == "AgentMessage":
            return _texts(list_at(payload, "item", "content")).strip()
        case "message" if payload.get("role") == "assistant":
            return _texts(list_at(payload, "content")).strip()
        case _:
            return ""


def _words(line: bytes) -> str:
    return say(load_line(line)) if may_say(line) else ""


def _parts(path: str, mark: TranscriptMark) -> Sequence[str]:
    """Return the patterns of the files that subagents write, which may be in the folder of a later day."""
    folder = path.replace("\\", "/").rpartition("/")[0]
    days = folder.rpartition("/")[0]
    return [
        pattern
        for agent in mark.agents
        if agent.replace("-", "").isalnum()
        for pattern in (f"{folder}/rollout-*-{agent}.jsonl", f"{days}/*/rollout-*-{agent}.jsonl")
    ]


READER: Final = TranscriptReader("codex", _wants, _take, _parts, fullness=_fullness, words=_words)
