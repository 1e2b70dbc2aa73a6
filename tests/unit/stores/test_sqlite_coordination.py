"""Coordination in an SQLite file: rows, positions, time, the gate, and files that cannot be used."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from passdown.core.coordination.members import EngineTime
from passdown.engines.coordination import rows
from passdown.engines.coordination.transactions import Store
from passdown.engines.files.locks import Gate
from passdown.engines.sqlite import coordination
from passdown.engines.sqlite.coordination import open_reader, open_store
from passdown.engines.sqlite.coordination_database import CoordinationDatabase
from passdown.engines.sqlite.database import read_queries, split_statements
from passdown.engines.sqlite.mounts import MountKind
from passdown.errors import StorageError
from passdown.ports.clock import BootTime
from passdown.records import replace
from tests.faults.hooked import give_up_rights
from tests.stores.coordination_files import NEWER, START, SharedFile
from tests.stores.stored_rows import ADA, LEASE, log, send, unread

NOW: Final = START.timestamp()
DAY: Final = timedelta(days=1)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[SharedFile]:
    """A machine without a file."""
    machine = SharedFile(tmp_path / "passdown")
    yield machine
    machine.close()


def now(store: Store) -> EngineTime:
    """Make a change, and give its time."""
    with store.changing() as change:
        return change.time


# --- the tables -----------------------------------------------------------------------------------


def tables(*scripts: Path) -> list[tuple[object, ...]]:
    """Give the tables, indexes and first rows that scripts make."""
    connection = sqlite3.connect(":memory:")
    for script in scripts:
        connection.executescript(script.read_text(encoding="utf-8"))
    made = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()
    meta = connection.execute("SELECT name, value FROM meta ORDER BY name").fetchall()
    connection.close()
    return [*made, *meta]


def test_the_migrations_together_are_the_schema() -> None:
    scripts = sorted(rows.MIGRATIONS.iterdir())

    assert tables(*scripts) == tables(rows.SCHEMA)
    assert ("version", len(scripts)) in tables(rows.SCHEMA)


def test_both_databases_can_run_every_statement() -> None:
    text = rows.QUERIES.read_text(encoding="utf-8") + rows.SCHEMA.read_text(encoding="utf-8")
    only_one = ("WITHOUT ROWID", "STRICT", "AUTOINCREMENT", "INSERT OR", "REPLACE INTO", "GLOB", "PRAGMA")

    assert [word for word in only_one if word in text] == []
    assert "%" not in text  # where values are marked by it
    assert len(list(split_statements(rows.SCHEMA.read_text(encoding="utf-8")))) > 15


# `positions` reads the projects of one clone, which has one for each root.
@pytest.mark.parametrize("name", sorted(read_queries(rows.QUERIES).keys() - {"meta", "positions"}))
def test_no_statement_looks_at_every_row(name: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(rows.SCHEMA.read_text(encoding="utf-8"))
    query = read_queries(rows.QUERIES)[name]

    plan = connection.execute(f"EXPLAIN QUERY PLAN {query}", [1] * query.count("?")).fetchall()
    connection.close()

    assert [step for *_, step in plan if step.startswith("SCAN") and step != "SCAN CONSTANT ROW"] == []


@pytest.mark.parametrize(
    "name", ["first_ready", "first_ready_for", "ready_tasks", "inbox", "log_since", "members"]
)
def test_what_is_asked_for_at_every_turn_is_not_sorted(name: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(rows.SCHEMA.read_text(encoding="utf-8"))
    query = read_queries(rows.QUERIES)[name]

    plan = connection.execute(f"EXPLAIN QUERY PLAN {query}", [1] * query.count("?")).fetchall()
    connection.close()

    assert [step for *_, step in plan if "TEMP B-TREE" in step] == []


@pytest.mark.requirement("G18")
@pytest.mark.skipif(os.name != "posix", reason="there are no such rights")
def test_only_its_owner_can_read_what_sessions_share(machine: SharedFile) -> None:
    before = os.umask(0)
    try:
        now(machine.open())
        modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in machine.path.parent.iterdir()}
    finally:
        os.umask(before)

    ends = ("", "-shm", "-wal", ".lock")
    assert modes == {f"{machine.path.name}{end}": 0o600 for end in ends}
    assert stat.S_IMODE(machine.path.parent.stat().st_mode) == 0o700


def test_a_change_survives_a_power_cut_and_a_beat_need_not(machine: SharedFile) -> None:
    store = machine.open()
    synced: list[object] = []
    ask = store._database._connection

    with store.changing() as change:
        change.put_member(ADA)
        synced.append(ask.execute("PRAGMA synchronous").fetchone()[0])
    ask.set_trace_callback(synced.append)
    store.beat(["s-ada"])
    ask.set_trace_callback(None)

    assert synced[:2] == [2, "PRAGMA synchronous = NORMAL"]
    assert synced[3] == "BEGIN IMMEDIATE"
    assert synced[-2:] == ["COMMIT", "PRAGMA synchronous = FULL"]
    assert ask.execute("PRAGMA fullfsync").fetchone()[0] == 1


def test_transactions_do_not_nest(machine: SharedFile) -> None:
    store = machine.open()
    with store.changing() as change:
        change.put_member(ADA)
        with pytest.raises(RuntimeError, match="do not nest"), store.looking():
            pass
        with pytest.raises(RuntimeError, match="do not nest"), store.changing():
            pass
        with pytest.raises(RuntimeError, match="do not nest"):
            store.beat([])

    with store.looking() as reading:
        assert reading.find_member("s-ada") == ADA


def test_what_contradicts_the_rows_is_refused_and_undone(machine: SharedFile) -> None:
    store = machine.open()
    with store.changing() as change:
        change.add_log(log(1))

    def repeat() -> None:
        with store.changing() as change:
            change.put_member(ADA)
            change.add_log(log(2)._replace(op="op-1"))

    with pytest.raises(StorageError, match="refused a change: UNIQUE"):
        repeat()

    with store.looking() as reading:
        assert (reading.position(), reading.members()) == (1, [])


def test_the_store_asks_this_machine_whether_a_process_runs(machine: SharedFile) -> None:
    waited: list[float] = []
    local = replace(machine.local, pause=waited.append)
    store = open_reader(str(machine.path), "local", local)

    store.pause(0.5)

    assert (store.is_running("alive"), store.is_running("gone"), waited) == (True, None, [0.5])


# --- time -----------------------------------------------------------------------------------------


def test_time_begins_with_the_wall_clock_and_goes_on_with_the_boot(machine: SharedFile) -> None:
    store = machine.open()
    assert now(store) == EngineTime(NOW, 0)

    machine.boot.go_on(7.5)

    assert now(store) == EngineTime(NOW + 7.5, 0)
    with store.looking() as reading:
        assert reading.time == EngineTime(NOW + 7.5, 0)


@pytest.mark.parametrize("moved", [DAY, -DAY])
def test_moving_the_wall_clock_changes_nothing(machine: SharedFile, moved: timedelta) -> None:
    now(machine.open())

    machine.clock.at += moved
    machine.boot.go_on(2.0)

    assert now(machine.open()) == EngineTime(NOW + 2.0, 0)


@pytest.mark.parametrize(("moved", "seconds"), [(DAY, 86_400.0), (-DAY, 50.0)])
def test_after_another_boot_time_goes_on_and_never_back(
    machine: SharedFile, moved: timedelta, seconds: float
) -> None:
    store = machine.open()
    now(store)
    machine.boot.go_on(50.0)
    now(store)

    machine.clock.at += moved
    machine.boot.at = BootTime("boot-b", 3.0)
    with store.looking() as reading:
        assert reading.time == EngineTime(NOW + seconds, 1)
    assert now(store) == EngineTime(NOW + seconds, 1)

    machine.clock.at -= moved
    machine.boot.go_on(4.0)
    assert now(store) == EngineTime(NOW + seconds + 4.0, 1)


def test_a_beat_is_remembered_as_the_newest_instant(machine: SharedFile) -> None:
    store = machine.open()
    with store.changing() as change:
        change.put_member(ADA)
    machine.boot.go_on(500.0)
    store.beat(["s-ada"])

    machine.boot.at = BootTime("boot-b", 0.0)

    assert now(store) == EngineTime(NOW + 500.0, 1)


def test_a_beat_after_a_boot_counts_for_that_boot(machine: SharedFile) -> None:
    store = machine.open()
    with store.changing() as change:
        change.put_member(ADA)
    machine.boot.at = BootTime("boot-b", 9.0)

    store.beat(["s-ada"])

    with store.looking() as reading:
        assert reading.find_member("s-ada") == replace(ADA, seen=NOW, boot=1)


def test_without_a_boot_the_wall_clock_counts_but_never_steps_back(machine: SharedFile) -> None:
    store = machine.open()
    machine.boot.at = BootTime("", NOW + 10.0)
    assert now(store) == EngineTime(NOW + 10.0, 0)

    machine.boot.at = BootTime("", NOW - 999.0)
    with store.looking() as reading:
        assert reading.time == EngineTime(NOW + 10.0, 0)
    assert now(store) == EngineTime(NOW + 10.0, 0)


def test_a_boot_that_becomes_known_ends_nobody(machine: SharedFile) -> None:
    store = machine.open()
    machine.boot.at = BootTime("", NOW + 10.0)
    now(store)

    machine.boot.at = BootTime("boot-a", 5.0)

    assert now(store) == EngineTime(NOW + 10.0, 0)
    machine.boot.go_on(1.0)
    assert now(store) == EngineTime(NOW + 11.0, 0)


def test_time_goes_on_from_what_somebody_wrote_who_could_not_tell_the_boot(machine: SharedFile) -> None:
    store = machine.open()
    now(store)
    known = machine.boot.at
    machine.boot.at = BootTime("", NOW + 1000.0)
    now(store)

    machine.boot.at = known
    assert now(store) == EngineTime(NOW + 1000.0, 0)
    machine.boot.go_on(1.0)
    assert now(store) == EngineTime(NOW + 1001.0, 0)


# --- several processes ----------------------------------------------------------------------------

CHILD = """
import sys
from datetime import datetime, UTC
from passdown.engines.sqlite.coordination import LocalMachine, open_store
from passdown.engines.sqlite.mounts import MountKind
from passdown.engines.system import SystemClock
from passdown.engines.files.locks import Gate
from passdown.ports.clock import BootTime
class Boot:
    def read(self):
        return BootTime("boot-a", SystemClock().monotonic())
def refuse(handle, wait):
    raise OSError("no locks here")
path, mount, gate = sys.argv[1:]
machine = LocalMachine(boot_clock=Boot(), clock=SystemClock(), is_running=lambda process: None)
print("ready", flush=True)
sys.stdin.readline()
gate = Gate(path + ".lock", lock=refuse) if gate == "none" else None
store = open_store(path, "local", machine, mount=MountKind(mount), gate=gate)
for _ in range(25):
    with store.changing() as change:
        print(change.fence, change.time.seconds)
store.close()
"""


@pytest.mark.parametrize(("mount", "gate"), [("local", "flock"), ("local", "none"), ("unknown", "flock")])
def test_processes_that_change_at_once_get_different_fences_in_the_order_of_time(
    machine: SharedFile, mount: str, gate: str
) -> None:
    machine.path.parent.mkdir()
    command = [sys.executable, "-c", CHILD, str(machine.path), mount, gate]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    said = [line.split() for child in children for line in child.communicate(timeout=60)[0].splitlines()]

    found = sorted((int(fence), float(at)) for fence, at in said)
    assert [fence for fence, _ in found] == list(range(1, 76))
    assert [at for _, at in found] == sorted(at for _, at in found)


def test_whoever_waits_too_long_at_the_gate_is_told_so(machine: SharedFile) -> None:
    store, other = machine.open(), machine.open(wait=0.01)
    with store.changing():
        with pytest.raises(StorageError, match=r"is locked: .* within 0\.01 s") as refused, other.changing():
            pass
        with pytest.raises(StorageError, match="is locked"):
            other.beat(["s-ada"])

    assert (refused.value.exit_code, refused.value.hint) == (5, "Nothing was changed; try again.")
    assert now(other) == EngineTime(NOW, 0)


def test_without_a_gate_writers_wait_for_each_other_all_the_same(machine: SharedFile) -> None:
    def refuse(handle: int, wait: float) -> bool:
        raise OSError(handle, wait)

    gate = Gate(f"{machine.path}.lock", lock=refuse)
    store, other = machine.open(gate=gate), machine.open(gate=gate, wait=0.01)

    with store.changing(), pytest.raises(StorageError, match="is busy: another process"), other.changing():
        pass

    with other.changing() as change:
        assert change.fence == 2


def test_a_file_is_closed_even_if_the_gate_is_busy(machine: SharedFile) -> None:
    store, other = machine.open(), machine.open(wait=0.01)
    with store.changing():
        other.close()

    with pytest.raises(StorageError, match="closed database"), other.looking():
        pass


# --- files that cannot be used --------------------------------------------------------------------


def test_a_file_system_of_another_machine_is_refused(machine: SharedFile) -> None:
    with pytest.raises(StorageError, match="network or virtual file system") as refused:
        machine.open(mount=MountKind.REMOTE)

    assert str(machine.path.parent) in refused.value.message
    assert "server engine" in refused.value.hint
    assert not machine.path.parent.exists()


def test_the_kind_of_file_system_is_found_out(machine: SharedFile) -> None:
    store = open_store(str(machine.path), "local", machine.local)

    assert now(store) == EngineTime(NOW, 0)
    store.close()


@pytest.mark.parametrize(("mount", "mode"), [(MountKind.LOCAL, "wal"), (MountKind.UNKNOWN, "truncate")])
def test_where_nobody_can_tell_there_is_no_write_ahead_log(
    machine: SharedFile, mount: MountKind, mode: str
) -> None:
    store = machine.open(mount=mount)

    assert store._database._connection.execute("PRAGMA journal_mode").fetchone()[0] == mode


@pytest.mark.parametrize(
    "damage", [b"this is no database at all" * 400, b"SQLite format 3\0" + b"\xff" * 9000]
)
def test_a_damaged_file_is_reported_and_kept(machine: SharedFile, damage: bytes) -> None:
    machine.path.parent.mkdir()
    machine.path.write_bytes(damage)

    with pytest.raises(StorageError, match="is damaged"), machine.read().looking():
        pass
    with pytest.raises(StorageError, match="the coordination database is damaged") as refused:
        machine.open()

    assert machine.path.read_bytes() == damage
    assert str(machine.path) in refused.value.hint


def test_damage_that_shows_later_is_reported_and_kept(machine: SharedFile) -> None:
    with machine.open().changing() as change:
        change.put_lease(LEASE)
    machine.close()
    page = machine.ask("SELECT rootpage FROM sqlite_master WHERE name = 'leases'")
    size = machine.ask("PRAGMA page_size")
    assert isinstance(page, int)
    assert isinstance(size, int)
    whole = machine.path.read_bytes()
    damaged = whole[: (page - 1) * size] + b"\xff" * size + whole[page * size :]
    machine.path.write_bytes(damaged)

    store = machine.open()
    with pytest.raises(StorageError, match="is damaged"), store.changing() as change:
        change.leases("path", ended=True)
    machine.close()

    assert machine.path.read_bytes() == damaged


# --- reading where nobody may write ---------------------------------------------------------------


def test_a_missing_file_reads_as_an_empty_project_and_is_not_created(machine: SharedFile) -> None:
    with machine.read().looking() as reading:
        assert (reading.position(), reading.members(), reading.time) == (0, [], EngineTime(NOW, 0))

    assert not machine.path.parent.exists()


def test_a_file_without_tables_reads_as_an_empty_project(machine: SharedFile) -> None:
    machine.path.parent.mkdir()
    machine.path.touch()

    with machine.read().looking() as reading:
        assert (reading.position(), reading.tasks()) == (0, [])

    assert machine.path.read_bytes() == b""


def test_a_reader_sees_what_is_still_in_the_log_and_then_what_is_in_the_file(machine: SharedFile) -> None:
    store, reader = machine.open(), machine.read()
    send(store, "m-1", "s-ada")
    assert unread(reader, "s-ada") == ["m-1"]
    send(store, "m-2", "s-ada")
    assert unread(reader, "s-ada") == ["m-1", "m-2"]
    machine.close()
    connection = sqlite3.connect(machine.path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    assert [one.name for one in machine.path.parent.glob("*-wal")] == []

    assert unread(reader, "s-ada") == ["m-1", "m-2"]
    assert [one.name for one in machine.path.parent.glob("*-wal")] == []


def test_a_log_without_its_index_cannot_be_read_where_nobody_may_write(
    machine: SharedFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(machine.open(), "m-1", "s-ada")

    def refuse(path: str, *, immutable: bool) -> sqlite3.Connection:
        assert not immutable
        return sqlite3.connect(f"file:{path}.missing?mode=ro", uri=True)

    monkeypatch.setattr(coordination, "open_read_only", refuse)

    with pytest.raises(StorageError, match="cannot be read") as refused, machine.read().looking():
        pass
    assert "passdown doctor" in refused.value.hint


def test_the_log_stays_where_it_is_so_that_the_next_change_need_not_make_one(machine: SharedFile) -> None:
    send(machine.open(), "m-1", "s-ada")
    machine.close()

    can_keep_it = hasattr(sqlite3.Connection, "setconfig")  # from Python 3.12 on
    assert Path(f"{machine.path}-wal").exists() is can_keep_it
    assert unread(machine.open(), "s-ada") == ["m-1"]


def test_a_reader_waits_for_no_half_written_change(machine: SharedFile) -> None:
    store, reader = machine.open(mount=MountKind.UNKNOWN), machine.read()
    send(store, "m-1", "s-ada")

    with store.changing() as change:
        change.mark_read("s-ada", [1])
        assert unread(reader, "s-ada") == ["m-1"]


def test_a_reader_is_granted_nothing(machine: SharedFile) -> None:
    now(machine.open())
    reader = machine.read()

    with pytest.raises(StorageError, match="cannot be written") as refused, reader.changing():
        pass
    with pytest.raises(StorageError, match="cannot be written"):
        reader.beat(["s-ada"])

    assert refused.value.exit_code == 5
    assert str(machine.path.parent) in refused.value.hint
    assert "passdown doctor" in refused.value.hint


SANDBOXED = """
import sys
from passdown.engines.sqlite.coordination import LocalMachine, open_reader, open_store
from passdown.engines.sqlite.mounts import MountKind
from passdown.engines.system import SystemClock
from passdown.errors import StorageError
from passdown.ports.clock import BootTime
class Boot:
    def read(self):
        return BootTime("boot-a", 100.0)
machine = LocalMachine(boot_clock=Boot(), clock=SystemClock(), is_running=lambda process: None)
try:
    store = open_store(sys.argv[1], "local", machine, mount=MountKind(sys.argv[2]))
    with store.changing():
        print("granted")
except StorageError as error:
    print(error.message, error.hint, error.exit_code)
with open_reader(sys.argv[1], "local", machine).looking() as reading:
    print([message.message for _, message in reading.inbox("s-ada")])
"""


@pytest.mark.skipif(os.name != "posix", reason="there are no such rights")
@pytest.mark.parametrize("mount", [MountKind.LOCAL, MountKind.UNKNOWN])
@pytest.mark.parametrize("is_open", [True, False], ids=["in use", "at rest"])
def test_whoever_may_only_read_sees_everything_and_is_granted_nothing(
    machine: SharedFile, mount: MountKind, *, is_open: bool
) -> None:
    store = machine.open(mount=mount)
    send(store, "m-1", "s-ada")
    if not is_open:
        machine.close()
    for file in machine.path.parent.iterdir():
        file.chmod(0o400)
    machine.path.parent.chmod(0o500)

    command = [sys.executable, "-c", SANDBOXED, str(machine.path), mount.value]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=give_up_rights,
    )

    machine.path.parent.chmod(0o700)
    refused, seen = done.stdout.splitlines()
    assert refused.startswith("the coordination database cannot be written")
    assert "passdown doctor" in refused
    assert (refused[-1], seen) == ("5", "['m-1']")


def test_a_folder_that_cannot_be_created_names_the_two_ways(
    machine: SharedFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)

    with pytest.raises(StorageError, match="cannot be written") as refused:
        machine.open()

    assert "passdown doctor" in refused.value.hint


def test_a_folder_that_is_a_file_is_reported_as_that(machine: SharedFile) -> None:
    machine.path.parent.write_text("not a folder")

    with pytest.raises(StorageError, match=r"could not write .*passdown"):
        machine.open()


# --- versions -------------------------------------------------------------------------------------


def make_newer(machine: SharedFile, *, least_reader: int, least_writer: int) -> None:
    """Let a later version of Passdown have migrated the file."""
    now(machine.open())
    machine.close()
    machine.ask("ALTER TABLE sessions ADD COLUMN mood TEXT NOT NULL DEFAULT ''")
    machine.ask(f"PRAGMA user_version = {NEWER}")
    for name, value in (("version", NEWER), ("least_reader", least_reader), ("least_writer", least_writer)):
        machine.ask("UPDATE meta SET value = ? WHERE name = ?", value, name)


def test_a_newer_file_that_only_added_something_is_used(machine: SharedFile) -> None:
    make_newer(machine, least_reader=1, least_writer=1)

    with machine.open().changing() as change:
        change.put_member(ADA)
    with machine.read().looking() as reading:
        assert list(reading.members()) == [ADA]
    machine.close()

    assert machine.ask("PRAGMA user_version") == NEWER
    assert not Path(f"{machine.path}.v{NEWER - 1}").exists()


def test_a_newer_file_that_may_not_be_written_can_be_read(machine: SharedFile) -> None:
    make_newer(machine, least_reader=1, least_writer=NEWER)

    with pytest.raises(StorageError, match=f"too new: it has version {NEWER}") as refused:
        machine.open()
    with machine.read().looking() as reading:
        assert reading.position() == 1

    assert (refused.value.hint, refused.value.exit_code) == ("Update Passdown.", 5)


def test_a_newer_file_that_may_not_be_read_is_refused(machine: SharedFile) -> None:
    make_newer(machine, least_reader=NEWER, least_writer=NEWER)

    with pytest.raises(StorageError, match="too new") as refused, machine.read().looking():
        pass

    assert refused.value.hint == "Update Passdown."


def test_an_older_file_is_copied_before_it_is_migrated(
    machine: SharedFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = machine.open()
    send(store, "m-1", "s-ada")
    migrations = tmp_path / "migrations"
    shutil.copytree(rows.MIGRATIONS, migrations)
    (migrations / "0005.sql").write_text(
        "ALTER TABLE sessions ADD COLUMN mood TEXT NOT NULL DEFAULT '';\n"
        "UPDATE meta SET value = 5 WHERE name = 'version';\n"
    )
    monkeypatch.setattr(CoordinationDatabase, "migrations", migrations)

    newer = machine.open()  # while the older one has it open

    send(store, "m-2", "s-ada")
    assert unread(newer, "s-ada") == ["m-1", "m-2"]
    machine.close()
    assert machine.ask("PRAGMA user_version") == 5
    machine.path = Path(f"{machine.path}.v4")
    assert (machine.ask("PRAGMA user_version"), machine.ask("SELECT count(*) FROM messages")) == (4, 1)
    assert os.name != "posix" or stat.S_IMODE(machine.path.stat().st_mode) == 0o600


def test_a_file_of_the_first_version_is_migrated_and_keeps_what_it_holds(
    machine: SharedFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmp_path / "migrations"
    first.mkdir()
    shutil.copy(rows.MIGRATIONS / "0001.sql", first)
    with monkeypatch.context() as older:
        older.setattr(CoordinationDatabase, "migrations", first)
        send(machine.open(), "m-1", "s-ada")
        machine.close()
    assert machine.ask("PRAGMA user_version") == 1

    assert unread(machine.open(), "s-ada") == ["m-1"]

    machine.close()
    assert machine.ask("PRAGMA user_version") == len(CoordinationDatabase.scripts())
    assert machine.ask("SELECT value FROM meta WHERE name = 'version'") == len(CoordinationDatabase.scripts())
