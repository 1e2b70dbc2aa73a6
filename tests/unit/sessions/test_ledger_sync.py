"""A ledger is the rendering of an account, and an edited ledger says new facts."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from passdown.core.facts import make_key
from passdown.core.formats.journal import JournalLine, parse_line, render_line
from passdown.core.formats.ledgers import Ledger, LedgerDecision, Mode, ReadFile, parse_ledger, render_ledger
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import (
    MAX_CHARS,
    RULED_OUT,
    NewFact,
    add_missing_lines,
    fill_ledger,
    find_edits,
    fits_a_line,
    make_rule,
    rebase_edits,
    show_decision,
    show_ledger,
    split_decision,
)
from passdown.core.sessions.session_facts import Account, SessionStart, fold_journal, make_start
from passdown.records import replace
from tests.formats.strategies import BY_NAME, ids, lines, maybe_text, texts
from tests.support.journals import nasty_journals
from tests.support.sessions import AGENT, NOON, in_order, make_line, show_time

START = JournalLine(
    seq=1, fact=make_start(SessionStart(host="claude", branch="main", ledger="L", mode="MA"), NOON, AGENT)
)


def fold(*facts: tuple[str, ...]) -> Account:
    return fold_journal("s-1", [START, *in_order(("start", ""), *facts)[1:]])


def write(ledger: Ledger) -> Ledger:
    """Write a ledger down and read it again."""
    return parse_ledger(render_ledger(ledger))


def edits(ledger: Ledger, base: Account) -> list[NewFact]:
    return list(find_edits(write(ledger), base, show_time))


@pytest.mark.requirement("R7", "R15", "R22", "R23", "R24", "R25", "R26", "R27", "R28", "R29")
def test_an_account_fills_a_ledger() -> None:
    account = fold(
        ("goal", "g"),
        ("now", "n"),
        ("next", "a\nb"),
        ("done", "d"),
        ("decision", "Use SQLite", "db", "it is there"),
        ("constraint", "no daemon"),
        ("decision", "Plain text"),
        ("question", "q?"),
        ("file", "src/a.py"),
        ("read", "README.md", "", "the rules"),
        ("binding", "t-1", "track"),
        ("binding", "bd-1", "task"),
        ("done", " "),
    )

    ledger = fill_ledger(Ledger(tdd_phase=None), account, show_time)

    assert (ledger.session_id, ledger.platform, ledger.mode, ledger.branch) == (
        "s-1",
        "claude",
        Mode.MULTI,
        "main",
    )
    assert (ledger.bound_track, ledger.bound_bead, ledger.task_track, ledger.task_bead) == (
        "t-1",
        "bd-1",
        "t-1",
        "bd-1",
    )
    assert (ledger.goal, ledger.now, ledger.next, ledger.done) == ("g", "n", ("a", "b"), ("d",))
    assert ledger.decisions == (
        LedgerDecision(decision="db: Use SQLite", reasoning="it is there", when="12:00"),
        LedgerDecision(decision="Ruled out: no daemon", when="12:00"),
        LedgerDecision(decision="Plain text", when="12:00"),
    )
    assert (ledger.questions, ledger.modified) == (("q?",), ("src/a.py",))
    assert ledger.read == (ReadFile(path="README.md", reason="the rules"),)
    assert (ledger.journal_seq, ledger.updated, ledger.mode_locked_at) == (14, account.said_at, NOON)


@pytest.mark.requirement("R12")
def test_a_heartbeat_is_no_update() -> None:
    account = fold(("done", "a"), ("heartbeat", "alive"))
    ledger = fill_ledger(Ledger(), account, show_time)

    assert ledger.updated is not None
    assert ledger.heartbeat is not None
    assert ledger.updated < ledger.heartbeat


def test_a_mode_that_is_none_is_single() -> None:
    fact = make_start(SessionStart(mode="XX"), NOON, AGENT)

    account = fold_journal("s-1", [JournalLine(seq=1, fact=fact)])

    assert fill_ledger(Ledger(), account, show_time).mode is Mode.SINGLE


def test_a_ledger_as_it_was_rendered_says_nothing_new() -> None:
    account = fold(("goal", "g"), ("done", "d"), ("decision", "x", "k"), ("next", "a"))

    assert edits(fill_ledger(Ledger(), account, show_time), account) == []


def change(account: Account, **changes: Any) -> list[NewFact]:  # fields of a ledger
    return edits(replace(fill_ledger(Ledger(), account, show_time), **changes), account)


def test_goal_and_now_are_replaced_or_taken_back() -> None:
    account = fold(("goal", "g"), ("now", "n"))

    assert change(account, goal="h") == [NewFact(FactKind.GOAL, "h")]
    assert change(account, now="m") == [NewFact(FactKind.NOW, "m")]
    assert change(account, goal="", now="") == [
        NewFact(FactKind.RETRACTION, "g", "goal"),
        NewFact(FactKind.RETRACTION, "n", "now"),
    ]


def test_lists_are_compared_item_by_item() -> None:
    account = fold(("done", "a"), ("done", "b"), ("question", "q?"), ("file", "x.py"))

    assert change(account, done=("b", "c"), questions=(), modified=("x.py", "y.py")) == [
        NewFact(FactKind.RETRACTION, "a", "done"),
        NewFact(FactKind.DONE, "c"),
        NewFact(FactKind.RETRACTION, "q?", "question"),
        NewFact(FactKind.FILE, "y.py"),
    ]
    assert change(account, modified=()) == [NewFact(FactKind.RETRACTION, "x.py", "file")]


def test_what_was_taken_out_is_named_as_it_was_said() -> None:
    account = fold(("done", "trailing blanks  \n\n\nand lines "))

    assert change(account, done=()) == [
        NewFact(FactKind.RETRACTION, "trailing blanks  \n\n\nand lines ", "done")
    ]


def test_next_steps_are_taken_as_a_whole() -> None:
    account = fold(("next", "a\nb"))

    assert change(account, next=("b", "two\nlines")) == [NewFact(FactKind.NEXT, "b\ntwo lines")]
    assert change(account, next=()) == [NewFact(FactKind.NEXT, "")]


def test_rows_of_decisions_are_read_as_decisions_and_constraints() -> None:
    account = fold(("decision", "x", "why not", "y"), ("constraint", "c"), ("decision", "gone", "g"))
    rows = fill_ledger(Ledger(), account, show_time).decisions

    assert change(
        account,
        decisions=(
            replace(rows[0], reasoning="z"),
            LedgerDecision(decision="db: Use SQLite", reasoning="it is there"),
            LedgerDecision(decision="Ruled out: no daemon"),
            LedgerDecision(decision="Plain words: and more"),
        ),
    ) == [
        NewFact(FactKind.RETRACTION, "c", "constraint"),
        NewFact(FactKind.RETRACTION, "g", "decision"),
        NewFact(FactKind.DECISION, "x", "why not", "z"),
        NewFact(FactKind.DECISION, "Use SQLite", "db", "it is there"),
        NewFact(FactKind.CONSTRAINT, "Ruled out: no daemon"),
        NewFact(FactKind.DECISION, "Plain words: and more", "plain_words_and_more"),
    ]


def test_the_reason_of_what_is_ruled_out_becomes_a_part_of_it() -> None:
    account = fold(("constraint", "Ruled out: a daemon"))
    rows = fill_ledger(Ledger(), account, show_time).decisions

    assert change(account, decisions=(replace(rows[0], reasoning="they hate it"),)) == [
        NewFact(FactKind.RETRACTION, "Ruled out: a daemon", "constraint"),
        NewFact(FactKind.CONSTRAINT, "Ruled out: a daemon (they hate it)"),
    ]


def test_files_that_were_read_have_reasons() -> None:
    account = fold(("read", "a.md", "", "x"), ("read", "b.md", "", "y"))

    assert change(account, read=(ReadFile(path="b.md", reason="z"), ReadFile(path="c.md"))) == [
        NewFact(FactKind.RETRACTION, "a.md", "read"),
        NewFact(FactKind.READ, "b.md", because="z"),
        NewFact(FactKind.READ, "c.md"),
    ]


@pytest.mark.requirement("R33", "R34", "R35")
def test_bindings_are_taken_from_the_front_matter_or_else_from_the_body() -> None:
    account = fold(("binding", "t-1", "track"), ("binding", "bd-1", "task"))

    assert change(account, bound_track="t-2", bound_bead=None) == [
        NewFact(FactKind.BINDING, "t-2", "track"),
        NewFact(FactKind.BINDING, "", "task"),
    ]
    assert change(account, task_track="t-3") == [NewFact(FactKind.BINDING, "t-3", "track")]
    assert change(account, task_track="t-3", bound_track="t-2") == [NewFact(FactKind.BINDING, "t-2", "track")]
    assert change(fold(), bound_bead="bd-9") == [NewFact(FactKind.BINDING, "bd-9", "task")]


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ("db: Use SQLite", "db", "Use SQLite"),
        ("two words: and more", "two_words_and_more", "two words: and more"),
        ("db:", "db", "db:"),
        ("db: ", "db", "db: "),
        ("a: b: c", "a", "b: c"),
    ],
)
def test_a_decision_is_split_into_key_and_text(text: str, key: str, said: str) -> None:
    assert split_decision(text) == (key, said)


def test_a_key_made_of_the_words_is_not_shown() -> None:
    shown = (show_decision("ship_it", "Ship It"), show_decision("k", "x"))

    assert shown == ("Ship It", "k: x")


def test_a_fact_of_the_greatest_length_fits_a_line() -> None:
    new_fact = NewFact(FactKind.DECISION, "\x01" * (MAX_CHARS - 2), "k", "b")
    line = make_line(10**9, new_fact.kind, new_fact.text, new_fact.key, new_fact.because)

    assert fits_a_line(new_fact)
    assert not fits_a_line(new_fact._replace(key="kk"))
    assert parse_line(render_line(line).removesuffix("\n")) == line


# --- Properties -----------------------------------------------------------------------------------


def says(ledger: Ledger) -> dict[str, object]:
    """Give what a ledger says, whatever the order of what has none."""
    rows = {}
    for one in ledger.decisions:
        is_rule = one.decision.startswith(RULED_OUT)
        if is_rule:  # its reason becomes a part of it
            rows[make_rule(one.decision, one.reasoning)] = ("", "")
        else:
            key, text = split_decision(one.decision)
            rows[key] = (text, one.reasoning)
    return {
        "goal": ledger.goal,
        "now": ledger.now,
        "done": {make_key(text) for text in ledger.done},
        "next": list(dict.fromkeys(" ".join(text.split()) for text in ledger.next)),
        "rows": rows,
        "questions": {make_key(text) for text in ledger.questions},
        "modified": {make_key(path) for path in ledger.modified},
        "read": {make_key(one.path): one.reason for one in ledger.read},
        "track": ledger.bound_track,
        "bead": ledger.bound_bead,
    }


def has_clear_rows(ledger: Ledger) -> bool:
    """Whether no two rows speak of the same decision."""
    keys = [split_decision(one.decision)[0] for one in ledger.decisions]
    return len(set(keys)) == len(keys) == len({make_key(one.decision) for one in ledger.decisions})


@st.composite
def edited(draw: st.DrawFn, ledger: Ledger) -> Ledger:
    """Edit a ledger as a person would: take out, put in, write anew."""

    def some(items: Sequence[Any], new: st.SearchStrategy[Any]) -> tuple[Any, ...]:
        kept = [item for item in items if draw(st.booleans())]
        return (*kept, *draw(st.lists(new, max_size=2)))

    rows = st.builds(LedgerDecision, decision=lines, reasoning=st.just("") | lines)
    reads = st.builds(ReadFile, path=st.sampled_from(("a.md", "b c.md")), reason=st.just("") | st.just("x"))
    track = draw(st.just(ledger.bound_track) | st.none() | ids)
    bead = draw(st.just(ledger.bound_bead) | st.none() | ids)
    return replace(
        ledger,
        goal=draw(st.just(ledger.goal) | maybe_text),
        now=draw(st.just(ledger.now) | maybe_text),
        done=some(ledger.done, texts),
        next=some(ledger.next, texts),
        decisions=some(ledger.decisions, rows),
        questions=some(ledger.questions, texts),
        modified=some(ledger.modified, st.sampled_from(("a.py", "b/c d.py", "`e`"))),
        read=some(ledger.read, reads),
        bound_track=track,
        task_track=track,
        bound_bead=bead,
        task_bead=bead,
    )


def number_from(new_facts: Sequence[NewFact], first: int) -> list[JournalLine]:
    return [
        make_line(first + at, one.kind, one.text, one.key or None, one.because or None)
        for at, one in enumerate(new_facts)
    ]


def open_journal(made: Sequence[JournalLine]) -> list[JournalLine]:
    """Put a start before random lines."""
    return [START, *(replace(line, seq=line.seq + 1) for line in made)]


@given(made=nasty_journals(), foreign=BY_NAME["ledger"].values)
def test_nothing_is_found_where_nobody_edited(made: list[JournalLine], foreign: Ledger) -> None:
    account = fold_journal("s-1", open_journal(made))
    filled = write(fill_ledger(foreign, account, show_time))

    assert list(find_edits(filled, account, show_time)) == []


@given(made=nasty_journals(), data=st.data())
def test_edits_become_facts_and_the_ledger_says_the_same(
    made: list[JournalLine], data: st.DataObject
) -> None:
    journal = open_journal(made)
    base = fold_journal("s-1", journal)
    before = show_ledger(base, show_time)
    after = write(data.draw(edited(before)))
    assume(has_clear_rows(before) and has_clear_rows(after))

    found = find_edits(after, base, show_time)
    account = fold_journal("s-1", [*journal, *number_from(found, len(journal) + 1)])

    filled = write(fill_ledger(after, account, show_time))
    assert says(filled) == says(after)
    assert list(find_edits(filled, account, show_time)) == []


def test_what_was_said_since_a_ledger_was_rendered_is_not_said_again() -> None:
    base = fold(("done", "a"))
    known = fold(("done", "a"), ("done", "b"), ("retraction", "b", "done"))
    since = [line.fact for line in in_order(("done", "b"), ("retraction", "b", "done"))]
    edits = [NewFact(FactKind.DONE, "b"), NewFact(FactKind.DONE, "c")]

    assert rebase_edits(edits, base, known, since) == [NewFact(FactKind.DONE, "c")]


@pytest.mark.parametrize(
    ("edited", "now", "kept"),
    [
        ("a\nz", "a\ny", "a\nz\ny"),  # one was added by hand, one by a verb
        ("a\nb\nz", "b", "b\nz"),  # one was removed by a verb since
        ("b", "a\nb\ny", "b\ny"),  # one was removed by hand
        ("", "a\nb\ny", "y"),
    ],
)
def test_next_steps_that_changed_on_both_sides_are_joined(edited: str, now: str, kept: str) -> None:
    base, known = fold(("next", "a\nb")), fold(("next", "a\nb"), ("next", now))

    assert rebase_edits([NewFact(FactKind.NEXT, edited)], base, known, ()) == [NewFact(FactKind.NEXT, kept)]


def test_next_steps_that_are_the_same_by_now_are_no_edit() -> None:
    base, known = fold(("next", "a")), fold(("next", "a"), ("next", "a\nz"))

    assert rebase_edits([NewFact(FactKind.NEXT, "a\nz")], base, known, ()) == []


@pytest.mark.parametrize(
    ("other", "joined"),
    [
        ("# L\n\n| a |\n", "# L\n\n| a |\n"),
        ("# L\n", "# L\n\n| a |\n"),
        ("# L\n\n| a |\n| b |\n| a |\n", "# L\n\n| a |\n| b |\n| a |\n"),
        ("# L\n\nnote\n\n| a |\n", "# L\n\n| a |\n\nnote\n"),
    ],
)
def test_lines_that_only_one_ledger_has_are_added_to_the_other(other: str, joined: str) -> None:
    assert add_missing_lines("# L\n\n| a |\n", other) == joined
