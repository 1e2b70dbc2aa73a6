"""PostgreSQL kept up by Patroni: three servers, of which two follow the first, and three members of etcd.

Whatever a machine says to others goes through a gate of its own (gate.py), which can be stopped. Clients
reach the servers by all their addresses, or by a PgBouncer that Patroni leads to each new primary.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any, Final

import psycopg

from tests.clusters.citus import make_folder
from tests.clusters.programs import (
    as_nobody,
    find_port,
    find_server,
    freeze_tree,
    kill_server,
    kill_tree,
    start_as_nobody,
    thaw,
)
from tests.stores.servers import ADMIN, APP

TTL: Final = 20
"""How many seconds Patroni waits until it replaces a primary that says nothing; 30 by default."""
MEMBERS: Final = 3
_HOST: Final = "127.0.0.1"
_BINARIES: Final = Path("/usr/lib/postgresql/15/bin")
PROGRAMS: Final = Path(os.environ.get("PASSDOWN_PATRONI", "/usr/bin"))
"""Where Patroni is. Before 3.0.3 a primary that stood still takes the lock back from the next one, whose
grants are lost then (github.com/patroni/patroni/pull/2689). Debian 12 has 3.0.2."""
_ROOT: Final = Path(__file__).resolve().parents[2]
_GLANCE: Final = 0.3
_PATIENCE: Final = 240.0


class Etcd:
    """One member of etcd."""

    def __init__(self, folder: Path, number: int) -> None:
        """Choose its ports."""
        self.name = f"etcd-{number}"
        self.port, self.peer = find_port(), find_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, members: Sequence["Etcd"]) -> None:
        """Start it, for the first time or again."""
        client, peer = f"http://{_HOST}:{self.port}", f"http://{_HOST}:{self.peer}"
        everybody = ",".join(f"{one.name}=http://{_HOST}:{one.peer}" for one in members)
        self._process = start_as_nobody(
            self._folder / f"{self.name}.log",
            *("etcd", "--name", self.name, "--data-dir", str(self._folder / self.name)),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", everybody, "--log-level", "error"),
            *("--heartbeat-interval", "300", "--election-timeout", "3000"),  # all share two busy cores
        )

    def is_ready(self) -> bool:
        """Return whether all members agreed on a version; Patroni ends where they have not."""
        url = f"http://{_HOST}:{self.port}/version"
        with suppress(OSError, ValueError), urllib.request.urlopen(url, timeout=3) as answer:
            return bool(json.load(answer)["etcdcluster"] != "not_decided")
        return False

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None:
            kill_tree(self._process.pid)
            self._process.wait()
            self._process = None


class Node:
    """One machine: a server, its Patroni, and its network."""

    def __init__(self, folder: Path, number: int, members: Sequence[Etcd], bouncer: Path) -> None:
        """Choose its ports, and write what Patroni reads."""
        self.name = f"node-{number}"
        self._folder = folder
        self._server, self._control = find_port(), find_port()
        self.port, self._far_control = find_port(), find_port()
        etcd = {find_port(): one.port for one in members}
        self._routes = {self.port: self._server, self._far_control: self._control, **etcd}
        self._settings = folder / f"{self.name}.json"
        self._settings.write_text(json.dumps(self._make_settings([*etcd], bouncer)), encoding="utf-8")
        self._gate: subprocess.Popen[bytes] | None = None
        self._patroni: subprocess.Popen[bytes] | None = None
        self._frozen: Sequence[int] = ()

    def start(self) -> None:
        """Start it, for the first time or again."""
        if self._gate is None:
            routes = [f"{port}:{target}" for port, target in self._routes.items()]
            self._gate = subprocess.Popen(
                [sys.executable, "-m", "tests.clusters.gate", *routes], cwd=_ROOT, start_new_session=True
            )
        log = self._folder / f"{self.name}.log"
        self._patroni = start_as_nobody(log, str(PROGRAMS / "patroni"), str(self._settings))

    def kill(self) -> None:
        """Let the power fail."""
        for one in (self._gate, self._patroni):
            if one is not None:
                kill_tree(one.pid)
                one.wait()
        kill_server(self._data)
        self._patroni = self._gate = None

    def cut_off(self) -> None:
        """Let the network fail; everything on the machine goes on."""
        assert self._gate is not None
        self._frozen = freeze_tree(self._gate.pid)

    def freeze(self) -> None:
        """Let everything on the machine stand still."""
        assert self._gate is not None
        assert self._patroni is not None
        everything = (self._gate.pid, self._patroni.pid, *find_server(self._data))
        self._frozen = [one for process in everything for one in freeze_tree(process)]

    def go_on(self) -> None:
        """Let whatever was cut off or frozen go on."""
        thaw(self._frozen)
        self._frozen = ()

    def ask(self, path: str) -> dict[str, Any]:
        """Ask its Patroni, from the same machine."""
        with urllib.request.urlopen(f"http://{_HOST}:{self._control}/{path}", timeout=3) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    @property
    def _data(self) -> Path:
        return self._folder / f"{self.name}-data"

    def _make_settings(self, etcd: Sequence[int], bouncer: Path) -> dict[str, object]:
        lead = f"{bouncer} {self.port}"
        return {
            "scope": "passdown",
            "name": self.name,
            "restapi": {
                "listen": f"{_HOST}:{self._control}",
                "connect_address": f"{_HOST}:{self._far_control}",
            },
            "etcd3": {"hosts": [f"{_HOST}:{port}" for port in etcd], "use_proxies": True},
            "bootstrap": {
                "dcs": {
                    "ttl": TTL,
                    "loop_wait": 2,
                    "retry_timeout": 4,
                    "synchronous_mode": True,
                    "synchronous_mode_strict": True,
                    "postgresql": {
                        "use_pg_rewind": True,
                        "parameters": {"wal_log_hints": "on", "max_connections": 200},
                    },
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, {"auth": "trust"}],
            },
            "postgresql": {
                "listen": f"{_HOST}:{self._server}",
                "connect_address": f"{_HOST}:{self.port}",
                "data_dir": str(self._data),
                "bin_dir": str(_BINARIES),
                "pgpass": str(self._folder / f"{self.name}.pgpass"),
                "authentication": {"superuser": {"username": ADMIN}, "replication": {"username": ADMIN}},
                "parameters": {"unix_socket_directories": str(self._folder)},
                "pg_hba": ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
                "callbacks": {"on_role_change": lead, "on_start": lead},
            },
        }


class Patroni:
    """The whole cluster."""

    def __init__(self, folder: Path) -> None:
        """Make it, and wait until two servers follow the first."""
        self._folder = folder
        self.members = [Etcd(folder, number) for number in range(MEMBERS)]
        self._bouncer_port = find_port()
        lead = _write_bouncer(folder, self._bouncer_port)
        for member in self.members:
            member.start(self.members)
        self.nodes = [Node(folder, number, self.members, lead) for number in range(MEMBERS)]
        self.wait(lambda: all(member.is_ready() for member in self.members), "etcd agrees on a version")
        as_nobody("pgbouncer", "-q", "-d", str(folder / "pgbouncer.ini"))
        self.nodes[0].start()
        self.wait(lambda: self.find_primary() is not None, "there is a primary")
        for node in self.nodes[1:]:
            node.start()
        self.wait(self.is_whole, "two servers follow the first")

    def url(self, user: str = APP, *, is_bounced: bool = False) -> str:
        """Return where clients connect: by all addresses, or by PgBouncer."""
        if is_bounced:
            return f"postgresql://{user}@{_HOST}:{self._bouncer_port}/postgres"
        hosts = ",".join(f"{_HOST}:{node.port}" for node in self.nodes)
        return f"postgresql://{user}@{hosts}/postgres?target_session_attrs=read-write&connect_timeout=3"

    def find_primary(self) -> Node | None:
        """Return the server that may be written to, as etcd says."""
        names = {node.name: node for node in self.nodes}
        ports = ",".join(f"http://{_HOST}:{one.port}" for one in self.members)
        asked = ("etcdctl", "--endpoints", ports, "get", "/service/passdown/leader", "--print-value-only")
        done = subprocess.run(
            asked, capture_output=True, text=True, check=False, env={"ETCDCTL_API": "3", "PATH": "/usr/bin"}
        )
        return names.get(done.stdout.strip())

    def is_whole(self) -> bool:
        """Return whether all run, and one of them is waited for at each commit."""
        with suppress(OSError, urllib.error.URLError, ValueError):
            primary = self.find_primary()
            if primary is None:
                return False
            members = primary.ask("cluster")["members"]
            roles = sorted(one["role"] for one in members)
            follows = all(
                one.get("lag", 0) == 0 and one["state"] in {"running", "streaming"} for one in members
            )
            return follows and roles == ["leader", "replica", "sync_standby"] and self._is_followed(primary)
        return False

    def _is_followed(self, primary: Node) -> bool:
        url = f"postgresql://{ADMIN}@{_HOST}:{primary.port}/postgres?connect_timeout=3"
        with suppress(psycopg.Error), psycopg.connect(url, autocommit=True) as connection:
            found = connection.execute("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")
            return found.fetchall() == [(MEMBERS - 1,)]
        return False

    def switch_over(self) -> None:
        """Let a standby take over, as an administrator would."""
        settings = self._folder / f"{self.nodes[0].name}.json"
        as_nobody(str(PROGRAMS / "patronictl"), "-c", str(settings), "switchover", "--force")

    def wait(self, is_over: Callable[[], bool], what: str) -> float:
        """Wait until something holds; return for how long that was."""
        began = time.monotonic()
        while not is_over():
            is_late = time.monotonic() - began > _PATIENCE
            assert not is_late, f"it never came to it that {what}: {self.tell()}"
            Event().wait(_GLANCE)
        return time.monotonic() - began

    def tell_version(self) -> str:
        """Return which Patroni it is."""
        return as_nobody(str(PROGRAMS / "patroni"), "--version").strip()

    def tell(self) -> str:
        """Return the last lines of the logs."""
        logs = sorted(self._folder.glob("*.log"))
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-1500:]}" for log in logs)

    def stop(self) -> None:
        """End everything."""
        for node in self.nodes:
            node.go_on()
            node.kill()
        for member in self.members:
            member.kill()
        with suppress(FileNotFoundError, ProcessLookupError):
            kill_tree(int((self._folder / "pid").read_text(encoding="utf-8")))


def _write_bouncer(folder: Path, port: int) -> Path:
    """Write what PgBouncer reads, and the program by which Patroni leads it to a new primary."""
    (folder / "users").write_text("".join(f'"{name}" ""\n' for name in (ADMIN, APP)), encoding="utf-8")
    settings = {
        "listen_addr": _HOST,
        "listen_port": port,
        "unix_socket_dir": "",
        "auth_type": "trust",
        "auth_file": folder / "users",
        "pool_mode": "transaction",
        "default_pool_size": 20,
        "server_login_retry": 1,
        "server_connect_timeout": 3,
        "logfile": folder / "pgbouncer.log",
        "pidfile": folder / "pid",
    }
    databases = folder / "databases.ini"
    databases.write_text(f"[databases]\n* = host={_HOST} port=1\n", encoding="utf-8")
    lines = [
        f"%include {databases}",
        "[pgbouncer]",
        *(f"{name} = {value}" for name, value in settings.items()),
    ]
    (folder / "pgbouncer.ini").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lead = folder / "lead-bouncer"
    lead.write_text(
        "#!/bin/sh\n# PORT ACTION ROLE CLUSTER: called by Patroni, which names the role of its server.\n"
        'case "$3" in master | primary) ;; *) exit 0 ;; esac\n'
        f"printf '[databases]\\n* = host={_HOST} port=%s\\n' \"$1\" >'{databases}.new'\n"
        f"mv '{databases}.new' '{databases}'\n"
        f"kill -HUP \"$(cat '{folder / 'pid'}')\"\n",
        encoding="utf-8",
    )
    lead.chmod(0o755)
    if shutil.which("chown"):
        subprocess.run(["chown", "-R", "nobody", str(folder)], check=False)
    return lead


@contextmanager
def started_patroni() -> Generator[Patroni, None, None]:
    """Give a cluster that is stopped and removed afterwards."""
    with make_folder() as folder:
        cluster = Patroni(folder)
        try:
            yield cluster
        finally:
            cluster.stop()
