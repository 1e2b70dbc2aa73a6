"""A session of several agents from its start to its end, in the order of the seed."""

import json
from pathlib import Path

import pytest

from tests.teams import AMBER, BIRCH, Hosts, context


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

    assert hosts.run("birch", "claim", "--role", "fe").out.startswith("Nothing is ready")
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
