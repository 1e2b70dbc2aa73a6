"""A session of several agents from its start to its end, in the order of the seed."""

import json
from pathlib import Path

import pytest

from tests.support.teams import AMBER, BIRCH, Hosts, Team, context


@pytest.mark.requirement("R162")
def test_agents_join_read_mail_claim_reserve_work_close_and_tell_the_team(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PASSDOWN_COORDINATION_TEAM", "platform")
    monkeypatch.setenv("PASSDOWN_TEAMS_PLATFORM", "")
    hosts = Hosts(tmp_path / "project", monkeypatch, capsys)
    task = hosts.add("Sign in", "--role", "be")
    hosts.begin("amber", AMBER)
    hosts.begin("birch", BIRCH)

    assert hosts.run("birch", "claim", "--role", "fe").out.startswith("No task is ready")
    assert hosts.run("amber", "claim", "--role", "be").out == f"Claimed: {task} Sign in\n"
    assert hosts.ask("birch", "msg", "use cookies", "--to", "role:be")["recipients"] == [hosts.agent("amber")]
    assert "> use cookies" in hosts.run("amber", "inbox").out
    assert hosts.run("amber", "reserve", "src/login.py").code == 0
    assert hosts.run("birch", "reserve", "src/").code == 3
    assert hosts.ask("birch", "msg", "and tokens", "--to", "role:be")["recipients"] == [hosts.agent("amber")]
    closed = hosts.run("amber", "close", "--note", "it works", "--msg", "sign in works")

    assert "released: src/login.py" in closed.out
    answer = hosts.host.call("UserPromptSubmit", session_id="birch", prompt="go on")
    assert "> sign in works" in context(answer)
    assert hosts.run("birch", "reserve", "src/").code == 0
    members = json.loads(hosts.command("status", "--json").out)["members"]
    assert {(one["team"], one["role"]) for one in members} == {("platform", "be"), ("platform", "fe")}


@pytest.mark.requirement("R162", "C150", through="command")
@pytest.mark.parametrize("way", ["flags", "environment", "file"])
def test_a_start_gives_a_session_its_team_and_role_and_it_claims_for_that_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    team = Team(tmp_path / "project", monkeypatch, capsys)
    team.add("Sign in", "--role", "be")
    page = team.add("Sign in page", "--role", "fe")
    if way == "environment":
        monkeypatch.setenv("PASSDOWN_SESSION_TEAM", "platform")
        monkeypatch.setenv("PASSDOWN_SESSION_ROLE", "fe")
    if way == "file":
        folder = tmp_path / "config"
        (folder / "passdown").mkdir(parents=True)
        (folder / "passdown/settings.toml").write_text('[session]\nteam = "platform"\nrole = "fe"\n')
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    words = ("--team", "platform", "--role", "fe") if way == "flags" else ()

    started = team.command("start", "--session", "birch", *words)

    assert "\nteam: platform, role: fe\n" in started.out
    again = json.loads(team.command("start", "--session", "birch", "--json").out)
    assert (again["team"], again["role"]) == ("platform", "fe")
    assert team.run("birch", "claim").out == f"Claimed: {page} Sign in page\n"
    (member,) = json.loads(team.command("status", "--json").out)["members"]
    assert (member["team"], member["role"]) == ("platform", "fe")
    assert team.run("birch", "claim", "--another", "--role", "any").out.endswith(" Sign in\n")


@pytest.mark.requirement("R162", "C150", through="command")
def test_a_running_session_is_given_a_team_and_a_role_and_others_reach_it_by_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = Hosts(tmp_path / "project", monkeypatch, capsys)
    hosts.begin("amber", AMBER)
    hosts.begin("birch", BIRCH)
    assert hosts.command("start", "--session", "amber", "--role", "be").code == 0

    told = json.loads(hosts.command("start", "--session", "amber", "--team", "platform", "--json").out)

    assert (told["team"], told["role"], told["is_new"]) == ("platform", "be", False)
    hosts.run("amber", "inbox")
    sent = hosts.ask("birch", "msg", "use cookies", "--to", "role:be")
    assert sent["recipients"] == [hosts.agent("amber")]
    hosts.run("amber", "claim", "--role", "fe")
    members = json.loads(hosts.command("status", "--json").out)["members"]
    assert {one["role"] for one in members} == {"be", "any"}


@pytest.mark.requirement("C150", through="command")
def test_a_repository_gives_no_team_and_a_team_is_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    team = Team(tmp_path / "project", monkeypatch, capsys)
    (team.project.folder / "passdown.toml").write_text('[session]\nteam = "platform"\n')

    started = team.command("start")

    assert "session.team is ignored, because a repository may not set it" in " ".join(started.err.split())
    assert "team" not in started.out
    refused = team.command("start", "--new", "--role", "back end")
    assert (refused.code, "--role is not a name" in refused.err) == (2, True)
