"""A brief shows the right line of work, and all that holds for it, from journals and events."""

from datetime import datetime, timedelta

import pytest

from passdown.core.briefs.brief_input import facts_held
from passdown.core.briefs.briefs import Brief
from passdown.core.briefs.budgets import Budget
from passdown.core.documents.key_value import Pair
from passdown.core.facts import Provenance
from passdown.core.formats.events import Event, render_event
from passdown.core.formats.ledgers import Ledger, render_ledger
from passdown.core.ids import event_file_name, fact_id
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account, HostProcess, SessionStart, make_start
from passdown.engines.memory.event_log import MemoryEventLog
from passdown.engines.memory.index import MemoryIndex
from passdown.errors import StorageError
from passdown.records import replace
from passdown.services.handover.banners import make_banner
from passdown.services.handover.briefs import OtherCheckoutLog, make_brief, read_brief_input
from passdown.services.log.events import name_event
from passdown.services.sessions.journals import write_fact
from passdown.services.sessions.publications import publish
from tests.support.sessions import LEDGER, NOON, Place, end_session, make_place

NONCE = "0123456789ab"


def brief_of(place: Place, account: Account | None, *others: OtherCheckoutLog) -> Brief:
    """Brief a session within the usual budget."""
    return make_brief(place.project, account, Budget(), NONCE, others)


def put_event(log: MemoryEventLog, at: datetime, agent: str = "remote-1", **said: object) -> Event:
    """Publish an event as another machine would."""
    event = name_event(replace(Event(ts=at, agent=agent, branch="main"), **said))
    assert log.create("", event_file_name(at, agent), render_event(event).encode())
    return event


def run(place: Place, number: int, **request: object) -> Account:
    """Start a session of a process of its own, which lives."""
    process = HostProcess(number, "then", "boot")
    place.processes.host = process
    place.processes.alive[process] = True
    return place.start(is_new=True, **request)


def kill(place: Place, number: int) -> None:
    """Let a process be gone."""
    place.processes.alive[HostProcess(number, "then", "boot")] = False


def test_without_anything_there_is_a_brief_all_the_same() -> None:
    place = make_place()
    place.repository.there = False

    assert (
        'Goal:\nnone yet. Record it when you know it: `passdown goal "…"`\nNow:\nnone yet'
        in brief_of(place, None).body
    )


@pytest.mark.requirement("R1")
def test_a_session_is_told_what_it_said_before_its_context_was_cleared() -> None:
    place = make_place()
    account = place.start()
    for kind, text in (
        (FactKind.GOAL, "Ship it"),
        (FactKind.NOW, "Test it"),
        (FactKind.CONSTRAINT, "No threads"),
        (FactKind.RECEIPT, "Mail sent"),
        (FactKind.FEEDBACK, "Too slow"),
        (FactKind.DONE, "Wrote it"),
    ):
        place.say(account, kind, text)
    place.say(account, FactKind.DECISION, "SQLite", "engine", "no server")

    body = brief_of(place, account).body

    for line in ("> Ship it", "> Test it", "> No threads", "> Mail sent", "> Too slow", "> Wrote it"):
        assert f"\n{line}\n" in f"{body}\n"
    assert "\n> engine: SQLite (no server)\n" in body
    assert f"ledger > {LEDGER}" in body


def test_what_was_carried_on_is_of_whom_it_comes_from() -> None:
    place = make_place()
    first = place.start(host="codex")
    place.say(first, FactKind.GOAL, "Ship it")
    place.say(first, FactKind.NOW, "Test it")
    place.say(first, FactKind.NEXT, "Release")
    end_session(place.project, first)
    place.pass_time(hours=26)
    second = place.start(host="claude")
    end_session(place.project, second)
    place.pass_time(hours=1)
    third = place.start(host="amp")
    place.say(third, FactKind.NOW, "Fix it")

    body = brief_of(place, third).body

    assert f"Goal:\n({first.agent}, 1 d) > Ship it\nNow:\n> Fix it" in body
    assert f"Next:\n({first.agent}, 1 d) > Release" in body


def test_the_next_session_is_told_without_one_what_the_last_one_knew() -> None:
    place = make_place()
    first = place.start()
    place.say(first, FactKind.GOAL, "Ship it")
    place.say(first, FactKind.CONSTRAINT, "No threads")
    place.pass_time(days=3)

    body = brief_of(place, None).body

    assert f"({first.agent}, 3 d) > Ship it" in body
    assert f"({first.agent}, 3 d) > No threads" in body


def test_a_ledger_that_no_journal_made_is_read_with_its_age() -> None:
    place = make_place()
    ledger = Ledger(goal="Old goal", now="Old now", next=("Old next",), updated=NOON - timedelta(days=2))
    place.write(render_ledger(ledger))

    body = brief_of(place, None).body

    assert "(LEDGER.md, 2 d) > Old goal" in body
    assert "(LEDGER.md, 2 d) > Old next" in body

    place.write(render_ledger(replace(ledger, session_id="s-1", updated=None)))
    assert "(s-1, 0 s) > Old goal" in brief_of(place, None).body
    place.documents.replace(LEDGER, b"---\nformat: 99\n---\n")
    assert "none yet" in brief_of(place, None).body


def test_a_ledger_of_a_session_that_runs_is_not_read_again() -> None:
    place = make_place()
    running = run(place, 1)
    place.say(running, FactKind.GOAL, "Theirs")

    brief_input = read_brief_input(place.project, None)

    assert brief_input.aim.now is None
    assert brief_input.peers[0].agent == running.agent


# --- whose goal (C59) -----------------------------------------------------------------------------


@pytest.mark.requirement("C59")
def test_same_track_before_same_branch_before_project() -> None:
    place = make_place()
    on_track = run(place, 1, track="speed")
    place.say(on_track, FactKind.GOAL, "Goal of the track")
    end_session(place.project, on_track)
    place.pass_time(minutes=1)
    place.repository.current = "feat/x"
    on_branch = run(place, 2)
    place.say(on_branch, FactKind.GOAL, "Goal of the branch")
    end_session(place.project, on_branch)
    place.pass_time(minutes=1)
    place.repository.current = "other"
    elsewhere = run(place, 3)
    place.say(elsewhere, FactKind.GOAL, "Goal of the project")
    end_session(place.project, elsewhere)

    def told(branch: str, track: str) -> str:
        place.repository.current = branch
        account = Account(session="s-new", agent="new-1", track=track)
        goal = read_brief_input(place.project, account).aim.goal
        return goal.text if goal else ""

    assert told("feat/x", "speed") == "Goal of the track"
    assert told("feat/x", "") == "Goal of the branch"
    assert told("feat/x", "unknown-track") == "Goal of the branch"
    assert told("new-branch", "") == "Goal of the project"
    assert told("unknown", "") == "Goal of the project"


def test_who_runs_lends_its_goal_to_its_branch_and_keeps_what_it_does() -> None:
    place = make_place()
    running = run(place, 1)
    place.say(running, FactKind.GOAL, "Shared goal")
    place.say(running, FactKind.NOW, "Their work")
    silent = run(place, 2)

    brief_input = read_brief_input(place.project, Account(session="s-new", agent="new-1"))

    assert brief_input.aim.goal is not None
    assert brief_input.aim.goal.text == "Shared goal"
    assert brief_input.aim.now is None
    assert [(peer.agent, peer.text) for peer in brief_input.peers] == [
        (running.agent, "Shared goal | now: Their work"),
        (silent.agent, ""),
    ]
    place.repository.current = "elsewhere"
    assert read_brief_input(place.project, Account(session="s-new")).aim.goal is None


def test_events_of_another_machine_tell_the_goal_of_the_branch() -> None:
    place = make_place()
    put_event(place.log, NOON - timedelta(hours=3), goal="Remote goal", next=("Remote next",))
    put_event(place.log, NOON - timedelta(hours=2), now="Remote now")
    put_event(place.log, NOON - timedelta(hours=1), "remote-2", goal="Of another branch", branch="feat/y")

    aim = read_brief_input(place.project, None).aim

    assert aim.goal is not None
    assert aim.now is not None
    assert (aim.goal.text, aim.now.text, [one.text for one in aim.next]) == (
        "Remote goal",
        "Remote now",
        ["Remote next"],
    )


def test_what_was_published_long_ago_is_found_when_nothing_newer_tells() -> None:
    place = make_place()
    put_event(place.log, NOON - timedelta(days=9), goal="Old goal", next=("Old next",))
    put_event(place.log, NOON - timedelta(days=8), now="Old now")
    for number in range(100):
        put_event(place.log, NOON - timedelta(minutes=number + 1), this_session=(f"Did {number}",))

    aim = read_brief_input(place.project, None).aim

    assert aim.goal is not None
    assert aim.now is not None
    assert (aim.goal.text, aim.now.text, aim.next[0].text) == ("Old goal", "Old now", "Old next")


# --- what holds -----------------------------------------------------------------------------------


def test_a_retraction_counts_before_and_after_it_is_published() -> None:
    place = make_place()
    put_event(place.log, NOON - timedelta(hours=2), constraints=("No threads", "No network"))
    account = place.start()
    place.say(account, FactKind.RETRACTION, "No threads", "constraint")

    assert "No threads" not in brief_of(place, account).body
    assert "(remote-1, 2 h) > No network" in brief_of(place, account).body
    publish(place.project, account.session, kind="checkpoint", reason="asked")
    assert "No threads" not in brief_of(place, account).body


def test_feedback_is_told_until_it_is_answered() -> None:
    place = make_place()
    put_event(place.log, NOON - timedelta(hours=2), feedback=("Too slow", "Too big", "Too old"))
    put_event(place.log, NOON - timedelta(hours=1), "remote-2", resolved_questions=("Too old",))
    account = place.start()
    place.say(account, FactKind.FEEDBACK, "Too loud")
    place.pass_time(seconds=1)
    place.say(account, FactKind.ANSWER, "done", "Too slow")
    place.say(account, FactKind.ANSWER, "done", fact_id("feedback", "Too loud"))

    assert [one.text for one in read_brief_input(place.project, account).of(FactKind.FEEDBACK)] == ["Too big"]

    place.pass_time(seconds=1)
    place.say(account, FactKind.FEEDBACK, "Too loud")
    place.say(account, FactKind.RETRACTION, "Too big", "feedback")
    assert [one.text for one in read_brief_input(place.project, account).of(FactKind.FEEDBACK)] == [
        "Too loud"
    ]


@pytest.mark.requirement("C56")
def test_facts_of_events_say_how_they_are_known() -> None:
    place = make_place()
    put_event(
        place.log,
        NOON - timedelta(hours=2),
        receipts=("pytest: 0", "mailed", "odd"),
        provenance=(
            Pair(key=fact_id("test", "pytest: 0"), value="verified"),
            Pair(key=fact_id("receipt", "odd"), value="guessed"),
        ),
    )

    found = {one.text: one.provenance for one in read_brief_input(place.project, None).of(FactKind.RECEIPT)}

    assert found == {
        "pytest: 0": Provenance.VERIFIED,
        "mailed": Provenance.STATED,
        "odd": Provenance.STATED,
    }


def test_a_commit_and_a_test_are_receipts() -> None:
    place = make_place()
    account = place.start()
    place.say(account, FactKind.COMMIT, "abc123")
    place.say(account, FactKind.TEST, "TOKEN=1 pytest", "0")
    place.say(account, FactKind.RETRACTION, "abc123", "commit")
    place.say(account, FactKind.RETRACTION, "nothing", "note")

    assert [one.text for one in read_brief_input(place.project, account).of(FactKind.RECEIPT)] == [
        "… pytest: exit 0"
    ]


@pytest.mark.requirement("C25")
def test_a_question_that_is_answered_is_closed() -> None:
    place = make_place()
    put_event(place.log, NOON - timedelta(hours=2), open_questions=("Which port?", "Why?"))
    account = place.start()
    place.say(account, FactKind.ANSWER, "8080", "Which port?")

    assert [one.text for one in read_brief_input(place.project, account).of(FactKind.QUESTION)] == ["Why?"]


def test_an_older_line_does_not_oust_what_an_event_says() -> None:
    place = make_place()
    account = place.start()
    place.say(account, FactKind.DECISION, "SQLite", "engine")
    place.say(account, FactKind.RETRACTION, "No threads", "constraint")
    put_event(
        place.log,
        NOON + timedelta(hours=1),
        decisions=(Pair(key="engine", value="PostgreSQL"),),
        constraints=("No threads",),
    )

    brief_input = read_brief_input(place.project, account)

    assert [one.text for one in brief_input.of(FactKind.DECISION)] == ["PostgreSQL"]
    assert [one.text for one in brief_input.of(FactKind.CONSTRAINT)] == ["No threads"]


def test_checkpoints_that_failed_block() -> None:
    place = make_place()
    text = "---\nts: 2026-01-11T09:00:00Z\nagent: remote-1\n---\ncheckpoints:\n- phase: 2\n  status: failed\n"
    place.log.create("", "2026-01-11T09-00-00Z_remote-1.md", f"{text}  task: t-1\n  name: Build\n".encode())

    assert "Blockers:\n(remote-1, 3 h) > Phase 2 (Build) of t-1: failed" in brief_of(place, None).body


# --- other checkouts ------------------------------------------------------------------------------


@pytest.mark.requirement("C65")
def test_other_checkouts_are_read_and_marked_with_their_branch() -> None:
    here, there, third = make_place(), make_place(), make_place()
    both = put_event(here.log, NOON - timedelta(hours=4), constraints=("Settled here",))
    put_event(here.log, NOON - timedelta(hours=3), retracted_constraints=("Settled here",))
    for one in (there, third):
        assert both.ts is not None
        one.log.create("", event_file_name(both.ts, "remote-1"), render_event(both).encode())
        put_event(one.log, NOON - timedelta(hours=2), "remote-2", constraints=("No threads",))

    def elsewhere(place: Place, branch: str) -> OtherCheckoutLog:
        return OtherCheckoutLog(log=place.log, index=MemoryIndex(), branch=branch)

    body = brief_of(here, None, elsewhere(there, "feat/x"), elsewhere(third, "feat/y")).body

    assert "(remote-2, 2 h, on feat/x) > No threads" in body
    assert "Settled here" not in body
    assert "feat/y" not in body


def test_the_later_of_two_other_checkouts_counts() -> None:
    here, there, third = make_place(), make_place(), make_place()
    put_event(there.log, NOON - timedelta(hours=2), decisions=(Pair(key="engine", value="SQLite"),))
    put_event(third.log, NOON - timedelta(hours=1), decisions=(Pair(key="engine", value="PostgreSQL"),))
    others = [
        OtherCheckoutLog(log=one.log, index=MemoryIndex(), branch=branch)
        for one, branch in ((there, "feat/x"), (third, "feat/y"))
    ]

    assert "(remote-1, 1 h, on feat/y) > engine: PostgreSQL" in brief_of(here, None, *others).body


def test_a_checkout_that_cannot_be_read_is_left_out() -> None:
    class BrokenLog(MemoryEventLog):
        def folders(self, known: object) -> dict[str, int]:  # noqa: ARG002 - as the port has it
            raise StorageError("the disk is gone")

    place = make_place()

    assert brief_of(place, None, OtherCheckoutLog(log=BrokenLog(), index=MemoryIndex(), branch="feat/x")).body


def test_what_an_event_of_another_checkout_covers_is_not_told_twice() -> None:
    place = make_place()
    account = place.start()
    place.say(account, FactKind.CONSTRAINT, "No threads")
    there = MemoryEventLog()
    put_event(there, NOON, account.agent, session=account.session, covers="1-99", constraints=("No threads",))

    found = read_brief_input(
        place.project, account, [OtherCheckoutLog(log=there, index=MemoryIndex(), branch="feat/x")]
    ).of(FactKind.CONSTRAINT)

    assert [(one.text, one.branch) for one in found] == [("No threads", "feat/x")]


# --- chains, banner, accounts ---------------------------------------------------------------------


def test_a_chain_that_bites_its_tail_ends() -> None:
    place = make_place()
    for name, before in (("s-1", "s-2"), ("s-2", "s-1")):
        fact = make_start(SessionStart(continues=before), NOON, f"agent-{name}")
        write_fact(place.project, name, fact)

    assert read_brief_input(place.project, Account(session="s-1")).agent == "agent-s-1"


def test_what_a_killed_session_did_not_publish_is_told_to_who_goes_on() -> None:
    place = make_place()
    killed = run(place, 1)
    place.say(killed, FactKind.CONSTRAINT, "No threads")
    kill(place, 1)

    assert f"({killed.agent}, 0 s) > No threads" in brief_of(place, None).body


@pytest.mark.requirement("R121")
def test_the_banner_lists_the_newest_events() -> None:
    place = make_place()
    for hour in range(12):
        put_event(place.log, NOON - timedelta(hours=hour + 1), now=f"Step {hour}")
    place.log.create("", "2026-01-01T00-00-00Z_x.md", b"---\nnow: dateless\n---\n")

    lines = make_banner(place.project, read_brief_input(place.project, None).aim).splitlines()

    assert lines[:2] == ["Passdown: 13 events combined", "  remote-1  2026-01-11 11:00Z  Step 0"]
    assert lines[-3:] == [
        "  and 8 earlier: `passdown log --all`",
        "Goal: none yet",
        "Now: Step 0",
    ]


def test_every_fact_of_an_account_is_known() -> None:
    place = make_place()
    account = place.start()
    place.say(account, FactKind.GOAL, "Ship it")
    place.say(account, FactKind.NOTE, "To myself")

    kept = place.say(account, FactKind.FILE, "a.py").account

    assert {(one.kind, one.text) for one in facts_held(kept)} == {
        (FactKind.GOAL, "Ship it"),
        (FactKind.NOTE, "To myself"),
        (FactKind.FILE, "a.py"),
    }


# --- decisions that did not know of each other (C162) ---------------------------------------------


def put_decision(log: MemoryEventLog, number: int, text: str, replaces: str) -> None:
    """Publish a decision as a session of another machine would."""
    at = NOON - timedelta(hours=9 - number)
    entry = f"{number} {at:%Y-%m-%dT%H:%M:%S.000Z} replaces {replaces}"
    put_event(
        log,
        at,
        f"remote-{number}",
        session=f"s-{number}",
        decisions=(Pair(key="store", value=text),),
        origins=(Pair(key="decisions", value=entry),),
    )


@pytest.mark.requirement("C162")
def test_what_another_checkout_decided_unseen_is_shown_with_its_branch() -> None:
    place, there = make_place(), MemoryEventLog()
    put_decision(place.log, 1, "Postgres", "-")
    put_decision(there, 2, "SQLite", "-")

    body = brief_of(place, None, OtherCheckoutLog(log=there, index=MemoryIndex(), branch="feat/x")).body

    one, two = "Postgres (remote-1, 8 h)", "SQLite (remote-2, 7 h, on feat/x)"
    assert f"Decisions:\n> store: {two}; also decided, unseen by the other: {one}\n" in body


@pytest.mark.requirement("C162")
def test_what_was_replaced_step_by_step_elsewhere_contradicts_nothing() -> None:
    place, there = make_place(), MemoryEventLog()
    for log in (place.log, there):
        put_decision(log, 1, "Postgres", "-")
    put_decision(there, 2, "Redis", "s-1:1")
    put_decision(there, 3, "SQLite", "s-2:2")
    other = OtherCheckoutLog(log=there, index=MemoryIndex(), branch="feat/x")

    found = read_brief_input(place.project, None, [other])

    assert found.contested == ()
    assert [fact.text for fact in found.of(FactKind.DECISION)] == ["SQLite"]


@pytest.mark.requirement("C162")
def test_a_session_is_told_what_contradicts_what_it_has_not_published() -> None:
    place = make_place()
    account = place.start()
    place.say(account, FactKind.DECISION, "SQLite", "store")
    put_decision(place.log, 1, "Postgres", "-")

    body = brief_of(place, account).body

    assert f"> store: SQLite ({account.agent}, 0 s); also decided, unseen by the other: Postgres" in body
