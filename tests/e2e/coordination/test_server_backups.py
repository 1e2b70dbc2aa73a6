"""docs/how-to/back-up-a-server.md: its commands and statements, run on real servers as they stand there."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.coordination.test_team_server import Clone, edit, make_clones
from tests.e2e.project.consoles import Block, find_blocks, read_page
from tests.stores.servers import ADMIN, APP, OWNER, Postgres, find_program, started_postgres
from tests.support.commands import environment, run

pytestmark = pytest.mark.server

PAGE: Final = "docs/how-to/back-up-a-server.md"
KEY: Final = "p-49ac5de219edae62f9fdeea0fc3f3af4"
OTHER_KEY: Final = "p-00000000000000000000000000000001"
DATABASE: Final = "passdown"
SAVE: Final = "psql --no-psqlrc --quiet --no-align"
RESTORE: Final = "psql --no-psqlrc --quiet --set="
DELETE: Final = "psql --no-psqlrc --quiet --single-transaction"
POSITION: Final = 7
RAISED: Final = 1_000_000
_URL: Final = re.compile(r"postgresql://(\w+)@(\w+)\.example\.com/(\w+)")
_SQL: Final = re.compile(r"```sql\n-- ([^:\n]+): [^\n]*\n(.*?)```", re.DOTALL)


class Reader:
    """Somebody who types what the page shows; servers have the names by which the page calls them."""

    def __init__(self, folder: Path, servers: dict[str, Postgres]) -> None:
        """Save the scripts of the page."""
        self.folder = folder
        self.servers = servers
        self.statements: dict[str, str] = dict(_SQL.findall(read_page(PAGE)))
        for name, script in self.statements.items():
            if name.endswith(".sql"):
                (folder / name).write_text(script, encoding="utf-8")

    def type(self, first: str, number: int = 0, *, clone: Clone | None = None, **changes: str) -> None:
        """Run a block of the page, which must print what the page shows; a session does in its clone."""
        for command, shown in _find(first, number).entries:
            assert self.run(_change(command, changes), clone=clone) == shown, command

    def command(self, first: str, number: int = 0) -> str:
        """Return the first command of a block of the page."""
        return _find(first, number).name

    def run(self, command: str, code: int = 0, *, clone: Clone | None = None) -> str:
        """Run one command, and return what it prints; a session may do so."""
        told = _URL.sub(lambda found: shlex.quote(self.url(*found.groups())), command)
        programs = [str(Path(find_program("pg_dump")).parent), str(Path(sys.executable).parent)]
        path = os.pathsep.join([*programs, os.environ["PATH"]])
        done = subprocess.run(
            ["sh", "-c", told],
            cwd=clone.folder if clone else self.folder,
            env=environment(PATH=path, COLUMNS="80", PASSDOWN_SESSION=clone.name if clone else ""),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert clone or done.returncode == code, (command, done.stdout)
        return done.stdout

    def execute(self, block: str, server: str = "db") -> None:
        """Execute the statements of the page that begin with this comment, as administrator."""
        for line in self.statements[block].splitlines():
            self.ask(line, server, database="postgres")

    def ask(self, statement: str, server: str = "db", *, database: str = DATABASE) -> str:
        """Execute a statement as administrator, and return the rows it prints."""
        url = f"postgresql://{ADMIN}@{server}.example.com/{database}"
        return self.run(f"psql -XAtq -c {shlex.quote(statement)} {url}")

    def url(self, role: str, server: str, database: str) -> str:
        """Return the real address for one of the page."""
        return self.servers[server].address.url(role, database)

    def schema(self, server: str = "db", database: str = DATABASE) -> str:
        """Return what makes the tables, without the random words of a script."""
        url = f"postgresql://{ADMIN}@{server}.example.com/{database}"
        script = self.run(f"pg_dump --schema-only --schema=passdown {url}")
        return re.sub(r"(?m)^\\(un)?restrict .*\n", "", script)

    def rows(self, key: str, server: str = "db", database: str = DATABASE) -> dict[str, list[str]]:
        """Return the rows of a project by table, without its key and the position that a restore raises."""
        return {table: self._rows_of(table, key, server, database) for table in self.tables(server, database)}

    def tables(self, server: str = "db", database: str = DATABASE) -> list[str]:
        """Return the tables that have rows of projects."""
        return self.ask(
            "SELECT table_name FROM information_schema.columns"
            " WHERE table_schema = 'passdown' AND column_name = 'project'",
            server,
            database=database,
        ).split()

    def position(self, key: str, database: str = DATABASE) -> int:
        """Return the position of a project's last change."""
        (row,) = self._read("projects", key, "pos", database=database)
        return int(row)

    def migrate(self, server: str = "db") -> None:
        """Create the tables."""
        self.run(f"passdown team migrate --url postgresql://{ADMIN}@{server}.example.com/{DATABASE}")

    def _rows_of(self, table: str, key: str, server: str, database: str) -> list[str]:
        left_out = "project,pos" if table == "projects" else "project"
        return self._read(table, key, f"to_jsonb(t) - '{{{left_out}}}'::text[]", server, database)

    def _read(
        self, table: str, key: str, what: str, server: str = "db", database: str = DATABASE
    ) -> list[str]:
        statement = f"SELECT {what} FROM passdown.{table} AS t WHERE project = '{key}'"  # noqa: S608
        return sorted(self.ask(statement, server, database=database).splitlines())


@pytest.fixture
def reader(tmp_path: Path, own_postgres: Postgres) -> Reader:
    """A reader with a server that has the tables."""
    if not all(map(find_program, ("psql", "pg_dump", "pg_restore"))):
        pytest.skip("not installed: psql, pg_dump, pg_restore")
    folder = tmp_path / "reader"
    folder.mkdir()
    reader = Reader(folder, {"db": own_postgres})
    reader.ask(f"CREATE DATABASE {DATABASE}", database="postgres")
    reader.migrate()
    return reader


@pytest.fixture
def other(reader: Reader) -> Iterator[str]:
    """The name of another server of the reader, which has only an empty database."""
    with started_postgres() as server:
        assert server is not None
        reader.servers["new"] = server
        reader.ask(f"CREATE DATABASE {DATABASE}", "new", database="postgres")
        yield "new"


def claim(clone: Clone, task: str) -> int:
    """Let a session claim a task; return the fence."""
    done = clone("claim", task, "--json")
    assert done.code == 0, done
    return int(json.loads(done.out)["claimed"][0]["fence"])


def do(clone: Clone, *words: str) -> str:
    """Let a session run a command that must succeed; return what it prints."""
    done = clone(*words)
    assert done.code == 0, done
    return done.out


def test_after_a_restore_a_holder_is_refused_and_a_claim_gets_a_fence_that_was_never_given(
    tmp_path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", reader.url(APP, "db", DATABASE))
    monkeypatch.setenv("PASSDOWN_PROJECT_KEY", KEY)
    amber, birch = make_clones(tmp_path)
    do(amber, "task", "add", "First", "--id", "t-first")
    do(amber, "task", "add", "Sign in form", "--id", "t-form")
    do(birch, "claim", "t-first")
    do(birch, "msg", "it's yours", "--to", "amber")
    reader.execute("Once, as a superuser")
    reader.type("pg_dump")
    before = reader.rows(KEY)
    do(birch, "close")  # t-first
    lost = claim(amber, "t-form")
    do(amber, "reserve", "src/")
    assert run("status", cwd=birch.folder).code == 0  # its copy has the reservation now

    reader.type("psql --command")

    assert reader.rows(KEY, database="restored") == before
    reader.execute("Where the old database is on the same server")
    reader.type("passdown close", clone=amber)
    assert "src/a.py is held" in edit(birch, "src/a.py")  # by the copy of before
    assert run("status", cwd=birch.folder).code == 0
    assert edit(birch, "src/a.py") == ""
    newer = claim(birch, "t-form")
    assert newer > lost
    assert "does not hold t-form; another session does" in amber("close", "t-form").err
    assert "it's yours" in do(amber, "inbox")  # it was in the backup
    do(birch, "close", "t-first")  # it is held again

    reader.type(SAVE)
    do(birch, "close", "t-form")
    reader.type(RESTORE)
    assert "t-form" in do(birch, "claim")  # it is its own, as when it was saved
    do(birch, "close", "t-form")
    do(amber, "task", "add", "Last", "--id", "t-last")
    assert claim(amber, "t-last") > newer + RAISED


def test_rows_are_saved_by_a_role_that_sees_them_and_restored_after_the_roles(
    reader: Reader, other: str
) -> None:
    fill(reader, KEY)
    reader.execute("Once, as a superuser")
    reader.type("pg_dump")
    dump = "pg_dump --schema=passdown postgresql://passdown_owner@db.example.com/passdown"
    assert "affected by row-level security" in reader.run(dump, 1)
    bare = reader.run(dump.replace("dump ", "dump --enable-row-security "))
    assert "CREATE TABLE passdown.tasks" in bare
    assert KEY not in bare
    before, schema = reader.rows(KEY), reader.schema()
    reader.servers["db"] = reader.servers[other]
    restore = (
        "pg_restore --single-transaction --dbname=postgresql://postgres@db.example.com/passdown passdown.dump"
    )
    assert 'role "passdown_owner" does not exist' in reader.run(restore, 1)
    reader.execute("On a new server, as a superuser")

    reader.type("psql --command")

    assert reader.schema(database="restored") == schema
    assert reader.rows(KEY, database="restored") == before
    raising = _find("psql --command", 0).entries[2][0]
    assert reader.run(raising.replace(ADMIN + "@", OWNER + "@")) == "UPDATE 0\n"
    assert reader.position(KEY, database="restored") == POSITION + RAISED
    reader.migrate()
    assert 'schema "passdown" already exists' in reader.run(restore, 1)


def test_one_project_is_saved_restored_and_moved_and_the_others_stay_as_they_are(
    reader: Reader, other: str
) -> None:
    for key in (KEY, OTHER_KEY):
        fill(reader, key)
    rows = reader.rows(KEY)
    assert all(rows.values())
    unknown = reader.command(SAVE).replace(KEY, "p-unknown")
    assert "no rows returned" in reader.run(unknown, 3)
    reader.type(SAVE)
    assert KEY not in (reader.folder / "shop.sql").read_text(encoding="utf-8").replace(f'"{KEY}"', "")
    again = reader.command(RESTORE).replace("--set=replace=1", "")
    assert "duplicate key" in reader.run(again, 3)
    whole = (reader.folder / "shop.sql").read_text(encoding="utf-8")
    (reader.folder / "cut.sql").write_text(whole.removesuffix("COMMIT;\n"), encoding="utf-8")
    reader.run(reader.command(RESTORE).replace("shop.sql", "cut.sql"))
    assert reader.position(KEY) == POSITION
    reader.ask("DELETE FROM passdown.tasks")
    fill(reader, OTHER_KEY, "tasks")

    reader.type(RESTORE)

    assert reader.rows(KEY) == reader.rows(OTHER_KEY) == rows
    assert (reader.position(KEY), reader.position(OTHER_KEY)) == (POSITION + RAISED, POSITION)
    reader.migrate(other)
    reader.type(RESTORE, 1)
    reader.type(RESTORE, 1, key=OTHER_KEY)
    assert reader.rows(KEY, other) == reader.rows(OTHER_KEY, other) == rows
    reader.type(DELETE)
    assert not any(reader.rows(KEY).values())
    assert reader.rows(OTHER_KEY) == rows
    reader.ask("UPDATE passdown.meta SET value = value + 1 WHERE name = 'version'")
    assert "no rows returned" in reader.run(again, 3)
    assert not any(reader.rows(KEY).values())


def fill(reader: Reader, key: str, table: str = "") -> None:
    """Give a project one row in each table, or in one: its texts have what scripts treat in a special way."""
    text = "it's \"one\" \\n :key :'key' %L $1 ü\n\\.\n"
    values = {"text": text, "bigint": POSITION, "smallint": 1, "double precision": 1 / 3}
    for name in [table] if table else reader.tables():
        where = f"table_schema = 'passdown' AND table_name = '{name}'"
        found = "SELECT column_name || ':' || data_type FROM information_schema.columns WHERE"
        columns = [one.split(":") for one in reader.ask(f"{found} {where}").splitlines()]
        row = {column: values[kind] for column, kind in columns}
        told = json.dumps({**row, "project": key}).replace("'", "''")
        record = f"jsonb_populate_record(NULL::passdown.{name}, '{told}')"
        reader.ask(f"INSERT INTO passdown.{name} SELECT * FROM {record}")  # noqa: S608


def _change(command: str, changes: Mapping[str, str]) -> str:
    for name, value in changes.items():
        command = re.sub(rf"--set={name}=\S+", f"--set={name}={value}", command)
    return command


def _find(first: str, number: int) -> Block:
    """Return one of the console blocks of the page that begin so."""
    return [one for one in find_blocks(read_page(PAGE)) if one.name.startswith(first)][number]
