"""Opens the coordination engine of a project."""

import importlib.util
import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from passdown import layout
from passdown.core.coordination.leases import Lifetimes
from passdown.core.sessions.session_facts import HostProcess
from passdown.engines.coordination.away import EngineAway, WatchedCoordination
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.patience import Patience
from passdown.engines.sqlite.change_log import ChangeLog
from passdown.engines.sqlite.coordination_database import TITLE
from passdown.engines.sqlite.coordination_file import NEXT_COMMAND, Recovery, examine
from passdown.engines.sqlite.database import WAIT_SECONDS
from passdown.engines.system import SystemBootClock, SystemClock, SystemEntropy
from passdown.errors import AwayError, NoServerError, StorageError, UnwritableError, UsageError
from passdown.records import replace
from passdown.wiring.projects import find_coordination_url, find_server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from passdown.core.coordination.leases import KnownHolder
    from passdown.engines.coordination.rows import Statements
    from passdown.engines.coordination.transactions import Store
    from passdown.engines.postgres.distribution import Distribution
    from passdown.engines.sqlite.coordination import LocalMachine
    from passdown.engines.sqlite.coordination_file import Recovery
    from passdown.engines.sqlite.engine_clock import ClockRow
    from passdown.engines.sqlite.reservation_copy import ReservationCopy
    from passdown.ports.coordination import Coordination
    from passdown.ports.programs import Processes
    from passdown.services.workspace.workspaces import Workspace
    from passdown.settings import Settings

_POSTGRES: Final = ("postgresql", "postgres")
_IDENTITY_BYTES: Final = 7
"""Seven bytes fit into a signed 64-bit column."""
_LOCAL_ENGINE: Final = "SQLite, this clone and its worktrees"
LOCAL: Final = "local"
"""The project's name in a clone's database; after a `/`, the root's path in the repository (C74).

A key in `passdown.toml` does not change it, because worktrees of one clone may have branches with and without
the key, and must not grant the same task twice.
"""


class EngineFile(NamedTuple):
    """The coordination database of a clone, and where the project is in its repository."""

    path: str
    copy: str
    """The path of the copy of what a server last said."""
    away: str
    """The path of the file that records when the engine did not answer."""
    variables: "Mapping[str, str]"
    """The environment of the caller."""
    below: str = ""
    patience: Patience | None = None
    """How long to wait in total for others and for a server; None means the default."""
    ignores_case: bool = False
    """Whether the file system ignores case, according to git."""
    workspace: "Workspace | None" = None
    """The workspace whose sessions know what they hold, and which is warned when a lost file is restored."""

    @property
    def project(self) -> str:
        """The name of the project in the database."""
        return f"{LOCAL}/{self.below}" if self.below else LOCAL

    @property
    def changes(self) -> str:
        """The folder with copies of the database and the changes since then."""
        return os.path.join(os.path.dirname(self.path), layout.COORDINATION_CHANGES)


def open_coordination(file: EngineFile, settings: "Settings", processes: "Processes") -> "Coordination":
    """Open the engine that the settings name: SQLite in the clone, unless there is a server (C76)."""
    url = find_coordination_url(settings, file.variables)
    if url is None:
        hint = "Set `engine` under [coordination] to auto or sqlite."
        raise StorageError("coordination is off in this project", hint=hint)
    machine = _find_machine(processes)
    if not url:
        return _open_sqlite(file, settings, machine)
    from passdown.engines.sqlite.reservation_copy import ReservationCopy

    away = _find_away(file)
    copy = ReservationCopy(file.copy, settings.project.key, machine)
    try:
        return WatchedCoordination(_open_postgres(url, settings, copy, away, file), away)
    except AwayError as found:
        if away.recall() is None:
            away.note_away(found.message)
        raise


def find_migrated_url(settings: "Settings", url: str) -> str:
    """Return the server whose tables are changed: the one that is named, or else the one in the settings."""
    url = url or find_server(settings) or ""
    if not url:
        hint = "Set `url` under [coordination] in your settings file, or pass --url."
        raise UsageError("no server is named", hint=hint)
    _require_server(url)
    return url


def migrate_server(url: str) -> int:
    """Migrate the tables of a server, with the role that owns them; return their version."""
    from passdown.engines.postgres.migrate import migrate

    return migrate(url).after


def plan_distribution(url: str) -> "Distribution":
    """Return what Citus would distribute over the servers of a cluster."""
    from passdown.engines.postgres.migrate import plan_distribution as plan

    return plan(url)


def distribute_server(url: str) -> None:
    """Let Citus distribute the tables over the servers of a cluster."""
    from passdown.engines.postgres.migrate import distribute

    distribute(url)


def measure_server(url: str, settings: "Settings") -> float:
    """Return the seconds of a round trip to a server, over a connection that is open if there is one."""
    from passdown.engines.postgres.connections import Connections

    connections = Connections(url, patience=Patience(settings.coordination.wait_seconds))
    try:
        return connections.measure()
    finally:
        connections.close()


def _open_postgres(
    url: str, settings: "Settings", copy: "ReservationCopy", away: EngineAway, file: EngineFile
) -> "Coordination":
    """Open the server, whose answers renew the copy; skip one that did not answer a moment ago (C86)."""
    if (known := away.recall()) is not None:
        raise known
    _require_server(url)
    from passdown.engines.postgres.coordination import open_store
    from passdown.engines.sqlite.reservation_copy import CopyingStore

    store = open_store(url, settings.project.key, patience=file.patience)
    if file.workspace:
        file.workspace.on_close(store.close)
    return _coordinate(CopyingStore(store, copy), settings, file, f"PostgreSQL, {store.place}")


def _require_server(url: str) -> None:
    """Raise a StorageError unless there is an engine for the URL, and the server answers at once (C86)."""
    scheme = url.partition(":")[0]
    if scheme not in _POSTGRES:
        hint = "Use a postgresql:// URL, or no URL to coordinate through a file in git's folder."
        raise StorageError(f"this version has no engine for {scheme} URLs", hint=hint)
    if importlib.util.find_spec("psycopg") is None:
        hint = "Install it: `uv tool install 'passdown[postgres]'` or `pip install 'passdown[postgres]'`."
        raise StorageError("the PostgreSQL driver is not installed", hint=hint)
    # Asked before the driver is loaded, which is slow.
    from passdown.engines.postgres.reachability import find_places, is_reachable

    if not is_reachable(url):
        places = ", ".join(f"{place.host}:{place.port}" for place in find_places(url))
        raise AwayError(f"cannot reach the coordination server ({places})", hint="Try again when it is back.")


def open_for_reading(file: EngineFile, settings: "Settings", processes: "Processes") -> "Coordination | None":
    """Open a file of the clone for reading: the engine's own, or the copy of what a server said (C77).

    None if there is no file, or if sessions do not coordinate, or if no server is named: then the file does
    not show what the team does (C159).
    """
    url: str | None = None
    with suppress(NoServerError):
        url = find_coordination_url(settings, file.variables)
    path, project = (file.copy, settings.project.key) if url else (file.path, file.project)
    if url is None or not os.path.lexists(path):
        if url == "" and os.path.lexists(file.changes):
            raise AwayError(f"{TITLE} is missing", hint=NEXT_COMMAND)
        return None
    from passdown.engines.sqlite.coordination import open_reader

    return _coordinate(open_reader(path, project, _find_machine(processes)), settings, file)


def _open_sqlite(file: EngineFile, settings: "Settings", machine: "LocalMachine") -> "Coordination":
    """Open the file of the clone; if it may not be written, open it for reading, and grant nothing (C87).

    The call waits for other writers; that they are busy says nothing about the next call (C144).
    """
    from passdown.engines.sqlite.coordination import open_reader, open_store

    try:
        wait = file.patience or Patience(WAIT_SECONDS)
        recovery = _make_recovery(file, file.workspace, machine) if file.workspace else None
        store = open_store(file.path, file.project, replace(machine, recovery=recovery), wait=wait)
        if file.workspace:
            file.workspace.on_close(store.let_go)
        return _coordinate(store, settings, file)
    except UnwritableError as refusal:
        return _coordinate(open_reader(file.path, file.project, machine, refusal), settings, file)


def examine_file(file: EngineFile, settings: "Settings") -> "tuple[str, Sequence[str]]":
    """Return why the clone's file counts as lost, empty if it does not, and when it was restored."""
    with suppress(NoServerError):
        if find_coordination_url(settings, file.variables) == "" and os.path.lexists(file.changes):
            log = ChangeLog(file.changes)
            restored = [f"{one.day}: {one.restored}" for one in log.periods() if one.restored]
            return examine(file.path, log), restored
    return "", ()


def _make_recovery(file: EngineFile, workspace: "Workspace", machine: "LocalMachine") -> "Recovery":
    """Return how a lost file is restored (C146)."""
    from passdown.engines.sqlite.coordination import read_time

    def tell_time(statements: "Statements", project: str) -> "ClockRow":
        return read_time(statements, project, machine)[0]

    def find_holders() -> "Mapping[str, Sequence[KnownHolder]]":
        from passdown.services.coordination.membership import list_holders  # only for a file that was lost

        return {file.project: list_holders(workspace)}

    return Recovery(
        log=ChangeLog(file.changes),
        today=lambda: machine.clock.now().date().isoformat(),
        make_identity=lambda: int.from_bytes(SystemEntropy().token(_IDENTITY_BYTES)),
        tell_time=tell_time,
        holders=find_holders,
        tell=workspace.warn,
        is_hurried=workspace.is_hook,
    )


def _coordinate(
    store: "Store", settings: "Settings", file: EngineFile, engine: str = _LOCAL_ENGINE
) -> "Coordination":
    """Coordinate over a store; if checkouts ignore case, `A.py` and `a.py` are one file (C85).

    They do if git found this when it made the clone, and usually on macOS and Windows.
    """
    ignores_case = file.ignores_case or sys.platform in {"darwin", "win32"}
    return Coordinator(store, engine, make_lifetimes(settings), ignores_case=ignores_case)


def _find_away(file: EngineFile) -> EngineAway:
    return EngineAway(file.away, SystemBootClock())


def _find_machine(processes: "Processes") -> "LocalMachine":
    from passdown.engines.sqlite.coordination import LocalMachine

    def is_running(process: str) -> bool | None:
        pid, started, boot = json.loads(process)
        return processes.is_alive(HostProcess(pid, started, boot))

    return LocalMachine(boot_clock=SystemBootClock(), clock=SystemClock(), is_running=is_running)


def make_lifetimes(settings: "Settings") -> Lifetimes:
    """Return the lifetimes of leases from the settings."""
    given = settings.coordination
    return Lifetimes(
        silent=given.lease_minutes * 60.0,
        unused=given.reservation_minutes * 60.0,
        orphaned=given.orphan_minutes * 60.0,
    )
