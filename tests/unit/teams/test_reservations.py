"""Files by command: reserved before they are edited, renewed, released, and taken over from the dead."""

from pathlib import Path

import click
import pytest

from passdown.actions.coordination import reservations
from passdown.core.coordination.leases import TASK, Lost
from passdown.core.hosts.persons import Ancestor
from passdown.engines.files.journals import FileJournals
from passdown.engines.sqlite.coordination_database import CoordinationDatabase
from tests.support.people import sit_down
from tests.support.projects import put
from tests.support.teams import Team


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a repository with two sessions."""
    made = Team(tmp_path / "project", monkeypatch, capsys)
    made.join("amber", "birch")
    return made


@pytest.mark.requirement("R212")
def test_a_reserved_file_is_refused_to_another_session_until_it_is_released(team: Team) -> None:
    reserved = team.run("amber", "reserve", "src/app.py", "docs/")

    assert reserved.code == 0
    assert "Reserved src/app.py (" in reserved.out
    refused = team.run("birch", "reserve", "src/*.py", "README.md")
    assert (refused.code, refused.out) == (3, "")
    held = "(reserved as src/app.py, expires in 11 min if it stays silent)"
    assert f"src/*.py is held by {team.agent('amber')} {held}" in " ".join(refused.err.split())
    assert team.run("birch", "reserve", "README.md").code == 0
    assert team.run("amber", "release", "src/app.py").out == "Released src/app.py\n"
    assert team.run("birch", "reserve", "src/*.py").code == 0


@pytest.mark.requirement("R212")
def test_a_reservation_ends_when_its_session_gives_no_sign_of_life(team: Team) -> None:
    team.run("amber", "reserve", "src/", "--ttl", "20m")
    team.pass_time(minutes=20)
    assert team.run("birch", "reserve", "src/a.py").code == 3
    team.pass_time(minutes=2)

    assert team.run("birch", "reserve", "src/a.py").code == 0

    lost = team.run("amber", "renew", "src/")
    assert (lost.code, lost.out) == (3, "")
    assert "this session no longer holds src/; another session does\n" in lost.err
    assert "nothing was changed" in lost.err


def test_a_reservation_is_renewed_and_all_are_released(team: Team) -> None:
    team.run("amber", "reserve", "a.py", "b.py")
    for _ in range(3):
        team.pass_time(minutes=50)
        assert team.run("amber", "renew").out.count("Renewed ") == 2

    assert team.run("birch", "reserve", "a.py").code == 3
    assert team.ask("amber", "release")["resources"] == ["a.py", "b.py"]
    assert team.ask("birch", "reserve", "a.py")["grants"][0]["name"] == "a.py"


def test_an_unused_reservation_ends_after_two_hours_though_the_session_lives(team: Team) -> None:
    team.run("amber", "reserve", "a.py")
    for _ in range(25):
        team.pass_time(minutes=5)
        team.run("amber", "inbox")

    assert team.run("amber", "reserve", "b.py").code == 0
    account = team.account("amber")
    assert list(account.reservations) == ["b.py"]
    assert team.run("birch", "reserve", "a.py").code == 0


def test_a_released_file_cannot_be_released_again(team: Team) -> None:
    team.run("amber", "reserve", "a.py")
    team.run("amber", "release")

    done = team.ask("amber", "release", "a.py")

    assert (done["outcome"], done["refused"]["fence"]) == ("lost", 0)
    assert "does not hold a.py" in team.run("amber", "release", "a.py").err


def test_tasks_are_released_by_their_ids_beside_files(team: Team) -> None:
    one, two = team.add("one"), team.add("two")
    team.run("amber", "claim", one, two)
    team.run("amber", "reserve", "a.py", "b.py")

    assert team.run("amber", "release", one, "a.py").out == f"Released a.py\nGave back {one} one\n"

    account = team.account("amber")
    assert (list(account.claims), list(account.reservations)) == ([two], ["b.py"])
    assert team.run("birch", "claim", one).code == 0
    found = team.ask("amber", "release", two)
    assert found == {"version": 1, "outcome": "released", "resources": [], "tasks": [two], "queued": []}
    assert list(team.account("amber").reservations) == ["b.py"]


def test_without_arguments_no_task_is_released(team: Team) -> None:
    one = team.add("one")
    team.run("amber", "claim")
    team.run("amber", "reserve", "a.py")

    assert team.run("amber", "release").out == "Released a.py\n"
    assert list(team.account("amber").claims) == [one]


def test_a_word_that_is_a_task_and_a_path_is_a_path(team: Team) -> None:
    one = team.add("one")
    team.run("amber", "claim")
    team.run("amber", "reserve", one)

    assert team.run("amber", "release", one).out == f"Released {one}\n"
    assert list(team.account("amber").claims) == [one]
    lost = team.run("amber", "release", one, "--literal")
    assert (lost.code, lost.out) == (3, "")
    assert team.run("amber", "release", one).out == f"Gave back {one} one\n"


def test_nothing_is_given_back_if_a_file_is_not_held(team: Team) -> None:
    one = team.add("one")
    team.run("amber", "claim")

    done = team.run("amber", "release", one, "a.py")

    assert (done.code, done.out) == (3, "")
    assert "does not hold a.py" in done.err
    assert list(team.account("amber").claims) == [one]
    assert team.run("birch", "release", one).code == 3


def test_a_task_that_the_tracker_is_told_of_later_is_queued(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = team.add("one")
    team.run("amber", "claim")
    monkeypatch.setattr(reservations, "give_back_task", lambda *_: None)

    assert team.run("amber", "release", one).out == (
        f"Queued: the next command that reaches the tracker gives {one} back\n"
    )
    assert team.ask("amber", "release", one)["queued"] == [one]


def test_a_task_that_the_session_lost_is_not_given_back(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    one = team.add("one")
    team.run("amber", "claim")
    lost = Lost(kind=TASK, name=one, fence=1)
    monkeypatch.setattr(reservations, "give_back_task", lambda *_: lost)

    done = team.run("amber", "release", one)

    assert (done.code, done.out) == (3, "")
    assert f"this session no longer holds {one}\n" in done.err


def test_reserving_nothing_says_what_to_name(team: Team) -> None:
    done = team.run("amber", "reserve")

    assert (done.code, done.out) == (2, "")
    assert "name the files to reserve\n" in done.err


def test_reserving_everything_wants_a_word(team: Team) -> None:
    for wrong in ("", "**", "/etc/passwd", "../x", "a.py --ttl soon", "a.py --ttl 0m"):
        assert team.run("amber", "reserve", *wrong.split()).code == 2
    assert team.run("amber", "reserve", "**", "--all").code == 0
    assert team.run("birch", "reserve", "x.py").code == 3


def test_the_name_of_a_file_that_exists_is_no_pattern(team: Team) -> None:
    put(team.project.folder, "app/[id]/page.tsx", "x")

    team.run("amber", "reserve", "app/[id]/page.tsx")

    assert team.run("birch", "reserve", "app/i/page.tsx").code == 0
    assert team.run("birch", "reserve", "app/[id]/page.tsx").code == 3


def test_what_a_living_session_holds_cannot_be_taken_over(team: Team) -> None:
    task = team.add("one")
    team.run("amber", "claim")
    team.run("amber", "reserve", "src/")
    amber = team.agent("amber")

    assert team.run("birch", "takeover", task).code == 3
    assert team.run("birch", "takeover", amber, "--force").code == 2
    assert team.run("birch", "takeover", "nobody").code == 2
    team.pass_time(minutes=12)
    held = team.run("birch", "claim", task)
    assert held.code == 3
    assert f"passdown takeover {task}" in held.err
    taken = team.run("birch", "takeover", amber)
    assert taken.code == 0
    assert f"Took over {task} " in taken.out
    assert "Took over src/ " in taken.out
    account = team.account("birch")
    assert (list(account.claims), list(account.reservations)) == ([task], ["src/"])
    assert team.run("amber", "reserve", "src/x").code == 3


@pytest.mark.requirement("C82", "C161")
def test_what_a_dead_session_holds_is_taken_over_by_its_nickname(team: Team) -> None:
    team.add("one")
    team.run("amber", "claim")
    team.run("amber", "reserve", "src/")
    team.pass_time(minutes=12)

    taken = team.run("birch", "takeover", "Amber")

    assert taken.code == 0
    assert "Took over src/ " in taken.out
    assert team.run("birch", "takeover", "nobody").code == 2


@pytest.mark.requirement("C82", "C161")
def test_a_nickname_of_several_sessions_is_the_one_that_holds_something(team: Team) -> None:
    task = team.add("one")
    for name, nickname in (("elm", "cedar"), ("dogwood", "Cedar")):
        assert team.command("start", "--new", "--session", name, "--nickname", nickname).code == 0
        team.run(name, "inbox")  # it takes part from now on
    agents = ", ".join(sorted(map(team.agent, ("elm", "dogwood"))))

    idle = team.run("birch", "takeover", "cedar")
    assert team.run("elm", "claim", task).code == team.run("dogwood", "reserve", "src/").code == 0
    both = team.run("birch", "takeover", "cedar")
    assert team.run("dogwood", "release").code == 0
    team.pass_time(minutes=12)
    taken = team.run("birch", "takeover", "cedar")

    told = f"several agents are called cedar: {agents}"
    assert [(done.code, told in " ".join(done.err.split())) for done in (idle, both)] == [(2, True)] * 2
    assert (taken.code, f"Took over {task} " in taken.out) == (0, True)


@pytest.mark.requirement("C82", "C161")
def test_who_takes_over_what_nobody_has_starts_no_session(team: Team) -> None:
    team.run("amber", "reserve", "src/")
    team.pass_time(minutes=12)
    team.monkeypatch.setenv("PASSDOWN_SESSION", "elm")
    before = len(team.host.accounts())

    refused = team.command("takeover", "nobody")
    accounts = len(team.host.accounts())
    taken = team.command("takeover", "amber")

    assert (refused.code, accounts) == (2, before)
    assert "there is no task or agent nobody\n" in refused.err
    assert (taken.code, "Took over src/ " in taken.out) == (0, True)
    assert list(team.account("elm").reservations) == ["src/"]


@pytest.mark.requirement("C122", "C82")
def test_only_a_person_takes_over_from_a_living_session(team: Team) -> None:
    task = team.add("one")
    team.run("amber", "claim")
    force = ("takeover", task, "--force")
    asked = list[str]()

    def choose(text: str, **_: object) -> str:
        asked.append(text)
        return team.agent("birch")

    team.monkeypatch.setattr(click, "prompt", choose)
    sit_down(team.monkeypatch, [Ancestor("sh"), Ancestor("codex")])
    below = team.command(*force)
    sit_down(team.monkeypatch)
    named = team.run("birch", *force)

    taken = team.command(*force)

    refused = "only a person at a terminal may take over from a session that is alive: "
    assert (below.code, f"{refused}codex started it" in below.err) == (2, True)
    assert (named.code, f"{refused}--session names birch" in named.err) == (2, True)
    assert "hint: ask its agent" in below.err
    assert "hint: remove --session" in named.err
    assert (taken.code, f"Took over {task} " in taken.out) == (0, True)
    assert asked == [f"For which session? ({team.agent('amber')}, {team.agent('birch')})"]
    assert list(team.account("birch").claims) == [task]


def test_a_thousand_files_take_no_more_statements_and_writes_than_one(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.run("amber", "reserve", "README.md")  # it takes part from now on
    made: list[str] = []

    def watch(owner: type, name: str) -> None:
        run = getattr(owner, name)

        def count(self: object, what: str, *values: object, **options: object) -> object:
            made.append(what)
            return run(self, what, *values, **options)

        monkeypatch.setattr(owner, name, count)

    for name in ("ask", "change", "change_all"):
        watch(CoordinationDatabase, name)
    watch(FileJournals, "extend")

    def count_calls(*arguments: str) -> int:
        made.clear()
        assert team.run("amber", *arguments).code == 0
        return len(made)

    alone = [count_calls(verb, "docs/") for verb in ("reserve", "renew", "release")]
    paths = [f"src/{number}.py" for number in range(1_000)]

    assert [count_calls(verb, *paths) for verb in ("reserve", "renew", "release")] == alone
    assert max(alone) <= 22  # with what is written down before and after, and two that look at the file


@pytest.mark.requirement("R212", through="command")
@pytest.mark.parametrize(
    ("ttl", "told"), [("10", "11 min"), ("90", "1 h"), ("10m", "11 min"), ("90s", "2 min"), ("2h", "2 h")]
)
def test_a_number_alone_is_how_many_minutes_a_reservation_lasts(team: Team, ttl: str, told: str) -> None:
    done = team.run("amber", "reserve", "src/auth.ts", "--ttl", ttl)

    assert done.out.startswith("Reserved src/auth.ts (")
    assert f"expires {told} after you go silent)\n" in done.out  # with a minute of grace
    for wrong in ("0", "-1", "1.5", "\u0661\u0660", "10 m"):
        refused = team.run("birch", "reserve", "docs/", "--ttl", wrong)
        assert (refused.code, refused.out) == (2, ""), wrong
    assert team.run("birch", "inbox", "--wait", "10").code == 2
