"""A year of sessions that share one project, on a clock that is moved, and the size of what is stored."""

import sqlite3
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Final, Protocol

from passdown.core.coordination.leases import PATH, TASK, Fenced, Granted, Resource
from passdown.core.coordination.members import EngineTime, Member
from passdown.core.coordination.messages import NewMessage
from passdown.core.coordination.offers import Accepted, NewOffer, Offered
from passdown.core.coordination.operations import RANDOM_BYTES, make_operation
from passdown.core.coordination.tasks import Claimed, Task
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.coordination.transactions import Reading, Transaction
from passdown.engines.postgres.connections import Connections
from passdown.engines.postgres.coordination import PostgresStore
from passdown.engines.sqlite.mounts import MountKind
from passdown.ports.coordination import Coordination
from tests.stores.coordination_benches import SharedMachine
from tests.stores.servers import MigratedDatabase

DAYS: Final = 365
SETTLED: Final = 60
"""The day from which the size must stay the same: what is kept for 30 days twice, has come and gone."""
STAYS: Final = frozenset({"tasks", "waits"})
"""The tables that nothing is deleted from."""
_TABLES: Final = ("sessions", "leases", "tasks", "messages", "inbox", "offers", "log", "projects", "silences")
_DAY: Final = 86_400.0
_FACTS: Final = 20_000
"""The characters of an offer's facts: those of a session with a few hundred."""


class YearPlace(Protocol):
    """A database whose clock is moved, and how large it is."""

    def coordinate(self) -> Coordination:
        """Open the project."""

    def now(self) -> float:
        """Return the time."""

    def pass_time(self, seconds: float) -> None:
        """Move the clock."""

    def measure(self) -> Mapping[str, int]:
        """Return the bytes of each table with its indexes, and of what is free."""

    def close(self) -> None:
        """Close it."""


class RowYear:
    """Days on which sessions claim, reserve, commit, write to each other, hand over, and end."""

    def __init__(self, place: YearPlace, sessions: int) -> None:
        """Let that many sessions run in a year."""
        self.place = place
        self.on = place.coordinate()
        self.sessions = sessions
        self._random = Random("a year")  # repeatable on purpose
        self._number = 0
        self._offer = ""
        self.sizes: dict[int, Mapping[str, int]] = {}

    def run(self, days: int = DAYS, measured: tuple[int, ...] = ()) -> None:
        """Let days pass, and measure after some of them."""
        for day in range(1, days + 1):
            due = self.sessions * day // DAYS - self._number
            for _ in range(due):
                self.place.pass_time(_DAY / due)
                self._live()
            if not due:
                self.place.pass_time(_DAY)
            if day in measured:
                self.sizes[day] = self.place.measure()

    def _op(self) -> str:
        at = datetime.fromtimestamp(self.place.now(), UTC)
        return make_operation(at, self._random.randbytes(RANDOM_BYTES))

    def _live(self) -> None:
        """Let a session live: every twentieth dies, and every seventh offer is accepted by nobody."""
        number = self._number = self._number + 1
        session, agent = f"s-{number:08x}", f"amber-{number:08x}"
        self.on.messages.expire(self._op())
        self.on.members.join(self._op(), Member(session=session, agent=agent, process=f"[{number}, 9]"))
        mail = [one.position for one in self.on.messages.waiting(session)]
        if mail:
            self.on.messages.acknowledge(self._op(), session, mail)
        self._accept(session)
        held = self._work(session, f"tp-{number:08x}")
        self._offer_task(session, number, held)
        self.on.messages.send(self._op(), NewMessage(session, f"amber-{number + 1:08x}", "x" * 300))
        if number % 20:
            self.on.members.leave(self._op(), session)

    def _accept(self, session: str) -> None:
        accepted = self.on.offers.accept(self._op(), session, self._offer) if self._offer else None
        if isinstance(accepted, Accepted):
            fences = {one.name: one.fence for one in accepted.grants if one.kind == TASK}
            for name, fence in fences.items():
                self._close(session, Fenced(Resource(TASK, name), fence))

    def _work(self, session: str, task: str) -> Fenced:
        """Add and claim a task, reserve files, and now and then commit."""
        made = Task(task=task, title=f"Do the work of {session} well", body="y" * 200)
        self.on.tasks.add(self._op(), session, made)
        claimed = self.on.tasks.claim(self._op(), session, [task])
        assert isinstance(claimed, Claimed)
        paths = [Resource(PATH, f"src/part-{self._number % 200}/{name}") for name in ("a.py", "b/", "c*.py")]
        reserved = self.on.leases.acquire(self._op(), session, paths, 600.0)
        assert isinstance(reserved, Granted)
        if not self._number % 10:
            path = f"src/part-{self._number % 200}/a.py"
            self.on.leases.check(self._op(), session, [path], 60.0, "commit")
        return Fenced(Resource(TASK, task), claimed.grants[0].fence)

    def _offer_task(self, session: str, number: int, held: Fenced) -> None:
        facts = self._random.randbytes(_FACTS // 2).hex()
        taker = f"amber-{number + 1:08x}" if number % 7 else "amber-nobody"
        offered = self.on.offers.offer(self._op(), NewOffer(session, taker, held.resource.name, facts))
        assert isinstance(offered, Offered)
        self._offer = offered.offer.offer

    def _close(self, session: str, held: Fenced) -> None:
        self.on.tasks.close(self._op(), session, held, "completed", "COMPLETED: " + "z" * 200)


class SqliteYear:
    """A year in a file."""

    def __init__(self, folder: Path) -> None:
        """Use a file that is not there yet."""
        self._machine = SharedMachine(folder / "coordination.db", MountKind.LOCAL)
        self._store = self._machine.open_store()

    def coordinate(self) -> Coordination:
        """Open the file, as the sessions of a day would."""
        return Coordinator(self._store, "SQLite")

    def now(self) -> float:
        """Return the time."""
        return self._machine.time.seconds

    def pass_time(self, seconds: float) -> None:
        """Move the clock."""
        self._machine.time.seconds += seconds

    def measure(self) -> Mapping[str, int]:
        """Count the bytes of pages; free ones are reused by whatever is stored next."""
        with closing(sqlite3.connect(self._machine.path, isolation_level=None)) as connection:
            rows = connection.execute(
                "SELECT coalesce(m.tbl_name, d.name), sum(d.pgsize) FROM dbstat AS d "
                "LEFT JOIN sqlite_master AS m ON m.name = d.name GROUP BY 1"
            ).fetchall()
            (free,) = connection.execute("PRAGMA freelist_count").fetchone()
            (page,) = connection.execute("PRAGMA page_size").fetchone()
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
        sizes = {str(name): int(size) for name, size in rows if size}
        assert sum(sizes.values()) + free * page == pages * page
        return {**sizes, "free": free * page}

    def close(self) -> None:
        """Close the file."""
        self._store.close()


class PostgresYear:
    """A year in a database, whose rows it writes with the time of a clock that is moved."""

    def __init__(self, database: MigratedDatabase, project: str) -> None:
        """Use a project that is not there yet."""
        self._database = database
        self._store = _LaterStore(Connections(database.url()), project)
        self._start = self._server_time()

    def _server_time(self) -> float:
        ((now,),) = self._database.run("SELECT extract(epoch FROM clock_timestamp())::float8")
        assert isinstance(now, float)
        return now

    def coordinate(self) -> Coordination:
        """Connect."""
        return Coordinator(self._store, "PostgreSQL")

    def now(self) -> float:
        """Return the time, a little behind the server's."""
        return self._start + self._store.later

    def pass_time(self, seconds: float) -> None:
        """Move the clock; every week the server cleans up, as it does by itself in weeks that are slept."""
        weeks = self._store.later // (7 * _DAY)
        self._store.later += seconds
        if self._store.later // (7 * _DAY) > weeks:
            self._database.run(f"VACUUM ANALYZE {', '.join(f'passdown.{table}' for table in _TABLES)}")

    def measure(self) -> Mapping[str, int]:
        """Ask the server for the size of each table, with its indexes and long texts."""
        rows = self._database.run(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
            "WHERE relnamespace = 'passdown'::regnamespace AND relkind = 'r'"
        )
        return Counter({str(name): int(str(size)) for name, size in rows})

    def close(self) -> None:
        """Close the connection."""
        self._store.close()


class _LaterStore(PostgresStore):
    """A store that takes the time to be later than the server's clock tells."""

    later = 0.0

    @contextmanager
    def changing(self) -> Generator[Transaction, None, None]:
        """Change at that time."""
        with super().changing() as change:
            self._move(change)
            yield change

    @contextmanager
    def looking(self) -> Generator[Reading, None, None]:
        """Look at that time."""
        with super().looking() as reading:
            self._move(reading)
            yield reading

    def _move(self, reading: Reading) -> None:
        vars(reading)["_time"] = EngineTime(reading.time.seconds + self.later)


def name_grown(sizes: Mapping[int, Mapping[str, int]], most: float = 1.2) -> Mapping[int, str]:
    """Return the days after which more is stored than at first, without what stays."""
    counted = {
        day: sum(size for name, size in one.items() if name not in STAYS) for day, one in sizes.items()
    }
    first = counted[min(counted)]
    return {day: f"{size / first:.2f}" for day, size in counted.items() if size > most * first}


def tell_size(sizes: Mapping[str, int]) -> str:
    """Return the sizes in words, the largest first."""
    parts = sorted(sizes.items(), key=lambda one: -one[1])
    total = sum(sizes.values()) / 1_000_000
    rest = ", ".join(f"{name} {size / 1_000_000:.1f}" for name, size in parts if size >= 50_000)
    return f"{total:.1f} MB ({rest})"
