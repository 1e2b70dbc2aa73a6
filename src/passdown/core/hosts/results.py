"""The result that a subagent returns to the agent that started it: its work and its task updates (R208).

A result is read leniently, from anywhere in the last message of a subagent:

1. The last JSON object that has `beadUpdates`, or a `status` and a `summary`, is the result.
2. Missing members are empty, except that the reason to close a task is `completed`. Notes may be a list of
   lines.
3. A part that cannot be understood is left out and reported; the rest is still read.
4. A text with `beadUpdates` but without such an object is malformed.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Final, cast

from passdown.core.digests import sha256
from passdown.core.ids import clean_foreign
from passdown.core.json_text import dump, list_at
from passdown.core.problems import Malformed
from passdown.core.safe_text import one_line, printable
from passdown.errors import FormatError
from passdown.records import record, replace

COMPLETED: Final = "completed"
"""The reason for closing a task if the result gives none."""

MAX_CHARS: Final = 1_000_000
"""How many characters of a message are read, from its end."""

MAX_RESULT: Final = 120_000
"""How many characters a result may have as JSON; it must fit into a journal line."""

_MAX_UPDATES: Final = 100
_MAX_FILES: Final = 1_000
_MAX_TRIES: Final = 200
_ID_CHARS: Final = 12
_DECODER: Final = json.JSONDecoder()
_SUMMARY: Final = 200
_UPDATES: Final = ("beadUpdates", "bead_updates")
_FILES: Final = ("filesModified", "files_modified")

Object = Mapping[str, object]


class ResultStatus(StrEnum):
    """Whether the subagent succeeded (R209)."""

    SUCCESS = "success"
    FAILED = "failed"


class ResultAction(StrEnum):
    """The change to a task (R209)."""

    CLOSE = "close"
    UPDATE = "update"


@record
class TaskUpdate:
    """One task change that a subagent asks for."""

    task: Annotated[str, "The task's id."]
    action: Annotated[ResultAction, "Close it, or add notes to it."]
    reason: Annotated[str, "Why it is closed."] = ""
    notes: Annotated[str, "The text to add to its notes."] = ""


@record
class SubagentResult:
    """The result that a subagent returned."""

    status: Annotated[ResultStatus, "Whether the subagent succeeded."]
    summary: Annotated[str, "What the subagent did."] = ""
    updates: Annotated[tuple[TaskUpdate, ...], "The task changes that it asks for."] = ()
    files: Annotated[tuple[str, ...], "The files that it reports as changed."] = ()
    problems: Annotated[tuple[str, ...], "What could not be understood."] = ()

    @property
    def id(self) -> str:
        """The result's id; it depends only on the content, not on where the result comes from."""
        text = json.dumps(as_data(self), sort_keys=True)
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_CHARS]

    @property
    def title(self) -> str:
        """The summary on one line of limited length."""
        line = one_line(" ".join(self.summary.split())) or "(no summary)"
        return line if len(line) <= _SUMMARY else f"{line[: _SUMMARY - 1]}…"


def read_result(text: str) -> SubagentResult | None:
    """Read the result in a message; None if there is none. Raises `Malformed` for an unreadable one."""
    text = text[-MAX_CHARS:]
    if not any(f'"{name}"' in text for name in (*_UPDATES, "status")):
        return None
    found = [  # 1
        one
        for one in _find_objects(text)
        if any(name in one for name in _UPDATES) or ("status" in one and "summary" in one)
    ]
    if found:
        result = _read(found[-1])
        if len(dump(as_data(result))) > MAX_RESULT:
            raise Malformed(f"is over {MAX_RESULT} characters", "return shorter notes")
        return result
    if any(f'"{name}"' in text for name in _UPDATES):  # 4
        raise Malformed("is not valid JSON", "return the object on its own, or in a JSON code block")
    return None


def as_data(result: SubagentResult) -> dict[str, object]:
    """Return a result as the object that `read_result` reads."""
    return {
        "status": result.status.value,
        "summary": result.summary,
        "beadUpdates": [
            {"id": one.task, "action": one.action.value, "reason": one.reason, "notes": one.notes}
            for one in result.updates
        ],
        "filesModified": list(result.files),
    }


def change_texts(result: SubagentResult, change: Callable[[str], str]) -> SubagentResult:
    """Return a result with a function applied to everything in it that is free text."""
    return replace(
        result,
        summary=change(result.summary),
        updates=tuple(
            replace(one, reason=change(one.reason), notes=change(one.notes)) for one in result.updates
        ),
        files=tuple(map(change, result.files)),
        problems=tuple(map(change, result.problems)),
    )


def _find_objects(text: str) -> Iterator[Object]:
    """Yield the JSON objects in a text that are not part of another, in order.

    Gives up on a text with many braces that begin no object.
    """
    at = text.find("{")
    tries = 0
    while at >= 0 and tries < _MAX_TRIES:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            tries += 1
            end = at + 1
        else:
            yield cast("Object", value)
        at = text.find("{", end)


def _read(value: Object) -> SubagentResult:
    problems: list[str] = []
    status = _text(value.get("status")).strip().lower()
    if status not in set(ResultStatus):
        problems.append(_say("status", status, "is neither success nor failed; treated as failed"))
        status = ResultStatus.FAILED.value
    updates = list(_read_updates(_first(value, _UPDATES), problems))
    files = [one for one in list_at(_first(value, _FILES)) if isinstance(one, str) and one.strip()]
    return SubagentResult(
        status=ResultStatus(status),
        summary=_text(value.get("summary")),
        updates=tuple(updates),
        files=tuple(dict.fromkeys(map(one_line, files[:_MAX_FILES]))),
        problems=tuple(problems),
    )


def _read_updates(value: object, problems: list[str]) -> Iterator[TaskUpdate]:
    asked: list[object] = [cast("Object", value)] if isinstance(value, dict) else list_at(value)
    if value is not None and not isinstance(value, dict | list):
        problems.append("`beadUpdates` is not a list; left out")
    if len(asked) > _MAX_UPDATES:
        problems.append(f"`beadUpdates` has {len(asked)} entries; only the first {_MAX_UPDATES} are read")
    for number, one in enumerate(asked[:_MAX_UPDATES], 1):
        try:
            yield _read_update(one)
        except (Malformed, FormatError) as found:  # 3
            said = found.problem if isinstance(found, Malformed) else found.message
            problems.append(f"update {number}: {said}; left out")


def _read_update(value: object) -> TaskUpdate:
    if not isinstance(value, dict):
        raise Malformed("is not an object")
    members = cast("Object", value)
    if not isinstance(members.get("id"), str):
        raise Malformed("`id` is missing")
    task = clean_foreign(cast("str", members["id"]).strip())
    action = _text(members.get("action")).strip().lower()
    if action not in set(ResultAction):
        raise Malformed(_say("action", action, "is neither close nor update"))
    notes = _text(members.get("notes"))
    if action == ResultAction.UPDATE and not notes.strip():
        raise Malformed(f"there are no `notes` to add to {task}")
    reason = _text(members.get("reason")).strip() or COMPLETED
    return TaskUpdate(
        task=task,
        action=ResultAction(action),
        reason=reason if action == ResultAction.CLOSE else "",
        notes=notes,
    )


def _say(name: str, value: str, problem: str) -> str:
    return f"`{name}` {one_line(value)[:40]!r} {problem}" if value else f"`{name}` is missing"


def _first(value: Object, names: tuple[str, ...]) -> object:
    return next((value[name] for name in names if name in value), None)


def _text(value: object) -> str:
    """Return a text, or the lines of a list, in a form that can be shown and stored."""
    lines = list_at(value)
    text = "\n".join(one for one in lines if isinstance(one, str)) if lines else value
    return printable(text.replace("\r\n", "\n")) if isinstance(text, str) else ""
