"""Claim and close with a tracker outside over an engine that comes and goes, all in this process."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from passdown.core.coordination.leases import Held
from passdown.core.coordination.members import EngineTime
from passdown.core.coordination.tasks import Claimed, TaskClosed, TaskStored
from passdown.core.sessions.session_facts import Account
from passdown.engines.coordination.coordinator import Coordinator
from passdown.errors import AwayError, StorageError, UnwritableError
from passdown.ports.tracker import ClaimWish
from passdown.records import replace
from passdown.services.coordination.claims import ClaimResult, CloseRequest, CloseResult, give_back_task
from passdown.services.coordination.reservations import ReservationRequest, reserve_files
from passdown.services.coordination.unfenced import settle_unfenced
from passdown.services.sessions.journals import read_account
from passdown.services.work import tracker_changes
from passdown.settings import Settings, TrackerChoice, TrackerSettings
from passdown.testing.memory.coordination import MemoryStore, MemoryTransaction
from passdown.trackers.beads.holdings import Holdings
from passdown.trackers.beads.tracker import Beads
from tests.support.sessions import NOON, make_place, with_parts
from tests.trackers.beads import BeadsBench, FakePrograms
from tests.trackers.fake_bd import FakeBd


class SwitchedStore(MemoryStore):
    """A store that fails when a test says so."""

    error: StorageError | None = None
    after = 0
    """How many changes it still makes before it fails."""

    @contextmanager
    def changing(self) -> Generator[MemoryTransaction, None, None]:
        """Change rows, or fail."""
        self._meet()
        with super().changing() as change:
            yield change

    @contextmanager
    def looking(self) -> Generator[MemoryTransaction, None, None]:
        """Look at rows, or fail."""
        if not self.after:
            self._meet()
        with super().looking() as reading:
            yield reading

    def _meet(self) -> None:
        if self.error is None:
            return
        if not self.after:
            raise self.error
        self.after -= 1


class Office:
    """A project with two sessions, tasks in Beads, and an engine that a test switches."""

    def __init__(self, folder: Path) -> None:
        """Begin with two tasks."""
        self.store = SwitchedStore(lambda: EngineTime(NOON.timestamp()))
        self.told: list[str] = []
        self.bd = FakeBd("1.3.0", folder)
        bench = BeadsBench(FakePrograms("1.3.0", folder))
        place = make_place()
        self.workspace = with_parts(
            place,
            coordination=Coordinator(self.store, "memory"),
            make_tracker=lambda found: Beads(bench.calls, Holdings(lambda: found, 600.0)),
            warn=self.told.append,
        )
        place = replace(place, project=self.workspace)
        self.amber = place.start(nickname="amber")
        self.birch = place.start(nickname="birch", host_session="birch", is_new=True)
        for name in ("one", "two"):
            self.bd.run(["create", f"--title={name}", f"--id=tp-{name}"])

    def claim(self, account: Account, *tasks: str, another: bool = False) -> ClaimResult:
        """Claim tasks."""
        found = tracker_changes.claim(self.workspace, account, ClaimWish(tasks, another=another))
        self.keep(found.account)
        return found

    def close(self, account: Account, task: str = "", message: str = "") -> CloseResult:
        """Close a task."""
        found = tracker_changes.close(self.workspace, account, CloseRequest(task, message=message))
        self.keep(found.account)
        return found

    def settle(self) -> None:
        """Let the first session call its next verb."""
        self.told.clear()
        self.keep(settle_unfenced(self.workspace, self.amber))

    def keep(self, account: Account) -> None:
        """Keep what a session knows now."""
        if account.session == self.amber.session:
            self.amber = account
        else:
            self.birch = account


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """Give a project whose engine answers."""
    return Office(tmp_path)


@pytest.mark.requirement("C86")
def test_a_claim_goes_on_and_the_lease_is_asked_for_later(office: Office) -> None:
    office.store.error = AwayError("the engine is away")
    claimed = office.claim(office.amber, "tp-one").outcome
    again = office.claim(office.amber).outcome
    another = office.claim(office.amber, another=True).outcome
    office.settle()
    told, unfenced = [*office.told], office.amber.unfenced
    office.store.error = None

    office.settle()

    assert (told, unfenced) == ([], ("tp-one", "tp-two"))
    assert isinstance(claimed, Claimed)
    assert isinstance(again, Claimed)
    assert [one.task for one in again.tasks] == ["tp-one"]
    assert isinstance(another, Claimed)
    assert office.told == ["your claim of tp-one is confirmed", "your claim of tp-two is confirmed"]
    assert office.amber.unfenced == ()
    assert all(office.amber.claims.values())


@pytest.mark.requirement("C86")
def test_a_close_goes_on_and_what_is_held_is_released_later(office: Office) -> None:
    office.claim(office.amber, "tp-one", "tp-two")
    reserve_files(office.workspace, office.amber, ReservationRequest(("src/",), 600.0))
    office.store.error = AwayError("the engine is away")
    closed = office.close(office.amber, "tp-one", "it works")
    refused = office.close(office.birch, "tp-two")
    assert office.amber.task == "tp-two"
    office.store.error = None

    office.settle()

    assert isinstance(closed.outcome, TaskClosed)
    assert closed.is_unfenced
    assert isinstance(refused.outcome, Held)
    assert office.told == ["released now: tp-one, src/"]
    assert list(office.amber.claims) == ["tp-two"]


@pytest.mark.requirement("C86")
def test_an_engine_may_go_away_between_two_questions(office: Office) -> None:
    office.claim(office.amber, "tp-one")
    office.store.error, office.store.after = AwayError("the engine is away"), 1
    closed = office.close(office.amber)
    office.store.error, office.store.after = AwayError("the engine is away"), 0
    claimed = office.claim(office.amber, "tp-two").outcome
    refused = office.claim(office.birch, "tp-two").outcome

    assert closed.is_unfenced
    assert isinstance(claimed, Claimed)
    assert isinstance(refused, Held)
    assert office.amber.unfenced == ("tp-two", "tp-one")


@pytest.mark.requirement("C86")
@pytest.mark.parametrize("is_closed", [True, False])
def test_an_unfenced_task_is_closed_or_given_back_though_another_has_its_lease(
    office: Office, *, is_closed: bool
) -> None:
    office.claim(office.birch, "tp-one")
    office.bd.run(["update", "tp-one", "--status=open", "--assignee="])
    office.store.error = AwayError("the engine is away")
    office.claim(office.amber, "tp-one")
    office.store.error = None
    office.settle()

    if is_closed:
        assert not office.close(office.amber).is_unfenced
    else:
        assert isinstance(give_back_task(office.workspace, office.amber, "tp-one"), TaskStored)

    (told,) = office.told
    assert told.startswith(f"tp-one is held by {office.birch.agent} (expires in ")
    assert told.endswith(" if it stays silent); you have it only in the tracker")
    left = read_account(office.workspace, office.amber.session)
    assert (left.claims, left.task, left.unfenced) == ({}, "", ())


@pytest.mark.requirement("C86", "C87")
@pytest.mark.parametrize("error", [AwayError("away"), UnwritableError("no room")])
def test_the_board_and_a_sandbox_are_granted_nothing(office: Office, error: StorageError) -> None:
    if isinstance(error, AwayError):
        settings = replace(Settings(), tracker=TrackerSettings(kind=TrackerChoice.BOARD))
        office.workspace = replace(office.workspace, settings=settings)
    office.store.error = error

    with pytest.raises(type(error)):
        office.claim(office.amber, "tp-one")
    with pytest.raises(type(error)):
        office.close(office.amber, "tp-one")
