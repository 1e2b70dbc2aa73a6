"""Migrates roles, tables and row-level security in PostgreSQL to this version, as their owner (C94, C95).

`passdown_owner` owns the tables and is needed only for migrations. `passdown_app` owns nothing and cannot
bypass row-level security. Both may log in; an administrator decides whether with a password, a certificate or
as a user of the system.
"""

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from psycopg import errors

from passdown.engines.coordination.rows import MIGRATIONS
from passdown.engines.files.read import names
from passdown.engines.postgres.connections import SCHEMA, Connections, Limits, Opening, OpenTransaction
from passdown.engines.postgres.distribution import (
    Distribution,
    distribute_tables,
    find_distribution,
    has_citus,
    is_distributed,
    keep_local,
)
from passdown.engines.postgres.statements import read_script, read_statements, sort_by_bytes
from passdown.errors import StorageError

OWNER: Final = "passdown_owner"
APP: Final = "passdown_app"

_STATEMENTS: Final = Path(__file__).parent / "migrate.sql"
_OWN_MIGRATIONS: Final = Path(__file__).with_name("migrations")
_PATIENT: Final = Limits(statement=600.0, idle=60.0)
_PLAIN: Final = Opening(begin="BEGIN")
_ALONE: Final = Opening(begin="BEGIN", then="SELECT pg_advisory_xact_lock(1885434739)")
"""A lock that keeps out other migrations of this database; the number is `pass` in ASCII."""
_ADMINISTRATOR: Final = (
    "The first time, an administrator must run `passdown team migrate`, or create the roles: "
    f"CREATE ROLE {OWNER} LOGIN; CREATE ROLE {APP} LOGIN; CREATE SCHEMA {SCHEMA} AUTHORIZATION {OWNER};"
)


class MigrationOutcome(NamedTuple):
    """The versions of the tables, before and after; 0 if there were none."""

    before: int
    after: int


def migrate(url: str) -> MigrationOutcome:
    """Apply all missing migrations to the tables, or none of them.

    1. The first run needs an administrator: it creates the roles and the schema.
    2. Later runs need only the owner's role.
    3. Tables of a newer version stay as they are; they record which versions of Passdown may use them.
    4. Where the tables are distributed, new ones are too.
    """
    with _connect(url) as connections:
        _make_roles(connections)  # 1
        with connections.open("", _ALONE) as transaction:
            _keep_apart(transaction)
            _become_owner(transaction)  # 2
            before = _find_version(transaction)
            for name in find_migrations()[before:]:  # 3
                transaction.run_script(sort_by_bytes(read_script(MIGRATIONS / name)))
                if name in _names(_OWN_MIGRATIONS):
                    transaction.run_script(read_script(_OWN_MIGRATIONS / name))
            if is_distributed(transaction):
                distribute_tables(transaction)  # 4
            return MigrationOutcome(before, _find_version(transaction))


def plan_distribution(url: str) -> Distribution:
    """Return which of the migrated tables Citus would distribute, and over how many servers."""
    with _connect(url) as connections, connections.open("", _ALONE) as transaction:
        return find_distribution(transaction)


def distribute(url: str) -> None:
    """Distribute the migrated tables; those that are distributed stay as they are."""
    with _connect(url) as connections, connections.open("", _ALONE) as transaction:
        distribute_tables(transaction)


@contextmanager
def _connect(url: str) -> Generator[Connections, None, None]:
    connections = Connections(url, limits=_PATIENT)
    try:
        yield connections
    except StorageError as error:
        if isinstance(error.__cause__, errors.InsufficientPrivilege):
            raise StorageError(error.message, hint=_ADMINISTRATOR) from error
        raise
    finally:
        connections.close()


@cache
def find_migrations() -> tuple[str, ...]:
    """Return the names of the migrations in order; their count is the version of the tables."""
    return _names(MIGRATIONS)


def _names(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(name for name in names(folder, folder) if name.endswith(".sql")))


def _make_roles(connections: Connections) -> None:
    """Create the missing roles; refuse an app role that has too many rights.

    Roles belong to the whole server: another migration may create them for another database at the same time.
    """
    for role in (OWNER, APP):
        try:
            with connections.open("", _PLAIN) as transaction:
                found = transaction.ask(_statement("find_role"), (role,))
                if not found:
                    transaction.change(_statement(f"make_{role.removeprefix(f'{SCHEMA}_')}"))
        except StorageError as error:
            if not isinstance(error.__cause__, errors.DuplicateObject | errors.UniqueViolation):
                raise
            continue
        if role == APP and found and any(found[0]):
            raise StorageError(
                f"The role {APP} has too many rights: it could see every project.",
                hint=f"Run `ALTER ROLE {APP} NOSUPERUSER NOBYPASSRLS NOCREATEROLE;`, then try again.",
            )


def _keep_apart(transaction: OpenTransaction) -> None:
    """On a server with Citus, create tables here alone unless they are distributed already."""
    if has_citus(transaction) and not _is_distributed(transaction):
        keep_local(transaction)


def _is_distributed(transaction: OpenTransaction) -> bool:
    return _has_tables(transaction) and is_distributed(transaction)


def _become_owner(transaction: OpenTransaction) -> None:
    """Switch to the role that owns the tables; the role that created it may have to join it first."""
    ((is_member, has_schema),) = transaction.ask(_statement("find_rights"))
    if not is_member:
        transaction.change(_statement("join_owner"))
    if not has_schema:
        transaction.change(_statement("make_schema"))
    transaction.change(_statement("become_owner"))


def _find_version(transaction: OpenTransaction) -> int:
    return int(transaction.ask(_statement("find_version"))[0][0]) if _has_tables(transaction) else 0


def _has_tables(transaction: OpenTransaction) -> bool:
    ((found,),) = transaction.ask(_statement("find_meta"))
    return bool(found)


def _statement(name: str) -> bytes:
    return read_statements(_STATEMENTS)[name]
