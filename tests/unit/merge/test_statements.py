"""Which decisions are in force: names, copies, and what events and views say of them (C162)."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from passdown.core.briefs.brief_frame import BriefFrame
from passdown.core.briefs.brief_input import BriefInput
from passdown.core.briefs.briefs import pack_brief
from passdown.core.briefs.budgets import Budget
from passdown.core.documents.key_value import Pair
from passdown.core.facts import Fact
from passdown.core.fold import fold
from passdown.core.formats.events import Event, parse_event, render_event
from passdown.core.formats.journal import JournalLine, PublishedExtent
from passdown.core.formats.origins import parse_origins, render_origins
from passdown.core.formats.views import Footer, View, parse_view, render_view
from passdown.core.kinds import FactKind
from passdown.core.merge.event_facts import parse_event_facts
from passdown.core.merge.merge import Digest, make_digest, merge_events
from passdown.core.merge.projections import LIMIT, make_view
from passdown.core.sessions.decisions import read_history
from passdown.core.sessions.publications import make_event
from passdown.core.sessions.session_facts import Account, fold_journal
from passdown.core.statements import (
    REPLACES,
    UNSEEN,
    carry,
    list_replaced,
    name_statement,
    with_replaced,
    write_carried,
    write_replaced,
)
from passdown.records import replace
from passdown.services.log.events import name_event

NOON = datetime(2026, 1, 11, 12, tzinfo=UTC)
HASH = "0123456789abcdef" * 4
MOST_BYTES = 16_384


def decide(
    text: str, session: str, seq: int, *replaces: str, minutes: int = 0, agent: str = "", key: str = "store"
) -> Fact:
    """Make a decision that names what it replaces."""
    at = NOON + timedelta(minutes=minutes or seq)
    others = write_replaced(replaces)
    return Fact("decision", text, at, agent or session, key, session=session, seq=seq, others=others)


def retract(session: str, seq: int, *replaces: str) -> Fact:
    """Make a retraction of decisions."""
    at = NOON + timedelta(minutes=seq)
    others = write_replaced(replaces)
    return Fact("retraction", "store", at, session, "decision", session=session, seq=seq, others=others)


def in_force(*facts: Fact, own: str = "") -> list[str]:
    """Give the words in force, the oldest first."""
    return [one.fact.text for one in fold(facts, own=own).statements.get("store", [])]


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.requirement("C162")
def test_a_statement_is_named_by_session_and_number_else_by_its_event() -> None:
    fact = Fact("decision", "SQLite", NOON, "a", "store", session="s-1", seq=4, event=HASH)

    assert name_statement(fact) == "s-1:4"
    assert name_statement(fact._replace(seq=0)) == HASH[:16]
    assert name_statement(fact._replace(session="two words")) == HASH[:16]
    assert name_statement(fact._replace(session="", seq=0, event="")) == ""
    assert name_statement(fact._replace(others=write_carried("s-0:2"))) == "s-0:2"


@pytest.mark.parametrize("text", ["{", '"s-1:4"', "[" * 100_000])
def test_names_that_cannot_be_read_are_no_names(text: str) -> None:
    fact = Fact("decision", "SQLite", NOON, "a", "store", others=((REPLACES, text),))

    assert list_replaced(fact) is None
    assert list_replaced(fact._replace(others=(("time", '"12:00"'),))) is None


def test_a_member_is_written_in_place_of_the_one_of_its_name() -> None:
    fact = decide("SQLite", "s-1", 4, "s-0:1")._replace(others=(("time", '"x"'), *write_replaced(["s-0:1"])))

    changed = with_replaced(fact, ["s-9:2", "s-2:3"])

    assert changed.others == (("time", '"x"'), (REPLACES, '["s-2:3", "s-9:2"]'))
    assert with_replaced(fact, None).others == (("time", '"x"'),)
    assert write_replaced(None) == write_carried("") == ()


# --- what is in force -----------------------------------------------------------------------------


@pytest.mark.requirement("C162", "R109")
def test_what_names_the_other_replaces_it_and_what_does_not_stays() -> None:
    one, two = decide("Postgres", "s-1", 1), decide("SQLite", "s-2", 2)

    assert in_force(one, two) == ["Postgres", "SQLite"]
    assert fold([one, two]).of("decision") == (two,)
    assert in_force(one, two, decide("Redis", "s-3", 3, "s-1:1", "s-2:2")) == ["Redis"]
    assert in_force(one, two, decide("Redis", "s-3", 3, "s-2:2")) == ["Postgres", "Redis"]
    assert in_force(one, two, retract("s-3", 3, "s-2:2")) == ["Postgres"]
    assert in_force(one, two, retract("s-3", 3, "s-1:1", "s-2:2")) == []
    assert in_force(one, two, retract("s-3", 3)) == ["Postgres", "SQLite"]
    assert in_force(decide("Redis", "s-3", 3, "s-1:1"), one) == [
        "Redis",
        "Postgres",
    ]  # only what ranks before


@pytest.mark.requirement("C162")
def test_what_does_not_tell_what_it_replaces_replaces_all_before_it() -> None:
    one, two = decide("Postgres", "s-1", 1), decide("SQLite", "s-2", 2)

    assert in_force(one, two, decide("Redis", "s-3", 3)._replace(others=())) == ["Redis"]
    assert in_force(one, two, retract("s-3", 3)._replace(others=())) == []


@pytest.mark.requirement("C162")
def test_what_is_left_after_a_retraction_stands_where_it_was_stated() -> None:
    other = decide("8080", "s-1", 2, key="port")

    folded = fold(
        [decide("Postgres", "s-1", 1), other, decide("SQLite", "s-2", 3), retract("s-3", 4, "s-2:3")]
    )

    assert [fact.text for fact in folded.of("decision")] == ["Postgres", "8080"]
    assert folded.list_contested() == ()


@pytest.mark.requirement("C162")
def test_a_statement_that_is_carried_on_counts_once() -> None:
    first = decide("Postgres", "s-1", 1)
    copy = first._replace(session="s-2", seq=7, others=carry(first))

    assert in_force(first, copy) == ["Postgres"]
    assert in_force(first, copy, decide("SQLite", "s-3", 8, "s-1:1")) == ["SQLite"]
    assert fold([first, copy]).list_contested() == ()


@pytest.mark.requirement("C162")
def test_of_the_same_words_the_newest_is_shown() -> None:
    facts = [decide("SQLite", "s-1", 1), decide("Postgres", "s-2", 2), decide("SQLite", "s-3", 3)]

    ((newest, other),) = fold(facts).list_contested()

    assert (newest.session, other.session) == ("s-3", "s-2")
    assert fold(facts[::2]).list_contested() == ()
    assert read_history(facts).names == ("s-1:1", "s-2:2", "s-3:3")


def test_a_session_replaces_what_it_decided_before_and_never_what_it_decided_after() -> None:
    one, two = decide("Postgres", "s-1", 1), decide("SQLite", "s-1", 2)
    late_copy = one._replace(session="s-2", seq=5, others=carry(one))

    assert in_force(one, two) == ["SQLite"]
    assert in_force(two, late_copy) == ["SQLite", "Postgres"]


def test_what_a_session_carries_on_does_not_overrule_what_it_stated() -> None:
    own = decide("SQLite", "s-1", 2)
    other = decide("Postgres", "s-0", 1)
    copy = other._replace(seq=3, others=carry(other))
    ended: list[tuple[str, str]] = []

    fold([own, copy], lambda old, by: ended.append((old.text, by.text)), own="s-1")

    assert in_force(own, copy, own="s-1") == ["SQLite"]
    assert ended == [("Postgres", "SQLite")]
    knowing = copy._replace(others=write_replaced(["s-1:2"]))
    fold([own, knowing], lambda old, by: ended.append((old.text, by.text)), own="s-1")
    assert in_force(own, knowing, own="s-1") == ["Postgres"]
    assert ended[1:] == [("SQLite", "Postgres")]
    assert in_force(own, copy._replace(others=carry(other)), own="s-1") == ["SQLite"]


def test_the_words_of_one_name_that_one_and_other_words_all() -> None:
    history = read_history([decide("Postgres", "s-1", 1), decide("SQLite", "s-2", 2)])

    assert [fact.text for fact in history.choose("Postgres")] == ["Postgres"]
    assert [fact.text for fact in history.choose("SQL")] == ["SQLite"]
    assert history.choose("store") == history.in_force
    more = read_history([*history.in_force, decide("SQLite 3", "s-3", 3)])
    assert [fact.text for fact in more.choose("SQLite")] == ["SQLite"]
    assert more.choose("SQL") == more.in_force
    assert (history.replaced, [fact.text for fact in history.contested]) == (None, ["Postgres"])


# --- events ---------------------------------------------------------------------------------------


@pytest.mark.requirement("C162", "C56")
def test_an_event_tells_what_is_replaced_and_what_is_repeated() -> None:
    first = decide("Postgres", "s-1", 4, "s-7:12", HASH[:16])
    nothing = decide("8080", "s-1", 5, key="port")
    copy = first._replace(seq=6, others=carry(first))

    ((_, text),) = render_origins([("decisions", [first, nothing, copy])], "s-1")

    assert text == (
        "4 2026-01-11T12:04:00.000Z replaces 0123456789abcdef;s-7:12, "
        "5 2026-01-11T12:05:00.000Z replaces -, "
        "6 2026-01-11T12:04:00.000Z of s-1:4 replaces 0123456789abcdef;s-7:12"
    )
    found = parse_origins([("decisions", text)])["decisions"]
    assert [origin and origin.replaces for origin in found] == [
        (HASH[:16], "s-7:12"),
        (),
        (HASH[:16], "s-7:12"),
    ]
    assert [origin and origin.carried for origin in found] == ["", "", "s-1:4"]


@pytest.mark.parametrize(
    "words", ["replaces", "replaces a;b", "replaces s-1:4;", "replaces -;s-1:4", "of x y"]
)
def test_what_does_not_fit_is_as_if_nothing_were_told(words: str) -> None:
    (origin,) = parse_origins([("decisions", f"4 2026-01-11T12:04:00Z {words}")])["decisions"]

    assert origin is not None
    assert (origin.replaces, origin.carried, origin.members) == (None, "", ())


@pytest.mark.requirement("C162")
def test_words_of_later_versions_stay_in_an_event_and_are_skipped() -> None:
    entry = "4 2026-01-11T12:04:00.000Z replaces - settles s-1:2"
    body = f"decisions:\n  store: SQLite\norigins:\n  decisions: {entry}\n"
    text = f"---\nts: 2026-01-11T12:05:00Z\nagent: a\nsession: s-1\n---\n{body}"

    assert render_event(parse_event(text)) == text
    source = parse_event_facts(text.encode(), "x.md")
    assert source is not None
    assert [list_replaced(fact) for fact in source.facts] == [()]


def journal(*facts: Fact) -> list[JournalLine]:
    """Make the lines of a journal."""
    return [JournalLine(seq=seq, fact=fact._replace(seq=0, session="")) for seq, fact in enumerate(facts, 1)]


def publish(lines: Sequence[JournalLine], covered: int = 0) -> dict[str, str]:
    """Give the origins that an event of a journal tells."""
    account = Account(session="s-1", agent="s-1")
    event = make_event(account, lines, PublishedExtent(covered, None), kind="checkpoint", reason="")
    assert event is not None
    return {pair.key: pair.value.partition("replaces ")[2] for pair in event.origins}


@pytest.mark.requirement("C162")
def test_an_event_joins_what_the_statements_before_it_replaced() -> None:
    one, two = decide("Redis", "s-1", 1, "s-9:1"), decide("SQLite", "s-1", 2, "s-1:1")
    back = retract("s-1", 3, "s-1:2")

    assert publish(journal(one, two)) == {"decisions": "s-1:1;s-9:1"}
    assert publish(journal(one, two), 1) == {"decisions": "s-1:1"}
    assert publish(journal(one, two, back)) == {"retracted_decisions": "s-1:1;s-1:2;s-9:1"}
    again = decide("DuckDB", "s-1", 4)
    assert publish(journal(one, two, back, again)) == {"decisions": "s-1:1;s-1:2;s-9:1"}
    older = one._replace(others=())
    assert publish(journal(older, two)) == {"decisions": ""}


@pytest.mark.requirement("C162")
def test_a_session_that_takes_back_what_another_decided_tells_its_own_too() -> None:
    own, back = decide("SQLite", "s-1", 1), retract("s-1", 2, "s-9:1")

    lines = journal(own, back)

    assert [fact.text for fact in fold_journal("s-1", lines).of(FactKind.DECISION)] == ["SQLite"]
    assert publish(lines) == {"decisions": "-", "retracted_decisions": "s-9:1"}


@pytest.mark.requirement("C162")
def test_what_is_carried_on_is_told_with_what_the_first_statement_replaced() -> None:
    first = decide("Postgres", "s-0", 7, "s-5:5", agent="amber")
    own, back = decide("Redis", "s-1", 1, "s-8:8"), retract("s-1", 2, "s-1:1")
    copy = JournalLine(seq=3, fact=first._replace(seq=0, others=carry(first)), at=NOON, agent="s-1")

    told = publish([*journal(own, back), copy])

    assert told == {"decisions": "s-5:5", "retracted_decisions": "s-1:1;s-8:8"}


# --- the view and the brief -----------------------------------------------------------------------


def make_digest_of(count: int, words: str = "choice", sides: int = 2) -> Digest:
    """Merge events in which writers decide the same keys without knowing of each other."""
    texts = []
    for side in range(sides):
        session = f"s-{side}"
        facts = [
            decide(f"{words} {side}", session, seq, minutes=side + 1, key=f"k{seq}")
            for seq in range(1, count + 1)
        ]
        origins = render_origins([("decisions", facts)], session)
        event = Event(
            ts=NOON + timedelta(hours=1, minutes=side),
            agent=session,
            session=session,
            decisions=tuple(Pair(key=fact.key, value=fact.text) for fact in facts),
            origins=tuple(Pair(key=key, value=value) for key, value in origins),
        )
        texts.append(render_event(name_event(event)))
    sources = [parse_event_facts(text.encode(), "x.md") for text in texts]
    return make_digest(merge_events(one for one in sources if one), 0, LIMIT)


@pytest.mark.requirement("C162")
def test_a_view_shows_both_with_their_days_and_reads_them_back() -> None:
    view = make_view(make_digest_of(2))

    text = render_view(view)

    line = f"choice 1 (s-1, 2026-01-11){UNSEEN}choice 0 (s-0, 2026-01-11)"
    assert view.contested == (f"k2: {line}", f"k1: {line}")
    assert f"- k1: choice 1\n\nContradiction: k2: {line}\n\nContradiction: k1: {line}\n" in text
    found = parse_view(text)
    assert replace(found, source=None, footer=None) == replace(view, footer=None)
    assert (found.problems, render_view(replace(found, source=None))) == ((), text)


@pytest.mark.requirement("C162", "C64")
def test_a_view_stays_small_however_much_contradicts() -> None:
    digests = make_digest_of(30, "x" * 290), make_digest_of(20, "🙂" * 200), make_digest_of(9, "y", sides=6)
    texts = [render_view(make_view(digest)) for digest in digests]

    assert all(len(text.encode()) < MOST_BYTES for text in texts)
    views = [parse_view(text) for text in texts]
    assert [len(view.contested) for view in views] == [2, 2, 5]
    assert [view.problems for view in views] == [(), (), ()]
    assert views[2].contested[0].endswith("; and 2 more")


def test_only_the_decisions_of_a_view_have_such_a_line() -> None:
    line = f"Contradiction: k: a{UNSEEN}b"
    text = render_view(View(constraints=("a",), footer=Footer())).replace("- a\n", f"- a\n\n{line}\n")

    view = parse_view(text)

    assert view.contested == ()
    assert [one.text for one in view.unknown] == [line]
    assert render_view(view) == text


@pytest.mark.requirement("C162")
def test_a_brief_shows_what_contradicts_first_and_cuts_each_side() -> None:
    facts = tuple(
        decide(f"{word} " + "x" * 400, f"s-{at}", 1, agent=f"a{at}", minutes=at)
        for at, word in enumerate(("five", "four", "three", "two", "one"))
    )[::-1]
    newer = decide("8080", "s-1", 9, key="port")
    tables = {"decision": {"store": facts[0], "port": newer}}

    brief = pack_brief(
        BriefInput(tables=tables, contested=(facts,)),
        Budget(),
        NOON + timedelta(hours=2),
        BriefFrame(nonce="0" * 12),
    )

    lines = [line for _, kind, line in brief.lines if kind == "decision"]
    assert lines[0].text.startswith("> store: one x")
    assert lines[0].text.count(UNSEEN) == 3
    assert lines[0].text.endswith("… (a1, 1 h); and 1 more")
    assert lines[0].id == ""
    assert lines[1].text.endswith("> port: 8080")
    both = pack_brief(
        BriefInput(tables=tables, contested=((newer, newer._replace(text="80", branch="side", agent="b")),)),
        Budget(),
        NOON + timedelta(hours=2),
        BriefFrame(nonce="0" * 12),
    )
    assert f"> port: 8080 (s-1, 1 h){UNSEEN}80 (b, 1 h, on side)" in both.body
    assert newer.id in both.facts
