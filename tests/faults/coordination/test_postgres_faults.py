"""What happens to changes when PostgreSQL is stopped, or a connection is lost at the worst moment."""

import random
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event, Thread

import pytest

from passdown.core.coordination.members import Member
from passdown.core.coordination.tasks import Task, TaskStored
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.patience import Patience
from passdown.engines.postgres.coordination import PostgresStore, open_store
from passdown.engines.postgres.migrate import APP, migrate
from passdown.errors import AwayError, StorageError, UnansweredError
from tests.proof import proof_count
from tests.proofs.coordination.test_outages import _make_ops
from tests.stores.servers import PORT, Bouncer, MigratedDatabase, Postgres, started_bouncer

pytestmark = pytest.mark.server

PROJECT = "p-1"
KILLS = proof_count(fast=2, ci=4, long=200)
# It tells each change that is done.
WRITER = """
import sys
from passdown.core.coordination.tasks import Task
from passdown.engines.postgres.coordination import open_store
store, name = open_store(sys.argv[1], sys.argv[2]), sys.argv[3]
for number in range(100_000):
    with store.changing() as change:
        change.put_task(Task(task=f"{name}-{number}", title=""))
        fence = change.fence
    print(f"{name}-{number}", fence, flush=True)
"""


@pytest.fixture
def own_database(own_postgres: Postgres) -> MigratedDatabase:
    """The tables on a server that the test may stop."""
    database = MigratedDatabase(own_postgres.address, "postgres")
    migrate(database.url("postgres"))
    return database


@pytest.fixture
def store(own_database: MigratedDatabase) -> Iterator[PostgresStore]:
    """The rows of a project on that server."""
    store = open_store(own_database.url(), PROJECT)
    yield store
    store.close()


def add_task(store: PostgresStore, name: str) -> int:
    """Make a change; return its fence."""
    with store.changing() as change:
        change.put_task(Task(task=name, title=""))
        return change.fence


def tasks(store: PostgresStore) -> list[str]:
    """Return what is stored."""
    with store.looking() as reading:
        return [task.task for task in reading.tasks()]


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_server_that_was_restarted_is_an_error_once(
    own_postgres: Postgres, store: PostgresStore, how: str
) -> None:
    add_task(store, "t-1")
    own_postgres.stop(how)
    own_postgres.start()
    with pytest.raises(StorageError, match="PostgreSQL"):
        add_task(store, "t-2")

    assert add_task(store, "t-3") == 2
    assert tasks(store) == ["t-1", "t-3"]


def test_a_server_that_is_away_is_an_error_each_time(own_postgres: Postgres, store: PostgresStore) -> None:
    own_postgres.stop()
    for _ in range(2):
        with pytest.raises(StorageError) as raised:
            add_task(store, "t-1")
        assert "Nothing was changed" in raised.value.hint
    own_postgres.start()

    assert tasks(store) == []


def test_a_change_whose_server_stops_before_its_end_left_nothing(
    own_postgres: Postgres, store: PostgresStore
) -> None:
    add_task(store, "t-1")

    def lose() -> None:
        with store.changing() as change:
            change.put_task(Task(task="t-2", title=""))
            own_postgres.stop("immediate")
            change.find_task("t-2")

    with pytest.raises(StorageError) as raised:
        lose()
    own_postgres.start()

    assert "Nothing was changed" in raised.value.hint
    assert tasks(store) == ["t-1"]
    assert add_task(store, "t-3") == 2


@pytest.mark.requirement("C78")
def test_a_connection_that_is_lost_during_the_commit_leaves_the_outcome_open(
    own_database: MigratedDatabase, store: PostgresStore
) -> None:
    """The commit waits for a second server that is not there, and is done here all the same.

    Changed settings take a moment to be known to all processes of the server: commits until then do not wait.
    """
    add_task(store, "t-1")
    own_database.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    own_database.run("SELECT pg_reload_conf()")
    caught: list[StorageError] = []
    tried = ["t-1"]

    def lose() -> None:
        own = open_store(own_database.url(), PROJECT)
        try:
            while True:
                tried.append(f"t-{len(tried) + 1}")
                add_task(own, tried[-1])
        except StorageError as error:
            caught.append(error)
        finally:
            own.close()

    losing = Thread(target=lose)
    losing.start()
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    while losing.is_alive() and not own_database.run(end):
        continue
    losing.join()

    assert "may or may not have been made" in caught[0].hint
    assert "Repeat the same command" in caught[0].hint
    assert sorted(tasks(store)) == sorted(tried)


def wait_for_nobody(database: MigratedDatabase) -> None:
    """Let every commit from now on wait for a standby that is not there.

    Changed settings take a moment to be known to all processes of the server, so a commit tries them.
    """
    database.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    database.run("SELECT pg_reload_conf()")
    patience = Patience(1.0)
    own = open_store(database.url(), f"{PROJECT}-other", patience=patience)
    with suppress(UnansweredError):
        while True:
            patience.restart()
            add_task(own, f"t-{uuid.uuid4().hex}")
    own.close()


def wait_for_no_standby(database: MigratedDatabase) -> None:
    """Let commits be done by this server alone again."""
    database.run("ALTER SYSTEM RESET synchronous_standby_names")
    database.run("SELECT pg_reload_conf()")


def cancel_waits(database: MigratedDatabase, is_over: Callable[[], bool]) -> None:
    """Do what an administrator does about commits that wait for a standby, until something is over."""
    while not is_over():
        database.run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")


@pytest.mark.requirement("C78")
def test_a_commit_whose_wait_for_a_standby_is_cancelled_leaves_the_outcome_open(
    own_database: MigratedDatabase, store: PostgresStore
) -> None:
    """The server says COMMIT with a warning: no standby may have the change, and a failover then loses it."""
    wait_for_nobody(own_database)
    with ThreadPoolExecutor(1) as pool:
        adding = pool.submit(lambda: add_task(open_store(own_database.url(), PROJECT), "t-1"))
        cancel_waits(own_database, adding.done)
        with pytest.raises(UnansweredError, match="synchronous replication") as raised:
            adding.result()

    assert "Repeat the same command" in raised.value.hint
    assert tasks(store) == ["t-1"]


@pytest.mark.requirement("C78", "C79")
def test_a_repeat_is_not_answered_before_a_standby_has_the_change(own_database: MigratedDatabase) -> None:
    make_op, patience = _make_ops(), Patience(2.0)
    store = open_store(own_database.url(), PROJECT, patience=patience)
    on = Coordinator(store, "PostgreSQL")
    on.members.join(make_op(), Member(session="a", agent="a"))
    wait_for_nobody(own_database)
    op, task = make_op(), Task(task="t-1", title="Form")

    def add() -> object:
        patience.restart()
        return on.tasks.add(op, "a", task)

    def lose() -> object:
        return Coordinator(open_store(own_database.url(), PROJECT), "PostgreSQL").tasks.add(op, "a", task)

    with ThreadPoolExecutor(1) as pool:
        adding = pool.submit(lose)
        cancel_waits(own_database, adding.done)
    assert isinstance(adding.exception(), UnansweredError)
    for ask in (add, lambda: on.history.find(op), lambda: on.history.cancel(op)):
        patience.restart()
        with pytest.raises(UnansweredError, match="no answer within 2 s") as raised:
            ask()
        assert "Repeat the same command" in raised.value.hint
    wait_for_no_standby(own_database)

    told = add()
    assert isinstance(told, TaskStored)
    assert told.task.title == "Form"
    assert on.history.find(op) == 2
    store.close()


@pytest.mark.requirement("C78")
def test_what_was_acknowledged_is_on_the_server_that_takes_over(
    postgres_pair: tuple[Postgres, Postgres],
) -> None:
    primary, follower = postgres_pair
    migrate(primary.address.url())
    hosts = ",".join(str(server.address.folder) for server in postgres_pair)
    store = open_store(f"postgresql://{APP}@/postgres?host={hosts}&port={PORT}", PROJECT)
    acknowledged: list[int] = []
    is_lost = Event()

    def write() -> None:
        own = open_store(primary.address.url(APP), PROJECT)
        with suppress(StorageError):
            while True:
                acknowledged.append(add_task(own, f"t-{uuid.uuid4().hex}"))
        is_lost.set()

    writers = [Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    while len(acknowledged) < 40 and not is_lost.is_set():
        continue
    primary.stop("immediate")
    for writer in writers:
        writer.join()
    follower.promote()
    with store.looking() as reading:
        position, count = reading.position(), len(reading.tasks())

    assert len(set(acknowledged)) == len(acknowledged) >= 40
    assert (
        max(acknowledged) <= position == count
    )  # nothing that was acknowledged is lost, fences have no gaps
    assert add_task(store, "t-after") == position + 1
    store.close()


@pytest.fixture
def follower_bouncer(postgres_pair: tuple[Postgres, Postgres]) -> Iterator[Bouncer]:
    """A PgBouncer before the server that follows."""
    _, follower = postgres_pair
    with started_bouncer(follower.address) as bouncer:
        yield bouncer


@pytest.mark.requirement("C78", "C95")
def test_a_pgbouncer_that_met_a_server_before_it_took_over_does_not_keep_sessions_out(
    postgres_pair: tuple[Postgres, Postgres], follower_bouncer: Bouncer
) -> None:
    """PgBouncer goes on telling clients what the server said at first: that it only follows."""
    primary, follower = postgres_pair
    migrate(primary.address.url())
    store = open_store(follower_bouncer.address.url(APP), PROJECT)
    with pytest.raises(AwayError), store.looking():
        pass
    with pytest.raises(AwayError):
        add_task(store, "t-early")

    primary.stop()
    follower.promote()

    assert add_task(store, "t-1") == 1
    assert tasks(store) == ["t-1"]
    store.close()


@pytest.mark.proof
@pytest.mark.requirement("C78")
def test_a_writer_that_is_killed_leaves_whole_changes_and_no_lock(
    database: MigratedDatabase, project: str
) -> None:
    chance = random.Random(KILLS)
    told: dict[str, int] = {}
    for kill in range(KILLS):
        writers = [start_writer(database, project, f"w{kill}-{number}") for number in range(3)]
        for writer in writers:
            for _ in range(chance.randint(1, 8)):
                name, fence = next(iter(writer.stdout or ())).split()
                told[name] = int(fence)
            writer.kill()
        for writer in writers:
            rest, _ = writer.communicate()
            told |= {name: int(fence) for name, fence in re.findall(r"(\S+) (\d+)\n", rest)}
    store = open_store(database.url(), project)
    last = add_task(store, "t-last")
    stored = set(tasks(store))
    store.close()

    assert len(set(told.values())) == len(told) >= 3 * KILLS
    assert told.keys() < stored
    assert last == len(stored)  # each position is one whole change


def start_writer(database: MigratedDatabase, project: str, name: str) -> "subprocess.Popen[str]":
    """Start a process that changes the project until it is killed."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, database.url(), project, name], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.requirement("C78")
def test_a_server_that_lost_another_during_the_commit_leaves_the_outcome_open(
    own_database: MigratedDatabase, store: PostgresStore
) -> None:
    """The coordinator of a cluster says so; here a trigger at the end of the change does."""
    own_database.run(
        "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "BEGIN RAISE 'connection to the remote node failed' USING ERRCODE = '08006'; END $$"
    )
    own_database.run(
        "CREATE CONSTRAINT TRIGGER lost AFTER INSERT ON passdown.tasks "
        "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION lose()"
    )

    with pytest.raises(UnansweredError, match="remote node failed") as raised:
        add_task(store, "t-1")

    assert "may or may not" in raised.value.hint
