"""Proves each kind of server that coordination may run on, and prints one table.

    python -m tests.clusters.prove_each [--long] [KIND]…

KIND is plain, pgbouncer, patroni or citus; without one, all are tried. Citus is left out unless
PASSDOWN_CITUS names its sources.
"""

import argparse
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from tests.clusters.citus import make_folder, started_citus
from tests.clusters.patroni import started_patroni
from tests.clusters.prove_citus import build_citus
from tests.clusters.prove_server import LONG, SHORT, Line, print_table, prove
from tests.stores.servers import ADMIN, Bouncer, started_postgres


@contextmanager
def start_plain() -> Generator[str, None, None]:
    """Give the URL of one server."""
    with started_postgres() as server:
        assert server is not None, "PostgreSQL is not installed"
        yield server.address.url()


@contextmanager
def start_bounced() -> Generator[str, None, None]:
    """Give the URL of a PgBouncer in transaction mode before one server."""
    with started_postgres() as server, make_folder() as folder:
        assert server is not None, "PostgreSQL is not installed"
        bouncer = Bouncer(folder)
        bouncer.create(server.address)
        try:
            yield bouncer.address.url()
        finally:
            bouncer.stop()


@contextmanager
def start_followed() -> Generator[str, None, None]:
    """Give the URL of three servers that Patroni keeps up."""
    with started_patroni() as cluster:
        yield cluster.url(ADMIN)


@contextmanager
def start_distributed() -> Generator[str, None, None]:
    """Give the URL of a coordinator and two workers."""
    with started_citus(build_citus()) as cluster:
        yield cluster.url(ADMIN)


KINDS: Final[Mapping[str, Callable[[], AbstractContextManager[str]]]] = {
    "plain": start_plain,
    "pgbouncer": start_bounced,
    "patroni": start_followed,
    "citus": start_distributed,
}


def main(arguments: Sequence[str]) -> int:
    """Try each, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("kinds", metavar="KIND", nargs="*", choices=[[], *KINDS])
    options = parser.parse_args(arguments)
    lines: list[Line] = []
    for kind in options.kinds or KINDS:
        if kind == "citus" and not os.environ.get("PASSDOWN_CITUS"):
            sys.stderr.write("citus: not run, PASSDOWN_CITUS names no folder with its sources\n")
            continue
        with KINDS[kind]() as url:
            found = prove(url, LONG if options.long else SHORT)
            lines += [line._replace(what=f"{kind}: {line.what}") for line in found]
    return print_table(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
