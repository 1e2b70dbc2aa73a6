"""Proves coordination on Citus: a coordinator and two workers, built from source.

    PASSDOWN_CITUS=FOLDER python -m tests.clusters.prove_citus [--short]

FOLDER has the sources (scripts/build-citus says which). Everything that `scripts/prove-server` tries is
tried; then a worker and the coordinator are killed while processes claim; then the same work is done by the
cluster and by one plain server in turn.
"""

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final
from unittest import mock

from passdown.engines.postgres import migrate as migrations
from passdown.engines.postgres.migrate import find_migrations, migrate
from tests.clusters.citus import Citus, Server, started_citus, started_plain
from tests.clusters.load import Found, Load, Work, run_load
from tests.clusters.prove_server import LONG, SHORT, Line, print_table, prove, time_line
from tests.clusters.rates import MEASURED, measure_rates
from tests.stores.servers import ADMIN, APP

ROOT: Final = Path(__file__).resolve().parents[2]
BUILT: Final = ROOT / ".ci-cache" / "citus"
ROUNDS: Final = 3
_AWAY: Final = 2.0
"""How many seconds a server stays dead."""


def build_citus() -> Path:
    """Return where the programs are; they are built from the sources that PASSDOWN_CITUS names, once."""
    if not (BUILT / "bin" / "postgres").exists():
        source = os.environ["PASSDOWN_CITUS"]
        subprocess.run([str(ROOT / "scripts" / "build-citus"), source, str(BUILT)], check=True)
    return BUILT / "bin"


def distribute_older(url: str) -> tuple[bool, str]:
    """Create the tables as they were two versions ago, and distribute them: they are upgraded then."""
    older = find_migrations()[:-2]
    with mock.patch.object(migrations, "find_migrations", return_value=older):
        found = migrate(url)
        migrations.distribute(url)
    return True, f"schema {found.after}"


def kill_each(cluster: Citus, load: Load) -> None:
    """Kill a worker and then the coordinator while everybody works."""
    for share, server in ((0.25, cluster.workers[0]), (0.6, cluster.coordinator)):
        load.wait(share)
        server.kill()
        load.note_fault()
        load.go_on(_AWAY)
        server.start()


def race_through_kills(cluster: Citus, projects: int) -> tuple[bool, str]:
    """Let processes claim while servers of the cluster are killed."""
    work = Work(cluster.url(), projects, 20, name="killed", pace=0.02)
    found: Found = run_load(work, lambda load: kill_each(cluster, load))
    sys.stderr.write("".join(f"{text}\n" for text in found.wrong[:20]))
    said = f"{found.granted:,} claims, {len(found.wrong)} wrong, {found.quiet:.1f} s without a grant at most"
    return not found.wrong and found.granted == projects * work.tasks, said


def compare(cluster: Citus, plain: Server) -> tuple[bool, str]:
    """Let the cluster and a plain server do the same work in turn."""
    migrate(plain.url())
    urls: Mapping[str, str] = {"cluster": cluster.url(), "plain": plain.url(APP)}
    rates = [
        {name: measure_rates(url, f"{name}-{number}") for name, url in urls.items()}
        for number in range(ROUNDS)
    ]

    def tell(what: str) -> str:
        ours, theirs = (statistics.median(one[name][what] for one in rates) for name in urls)
        return f"{what} {ours:.0f} beside {theirs:.0f} a second ({ours / theirs:.2f})"

    return True, "; ".join(tell(what) for what in MEASURED)


def prove_citus(programs: Path, *, is_short: bool) -> list[Line]:
    """Try everything."""
    with started_citus(programs) as cluster, started_plain(programs) as plain:
        url = cluster.url(ADMIN)
        older = time_line("older tables distributed", lambda: distribute_older(url))
        lines = [older, *prove(url, SHORT if is_short else LONG)]
        trials: Mapping[str, Callable[[], tuple[bool, str]]] = {
            "a worker and the coordinator killed": lambda: race_through_kills(
                cluster, 10 if is_short else 100
            ),
            "the cluster beside one server": lambda: compare(cluster, plain),
        }
        return [*lines, *(time_line(what, trial) for what, trial in trials.items())]


def main(arguments: Sequence[str]) -> int:
    """Build Citus if that was not done, try everything, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args(arguments)
    if not os.environ.get("PASSDOWN_CITUS"):
        sys.stdout.write("not run: PASSDOWN_CITUS names no folder with the sources of Citus\n")
        return 0
    return print_table(prove_citus(build_citus(), is_short=options.short))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
