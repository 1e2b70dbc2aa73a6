"""The transcripts of Copilot CLI: events, where the end of each tool call names the files it edited.

Subagents write to the transcript of their session, and their lines have their id. The replies of our hooks
are in it too, but not how the host passed them to the model.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from passdown.core.hosts.transcripts import (
    Object,
    ToolCall,
    TranscriptCollector,
    TranscriptMark,
    TranscriptReader,
    load_line,
)
from passdown.core.json_text import list_at, number_at, object_at, text_at
from passdown.core.kinds import FactKind

_WANTED: Final = (b'{"type":"tool.execution_', b'{"type":"user.message"', b'{"type":"session.')
_SHELLS: Final = frozenset({"bash", "powershell"})


def _wants(line: bytes, waiting: Collection[str]) -> bool:
    """Return whether a line is of a kind that matters; most of the file is input for the model."""
    del waiting
    return line.startswith(_WANTED)


def _take(collector: TranscriptCollector, line: Object) -> None:
    data = object_at(line, "data")
    match line.get("type"):
        case "session.start" | "session.resume":
            collector.folder = text_at(data, "context", "cwd") or collector.folder
        case "user.message":
            # What a session tells its subagent is not a prompt of the user.
            if not line.get("agentId") and not text_at(data, "source"):
                collector.see(FactKind.PROMPT, text_at(data, "content"), text_at(line, "id"))
        case "tool.execution_start":
            _take_call(collector, data)
        case "tool.execution_complete":
            _take_result(collector, data)
        case _:  # the cost of the session, and how it ended
            pass


def _take_call(collector: TranscriptCollector, data: Object) -> None:
    name, tool = text_at(data, "toolCallId"), text_at(data, "toolName")
    if tool in _SHELLS:
        collector.wait(ToolCall(name, FactKind.COMMAND, (text_at(data, "arguments", "command"),)))
    elif tool == "view":
        collector.wait(ToolCall(name, FactKind.READ, (text_at(data, "arguments", "path"),)))


def _take_result(collector: TranscriptCollector, data: Object) -> None:
    """Take the result of a tool. A failed command is a successful tool call; a running one has no code."""
    name = text_at(data, "toolCallId")
    call = collector.waiting.pop(name, None)
    if data.get("success") is not True:
        return
    edited = [path for one in list_at(data, "fileEdits") if (path := text_at(one, "path"))]
    collector.see_files(FactKind.FILE, edited, name)
    if call is None:
        return
    if call.kind is FactKind.COMMAND:
        code = number_at(data, "shellExecution", "exitCode")
        collector.see_command(call.texts[0], code, text_at(data, "result", "content"), name)
    elif text_at(data, "toolTelemetry", "properties", "viewType") == "file":
        collector.see_files(FactKind.READ, call.texts, name)


def _is_turn_end(line: bytes) -> bool:
    """Return whether a line reports that end-of-turn hooks are called: everything before it is complete."""
    return line.startswith(b'{"type":"hook.start"') and b'"hookType":"agentStop"' in line


def may_say(line: bytes) -> bool:
    """Return whether a line holds a message of the agent or of a subagent."""
    return line.startswith(b'{"type":"assistant.message"')


def say(line: Object) -> str:
    """Return the message in such a line."""
    return text_at(line, "data", "content").strip() if line.get("type") == "assistant.message" else ""


def _words(line: bytes) -> str:
    """Return the agent's text in a line; a subagent's line has its id."""
    said: Mapping[str, object] = load_line(line) if may_say(line) else {}
    return "" if said.get("agentId") else say(said)


def _parts(path: str, mark: TranscriptMark) -> Sequence[str]:
    """Return no patterns: subagents write to the same file."""
    del path, mark
    return ()


READER: Final = TranscriptReader(
    "copilot", _wants, _take, _parts, has_own_folder=True, is_turn_end=_is_turn_end, words=_words
)
