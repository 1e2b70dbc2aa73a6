"""The seed's files of what waits: written as renderings, and read once where another tool left something."""

import json
import shutil
import subprocess
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.coordination.operations import is_operation
from passdown.core.work.operations import OperationAction, Outcome, SharedOperation, make_text_safe
from passdown.core.work.pending_files import (
    PendingRecord,
    is_rendered,
    parse_pending,
    read_record,
    read_unsynced,
    render_pending,
    render_unsynced,
)
from passdown.errors import StorageError, TrackerError
from passdown.services.operations.waiting import find_waiting
from passdown.services.work import tracker_changes
from passdown.services.work.pending_files import take_in_files, update_files
from tests.support.sessions import NOON, with_parts
from tests.unit.coordination.test_outbox import Desk, make

OP = "019bad21-5400-7000-8000-00000000000a"
SHELL = """
AGENT_ID="T-1"
mkdir -p .conductor
persist_pending_update() {
  local TASK_ID="$1"
  shift
  local ARGS="$@"
  NOW=$(date -u +"%Y-%m-%dT%H:%M:%SZ")
  IDEM_KEY="${AGENT_ID}_$(date +%s)_update_${TASK_ID}"
  cat >> ".conductor/pending_updates.jsonl" << EOF
{"op": "update", "id": "$TASK_ID", "idempotencyKey": "$IDEM_KEY", "args": [$ARGS], "ts": "$NOW", "retries": 3}
EOF
}
persist_pending_close() {
  local TASK_ID="$1"
  local REASON="$2"
  NOW=$(date -u +"%Y-%m-%dT%H:%M:%SZ")
  IDEM_KEY="${AGENT_ID}_$(date +%s)_close_${TASK_ID}"
  cat >> ".conductor/pending_closes.jsonl" << EOF
{"op": "close", "id": "$TASK_ID", "idempotencyKey": "$IDEM_KEY", "args": ["--reason", "$REASON"], \
"ts": "$NOW", "retries": 3}
EOF
}
"""


@pytest.fixture
def desk() -> Desk:
    """Give a project whose tracker is outside."""
    return Desk()


def one_record(text: str) -> PendingRecord:
    """Read a file with one record."""
    found = parse_pending(text)
    assert found.unreadable == ()
    (record,) = found.records
    return record


def shell_line(op: str, arguments: str, task: str = "bd-42") -> str:
    """Write a record as the seed's shell does."""
    return (
        f'{{"op": "{op}", "id": "{task}", "idempotencyKey": "T-1_1766646000_{op}_{task}", '
        f'"args": [{arguments}], "ts": "2025-12-25T07:00:00Z", "retries": 3}}\n'
    )


@given(note=st.text(max_size=80).map(make_text_safe), task=st.text("abc-:. ", min_size=1, max_size=20))
def test_records_of_ours_are_read_back_as_their_operation(note: str, task: str) -> None:
    update = make(id=OP, note=note, task=task, tries=3)
    close = make(OperationAction.CLOSE, id=OP, note=note, reason="done -- it", task=task, tries=3)

    for operation in (update, close):
        record = one_record(render_pending([operation]))
        assert (record.operation, record.task, record.at) == (OP, task, NOON)
        found = read_record(record, "amber")
        if operation.note or operation is close:
            assert found is not None
            assert (found.action, found.note, found.reason) == (operation.action, note, operation.reason)


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        (
            "--notes IN_PROGRESS: RED phase - writing failing test",
            "IN_PROGRESS: RED phase - writing failing test",
        ),
        ('--notes say "hi", then \\ go', 'say "hi", then \\ go'),
        ("--notes one\ntwo\n\nthree", "one\ntwo\n\nthree"),
        ("--notes a --status in_progress", "a"),
        ("--status open --notes a -- b", "a -- b"),
        ('"--notes", "quoted"', "quoted"),
    ],
)
def test_what_the_shell_of_the_seed_wrote_without_quotes_is_understood(arguments: str, note: str) -> None:
    record = one_record(shell_line("update", arguments))

    found = read_record(record, "amber")

    assert found is not None
    assert (found.action, found.task, found.note) == (OperationAction.UPDATE, "bd-42", note)
    assert found.key == "T-1_1766646000_update_bd-42"
    assert found.at == datetime(2025, 12, 25, 7, tzinfo=UTC)
    assert is_operation(found.id)
    assert found.agent == "T-1"
    again = read_record(one_record(shell_line("update", arguments)), "birch")
    assert again is not None
    assert again.id == found.id


@pytest.mark.parametrize("reason", ["completed", 'it said "no"', "two\nlines", "$(touch x)", ""])
def test_a_reason_that_breaks_the_json_of_the_shell_is_kept(reason: str) -> None:
    found = read_record(one_record(shell_line("close", f'"--reason", "{reason}"')), "amber")

    assert found is not None
    assert (found.action, found.reason) == (OperationAction.CLOSE, reason or "completed")


def test_several_records_are_told_apart_and_other_lines_stay() -> None:
    text = (
        "what is this\n"
        + shell_line("update", "--notes one\ntwo")
        + shell_line("close", '"--reason", "completed"')
        + "\n[1, 2]\n"
        + '{"op": "update", "id": "bd-1"}\n'
        + '{"op": "update", "id": "bd-1", "args": "no"}'
    )

    found = parse_pending(text)

    assert [one.op for one in found.records] == ["update", "close"]
    assert found.unreadable == (
        "what is this",
        "[1, 2]",
        '{"op": "update", "id": "bd-1"}',
        '{"op": "update", "id": "bd-1", "args": "no"}',
    )


@pytest.mark.parametrize(
    ("op", "arguments", "action"),
    [
        ("update", '"--status", "closed"', OperationAction.CLOSE),
        ("update", '"--status", "in_progress"', OperationAction.CLAIM),
        ("update", '"--priority", "1"', None),
        ("create", '"--notes", "x"', None),
    ],
)
def test_only_what_is_known_becomes_an_operation(
    op: str, arguments: str, action: OperationAction | None
) -> None:
    found = read_record(one_record(shell_line(op, arguments)), "amber")

    assert (found and found.action) == action


def test_a_sync_that_is_owed_is_read_with_its_operation_or_a_name_of_its_own() -> None:
    operation = make(OperationAction.SYNC, id=OP, task="", tries=3)
    seed = '{"timestamp": "2025-12-25T07:00:00Z", "agentId": "T-1", "reason": "sync_failed_after_retries"}'

    ours, theirs = (read_unsynced(text, "amber") for text in (render_unsynced(operation), seed))

    assert ours is not None
    assert theirs is not None
    assert ours.id == OP
    assert is_operation(theirs.id)
    assert theirs.key == "T-1_1766646000_sync_"
    assert read_unsynced("[]", "amber") is read_unsynced("{", "amber") is None


def test_files_show_what_waits_after_the_last_attempt_or_was_found_there() -> None:
    assert not is_rendered(make(tries=2))
    assert is_rendered(make(tries=3))
    assert is_rendered(make(record="T-1_1_update_bd-1"))
    assert not is_rendered(make(tries=3, outcome=Outcome.DONE))


# --- taken in ---------------------------------------------------------------------------------------


def write(desk: Desk, name: str, text: str) -> None:
    """Leave a file as another tool does."""
    desk.place.write(text, f".conductor/{name}")


def test_a_pending_file_of_another_tool_is_taken_in_once(desk: Desk) -> None:
    write(desk, "pending_updates.jsonl", shell_line("update", "--notes from the shell", desk.task))

    desk.note("mine")
    desk.note("again")

    assert desk.notes() == ["from the shell", "mine", "again"]
    assert not desk.workspace.documents.exists(".conductor/pending_updates.jsonl")


def test_a_record_stays_in_the_file_until_its_effect_was_seen(desk: Desk) -> None:
    line = shell_line("update", "--notes from the shell", desk.task)
    write(desk, "pending_updates.jsonl", f"no record\n{line}")
    desk.faults.plan = ["before"] * 4

    desk.note("mine")

    text = desk.place.read(".conductor/pending_updates.jsonl")
    assert text.startswith("no record\n")
    records = [json.loads(one) for one in text.splitlines()[1:]]
    assert records[0]["idempotencyKey"] == f"T-1_1766646000_update_{desk.task}"
    assert [one["args"][1] for one in records] == ["from the shell", "mine"]
    write(desk, "pending_updates.jsonl", f"{text}{line}")  # a crash between journal and file leaves it there
    desk.note("more")
    assert desk.notes() == ["from the shell", "mine", "more"]
    assert desk.place.read(".conductor/pending_updates.jsonl") == "no record\n"


def test_a_claim_in_a_pending_file_is_told_and_not_repeated(desk: Desk) -> None:
    write(desk, "pending_updates.jsonl", shell_line("update", "--status in_progress", desk.task))

    desk.note("mine")

    assert any("a claim is not tried again later" in one for one in desk.told)
    found = desk.workspace.tracker.find(desk.task)
    assert found is not None
    assert not found.holder
    assert not desk.workspace.documents.exists(".conductor/pending_updates.jsonl")


def test_what_cannot_become_an_operation_stays_in_the_file(desk: Desk) -> None:
    line = shell_line("update", '"--priority", "1"', desk.task)
    write(desk, "pending_updates.jsonl", line)

    desk.note("mine")

    assert desk.place.read(".conductor/pending_updates.jsonl") == line


def test_a_sync_that_another_tool_owes_is_done(desk: Desk) -> None:
    seed = {"timestamp": "2025-12-25T07:00:00Z", "agentId": "T-1", "reason": "sync_failed_after_retries"}
    write(desk, "unsynced.json", json.dumps(seed))
    write(desk, "unsynced_beads.txt", "bd-1\nbd-2\n")

    desk.note("mine")

    assert desk.faults.calls[-2:] == ["sync", "note mine"]
    assert not desk.workspace.documents.exists(".conductor/unsynced.json")
    assert not desk.workspace.documents.exists(".conductor/unsynced_beads.txt")


def test_an_unsynced_file_that_is_something_else_stays(desk: Desk) -> None:
    write(desk, "unsynced.json", "not ours")

    desk.note("mine")

    assert desk.place.read(".conductor/unsynced.json") == "not ours"


def test_a_tracked_pending_file_is_text_of_others(desk: Desk) -> None:
    line = shell_line("update", "--notes hostile", desk.task)
    write(desk, "pending_updates.jsonl", line)
    desk.place.repository.commit([".conductor/pending_updates.jsonl"], "track it")
    desk.faults.plan = ["before"] * 3
    desk.note("mine")

    assert desk.place.read(".conductor/pending_updates.jsonl") == line
    assert [one.note for one in find_waiting(desk.workspace)] == ["mine"]


def test_files_that_cannot_be_written_are_left_to_the_journals(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise StorageError("read-only")

    monkeypatch.setattr(desk.place.documents, "replace", refuse)
    desk.faults.plan = ["before"] * 3

    assert not desk.note("kept")

    assert [one.note for one in find_waiting(desk.workspace)] == ["kept"]


@pytest.mark.requirement("R193")
@pytest.mark.parametrize("has_session", [True, False])
@pytest.mark.parametrize("call", ["replace", "exists"])
def test_files_that_cannot_be_read_or_written_are_not_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, call: str, *, has_session: bool
) -> None:
    real = getattr(desk.place.documents, call)

    def refuse(path: str, *arguments: Any, **named: Any) -> Any:
        if "unsynced" in path:
            raise StorageError("no")
        return real(path, *arguments, **named)

    monkeypatch.setattr(desk.place.documents, call, refuse)
    desk.faults.plan = ["before"] * 3

    with pytest.raises(TrackerError, match="sync failed after 3 attempts; a later command tries again"):
        tracker_changes.sync(desk.workspace, desk.account if has_session else None)

    assert [one.action for one in find_waiting(desk.workspace)] == [OperationAction.SYNC]


def test_files_that_somebody_else_updates_are_left_to_them(desk: Desk) -> None:
    write(desk, "pending_updates.jsonl", shell_line("update", "--notes x", desk.task))

    with desk.workspace.locks.held("files", 0.0):
        update_files(desk.workspace, desk.account)
        take_in_files(desk.workspace, desk.account)

    assert find_waiting(desk.workspace) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="the seed's functions are written for bash")
def test_files_of_the_seeds_own_shell_are_taken_in(desk: Desk, tmp_path: Path) -> None:
    script = f"""{SHELL}
persist_pending_update {desk.task} --notes "IN_PROGRESS: RED phase - writing \\"failing\\" test"
persist_pending_update {desk.task} --notes 'two
lines, $(touch hacked)'
persist_pending_close {desk.task} 'it said "no"'
"""
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True)
    for path in (tmp_path / ".conductor").iterdir():
        write(desk, path.name, path.read_text())
    desk.claim()

    with tracker_changes.catch_up(desk.workspace, desk.account):
        pass

    assert desk.notes()[:3] == [
        'IN_PROGRESS: RED phase - writing "failing" test',
        "two",
        "lines, $(touch hacked)",
    ]
    assert not (tmp_path / "hacked").exists()
    assert [one.reason for one in desk.operations() if one.action is OperationAction.CLOSE] == [
        'it said "no"'
    ]
    assert list(desk.workspace.documents.list(".conductor")) == [
        ".conductor/.gitignore",
        f".conductor/session-state_{desk.account.agent}.json",
    ]


def test_a_workspace_without_a_session_leaves_the_files_alone(desk: Desk) -> None:
    line = shell_line("update", "--notes x", desk.task)
    write(desk, "pending_updates.jsonl", line)

    update_files(with_parts(desk.place), None)

    assert desk.place.read(".conductor/pending_updates.jsonl") == line


def test_operations_know_their_key() -> None:
    assert isinstance(make(), SharedOperation)
    assert make().key == f"amber_{int(NOON.timestamp())}_update_bd-1"


def test_what_was_written_to_a_file_at_the_moment_of_its_replacement_is_taken_in(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ".conductor/pending_updates.jsonl"
    late = [shell_line("update", "--notes came late", desk.task).encode()]
    seen: list[bytes] = []

    def displaced(name: str, known: Collection[bytes] = ()) -> Sequence[bytes]:
        seen.extend(known if name == path else ())
        return [one for one in late if name == path and one not in seen]

    monkeypatch.setattr(desk.place.documents, "displaced", displaced)

    desk.note("mine")

    assert desk.notes() == ["came late", "mine"]
    assert seen[:1] == late


def test_a_file_that_cannot_be_read_stays_as_it_is(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    write(desk, "pending_updates.jsonl", shell_line("update", "--notes x", desk.task))
    read = desk.place.documents.read

    def refuse(path: str, *, settled: bool = False) -> bytes:
        if path.endswith(".jsonl"):
            raise StorageError("no")
        return read(path, settled=settled)

    monkeypatch.setattr(desk.place.documents, "read", refuse)

    desk.note("mine")

    assert desk.notes() == ["mine"]
    assert desk.workspace.documents.exists(".conductor/pending_updates.jsonl")


def test_without_a_session_nothing_is_taken_in(desk: Desk) -> None:
    write(desk, "pending_updates.jsonl", "theirs\n")

    take_in_files(desk.workspace, None)

    assert desk.place.read(".conductor/pending_updates.jsonl") == "theirs\n"
