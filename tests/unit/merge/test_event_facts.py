"""What an event says is read for merging, whatever is wrong with the rest of it."""

import hashlib
from datetime import UTC, datetime

import pytest

from passdown.core.facts import Fact, identify, make_key
from passdown.core.ids import fact_id
from passdown.core.kinds import FactKind
from passdown.core.merge.event_facts import (
    EventFacts,
    all_retracted,
    is_retracted,
    parse_event_facts,
    read_covered,
)
from passdown.core.merge.merge import merge_events
from tests.support.events import CHECKPOINTS, DECISIONS, DONE, NOW, SEED_EXAMPLE, make_text, read, value_of

AT = datetime(2026, 1, 10, 13, 3, 52, tzinfo=UTC)
NAME = "2026-01-10T13-03-52.123Z_waffle.md"


def said(fact: Fact) -> tuple[str, str, object]:
    """Give the key of an event that says a fact, the fact's identity, and what the event says."""
    return FactKind(fact.kind).row.event_key or fact.kind, identify(fact), value_of(fact)


@pytest.mark.requirement("R99", "R102", "R103")
def test_an_event_with_only_the_keys_of_the_seed_is_complete() -> None:
    source = read(SEED_EXAMPLE)

    digest = hashlib.sha256(SEED_EXAMPLE.encode()).hexdigest()
    assert source.rank == (AT, "toast", digest[:16], digest)
    assert (source.branch, source.type) == ("feat/fix-hooks-path-spaces", "session_end")
    assert (source.retracted, source.session, source.covered) == ((), "", 0)
    assert [said(fact) for fact in source.facts] == [
        (NOW, "", "Create PR from carmandale:fix/hooks-path-spaces to parcadei:main"),
        *((DONE, text, text) for text in SEED_EXAMPLE.split("\n- ")[1:3]),
        (DONE, "Compiled TypeScript hooks", "Compiled TypeScript hooks"),
        (DECISIONS, "bash_c_wrapper", ("bash_c_wrapper", "Use bash -c '...' for shell quoting")),
        (DECISIONS, "single_quotes_outer", ("single_quotes_outer", "Single quotes outside, double inside")),
        (CHECKPOINTS, "agent toast\n5", ("toast", "", "5", "validated", "")),
    ]
    assert [fact.at for fact in source.facts] == [AT] * 6 + [datetime(2026, 1, 10, 13, tzinfo=UTC)]


@pytest.mark.parametrize(
    "text",
    [
        SEED_EXAMPLE,
        make_text(now="a", this_session=["b"], next=["c"]),
        "---\nts: 2026-01-10\nagent: a\n---\n\nnow: |\n  one\n  two\n\nthis_session:\n- >\n  x\n  y\n",
        '---\nts: 2026-01-10\nagent: a\n---\nnow: "one\\r\\ntwo"\ndecisions:\n- x: y\n  z\n',
        "now: nothing else\n",
    ],
)
def test_a_crlf_file_is_the_same_event(text: str) -> None:
    assert parse_event_facts(text.replace("\n", "\r\n").encode(), NAME) == parse_event_facts(
        text.encode(), NAME
    )


@pytest.mark.parametrize(
    ("ts", "at"),
    [
        ("2026-01-10T22:03:52+09:00", AT),
        ("2026-01-10T22:03:52+0900", AT),
        ("2026-01-10 13:03:52", AT),
        ("2026-01-10T13:03:52.000001Z", AT.replace(microsecond=1)),
        ("1768050232", AT),
        ("'2026-01-10T13-03-52Z'", AT),
    ],
)
@pytest.mark.requirement("R102")
def test_times_are_instants_in_whatever_form(ts: str, at: datetime) -> None:
    assert read(make_text(ts)).rank.at == at


def test_block_scalars_are_texts() -> None:
    text = "---\nts: 2026-01-10\nagent: a\n---\n\nnow: |\n  one\n  two\n\nthis_session:\n- |\n  x\n  y\n- z\n"

    assert [fact.text for fact in read(text).facts] == ["one\ntwo", "x\ny", "z"]


@pytest.mark.parametrize("key", ["constructor", "__proto__", "toString", "__class__", "hasOwnProperty"])
def test_a_decision_may_be_named_like_a_part_of_some_language(key: str) -> None:
    assert read(make_text(decisions={key: "yes"})).facts[0][:5:4] == ("decision", key)


def test_an_empty_list_of_next_steps_says_that_there_are_none() -> None:
    facts = read(make_text(now="", next=[])).facts

    assert [(fact.kind, fact.text, fact.steps) for fact in facts] == [("next", "", ())]


@pytest.mark.requirement("R101", "R115", "C63")
def test_time_and_agent_come_from_the_file_name_when_the_front_matter_lacks_them() -> None:
    at = AT.replace(microsecond=123_000)
    for text, rank in [
        ("now: x\n", (at, "waffle")),
        (make_text("soon", "toast", now="x"), (at, "toast")),
        (make_text("2026-01-10T13:03:52Z", None, now="x"), (AT, "waffle")),
        ("---\ntype: other\n---\n", (at, "waffle")),
    ]:
        assert read(text, NAME).rank[:2] == rank


@pytest.mark.requirement("C160")
@pytest.mark.parametrize("text", ["", "\n \n", "---\n---\n", "---\n\n---\n\nJust words.\n", "\ufeff"])
def test_a_text_with_neither_front_matter_nor_facts_is_no_event(text: str) -> None:
    assert parse_event_facts(text.encode(), NAME) is None


@pytest.mark.requirement("C160")
@pytest.mark.parametrize(
    "text", ["retracted_events:\n- ev-1\n", "goal: {{{\n", "next:\n", "retracted_done:\n- x\n"]
)
def test_a_text_without_front_matter_that_says_something_is_an_event(text: str) -> None:
    assert read(text, NAME).rank.agent == "waffle"


@pytest.mark.requirement("R101")
def test_the_shorter_names_of_the_seed_tell_time_and_agent_too() -> None:
    assert read("now: x\n", "2026-01-10T13-03-52Z_toast.md").rank[:2] == (AT, "toast")


def test_a_name_that_is_needed_is_a_part_of_the_event() -> None:
    names = [
        NAME,
        "2026-01-10T13-03-52.123456Z_waffle.md",
        "2026-01-10T13-03-52.124Z_waffle.md",
        "2026-01-10T13-03-52.123Z_crisp.md",
    ]

    assert len({read("now: x\n", name).rank.hash for name in names}) == len(names)
    assert len({read(SEED_EXAMPLE, name) for name in names}) == 1


@pytest.mark.requirement("R115")
@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "event.md"),
        (b"\xff\xfe", NAME),
        (make_text(None, "a").encode(), "event.md"),
        (make_text("2026-13-45", "a").encode(), "event.md"),
        (make_text(agent=None).encode(), "2026-13-45T00-00-00Z_a.md"),
        (b"---\nformat: 99\nts: [\n---\ncheckpoints: [a\n", NAME),
        (b"x" * 20_000_000, NAME),
    ],
)
def test_what_has_no_time_or_agent_or_is_no_text_cannot_be_merged(data: bytes, name: str) -> None:
    assert parse_event_facts(data, name) is None


@pytest.mark.requirement("R115", "C63")
def test_what_does_not_fit_its_key_is_malformed_and_the_rest_takes_part() -> None:
    text = (
        "---\nts: 2026-01-10T13:03:52.000001Z\nagent: a\nid: e1\nsession: s1\ncovers: 3-9\n---\n\n"
        "now: x\ngoal:\n- a\n- list\nthis_session:\n- done\nopen_questions:\n  a: map\ndecisions:\n  k: v\n"
        "checkpoints:\n- phase: 1\n  status: Validated\n  updated: 2026-01-10\n  name: n\n  task: t\n"
        "- phase: x\n  status: odd\n  agent: b\n- status: failed\nretracted_events:\n- e0\n"
    )

    source = read(text)

    assert source.rank[:3] == (AT.replace(microsecond=1), "a", "e1")
    assert (source.session, source.covered, source.retracted) == ("s1", 9, ("e0",))
    assert {said(fact) for fact in source.facts} == {
        (NOW, "", "x"),
        (DONE, "done", "done"),
        (DECISIONS, "k", ("k", "v")),
        (CHECKPOINTS, "task t\n1", ("a", "t", "1", "validated", "n")),
        (CHECKPOINTS, "agent b\nx", ("b", "", "x", "odd", "")),
        (CHECKPOINTS, "agent a\n", ("a", "", "", "failed", "")),
        ("malformed", "goal:\n- a\n- list", "goal:\n- a\n- list"),
        ("malformed", "open_questions:\n  a: map", "open_questions:\n  a: map"),
    }


def test_a_checkpoint_without_a_time_is_as_old_as_its_event() -> None:
    records = [{"phase": "1"}, {"phase": "2", "updated": "never"}, {"phase": "3", "updated": "2026-01-01"}]

    facts = read(make_text("2026-01-10T13:03:52Z", checkpoints=records)).facts

    assert [fact.at for fact in facts] == [AT, AT, datetime(2026, 1, 1, tzinfo=UTC)]


def test_a_task_has_its_phases_whoever_works_on_it() -> None:
    records = [{"phase": "1", "task": "t"}, {"phase": "1", "task": "t", "agent": "b"}, {"name": "n"}]

    facts = read(make_text(agent="a", checkpoints=records)).facts

    assert [identify(fact) for fact in facts] == ["task t\n1", "task t\n1", "agent a\nn"]


@pytest.mark.parametrize(
    ("covers", "last"),
    [
        ("1-9", 9),
        ("9", 9),
        ("", 0),
        ("1-x", 0),
        ("1-", 0),
        ("1-²", 0),
        (f"1-{'9' * 15}", 10**15 - 1),
        (f"1-{'9' * 16}", 0),
    ],
)
def test_the_last_line_covered_is_read_or_is_none(covers: str, last: int) -> None:
    assert read_covered(covers) == last


@pytest.mark.requirement("R108", "R111")
@pytest.mark.parametrize(
    ("text", "key"),
    [("plain", "plain"), ("e\u0301", "é"), ("a\r\nb\rc", "a\nb\nc"), ("é\r\n", "é\n"), ("A b ", "A b ")],
)
def test_texts_of_one_fact_share_their_key(text: str, key: str) -> None:
    assert make_key(text) == key


def test_an_event_is_retracted_by_its_id_or_by_the_start_of_its_hash() -> None:
    first, second = read(make_text(id="e1")), read(make_text(now="x"))
    retracted = all_retracted([read(make_text(retracted_events=["e1", "zz"])), first])

    assert retracted == {"e1", "zz"}
    assert is_retracted(first.rank, retracted)
    assert not is_retracted(second.rank, retracted)
    assert is_retracted(first.rank, {first.rank.hash[:16]})


def test_event_of_a_newer_version_is_skipped_however_well_formed() -> None:
    text = "---\nts: 2026-01-10T13:03:52Z\nagent: toast\nformat: {}\n---\n\nnow: x\n"

    assert parse_event_facts(text.format(2).encode(), "a.md") is None
    assert parse_event_facts(text.format(1).encode(), "a.md") is not None


EVERY_KEY = """---
ts: 2026-01-10T13:03:52Z
agent: toast
branch: feat/x
type: checkpoint
id: e1
session: s-1
covers: 3-7
---
goal: g
now: n
this_session:
- one
- two
next:
- step
decisions:
  key: text
answers:
  why: because
checkpoints:
- phase: 5
  name: build
  status: validated
  updated: 2026-01-10T13:00:00Z
  agent: waffle
  task: t-1
constraints:
- never
open_questions:
- why
receipts:
- make test
feedback:
- good
resolved_questions:
- why
retracted_events:
- e0
provenance:
  be38525649c2: observed
origins:
  this_session: 12 2026-01-10T13:01:00.000Z, 14 2026-01-10T13:02:00.000Z by amber observed at 1a2b3c
after:
- 0123456789abcdef
ahead:
- fedcba9876543210
"""


def test_an_event_says_the_same_with_the_version_of_its_format_and_beside_what_does_not_fit() -> None:
    plain = read(EVERY_KEY)
    versioned = read(EVERY_KEY.replace("agent: toast", "agent: toast\nformat: 1", 1))
    damaged = read(f'{EVERY_KEY}reason: "never closed\n')

    expected = _without_hash(plain)
    assert (plain.after, plain.ahead, plain.retracted) == (
        ("0123456789abcdef",),
        ("fedcba9876543210",),
        ("e0",),
    )
    assert _without_hash(versioned) == expected
    assert _without_hash(damaged) == expected


def _without_hash(source: EventFacts) -> EventFacts:
    """Leave out what depends on the exact text of an event."""
    facts = sorted((fact._replace(event="") for fact in source.facts), key=str)
    return source._replace(rank=source.rank._replace(hash=""), facts=tuple(facts))


def test_an_event_that_tells_neither_has_an_unknown_branch_and_type() -> None:
    source = read(make_text(now="x"))

    assert (source.branch, source.type) == ("unknown", "unknown")


def test_only_facts_whose_origin_is_told_have_its_time_author_and_number() -> None:
    source = read(
        make_text(
            this_session=["a", "b"],
            decisions={"k": "v"},
            constraints=["c"],
            resolved_questions=["q"],
            origins={"this_session": "12 2026-01-10T12:01:00.000Z, 14 2026-01-10T12:02:00.000Z by amber"},
        )
    )

    event_at = AT.replace(minute=0, second=0)
    assert [(fact.kind, fact.seq, fact.agent, fact.at) for fact in source.facts] == [
        ("done", 12, "toast", event_at.replace(hour=12, minute=1)),
        ("done", 14, "amber", event_at.replace(hour=12, minute=2)),
        ("decision", 0, "toast", event_at),
        ("constraint", 0, "toast", event_at),
        ("retraction", 0, "toast", event_at),
        ("retraction", 0, "toast", event_at),
    ]


def test_a_next_step_of_several_lines_is_one_step() -> None:
    (fact,) = read(make_text(next=["first\nand more", "second"])).facts

    assert fact.steps == ("first and more", "second")


@pytest.mark.parametrize(
    ("known", "provenances"),
    [
        ({fact_id("test", "make test"): "verified"}, ["stated", "verified", "stated"]),
        ({fact_id("receipt", "make test: exit 0"): "observed"}, ["stated", "observed", "stated"]),
        (
            {fact_id("done", "a"): "observed", fact_id("commit", "ab12"): "verified"},
            ["observed", "stated", "verified"],
        ),
        ({fact_id("done", "a"): "guessed", fact_id("now", "ab12"): "observed"}, ["stated"] * 3),
    ],
)
def test_older_events_tell_by_the_ids_of_facts_how_each_is_known(
    known: dict[str, str], provenances: list[str]
) -> None:
    source = read(make_text(this_session=["a"], receipts=["make test: exit 0", "ab12"], provenance=known))

    assert [fact.text for fact in source.facts] == ["a", "make test: exit 0", "ab12"]
    assert [fact.provenance for fact in source.facts] == provenances


@pytest.mark.parametrize("first", ["now: a\nthis_session:\n- a\n- b\n", "this_session:\n- a\n- b\nnow: a\n"])
def test_what_an_event_calls_done_is_over_wherever_it_says_so(first: str) -> None:
    source = read(f"---\nts: 2026-01-10\nagent: a\n---\n{first}")

    assert [fact.text for fact in source.facts] == ["a", "a", "b"]
    assert [fact.kind for fact in source.facts] == ["now", "done", "done"]
    assert merge_events([source]).tables["now"] == {}
