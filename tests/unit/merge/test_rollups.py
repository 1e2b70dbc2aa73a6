"""A rollup gives back the events it was made of, and says what is wrong with itself."""

import json
from datetime import date

import pytest

from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.merge import merge_events
from passdown.core.merge.rollups import (
    Rollup,
    RollupMember,
    is_rollup,
    name_rollup,
    parse_rollup,
    render_rollup,
)
from tests.support.events import SEED_EXAMPLE, make_text

DAY = date(2026, 1, 10)
NAMED = "2026-01-10T13-03-52.123Z_waffle.md"


def pair(text: str, name: str = "event.md") -> tuple[RollupMember, EventFacts]:
    member = RollupMember(name, text.encode())
    source = parse_event_facts(member.data, name)
    assert source is not None
    return member, source


def pairs() -> list[tuple[RollupMember, EventFacts]]:
    return [
        pair(SEED_EXAMPLE),
        pair(
            make_text("2026-01-10T01:00:00Z", now="é \u2028 🙂", retracted_done=["x"], retracted_events=["e"])
        ),
        pair("now: named by its file\n", NAMED),
    ]


def test_a_rollup_gives_back_its_events_whole() -> None:
    members = pairs()

    rollup = parse_rollup(render_rollup(DAY, members).encode())

    assert rollup.skipped == 0
    assert sorted(rollup.members, key=lambda one: one[1].rank) == sorted(members, key=lambda one: one[1].rank)
    assert merge_events(source for _, source in rollup.members) == merge_events(
        source for _, source in members
    )


@pytest.mark.requirement("R116")
def test_the_same_events_give_the_same_bytes_and_name() -> None:
    members = pairs()
    text = render_rollup(DAY, members)

    assert render_rollup(DAY, [*reversed(members), members[1]]) == text
    assert name_rollup(text) == name_rollup(render_rollup(DAY, members))
    assert name_rollup(text) != name_rollup(render_rollup(DAY, members[:2]))
    assert is_rollup(name_rollup(text))


@pytest.mark.requirement("R116")
def test_line_ends_do_not_change_a_rollup() -> None:
    crlf = SEED_EXAMPLE.replace("\n", "\r\n")

    texts = {
        render_rollup(DAY, members)
        for members in ([pair(SEED_EXAMPLE), pair(crlf)], [pair(crlf), pair(SEED_EXAMPLE)], [pair(crlf)])
    }

    assert texts == {render_rollup(DAY, [pair(SEED_EXAMPLE)])}


def test_a_rollup_with_crlf_line_ends_is_the_same() -> None:
    text = render_rollup(DAY, pairs())

    assert parse_rollup(text.replace("\n", "\r\n").encode()) == parse_rollup(text.encode())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rollup-0123456789abcdef.jsonl", True),
        ("rollup-x.md", False),
        ("my-rollup.jsonl", False),
        ("2026-01-10T13-03-52Z_rollup-a.md", False),
    ],
)
def test_a_rollup_is_known_by_its_name(name: str, expected: bool) -> None:
    assert is_rollup(name) is expected


@pytest.mark.requirement("R115")
@pytest.mark.parametrize(
    "head",
    [
        "",
        "[]",
        "{",
        "[" * 100_000,
        '{"type":"rollup"}',
        '{"type":"other","v":1}',
        '{"type":"rollup","v":2,"events":0}',
        '{"type":"rollup","v":"1"}',
        "\udcff",
    ],
)
def test_what_is_no_rollup_of_ours_could_not_be_read(head: str) -> None:
    assert parse_rollup(head.encode("utf-8", "surrogateescape")) == Rollup(skipped=1)


@pytest.mark.requirement("R115")
def test_a_line_that_is_no_event_or_does_not_fit_its_hash_is_skipped() -> None:
    lines = render_rollup(DAY, pairs()).splitlines()
    wrong: list[object] = [
        {**json.loads(lines[1]), "sha256": "0" * 64},
        {**json.loads(lines[1]), "text": json.loads(lines[1])["text"] + " "},
        {**json.loads(lines[1]), "text": "\ud800"},
        {**json.loads(lines[1]), "name": 1},
        {"name": "event.md"},
        {"name": "event.md", "text": "no time"},
        "text",
    ]
    head = {**json.loads(lines[0]), "events": 3 + len(wrong)}

    rollup = parse_rollup("\n".join([json.dumps(head), *map(json.dumps, wrong), *lines[1:], ""]).encode())

    assert (len(rollup.members), rollup.skipped) == (3, len(wrong))


@pytest.mark.requirement("R115")
def test_a_rollup_that_lost_lines_says_so() -> None:
    lines = render_rollup(DAY, pairs()).splitlines(keepends=True)

    whole = parse_rollup("".join(lines).encode())
    for cut in ("".join(lines[:-1]), "".join(lines)[:-20]):
        rollup = parse_rollup(cut.encode())
        assert rollup.skipped >= 1
        assert rollup.members == whole.members[:-1]
