"""The copy of what a server says about reserved files: the same code judges by it, and it grants nothing."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from passdown.core.coordination.choices import refuse_edit
from passdown.core.coordination.leases import HELD, LOST, PATH, Fenced, Granted, Resource
from passdown.core.coordination.members import EngineTime, Member
from passdown.core.coordination.operations import RANDOM_BYTES, make_operation
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.memory.coordination import MemoryStore
from passdown.engines.sqlite.coordination import open_reader
from passdown.engines.sqlite.reservation_copy import CopyingStore, ReservationCopy
from passdown.errors import UnwritableError
from passdown.services.coordination.edits import find_age, judge_edit
from tests.coordination_files import SharedFile

SERVER_TIME = 5_000_000.0
"""The server's clock is not the one of this machine."""


class CopiedServer:
    """A server whose answers are copied to a file, with two sessions."""

    def __init__(self, folder: Path) -> None:
        """Let the sessions take part."""
        self.file = SharedFile(folder)
        self.seconds = SERVER_TIME
        self._made = 0
        store = MemoryStore(lambda: EngineTime(self.seconds))
        copy = ReservationCopy(str(self.file.path), "key", self.file.local)
        self.server = Coordinator(CopyingStore(store, copy), "a server")
        for name in ("amber", "birch"):
            self.server.members.join(self.op(), Member(session=name, agent=f"{name}-1", process="alive"))

    def op(self) -> str:
        """Make the id of an operation."""
        self._made += 1
        at = datetime.fromtimestamp(self.seconds, UTC)
        return make_operation(at, self._made.to_bytes(RANDOM_BYTES, "big"))

    def pass_time(self, seconds: float) -> None:
        """Move both clocks on."""
        self.seconds += seconds
        self.file.boot.go_on(seconds)

    def reserve(self, session: str, *names: str) -> Sequence[Fenced]:
        """Reserve files at the server."""
        wanted = [Resource(PATH, name) for name in names]
        found = self.server.leases.acquire(self.op(), session, wanted, 600.0)
        assert isinstance(found, Granted)
        return [Fenced(Resource(PATH, one.name), one.fence) for one in found.grants]

    def open(self) -> Coordinator:
        """Open the copy."""
        return Coordinator(open_reader(str(self.file.path), "key", self.file.local), "a copy")


@pytest.fixture
def copied(tmp_path: Path) -> CopiedServer:
    """Give a server with two sessions."""
    return CopiedServer(tmp_path)


def test_who_reserves_nothing_gets_no_file(copied: CopiedServer) -> None:
    assert not copied.file.path.exists()


@pytest.mark.requirement("C77")
def test_a_path_is_judged_by_the_copy_as_by_the_server(copied: CopiedServer) -> None:
    copied.reserve("amber", "src/", "README.md")
    copied.reserve("birch", "docs/")
    paths = ["src/a.py", "docs/a.md", "other.py", "README.md"]
    copied.pass_time(100)

    for session in ("amber", "birch", ""):
        assert list(copied.open().leases.judge(session, paths)) == list(
            copied.server.leases.judge(session, paths)
        )
    found = judge_edit(copied.open(), "birch", ["src/a.py"])
    assert "still held (the server said so 1 min ago): `passdown status`" in refuse_edit(found, 100.0)
    (held,) = found
    assert (held.verdict, held.agent, held.left) == (HELD, "amber-1", 560.0)


@pytest.mark.requirement("C77")
def test_each_change_renews_the_copy_and_its_age_is_known(copied: CopiedServer) -> None:
    held = copied.reserve("amber", "src/")
    copied.pass_time(60)
    assert find_age(copied.open()) == 60.0
    assert find_age(copied.server) is None

    copied.server.leases.release(copied.op(), "amber", held)

    assert find_age(copied.open()) == 0.0
    assert judge_edit(copied.open(), "birch", ["src/a.py"]) == ()
    assert copied.open().history.position() == 2
    assert len(copied.open().history.since(0, 100)) == 1


@pytest.mark.requirement("C77")
def test_what_the_copy_says_ends_when_it_would_end_without_a_further_sign_of_life(
    copied: CopiedServer,
) -> None:
    copied.reserve("amber", "src/")
    copied.file.boot.go_on(659)
    assert judge_edit(copied.open(), "birch", ["src/a.py"])

    copied.file.boot.go_on(2)

    assert judge_edit(copied.open(), "birch", ["src/a.py"]) == ()


def test_another_boot_ends_what_the_copy_says(copied: CopiedServer) -> None:
    copied.reserve("amber", "src/")

    copied.file.boot.at = copied.file.boot.at._replace(boot="boot-b")

    assert judge_edit(copied.open(), "birch", ["src/a.py"]) == ()


def test_what_a_session_lost_is_known_by_the_copy(copied: CopiedServer) -> None:
    copied.reserve("birch", "src/a.py")
    for _ in range(7):  # amber is heard all the time, so birch is silent by itself
        copied.pass_time(100)
        copied.server.members.beat(["amber"])
    held = copied.reserve("amber", "src/")
    copied.server.leases.release(copied.op(), "amber", held)

    (verdict,) = copied.open().leases.judge("birch", ["src/a.py"])

    assert (verdict.verdict, verdict.agent) == (LOST, "amber-1")


@pytest.mark.requirement("C77")
def test_nothing_is_granted_by_a_copy(copied: CopiedServer) -> None:
    copied.reserve("amber", "src/")

    with pytest.raises(UnwritableError):
        copied.open().leases.acquire(copied.op(), "birch", [Resource(PATH, "docs/")], 600.0)


def test_a_copy_that_cannot_be_written_stops_nobody(copied: CopiedServer) -> None:
    copied.reserve("amber", "src/")
    before = find_age(copied.open())
    with copied.file.open("key").changing():
        copied.reserve("amber", "docs/")  # it waits for a moment, and goes on
    assert judge_edit(copied.open(), "birch", ["docs/a.md"]) == ()
    copied.file.close()
    copied.file.path.unlink()
    copied.file.path.mkdir()

    copied.reserve("amber", "lib/")

    assert before == 0.0
