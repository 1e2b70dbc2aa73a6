"""Processor time limits for work inside this process, scaled to how slow the machine is now."""

import time
from collections.abc import Callable
from typing import Final

_LOOPS: Final = 300_000
_REFERENCE: Final = 0.01
"""Processor seconds for that many loops on the reference machine, where the limits were chosen."""


def pace() -> float:
    """Return how many times slower this machine is than the reference; at least 1."""
    began = time.process_time()
    number = 0
    while number < _LOOPS:
        number += 1
    return max(1.0, (time.process_time() - began) / _REFERENCE)


def works_within(seconds: float, act: Callable[[], object], tries: int = 5) -> bool:
    """Return whether this process does something within that many processor seconds, or more if it is slow.

    The limit is meant for work that takes a small part of it, unless its time grows with the square of its
    size.
    """
    found: list[float] = []
    for _ in range(tries):
        began = time.process_time()
        act()
        found.append(time.process_time() - began)
        if found[-1] < seconds or found[-1] < seconds * pace():
            return True
    print(f"{min(found):.2f} s of processor time, at most {seconds:g}")
    return False
