"""Agents are told how to record in a first brief and after a silent session, and a claimed task is a goal."""

import subprocess
from pathlib import Path

import pytest

from passdown.core.briefs.brief_frame import BriefFrame
from passdown.core.briefs.brief_input import BriefInput
from passdown.core.briefs.briefs import pack_brief
from passdown.core.briefs.budgets import Budget
from passdown.core.coordination.holding_facts import list_granted
from passdown.core.coordination.leases import TASK, Grant
from passdown.core.coordination.tasks import Task
from passdown.core.facts import Provenance
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account
from passdown.hosts import HOSTS
from tests.support.teams import Team
from tests.unit.briefs.test_briefs import NOW, know
from tests.unit.hooks.test_hooks import HOST, Stage, context
from tests.unit.hooks.test_hooks import stage as stage  # noqa: PLC0414 - a fixture

VERBS = (
    "\nRecord what matters when it happens:\n"
    "`passdown goal | now | done | next | decide | rule-out | ask | note`, each with a text\n"
)
NO_GOAL = 'Goal:\nnone yet. Record it when you know it: `passdown goal "…"`\n'


def start(stage: Stage, session: str = HOST, source: str = "startup") -> str:
    return context(stage.call("SessionStart", source=source, session_id=session))


def end(stage: Stage, session: str = HOST) -> None:
    stage.call("SessionEnd", reason="other", session_id=session)


def test_a_first_brief_names_the_verbs_and_nobody_is_sent_to_the_user(stage: Stage) -> None:
    brief = start(stage)

    assert VERBS in brief
    assert NO_GOAL in brief
    assert "ask the user" not in brief


@pytest.mark.parametrize("verb", [["goal", "Ship it"], ["decide", "store", "SQLite"], ["note", "slow"]])
def test_after_a_session_that_recorded_something_they_are_not_named(stage: Stage, verb: list[str]) -> None:
    start(stage)
    stage.command(*verb, "--session", HOST)

    assert VERBS not in start(stage, source="compact")
    end(stage)
    assert VERBS not in start(stage, "another")


def test_after_a_session_that_recorded_nothing_they_are_named_again(stage: Stage) -> None:
    start(stage)
    stage.command("goal", "Ship it", "--session", HOST)
    end(stage)
    start(stage, "silent")
    stage.write("what does this do?")
    stage.call("Stop", session_id="silent")
    end(stage, "silent")

    assert VERBS in start(stage, "third")


def test_in_a_new_checkout_of_a_clone_that_recorded_something_they_are_not_named(stage: Stage) -> None:
    start(stage)
    stage.command("goal", "Ship it", "--session", HOST)
    end(stage)
    other = stage.root.parent / "other"
    subprocess.run(["git", "worktree", "add", "-q", str(other)], cwd=stage.root, check=True)
    (other / "passdown.toml").touch()

    brief = context(stage.call("SessionStart", source="startup", session_id="there", cwd=str(other)))

    assert VERBS not in brief


def test_the_verbs_give_way_to_facts_and_nobody_counts_them() -> None:
    rules = {str(one): know(FactKind.CONSTRAINT, f"rule {one} " + "x" * 90) for one in range(5)}
    brief_input = BriefInput(explains_recording=True, tables={FactKind.CONSTRAINT.value: rules})
    frame = BriefFrame(nonce="0" * 12)
    full = pack_brief(brief_input, Budget(), NOW, frame)

    brief = pack_brief(brief_input, Budget(tokens=full.size.tokens - 55), NOW, frame)

    assert VERBS in full.text
    assert "Record what matters" not in brief.text
    assert brief.text.count("rule ") == len(rules)
    assert "Left out" not in brief.text
    assert brief.omitted == ()


# --- a claimed task is the goal -------------------------------------------------------------------


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a repository with two sessions."""
    made = Team(tmp_path / "project", monkeypatch, capsys)
    made.join("amber", "birch")
    return made


def goal_of(team: Team, name: str) -> str:
    return str(team.ask(name, "brief")["text"]).split("Goal:\n")[1].split("\n")[0]


def test_the_title_of_a_claimed_task_is_the_goal_until_one_is_stated(team: Team) -> None:
    task = team.add("Sign in form")
    assert goal_of(team, "amber").startswith("none yet")

    team.run("amber", "claim", task)

    assert goal_of(team, "amber") == "(observed) > Sign in form"
    assert goal_of(team, "birch").startswith("none yet")  # the task is amber's alone
    team.run("amber", "goal", "Let people sign in")
    assert goal_of(team, "amber") == "> Let people sign in"


def test_a_goal_that_was_stated_stays_when_a_task_is_claimed(team: Team) -> None:
    team.run("amber", "goal", "Let people sign in")
    team.run("amber", "claim", team.add("Sign in form"))

    assert goal_of(team, "amber") == "> Let people sign in"
    account = team.account("amber")
    assert account.goal is not None
    assert account.goal.provenance is Provenance.STATED


def test_a_title_of_any_form_is_a_goal_on_one_line() -> None:
    grants = [Grant(kind=TASK, name="t-1", fence=1, left=600)]

    def find_goals(title: str) -> list[str]:
        facts = list_granted(Account(session="s-1"), grants, [Task(task="t-1", title=title)])
        return [fact.text for fact in facts if fact.kind is FactKind.GOAL]

    (goal,) = find_goals("  Sign\tin\n form \u202e" + "x" * 400)
    assert goal.startswith("Sign in form ")
    assert "\u202e" not in goal
    assert len(goal) == 300
    assert find_goals(" ") == []


@pytest.mark.parametrize("verb", ["close", "give-back"])
def test_a_task_that_is_no_longer_held_is_no_goal(team: Team, verb: str) -> None:
    one, two = team.add("Sign in form"), team.add("Sign out")
    team.run("amber", "claim", one)

    team.run("amber", *(["close", one] if verb == "close" else ["task", "give-back", one]))

    assert goal_of(team, "amber").startswith("none yet")
    team.run("amber", "claim", two)
    assert goal_of(team, "amber") == "(observed) > Sign out"


# --- a host that no hook has told of --------------------------------------------------------------


@pytest.mark.requirement("C51")
def test_codex_has_its_own_session_before_its_hooks_are_trusted(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(stage)
    monkeypatch.setenv("CODEX_SESSION_ID", "of-codex")
    monkeypatch.setenv("CODEX_THREAD_ID", "of-its-subagent")

    assert "Goal:\nnone yet" in stage.command("brief").out
    done = stage.command("goal", "Ship it")
    stage.command("now", "the lexer")

    claude, codex = sorted(stage.accounts(), key=lambda one: one.start.host)
    assert done.err == f"passdown: this codex session is new here; started {codex.agent}\n"
    assert (claude.goal, claude.now) == (None, None)
    assert (codex.start.host, codex.host_sessions) == ("codex", ("of-codex",))
    assert codex.now is not None
    assert codex.now.text == "the lexer"
    # Once they are trusted, they tell of the same session.
    brief = stage.call("SessionStart", "--host", "codex", source="startup", session_id="of-codex")
    assert "> Ship it\n" in context(brief)
    stage.command("start")
    assert len(stage.accounts()) == 2


@pytest.mark.parametrize("variable", ["CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"])
def test_codex_is_an_agent_though_it_does_not_tell_its_session(variable: str) -> None:
    assert HOSTS.names_agent({variable: "1"})
    assert HOSTS.find_caller({variable: "1"}) is None
