"""Tasks of Beads while the engine of the sessions is away: `bd` alone decides, and leases come later."""

import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.support.teams import AMBER, BIRCH, Hosts
from tests.trackers.beads import BUILDS, find_bd, make_database
from tests.trackers.dying_bd import DyingBd, make_small, make_wrapper
from tests.unit.coordination.test_engine_away import LOCAL, REMOTE, damaged, locked, unreachable

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="the small `bd` is a script, which Windows does not start"
)
WAYS = {**LOCAL, **REMOTE}
EXPLAINED = "  not locked for other sessions yet; your next command tries again\n"


@pytest.fixture
def bd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DyingBd:
    """Give a small `bd` with two tasks."""
    made = make_small(tmp_path / "bd")
    made.use(monkeypatch)
    made.add("tp-1")
    made.add("tp-2")
    return made


@pytest.fixture
def hosts(
    tmp_path: Path, bd: DyingBd, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Hosts:
    """Give a project with two sessions, whose tasks that `bd` keeps."""
    del bd
    made = Hosts(tmp_path / "project", monkeypatch, capsys)
    made.begin("amber", AMBER)
    made.begin("birch", BIRCH)
    for name in ("amber", "birch"):
        made.run(name, "preflight")
    return made


def read_ledger(hosts: Hosts, session: str) -> str:
    """Give the ledger of a session."""
    return (hosts.project.folder / hosts.account(session).start.ledger).read_text()


def read_claims(hosts: Hosts, session: str) -> list[tuple[str, str]]:
    """Give what the journal says about claims, in order."""
    path = hosts.project.folder / f".git/passdown/journal/{hosts.account(session).session}.jsonl"
    facts = [json.loads(line)["fact"] for line in path.read_text().splitlines()]
    return [(one["key"], one["text"]) for one in facts if one["kind"] == "claim"]


@pytest.mark.requirement("C86", "C98", through="command")
@pytest.mark.parametrize("how", WAYS)
def test_claim_and_close_go_on_with_bd_alone_and_say_so(hosts: Hosts, bd: DyingBd, how: str) -> None:
    hosts.monkeypatch.setenv("PASSDOWN_COORDINATION_WAIT_SECONDS", "1")
    with WAYS[how](hosts):
        hosts.pass_time(minutes=2)
        claimed = hosts.run("amber", "claim", "tp-1")
        ledger = read_ledger(hosts, "amber")
        again = hosts.ask("amber", "claim")
        closed = hosts.run("amber", "close", "--note", "it works")
        another = hosts.ask("amber", "claim", "tp-2"), hosts.ask("amber", "close")
        refused = hosts.run("amber", "reserve", "src/")

    assert (claimed.code, claimed.out) == (0, f"Claimed: tp-1 Task tp-1 (unfenced)\n{EXPLAINED}")
    assert "passdown: only the tracker decides for now: " in claimed.err
    assert "unfenced: [tp-1]\n" in ledger
    assert "bound_bead: tp-1\n" in ledger
    assert again["claimed"] == [
        {"id": "tp-1", "title": "Task tp-1", "fence": 0, "left": 0.0, "unfenced": True}
    ]
    assert (closed.code, closed.out) == (0, f"Closed: tp-1 Task tp-1 (completed, unfenced)\n{EXPLAINED}")
    assert another[0]["claimed"][0]["unfenced"]
    assert (another[1]["closed"], another[1]["unfenced"]) == ("tp-2", True)
    assert refused.code == 5
    assert [one["status"] for one in bd.issues().values()] == ["closed", "closed"]
    assert bd.issues()["tp-1"]["assignee"] == hosts.agent("amber")
    assert read_claims(hosts, "amber") == [
        ("tp-1", "unfenced"),
        ("tp-1", "closed unfenced"),
        ("tp-2", "unfenced"),
        ("tp-2", "closed unfenced"),
    ]
    assert "bound_bead: null\n" in read_ledger(hosts, "amber")


@pytest.mark.requirement("C86", through="command")
@pytest.mark.parametrize(
    ("how", "verb"),
    [
        *((how, ("done", "the form")) for how in WAYS),
        ("damaged", ("reserve", "src/")),
        ("damaged", ("claim",)),
        ("damaged", ("task", "note", "tp-1", "x")),
    ],
)
def test_the_next_verb_asks_for_the_lease_when_the_engine_is_back(
    hosts: Hosts, how: str, verb: tuple[str, ...]
) -> None:
    hosts.monkeypatch.setenv("PASSDOWN_COORDINATION_WAIT_SECONDS", "1")
    with WAYS[how](hosts):
        hosts.pass_time(minutes=2)
        hosts.run("amber", "claim", "tp-1")
    hosts.pass_time(seconds=40)

    done = hosts.run("amber", *verb)

    assert done.code == 0
    assert "passdown: your claim of tp-1 is confirmed\n" in done.err
    fence = hosts.account("amber").claims["tp-1"]
    assert fence > 0
    assert read_claims(hosts, "amber") == [("tp-1", "unfenced"), ("tp-1", f"fence {fence}")]
    assert "unfenced" not in read_ledger(hosts, "amber")
    refused = hosts.run("birch", "claim", "tp-1")
    assert (refused.code, f"tp-1 is held by {hosts.agent('amber')}" in refused.err) == (3, True)
    closed = hosts.ask("amber", "close", "tp-1")
    assert (closed["closed"], closed["unfenced"]) == ("tp-1", False)


@pytest.mark.requirement("C86", through="command")
def test_whoever_holds_the_lease_is_told_until_the_task_is_closed(hosts: Hosts, bd: DyingBd) -> None:
    hosts.run("birch", "claim", "tp-1")
    bd.add("tp-1")  # somebody opens it again with `bd`
    with unreachable(hosts):
        hosts.run("amber", "claim", "tp-1")
    hosts.pass_time(seconds=40)

    first, second = hosts.run("amber", "now", "the form"), hosts.run("amber", "done", "the form")
    closed = hosts.run("amber", "close")

    told = f"tp-1 is held by {hosts.agent('birch')} (expires in "
    for one in (first, second, closed):
        assert one.code == 0
        assert told in one.err
        assert "you have it only in the tracker" in one.err.replace("\n  ", " ")
    assert bd.issues()["tp-1"]["status"] == "closed"
    assert hosts.account("amber").claims == {}
    assert hosts.account("amber").task == ""
    assert hosts.run("amber", "done", "more").err == ""


@pytest.mark.requirement("C86", through="command")
def test_what_was_closed_unfenced_is_released_by_the_next_verb(hosts: Hosts) -> None:
    hosts.run("amber", "claim", "tp-1", "tp-2")
    hosts.run("amber", "reserve", "src/")
    with damaged(hosts):
        closed = hosts.run("amber", "close", "tp-1", "--msg", "it works")
        kept = hosts.run("amber", "done", "went on alone")
    before = json.loads(hosts.command("status", "--json").out)["reservations"]
    hosts.begin("amber", AMBER, source="resume")
    resumed = hosts.account("amber").task

    done = hosts.run("amber", "done", "more")

    assert closed.out == f"Closed: tp-1 Task tp-1 (completed, unfenced)\n{EXPLAINED}"
    assert "passdown: your message to the team was not sent\n" in closed.err
    assert (kept.code, kept.err) == (0, "")
    assert list(before) == ["src/"]
    assert resumed == "tp-2"  # the lease of a task that it closed binds nobody
    assert "passdown: released now: tp-1, src/\n" in done.err
    assert json.loads(hosts.command("status", "--json").out)["reservations"] == {}
    assert hosts.account("amber").unfenced == ()
    assert hosts.run("birch", "reserve", "src/").code == 0


@pytest.mark.requirement("C86", "C98", through="command")
def test_what_bd_says_is_another_s_is_refused_without_the_engine_too(hosts: Hosts, bd: DyingBd) -> None:
    hosts.run("birch", "claim", "tp-1")
    hosts.monkeypatch.setenv("PASSDOWN_COORDINATION_WAIT_SECONDS", "1")
    with locked(hosts):
        hosts.pass_time(minutes=2)
        claimed = hosts.run("amber", "claim", "tp-1")
        closed = hosts.run("amber", "close", "tp-1")
        hosts.run("amber", "claim")
        rest = hosts.run("birch", "claim", "--another")

    assert (claimed.code, closed.code) == (3, 3)
    assert f"tp-1 is held by {hosts.agent('birch')}" in claimed.err
    assert bd.issues()["tp-1"]["status"] == "in_progress"
    assert list(hosts.account("amber").claims) == ["tp-2"]
    assert rest.out.startswith("No task is ready.\n")


@pytest.mark.requirement("C86", through="command")
def test_an_engine_that_goes_away_between_two_questions_stops_no_claim(hosts: Hosts, bd: DyingBd) -> None:
    hosts.run("amber", "claim", "tp-1")
    hosts.run("birch", "reserve", "docs/")
    hosts.monkeypatch.setenv("PASSDOWN_COORDINATION_WAIT_SECONDS", "1")
    with locked(hosts):  # nobody gives a second sign of life within a minute
        closed = hosts.ask("amber", "close")
        claimed = hosts.ask("amber", "claim", "tp-2")
        refused = hosts.run("birch", "claim", "tp-2")

    assert (closed["closed"], closed["unfenced"], closed["released"]) == ("tp-1", True, [])
    assert claimed["claimed"][0]["unfenced"]
    assert refused.code == 3
    assert bd.issues()["tp-2"]["assignee"] == hosts.agent("amber")


@pytest.mark.requirement("C86", "C99", through="command")
def test_a_close_waits_though_neither_engine_nor_tracker_answers(
    hosts: Hosts, bd: DyingBd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("passdown.engines.system.pause", lambda _: None)
    hosts.run("amber", "claim", "tp-1")
    with damaged(hosts):
        bd.plan(*["before"] * 3)
        closed = hosts.run("amber", "close")

    assert closed.out == (
        "Close queued: tp-1 Task tp-1 (completed, unfenced)\n"
        "  the next command that reaches the tracker sends it\n" + EXPLAINED
    )
    done = hosts.run("amber", "task", "note", "tp-2", "x")
    assert "passdown: released now: tp-1\n" in done.err
    assert bd.issues()["tp-1"]["status"] == "closed"


@pytest.mark.requirement("G2", "C86", through="command")
@pytest.mark.parametrize("is_engine_away", [False, True])
def test_a_close_that_waits_leaves_what_blocks_the_task(
    hosts: Hosts, bd: DyingBd, monkeypatch: pytest.MonkeyPatch, *, is_engine_away: bool
) -> None:
    monkeypatch.setattr("passdown.engines.system.pause", lambda _: None)
    hosts.run("amber", "claim", "tp-1")
    with damaged(hosts) if is_engine_away else nullcontext():
        bd.plan(*["before"] * 3)
        closed = hosts.run("amber", "close", "--reason", "blocked", "--note", "no schema yet")
    done = hosts.run("amber", "task", "note", "tp-2", "x")

    assert closed.out.startswith("Close queued: tp-1 Task tp-1 (blocked")
    assert ("released now: tp-1" in done.err) == is_engine_away
    assert "bound_bead: null\n" in read_ledger(hosts, "amber")
    assert hosts.run("amber", "end").code == 0
    (archive,) = (hosts.project.folder / "conductor/sessions/archive").glob("*-session-end-*")
    assert "## Blocked\n\n- Task tp-1 (tp-1): no schema yet\n" in archive.read_text(encoding="utf-8")


@pytest.mark.requirement("C87", through="command")
def test_the_board_grants_nothing_without_the_engine(hosts: Hosts) -> None:
    (hosts.project.folder / "passdown.toml").write_text('[tracker]\nkind = "board"\n')
    hosts.add("Form", "--id", "t-form")
    with damaged(hosts):
        for words in (("claim", "t-form"), ("close", "t-form")):
            assert hosts.run("amber", *words).code == 5


@pytest.mark.beads
@pytest.mark.parametrize("version", BUILDS)
@pytest.mark.requirement("C86", "C98", through="command")
def test_a_real_bd_claims_and_closes_without_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    bd = make_wrapper(tmp_path / "bd", find_bd(version))
    bd.use(monkeypatch)
    hosts = Hosts(tmp_path / "project", monkeypatch, capsys)
    monkeypatch.setenv("BEADS_DIR", str(make_database(version, hosts.project.folder, tmp_path / "template")))
    hosts.begin("amber", AMBER)
    hosts.begin("birch", BIRCH)
    one, two = hosts.add("one"), hosts.add("two")
    hosts.run("amber", "reserve", "src/")

    with damaged(hosts):
        claimed = hosts.run("amber", "claim", one, two)
        refused = hosts.run("birch", "claim", one)
        closed = hosts.run("amber", "close", one)
    back = hosts.run("amber", "done", "one")

    assert claimed.out.startswith(f"Claimed: {one} one (unfenced)\nClaimed: {two} two (unfenced)\n")
    assert (refused.code, f"{one} is held by {hosts.agent('amber')}" in refused.err) == (3, True)
    assert closed.out.startswith(f"Closed: {one} one (completed, unfenced)\n")
    assert f"passdown: released now: {one}, src/\npassdown: your claim of {two} is confirmed\n" in back.err
    assert list(hosts.account("amber").claims) == [two]
    assert hosts.ask("amber", "close")["closed"] == two
