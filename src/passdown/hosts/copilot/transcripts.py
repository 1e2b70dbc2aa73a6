"""The transcripts of Copilot CLI: events, of which every tool's end names the files that it edited.

Subagents write into the transcript of their session; their lines name them. What our hooks answer stands
there too, but not what the model was told of it.
"""

from collections.abc import Collection, Sequence
from typing import Final

from passdown.core.facts import FactKind
from passdown.core.transcripts import Book, Call, Mark, Object, Tongue, list_at, number_at, object_at, text_at

_WANTED: Final = (b'{"type":"tool.execution_', b'{"type":"user.message"', b'{"type":"session.')
_SHELLS: Final = frozenset({"bash", "powershell"})


def _wants(line: bytes, waiting: Collection[str]) -> bool:
    """Say whether a line is of a kind that matters: most bytes are in what the host tells the model."""
    del waiting
    return line.startswith(_WANTED)


def _take(book: Book, line: Object) -> None:
    data = object_at(line, "data")
    match line.get("type"):
        case "session.start" | "session.resume":
            book.folder = text_at(data, "context", "cwd") or book.folder
        case "user.message":
            # What a session tells its subagent is no word of the person.
            if not line.get("agentId") and not text_at(data, "source"):
                book.see(FactKind.PROMPT, text_at(data, "content"), text_at(line, "id"))
        case "tool.execution_start":
            _take_call(book, data)
        case "tool.execution_complete":
            _take_result(book, data)
        case _:  # what the session costs, and how it ended
            pass


def _take_call(book: Book, data: Object) -> None:
    name, tool = text_at(data, "toolCallId"), text_at(data, "toolName")
    if tool in _SHELLS:
        book.wait(Call(name, FactKind.COMMAND, (text_at(data, "arguments", "command"),)))
    elif tool == "view":
        book.wait(Call(name, FactKind.READ, (text_at(data, "arguments", "path"),)))


def _take_result(book: Book, data: Object) -> None:
    """Take what a tool did; a command that fails is a tool that succeeds; one that goes on has no code."""
    name = text_at(data, "toolCallId")
    call = book.waiting.pop(name, None)
    if data.get("success") is not True:
        return
    edited = [path for one in list_at(data, "fileEdits") if (path := text_at(one, "path"))]
    book.see_files(FactKind.FILE, edited, name)
    if call is None:
        return
    if call.kind is FactKind.COMMAND:
        code = number_at(data, "shellExecution", "exitCode")
        book.see_command(call.texts[0], code, text_at(data, "result", "content"), name)
    elif text_at(data, "toolTelemetry", "properties", "viewType") == "file":
        book.see_files(FactKind.READ, call.texts, name)


def _is_turn_end(line: bytes) -> bool:
    """Say whether a line tells that hooks are called at the end of a turn: all before it was done by then."""
    return line.startswith(b'{"type":"hook.start"') and b'"hookType":"agentStop"' in line


def _parts(path: str, mark: Mark) -> Sequence[str]:
    """Name no other files: subagents write into the same one."""
    del path, mark
    return ()


TONGUE: Final = Tongue("copilot", _wants, _take, _parts, has_own_folder=True, is_turn_end=_is_turn_end)
