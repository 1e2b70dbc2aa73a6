"""Tasks by command: added, claimed by one session, closed with notes, given to those who wait."""

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from passdown.core.coordination.operations import RANDOM_BYTES
from passdown.core.kinds import FactKind
from passdown.engines.system import SystemEntropy
from tests.support.teams import Team


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a repository with two sessions."""
    made = Team(tmp_path / "project", monkeypatch, capsys)
    made.join("amber", "birch")
    return made


@pytest.mark.requirement("R169")
@pytest.mark.requirement("R167")
def test_a_task_is_claimed_by_one_session_and_reported(team: Team) -> None:
    task = team.add("Sign in form")

    first = team.run("amber", "claim")
    second = team.run("birch", "claim")

    assert (first.code, first.out) == (0, f"Claimed: {task} Sign in form\n")
    assert second.code == 0
    assert second.out == (f"No task is ready.\n  {task} Sign in form: held by {team.agent('amber')}\n")


@pytest.mark.requirement("R214")
def test_a_named_task_of_another_session_is_refused_with_three_choices(team: Team) -> None:
    task = team.add("Sign in form")
    team.run("amber", "claim", task)

    refused = team.run("birch", "claim", task)

    assert (refused.code, refused.out) == (3, "")
    amber = team.agent("amber")
    assert f"{task} is held by {amber} (expires in 11 min if it stays silent)" in " ".join(
        refused.err.split()
    )
    assert f"--to {amber}" in refused.err
    assert "`passdown inbox`" in refused.err
    assert "`passdown task ready`" in refused.err
    answer = team.ask("birch", "claim", task)
    assert (answer["claimed"], answer["held"]["agent"], answer["held"]["name"]) == ([], amber, task)


def test_whoever_claims_again_is_given_the_same_task(team: Team) -> None:
    team.add("one")
    team.add("two")

    first = team.ask("amber", "claim")["claimed"]

    assert team.ask("amber", "claim")["claimed"] == first
    another = team.ask("amber", "claim", "--another")["claimed"]
    assert [one["title"] for one in (*first, *another)] == ["one", "two"]


@pytest.mark.requirement("R166")
@pytest.mark.requirement("R170")
def test_claimed_tasks_are_in_journal_ledger_and_state_file(team: Team) -> None:
    names = sorted([team.add("one"), team.add("two")])

    team.run("amber", "claim", *names)

    account = team.account("amber")
    assert list(account.claims) == names
    assert account.task == names[0]
    state = json.loads((team.project.folder / ".conductor" / "session-state_amber.json").read_text())
    assert (state["currentTask"], state["currentTasks"]) == (names[0], names)
    ledger = (team.project.folder / account.start.ledger).read_text()
    assert f"bound_bead: {names[0]}" in ledger
    assert all(name in ledger for name in names)


@pytest.mark.requirement("R170")
def test_several_tasks_are_claimed_together_or_not_at_all(team: Team) -> None:
    one, two = team.add("one"), team.add("two")
    team.run("birch", "claim", two)

    assert team.run("amber", "claim", one, two).code == 3

    assert team.ask("birch", "claim", one, "--another")["claimed"][0]["id"] == one


@pytest.mark.requirement("R171")
def test_nothing_to_claim_names_who_blocks(team: Team) -> None:
    one = team.add("one")
    two = team.add("two", "--after", one)
    three = team.add("three", "--role", "be")
    team.run("amber", "claim", one)

    done = team.run("birch", "claim", "--role", "fe")

    assert done.code == 0
    assert f"{two} two: waits for {one}" in done.out
    assert f"{three} three: for role be" in done.out
    assert team.run("birch", "claim", two).code == 0
    assert team.run("birch", "claim", "--role", "be").out == f"Claimed: {three} three\n"


@pytest.mark.requirement("R180", "R181", "R182")
@pytest.mark.requirement("R187")
@pytest.mark.requirement("R215")
def test_closing_a_task_notes_it_releases_files_and_frees_who_waited(team: Team) -> None:
    one = team.add("one")
    two = team.add("two", "--after", one)
    team.run("birch", "inbox")
    team.run("amber", "claim")
    team.run("amber", "reserve", "src/", "docs/a.md")
    team.run("amber", "decide", "store", "Keep it in files")
    team.run("amber", "next", "write docs")

    closed = team.run("amber", "close", "--note", "it works", "--msg", "one is there")

    assert closed.code == 0
    assert closed.out == f"Closed: {one} one (completed)\n  released: docs/a.md, src/\n  ready now: {two}\n"
    shown = team.command("task", "show", one).out
    assert (
        "  > COMPLETED: it works\n  > KEY DECISION: store: Keep it in files\n  > NEXT: write docs\n" in shown
    )
    account = team.account("amber")
    assert [fact.text for fact in account.of(FactKind.DONE)] == [f"one ({one})"]
    assert (account.task, account.claims, account.reservations) == ("", {}, {})
    assert "> one is there" in team.run("birch", "inbox").out
    assert team.run("birch", "claim").out.startswith(f"Claimed: {two}")


@pytest.mark.requirement("R180", "R181", "R183")
def test_a_skipped_task_says_why(team: Team) -> None:
    one = team.add("one")
    team.run("amber", "claim")

    answer = team.ask("amber", "close", one, "--reason", "skipped", "--note", "superseded")

    assert (answer["closed"], answer["reason"], answer["note"]) == (
        one,
        "skipped",
        "SKIPPED: one\nREASON: superseded",
    )
    account = team.account("amber")
    assert account.of(FactKind.DONE) == ()


@pytest.mark.requirement("C149")
def test_the_notes_of_a_task_are_about_that_task(team: Team) -> None:
    one, two = team.add("one"), team.add("two")
    team.run("amber", "decide", "layout", "two columns")
    team.run("amber", "claim", one)
    team.run("amber", "decide", "store", "Keep it in files")
    team.run("amber", "close", "--note", "COMPLETED: it works")
    team.run("amber", "claim", two)

    answer = team.ask("amber", "close", "--note", "it works too")

    assert (
        "  > COMPLETED: it works\n  > KEY DECISION: store: Keep it in files\n"
        in team.command("task", "show", one).out
    )
    assert answer["note"] == "COMPLETED: it works too"


@pytest.mark.requirement("R180", "R181", "R184")
def test_a_blocked_task_stays_and_can_be_opened_again(team: Team) -> None:
    one = team.add("one")
    two = team.add("two", "--after", one)
    team.run("amber", "claim")
    team.run("amber", "now", "ask for a key")
    team.run("amber", "rule-out", "the test key: it has expired")

    answer = team.ask("amber", "close", "--reason", "blocked", "--note", "no key\nWAITING ON: the bank")

    assert answer["note"] == "BLOCKED: no key\nWAITING ON: the bank\nTRIED: the test key: it has expired"
    assert answer["ready"] == []
    blocked = team.run("birch", "claim")
    assert f"{one} one: blocked" in blocked.out
    assert f"{two} two: waits for {one}" in blocked.out
    assert team.command("task", "change", one, "--open").code == 0
    assert team.run("birch", "claim").out == f"Claimed: {one} one\n"


def test_a_task_that_another_session_took_over_cannot_be_closed(team: Team) -> None:
    one = team.add("one")
    team.run("amber", "claim")
    team.pass_time(hours=1)
    assert team.run("birch", "takeover", one).out.startswith(f"Took over {one} ")

    refused = team.run("amber", "close", one)

    assert (refused.code, refused.out) == (3, "")
    assert "this session no longer holds" in refused.err or "does not hold" in refused.err
    assert team.ask("amber", "close", one)["lost"]["name"] == one
    assert team.run("birch", "close").code == 0


@pytest.mark.requirement("R180")
def test_there_are_three_reasons_to_close_a_task(team: Team) -> None:
    team.add("one")
    team.run("amber", "claim")

    refused = team.run("amber", "close", "--reason", "finished")

    assert refused.code == 2
    for reason in ("completed", "skipped", "blocked"):
        assert reason in refused.err


def test_closing_without_a_task_says_so(team: Team) -> None:
    done = team.run("amber", "close")

    assert (done.code, done.out) == (2, "")
    assert "this session holds no task" in done.err


def test_an_orphaned_task_waits_for_its_session_and_then_goes_to_another(team: Team) -> None:
    one = team.add("one")
    team.run("amber", "claim")
    team.pass_time(minutes=20)

    waits = team.run("birch", "claim")

    assert waits.out.startswith("No task is ready.")
    assert f"orphaned by {team.agent('amber')}" in team.command("task", "list").out
    team.pass_time(minutes=30)
    claimed = team.run("birch", "claim")
    assert claimed.out == (
        f"Claimed: {one} one\n  taken over from {team.agent('amber')}, which went silent\n"
    )


def test_a_grant_that_a_killed_process_did_not_write_down_is_adopted(team: Team) -> None:
    one = team.add("one")
    team.run("amber", "claim")
    account = team.account("amber")
    (journal,) = (team.project.folder / ".git/passdown/journal").glob(f"{account.session}*")
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if '"claim"' not in line and '"binding"' not in line))

    team.run("amber", "reserve", "src/")

    account = team.account("amber")
    assert (list(account.claims), account.task) == ([one], one)


def test_tasks_are_listed_shown_changed_and_cannot_wait_in_a_circle(team: Team) -> None:
    one = team.add("one", "--priority", "3", "--role", "be", "--body", "more\nabout it")
    two = team.add("two", "--id", "t-two")

    assert two == "t-two"
    assert team.command("task", "block", one, two).out == f"{one} now waits for {two}\n"
    assert team.command("task", "list").out == f"{two}  P2  ready  two\n{one}  P3  waits for {two}  one\n"
    assert team.command("task", "show", one).out == (
        f"{one} one\n  waits for {two}, priority 3, for be\n  > more\n  > about it\n"
    )
    circle = team.command("task", "block", two, one)
    assert circle.code == 2
    assert f"{two} → {one} → {two}" in circle.err
    assert team.command("task", "change", two, "--title", "zwei", "--priority", "0").out == (
        f"changed {two} zwei\n"
    )
    assert json.loads(team.command("task", "ready", "--json").out)["tasks"][0]["task"]["title"] == "zwei"
    for wrong in (("show", "t-none"), ("add", " "), ("add", "x" * 201), ("add", "x", "--priority", "9")):
        assert team.command("task", *wrong).code == 2
    assert team.command("task", "add", "again", "--id", two).code == 2


def test_an_empty_board_says_what_to_do(team: Team) -> None:
    assert "passdown task add" in team.command("task", "list").out
    assert team.command("task", "ready").out == "No task is ready.\n"


def test_tasks_move_to_another_board_as_lines_of_json(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = team.add("one", "--role", "be")
    two = team.add("two", "--after", one)
    three = team.add("three")
    team.run("amber", "claim", three)
    team.run("amber", "close", three)
    exported = team.command("task", "export").out
    lines = tmp_path / "tasks.jsonl"
    lines.write_text(exported + "\n")
    there = Team(tmp_path / "other", monkeypatch, capsys)

    done = there.command("task", "import", str(lines))

    assert done.out == "3 tasks added, 0 already there\n"
    assert there.command("task", "export").out == exported
    again = json.loads(there.command("task", "import", str(lines), "--json").out)
    assert (again["added"], again["known"]) == (0, 3)
    assert f"{two}  P2  waits for {one}  two" in there.command("task", "list", "--all").out


@pytest.mark.parametrize("line", ["no json", "[]", '{"title": "x"}'])
def test_an_import_with_a_line_that_is_no_task_adds_none(team: Team, tmp_path: Path, line: str) -> None:
    lines = tmp_path / "tasks.jsonl"
    lines.write_text('{"id": "t-1", "labels": 3, "dependencies": 4, "priority": true}\n' + line)

    done = team.command("task", "import", str(lines))

    assert done.code == 1
    assert "line 2 is not a task" in done.err
    assert "t-1" not in team.command("task", "list").out


def test_a_task_that_is_given_back_can_be_claimed_by_others(team: Team) -> None:
    one = team.add("one")
    team.run("amber", "claim")

    assert team.run("amber", "task", "give-back", one).out == f"gave back {one} one\n"

    account = team.account("amber")
    assert (account.task, account.claims) == ("", {})
    assert team.run("birch", "claim").out == f"Claimed: {one} one\n"
    refused = team.run("amber", "task", "give-back", one)
    assert (refused.code, refused.out) == (3, "")
    assert f"does not hold {one}" in refused.err


def test_a_wall_clock_that_was_wrong_when_the_file_was_made_stops_nobody(team: Team) -> None:
    team.pass_time(days=30)
    team.add("one")
    team.at -= timedelta(days=30)

    assert team.run("amber", "claim").out.startswith("Claimed: ")


def test_an_imported_task_does_not_wait_for_one_that_is_not_there(team: Team, tmp_path: Path) -> None:
    wait = {"issue_id": "t-1", "depends_on_id": "t-gone", "type": "blocks"}
    lines = tmp_path / "tasks.jsonl"
    lines.write_text(json.dumps({"id": "t-1", "title": "one", "status": "blocked", "dependencies": [wait]}))

    assert team.command("task", "import", str(lines)).code == 0

    assert team.command("task", "list").out == "t-1  P2  blocked  one\n"


def test_an_id_that_is_taken_is_not_drawn_again(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        SystemEntropy, "token", lambda _, size: b"\x07" * size if size < RANDOM_BYTES else os.urandom(size)
    )

    assert [team.add("one"), team.add("two")] == ["t-0707", "t-070707"]
    assert json.loads(team.command("task", "show", "t-0707", "--json").out)["task"]["task"]["title"] == "one"
    listed = json.loads(team.command("task", "list", "--json").out)["tasks"]
    assert [one["task"]["task"] for one in listed] == ["t-0707", "t-070707"]
    shown = team.command("task", "ready").out
    assert shown == "t-0707  P2  ready  one\nt-070707  P2  ready  two\n"


def test_a_note_of_spaces_alone_says_the_title(team: Team) -> None:
    task = team.add("Sign in form")
    team.run("amber", "claim")

    team.run("amber", "close", "--note", " \n ")

    assert "> COMPLETED: Sign in form\n" in team.command("task", "show", task).out


@pytest.mark.requirement("R34")
@pytest.mark.requirement("R35")
def test_a_binding_goes_to_ledger_state_and_brief_and_leaves_no_trace_elsewhere(team: Team) -> None:
    names = sorted([team.add("one"), team.add("two")])
    team.run("amber", "claim", *names)
    team.run("amber", "decide", "store", "Keep it in files")
    amber = next(one for one in team.host.accounts() if "amber" in one.host_sessions)
    state_file = team.project.folder / ".conductor" / "session-state_amber.json"
    brief = team.run("amber", "brief").out
    assert all(name in brief for name in names)

    team.run("amber", "close", names[0])

    state = json.loads(state_file.read_text())
    ledger = (team.project.folder / amber.start.ledger).read_text()
    assert (state["currentTask"], state["currentTasks"]) == (names[1], None)
    assert f"bound_bead: {names[1]}" in ledger
    team.run("amber", "close", names[1])
    state = json.loads(state_file.read_text())
    assert (state["currentTask"], state["currentTasks"], state["tddPhase"]) == (None, None, None)
    team.run("amber", "publish")
    (event,) = team.events()
    assert "fence" not in event
    assert "operation" not in event
    assert " facts found: " in team.run("amber", "certify").out
    for word in ("fence", "operation"):
        assert json.loads(team.command("search", word, "--json").out)["matches"] == []


@pytest.mark.requirement("R166", "R164", through="command")
def test_of_several_claimed_tasks_the_first_that_was_named_is_the_current_one(team: Team) -> None:
    one, two, three = (team.add(title) for title in ("Sign in", "Sign out", "Sign up"))

    for session, names in (("amber", (three, one)), ("birch", (two,))):
        team.run(session, "claim", *names)

    assert (team.account("amber").task, team.account("birch").task) == (three, two)
    assert goal_of(team, "amber") == "Sign up"
    assert f"task: {three}\n" in team.run("amber", "track", "show").out
    assert team.run("amber", "close").out.startswith(f"Closed: {three} Sign up (completed)\n")
    assert team.account("amber").task == one


@pytest.mark.requirement("R166", "R34", through="command")
def test_a_task_that_is_named_becomes_the_current_one_beside_another(team: Team) -> None:
    one, two, three = (team.add(title) for title in ("Sign in", "Sign out", "Sign up"))
    team.run("amber", "claim")
    assert (team.account("amber").task, goal_of(team, "amber")) == (one, "Sign in")

    team.run("amber", "claim", three, two)

    assert (team.account("amber").task, goal_of(team, "amber")) == (three, "Sign up")
    assert team.ask("amber", "claim")["claimed"][0]["id"] in {one, two, three}
    assert team.account("amber").task == three
    team.run("amber", "claim", one, two)
    assert team.account("amber").task == one
    team.add("Sign off")
    team.run("amber", "claim", "--another")
    assert (team.account("amber").task, len(team.account("amber").claims)) == (one, 4)


def goal_of(team: Team, session: str) -> str:
    """Give the goal of a session."""
    goal = team.account(session).goal
    return goal.text if goal else ""


@pytest.mark.requirement("R187", through="command")
def test_done_as_a_reason_means_completed(team: Team) -> None:
    task = team.add("Sign in")
    team.run("amber", "claim", task)

    done = team.run("amber", "close", "--reason", "done", "--note", "it works")

    assert done.out == f"Closed: {task} Sign in (completed)\n"
    shown = json.loads(team.command("task", "show", task, "--json").out)
    assert "COMPLETED: it works" in json.dumps(shown)
    assert team.run("amber", "close", task, "--reason", "finished").code == 2
