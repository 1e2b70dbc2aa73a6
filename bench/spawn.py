"""Start commands in turn and time each: `python -I bench/spawn.py ROUNDS < commands.json > seconds.json`.

It imports little and is a process of its own, so that starting a command costs the same for all of them.
"""

import json
import os
import sys
import time


def seconds_of(command: list[str], environment: dict[str, str], quiet: int, told: str) -> float:
    """Run a command whose output nobody reads; what it is told comes from a file."""
    actions: list[tuple[object, ...]] = [(os.POSIX_SPAWN_DUP2, quiet, descriptor) for descriptor in (1, 2)]
    actions.append((os.POSIX_SPAWN_OPEN, 0, told, os.O_RDONLY, 0))
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, environment, file_actions=actions)
    _, status = os.waitpid(child, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{command[1:]} ended with {os.waitstatus_to_exitcode(status)}")
    return seconds


def main() -> None:
    """Time every command once a round; the first round only warms the caches."""
    order = json.load(sys.stdin)
    quiet = os.open(os.devnull, os.O_RDWR)
    times: dict[str, list[float]] = {name: [] for name in order["commands"]}
    for number in range(int(sys.argv[1]) + 1):
        for name, command in order["commands"].items():
            told = order.get("inputs", {}).get(name, os.devnull)
            seconds = seconds_of(command, order["environment"], quiet, told)
            if number:
                times[name].append(seconds)
    json.dump(times, sys.stdout)


if __name__ == "__main__":
    main()
