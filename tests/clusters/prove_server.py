"""Proves a server before it is trusted with coordination, whatever stands behind its address.

    scripts/prove-server [--long] URL

URL names a database of its own for this, as an administrator: tables are created there, distributed where
the database has Citus, and rows of projects with random names stay behind. Sessions connect to it as
passdown_app, without a password in the URL: libpq finds it in its password file.

What is run: the suite of coordination, tries to reach rows of other projects, races of processes for tasks,
and how much is done in a second. It ends with a table of what held; --long makes the races larger.
"""

import argparse
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import psycopg

from tests.clusters.load import Work, run_load
from tests.clusters.rates import measure_rates
from tests.stores.servers import APP, GivenAddress

ROOT: Final = Path(__file__).resolve().parents[2]
_PYTEST: Final = ("-m", "pytest", "-p", "no:cacheprovider", "--timeout=0", "-m", "not timed")
_SUITE: Final = ("tests/conformance/test_postgres_store.py", "tests/conformance/test_coordination.py")
_WALLS: Final = ("tests/proofs/coordination/test_project_walls.py",)
_COUNTED: Final = re.compile(r"(\d+) (passed|failed|error|skipped)")
_WIDTH: Final = 42


class Size(NamedTuple):
    """How much is tried."""

    projects: int
    tasks: int
    workers: int


SHORT: Final = Size(projects=100, tasks=10, workers=8)
LONG: Final = Size(projects=1_000, tasks=10, workers=64)


class Line(NamedTuple):
    """A line of the table."""

    what: str
    held: bool
    said: str
    seconds: float


def prove(url: str, size: Size) -> Iterator[Line]:
    """Yield a line for each thing that was tried."""
    yield time_line("tables created or upgraded", lambda: (True, prepare(url)))
    server = GivenAddress(url)
    yield time_line("suite of coordination", lambda: run_tests(url, *_SUITE, "-k", "Postgres or postgres"))
    yield time_line("tries at rows of other projects", lambda: run_tests(url, *_WALLS, "-k", "direct"))
    name = f"p-{uuid.uuid4().hex[:8]}"
    work = Work(server.url(APP), size.projects, size.tasks, size.workers, name=name, patience=60.0)
    yield time_line(f"races of {size.workers} processes", lambda: race(work))
    yield time_line(
        "done in a second by 8 processes", lambda: (True, tell_rates(server.url(APP), f"{name}-r"))
    )


def prepare(url: str) -> str:
    """Create the tables, and distribute them where the database has Citus; return what the server is."""
    passdown("team", "migrate", "--url", url)
    with psycopg.connect(url, autocommit=True) as connection:
        ((version,),) = connection.execute("SHOW server_version").fetchall()
        citus = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'citus'").fetchall()
    said = f"PostgreSQL {str(version).split()[0]}"
    if not citus:
        return said
    return (
        f"{said}, Citus {citus[0][0]}; {passdown('team', 'migrate', '--distribute', '--yes', '--url', url)}"
    )


def passdown(*words: str) -> str:
    """Run a command as an administrator would; return the last line that it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "passdown", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def run_tests(url: str, *words: str) -> tuple[bool, str]:
    """Run tests on the server; return whether all passed that were not left out, and how many."""
    environment = {**os.environ, "PASSDOWN_TEST_URL": url, "PASSDOWN_PROOF": "ci"}
    done = subprocess.run(
        [sys.executable, *_PYTEST, *words],
        cwd=ROOT,
        env={name: value for name, value in environment.items() if name != "PASSDOWN_CI"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stdout[-6_000:])
    counts = {what: count for count, what in _COUNTED.findall(_summarize(done.stdout))}
    said = ", ".join(f"{count} {_NAMES[what]}" for what, count in counts.items())
    return done.returncode == 0, said


def race(work: Work) -> tuple[bool, str]:
    """Let processes claim and close in many projects."""
    found = run_load(work)
    for text in found.wrong[:20]:
        sys.stderr.write(f"{text}\n")
    doubtful = f", {len(found.wrong)} wrong" if found.wrong else ", each task given once"
    return not found.wrong, f"{found.granted:,} claims in {work.projects:,} projects{doubtful}"


def tell_rates(url: str, name: str) -> str:
    """Return how often a second each thing was done."""
    return ", ".join(f"{what} {rate:.0f}" for what, rate in measure_rates(url, name).items())


def main(arguments: Sequence[str]) -> int:
    """Try everything, and print a table."""
    parser = argparse.ArgumentParser(
        prog="scripts/prove-server", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("url", metavar="URL")
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args(arguments)
    return print_table([*prove(options.url, LONG if options.long else SHORT)])


def print_table(lines: Sequence[Line]) -> int:
    """Print what held; return what the process ends with."""
    for line in lines:
        sys.stdout.write(f"{line.what:<{_WIDTH}} {'held' if line.held else 'FAILED':<7} {line.said}\n")
    return 0 if all(line.held for line in lines) else 1


def time_line(what: str, attempt: Callable[[], tuple[bool, str]]) -> Line:
    """Try something, say on the way how it ended, and return what the table has about it."""
    began = time.monotonic()
    held, said = attempt()
    line = Line(what, held, said, time.monotonic() - began)
    sys.stderr.write(f"{what}: {'held' if held else 'FAILED'} after {line.seconds:.0f} s\n")
    return line


_NAMES: Final = {"passed": "passed", "failed": "failed", "error": "with errors", "skipped": "left out"}


def _summarize(output: str) -> str:
    """Return the last line in which pytest counts."""
    return next((line for line in reversed(output.splitlines()) if _COUNTED.search(line)), "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
