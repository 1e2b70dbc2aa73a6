"""Handing a task over by command: offer, verify, accept; the giver owns it until then."""

import json
import sys
from pathlib import Path

import pytest

from passdown.core.kinds import FactKind
from tests.support.projects import put
from tests.support.teams import Team


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a repository with two sessions; the first has a task, files and something to say."""
    made = Team(tmp_path / "project", monkeypatch, capsys)
    made.join("amber", "birch")
    made.run("birch", "inbox")
    made.add("Sign in form", "--id", "t-1")
    made.run("amber", "claim")
    made.run("amber", "reserve", "src/")
    made.run("amber", "goal", "Let people sign in")
    made.run("amber", "decide", "store", "Keep it in files")
    return made


def test_an_offer_moves_task_files_mail_and_knowledge_when_it_is_accepted(team: Team) -> None:
    team.run("birch", "msg", "please hurry", "--to", "amber")

    offered = team.run("amber", "handoff", "offer", "--to", "birch")

    assert offered.code == 0
    assert offered.out.startswith("offered t-1 to birch: ")
    name = offered.out.split()[-1]
    assert team.run("birch", "reserve", "src/a.py").code == 3
    assert f"passdown handoff accept {name}" in team.run("birch", "inbox").out
    assert (
        f"{name}  t-1 from {team.agent('amber')} to birch, 1 d left" in team.command("handoff", "offers").out
    )
    accepted = team.run("birch", "handoff", "accept", name)
    assert accepted.code == 0, accepted
    assert "Now yours: t-1\n" in accepted.out
    assert "Now yours: src/\n" in accepted.out
    taker = team.account("birch")
    assert (list(taker.claims), list(taker.reservations), taker.task) == (["t-1"], ["src/"], "t-1")
    assert taker.goal is not None
    assert taker.goal.text == "Let people sign in"
    assert [fact.key for fact in taker.of(FactKind.DECISION)] == ["store"]
    assert "> please hurry" in team.run("birch", "inbox").out
    assert team.run("amber", "close", "t-1").code == 3
    assert team.run("birch", "close").code == 0


def test_an_offer_outlives_the_session_of_its_giver_and_nobody_takes_it_over(team: Team) -> None:
    team.run("amber", "handoff", "offer")
    team.pass_time(hours=3)

    assert team.run("birch", "takeover", "t-1").code == 3
    assert team.run("birch", "handoff", "accept").code == 0


def test_a_declined_or_withdrawn_offer_leaves_the_task_with_the_giver(team: Team) -> None:
    for session, word, state in (("birch", "decline", "declined"), ("amber", "withdraw", "withdrawn")):
        team.run("amber", "handoff", "offer", "--task", "t-1")

        assert team.run(session, "handoff", word).out == f"{state}: t-1\n"
        assert team.run("birch", "handoff", "accept").code == 2
        assert team.command("handoff", "offers").out == "No open offers.\n"
        assert team.run("birch", "claim", "t-1").code == 3
    team.run("amber", "handoff", "offer")
    answer = team.ask("birch", "handoff", "decline")
    assert (answer["task"], answer["state"]) == ("t-1", "declined")
    assert team.run("amber", "close").code == 0


def test_an_offer_for_somebody_else_is_refused(team: Team) -> None:
    team.join("cedar")
    team.run("amber", "handoff", "offer", "--to", "birch")

    for word in ("accept", "decline", "withdraw"):
        done = team.run("cedar", "handoff", word)
        assert (done.code, done.out.count("yours")) == (3, 0)
        assert "this offer is for another session" in done.err
    assert team.run("amber", "handoff", "accept").code == 3


def test_an_offer_after_which_files_changed_wants_a_word(team: Team) -> None:
    put(team.project.folder, "src/a.py", "before")
    team.project.git("add", "src/a.py")
    team.project.git("commit", "--quiet", "--message=a")
    team.run("amber", "handoff", "offer")
    put(team.project.folder, "src/b.py", "more")
    team.project.git("add", "src/b.py")
    team.project.git("commit", "--quiet", "--message=b")

    done = team.run("birch", "handoff", "accept")

    assert done.code == 3
    assert "commits since: 1" in done.out
    assert "--anyway" in done.err
    assert list(team.account("amber").claims) == ["t-1"]
    answer = team.ask("birch", "handoff", "accept", "--anyway")
    assert {one["name"] for one in answer["accepted"]} == {"t-1", "src/"}


def offer_with_test(team: Team, code: str) -> str:
    """Let the first session offer its task, with a test that was run."""
    test = f"{sys.executable} -c '{code}'"
    team.run("amber", "checkpoint", "validate", "1", "--test", test, "--yes")
    assert team.run("amber", "handoff", "offer").code == 0
    return test


@pytest.mark.requirement("C102")
def test_the_test_of_an_offer_runs_only_if_somebody_agreed(team: Team) -> None:
    code = 'open("ran", "a").write("x"); print("fine")'
    test = offer_with_test(team, code)
    ran = team.project.folder / "ran"

    done = team.run("birch", "handoff", "accept", "--run-test")

    assert done.code == 1
    assert f"to run: {test}" in " ".join(done.out.split())
    assert "confirm at a terminal, or pass --yes" in done.err
    assert team.run("birch", "handoff", "accept", "--run-test", "--json").code == 1
    assert ran.read_text("utf-8") == "x"
    assert list(team.account("amber").claims) == ["t-1"]

    agreed = team.run("birch", "handoff", "accept", "--run-test", "--yes")

    assert agreed.code == 0
    assert "(exit code 0 then, 0 now)" in agreed.out
    assert "fine\n" in agreed.err
    assert ran.read_text("utf-8") == "xx"


@pytest.mark.requirement("C102")
def test_of_a_long_output_of_the_test_of_an_offer_the_middle_is_left_out(team: Team) -> None:
    offer_with_test(team, 'print("a" * 50_000)')

    done = team.run("birch", "handoff", "accept", "--run-test", "--yes")

    assert done.code == 0
    assert len(done.err) < 21_000
    assert "characters omitted" in done.err


@pytest.mark.requirement("C102")
def test_a_test_of_an_offer_that_only_a_shell_can_run_is_not_run(team: Team) -> None:
    team.run("amber", "checkpoint", "validate", "1", "--test", "echo a > ran", "--yes")
    team.run("amber", "handoff", "offer")

    refused = team.run("birch", "handoff", "accept", "--run-test", "--yes")

    assert refused.code == 3
    assert "not accepted: the test could not be run" in refused.err
    assert "--anyway" in refused.err
    assert list(team.account("amber").claims) == ["t-1"]

    done = team.run("birch", "handoff", "accept", "--run-test", "--yes", "--anyway")

    assert done.code == 0
    assert "not run: echo a > ran\n  hint: it needs a shell: a redirection; run it by hand" in done.out
    assert "could not be run now" in done.out
    assert not (team.project.folder / "ran").exists()


def test_only_what_a_session_holds_can_be_offered(team: Team) -> None:
    assert team.run("birch", "handoff", "offer").code == 2
    refused = team.run("birch", "handoff", "offer", "--task", "t-1")
    assert refused.code == 3
    assert "does not hold t-1" in refused.err
    assert team.ask("amber", "handoff", "offer")["task"] == "t-1"
    team.add("Sign up", "--id", "t-2")
    team.run("birch", "claim", "t-2")
    team.run("birch", "handoff", "offer")
    assert len(json.loads(team.command("handoff", "offers", "--json").out)["offers"]) == 2
    several = team.run("birch", "handoff", "accept")
    assert several.code == 2
    assert "there are several open offers" in several.err
