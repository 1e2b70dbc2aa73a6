"""The copy of what a server says about sessions and what they hold: read by the same code, grants nothing."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from passdown.core.coordination.leases import HELD, LOST, PATH, TASK, Fenced, Granted, Resource
from passdown.core.coordination.members import EngineTime, Member
from passdown.core.coordination.operations import RANDOM_BYTES, make_operation
from passdown.core.coordination.refusals import refuse_edit
from passdown.core.coordination.tasks import Claimed, Task
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.sqlite.coordination import open_reader
from passdown.engines.sqlite.reservation_copy import CopyingStore, ReservationCopy
from passdown.errors import UnwritableError
from passdown.services.coordination.edits import find_age, judge_edit
from passdown.testing.memory.coordination import MemoryStore
from tests.stores.coordination_files import SharedFile

SERVER_TIME = 5_000_000.0
"""The server's clock is not the one of this machine."""


class CopiedServer:
    """A server whose answers are copied to a file."""

    def __init__(self, folder: Path) -> None:
        """Begin with nobody."""
        self.file = SharedFile(folder)
        self.seconds = SERVER_TIME
        self._made = 0
        store = MemoryStore(lambda: EngineTime(self.seconds))
        copy = ReservationCopy(str(self.file.path), "key", self.file.local)
        self.server = Coordinator(CopyingStore(store, copy), "a server")

    def join(self, *names: str) -> None:
        """Let sessions take part."""
        for name in names:
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
    server = CopiedServer(tmp_path)
    server.join("amber", "birch")
    return server


def test_where_nobody_takes_part_there_is_no_file(tmp_path: Path) -> None:
    copied = CopiedServer(tmp_path)

    assert list(copied.server.members.members()) == []
    assert not copied.file.path.exists()


@pytest.mark.requirement("C77")
def test_the_copy_has_who_takes_part_and_what_they_hold_and_what_is_ready(copied: CopiedServer) -> None:
    for name in ("t-1", "t-2", "t-3", "t-4", "t-5"):
        task = Task(task=name, title=f"Title of {name}", body="long", note="longer")
        copied.server.tasks.add(copied.op(), "amber", task)
    copied.server.tasks.claim(copied.op(), "amber", ["t-2"])
    copied.reserve("birch", "docs/")
    copied.pass_time(60)

    copy = copied.open()

    assert [(one.session, one.silent, one.is_live) for one in copy.members.members()] == [
        ("amber", 60.0, True),
        ("birch", 60.0, True),
    ]
    assert [(one.session, one.resource.name, one.left) for one in copy.leases.leases()] == [
        (one.session, one.resource.name, one.left) for one in copied.server.leases.leases()
    ]
    found = [(one.task.task, one.task.title, one.agent) for one in copy.tasks.tasks()]
    assert found == [
        ("t-1", "Title of t-1", ""),
        ("t-2", "Title of t-2", "amber-1"),
        ("t-3", "Title of t-3", ""),
        ("t-4", "Title of t-4", ""),
    ]
    assert {(one.task.body, one.task.note) for one in copy.tasks.tasks()} == {("", "")}


@pytest.mark.requirement("C77")
def test_what_is_over_is_not_in_the_next_copy(copied: CopiedServer) -> None:
    for name in ("t-1", "t-2"):
        copied.server.tasks.add(copied.op(), "amber", Task(task=name, title="A title"))
    claimed = copied.server.tasks.claim(copied.op(), "amber", ["t-1"])
    assert isinstance(claimed, Claimed)
    assert [one.resource.name for one in copied.open().leases.leases()] == ["t-1"]

    held = Fenced(Resource(TASK, "t-1"), claimed.grants[0].fence)
    copied.server.tasks.close(copied.op(), "amber", held, "completed", "")
    copied.server.members.leave(copied.op(), "birch")

    copy = copied.open()
    assert [one.task.task for one in copy.tasks.tasks()] == ["t-2"]
    assert list(copy.leases.leases()) == []
    assert [one.session for one in copy.members.members()] == ["amber"]


def test_the_copy_keeps_no_rows_of_what_is_over(copied: CopiedServer) -> None:
    for number in range(20):
        copied.join(f"s-{number}")
        copied.server.tasks.add(copied.op(), "", Task(task=f"t-{number}", title="Do it."))
        claimed = copied.server.tasks.claim(copied.op(), f"s-{number}", [f"t-{number}"])
        assert isinstance(claimed, Claimed)
        held = Fenced(Resource(TASK, f"t-{number}"), claimed.grants[0].fence)
        copied.server.tasks.close(copied.op(), f"s-{number}", held, "completed", "")
        copied.server.members.leave(copied.op(), f"s-{number}")
    names = [one.session for one in copied.open().members.members()]
    copied.file.close()

    assert names == ["amber", "birch"]
    assert copied.file.ask("SELECT count(*) FROM sessions") == len(names)
    assert copied.file.ask("SELECT count(*) FROM tasks") == 0


def test_of_many_sessions_those_are_copied_that_were_heard_last_or_hold_something(tmp_path: Path) -> None:
    copied = CopiedServer(tmp_path)
    names = [f"s{number:03}" for number in range(103)]
    copied.join(*names[:3])
    copied.reserve(names[0], "src/")
    copied.pass_time(1)
    copied.join(*names[3:])

    found = {one.session for one in copied.open().members.members()}

    assert found == {names[0], *names[-100:]}


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
    assert "still held (last known 1 min ago): `passdown status`" in refuse_edit(found, 100.0)
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
    assert copied.open().history.position() == 4
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
