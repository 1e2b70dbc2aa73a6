"""Nobody sees or changes the rows of a project that the transaction does not name, whatever they ask (C95).

All clients have the role of verbs and servers, and share fewer connections than there are clients, through a
PgBouncer in transaction mode: what a transaction leaves behind would be found by the next one.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import psycopg
import pytest
from psycopg import sql

from passdown.core.coordination.leases import Lease
from passdown.core.coordination.members import Member
from passdown.core.coordination.messages import Message
from passdown.core.coordination.offers import Offer
from passdown.core.coordination.tasks import Task
from passdown.engines.coordination.transactions import LogRow
from passdown.engines.postgres.coordination import open_store
from tests.proof import proof_count
from tests.stores.servers import GIVEN, Bouncer, MigratedDatabase

pytestmark = [pytest.mark.server, pytest.mark.proof]

OWN: Final = "p-somebody"
COUNT: Final = proof_count(fast=300, ci=2_000, long=100_000)
DIRECT_COUNT: Final = COUNT if GIVEN else COUNT // 5
CLIENTS: Final = 6
ROUND: Final = 30
"""After so many tries whoever tries is given rows of their own again: without any, they could move none."""
TABLES: Final = (
    *("projects", "queues", "sessions", "tasks", "waits", "leases", "messages", "inbox", "offers", "log"),
)
MOVE: Final = (
    "INSERT INTO {table} "
    "SELECT (jsonb_populate_record(t, jsonb_build_object('project', {victim}::text))).* FROM {table} AS t"
)
READS: Final = (
    "SELECT project FROM {table}",
    "SELECT project FROM {table} WHERE project = {victim}",
    "SELECT project FROM {table} WHERE project <> {own} OR project IS NULL",
    "SELECT project FROM {table} WHERE project LIKE 'p-%'",
    "SELECT a.project FROM {table} AS a CROSS JOIN {other} AS b",
    "SELECT project FROM {table} FOR UPDATE",
    "SELECT max(project) FROM {table} UNION SELECT min(project) FROM {other}",
    "WITH t AS MATERIALIZED (SELECT * FROM {table}) SELECT project FROM t",
    "SELECT project FROM {table} WHERE 1 / (CASE WHEN project = {victim} THEN 0 ELSE 1 END) = 1",
    "TABLE {table}",
)
WRITES: Final = (
    "UPDATE {table} SET project = project WHERE project = {victim} RETURNING project",
    "UPDATE {table} SET project = project RETURNING project",
    "UPDATE {table} SET project = {victim} RETURNING project",
    "UPDATE {table} SET project = {victim}",
    "UPDATE {table} AS a SET project = b.project FROM {other} AS b RETURNING a.project",
    "DELETE FROM {table} WHERE project = {victim} RETURNING project",
    "DELETE FROM {table} WHERE project <> {own} RETURNING project",
    "DELETE FROM {table} RETURNING project",
    "INSERT INTO {table} SELECT * FROM {table} RETURNING project",
    MOVE,
    "INSERT INTO projects VALUES ({victim}, 9, 0, '', 0, 0) ON CONFLICT DO NOTHING RETURNING project",
    "INSERT INTO projects VALUES ({victim}, 9, 0, '', 0, 0) ON CONFLICT (project) DO UPDATE SET pos = 9",
    "INSERT INTO waits VALUES ({victim}, 't', 'u') RETURNING project",
    "INSERT INTO waits VALUES ('', 't', 'u') RETURNING project",
    "TRUNCATE {table}",
    "ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY",
    "SET LOCAL row_security = off",
    "SET LOCAL ROLE passdown_owner",
)


class Try(NamedTuple):
    """One transaction of somebody who looks for what is not theirs."""

    project: str | None
    """The project that it names; None if it names none."""
    statement: sql.Composed
    ends_with: str


@pytest.mark.requirement("C95")
@pytest.mark.parametrize(
    ("is_bounced", "count"),
    [(True, COUNT), (False, DIRECT_COUNT)],
    ids=["through a bouncer", "direct"],
)
def test_no_row_of_another_project_is_seen_or_changed(
    request: pytest.FixtureRequest, database: MigratedDatabase, project: str, is_bounced: bool, count: int
) -> None:
    reached = database
    if is_bounced:
        bouncer: Bouncer = request.getfixturevalue("bouncer")
        reached = database.through(bouncer)
    victims = [f"{project}-{number}" for number in range(3)]
    for victim in victims:
        fill(database, victim)
    before = fingerprint(database, victims)
    chance = random.Random(len(project) + is_bounced)
    clients = [
        psycopg.connect(reached.url(), autocommit=True, prepare_threshold=None) for _ in range(CLIENTS)
    ]
    refused = answered = 0
    seen: list[str] = []
    try:
        for one in make_tries(chance, victims, count):
            if (refused + answered) % ROUND == 0:
                fill(database, OWN, f"{project}-{refused + answered}")
            rows = run(chance.choice(clients), one)
            refused += rows is None
            answered += rows is not None
            seen += [row for row in rows or () if row != one.project]
    finally:
        for client in clients:
            client.close()

    assert seen == []
    assert fingerprint(database, victims) == before
    assert min(refused, answered) > count // 10  # neither everything nor nothing was refused


def make_tries(chance: random.Random, victims: Sequence[str], count: int) -> Iterator[Try]:
    """Yield what is tried: by somebody with a project of their own, or with none."""
    for _ in range(count):
        own = chance.choice([OWN, OWN, "", "p-%", None])
        text = chance.choice(READS if chance.random() < 0.5 else WRITES)
        statement = sql.SQL(text).format(
            table=sql.Identifier("passdown", chance.choice(TABLES)),
            other=sql.Identifier("passdown", chance.choice(TABLES)),
            victim=chance.choice(victims),
            own=own,
        )
        yield Try(own, statement, chance.choice(["COMMIT", "ROLLBACK"]))


def run(client: "psycopg.Connection[tuple[object, ...]]", one: Try) -> list[str] | None:
    """Return the projects of the rows that were given; None if it was refused.

    The project is named as Citus passes it on; to a single server it means the same.
    """
    client.execute("BEGIN")
    try:
        client.execute("SELECT set_config('search_path', 'passdown, pg_temp', true)")
        if one.project is not None:
            client.execute("SET LOCAL citus.propagate_set_commands = 'local'")
            client.execute(sql.SQL("SET LOCAL passdown.project = {}").format(one.project))
        cursor = client.execute(one.statement)
        rows = cursor.fetchall() if cursor.description else []
        client.execute(one.ends_with.encode())
    except psycopg.Error:
        client.execute("ROLLBACK")
        return None
    return [str(row[0]) for row in rows if row[0] is not None]


def fill(database: MigratedDatabase, project: str, key: str = "1") -> None:
    """Put a row into every table."""
    store = open_store(database.url(), project)
    with store.changing() as change:
        change.add_log(LogRow(change.fence, key, 1.0, key, "claim", key, "{}"))
        change.put_member(Member(session=key, agent="a"))
        change.put_task(Task(task=key, title="secret"))
        change.add_wait(key, "other")
        change.put_lease(Lease(kind="task", name=key, session=key, fence=change.fence, ttl=1.0, used=1.0))
        message = Message(message=key, sender=key, agent="a", to="all", content="secret", expires=9e9)
        change.add_message(message, [key])
        change.put_offer(Offer(offer=key, giver=key, agent="a", taker="", task=key))
    store.close()


def fingerprint(database: MigratedDatabase, projects: Sequence[str]) -> list[object]:
    """Return all rows of these projects, as an administrator sees them, and how many there are of none."""
    found: list[object] = []
    for table in TABLES:
        rows = database.run(
            f"SELECT t::text FROM passdown.{table} AS t WHERE project = ANY(%s) ORDER BY 1",  # noqa: S608
            list(projects),
        )
        assert len(rows) == len(projects)
        found += [rows, database.run(f"SELECT count(*) FROM passdown.{table} WHERE project = ''")]  # noqa: S608
    return found
