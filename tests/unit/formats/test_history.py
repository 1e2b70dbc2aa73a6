"""A history file: what is read, what is refused, and what people see."""

import json
from datetime import UTC, datetime

import pytest

from passdown.core.formats.history import (
    HistoryEntry,
    HistoryHead,
    ImportedSession,
    describe_history,
    parse_history,
    parse_history_head,
    render_counts,
    render_history,
    sum_counts,
)
from passdown.core.problems import Unknown
from passdown.errors import FormatError
from passdown.records import replace

pytestmark = pytest.mark.requirement("C134")

AT = datetime(2026, 1, 11, 12, tzinfo=UTC)
HEAD = HistoryHead(host="h", session="s")


def test_a_line_that_cannot_be_read_is_kept_in_its_place() -> None:
    text = render_history(ImportedSession(head=HEAD, entries=(HistoryEntry(kind="prompt", text="a"),)))
    head, entry = text.splitlines()
    odd = f"{head}\nno entry\n\n{entry}\n{{}}\n"

    read = parse_history(odd)

    assert [one.text for one in read.entries] == ["a"]
    assert [one.place for one in read.unknown] == ["line 2", "line 5"]
    assert [one.line for one in read.problems] == [2, 5]
    assert render_history(read) == odd
    changed = replace(read, head=replace(HEAD, about="x"))
    assert "no entry" in render_history(changed).splitlines()[1]
    placed = ImportedSession(head=HEAD, unknown=(Unknown(place="nowhere", text="end"),))
    assert render_history(placed).endswith("\nend\n")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"host":"h"}', '{"session":"s"}\n{"host":"h"}'])
def test_a_file_without_a_head_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="has no head"):
        parse_history(text)


def test_a_newer_file_is_refused() -> None:
    with pytest.raises(FormatError, match="has version 2"):
        parse_history_head('{"v":2,"host":"h","session":"s"}')


def test_counts_that_are_none_are_left_out() -> None:
    counts = json.dumps([["a", 1], ["b", "x"], 3, ["c"]])
    head = parse_history_head(f'{{"host":"h","session":"s","size":-1,"counts":{counts},"redacted":["r",1]}}')
    assert (head.counts, head.redacted, head.size) == ((("a", 1),), ("r",), 0)


def test_sessions_are_counted_by_the_files_that_they_edited() -> None:
    heads = [replace(HEAD, files=("a b.py", "a b.py", "ü.py")), replace(HEAD, files=("a b.py",))]

    counts = render_counts(heads)

    assert counts == "a b.py\t2\nü.py\t1\n".encode()
    assert sum_counts(counts, ["a b.py", "a b.py", "ü.py", "c.py", ""]) == 3
    assert sum_counts(b"a.py\tmany\nno count\n", ["a.py", "no count", ""]) == 0


def test_people_see_who_said_what_and_how_it_ended() -> None:
    entries = (
        HistoryEntry(kind="prompt", text="fix it\n\nnow"),
        HistoryEntry(kind="words", text="done"),
        HistoryEntry(kind="command", text="make", exit=2),
        HistoryEntry(kind="plan", text="step", status="completed"),
        HistoryEntry(kind="commit", text="abc"),
    )
    head = replace(
        HEAD, parent="p", folder="/f", started=AT, ended=AT, redacted=("a", "b"), left_out=3, size=1
    )

    assert describe_history(ImportedSession(head=head, entries=entries)) == (
        "h session s\n"
        "subagent of p\n"
        "folder: /f\n"
        "time: 2026-01-11T12:00:00.000Z\n"
        "secrets were removed: a, b\n"
        "left out: 3 further entries\n"
        "\n"
        "user: fix it\n"
        "\n"
        "    now\n"
        "agent: done\n"
        "command: make (exit 2)\n"
        "plan: step (completed)\n"
        "commit: abc\n"
    )
    assert describe_history(ImportedSession(head=HEAD)) == "h session s\n\n"
