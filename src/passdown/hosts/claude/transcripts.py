"""The transcripts of Claude Code: one line per message, with a tool call and its result on separate lines.

The exit code of a command is in the text of an error result: `Exit code 2`, a line feed, the output. An error
without an exit code means that the tool did not run. The end of a background command is reported in a
notification.

Subagents write transcripts of their own beside the session's; older versions wrote to the same file and
marked those lines as a side chain.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from passdown.core.hosts.transcripts import (
    Object,
    ToolCall,
    TranscriptCollector,
    TranscriptMark,
    TranscriptReader,
    load_line,
)
from passdown.core.json_text import list_at, object_at, text_at
from passdown.core.kinds import FactKind
from passdown.core.lazy_regex import pattern

_EXIT: Final = pattern(r"(?:Error: )?Exit code (\d{1,9})(?:\n|\Z)")
_COMMAND: Final = pattern(
    r"<command-name>([^<]*)</command-name>.*?<command-args>(.*?)</command-args>", re.DOTALL
)
_ENDED: Final = pattern(
    r"<task-notification>.*?<tool-use-id>([^<]*)</tool-use-id>.*?\(exit code (-?\d{1,9})\)", re.DOTALL
)
_PATHS: Final[Mapping[str, tuple[FactKind, str]]] = MappingProxyType(
    {
        "Write": (FactKind.FILE, "file_path"),
        "Edit": (FactKind.FILE, "file_path"),
        "MultiEdit": (FactKind.FILE, "file_path"),
        "NotebookEdit": (FactKind.FILE, "notebook_path"),
        "Read": (FactKind.READ, "file_path"),
        "NotebookRead": (FactKind.READ, "notebook_path"),
        "Bash": (FactKind.COMMAND, "command"),
        "PowerShell": (FactKind.COMMAND, "command"),
        "TaskCreate": (FactKind.PLAN, "subject"),
    }
)
"""The tools that matter: the kind of fact they produce, and the input member that names it."""

NO_MODEL: Final = "<synthetic>"
"""The model of a message that the host wrote in the agent's place."""

_NOT_SAID: Final = (
    "<local-command-",
    "<task-notification>",
    "<bash-",
    "<system-reminder>",
    "[Request interrupted",
    "Caveat:",
)
"""The beginnings of messages that the host wrote on the user's behalf."""


def _wants(line: bytes, waiting: Collection[str]) -> bool:
    """Return whether a line holds a user message or a tool call; most of the file is neither."""
    del waiting
    if line.startswith(b'{"type":"') and not line.startswith((b'{"type":"user"', b'{"type":"assistant"')):
        return False
    return b'"tool_use"' in line or b'"type":"user"' in line or b'"queued_command"' in line


def _take(collector: TranscriptCollector, line: Object) -> None:
    kind = line.get("type")
    collector.folder = text_at(line, "cwd") or collector.folder
    if kind == "assistant":
        for block in list_at(line, "message", "content"):
            if text_at(block, "type") == "tool_use":
                _take_call(collector, block)
    elif kind == "user":
        _take_message(collector, line)
    elif kind == "attachment" and text_at(line, "attachment", "type") == "queued_command":
        _take_prompt(collector, text_at(line, "attachment", "prompt"), text_at(line, "uuid"))


def _take_message(collector: TranscriptCollector, line: Object) -> None:
    """Take the tool results, or the user's message if there are none."""
    blocks = list_at(line, "message", "content")
    results = [block for block in blocks if text_at(block, "type") == "tool_result"]
    for block in results:
        # A line has one structured result at most, so it is only used if there is a single tool result.
        _take_result(collector, block, line.get("toolUseResult") if len(results) == 1 else None)
    if not results and not _is_hosts(line):
        said = text_at(line, "message", "content") or join_texts(blocks)
        _take_prompt(collector, said, text_at(line, "uuid"))


def _is_hosts(line: Object) -> bool:
    """Return whether the host wrote a message on the user's behalf."""
    return any(line.get(name) is True for name in ("isMeta", "isCompactSummary", "isSidechain"))


def join_texts(blocks: Sequence[object]) -> str:
    """Return the texts of blocks, one below the other."""
    return "\n".join(text for block in blocks if (text := text_at(block, "text")))


def _take_prompt(collector: TranscriptCollector, text: str, ref: str) -> None:
    ended = _ENDED.match(text)
    if ended is not None:
        call = collector.waiting.pop(ended[1], None)
        if call is not None and call.kind is FactKind.COMMAND:
            collector.see_command(call.texts[0], int(ended[2]), "", call.id)
        return
    command = _COMMAND.match(text.strip())
    if command is not None:
        text = f"{command[1]} {command[2].strip()}" if command[2].strip() else ""
    if not text.lstrip().startswith(_NOT_SAID):
        collector.see(FactKind.PROMPT, text, ref)


def _take_call(collector: TranscriptCollector, block: object) -> None:
    name, tool = text_at(block, "id"), text_at(block, "name")
    if tool in _PATHS:
        kind, member = _PATHS[tool]
        collector.wait(ToolCall(name, kind, (text_at(block, "input", member),)))
    elif tool == "TodoWrite":
        items = list_at(block, "input", "todos")
        collector.see_whole_plan([(text_at(one, "content"), text_at(one, "status")) for one in items], name)
    elif tool == "TaskUpdate":
        task = text_at(block, "input", "taskId")
        known = text_at(block, "input", "subject") or collector.plan.get(task, "")
        if task and known:
            collector.number(task, known)
            collector.see_plan(known, text_at(block, "input", "status"), name)


def _take_result(collector: TranscriptCollector, block: object, data: object) -> None:
    call = collector.waiting.pop(text_at(block, "tool_use_id"), None)
    if call is None:
        return
    said = text_at(block, "content") or join_texts(list_at(block, "content"))
    is_error = object_at(block).get("is_error") is True
    if call.kind is FactKind.COMMAND:
        _take_ran(collector, call, said, is_error=is_error, data=data)
    elif not is_error and call.kind is FactKind.PLAN:
        collector.number(text_at(data, "task", "id"), call.texts[0])
        collector.see_plan(call.texts[0], "pending", call.id)
    elif not is_error:
        collector.see_files(call.kind, call.texts, call.id)


def _take_ran(
    collector: TranscriptCollector, call: ToolCall, said: str, *, is_error: bool, data: object
) -> None:
    """Take a command that ran; its exit code is 0 unless the result says otherwise. Wait if it is running."""
    code: int | None = 0
    if is_error:
        found = _EXIT.match(said)
        if found is None:
            return
        code = int(found[1])
    elif text_at(data, "backgroundTaskId"):
        collector.wait(call)
        return
    elif object_at(data).get("interrupted") is True:
        code = None
    elif text_at(data, "returnCodeInterpretation"):
        code = 1
    collector.see_command(call.texts[0], code, said, call.id)
    commit = text_at(data, "gitOperation", "commit", "sha")
    if commit and not any(one.kind is FactKind.COMMIT and one.text == commit for one in collector.seen[-3:]):
        collector.see_commits([commit], call.id)


def _words(line: bytes) -> str:
    """Return the agent's text in a line; text that the host wrote in its place has no model."""
    if b'"type":"text"' not in line or b'"type":"assistant"' not in line:
        return ""
    said = load_line(line)
    is_agents = said.get("type") == "assistant" and not _is_hosts(said)
    if not is_agents or text_at(said, "message", "model") == NO_MODEL:
        return ""
    blocks = list_at(said, "message", "content")
    return join_texts([block for block in blocks if text_at(block, "type") == "text"]).strip()


def _parts(path: str, mark: TranscriptMark) -> Sequence[str]:
    """Return the patterns of the files that the session's subagents write."""
    del mark
    stem = path.removesuffix(".jsonl")
    return (f"{stem}/subagents/*.jsonl", f"{stem}/subagents/*/*.jsonl")


READER: Final = TranscriptReader("claude-code", _wants, _take, _parts, words=_words)
