"""`passdown certify` proves that nothing was lost, and finds it when something was."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.answers.check_answers import Schema
from tests.support.commands import Caller
from tests.support.projects import put_event, stop_clock

FACT: Schema = {
    "type": "object",
    "properties": {
        "id": {"type": ["string", "null"]},
        "kind": {"type": "string"},
        "text": {"type": "string"},
        "how": {"enum": ["in-brief", "by-command", "retired", "hidden", "unaccounted"]},
        "where": {"type": "string", "minLength": 1},
    },
    "minProperties": 5,
    "additionalProperties": False,
}
CERTIFICATE: Schema = {
    "type": "object",
    "properties": {
        "version": {"const": 1},
        "facts": {"type": "integer"},
        "unaccounted": {"type": "integer"},
        "root": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "counts": {"type": "object"},
        "losses": {"type": "array", "items": FACT},
        "replaced": {"type": "array", "items": FACT},
        "contested": {"type": "array"},
        "accounted": {"type": "array", "items": FACT},
    },
    "minProperties": 9,
    "additionalProperties": False,
}


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give a way to call the command, in an empty folder without git, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    (tmp_path / "project").mkdir()
    return Caller(monkeypatch, capsys, tmp_path / "project")


def test_where_nothing_is_nothing_is_lost(command: Caller) -> None:
    done = command("certify")

    assert done.code == 0
    assert done.out.splitlines() == [
        "No facts yet.",
        "root e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ]
    assert done.err == ""


def test_a_line_that_was_acknowledged_and_removed_is_found(command: Caller, tmp_path: Path) -> None:
    put_event(command.folder, "2026-01-10T13:03:52Z", constraints=("Of an event",))
    command("start")
    said = [("goal", "Ship it"), ("rule-out", "threads"), ("rule-out", "network")]
    acknowledged = [command(*one).out.removeprefix("goal: ") for one in said]
    record = tmp_path / "record.txt"
    record.write_text("".join(acknowledged))

    before = command("certify", "--expect", str(record))
    assert (before.code, before.out.splitlines()[0]) == (0, "All 4 facts found: 4 in the brief.")

    journal = next(command.folder.rglob("journal/*.jsonl"))
    kept = [line for line in journal.read_text().splitlines(keepends=True) if "threads" not in line]
    journal.write_text("".join(kept))
    (command.folder / "conductor/sessions/active/LEDGER.md").unlink()

    done = command("certify", "--expect", str(record))
    assert done.code == 1
    assert done.out.splitlines()[:3] == [
        f"{journal.stem}: line: line 3 of {journal.stem} is missing",
        "nowhere: expected: Ruled out: threads",
        "3 facts, 2 missing: 3 in the brief.",
    ]
    answer = json.loads(command("certify", "--json", "--expect", str(record)).out)
    jsonschema.validate(answer, CERTIFICATE)
    assert (answer["facts"], answer["unaccounted"]) == (3, 2)


def test_what_is_expected_must_be_readable(command: Caller, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")

    missing = command("certify", "--expect", "nothing.txt")
    assert missing.code == 5
    assert missing.err.startswith("passdown: nothing.txt: no such file\n")
    assert command("certify", "--expect", str(tmp_path / "bytes")).err.startswith(
        f"passdown: could not read {tmp_path / 'bytes'}: it is not UTF-8 text\n"
    )


def test_a_single_fact_is_one_fact(command: Caller) -> None:
    put_event(command.folder, "2026-01-10T13:03:52Z", constraints=("Of an event",))

    assert command("certify").out.startswith("1 fact found: 1 in the brief.\n")
