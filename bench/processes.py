"""Run several things at once, each in a process of its own, and time them from the start to the last end."""

import os
import time
from collections.abc import Callable, Sequence

Run = Callable[[Callable[[], None]], None]
"""Gets ready, calls what it is given, and then does what is timed."""


def time_at_once(runs: Sequence[Run]) -> float:
    """Run each in a process of its own, or the only one here; give the seconds that all of them took."""
    if len(runs) == 1:
        began: list[float] = []
        runs[0](lambda: began.append(time.perf_counter()))
        return time.perf_counter() - began[0]
    ready, tell = os.pipe()
    go, hold = os.pipe()
    children = [_fork(run, tell, go, hold) for run in runs]
    os.close(go)
    os.close(tell)
    _await(ready, len(runs))
    start = time.perf_counter()
    os.close(hold)
    _await(ready, len(runs))
    seconds = time.perf_counter() - start
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    os.close(ready)
    assert not any(codes), codes
    return seconds


def _await(pipe: int, count: int) -> None:
    """Wait until all processes said something, or ended."""
    while count and (said := os.read(pipe, count)):
        count -= len(said)


def _fork(run: Run, tell: int, go: int, hold: int) -> int:
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.close(hold)

        def wait() -> None:
            os.write(tell, b".")
            os.read(go, 1)

        run(wait)
        os.write(tell, b".")
        code = 0
    finally:
        os._exit(code)
