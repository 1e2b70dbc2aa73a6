"""The transcripts of Claude Code: one line for each message, a call in one and its result in a later one.

A command's exit code is in the text of a result that is an error: `Exit code 2`, a line feed, the output. An
error without it means that the tool did not run. One that runs in the background is told of when it ends.
Subagents have transcripts of their own beside the session's; older versions kept their lines in the same
file, marked as a side chain.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
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
    object_at,
    text_at,
)

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
"""The tools that matter: what they leave behind, and the member of their input that names it."""

_NOT_SAID: Final = (
    "<local-command-",
    "<task-notification>",
    "<bash-",
    "<system-reminder>",
    "[Request interrupted",
    "Caveat:",
)
"""How texts begin that the host wrote in the user's place."""


def _wants(line: bytes, waiting: Collection[str]) -> bool:
    """Say whether a line holds a message of the user, or a call; most bytes are in lines that do neither."""
    del waiting
    if line.startswith(b'{"type":"') and not line.startswith((b'{"type":"user"', b'{"type":"assistant"')):
        return False
    return b'"tool_use"' in line or b'"type":"user"' in line or b'"queued_command"' in line


def _take(book: Book, line: Object) -> None:
    kind = line.get("type")
    book.folder = text_at(line, "cwd") or book.folder
    if kind == "assistant":
        for block in list_at(line, "message", "content"):
            if text_at(block, "type") == "tool_use":
                _take_call(book, block)
    elif kind == "user":
        _take_message(book, line)
    elif kind == "attachment" and text_at(line, "attachment", "type") == "queued_command":
        _take_prompt(book, text_at(line, "attachment", "prompt"), text_at(line, "uuid"))


def _take_message(book: Book, line: Object) -> None:
    """Take results of tools, or else what the user said."""
    blocks = list_at(line, "message", "content")
    results = [block for block in blocks if text_at(block, "type") == "tool_result"]
    for block in results:
        # What a tool says in data is there once: several results in one line have it not.
        _take_result(book, block, line.get("toolUseResult") if len(results) == 1 else None)
    if not results and not _is_hosts(line):
        said = text_at(line, "message", "content") or _texts(blocks)
        _take_prompt(book, said, text_at(line, "uuid"))


def _is_hosts(line: Object) -> bool:
    """Say whether the host wrote a message in the user's place."""
    return any(line.get(name) is True for name in ("isMeta", "isCompactSummary", "isSidechain"))


def _texts(blocks: Sequence[object]) -> str:
    return "\n".join(text for block in blocks if (text := text_at(block, "text")))


def _take_prompt(book: Book, text: str, ref: str) -> None:
    ended = _ENDED.match(text)
    if ended is not None:
        call = book.waiting.pop(ended[1], None)
        if call is not None and call.kind is FactKind.COMMAND:
            book.see_command(call.texts[0], int(ended[2]), "", call.id)
        return
    command = _COMMAND.match(text.strip())
    if command is not None:
        text = f"{command[1]} {command[2].strip()}" if command[2].strip() else ""
    if not text.lstrip().startswith(_NOT_SAID):
        book.see(FactKind.PROMPT, text, ref)


def _take_call(book: Book, block: object) -> None:
    name, tool = text_at(block, "id"), text_at(block, "name")
    if tool in _PATHS:
        kind, member = _PATHS[tool]
        book.wait(Call(name, kind, (text_at(block, "input", member),)))
    elif tool == "TodoWrite":
        items = list_at(block, "input", "todos")
        book.see_whole_plan([(text_at(one, "content"), text_at(one, "status")) for one in items], name)
    elif tool == "TaskUpdate":
        task = text_at(block, "input", "taskId")
        known = text_at(block, "input", "subject") or book.plan.get(task, "")
        if task and known:
            book.number(task, known)
            book.see_plan(known, text_at(block, "input", "status"), name)


def _take_result(book: Book, block: object, data: object) -> None:
    call = book.waiting.pop(text_at(block, "tool_use_id"), None)
    if call is None:
        return
    said = text_at(block, "content") or _texts(list_at(block, "content"))
    is_error = object_at(block).get("is_error") is True
    if call.kind is FactKind.COMMAND:
        _take_ran(book, call, said, is_error=is_error, data=data)
    elif not is_error and call.kind is FactKind.PLAN:
        book.number(text_at(data, "task", "id"), call.texts[0])
        book.see_plan(call.texts[0], "pending", call.id)
    elif not is_error:
        book.see_files(call.kind, call.texts, call.id)


def _take_ran(book: Book, call: Call, said: str, *, is_error: bool, data: object) -> None:
    """Take a command that ran: its exit code is 0 unless the result says so; what goes on is waited for."""
    code: int | None = 0
    if is_error:
        found = _EXIT.match(said)
        if found is None:
            return
        code = int(found[1])
    elif text_at(data, "backgroundTaskId"):
        book.wait(call)
        return
    elif object_at(data).get("interrupted") is True:
        code = None
    elif text_at(data, "returnCodeInterpretation"):
        code = 1
    book.see_command(call.texts[0], code, said, call.id)
    commit = text_at(data, "gitOperation", "commit", "sha")
    if commit and not any(one.kind is FactKind.COMMIT and one.text == commit for one in book.seen[-3:]):
        book.see_commits([commit], call.id)


def _parts(path: str, mark: Mark) -> Sequence[str]:
    """Name where the session's subagents write."""
    del mark
    stem = path.removesuffix(".jsonl")
    return (f"{stem}/subagents/*.jsonl", f"{stem}/subagents/*/*.jsonl")


TONGUE: Final = Tongue("claude-code", _wants, _take, _parts)
