"""The transcripts of Codex: items of the model's responses, and events that say what came of them.

Events are whole (a command with its exit code, a patch with its files), and come before the result that the
model is told; older versions have calls and results only. Whichever comes first counts. A subagent has a
transcript of its own, named by its id, in the folder of the day it was started.
"""

import json
import re
from collections.abc import Collection, Sequence
from typing import Final

from passdown.core.facts import FactKind
from passdown.core.patterns import pattern
from passdown.core.transcripts import (
    Book,
    Call,
    Mark,
    Object,
    Tongue,
    list_at,
    number_at,
    object_at,
    text_at,
)

_EXIT: Final = pattern(r"^(?:Process exited with code|Exit code:) (-?\d{1,9})$", re.MULTILINE)
_RUNNING: Final = pattern(r"^Process running with session ID (\d{1,18})$", re.MULTILINE)
_PATCHED: Final = pattern(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_HEAD: Final = 400
"""Where in an output the exit code stands."""

_WANTED: Final = pattern(
    rb'"(?:function_call|custom_tool_call|local_shell_call|UserMessage|CommandExecution|FileChange'
    rb'|session_meta|turn_context|user_message|exec_command_end|patch_apply_end)"'
)
_RESULT: Final = pattern(rb'"(?:function_call|custom_tool_call)_output".*?"call_id":"([^"\\]*)"')
_GLANCE: Final = 600
"""Where in a line its type stands."""

_SHELLS: Final = frozenset({"bash", "sh", "zsh", "cmd", "pwsh", "powershell"})
_WITH_SCRIPT: Final = 3


def _wants(line: bytes, waiting: Collection[str]) -> bool:
    """Say at a glance whether a line may matter; a result that no call waits for does not."""
    head = line[:_GLANCE]
    if _WANTED.search(head):
        return True
    result = _RESULT.search(head)
    return result is not None and result[1].decode("utf-8", "replace") in waiting


def _fullness(line: bytes) -> int | None:
    """Give how full the context is by what the last request took and what there is room for."""
    if b'"token_count"' not in line[:_GLANCE]:
        return None
    try:
        told: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    used = number_at(told, "payload", "info", "last_token_usage", "total_tokens")
    room = number_at(told, "payload", "info", "model_context_window")
    return min(100, used * 100 // room) if used is not None and room and used >= 0 < room else None


def _take(book: Book, line: Object) -> None:
    kind, payload = line.get("type"), object_at(line, "payload")
    if kind == "session_meta":
        # A session's transcript may begin with that of the one it was forked from.
        book.is_agents = (
            book.is_agents
            or bool(object_at(payload, "source", "subagent"))
            or (text_at(payload, "thread_source") == "subagent")
        )
        book.folder = text_at(payload, "cwd") or book.folder
    elif kind == "turn_context":
        book.folder = text_at(payload, "cwd") or book.folder
    elif kind == "response_item":
        _take_item(book, payload)
    elif kind == "event_msg":
        _take_event(book, payload, text_at(line, "timestamp"))


def _take_event(book: Book, event: Object, at: str) -> None:
    kind = event.get("type")
    if kind == "item_completed":
        item = object_at(event, "item")
        name = text_at(item, "id")
        match text_at(item, "type"):
            case "UserMessage":
                _take_prompt(book, _texts(list_at(item, "content")), name)
            case "CommandExecution":
                _take_ran(book, item, name)
            case "FileChange":
                _take_patched(book, item, name, is_done=text_at(item, "status") == "completed")
            case _:  # what the agent said, thought, or searched for
                pass
    elif kind == "user_message":
        _take_prompt(book, text_at(event, "message"), at)
    elif kind == "exec_command_end":
        _take_ran(book, event, text_at(event, "call_id"))
    elif kind == "patch_apply_end":
        _take_patched(book, event, text_at(event, "call_id"), is_done=event.get("success") is True)


def _take_prompt(book: Book, text: str, ref: str) -> None:
    if not book.is_agents:
        book.see(FactKind.PROMPT, text, ref)


def _texts(blocks: Sequence[object]) -> str:
    return "\n".join(text for block in blocks if (text := text_at(block, "text")))


def _take_ran(book: Book, item: Object, name: str) -> None:
    """Take a command that ended; one that was killed has no exit code."""
    call = book.waiting.pop(name, None)
    command = _script(list_at(item, "command")) or (call.texts[0] if call else "")
    code = number_at(item, "exit_code")
    output = text_at(item, "aggregated_output") or text_at(item, "stdout")
    folder = text_at(item, "cwd").removeprefix("file://") or book.folder
    book.see_command(command, None if code is None or code < 0 else code, output, name)
    reads = [one for one in list_at(item, "parsed_cmd") if text_at(one, "type") == "read"]
    before, book.folder = book.folder, folder
    book.see_files(FactKind.READ, [path for one in reads if (path := text_at(one, "path"))], name)
    book.folder = before


def _script(words: Sequence[object]) -> str:
    """Give what a shell was told to run: `["/bin/bash", "-lc", "make test"]`."""
    texts = [word for word in words if isinstance(word, str)]
    is_shell = len(texts) == _WITH_SCRIPT and texts[0].rpartition("/")[2].removesuffix(".exe") in _SHELLS
    return texts[2] if is_shell else " ".join(texts)


def _take_patched(book: Book, item: Object, name: str, *, is_done: bool) -> None:
    book.waiting.pop(name, None)
    changes = object_at(item, "changes")
    if is_done:
        moved = [path for one in changes.values() if (path := text_at(one, "move_path"))]
        book.see_files(FactKind.FILE, [*changes, *moved], name)


def _take_item(book: Book, item: Object) -> None:
    name = text_at(item, "call_id")
    match item.get("type"):
        case "function_call":
            _take_call(book, text_at(item, "name"), name, _load(text_at(item, "arguments")))
        case "local_shell_call":
            book.wait(Call(name, FactKind.COMMAND, (_script(list_at(item, "action", "command")),)))
        case "custom_tool_call" if text_at(item, "name") == "apply_patch":
            book.wait(Call(name, FactKind.FILE, _patched(text_at(item, "input"))))
        case "function_call_output" | "custom_tool_call_output":
            _take_result(book, name, text_at(item, "output") or text_at(item, "output", "content"))
        case _:
            pass


def _patched(patch: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path.strip() for path in _PATCHED.findall(patch)))


def _take_call(book: Book, tool: str, name: str, given: object) -> None:
    if tool == "apply_patch":
        book.wait(Call(name, FactKind.FILE, _patched(text_at(given, "input") or text_at(given, "patch"))))
    elif tool == "update_plan":
        items = list_at(given, "plan")
        texts = [part for one in items for part in (text_at(one, "step"), text_at(one, "status"))]
        book.wait(Call(name, FactKind.PLAN, tuple(texts)))
    elif tool == "spawn_agent":
        book.wait(Call(name, FactKind.START, (tool,)))
    else:
        command = text_at(given, "cmd") or text_at(given, "command")
        book.wait(Call(name, FactKind.COMMAND, (command or _script(list_at(given, "command")),)))


def _take_result(book: Book, name: str, output: str) -> None:
    call = book.waiting.pop(name, None)
    if call is None:
        return
    found = _EXIT.search(output[:_HEAD])
    data = _load(output)
    code = int(found[1]) if found else number_at(data, "metadata", "exit_code")
    match call.kind:
        case FactKind.COMMAND if found is None and _RUNNING.search(output[:_HEAD]):
            book.wait(call)
        case FactKind.COMMAND if code is not None:
            book.see_command(call.texts[0], code, text_at(data, "output") or output, call.id)
        case FactKind.FILE if code == 0:
            book.see_files(FactKind.FILE, call.texts, call.id)
        case FactKind.PLAN if output.startswith("Plan updated"):
            book.see_whole_plan(list(zip(call.texts[::2], call.texts[1::2], strict=False)), call.id)
        case FactKind.START if agent := text_at(data, "agent_id"):
            book.agents[agent] = None
        case _:
            pass


def _load(text: str) -> object:
    """Read JSON inside of JSON; what is none is nothing."""
    if not text.startswith("{"):
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _parts(path: str, mark: Mark) -> Sequence[str]:
    """Name where the subagents that were started write: the day may be another one by then."""
    folder = path.replace("\\", "/").rpartition("/")[0]
    days = folder.rpartition("/")[0]
    return [
        pattern
        for agent in mark.agents
        if agent.replace("-", "").isalnum()
        for pattern in (f"{folder}/rollout-*-{agent}.jsonl", f"{days}/*/rollout-*-{agent}.jsonl")
    ]


TONGUE: Final = Tongue("codex", _wants, _take, _parts, fullness=_fullness)
