"""Distributes the tables by project over the servers of a Citus cluster.

No transaction touches two projects, so Citus may keep each project on any server. A database without the
extension is never asked more than whether it has it.
"""

from pathlib import Path
from typing import Final, NamedTuple

from passdown.engines.postgres.connections import OpenTransaction
from passdown.engines.postgres.statements import read_statements
from passdown.errors import UsageError

_STATEMENTS: Final = Path(__file__).with_name("distribution.sql")
DISTRIBUTED: Final = "distributed"
"""What the table `meta` has, beside versions, if the rows are distributed."""
_VERSIONS: Final = "meta"
"""The table that every server has a copy of."""
_FIRST: Final = "projects"


class Distribution(NamedTuple):
    """What is distributed, and what is not yet."""

    workers: int
    """How many servers of the cluster take rows."""
    local: tuple[str, ...]
    """The tables that are on one server alone."""


def has_citus(transaction: OpenTransaction) -> bool:
    """Return whether the database has the extension."""
    ((found,),) = transaction.ask(_statement("find_citus"))
    return bool(found)


def is_distributed(transaction: OpenTransaction) -> bool:
    """Return whether the tables were distributed."""
    return bool(transaction.ask(_statement("find_mark")))


def keep_local(transaction: OpenTransaction) -> None:
    """Create what this transaction creates on this server alone: other servers have no schema for it yet."""
    transaction.ask(_statement("keep_local"))


def find_distribution(transaction: OpenTransaction) -> Distribution:
    """Return what is distributed; raise a UsageError if nothing can be."""
    if not has_citus(transaction):
        raise UsageError(
            "the database does not have the extension citus, so its tables stay on one server",
            hint="One server is enough for most teams. For Citus, see docs/how-to/spread-over-servers.md.",
        )
    ((workers,),) = transaction.ask(_statement("find_worker_count"))
    if not workers:
        raise UsageError(
            "no server of the Citus cluster takes rows",
            hint="Add one as an administrator: `SELECT citus_add_node('HOST', 5432);`.",
        )
    tables = tuple(str(name) for (name,) in transaction.ask(_statement("find_local_tables")))
    return Distribution(int(workers), tables)


def distribute_tables(transaction: OpenTransaction) -> None:
    """Distribute the tables that are on this server alone, with their rows; what was distributed stays."""
    local = find_distribution(transaction).local
    if _FIRST in local:
        _require_sight(transaction)
    for table in local:
        if table == _VERSIONS:
            transaction.ask(_statement("copy_meta"))
        elif table == _FIRST:
            transaction.ask(_statement("distribute_projects"))
        else:
            transaction.ask(_statement("distribute_table"), (table,))
        transaction.ask(_statement("drop_local_rows"), (table,))
    transaction.change(_statement("put_mark"))


def _require_sight(transaction: OpenTransaction) -> None:
    """Refuse a role from which row-level security hides rows: they would not be moved."""
    ((sees_all,),) = transaction.ask(_statement("find_bypass"))
    if not sees_all:
        raise UsageError(
            "only an administrator can distribute the tables: other roles do not see the rows to move",
            hint="Run `passdown team migrate --distribute` with the URL of a superuser.",
        )


def _statement(name: str) -> bytes:
    return read_statements(_STATEMENTS)[name]
