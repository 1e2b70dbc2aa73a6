"""A process of a host may have several conversations: each has its own session, which a clear keeps."""

from pathlib import Path

import pytest

from tests.support.teams import AMBER, BIRCH, Hosts
from tests.unit.hooks.test_hook_edits import read_reason
from tests.unit.hosts.test_hook_tools import Caller


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hosts:
    """Give a host with two conversations in one process."""
    made = Hosts(tmp_path / "project", monkeypatch, capsys)
    made.begin("left", AMBER)
    made.begin("right", AMBER)
    return made


def clear(hosts: Hosts, old: str, new: str) -> None:
    """Let a person clear a conversation: the host ends it, and begins another."""
    hosts.host.call("SessionEnd", session_id=old, reason="clear")
    hosts.begin(new, AMBER, source="clear")


def sessions(hosts: Hosts) -> list[tuple[str, ...]]:
    """Give the ids of the host that each live session has, in their order."""
    return sorted(one.host_sessions for one in hosts.host.accounts() if one.ended_at is None)


@pytest.mark.requirement("C153")
def test_a_conversation_does_not_edit_what_another_of_its_process_holds(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = Caller(hosts.project.folder, hosts.monkeypatch, capsys)
    assert hosts.run("left", "reserve", "src/").code == 0
    given = {"file_path": str(hosts.project.folder / "src" / "app.py")}

    assert hosts.agent("left") in read_reason(ask("claude", "Edit", given, session_id="right"))
    assert hosts.run("right", "reserve", "src/app.py").code == 3
    assert ask("claude", "Edit", given, session_id="left") == {}


@pytest.mark.requirement("C52", "C153")
def test_a_clear_goes_on_with_the_session_whose_conversation_it_ended(hosts: Hosts) -> None:
    hosts.run("left", "reserve", "src/")

    clear(hosts, "left", "left-2")
    assert sessions(hosts) == [("left", "left-2"), ("right",)]
    clear(hosts, "right", "right-2")
    assert sessions(hosts) == [("left", "left-2"), ("right", "right-2")]
    clear(hosts, "left-2", "left-3")
    clear(hosts, "right-2", "right-3")

    assert sessions(hosts) == [("left", "left-2", "left-3"), ("right", "right-2", "right-3")]
    assert hosts.run("left-3", "release", "src/").code == 0


@pytest.mark.requirement("C153")
def test_a_clear_of_one_that_nobody_knows_or_did_not_report_is_a_new_session(hosts: Hosts) -> None:
    hosts.host.call("SessionEnd", session_id="unknown", reason="clear")
    hosts.begin("unknown-2", AMBER, source="clear")
    hosts.begin("unknown-3", AMBER, source="clear")

    assert sessions(hosts) == [("left",), ("right",), ("unknown-2",), ("unknown-3",)]


@pytest.mark.requirement("C153")
def test_a_resumed_conversation_goes_on_with_the_session_of_its_id(hosts: Hosts) -> None:
    hosts.run("left", "reserve", "src/")
    hosts.host.call("SessionEnd", session_id="left", reason="resume")

    hosts.begin("right", AMBER, source="resume")
    assert sessions(hosts) == [("left",), ("right",)]
    hosts.host.call("SessionEnd", session_id="right", reason="resume")
    hosts.begin("so-long-ago", AMBER, source="resume")
    assert sessions(hosts) == [("left",), ("right",), ("so-long-ago",)]
    hosts.begin("left", BIRCH, source="resume")

    assert sessions(hosts) == [("left",), ("right",), ("so-long-ago",)]
    assert list(hosts.account("left").reservations) == ["src/"]


@pytest.mark.requirement("C52", "C153")
def test_a_compaction_goes_on_with_its_session(hosts: Hosts) -> None:
    hosts.begin("left", AMBER, source="compact")
    hosts.begin("yew", BIRCH)

    hosts.begin("yew-2", BIRCH, source="compact")

    assert sessions(hosts) == [("left",), ("right",), ("yew", "yew-2")]
