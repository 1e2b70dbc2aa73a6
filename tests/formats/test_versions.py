"""Formats carry a version: newer documents are refused clearly, unknown fields of this version are kept."""

import pytest

from passdown.core.documents.documents import MAX_CHARS
from passdown.core.formats.addressed_handoffs import MAX_CHARS as MAX_HANDOFF
from passdown.core.formats.history import MAX_CHARS as MAX_HISTORY
from passdown.core.formats.journal import MAX_CHARS as MAX_JOURNAL
from passdown.core.formats.journal import JournalLine, checksum, parse_journal, render_line
from passdown.core.formats.loops import MAX_CHARS as MAX_LOOP
from passdown.core.formats.registry import FORMATS, Format
from passdown.core.formats.state_file import MAX_CHARS as MAX_STATE
from passdown.errors import FormatError
from tests.formats.strategies import BY_NAME

MARKDOWN = tuple(one for one in FORMATS if one.name in {"ledger", "stream", "event", "archive"})
each_markdown = pytest.mark.parametrize("one", MARKDOWN, ids=lambda one: one.name)


def _with_key(one: Format, line: str) -> str:
    return one.example().replace("---\n", f"---\n{line}\n", 1)


@each_markdown
def test_front_matter_of_a_newer_format_is_refused(one: Format) -> None:
    with pytest.raises(
        FormatError, match=f"{one.name} has format 2; this version of passdown reads up to 1"
    ) as refused:
        one.parse(_with_key(one, "format: 2"))

    assert refused.value.field == "format"
    assert "upgrade" in refused.value.hint


@each_markdown
def test_front_matter_of_this_format_is_read(one: Format) -> None:
    text = _with_key(one, "format: 1")

    document = one.parse(text)

    assert document.problems == ()
    assert BY_NAME[one.name].render(document) == text


@each_markdown
def test_unknown_keys_of_this_version_are_kept(one: Format) -> None:
    text = _with_key(one, "added_later: yes")

    document = one.parse(text)

    assert [unknown.text for unknown in document.unknown] == ["added_later: yes"]
    assert document.problems == ()


@pytest.mark.parametrize("version", ["2", "1000000000"])
def test_session_state_of_a_newer_format_is_refused(version: str) -> None:
    with pytest.raises(
        FormatError, match=r"session state has format [0-9]+; this version of passdown reads up to 1"
    ):
        BY_NAME["session-state"].parse('{"format": ' + version + "}")


def test_unknown_members_of_session_state_are_kept() -> None:
    kind = BY_NAME["session-state"]
    text = kind.format.example().replace("{\n", '{\n  "format": 1,\n  "later": [1, {"a": null}],\n', 1)

    state = kind.parse(text)

    assert [(one.place, one.text) for one in state.unknown] == [
        ("format", "1"),
        ("later", '[1, {"a": null}]'),
    ]
    assert state.problems == ()


def test_journal_lines_of_a_newer_version_are_kept_and_reported() -> None:
    body = '{"v":2,"seq":1,"fact":{"new":"shape"}'
    line = f'{body},"sum":"{checksum(body)}"}}'

    found = parse_journal(f"{line}\n")

    assert found.lines == ()
    assert [one.text for one in found.unknown] == [line]
    assert [(one.line, one.problem) for one in found.problems] == [
        (1, "has version 2; this version of passdown reads up to 1")
    ]


def test_unknown_members_of_journal_lines_are_kept() -> None:
    line = parse_journal(BY_NAME["journal"].format.example()).lines[0]
    grown = JournalLine(seq=line.seq, fact=line.fact, others=(("later", '{"a": [1, null]}'),))

    assert parse_journal(render_line(grown)).lines == (grown,)


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.name)
def test_texts_over_the_limit_are_refused(one: Format) -> None:
    limits = {
        "journal": MAX_JOURNAL,
        "session-state": MAX_STATE,
        "handoff": MAX_HANDOFF,
        "loop": MAX_LOOP,
        "history": MAX_HISTORY,
    }
    limit = limits.get(one.name, MAX_CHARS)

    with pytest.raises(FormatError, match=f"is over {limit} characters"):
        one.parse("x" * (limit + 1))
