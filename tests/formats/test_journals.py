"""The journal and its facts: torn, damaged and newer lines are kept, those around them are read."""

from datetime import UTC, datetime

import pytest

from passdown.core.facts import Fact, parse_fact, render_fact
from passdown.core.formats import examples
from passdown.core.formats.journal import (
    MAX_LINE,
    Journal,
    JournalLine,
    checksum,
    parse_journal,
    parse_line,
    render_journal,
    render_line,
)
from passdown.core.ids import fact_id
from passdown.core.problems import Malformed, Severity, Unknown
from passdown.errors import FormatError
from passdown.records import replace

AT = datetime(2026, 1, 1, tzinfo=UTC)
FACT = Fact(kind="done", text="a", at=AT, agent="toast")


def _summed(body: str) -> str:
    return f'{body},"sum":"{checksum(body)}"}}'


def test_a_fact_is_named_by_its_content() -> None:
    other = FACT._replace(agent="waffle", because="b")

    assert FACT.id == other.id == fact_id("done", "a")


@pytest.mark.parametrize("name", ["kind", "text", "at", "agent"])
def test_a_fact_lacks_nothing_it_needs(name: str) -> None:
    members: dict[str, object] = {"kind": "done", "text": "a", "at": "2026-01-01T00:00:00Z", "agent": "toast"}

    assert parse_fact(members) == FACT
    with pytest.raises(Malformed, match=f"`{name}` is missing"):
        parse_fact({key: value for key, value in members.items() if key != name})


def test_a_fact_of_a_newer_kind_is_kept_as_it_is() -> None:
    fact = FACT._replace(kind="telepathy")

    line = parse_line(render_line(JournalLine(seq=1, fact=fact)).rstrip())

    assert line.fact == fact
    assert render_fact(fact).startswith('{"kind":"telepathy"')


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x" * (MAX_LINE + 1), f"is over {MAX_LINE} characters"),
        ('{"v":1,"seq":1,"fact":{"kind":"do', "is incomplete: it does not end with its checksum"),
        ("}", "is incomplete: it does not end with its checksum"),
        ('{"v":1,"sum":"00000000"}', "does not match its checksum"),
        (_summed('{"v":1,"seq":1'), "has no fact or no sequence number"),
        (_summed('{"v":1,"fact":{}'), "has no fact or no sequence number"),
        (_summed('{"v":1,"seq":"one","fact":{}'), "`seq` is not a whole number"),
        (_summed('{"v":1,"seq":1,"fact":{}'), "`kind` is missing"),
        (_summed('{"v":"one","seq":1,"fact":{}'), "`v` is not a whole number"),
        (_summed('{"v":1,"seq":1,"at":1,"fact":{}'), "`at` is not a string"),
        (_summed(f'{{"v":1,"seq":1,"by":1,"fact":{render_fact(FACT)}'), "`by` is not a string"),
        (_summed("not JSON"), "is not valid JSON"),
        (_summed(""), "is not valid JSON"),
        (_summed('{"v":' + "[" * 20_000), "is not valid JSON"),
    ],
)
def test_a_line_that_cannot_be_read_is_kept_and_reported(line: str, problem: str) -> None:
    whole = render_line(JournalLine(seq=1, fact=FACT))

    found = parse_journal(f"{line}\n{whole}")

    assert [one.text for one in found.unknown] == [line]
    assert [(one.line, one.field, one.problem, one.severity) for one in found.problems] == [
        (1, "line", problem, Severity.ERROR)
    ]
    assert [one.fact for one in found.lines] == [FACT]
    assert render_journal(replace(found, source=None)) == f"{line}\n{whole}"


def test_lines_out_of_order_are_named() -> None:
    text = "".join(render_line(JournalLine(seq=seq, fact=FACT)) for seq in (1, 3, 3, 2))

    assert [(one.line, one.field, one.problem) for one in parse_journal(text).problems] == [
        (3, "seq", "is out of order: 3 after 3"),
        (4, "seq", "is out of order: 2 after 3"),
    ]


def test_a_journal_is_its_lines_whatever_was_noted_about_them() -> None:
    text = "".join(render_line(JournalLine(seq=seq, fact=FACT)) for seq in (2, 1)).replace("\n", "\r\n")
    found = parse_journal(text)

    assert found == replace(found, problems=())
    assert render_journal(replace(found, problems=())) == text


def test_blank_lines_and_other_line_ends_are_read() -> None:
    text = render_journal(examples.JOURNAL).replace("\n", "\r\n\r\n")

    found = parse_journal(text)

    assert found == examples.JOURNAL
    assert render_journal(found) == text


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_a_line_that_cannot_be_read_keeps_its_place(place: int) -> None:
    lines = [render_line(JournalLine(seq=seq, fact=FACT)) for seq in (1, 2, 3)]
    lines.insert(place, "torn\n")
    found = parse_journal("".join(lines))

    assert render_journal(replace(found, source=None)) == "".join(lines)


def test_a_line_without_a_place_goes_last() -> None:
    journal = Journal(lines=(JournalLine(seq=1, fact=FACT),), unknown=(Unknown(place="?", text="torn"),))

    assert render_journal(journal).endswith("}\ntorn\n")


def test_a_carried_line_is_read_as_it_was_written() -> None:
    line = JournalLine(seq=4, fact=FACT, at=AT.replace(hour=1), agent="waffle", others=(("newer", "[1]"),))

    found = parse_line(render_line(line).rstrip())

    assert found == line
    assert (found.written_at, found.written_by) == (AT.replace(hour=1), "waffle")
    stated = replace(line, at=None, agent="")
    assert (stated.written_at, stated.written_by) == (AT, "toast")


def test_a_journal_is_read_up_to_100000_lines_and_16_million_characters() -> None:
    blank = Journal()

    assert parse_journal("\n" * 100_000) == parse_journal(" " * 16_777_216) == blank
    for text in ("\n" * 100_001, " " * 16_777_217):
        with pytest.raises(FormatError, match="is over 16777216 characters or 100000 lines"):
            parse_journal(text)


def test_a_line_is_read_up_to_262144_characters() -> None:
    short = len(render_line(JournalLine(seq=1, fact=FACT._replace(text="")))) - 1
    longest = JournalLine(seq=1, fact=FACT._replace(text="a" * (262_144 - short)))
    longer = replace(longest, seq=10)

    assert parse_line(render_line(longest).rstrip()) == longest
    with pytest.raises(Malformed, match="is over 262144 characters"):
        parse_line(render_line(longer).rstrip())
