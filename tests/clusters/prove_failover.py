"""Proves failover on Patroni and etcd: nothing that was acknowledged is lost, and nothing is given twice.

    python -m tests.clusters.prove_failover [--rounds N] [--fault NAME]… [--json FILE]

In each round processes claim and close while the cluster suffers a fault; they reach it in turn by all its
addresses and by PgBouncer. What they were told is compared with what the cluster has when it is whole again.
The figures say for how long nothing was granted, and how long one call took at most until it was answered or
given up. PASSDOWN_PATRONI names the folder of Patroni's programs, if it is not that of the system.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from passdown.engines.postgres.migrate import migrate
from tests.clusters.load import LIMIT, Found, Load, Work, run_load
from tests.clusters.patroni import TTL, Node, Patroni, started_patroni

ROUNDS: Final = 5
_MOST: Final = TTL + 40.0
"""For how many seconds at most nothing is granted, which includes those in which a client gives up."""


class Round(NamedTuple):
    """One round that was made."""

    fault: str
    found: Found
    whole: float
    """After how many seconds the cluster was whole again."""


def lose_power(cluster: Patroni, load: Load) -> Callable[[], None]:
    """Kill everything on the machine of the primary."""
    primary = _find(cluster)
    primary.kill()
    load.note_fault()
    _wait_for_grant(cluster, load)
    return primary.start


def lose_network(cluster: Patroni, load: Load) -> Callable[[], None]:
    """Cut the machine of the primary off from all others."""
    primary = _find(cluster)
    primary.cut_off()
    load.note_fault()
    _wait_for_grant(cluster, load)
    return primary.go_on


def freeze(cluster: Patroni, load: Load) -> Callable[[], None]:
    """Let everything on the machine of the primary stand still."""
    primary = _find(cluster)
    primary.freeze()
    load.note_fault()
    _wait_for_grant(cluster, load)
    return primary.go_on


def lose_majority(cluster: Patroni, load: Load) -> Callable[[], None]:
    """Kill two of three members of etcd, until no server may be written to any more."""
    for member in cluster.members[1:]:
        member.kill()
    load.go_on(TTL + 5.0)
    for member in cluster.members[1:]:
        member.start(cluster.members)
    load.note_fault()
    _wait_for_grant(cluster, load)
    return lambda: None


def switch_over(cluster: Patroni, load: Load) -> Callable[[], None]:
    """Let a standby take over while everybody works."""
    cluster.switch_over()
    load.note_fault()
    _wait_for_grant(cluster, load)
    return lambda: None


FAULTS: Final[Mapping[str, Callable[[Patroni, Load], Callable[[], None]]]] = {
    "power": lose_power,
    "network": lose_network,
    "frozen": freeze,
    "majority": lose_majority,
    "switchover": switch_over,
}
_TASKS: Final[Mapping[str, int]] = {"majority": 200}
_REST: Final = 0.4
"""How many seconds a process rests after each task, so that several clusters can be tried at once."""


def make_round(cluster: Patroni, fault: str, number: int) -> Round:
    """Let processes work, break something, repair it, and compare what they were told with what is left."""
    work = Work(
        cluster.url(is_bounced=number % 2 == 1),
        projects=4,
        tasks=_TASKS.get(fault, 50),
        name=f"{fault}-{number}",
        pace=_REST,
    )
    repairs: list[Callable[[], None]] = []
    whole = [0.0]

    def disturb(load: Load) -> None:
        load.wait(0.1)
        repairs.append(FAULTS[fault](cluster, load))

    def repair() -> None:
        for one in repairs:
            one()
        whole.append(cluster.wait(cluster.is_whole, "the cluster is whole again"))

    return Round(fault, run_load(work, disturb, repair), whole[-1])


def judge(made: Round) -> list[str]:
    """Return what is wrong."""
    found = made.found
    wrong = [*found.wrong]
    wrong += [f"nothing was granted for {found.quiet:.1f} s"] * (found.quiet > _MOST)
    wrong += [f"a call took {found.slowest:.1f} s"] * (found.slowest > LIMIT)
    return wrong


def tell(fault: str, rounds: Sequence[Round]) -> str:
    """Return a line about the rounds of a fault."""
    quiet = sorted(one.found.quiet for one in rounds)
    return (
        f"{fault:<11} {len(rounds):>6} {sum(one.found.granted for one in rounds):>8,} "
        f"{sum(len(judge(one)) for one in rounds):>6} {statistics.median(quiet):>9.1f} {quiet[-1]:>8.1f} "
        f"{max(one.found.slowest for one in rounds):>8.1f} {max(one.whole for one in rounds):>8.1f}"
    )


def main(arguments: Sequence[str]) -> int:
    """Make the rounds, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--fault", action="append", choices=[*FAULTS], default=[])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    made: list[Round] = []
    say = partial(print, flush=True)
    with started_patroni() as cluster:
        say(cluster.tell_version())
        migrate(cluster.url("postgres"))
        for number in range(options.rounds):
            for fault in options.fault or FAULTS:
                one = make_round(cluster, fault, number)
                made.append(one)
                said = f"{number} {fault}: nothing was granted for {one.found.quiet:.1f} s"
                say(said, *judge(one), file=sys.stderr)
                if options.json:
                    options.json.write_text(json.dumps([*map(_encode, made)], indent=1), encoding="utf-8")
    say("fault       rounds  granted  wrong  s quiet:   most    call   whole")
    for fault in dict.fromkeys(one.fault for one in made):
        say(tell(fault, [one for one in made if one.fault == fault]))
    return 1 if any(judge(one) for one in made) else 0


def _encode(made: Round) -> dict[str, object]:
    return {"fault": made.fault, "whole": made.whole, **made.found._asdict()}


def _find(cluster: Patroni) -> Node:
    primary = cluster.find_primary()
    assert primary is not None
    return primary


def _wait_for_grant(cluster: Patroni, load: Load) -> None:
    """Wait until a call that began after the last fault was granted something."""

    def is_granted() -> bool:
        load.go_on(0.0)
        return load.is_granted_again()

    cluster.wait(is_granted, "something is granted again")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
