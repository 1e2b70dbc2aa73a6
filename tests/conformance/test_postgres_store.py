"""The rows of coordination in PostgreSQL: kept as they were given, one writer at a time in a project."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event, Thread

import psycopg
import pytest

from passdown.core.coordination.leases import Lease
from passdown.core.coordination.members import Member
from passdown.core.coordination.messages import Message
from passdown.core.coordination.offers import Offer
from passdown.core.coordination.tasks import Task
from passdown.engines.coordination.transactions import LogRow, Reading
from passdown.engines.patience import Patience
from passdown.engines.postgres.connections import Connections, Limits, OpenTransaction
from passdown.engines.postgres.coordination import _LOOK, PostgresStore, open_store
from passdown.engines.postgres.pools import Connection, Pools
from passdown.errors import AwayError, OtherThreadError, StorageError
from passdown.records import replace
from tests.stores.servers import Bouncer, MigratedDatabase

pytestmark = pytest.mark.server

LEASE = Lease(kind="path", name="src/%s?.py", session="s-1", fence=1, ttl=600.0, used=12.25)
MEMBER = Member(session="s-1", agent="amber-1a2b3c4d", seen=1_700_000_000.123456, process="4711 12 b")
TASK = Task(task="t-4f2", title="What? 100 %", body='it\'s a "test"\n\\ü 🎉', priority=1, role="be", added=1)
MESSAGE = Message(message="m-1", sender="s-1", agent="amber-1a2b3c4d", to="all", content="hi", expires=5e9)
OFFER = Offer(offer="o-1", giver="s-1", agent="amber-1a2b3c4d", taker="", task="t-4f2", expires=1.5)


@pytest.fixture(params=["direct", "through a bouncer"])
def url(request: pytest.FixtureRequest, database: MigratedDatabase) -> str:
    """Where the database is reached."""
    if request.param == "direct":
        return database.url()
    bouncer: Bouncer = request.getfixturevalue("bouncer")
    return database.through(bouncer).url()


@pytest.fixture
def store(url: str, project: str) -> Iterator[PostgresStore]:
    """The rows of a new project."""
    store = open_store(url, project)
    yield store
    store.close()


def kept(store: PostgresStore) -> list[Connection]:
    """Give the connections that wait for the next transaction."""
    pool = store._connections._pool
    return [*pool._kept] if pool else []


def make_own(url: str, name: str) -> str:
    """Return a URL of the same server whose connections no other test uses."""
    return f"{url}{'&' if '?' in url else '?'}application_name={name}"


class GivenUpError(Exception):
    """Ends a transaction."""


def test_rows_come_back_as_they_were_put(store: PostgresStore) -> None:
    with store.changing() as change:
        log = LogRow(change.fence, "op-1", change.time.seconds, "s-1", "claim", "t-4f2", '{"a": "?"}')
        change.add_log(log)
        change.put_member(MEMBER)
        change.put_lease(LEASE)
        change.put_task(TASK)
        change.add_wait("t-4f2", "t-1")
        change.add_message(MESSAGE, ["s-2", "s-3"])
        change.put_offer(OFFER)

    with store.looking() as reading:
        assert reading.position() == 1
        assert reading.find_log("op-1") == log
        assert reading.log_since(0, 10) == [log]
        assert reading.members() == [MEMBER]
        assert [reading.find_member(one) for one in ("s-1", "s-9")] == [MEMBER, None]
        assert reading.leases("path") == reading.leases_of("s-1") == [LEASE]
        assert reading.leases_on("path", LEASE.name) == [LEASE]
        assert reading.first_ready("") == reading.first_ready("be") == reading.find_task("t-4f2") == TASK
        assert reading.first_ready("fe") is None
        assert reading.waits_of("t-4f2") == ["t-1"]
        assert reading.waiting_for("t-1") == ["t-4f2"]
        assert reading.inbox("s-2") == [(1, MESSAGE)]
        assert reading.expired(6e9) == [MESSAGE]
        assert reading.find_offer("o-1") == OFFER
        assert reading.open_offers() == [OFFER]


def test_what_a_change_stored_it_sees(store: PostgresStore) -> None:
    with store.changing() as change:
        change.put_task(TASK)

        assert change.find_task("t-4f2") == TASK


def test_ids_are_in_the_order_of_their_bytes(store: PostgresStore) -> None:
    names = ["B", "Z", "a", "z", "ä", "ö"]
    with store.changing() as change:
        for name in names:
            change.put_member(Member(session=name, agent=""))
            change.add_wait(name, "other")

    with store.looking() as reading:
        assert [one.session for one in reading.members()] == reading.waiting_for("other") == names


@pytest.mark.requirement("C78")
def test_fences_are_dense_though_a_change_was_given_up(store: PostgresStore) -> None:
    fences = []
    for gives_up in (True, False, True, True, False):
        with suppress(GivenUpError), store.changing() as change:
            change.put_member(MEMBER)
            if gives_up:
                raise GivenUpError
            fences.append(change.fence)

    assert fences == [1, 2]


def test_a_change_that_was_given_up_left_nothing(store: PostgresStore) -> None:
    with suppress(GivenUpError), store.changing() as change:
        change.put_member(MEMBER)
        raise GivenUpError

    with store.looking() as reading:
        assert (reading.position(), reading.members()) == (0, [])


@pytest.mark.requirement("C78")
def test_changes_at_once_never_share_a_fence(store: PostgresStore, url: str, project: str) -> None:
    """Each writer takes the first ready task, as a claim does; nobody is given what another was."""
    writers, rounds = 6, 10
    with store.changing() as change:
        for number in range(writers * rounds):
            change.put_task(Task(task=f"t-{number:03}", title=""))
    granted: list[tuple[int, str]] = []

    def write() -> None:
        own = open_store(url, project)
        for _ in range(rounds):
            with own.changing() as change:
                task = change.first_ready("")
                assert task is not None
                change.put_task(Task(task=task.task, title="", is_held=True))
            granted.append((change.fence, task.task))

    threads = [Thread(target=write) for _ in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(fence for fence, _ in granted) == [*range(2, 2 + writers * rounds)]
    assert len({task for _, task in granted}) == writers * rounds
    assert [task for _, task in sorted(granted)] == sorted(task for _, task in granted)


@pytest.mark.usefixtures("inside")
@pytest.mark.requirement("C81")
def test_time_is_read_after_the_lock_was_taken(
    store: PostgresStore, url: str, database: MigratedDatabase, project: str
) -> None:
    with store.changing():
        pass
    times: list[float] = []

    def change() -> None:
        with open_store(url, project).changing() as change:
            times.append(change.time.seconds)

    with psycopg.connect(database.url("postgres")) as holder:
        holder.execute("SELECT pos FROM passdown.projects WHERE project = %s FOR UPDATE", (project,))
        waiting = Thread(target=change)
        waiting.start()
        is_waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        while database.run(is_waiting) == [(0,)]:
            continue
        ((released_at,),) = holder.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchall()
    waiting.join()

    assert times[0] > released_at


@pytest.mark.usefixtures("inside")
@pytest.mark.requirement("C78")
def test_whoever_waits_longest_is_next(database: MigratedDatabase, project: str) -> None:
    """Also when others come while one of those who waited has its turn."""
    store = open_store(database.url(), project, limits=Limits(statement=60.0))
    with store.changing():
        pass
    turns: list[int] = []
    may_end = [Event() for _ in range(12)]

    def change(number: int) -> None:
        with open_store(database.url(), project, limits=Limits(statement=60.0)).changing():
            turns.append(number)
            may_end[number].wait()

    threads = [Thread(target=change, args=(number,)) for number in range(12)]
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s"
    for number, thread in enumerate(threads):
        thread.start()
        while not turns or database.run(waiting, f"%{project}%") != [(number + 1 - len(turns),)]:
            continue
        if number % 3 == 2:
            count = len(turns)
            may_end[turns[-1]].set()
            while len(turns) == count:
                continue
    for event in may_end:
        event.set()
    for thread in threads:
        thread.join()
    store.close()

    assert turns == [*range(12)]


@pytest.mark.usefixtures("inside")
def test_the_first_ready_task_is_the_first_row_of_an_index(database: MigratedDatabase, project: str) -> None:
    database.run(
        "INSERT INTO passdown.tasks SELECT %s, 't-' || n, '', '', n %% 5, '', 'open', '', '', 0, 0, n "
        "FROM generate_series(1, 20000) AS n",
        project,
    )
    database.run("ANALYZE passdown.tasks")
    store = open_store(database.url(), project)
    with store._connections.open(project, _LOOK) as transaction:
        plan = transaction.ask(b"EXPLAIN " + store._statements["first_ready"], (project,))

    lines = "\n".join(str(row[0]) for row in plan)
    assert "Index Scan using tasks_ready" in lines
    assert "Sort" not in lines


def test_whoever_looks_sees_one_state_and_waits_for_nobody(store: PostgresStore) -> None:
    with store.changing() as change:
        change.put_member(MEMBER)
    with store.looking() as reading:
        before = reading.position()
        with store.changing() as change:
            change.put_task(TASK)

        assert (before, reading.position(), reading.find_task("t-4f2")) == (1, 1, None)


def test_a_sign_of_life_takes_no_position_and_raises_nobody_from_the_dead(store: PostgresStore) -> None:
    with store.changing() as change:
        change.put_member(MEMBER)
        change.put_member(Member(session="s-2", agent="b", seen=1.0, ended=2.0))
        change.put_member(Member(session="s-3", agent="c", seen=1.0))
    store.beat(["s-1", "s-2", "s-9"])
    store.beat([])

    with store.looking() as reading:
        seen = {name: reading.find_member(name) for name in ("s-1", "s-2", "s-3", "s-9")}
        assert reading.position() == 1
        last = {name: member.seen for name, member in seen.items() if member is not None}
        assert reading.time.seconds - last.pop("s-1") < 60
        assert last == {"s-2": 1.0, "s-3": 1.0}


def test_a_sign_of_life_does_not_wait_for_a_change(store: PostgresStore) -> None:
    with store.changing() as change:
        change.put_member(MEMBER)
        change.put_member(Member(session="s-2", agent="b", seen=1.0))
    with store.changing() as change:
        change.put_member(MEMBER)
        store.beat(["s-1", "s-2"])

    with store.looking() as reading:
        first, second = (reading.find_member(one) for one in ("s-1", "s-2"))
        assert first == MEMBER
        assert second is not None
        assert second.seen > 1.0


@pytest.mark.requirement("C74")
def test_projects_do_not_see_each_other_and_do_not_wait_for_each_other(
    database: MigratedDatabase, store: PostgresStore, project: str
) -> None:
    other = open_store(database.url(), f"{project}-other")
    with store.changing() as change, other.changing() as others:
        change.put_task(TASK)

        assert others.find_task("t-4f2") is None
        assert others.fence == 1


def test_whoever_waits_too_long_for_a_project_is_told_that_nothing_was_changed(
    database: MigratedDatabase, project: str
) -> None:
    store = open_store(database.url(), project)
    hasty = open_store(database.url(), project, limits=Limits(statement=0.05))
    with store.changing():
        pass
    with store.changing(), pytest.raises(StorageError, match="timeout") as raised, hasty.changing():
        raise AssertionError
    with hasty.changing() as change:
        assert change.fence == 3

    assert "Nothing was changed" in raised.value.hint


def test_whoever_falls_silent_within_a_change_does_not_keep_the_project(
    database: MigratedDatabase, project: str
) -> None:
    silent = open_store(database.url(), project, limits=Limits(idle=0.05))
    other = open_store(database.url(), project)
    with pytest.raises(StorageError), silent.changing(), other.changing() as change:
        # It gets the row when the server has ended the first transaction.
        assert change.fence == 1
    with other.looking() as reading:
        assert reading.position() == 1


@pytest.mark.parametrize("text", ["\0", "\ud800"])
def test_text_that_no_database_takes_is_refused_and_changes_nothing(store: PostgresStore, text: str) -> None:
    with pytest.raises(StorageError), store.changing() as change:
        change.put_task(Task(task="t-1", title=text))

    with store.looking() as reading:
        assert (reading.position(), reading.tasks()) == (0, [])


def test_an_error_that_was_caught_within_a_change_does_not_make_it_a_success(store: PostgresStore) -> None:
    row = LogRow(1, "op", 0.0, "", "", "", "")
    with store.changing() as change:
        change.add_log(row)
    with pytest.raises(StorageError, match="refused"), store.changing() as change, suppress(StorageError):
        change.add_log(row)


def test_what_a_copy_has_is_read_in_one_message(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.changing() as change:
        change.put_member(MEMBER)
        change.put_lease(LEASE)
        change.put_lease(replace(LEASE, kind="task", name="t-4f2"))
        change.put_task(TASK)
        change.put_task(replace(TASK, task="t-2", title="Two; 100 %s?", is_held=True))

    def read(reading: Reading) -> list[object]:
        leases = [*reading.leases("path", ended=True), *reading.leases("task")]
        return [leases, reading.members(), reading.held_tasks(), reading.ready_tasks(3), reading.heard()]

    with store.looking() as reading:
        one_by_one = read(reading)
    with store.looking() as reading:
        reading.read_ahead(3)
        monkeypatch.setattr(OpenTransaction, "ask", None)
        at_once = read(reading)

    assert one_by_one[:4] == [[LEASE, replace(LEASE, kind="task", name="t-4f2")], [MEMBER], [TASK], [TASK]]
    assert at_once == one_by_one


@pytest.mark.usefixtures("inside")
def test_nothing_is_prepared_unless_it_is_asked_for(database: MigratedDatabase, project: str) -> None:
    counts = []
    for prepared in (False, True):
        store = open_store(database.url(), project, prepared=prepared)
        for _ in range(8):
            with store.changing() as change:
                change.put_task(TASK)
        (connection,) = kept(store)
        counts.append(connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone())
        store.close()

    assert counts[0] == (0,)
    assert counts[1] != (0,)


def test_a_server_cannot_tell_whether_a_process_runs_here(store: PostgresStore) -> None:
    assert store.is_running("4711 12 b") is None


@pytest.mark.requirement("C95")
def test_one_connection_keeps_nothing_of_a_transaction(store: PostgresStore) -> None:
    with store.changing() as change:
        change.put_task(TASK)
    (connection,) = kept(store)

    assert connection.execute("SELECT current_setting('passdown.project', true)").fetchone() in {
        ("",),
        (None,),
    }
    assert connection.execute("SHOW search_path").fetchone() == ('"$user", public',)
    assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)


@pytest.mark.requirement("C136")
def test_stores_of_one_process_share_connections_until_the_last_one_is_closed(
    database: MigratedDatabase, project: str
) -> None:
    own = make_own(database.url(), project)
    first, second = (open_store(own, f"{project}-{number}") for number in (1, 2))
    for store in (first, second):
        with store.changing():
            pass

    (connection,) = kept(first)
    assert kept(second) == [connection]
    states = [connection.closed]
    for store in (first, second):
        store.close()
        states.append(connection.closed)
    assert states == [False, False, True]
    with first.looking() as reading:  # one that was closed may be used again
        assert reading.position() == 1
    first.close()


@pytest.mark.requirement("C136")
def test_a_store_that_nobody_holds_uses_its_connections_no_longer(
    database: MigratedDatabase, project: str
) -> None:
    store = open_store(make_own(database.url(), project), project)
    with store.changing():
        pass
    (connection,) = kept(store)
    del store

    assert connection.closed


@pytest.mark.requirement("C136")
def test_no_process_has_more_connections_than_its_limit(database: MigratedDatabase, project: str) -> None:
    """A caller that gets none in time is told to try again later; the server does not count as away."""
    pools, told = Pools(most=2), list[str]()
    first, second, third = (
        PostgresStore(
            Connections(database.url(), patience=Patience(seconds, told.append), pools=pools),
            f"{project}-{number}",
        )
        for number, seconds in enumerate((10.0, 10.0, 1.2))
    )
    with first.changing(), second.changing(), pytest.raises(StorageError) as refused, third.changing():
        pass
    assert "all connections of this process are in use" in refused.value.message
    assert refused.value.hint == "Nothing was changed. Try again later."
    assert not isinstance(refused.value, AwayError)
    assert [one.partition(" (")[0] for one in told] == ["waiting for a free connection to PostgreSQL"]

    third.pause(0)
    with first.changing(), third.changing() as change:
        assert change.fence == 1
    assert len(kept(first)) == 2
    for store in (first, second, third):
        store.close()


@pytest.mark.requirement("C136")
def test_a_store_in_another_thread_says_so(store: PostgresStore) -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(OtherThreadError) as refused:
        pool.submit(lambda: store.looking().__enter__()).result()

    assert refused.value.message.endswith("was opened in another thread")
    assert refused.value.hint == "Open the project once in each thread."
