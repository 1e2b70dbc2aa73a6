"""Order survives clocks, as a user meets it: two machines, clocks days apart, and an event dated 2999."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from passdown.core.documents.key_value import Pair
from passdown.engines.system import SystemClock
from tests.proof import proof_count
from tests.support.commands import Caller, Done
from tests.support.projects import EVENTS, put_event

TODAY = datetime(2026, 1, 11, 12, tzinfo=UTC)
DAYS = timedelta(days=1)


class Machine:
    """A checkout with a clock of its own."""

    def __init__(self, caller: Caller, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        """Make the checkout."""
        folder.mkdir()
        self.folder = folder
        self.at = TODAY
        self._caller = caller
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str) -> Done:
        """Call the command here, a minute after the last call."""
        self.at += timedelta(minutes=1)
        self._monkeypatch.setattr(SystemClock, "now", lambda _: self.at)
        self._monkeypatch.chdir(self.folder)
        return self._caller(*arguments)

    def decide(self, text: str) -> None:
        """Start a session if there is none, be briefed, decide, and publish that."""
        assert self("brief").code == 0
        assert self("decide", "db", text, "--replace").code == 0
        assert self("publish").code == 0

    def pull(self, other: "Machine") -> None:
        """Take over the events of another, as git does: the times of folders are not taken over."""
        for path in (other.folder / EVENTS).rglob("*.md"):
            target = self.folder / path.relative_to(other.folder)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())

    def db(self) -> str:
        """Give the decision that the view shows."""
        listed = json.loads(self("view", "list", "decisions", "--json").out)
        return next(str(one["text"]) for one in listed["facts"] if one["key"] == "db")


@pytest.fixture
def machines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> tuple[Machine, Machine]:
    """Give two machines, each with a session."""
    caller = Caller(monkeypatch, capsys, tmp_path)
    one, two = (Machine(caller, monkeypatch, tmp_path / name) for name in ("one", "two"))
    one("start")
    two("start")
    return one, two


@pytest.mark.requirement("C115", "C120")
@pytest.mark.parametrize("ahead", [2 * DAYS, -2 * DAYS, 3650 * DAYS, -3650 * DAYS])
def test_who_decides_last_wins_whatever_the_clocks(
    machines: tuple[Machine, Machine], ahead: timedelta
) -> None:
    one, two = machines
    two.at += ahead
    for number in range(3):
        one.decide(f"one {number}")
        two.pull(one)
        two.decide(f"two {number}")
        assert two.db() == f"two {number}"
        one.pull(two)
        assert one.db() == f"two {number}"


@pytest.mark.proof
@pytest.mark.requirement("C115", "C120")
@pytest.mark.parametrize("seed", range(proof_count(fast=1, ci=10, long=100)))
def test_in_a_random_history_of_clocks_who_has_read_all_and_decides_wins(
    machines: tuple[Machine, Machine], seed: int
) -> None:
    random = Random(seed)  # repeatable on purpose
    for step in range(8):
        machine = random.choice(machines)
        if random.random() < 0.4:
            machine.at = TODAY + random.choice((0, 2, -2, 3650, -3650)) * DAYS + timedelta(hours=step)
        if step == 4:
            put_event(machine.folder, "2999-01-01T00:00:00Z", "evil", decisions=(Pair(key="db", value="x"),))
        for other in machines:
            if (other.folder / EVENTS).exists():
                machine.pull(other)
        machine.decide(f"step {step}")
        for one in machines:
            one.pull(machine)
            assert one.db() == f"step {step}"


@pytest.mark.requirement("C115")
def test_a_clock_that_is_set_back_in_mid_session_keeps_the_sessions_own_order(
    machines: tuple[Machine, Machine],
) -> None:
    one, two = machines
    one.at += 9 * DAYS
    one.decide("first")
    one.at -= 9 * DAYS
    one.decide("second")
    assert one.db() == "second"

    two.pull(one)
    two.decide("third")

    assert two.db() == "third"


@pytest.mark.requirement("C115")
def test_an_event_dated_2999_hides_nothing_that_is_stated_by_who_has_read_it(
    machines: tuple[Machine, Machine],
) -> None:
    one, two = machines
    one.decide("SQLite")
    two.pull(one)
    event = put_event(two.folder, "2999-01-01T00:00:00Z", "evil", decisions=(Pair(key="db", value="None"),))
    one.pull(two)

    certified = one("certify")
    assert certified.code == 1
    assert f"event {event.id} of evil, dated 2999-01-01T00:00:00Z; `passdown log retract" in certified.out
    brief = one("brief").out
    assert "> db: SQLite\n" in brief
    assert f"(evil, {event.id}, 2999-01-01) > db: None\n" in brief
    assert event.id is not None
    assert event.id in one("doctor").out

    one.decide("PostgreSQL")
    assert one.db() == "PostgreSQL"
    assert one("certify").code == 0
    log = json.loads(one("log", "--json").out)["events"]
    assert [one["agent"] == "evil" for one in log] == [False, True, False]
    assert "(ranks 2026-01-11" in one("log").out
    two.pull(one)
    assert two.db() == "PostgreSQL"


@pytest.mark.requirement("C115")
def test_a_retracted_event_dated_2999_leaves_no_trace(machines: tuple[Machine, Machine]) -> None:
    one, _ = machines
    one.decide("SQLite")
    event = put_event(one.folder, "2999-01-01T00:00:00Z", "evil", decisions=(Pair(key="db", value="None"),))
    assert one.db() == "None"

    assert one("event", "retract", event.id or "").code == 0

    assert one.db() == "SQLite"
    assert one("certify").code == 0


@pytest.mark.requirement("C120")
def test_certify_names_the_event_that_replaced_what_this_session_holds(
    machines: tuple[Machine, Machine],
) -> None:
    one, two = machines
    one.decide("SQLite")
    two.pull(one)
    two.decide("PostgreSQL")
    one.pull(two)

    certified = one("certify")

    assert certified.code == 0
    assert "replaced by event ev-" in certified.err


@pytest.mark.requirement("C115")
def test_what_a_session_has_given_up_itself_is_not_named_as_replaced(
    machines: tuple[Machine, Machine],
) -> None:
    one, two = machines
    one.decide("SQLite")
    two.pull(one)
    two.decide("MySQL")
    one.pull(two)
    one("decide", "db", "PostgreSQL", "--replace")

    certified = one("certify")

    assert certified.code == 0
    assert "replaced by event" not in certified.err
