"""A store that stays open while its file, its gate or its log is lost; and what the log is good for."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from passdown import layout
from passdown.core.coordination.leases import PATH, Fenced, Granted, Held, KnownHolder, Resource
from passdown.core.coordination.members import Member
from passdown.core.coordination.operations import RANDOM_BYTES, make_operation
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.sqlite.change_log import ChangeLog
from passdown.engines.sqlite.coordination import LocalMachine, SqliteStore, open_store, read_time
from passdown.engines.sqlite.coordination_file import Recovery
from passdown.engines.sqlite.mounts import MountKind
from passdown.engines.system import SystemEntropy
from passdown.errors import AwayError, StorageError, UnsureError
from passdown.records import replace
from tests.stores.coordination_files import SharedFile
from tests.stores.lost_files import WAYS, copy_database, delete

pytestmark = pytest.mark.requirement("C146")

WAIT = 1.0


class LoggedFile(SharedFile):
    """A file whose changes are logged."""

    def __init__(self, folder: Path) -> None:
        """Use a folder that is like git's."""
        super().__init__(folder / "project/.git/passdown")
        self.changes = self.path.parent / layout.COORDINATION_CHANGES
        self.told: list[str] = []
        self.holders: list[KnownHolder] = []
        self.is_hurried = False

    @property
    def local(self) -> LocalMachine:
        """What the store is given."""
        machine = super().local
        recovery = Recovery(
            log=ChangeLog(str(self.changes)),
            today=lambda: machine.clock.now().date().isoformat(),
            make_identity=lambda: 77,
            tell_time=lambda statements, project: read_time(statements, project, machine)[0],
            holders=lambda: {"local": self.holders},
            tell=self.told.append,
            is_hurried=self.is_hurried,
        )
        return replace(machine, recovery=recovery)

    def coordinate(self) -> Coordinator:
        """Open the file."""
        return Coordinator(self.open(wait=WAIT), "SQLite")

    def op(self) -> str:
        """Make the id of an operation."""
        return make_operation(self.clock.now(), SystemEntropy().token(RANDOM_BYTES))

    def join(self, coordinator: Coordinator, session: str) -> None:
        """Let a session take part."""
        coordinator.members.join(self.op(), Member(session=session, agent=session))

    def reserve(self, coordinator: Coordinator, session: str, *names: str) -> Granted | Held:
        """Let a session reserve paths."""
        wanted = [Resource(PATH, name) for name in names]
        return coordinator.leases.acquire(self.op(), session, wanted, 600.0)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[LoggedFile]:
    """Give a file in which amber holds `src/`, and an older copy of it."""
    made = LoggedFile(tmp_path)
    first = made.coordinate()
    made.join(first, "amber")
    made.join(first, "birch")
    copy_database(made.path, tmp_path / "older.sqlite")
    assert isinstance(made.reserve(first, "amber", "src/"), Granted)
    made.close()
    yield made
    made.close()


@pytest.mark.parametrize("way", WAYS)
def test_a_store_that_is_open_notices_that_its_file_was_lost(file: LoggedFile, way: str) -> None:
    coordinator = file.coordinate()
    WAYS[way](file.path)

    held = file.reserve(coordinator, "birch", "src/a.py")

    assert isinstance(held, Held)
    assert held.session == "amber"
    assert len(file.told) == 1 or way.startswith("overwritten"), file.told  # SQLite's own log may have it all
    assert len(coordinator.members.members()) == 2


def test_rows_that_somebody_else_wrote_do_not_count(file: LoggedFile) -> None:
    file.ask("DELETE FROM leases")

    coordinator = file.coordinate()

    assert [one.resource.name for one in coordinator.leases.leases()] == ["src/"]
    assert "differs from what was written to it: leases" in file.told[0]


def test_a_file_that_was_touched_and_is_the_same_is_kept(file: LoggedFile) -> None:
    file.ask("UPDATE signs SET newest = newest + 1")

    file.coordinate()
    file.close()
    file.coordinate()

    assert file.told == []


@pytest.mark.parametrize("way", ["deleted", "replaced by an older copy"])
def test_who_only_looks_sees_the_restored_file(file: LoggedFile, way: str) -> None:
    coordinator = file.coordinate()
    WAYS[way](file.path)

    assert [one.resource.name for one in coordinator.leases.leases()] == ["src/"]


@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_is_lost_before_a_commit_keeps_nothing(file: LoggedFile, way: str) -> None:
    store = file.open(wait=WAIT)

    with pytest.raises(StorageError), store.changing():
        WAYS[way](file.path)

    coordinator = file.coordinate()
    assert [one.resource.name for one in coordinator.leases.leases()] == ["src/"]


def test_a_gate_that_is_removed_stops_the_change(file: LoggedFile) -> None:
    store = file.open(wait=WAIT)

    with pytest.raises(AwayError, match="was removed or replaced"), store.changing():
        Path(layout.lock_name(str(file.path))).unlink()

    with store.changing() as change:
        assert change.fence == 4


def test_a_change_that_is_in_neither_file_nor_log_is_unsure(
    file: LoggedFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = file.open(wait=WAIT)
    made: Callable[..., bool] = type(store._file.opened).log_change

    def lose(*given: object) -> bool:
        delete(file.path)
        made(*given)
        return False

    monkeypatch.setattr(type(store._file.opened), "log_change", lose)
    with pytest.raises(UnsureError, match="was removed or replaced"), store.changing():
        pass


def test_a_log_that_cannot_be_written_stops_nobody_and_the_next_copy_has_it_all(file: LoggedFile) -> None:
    coordinator = file.coordinate()
    log = max(file.changes.glob("*.jsonl"))
    log.rename(log.with_suffix(".kept"))
    log.mkdir()

    assert isinstance(file.reserve(coordinator, "birch", "docs/"), Granted)

    log.rmdir()
    log.with_suffix(".kept").rename(log)
    del coordinator
    file.close()
    file.coordinate()
    file.close()
    delete(file.path)
    assert {one.resource.name for one in file.coordinate().leases.leases()} == {"src/", "docs/"}
    assert "no known change is missing" in file.told[0]


def test_a_change_that_does_not_fit_any_more_is_told_as_missing(file: LoggedFile) -> None:
    log = max(file.changes.glob("*.jsonl"))
    lines = log.read_text(encoding="utf-8").splitlines()
    at = next(n for n, line in enumerate(lines) if json.loads(line).get("position") == 3)
    lines[at] = json.dumps({**json.loads(lines[at]), "run": [["a newer statement", []]]})
    log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    delete(file.path)

    coordinator = file.coordinate()

    assert coordinator.leases.leases() == []
    assert "could not be restored" in file.told[0]


def test_of_holdings_that_overlap_the_one_with_the_higher_fence_is_restored(file: LoggedFile) -> None:
    for path in file.changes.glob("*"):
        path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    delete(file.path)
    file.holders = [
        KnownHolder(Member(session="amber", agent="amber"), (Fenced(Resource(PATH, "src/"), 3),), 9),
        KnownHolder(Member(session="birch", agent="birch"), (Fenced(Resource(PATH, "src/a.py"), 7),), 7),
        KnownHolder(Member(session="cedar", agent="cedar"), (Fenced(Resource(PATH, "docs/"), 8),), 8),
    ]

    coordinator = file.coordinate()

    assert {(one.resource.name, one.session, one.fence) for one in coordinator.leases.leases()} == {
        ("src/a.py", "birch", 7),
        ("docs/", "cedar", 8),
    }
    assert "2 holdings that sessions recorded" in file.told[0]
    assert coordinator.history.position() == 10


def test_many_changes_begin_a_new_period(file: LoggedFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("passdown.engines.sqlite.change_log._LONGEST", 100)

    file.coordinate()

    assert sorted(path.name for path in file.changes.iterdir()) == [
        "000001.jsonl",
        "000002.jsonl",
        "000002.sqlite",
    ]


def test_a_change_that_is_longer_than_the_end_that_is_read_counts(file: LoggedFile) -> None:
    coordinator = file.coordinate()
    file.reserve(coordinator, "birch", *(f"docs/{'x' * 200}/{number}" for number in range(400)))
    del coordinator
    file.close()
    delete(file.path)

    assert len(file.coordinate().leases.leases()) == 401
    assert "no known change is missing" in file.told[0]


def test_who_is_in_haste_restores_nothing_and_copies_nothing(file: LoggedFile) -> None:
    file.is_hurried = True
    file.clock.at = file.clock.at.replace(year=2030)
    file.coordinate()
    assert len([*file.changes.iterdir()]) == 1
    file.close()
    delete(file.path)

    with pytest.raises(AwayError, match="the coordination database is missing"):
        file.coordinate()
    assert not file.path.exists()


def test_a_store_without_a_log_works_as_before(tmp_path: Path) -> None:
    plain = SharedFile(tmp_path)
    store: SqliteStore = open_store(str(plain.path), "local", plain.local, mount=MountKind.LOCAL)
    plain.open_ones.append(store)
    delete(plain.path)

    with store.changing() as change:
        assert change.fence == 1
    plain.close()
