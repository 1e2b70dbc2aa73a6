"""Act as the program that an agent runs in: `python -I bench/host.py < rounds.json > seconds.json`.

Each round is a process of its own, as each session of a host is, and waits for every command, as a host does.
It imports little, so that starting a command costs the same for all of them.
"""

import json
import os
import sys
import time


def run(step: dict[str, object], environment: dict[str, str], quiet: int) -> float:
    """Run one command whose output nobody reads, after what the host writes before it."""
    for path, text in step.get("writes", []):  # type: ignore[attr-defined]
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
    command: list[str] = step["command"]  # type: ignore[assignment]
    told = str(step.get("input", os.devnull))
    actions: list[tuple[object, ...]] = [(os.POSIX_SPAWN_DUP2, quiet, descriptor) for descriptor in (1, 2)]
    actions.append((os.POSIX_SPAWN_OPEN, 0, told, os.O_RDONLY, 0))
    variables = {**environment, **step.get("variables", {})}  # type: ignore[dict-item]
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, variables, file_actions=actions)
    _, status = os.waitpid(child, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{command[1:]} ended with {os.waitstatus_to_exitcode(status)}")
    return seconds


def main() -> None:
    """Run every round in a process of its own; give the seconds of each command by its name."""
    order = json.load(sys.stdin)
    quiet = os.open(os.devnull, os.O_RDWR)
    os.chdir(order["folder"])
    times: dict[str, list[float]] = {}
    for steps in order["rounds"]:
        ready, tell = os.pipe()
        child = os.fork()
        if not child:
            found = [(step["name"], run(step, order["environment"], quiet)) for step in steps]
            os.write(tell, json.dumps(found).encode())
            os._exit(0)
        os.close(tell)
        with open(ready, "rb") as pipe:
            found = json.loads(pipe.read() or b"[]")
        _, status = os.waitpid(child, 0)
        if status:
            sys.exit(1)
        for name, seconds in found:
            times.setdefault(name, []).append(seconds)
    json.dump(times, sys.stdout)


if __name__ == "__main__":
    main()
