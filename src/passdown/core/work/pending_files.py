"""The seed's files of queued tracker changes, rendered from the outbox (R191, R192, R199 to R201).

`pending_updates.jsonl` and `pending_closes.jsonl` have a JSON object on each line; ours name their operation.
A line without an operation is from another tool and is imported once. The seed's own shell writes arguments
without quotes, so such a record is parsed by the words around them.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, NamedTuple

from passdown.core.coordination.operations import RANDOM_BYTES, fingerprint, is_operation, make_operation
from passdown.core.coordination.tasks import COMPLETED
from passdown.core.digests import sha256
from passdown.core.json_text import dump, list_at, load_object, text_at
from passdown.core.lazy_regex import pattern
from passdown.core.times import parse_instant, render_seconds
from passdown.core.work.operations import WAITS, OperationAction, SharedOperation, make_text_safe
from passdown.records import record

SYNC_FAILED: Final = "sync_failed_after_retries"

_RECORD: Final = '{"op"'
_ARGUMENTS: Final = '"args": ['
_AFTER: Final = '], "ts": "'
_NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OPTION: Final = pattern(r"(?:^|(?<=\s))--(?:status|notes|append-notes|reason)(?=\s|$)")
_KEY: Final = 80
_NOTES: Final = ("--append-notes", "--notes")


class PendingRecord(NamedTuple):
    """One record of a pending file."""

    source: str
    """The lines it was read from."""
    op: str
    task: str
    key: str
    arguments: Sequence[str]
    at: datetime
    operation: str = ""
    """The operation that it renders; empty if another tool wrote it."""


@record
class PendingFile:
    """The contents of a pending file."""

    records: Annotated[tuple[PendingRecord, ...], "The records that could be read."] = ()
    unreadable: Annotated[tuple[str, ...], "The lines that could not be read, unchanged."] = ()


# --- written ----------------------------------------------------------------------------------------


def render_pending(operations: Iterable[SharedOperation], kept: Iterable[str] = ()) -> str:
    """Render the records of operations, after the lines that could not be read."""
    return "".join(f"{line}\n" for line in (*kept, *map(_render, operations)))


def _render(operation: SharedOperation) -> str:
    is_close = operation.action is OperationAction.CLOSE
    note = ["--append-notes", operation.note] if operation.note else []
    arguments = ["--reason", operation.reason] if is_close else note
    values: dict[str, object] = {
        "op": operation.action.value,
        "id": operation.task,
        "idempotencyKey": operation.key,
        "args": arguments,
        "ts": render_seconds(operation.at),
        "retries": operation.tries,
        "operation": operation.id,
    }
    if is_close and operation.note:
        values["notes"] = operation.note
    return dump(values)


def is_rendered(operation: SharedOperation) -> bool:
    """Return whether an operation is in the seed's files: after the last attempt, until it is settled.

    A record that was imported from there stays until then too.
    """
    return operation.is_waiting and (operation.tries >= len(WAITS) or bool(operation.record))


def render_unsynced(operation: SharedOperation) -> str:
    """Render the file that says that a sync is still due (R192)."""
    values = {
        "timestamp": render_seconds(operation.at),
        "agentId": operation.agent,
        "reason": SYNC_FAILED,
        "operation": operation.id,
    }
    return f"{json.dumps(values, indent=2, ensure_ascii=False)}\n"


def render_unsynced_tasks(tasks: Iterable[str]) -> str:
    """Render the list of tasks that may not be synced, one id per line (R191)."""
    return "".join(f"{task}\n" for task in tasks)


# --- read -------------------------------------------------------------------------------------------


def parse_pending(text: str) -> PendingFile:
    """Parse a pending file; lines that are not a record are kept unchanged.

    1. A record is a line of JSON.
    2. The seed's shell does not quote what it inserts, so such a record may have several lines.
    """
    records: list[PendingRecord] = []
    unreadable: list[str] = []
    for source in _split(text):
        found = _read_json(source) or _read_template(source)  # 1, 2
        if found is None:
            unreadable.append(source)
        else:
            records.append(found)
    return PendingFile(records=tuple(records), unreadable=tuple(unreadable))


def _split(text: str) -> Iterator[str]:
    """Yield the records of a file, each with the lines up to the next record."""
    lines: list[str] = []
    for line in text.split("\n"):
        if lines and (line.startswith(_RECORD) or _read_json("\n".join(lines)) is not None):
            yield "\n".join(lines)
            lines = []
        if lines or line.strip():
            lines.append(line)
    if lines:
        yield "\n".join(lines).rstrip("\n")


def _read_json(source: str) -> PendingRecord | None:
    members = load_object(source) or {}
    op, task = text_at(members, "op"), text_at(members, "id")
    if not isinstance(members.get("args"), list) or not op or not task:
        return None
    operation = text_at(members, "operation")
    extra = ["--notes", notes] if (notes := text_at(members, "notes")) else []
    return PendingRecord(
        source,
        op,
        task,
        text_at(members, "idempotencyKey"),
        [*map(str, list_at(members, "args")), *extra],
        parse_instant(text_at(members, "ts")) or _NO_TIME,
        operation if is_operation(operation) else "",
    )


def _read_template(source: str) -> PendingRecord | None:
    """Parse a record in the form that the seed's shell writes, whatever was inserted."""
    head, is_open, rest = source.partition(_ARGUMENTS)
    inserted, is_closed, tail = rest.rpartition(_AFTER)
    values = (head.partition(f'"{name}": "')[2] for name in ("op", "id", "idempotencyKey"))
    op, task, key = (value.partition('"')[0] for value in values)
    if not (is_open and is_closed and op and task):
        return None
    at = parse_instant(tail.partition('"')[0]) or _NO_TIME
    return PendingRecord(source, op, task, key, _read_arguments(inserted), at)


def _read_arguments(inserted: str) -> Sequence[str]:
    """Split arguments that lost their quotes: the value of an option ends where the next one begins."""
    reason = '"--reason", "'
    if inserted.startswith(reason):
        return ["--reason", inserted.removeprefix(reason).removesuffix('"')]
    starts = [match.start() for match in _OPTION.finditer(inserted)]
    ends = [*starts[1:], len(inserted)]
    words = [inserted[start:end].strip() for start, end in zip(starts, ends, strict=False)]
    return [part.strip() for word in words for part in word.partition(" ")[::2]]


# --- imported ---------------------------------------------------------------------------------------


def read_record(record: PendingRecord, agent: str) -> SharedOperation | None:
    """Return the operation that another tool's record asks for; None if we have no such operation.

    1. A close, or an update that sets the status to closed, closes the task.
    2. An update with notes adds them, whatever else it sets.
    3. An update that starts the work is a claim, which is not repeated.

    It belongs to the agent that its key names, else to `agent`, which imports it. It is unknown whether it
    was done, so it counts as done if the notes contain the text anywhere.
    """
    options = dict(zip(record.arguments[::2], record.arguments[1::2], strict=False))
    status = options.get("--status", "")
    note = next((options[name] for name in _NOTES if options.get(name)), "")
    if record.op == OperationAction.CLOSE or status == "closed":  # 1
        action = OperationAction.CLOSE
    elif record.op == OperationAction.UPDATE and note:  # 2
        action = OperationAction.UPDATE
    elif record.op == OperationAction.UPDATE and status == "in_progress":  # 3
        action = OperationAction.CLAIM
    else:
        return None
    is_close = action is OperationAction.CLOSE
    return SharedOperation(
        id=record.operation or make_operation(record.at, _digest(record.source)),
        action=action,
        at=record.at,
        agent=_author(record, agent),
        task=make_text_safe(record.task),
        reason=make_text_safe(options.get("--reason") or COMPLETED) if is_close else "",
        note=make_text_safe(note),
        before=fingerprint(""),
        record=make_text_safe(record.key or record.source[:_KEY]),
    )


def _author(record: PendingRecord, agent: str) -> str:
    """Return the agent in a key of the form `<agent>_<unix seconds>_<op>_<task>` (R201)."""
    named, _, rest = record.key.partition(f"_{int(record.at.timestamp())}_{record.op}_")
    return make_text_safe(named) if named and rest else agent


def _digest(text: str) -> bytes:
    """Return bytes for the id of an imported operation that depend only on its text."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:RANDOM_BYTES]


def read_unsynced(text: str, agent: str) -> SharedOperation | None:
    """Return the sync that an `unsynced.json` asks for; None if it cannot be read."""
    members = load_object(text)
    if members is None:
        return None
    at = parse_instant(text_at(members, "timestamp")) or _NO_TIME
    operation = text_at(members, "operation")
    return SharedOperation(
        id=operation if is_operation(operation) else make_operation(at, _digest(text)),
        action=OperationAction.SYNC,
        at=at,
        agent=agent,
        record=make_text_safe(f"{text_at(members, 'agentId')}_{int(at.timestamp())}_sync_"),
    )
