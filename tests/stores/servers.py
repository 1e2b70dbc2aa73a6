"""Real servers for tests: PostgreSQL, and PgBouncer in transaction mode before it (C96).

The first worker that needs a server starts it, and the last one that used it stops it. Servers listen on a
socket in a short temporary folder, run as a user without rights, and keep nothing. Tests that need one are
marked `server`: the quick run leaves them out. Where the programs are missing they are skipped, which fails
in CI.

PASSDOWN_TEST_URL names a database of some other server instead, as its administrator. Tests then share that
database, each with projects of its own; those that stop, follow or look into a server of their own are left
out (`scripts/prove_server`).
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import pytest

PORT: Final = 5432
BOUNCER_PORT: Final = 6432
ADMIN: Final = "postgres"
OWNER: Final = "passdown_owner"
APP: Final = "passdown_app"
_NOBODY: Final = "nobody"
"""Who runs servers where we are root: PostgreSQL refuses to."""
_TRIES: Final = 500
_LOG: Final = "log"
_ROLES: Final = (ADMIN, OWNER, APP)
GIVEN: Final = os.environ.get("PASSDOWN_TEST_URL", "")
"""The server that is tested instead of one that is started."""


class Address(NamedTuple):
    """Where a server listens."""

    folder: Path
    port: int

    def url(self, user: str = ADMIN, database: str = "postgres") -> str:
        """Return the address of a database, for a user."""
        return f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}"


class GivenAddress(NamedTuple):
    """Where a server listens that was not started here."""

    given: str

    @property
    def database(self) -> str:
        """The database that the address names."""
        return urlsplit(self.given).path.removeprefix("/")

    def url(self, user: str = ADMIN, database: str = "") -> str:
        """Return the address of a database for a user; the administrator is the one that was named."""
        parts = urlsplit(self.given)
        named, _, hosts = parts.netloc.rpartition("@")
        user = (named or ADMIN) if user == ADMIN else user
        return parts._replace(netloc=f"{user}@{hosts}", path=f"/{database or self.database}").geturl()


class Postgres:
    """A PostgreSQL server of our own."""

    def __init__(self, folder: Path) -> None:
        """Use the server of a folder, whether it runs or not."""
        self._folder = folder
        self.address = Address(folder, PORT)

    def create(self, *, durable: bool) -> None:
        """Make a cluster that trusts whoever can reach its socket, and start it.

        A durable one waits for the disk at each commit.
        """
        _run(
            *(find_program("initdb"), "--no-sync", "--auth=trust", f"--username={ADMIN}", "--encoding=UTF8"),
            *("--locale=C", f"--pgdata={self._data}"),
        )
        if not durable:
            self.configure(fsync="off", synchronous_commit="off", full_page_writes="off")
        self._listen()

    def follow(self, primary: "Postgres") -> None:
        """Make a copy of a server that follows it, and start it; the other waits for it from now on.

        Whatever this server held before is thrown away.
        """
        shutil.rmtree(self._data, ignore_errors=True)
        primary.configure(synchronous_standby_names="'*'")
        primary.reload()
        _run(
            *(find_program("pg_basebackup"), "--no-sync", "--checkpoint=fast", "--write-recovery-conf"),
            *(f"--dbname={primary.address.url()}", f"--pgdata={self._data}"),
        )
        self.configure(synchronous_standby_names="''")  # nobody follows this one yet
        self._listen()

    def _listen(self) -> None:
        self.configure(
            listen_addresses="''", unix_socket_directories=f"'{self._folder}'", max_connections=100
        )
        self.start()

    def configure(self, **values: object) -> None:
        """Change settings; most take effect with the next start."""
        lines = "".join(f"{name} = {value}\n" for name, value in values.items())
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(lines)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._control("start", "-l", str(self._folder / _LOG))

    def stop(self, how: str = "fast") -> None:
        """Stop it: `fast` ends all connections, `immediate` is like a crash."""
        self._control("stop", "-m", how)

    def reload(self) -> None:
        """Let changed settings take effect."""
        self._control("reload")

    def promote(self) -> None:
        """Let a server that follows another go on alone."""
        self._control("promote")

    @property
    def is_running(self) -> bool:
        """Whether it was started and not stopped."""
        return (self._data / "postmaster.pid").exists()

    def _control(self, *words: str) -> None:
        _run(find_program("pg_ctl"), "-w", "-s", "-D", str(self._data), *words)

    @property
    def _data(self) -> Path:
        return self._folder / "data"


class Bouncer:
    """A PgBouncer in transaction mode: a client has a connection of the server for one transaction."""

    def __init__(self, folder: Path) -> None:
        """Use the PgBouncer of a folder, whether it runs or not."""
        self._folder = folder
        self.address = Address(folder, BOUNCER_PORT)

    def create(self, server: Address) -> None:
        """Start one before a server, with fewer connections than clients."""
        users = self._folder / "users"
        users.write_text("".join(f'"{name}" ""\n' for name in _ROLES), encoding="utf-8")
        settings = {
            "listen_addr": "",
            "listen_port": BOUNCER_PORT,
            "unix_socket_dir": self._folder,
            "auth_type": "trust",
            "auth_file": users,
            "pool_mode": "transaction",
            "default_pool_size": 2,
            "max_client_conn": 200,
            "server_login_retry": 1,  # seconds; 15 by default, also when the server is back at once
            "logfile": self._folder / _LOG,
            "pidfile": self._pid_file,
        }
        lines = ["[databases]", f"* = host={server.folder} port={server.port}", "[pgbouncer]"]
        lines += [f"{name} = {value}" for name, value in settings.items()]
        path = self._folder / "pgbouncer.ini"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        _run(find_program("pgbouncer"), "-q", "-d", str(path))
        self._wait()

    def stop(self) -> None:
        """End it."""
        os.kill(int(self._pid_file.read_text(encoding="utf-8")), signal.SIGTERM)

    def _wait(self) -> None:
        """Ask until it answers; each question is a process, so that this takes its time."""
        asked = (find_program("pg_isready"), "-q", "-h", str(self._folder), "-p", str(BOUNCER_PORT))
        for _ in range(_TRIES):
            if subprocess.run(asked, check=False).returncode == 0:
                return
        raise AssertionError((self._folder / _LOG).read_text(encoding="utf-8"))

    @property
    def _pid_file(self) -> Path:
        return self._folder / "pid"


# --- fixtures ---------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A PostgreSQL server for all tests of this run; it does not wait for the disk."""
    _need("initdb", "pg_ctl")
    with _shared(
        _common_folder(tmp_path_factory),
        "postgres",
        lambda folder: Postgres(folder).create(durable=False),
        lambda folder: Postgres(folder).stop("immediate"),
    ) as folder:
        yield Postgres(folder)


@pytest.fixture(scope="session")
def bouncer(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> Iterator[Bouncer]:
    """A PgBouncer before that server."""
    _need("pgbouncer", "pg_isready")
    with _shared(
        _common_folder(tmp_path_factory),
        "pgbouncer",
        lambda folder: Bouncer(folder).create(postgres.address),
        lambda folder: Bouncer(folder).stop(),
    ) as folder:
        yield Bouncer(folder)


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A PostgreSQL server for one test, which may stop it; it waits for the disk."""
    _need("initdb", "pg_ctl")
    with _temporary() as server:
        server.create(durable=True)
        yield server


@pytest.fixture
def own_bouncer(own_postgres: Postgres) -> Iterator[Bouncer]:
    """A PgBouncer before a server that the test may stop."""
    with started_bouncer(own_postgres.address) as bouncer:
        yield bouncer


@contextmanager
def started_bouncer(server: Address) -> Generator[Bouncer, None, None]:
    """Give a PgBouncer before a server."""
    _need("pgbouncer", "pg_isready")
    folder = _make_folder()
    bouncer = Bouncer(folder)
    bouncer.create(server)
    try:
        yield bouncer
    finally:
        bouncer.stop()
        shutil.rmtree(folder, ignore_errors=True)  # a server that ends removes files, too


@pytest.fixture
def postgres_pair(own_postgres: Postgres) -> Iterator[tuple[Postgres, Postgres]]:
    """A server of one's own, and one that follows it: no change is done before both have it.

    They wait for each other and not for the disk: what one loses, the other must have.
    """
    _need("pg_basebackup")
    own_postgres.configure(fsync="off")
    own_postgres.reload()
    with _temporary() as follower:
        follower.follow(own_postgres)
        yield own_postgres, follower


@contextmanager
def _temporary() -> Generator[Postgres, None, None]:
    folder = _make_folder()
    server = Postgres(folder)
    try:
        yield server
    finally:
        if server.is_running:
            server.stop("immediate")
        shutil.rmtree(folder)


@contextmanager
def started_postgres() -> Generator[Postgres | None, None, None]:
    """Give a server that waits for the disk, or None where its programs are missing."""
    if sys.platform == "win32" or not all(map(find_program, ("initdb", "pg_ctl"))):
        yield None
        return
    with _temporary() as server:
        server.create(durable=True)
        yield server


class MigratedDatabase:
    """A database with the tables of coordination, whose texts are sorted as people in some country do."""

    def __init__(self, server: Address | GivenAddress, name: str) -> None:
        """Use a database of a server."""
        self.server = server
        self.name = name

    def create(self) -> None:
        """Make it on the server; its roles are those of all databases there."""
        self.run(
            f"CREATE DATABASE {self.name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'sv'",
            database="postgres",
        )
        from passdown.engines.postgres.migrate import migrate  # with the driver, which few runs need

        migrate(self.server.url(database=self.name))

    def url(self, user: str = APP) -> str:
        """Return its address, by default for the role of verbs and servers."""
        return self.server.url(user, self.name)

    def run(self, statement: str, *values: object, database: str = "") -> list[tuple[object, ...]]:
        """Execute a statement as administrator, whom row-level security does not bind."""
        import psycopg

        url = self.server.url(database=database or self.name)
        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def through(self, bouncer: Bouncer) -> "MigratedDatabase":
        """Return the same database, reached through a PgBouncer."""
        return MigratedDatabase(bouncer.address, self.name)


@pytest.fixture(scope="session")
def database(request: pytest.FixtureRequest) -> MigratedDatabase:
    """A database for the tests of this worker; they keep out of each other's way by their projects."""
    if GIVEN:
        return MigratedDatabase(GivenAddress(GIVEN), GivenAddress(GIVEN).database)
    postgres: Postgres = request.getfixturevalue("postgres")
    database = MigratedDatabase(postgres.address, f"passdown_{os.environ.get('PYTEST_XDIST_WORKER', 'gw')}")
    database.create()
    return database


@pytest.fixture
def inside() -> None:
    """Leave a test out that looks into a server, where the server is not one that was started here."""
    if GIVEN:
        pytest.skip("looks into the server, which may be built in another way")


@pytest.fixture
def project() -> str:
    """The key of a project that no other test has."""
    return f"p-{uuid.uuid4().hex}"


# --- programs and folders ---------------------------------------------------------------------------


def _need(*programs: str) -> None:
    """Skip a test where a program is missing, or where the server to be tested is another one."""
    if GIVEN:
        pytest.skip("starts a server of its own, but PASSDOWN_TEST_URL names another")
    if sys.platform == "win32":
        pytest.skip("servers in tests need sockets in the file system")
    if missing := [name for name in programs if not find_program(name)]:
        pytest.skip(f"not installed: {', '.join(missing)}")


def find_program(name: str) -> str:
    """Return where a program is, or nothing; Debian keeps those of a server out of the PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if config := shutil.which("pg_config"):
        told = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=True)
        folders.insert(0, Path(told.stdout.strip()))
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"], "/usr/sbin"])
    return shutil.which(name, path=path) or ""


def _run(*command: str) -> None:
    """Run a program as a user without rights; its output goes to a file, for a server keeps that open."""
    if os.geteuid() == 0:
        command = ("runuser", "-u", _NOBODY, "--", *command)
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(command, cwd="/", stdout=output, stderr=subprocess.STDOUT, check=False)
        output.seek(0)
        assert done.returncode == 0, (command, output.read())


def _make_folder() -> Path:
    """Make a folder for a server; the path of a socket has at most 104 characters on some systems."""
    folder = tempfile.mkdtemp(prefix="pd-")
    if os.geteuid() == 0:
        subprocess.run(["chown", _NOBODY, folder], check=True)  # Python's list of accounts is a test's
    return Path(folder)


def _common_folder(factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all workers of this run have in common."""
    folder = factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@contextmanager
def _shared(
    common: Path, name: str, start: Callable[[Path], None], stop: Callable[[Path], None]
) -> Generator[Path, None, None]:
    """Give the folder of a server that the first user starts and the last one stops.

    Users hold a lock together, which the system takes from a worker that crashed.
    """
    import fcntl  # does not exist on Windows

    place = common / f"{name}.folder"
    with (common / f"{name}.users").open("w") as users:
        with _locked(common / f"{name}.lock"):
            fcntl.flock(users, fcntl.LOCK_SH)
            if not place.exists():
                folder = _make_folder()
                start(folder)
                place.write_text(str(folder), encoding="utf-8")
            folder = Path(place.read_text(encoding="utf-8"))
        try:
            yield folder
        finally:
            with _locked(common / f"{name}.lock"), suppress(BlockingIOError):  # others still use it
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                stop(folder)
                place.unlink()
                shutil.rmtree(folder, ignore_errors=True)  # a server that ends removes files, too


@contextmanager
def _locked(path: Path) -> Generator[None, None, None]:
    import fcntl

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
