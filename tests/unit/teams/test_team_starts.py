"""Sessions that coordinate, in the life of a host: they start, inherit from the dead, and end."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from passdown.core.sessions.session_facts import HostProcess
from passdown.engines.coordination.leases import StoredLeases
from tests.support.teams import AMBER, BIRCH, Hosts, context


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hosts:
    """Give a project with hosts."""
    return Hosts(tmp_path / "project", monkeypatch, capsys)


def test_who_works_alone_gets_no_file(hosts: Hosts) -> None:
    hosts.begin("amber", AMBER)
    hosts.host.call("Stop", session_id="amber")
    hosts.command("status")
    hosts.host.call("SessionEnd", session_id="amber", reason="prompt_input_exit")
    hosts.command("start", "--session", "birch")
    hosts.command("end", "--session", "birch")

    assert not hosts.database.exists()
    assert hosts.host.log() == ""


def test_a_session_takes_part_from_its_start(hosts: Hosts) -> None:
    hosts.begin("amber", AMBER)
    hosts.run("amber", "reserve", "src/")
    hosts.begin("birch", BIRCH)

    sent = hosts.ask("amber", "msg", "hello")

    assert sent["recipients"] == [hosts.agent("birch")]


@pytest.mark.requirement("C82")
def test_a_start_inherits_from_a_dead_session_of_the_same_host_id(hosts: Hosts) -> None:
    task = hosts.add("Sign in form")
    hosts.begin("amber", AMBER)
    hosts.begin("birch", BIRCH)
    hosts.run("amber", "claim", task)
    hosts.run("amber", "reserve", "src/app.py")
    hosts.run("birch", "msg", "the API changed", "--to", hosts.agent("amber"))
    before = hosts.account("amber")
    hosts.alive.remove(AMBER)

    answer = hosts.begin("amber", HostProcess(303, "1", "boot-1"), source="resume")

    account = hosts.account("amber")
    assert account.session != before.session
    assert list(account.claims) == [task]
    assert account.claims[task] > before.claims[task]
    assert list(account.reservations) == ["src/app.py"]
    assert account.task == task
    told = context(answer)
    assert f"task, 11 min left > {task} Sign in form" in told
    assert "file, 11 min left > src/app.py" in told
    assert f"({hosts.agent('birch')}, 0 s) > the API changed" in told
    assert hosts.run("birch", "claim", task).code == 3


def test_another_session_does_not_inherit_and_is_told_what_is_orphaned(hosts: Hosts) -> None:
    task = hosts.add("Sign in form")
    hosts.begin("amber", AMBER)
    hosts.run("amber", "claim", task)
    amber = hosts.agent("amber")
    hosts.alive.remove(AMBER)
    hosts.pass_time(minutes=12)

    answer = hosts.begin("birch", BIRCH)

    assert hosts.account("birch").claims == {}
    assert f"{amber} went silent and left {task}: run `passdown takeover {task}`" in answer["systemMessage"]
    assert f"({task}, orphaned by {amber}: `passdown takeover {task}`) > Sign in form" in context(answer)
    started = hosts.command("start", "--session", "cedar", "--new")
    assert f"{amber} went silent and left {task}: run `passdown takeover {task}`" in started.err
    assert hosts.run("birch", "takeover", task).code == 0


def test_the_start_by_command_says_what_is_inherited_and_how_much_mail_there_is(hosts: Hosts) -> None:
    hosts.command("start", "--session", "amber")
    hosts.command("start", "--session", "birch", "--new")
    hosts.run("amber", "reserve", "src/")
    hosts.run("birch", "msg", "one", "--to", hosts.agent("amber"))
    hosts.run("birch", "msg", "two", "--to", hosts.agent("amber"))
    hosts.pass_time(hours=25)

    again = hosts.command("start", "--session", "amber")

    assert "took over src/ from a crashed session" in again.err
    assert "2 unread messages: run `passdown inbox`" in again.err
    assert "> one" in hosts.run("amber", "inbox").out


def test_the_mail_of_a_session_that_ended_goes_to_the_one_that_continues_it(hosts: Hosts) -> None:
    hosts.command("start", "--session", "amber")
    hosts.command("start", "--session", "birch", "--new")
    hosts.run("amber", "inbox")
    hosts.run("birch", "msg", "for whoever goes on", "--to", hosts.agent("amber"))
    hosts.command("end", "--session", "birch")
    hosts.command("end", "--session", "amber")

    hosts.command("start", "--session", "cedar")

    assert "> for whoever goes on" in hosts.run("cedar", "inbox").out


def test_the_end_by_command_releases_what_a_session_holds(hosts: Hosts) -> None:
    hosts.join("amber", "birch")
    task = hosts.add("one")
    hosts.run("amber", "claim")
    hosts.run("amber", "reserve", "src/")

    assert hosts.command("end", "--session", "amber").code == 0

    assert hosts.run("birch", "claim").out == f"Claimed: {task} one\n"
    assert hosts.run("birch", "reserve", "src/app.py").code == 0


def test_the_end_of_a_host_releases_what_a_session_holds(hosts: Hosts) -> None:
    hosts.begin("amber", AMBER)
    hosts.begin("birch", BIRCH)
    hosts.run("amber", "reserve", "src/")

    hosts.host.call("SessionEnd", session_id="amber", reason="prompt_input_exit")

    assert hosts.run("birch", "reserve", "src/app.py").code == 0


def test_an_end_by_which_the_host_goes_on_keeps_what_a_session_holds(hosts: Hosts) -> None:
    hosts.begin("amber", AMBER)
    hosts.begin("birch", BIRCH)
    hosts.run("amber", "reserve", "src/")

    hosts.host.call("SessionEnd", session_id="amber", reason="clear")
    hosts.begin("amber-2", AMBER, source="clear")

    assert hosts.run("birch", "reserve", "src/app.py").code == 3
    assert list(hosts.account("amber-2").reservations) == ["src/"]


def test_an_end_that_the_engine_was_not_told_of_is_made_good_by_the_next_start(hosts: Hosts) -> None:
    hosts.begin("amber", AMBER)
    hosts.run("amber", "reserve", "src/")
    hosts.break_engine()
    hosts.host.call("SessionEnd", session_id="amber", reason="prompt_input_exit")
    hosts.mend_engine()

    hosts.begin("birch", BIRCH)

    assert hosts.run("birch", "reserve", "src/app.py").code == 0


@pytest.mark.requirement("R216")
def test_a_start_goes_on_without_the_engine_and_says_so(hosts: Hosts) -> None:
    hosts.begin("amber", AMBER)
    hosts.run("amber", "reserve", "src/")
    hosts.break_engine()

    answer = hosts.begin("amber", AMBER, source="resume")
    started = hosts.command("start", "--session", "birch", "--new")
    ended = hosts.command("end", "--session", "birch")

    assert "Passdown cannot coordinate with other sessions now: the coordination" in answer["systemMessage"]
    assert "file > src/" in context(answer)
    assert len(hosts.host.log().splitlines()) == 1
    assert started.code == 0
    assert "not coordinating with other sessions" in started.err
    assert ended.code == 0
    assert "could not release what " in ended.err
    assert json.loads(hosts.command("status", "--json").out)["sessions"]


def test_more_orphaned_tasks_than_are_named_are_counted(hosts: Hosts) -> None:
    names = [hosts.add(f"task {number}") for number in range(5)]
    hosts.begin("amber", AMBER)
    hosts.run("amber", "claim", *names)
    hosts.alive.remove(AMBER)
    hosts.pass_time(minutes=12)

    answer = hosts.begin("birch", BIRCH)

    assert answer["systemMessage"].endswith("and 2 more: `passdown task list`")


@pytest.mark.requirement("C45")
def test_a_start_looks_for_expired_messages_and_changes_something_only_if_there_are_some(
    hosts: Hosts,
) -> None:
    def count_removals() -> int:
        with closing(sqlite3.connect(hosts.database)) as connection:
            found = connection.execute("SELECT count(*) FROM log WHERE verb = 'expire'").fetchone()
        return int(found[0])

    hosts.begin("amber", AMBER)
    hosts.run("amber", "msg", "hello", "--to", "somebody")
    hosts.begin("birch", BIRCH)
    hosts.command("start", "--new", "--session", "cedar")
    assert count_removals() == 0
    hosts.pass_time(days=8)

    answer = hosts.begin("dogwood", HostProcess(303, "1", "boot-1"))

    assert "A message expired unread" in answer["systemMessage"]
    assert count_removals() == 1
    hosts.command("start", "--new", "--session", "elder")
    assert count_removals() == 1


def test_a_start_asks_once_what_the_session_holds(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts.begin("amber", AMBER)
    hosts.run("amber", "reserve", "src/")
    asked: list[str] = []
    leases = StoredLeases.leases

    def ask(self: StoredLeases, session: str = "") -> object:
        asked.append(session)
        return leases(self, session)

    monkeypatch.setattr(StoredLeases, "leases", ask)
    answer = hosts.begin("amber", AMBER, source="clear")

    assert "file, 11 min left > src/" in context(answer)
    assert len(asked) == 1


@pytest.mark.requirement("C82", through="hook")
def test_a_start_that_found_the_engine_away_keeps_the_track_and_the_next_one_inherits_the_rest(
    hosts: Hosts,
) -> None:
    task = hosts.add("Sign in form")
    hosts.begin("amber", AMBER)
    hosts.run("amber", "track", "bind", "login")
    hosts.run("amber", "claim", task)
    hosts.run("amber", "reserve", "src/app.py")
    before = hosts.account("amber")
    hosts.alive.remove(AMBER)
    again = HostProcess(303, "1", "boot-1")
    hosts.alive.add(again)
    hosts.break_engine()

    hosts.begin("amber", again, source="resume")

    assert hosts.account("amber").session != before.session
    assert (hosts.account("amber").track, hosts.account("amber").claims) == ("login", {})
    hosts.mend_engine()
    hosts.begin("amber", again, source="compact")
    account = hosts.account("amber")
    assert (account.track, account.task, list(account.reservations)) == ("login", task, ["src/app.py"])
    assert account.claims[task] > before.claims[task]


@pytest.mark.requirement("C150")
@pytest.mark.parametrize(
    "words",
    [("reserve", "src/"), ("release",), ("claim",), ("close", "t-1"), ("inbox",), ("msg", "hello")],
    ids=" ".join,
)
def test_a_coordinating_verb_lets_the_sessions_take_part_that_started_earlier(
    hosts: Hosts, words: tuple[str, ...]
) -> None:
    hosts.begin("amber", AMBER)
    hosts.begin("birch", BIRCH)
    hosts.begin("cedar", HostProcess(303, "1", "boot-1"))
    hosts.host.call("SessionEnd", session_id="cedar", reason="logout")
    assert not hosts.database.exists()

    hosts.run("birch", *words)

    members = json.loads(hosts.command("status", "--json").out)["members"]
    assert {one["agent"] for one in members} == {hosts.agent("amber"), hosts.agent("birch")}
    assert hosts.ask("birch", "msg", "hello again")["recipients"] == [hosts.agent("amber")]
    assert "> hello again" in hosts.run("amber", "inbox").out


@pytest.mark.requirement("C150")
def test_sessions_of_worktrees_take_part_and_those_of_other_roots_do_not(
    hosts: Hosts, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    hosts.project.git("worktree", "add", "--quiet", str(other))
    (other / "passdown.toml").touch()
    below = hosts.project.folder / "services" / "api"
    below.mkdir(parents=True)
    (below / "passdown.toml").touch()
    for name, folder in (("amber", other), ("birch", below), ("cedar", hosts.project.folder)):
        hosts.monkeypatch.chdir(folder)
        hosts.join(name)

    sent = hosts.ask("cedar", "msg", "hello")

    assert sent["recipients"] == [hosts.agent("amber")]
