"""Roles, tables and walls between projects, as a migration makes them."""

from collections.abc import Iterator

import psycopg
import pytest

from passdown.engines.coordination import rows
from passdown.engines.postgres import migrate as migrating
from passdown.engines.postgres.coordination import open_store
from passdown.engines.postgres.migrate import APP, OWNER, MigrationOutcome, migrate
from passdown.engines.postgres.statements import read_script, sort_by_bytes
from passdown.errors import StorageError
from tests.stores.servers import MigratedDatabase, Postgres

pytestmark = [pytest.mark.server, pytest.mark.requirement("C94", "C95")]

COLUMNS = """
    SELECT table_name, column_name, data_type, is_nullable, collation_name FROM information_schema.columns
    WHERE table_schema = %s AND table_name <> 'queues' ORDER BY 1, 2
"""
INDEXES = """
    SELECT tablename, replace(indexdef, schemaname || '.', '') FROM pg_indexes
    WHERE schemaname = %s AND tablename <> 'queues' ORDER BY 1, 2
"""


VERSION = len(migrating.find_migrations())


@pytest.fixture
def empty(postgres: Postgres, project: str) -> Iterator[MigratedDatabase]:
    """A database without tables."""
    database = MigratedDatabase(postgres.address, project.replace("-", "_"))
    database.run(f"CREATE DATABASE {database.name}", database="postgres")
    yield database
    database.run(f"DROP DATABASE {database.name} WITH (FORCE)", database="postgres")


def test_migrating_twice_is_migrating_once(empty: MigratedDatabase) -> None:
    assert migrate(empty.url("postgres")) == MigrationOutcome(0, VERSION)
    assert migrate(empty.url("postgres")) == MigrationOutcome(VERSION, VERSION)


def test_tables_of_the_first_version_get_what_is_missing(
    empty: MigratedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(migrating, "find_migrations", lambda: ("0001.sql",))
        assert migrate(empty.url("postgres")) == MigrationOutcome(0, 1)

    assert migrate(empty.url("postgres")) == MigrationOutcome(1, VERSION)
    with open_store(empty.url(), "p-1").changing() as change:
        assert change.fence == 1


def test_the_owner_can_migrate_what_an_administrator_prepared(
    database: MigratedDatabase, empty: MigratedDatabase
) -> None:
    del database  # it has made the roles
    empty.run(f"CREATE SCHEMA passdown AUTHORIZATION {OWNER}")

    assert migrate(empty.url(OWNER)) == MigrationOutcome(0, VERSION)


def test_who_may_make_roles_but_is_no_superuser_can_migrate(
    database: MigratedDatabase, empty: MigratedDatabase
) -> None:
    del database
    admin = f"admin_{empty.name}"
    empty.run(f"CREATE ROLE {admin} LOGIN CREATEROLE")
    empty.run(f"GRANT CREATE ON DATABASE {empty.name} TO {admin}")

    assert migrate(empty.url(admin)) == MigrationOutcome(0, VERSION)
    empty.run(f"DROP OWNED BY {admin}")
    empty.run(f"REVOKE {OWNER} FROM {admin}")
    empty.run(f"DROP ROLE {admin}")


def test_the_role_of_verbs_cannot_migrate_and_is_told_who_can(
    database: MigratedDatabase, empty: MigratedDatabase
) -> None:
    del database
    with pytest.raises(StorageError) as raised:
        migrate(empty.url(APP))

    assert raised.value.exit_code == 5
    assert "administrator" in raised.value.hint


def test_a_server_without_roles_needs_an_administrator(own_postgres: Postgres) -> None:
    database = MigratedDatabase(own_postgres.address, "postgres")
    database.run("CREATE ROLE somebody LOGIN")
    with pytest.raises(StorageError) as raised:
        migrate(database.url("somebody"))
    done = migrate(database.url("postgres"))
    database.run(f"ALTER ROLE {APP} BYPASSRLS")
    with pytest.raises(StorageError, match="could see every project"):
        migrate(database.url("postgres"))

    assert f"CREATE ROLE {OWNER}" in raised.value.hint
    assert done == MigrationOutcome(0, VERSION)


def test_migrations_together_give_the_tables_of_the_schema(database: MigratedDatabase) -> None:
    script = sort_by_bytes(read_script(rows.SCHEMA))
    database.run("DROP SCHEMA IF EXISTS whole CASCADE")
    with psycopg.connect(database.url("postgres")) as connection:
        connection.execute("CREATE SCHEMA whole")
        connection.execute("SET LOCAL search_path = whole")
        connection.execute(script.encode())

    for question in (COLUMNS, INDEXES):
        assert database.run(question, "passdown") == database.run(question, "whole") != []


def test_every_table_with_a_project_has_a_wall_that_binds_its_owner(database: MigratedDatabase) -> None:
    walls = database.run(
        """
        SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity, count(p.polname),
            pg_get_userbyid(c.relowner)
        FROM pg_class AS c LEFT JOIN pg_policy AS p ON p.polrelid = c.oid
        WHERE c.relnamespace = 'passdown'::regnamespace AND c.relkind = 'r' AND EXISTS (
            SELECT 1 FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'project'
        )
        GROUP BY c.oid
        """
    )

    assert len(walls) == 12
    assert {wall[1:] for wall in walls} == {(True, 1, OWNER)}


def test_the_role_of_verbs_owns_nothing_and_changes_no_table(database: MigratedDatabase) -> None:
    assert database.run("SELECT count(*) FROM pg_class WHERE pg_get_userbyid(relowner) = %s", APP) == [(0,)]
    with psycopg.connect(database.url(), autocommit=True) as connection:
        for statement in (
            "DROP TABLE passdown.log",
            "ALTER TABLE passdown.log DISABLE ROW LEVEL SECURITY",
            "DROP POLICY one_project ON passdown.log",
            "CREATE TABLE passdown.mine (a INT)",
            "CREATE TABLE public.mine (a INT)",
            "UPDATE passdown.meta SET value = 9",
            "UPDATE passdown.log SET data = ''",
            "TRUNCATE passdown.log",
            f"SET ROLE {OWNER}",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())


def test_signs_of_life_change_no_index(database: MigratedDatabase) -> None:
    assert database.run(
        """
        SELECT count(*) FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid
        WHERE i.indrelid = 'passdown.sessions'::regclass AND a.attname = 'seen' AND a.attnum = ANY(i.indkey)
        """
    ) == [(0,)]
    assert database.run(
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'passdown'::regnamespace AND relkind = 'r' "
        "AND reloptions IS NOT NULL ORDER BY 1"
    ) == [("inbox",), ("leases",), ("projects",), ("sessions",), ("signs",), ("tasks",)]


def test_a_database_without_tables_is_refused_with_the_command_that_makes_them(
    database: MigratedDatabase, empty: MigratedDatabase
) -> None:
    del database
    store = open_store(empty.url(), "p-1")
    with pytest.raises(StorageError) as raised, store.changing():
        raise AssertionError

    assert "passdown team migrate" in raised.value.hint


def test_tables_of_an_older_version_are_refused_with_the_command_that_migrates_them(
    database: MigratedDatabase, monkeypatch: pytest.MonkeyPatch, project: str
) -> None:
    monkeypatch.setattr(migrating, "_names", lambda _: tuple(map(str, range(VERSION + 1))))
    migrating.find_migrations.cache_clear()
    with (
        pytest.raises(StorageError, match=f"needs schema {VERSION + 1}") as raised,
        open_store(database.url(), project).changing(),
    ):
        raise AssertionError
    migrating.find_migrations.cache_clear()

    assert "passdown team migrate" in raised.value.hint


@pytest.mark.parametrize("least", ["least_reader", "least_writer"])
def test_tables_of_a_newer_version_say_who_may_use_them(empty: MigratedDatabase, least: str) -> None:
    migrate(empty.url("postgres"))
    empty.run("UPDATE passdown.meta SET value = %s WHERE name = 'version'", VERSION + 1)
    with open_store(empty.url(), "p-1").changing() as change:
        assert change.fence == 1
    empty.run("UPDATE passdown.meta SET value = %s WHERE name = %s", VERSION + 1, least)
    store = open_store(empty.url(), "p-1")
    use = store.looking if least == "least_reader" else store.changing
    with pytest.raises(StorageError, match=f"knows schema {VERSION + 1}") as raised, use():
        raise AssertionError

    assert raised.value.hint == "Update Passdown."
    assert migrate(empty.url("postgres")) == MigrationOutcome(VERSION + 1, VERSION + 1)
