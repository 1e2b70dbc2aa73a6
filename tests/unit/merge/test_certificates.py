"""Every fact that was stated is told, shown or retired by name; what is not is found."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from passdown.core.evidence.certificates import (
    Certificate,
    FactStatus,
    StatedFact,
    VisibleFacts,
    judge,
    trace_events,
    trace_journal,
)
from passdown.core.facts import ADD, Provenance, show_phase
from passdown.core.formats.journal import JournalLine
from passdown.core.kinds import FactKind
from passdown.core.merge.event_facts import EventFacts
from passdown.core.merge.merge import Digest
from passdown.core.merge.rollups import RollupMember, name_rollup, render_rollup
from passdown.engines.memory.index import MemoryIndex
from passdown.records import replace
from passdown.services.handover.certificates import certify
from passdown.services.log.events import read_sources
from passdown.services.sessions.publications import publish
from passdown.testing.memory.journals import MemoryJournals
from tests.support.events import make_text, read
from tests.support.sessions import NOON, Place, end_session, in_order, make_line, make_place, with_parts


def fates(stated: Sequence[StatedFact]) -> list[tuple[str, str]]:
    """Give each text with what retired it."""
    return [
        (show_phase(one.fact) if one.fact.kind == "checkpoint" else one.fact.text, one.retired_by)
        for one in stated
    ]


def lost(found: Certificate) -> list[tuple[str, str]]:
    """Give what nothing accounts for."""
    return [(one.kind, one.text) for one in found.losses]


# --- journals -------------------------------------------------------------------------------------


def test_a_register_is_retired_by_the_next_one_and_by_a_retraction() -> None:
    lines = in_order(("goal", "one"), ("goal", "two"), ("retraction", "two", "goal"), ("now", "three"))

    assert fates(trace_journal("s", lines)) == [("one", "s line 2"), ("two", "s line 3"), ("three", "")]


def test_what_was_only_seen_does_not_oust_what_was_said() -> None:
    seen = [make_line(seq, "goal", f"seen {seq}", provenance=Provenance.OBSERVED) for seq in (1, 2, 4)]
    lines = [*seen, make_line(3, "goal", "said")]

    assert fates(trace_journal("s", lines)) == [
        ("seen 1", "s line 2"),
        ("seen 2", "s line 3"),
        ("said", ""),
        ("seen 4", "s line 3"),
    ]


def test_next_steps_are_retired_by_the_next_list() -> None:
    lines = in_order(("next", "a\nb"), ("next", "c", ADD), ("retraction", "b", "next"), ("next", "a\n\nd"))

    assert fates(trace_journal("s", lines)) == [
        ("a", "s line 4"),
        ("b", "s line 3"),
        ("c", "s line 4"),
        ("a", ""),
        ("d", ""),
    ]


def test_questions_are_retired_by_answers_and_decisions_by_their_key() -> None:
    lines = in_order(
        ("question", "why?"),
        ("answer", "so", "why?"),
        ("decision", "SQLite", "engine"),
        ("decision", "PostgreSQL", "engine"),
        ("retraction", "engine", "decision"),
        ("retraction", "nothing"),
        ("heartbeat", "alive"),
        ("start", "started"),
        ("from a newer version", "whatever"),
        ("claim", "t-1"),
    )

    assert fates(trace_journal("s", lines)) == [
        ("why?", "s line 2"),
        ("so", ""),
        ("SQLite", "s line 4"),
        ("PostgreSQL", "s line 5"),
    ]


def test_a_line_that_stands_there_twice_counts_once() -> None:
    line = make_line(1, "constraint", "No threads")

    assert len(trace_journal("s", [line, line])) == 1


# --- events ---------------------------------------------------------------------------------------


def source(hour: int, agent: str = "toast", **keys: object) -> EventFacts:
    """Make an event of an hour."""
    text = make_text(f"2026-01-10T{hour:02}:00:00Z", agent, **keys)  # type: ignore[arg-type]
    return read(text)


def test_events_retire_what_earlier_ones_say() -> None:
    one = source(
        1,
        id="e1",
        goal="old",
        next=["a", "b"],
        constraints=["No threads"],
        decisions={"engine": "SQLite"},
        checkpoints=[{"phase": "1", "status": "pending", "updated": "2026-01-10T05:00:00Z"}],
    )
    two = source(
        2,
        id="e2",
        goal="new",
        next=["c"],
        retracted_constraints=["No threads", "never said"],
        decisions={"engine": "PostgreSQL"},
        checkpoints=[
            {"phase": "1", "status": "failed", "updated": "2026-01-10T04:00:00Z"},
            {"phase": "2", "status": "validated"},
        ],
    )

    assert sorted(fates(trace_events([two, one, one]))) == [
        ("No threads", "event e2"),
        ("Phase 1: failed", "event e1"),
        ("Phase 1: pending", ""),
        ("Phase 2: validated", ""),
        ("PostgreSQL", ""),
        ("SQLite", "event e2"),
        ("a", "event e2"),
        ("b", "event e2"),
        ("c", ""),
        ("new", ""),
        ("old", "event e2"),
    ]


def test_an_event_that_is_taken_back_is_named_with_the_one_that_does_it() -> None:
    gone = source(1, id="e1", goal="wrong", retracted_done=["x"])
    other = source(1, "crisp", goal="wrong too")
    by = source(2, id="e2", retracted_events=["e1", other.rank.hash[:16]])

    assert fates(trace_events([gone, other, by])) == [("wrong too", "event e2"), ("wrong", "event e2")]


def test_an_empty_list_of_next_steps_retires_all() -> None:
    one = source(1, id="e1", next=["a"])
    empty = read("---\nts: 2026-01-10T02:00:00Z\nagent: toast\nid: e2\n---\n\nnext: []\n")

    assert fates(trace_events([one, empty])) == [("a", "event e2")]


# --- projects -------------------------------------------------------------------------------------


def work(place: Place) -> list[str]:
    """Let two sessions work, and give the text of everything they were told is kept."""
    acknowledged: list[str] = []
    first = place.start()
    for kind, text, key in (
        (FactKind.GOAL, "Ship it", ""),
        (FactKind.NOW, "Test it", ""),
        (FactKind.CONSTRAINT, "No threads", ""),
        (FactKind.DECISION, "SQLite", "engine"),
        (FactKind.DECISION, "PostgreSQL", "engine"),
        (FactKind.QUESTION, "Which port?", ""),
        (FactKind.ANSWER, "8080", "Which port?"),
        (FactKind.NEXT, "Release", ""),
        (FactKind.RECEIPT, "Mail sent", ""),
        (FactKind.NOTE, "To myself", ""),
    ):
        place.pass_time(seconds=1)
        place.say(first, kind, text, key, "no server" if kind is FactKind.DECISION else "")
        acknowledged.append(text)
    end_session(place.project, first)
    place.pass_time(hours=1)
    second = place.start()
    place.say(second, FactKind.FEEDBACK, "Too slow")
    place.say(second, FactKind.RETRACTION, "No threads", "constraint")
    return [*acknowledged, "Too slow"]


def test_nothing_is_lost_in_the_work_of_two_sessions() -> None:
    place = make_place()
    expected = work(place)

    found = certify(place.project, None, (), [*expected, "", "engine: SQLite", "PostgreSQL"])

    assert lost(found) == []
    assert found.count(FactStatus.UNACCOUNTED) == 0
    how = {one.text: (one.how, one.where) for one in found.facts}
    assert how["Mail sent"] == (FactStatus.IN_BRIEF, "passdown brief")
    assert how["Which port?"][0] is FactStatus.RETIRED
    assert how["To myself"] == (FactStatus.BY_COMMAND, "passdown brief --session s-000000000002 --json")
    assert len(found.root) == 64
    assert certify(place.project, None).root == found.root


def test_without_a_journal_what_events_say_is_listed() -> None:
    place = make_place()
    for number in range(60):
        text = make_text(f"2026-01-10T13:{number:02}:00Z", decisions={f"k{number}": "x" * 100 + str(number)})
        place.log.create("", f"{number}.md", text.encode())

    found = certify(place.project, None)

    assert lost(found) == []
    assert found.count(FactStatus.BY_COMMAND) > 10
    assert {one.where for one in found.facts if one.how is FactStatus.BY_COMMAND} == {
        "passdown view list decisions"
    }


class CutJournals(MemoryJournals):
    """Journals that lose what a test takes out of them."""

    loses: Callable[[JournalLine], bool] = staticmethod(lambda _: False)

    def read(self, session: str) -> Sequence[JournalLine]:
        """Give the lines that are not lost."""
        return [line for line in super().read(session) if not self.loses(line)]


def test_a_line_that_was_acknowledged_and_is_gone_is_found() -> None:
    journals = CutJournals()
    place = make_place(journals)
    account = place.start()
    for text in ("No threads", "No network", "No sleep"):
        place.say(account, FactKind.CONSTRAINT, text)
    expected = ["No threads", "No network", "No sleep"]
    assert lost(certify(place.project, account, (), expected)) == []

    journals.loses = lambda line: line.fact.text == "No network"

    assert lost(certify(place.project, account, (), expected)) == [
        ("line", f"line 3 of {account.session} is missing"),
        ("expected", "No network"),
    ]

    journals.loses = lambda line: line.fact.text == "No sleep"  # the last one leaves no gap

    assert lost(certify(place.project, account)) == []
    assert lost(certify(place.project, account, (), expected)) == [("expected", "No sleep")]


def test_what_an_event_covers_and_does_not_say_is_found() -> None:
    place = make_place()
    account = place.start()
    place.say(account, FactKind.GOAL, "Ship it")
    place.say(account, FactKind.TEST, "pytest", "0")
    text = make_text("2026-01-11T11:00:00Z", session=account.session, covers="1-3", goal="Ship it")
    place.log.create("", "event.md", text.encode())

    assert lost(certify(place.project, account)) == [
        ("test", "pytest (an event covers it, no event contains it)"),
    ]


def test_what_is_published_is_published_whole() -> None:
    place = make_place()
    work(place)
    place.pass_time(hours=1)
    account = place.start()
    publish(place.project, account.session, kind="checkpoint", reason="asked")

    assert lost(certify(place.project, account)) == []


def test_two_lines_of_one_number_are_both_known() -> None:
    class Doubled(MemoryJournals):
        def read(self, session: str) -> Sequence[JournalLine]:
            lines = super().read(session)
            return [*lines, *(replace(one, fact=one.fact._replace(text="No network")) for one in lines[-1:])]

    place = make_place(Doubled())
    account = place.start()
    place.say(account, FactKind.CONSTRAINT, "No threads")

    assert lost(certify(place.project, account, (), ["No threads", "No network"])) == []


def test_a_line_that_the_account_leaves_out_is_unaccounted() -> None:
    stated = trace_journal(
        "s", in_order(("constraint", "No threads"), ("retraction", "No threads", "constraint"))
    )
    again = trace_journal("s-2", in_order(("constraint", "No threads")))

    found = judge([*stated, *again], VisibleFacts(frozenset(), {}, frozenset()))

    assert [(one.how, one.where) for one in found.losses] == [(FactStatus.UNACCOUNTED, "s-2 line 1")]


def test_an_index_that_lost_a_fact_is_found_out() -> None:
    class Forgetful(MemoryIndex):
        def digest(self, limit: int, until: datetime | None = None) -> Digest:
            digest = super().digest(limit, until)
            return replace(digest, kinds={key: one._replace(facts=()) for key, one in digest.kinds.items()})

    place = make_place()
    text = make_text("2026-01-11T11:00:00Z", constraints=["No threads"])
    place.log.create("", "event.md", text.encode())

    assert lost(certify(with_parts(place, index=Forgetful()), None)) == [("constraint", "No threads")]


def test_events_are_read_from_rollups_too_and_what_is_none_is_skipped() -> None:
    place = make_place()
    member = RollupMember("a.md", make_text("2026-01-10T13:00:00Z", goal="Rolled").encode())
    rollup = render_rollup(NOON.date() - timedelta(days=1), [(member, read(member.data.decode()))])
    place.log.create("", name_rollup(rollup), rollup.encode())
    place.log.create("", "broken.md", b"no event")

    assert [one.rank.agent for one in read_sources(place.log)] == ["toast"]
    assert lost(certify(place.project, None, (), ["Rolled"])) == []
