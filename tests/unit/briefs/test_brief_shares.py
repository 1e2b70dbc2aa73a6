"""In a brief, what stays in force keeps its share of the room, at any age of a project (C132)."""

import json
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.briefs.brief_frame import BriefFrame
from passdown.core.briefs.brief_input import (
    BriefInput,
    CurrentWork,
    HeldName,
    Nearby,
    OtherSession,
    TeamInput,
    UnreadMessage,
)
from passdown.core.briefs.budgets import PREVIEW, Budget
from passdown.core.briefs.packing import SEEN_SHARE, SHARES
from passdown.core.documents.key_value import Pair
from passdown.core.evidence.histories import END, SessionHistory, make_history
from passdown.core.facts import Fact, Provenance
from passdown.core.fold import Table
from passdown.core.formats.events import render_event
from passdown.core.ids import event_file_name, slug
from passdown.core.kinds import FactKind
from passdown.core.times import render_millis
from passdown.records import replace
from passdown.services.log.events import name_event
from tests.support.claude_lines import ClaudeTranscript
from tests.support.commands import Caller
from tests.support.gits import make_started
from tests.support.projects import EVENTS, put, put_event, stop_clock
from tests.support.sessions import NOON
from tests.unit.briefs.test_briefs import NOW, OTHER, know, pack, several, table
from tests.unit.hooks.test_hooks import HOST, Stage, context
from tests.unit.hooks.test_hooks import stage as stage  # noqa: PLC0414 - a fixture

SHOWN: Final = (FactKind.DECISION, FactKind.QUESTION, FactKind.CONSTRAINT)


def put_history(folder: Path, history: SessionHistory) -> None:
    """Write a history as its sessions would."""
    for event in map(name_event, history.events):
        assert event.ts is not None
        assert event.agent is not None
        put(folder, f"{EVENTS}/{event_file_name(event.ts, event.agent)}", render_event(event))


def missing_of(history: SessionHistory, text: str) -> list[str]:
    """Give what every brief must have and a text has not: whole, with what counts the other feedback."""
    last, feedback = history.events[-1], history.of(FactKind.FEEDBACK)
    newest = [one.text for one in feedback if one.session == feedback[0].session or one in feedback[:3]]
    shown = [one.text for one in feedback if one.text in text]
    count = f"and {len(feedback) - len(shown)} more: `passdown view list feedback`"
    missing = [one for one in (last.goal, last.now, (last.next or ("",))[0], count) if str(one) not in text]
    return [*map(str, missing), *(["feedback"] if len({*shown} & {*newest}) < 3 else [])]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give a way to call the command in a repository, an hour after a history ended."""
    stop_clock(monkeypatch, render_millis(END + timedelta(hours=1)))
    project = make_started(tmp_path / "project")
    project.write("passdown.toml", "")
    return Caller(monkeypatch, capsys, project.folder)


@pytest.mark.requirement("C126", "C132", through="command")
@pytest.mark.parametrize(("sessions", "feedback"), [(20, 1), (20, 15), (100, 1), (250, 1)])
def test_what_stays_in_force_is_in_the_brief_at_any_age(
    command: Caller, sessions: int, feedback: int
) -> None:
    history = make_history(2, sessions, feedback)
    put_history(command.folder, history)

    brief = command("brief").out

    shown = [sum(one.text in brief for one in history.of(kind)) for kind in SHOWN]
    assert all(found >= least for found, least in zip(shown, (5, 3, 5), strict=True)), brief
    assert missing_of(history, brief[:PREVIEW]) == []
    assert missing_of(history, command("brief", "--chars", str(PREVIEW)).out) == []
    for kind in ("constraints", "questions", "decisions"):
        assert f"more: `passdown view list {kind}`" in brief


@pytest.mark.requirement("C132", through="command")
def test_where_there_is_little_else_there_are_eight_six_and_eight(command: Caller) -> None:
    history = make_history(3, 100, is_plain=True)
    put_history(command.folder, history)

    brief = command("brief").out

    shown = [sum(one.text in brief for one in history.of(kind)) for kind in SHOWN]
    assert all(found >= least for found, least in zip(shown, (8, 6, 8), strict=True)), brief


def fill_project(folder: Path, *, old: str = "2025-06-01T00:00:00Z") -> None:
    """Write an old decision that names a file, and much that is newer and names none."""
    put_event(folder, old, decisions=(Pair(key="store", value="Keep src/core/store.py free of SQL"),))
    for number in range(60):
        at = NOON - timedelta(hours=100 - number)
        put_event(
            folder,
            render_millis(at),
            agent=f"agent-{number}",
            decisions=(Pair(key=f"choice-{number}", value=f"Take {number} " + "word " * 15),),
            constraints=(f"Never {number} " + "word " * 15,),
            open_questions=(f"Is it {number} " + "word " * 15,),
        )


OLD: Final = "store: Keep src/core/store.py free of SQL"


@pytest.mark.requirement("C132", through="hook")
def test_after_a_compaction_a_decision_that_names_an_edited_file_is_told_however_old(stage: Stage) -> None:
    fill_project(stage.root)
    assert OLD not in context(stage.call("SessionStart", source="startup"))
    agent = ClaudeTranscript(path=stage.transcript, root=stage.root, session=HOST)
    agent.ask("Make it faster")
    agent.edit("src/core/store.py")
    stage.call("Stop")

    compacted = context(stage.call("SessionStart", source="compact"))
    stage.call("SessionEnd", reason="other")
    continued = context(stage.call("SessionStart", source="startup", session_id="another"))

    assert OLD in compacted
    assert OLD in continued


@pytest.mark.requirement("C132", through="command")
def test_files_that_the_branch_changes_are_at_hand(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    fill_project(command.folder)
    assert OLD not in command("brief").out
    run_git(command.folder, "checkout", "-q", "-b", "feat")
    put(command.folder, "src/core/store.py", "x\n")
    run_git(command.folder, "add", "src")
    run_git(command.folder, "commit", "-q", "-m", "Store")

    assert OLD in command("brief").out
    run_git(command.folder, "checkout", "-q", "--detach")
    assert OLD not in command("brief").out


def run_git(folder: Path, *arguments: str) -> None:
    """Run git."""
    subprocess.run(["git", *arguments], cwd=folder, check=True)


@pytest.mark.requirement("C132", through="command")
def test_files_that_the_last_sessions_of_the_branch_changed_are_at_hand(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    fill_project(command.folder)
    put_event(command.folder, "2026-01-11T11:00:00Z", session="s-1", files_modified=("src/core/store.py",))

    brief = command("brief").out

    assert OLD in brief
    assert brief.index(OLD) < brief.index("choice-59: ")


@pytest.mark.requirement("C132", through="command")
def test_what_names_a_file_is_listed(command: Caller) -> None:
    fill_project(command.folder)
    put_event(
        command.folder,
        "2025-06-02T00:00:00Z",
        constraints=("No threads in core/store.py", "None in lib/store.py"),
        this_session=("Wrote store.py",),
    )

    decisions = command("view", "list", "decisions", "--about", "src/core/store.py")
    rules = json.loads(command("view", "list", "constraints", "--about", "src/core/store.py", "--json").out)

    assert decisions.out.splitlines()[0] == OLD
    assert len(decisions.out.splitlines()) == 2
    assert [one["text"] for one in rules["facts"]] == ["No threads in core/store.py"]
    assert command("view", "list", "done", "--about", "src/core/store.py").out.startswith("Wrote store.py\n")
    nothing = command("view", "list", "questions", "--about", "src/core/store.py")
    assert (nothing.out, nothing.err) == (
        "",
        "passdown: no fact in section questions names src/core/store.py\n",
    )


# --- the packer -----------------------------------------------------------------------------------


def test_a_key_that_was_made_from_the_text_is_not_shown() -> None:
    made = know(FactKind.DECISION, "Use SQLite", key=slug("Use SQLite"))
    reasoned = know(FactKind.DECISION, "Drop it (it (the old one) is slow)", key=slug("Drop it"))
    named = know(FactKind.DECISION, "Postgres (fast)", key="engine")

    body = pack(BriefInput(tables={FactKind.DECISION: table(made, reasoned, named)})).body

    assert "> Use SQLite\n" in body
    assert "> Drop it (it (the old one) is slow)\n" in body
    assert "> engine: Postgres (fast)\n" in body


@pytest.mark.requirement("C132")
def test_facts_that_name_a_file_come_first_then_those_of_the_track_of_the_branch_and_the_newest() -> None:
    texts = ("newest", "branch", "track", "both", "old branch", "names", "own")
    facts = [
        know(FactKind.CONSTRAINT, text, OTHER, hours, event=f"{text:x<64}")
        for hours, text in enumerate(texts, 1)
    ]
    facts[-1] = facts[-1]._replace(event="")
    elsewhere = know(FactKind.CONSTRAINT, "elsewhere", OTHER, 0, event="branch".ljust(64, "x"), branch="feat")
    nearby = Nearby(
        named=frozenset({(FactKind.CONSTRAINT.value, "names")}),
        of_track=frozenset(f"{text:x<64}" for text in ("track", "both")),
        of_branch=frozenset(f"{text:x<64}" for text in ("branch", "both", "old branch")),
    )

    brief = pack(BriefInput(tables={FactKind.CONSTRAINT: table(*facts, elsewhere)}, nearby=nearby))

    shown = [line.fact.text for _, kind, line in brief.lines if kind == FactKind.CONSTRAINT and line.fact]
    assert shown == ["names", "both", "own", "track", "branch", "old branch", "elsewhere", "newest"]


def crowd(length: int = 100, count: int = 400) -> BriefInput:
    """Make an input in which every part is full."""

    def many(kind: FactKind, lead: str = "") -> Table:
        texts = (f"{lead}{kind.value} {number} ".ljust(length, "x") for number in range(count))
        facts = (know(kind, text, OTHER, hour, key="", event="e" * 64) for hour, text in enumerate(texts, 1))
        return table(*facts)

    questions = many(FactKind.QUESTION)
    return BriefInput(
        agent="me",
        aim=CurrentWork(
            know(FactKind.GOAL, "goal ".ljust(length, "x"), OTHER),
            know(FactKind.NOW, "now ".ljust(length, "x"), OTHER),
            tuple(know(FactKind.NEXT, f"next {number} ".ljust(length, "x"), OTHER) for number in range(50)),
        ),
        tables={
            **{kind.value: many(kind) for kind in FactKind if kind.row.brief_class and kind.row.event_key},
            FactKind.QUESTION.value: {**questions, **many(FactKind.QUESTION, "Blocked: ")},
        },
        explains_recording=True,
        words=know(FactKind.WORDS, "words ".ljust(500, "x"), OTHER, provenance=Provenance.OBSERVED),
        team=TeamInput(
            holdings=tuple(HeldName("file", f"src/{number}.py".ljust(length, "x")) for number in range(50)),
            messages=tuple(
                UnreadMessage(number, OTHER, f"message {number} ".ljust(length, "x"), NOW)
                for number in range(50)
            ),
        ),
        peers=tuple(OtherSession(OTHER, "main", f"peer {n} ".ljust(length, "x"), NOW) for n in range(50)),
    )


@pytest.mark.requirement("C132")
def test_with_every_other_part_full_there_are_five_decisions_three_questions_and_five_rules() -> None:
    body = pack(crowd()).body

    assert body.count("> decision ") >= 5
    assert body.count("> question ") >= 3
    assert body.count("> constraint ") >= 5
    for kind in ("Blocked: ", "src/0.py", "peer ", "feedback 2 ", "next 0 "):
        assert f"> {kind}" in body
    assert body.count("> feedback ") == 3
    assert "\nand 397 more: `passdown view list feedback`\nNext:\n" in body[:PREVIEW]


@given(st.integers(250, 3_000), st.integers(600, 9_000), st.integers(10, 300))
def test_shares_never_exceed_the_budget_and_the_head_is_first(tokens: int, chars: int, length: int) -> None:
    budget = Budget(tokens=tokens, characters=chars)

    brief_input = crowd(length, 15)

    brief = pack(brief_input, budget)

    assert budget.holds(brief.size)
    assert brief.body.split("\n")[1] == "Goal:"
    assert "\nNow:\n" in brief.body
    assert pack(brief_input, budget) == brief


@pytest.mark.requirement("C132")
def test_shares_take_no_more_than_the_room_and_no_part_has_two() -> None:
    shares = [(share.percent, sorted(share.kinds)) for share in SHARES]

    assert (15, ["blocker", "holding", "message"]) in shares
    assert (22, ["constraint"]) in shares
    assert (25, ["decision"]) in shares
    assert (15, ["question"]) in shares
    every = [*SHARES, SEEN_SHARE]
    assert sum(share.percent for share in every) == 97
    assert sum(len(share.kinds) for share in every) == len(frozenset().union(*(one.kinds for one in every)))


def test_many_kinds_that_are_left_out_are_counted() -> None:
    last = pack(crowd(), Budget(tokens=450)).body.splitlines()[-1]

    assert last.startswith("Left out: ")
    assert last.endswith(" kinds: `passdown brief --json`")


@pytest.mark.requirement("C132")
def test_further_next_steps_come_before_what_has_no_share() -> None:
    steps = tuple(know(FactKind.NEXT, f"next {number} ".ljust(40, "x")) for number in range(30))
    tables = {
        FactKind.RECEIPT.value: several(FactKind.RECEIPT, 30),
        FactKind.DONE.value: several(FactKind.DONE, 9),
    }
    brief_input = BriefInput(agent="me", aim=CurrentWork(next=steps), tables=tables)

    bodies = [pack(brief_input, Budget(tokens=tokens)).body for tokens in range(300, 1_200, 50)]

    shown = [(body.count("> next "), body.count("> receipt ")) for body in bodies]
    assert all(receipts == 0 for steps_shown, receipts in shown if steps_shown < 29)
    assert shown[-1][1] > 0


def test_more_feedback_is_shown_only_while_the_head_stays_in_front() -> None:
    feedback = several(FactKind.FEEDBACK, 40, 100)
    aim = CurrentWork(know(FactKind.GOAL, "Ship it"), next=(know(FactKind.NEXT, "Release"),))

    body = pack(BriefInput(aim=aim, tables={FactKind.FEEDBACK: feedback})).body

    assert 3 < body.count("> feedback ") < 40
    assert "> Release\n" in body[:PREVIEW]


def test_feedback_and_next_go_where_not_even_the_shortest_head_fits() -> None:
    wide = {kind: several(FactKind(kind), 5) for kind in ("constraint", "decision", "question", "done")}
    feedback = table(
        *(know(FactKind.FEEDBACK, f"{number}{'字' * 80}", hours=number) for number in range(1, 6))
    )
    steps = (know(FactKind.NEXT, "文" * 80),)
    aim = CurrentWork(know(FactKind.GOAL, "語" * 80), know(FactKind.NOW, "語" * 80), steps)
    brief_input = BriefInput(aim=aim, tables={**wide, FactKind.FEEDBACK: feedback})
    budget, frame = Budget(tokens=250), BriefFrame(nonce="n" * 32, delimiter="=== brief ===".ljust(32, "="))

    brief = pack(brief_input, budget, frame)

    assert budget.holds(brief.size)
    assert brief.body.count("> " + "語" * 20 + "…") == 2
    assert "> 3字" not in brief.body
    assert "Left out: " in brief.body or "more: " in brief.body


@pytest.mark.requirement("C162")
def test_two_contradictions_come_first_then_what_names_a_file() -> None:
    def decide(key: str, text: str, at: datetime = NOW) -> Fact:
        return know(FactKind.DECISION, text, OTHER, key=key)._replace(at=at)

    contested = tuple((decide(f"k{n}", f"yes {n}"), decide(f"k{n}", f"no {n}")) for n in range(4))
    plain = [decide("near", "names a.py", NOW - timedelta(days=9)), decide("far", "names nothing")]
    tables = {FactKind.DECISION.value: table(*plain, *(facts[0] for facts in contested))}
    nearby = Nearby(named=frozenset({(FactKind.DECISION.value, "names a.py")}))

    brief = pack(BriefInput(tables=tables, contested=contested, nearby=nearby))

    shown = [line.fact.key for _, kind, line in brief.lines if kind == FactKind.DECISION and line.fact]
    assert shown == ["k0", "k1", "near", "k2", "k3", "far"]
    assert not replace(BriefInput(), nearby=Nearby()).nearby.names(plain[0])
