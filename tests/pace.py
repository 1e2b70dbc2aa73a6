"""How long work inside this process takes, in seconds of the processor, and how slow the machine is now."""

import time
from collections.abc import Callable
from typing import Final

_LOOPS: Final = 300_000
_REFERENCE: Final = 0.01
"""Seconds of the processor for so many loops, where limits in seconds were chosen."""


def pace() -> float:
    """Give how many times as slow as that machine this one is now; 1 if it is not slower."""
    began = time.process_time()
    number = 0
    while number < _LOOPS:
        number += 1
    return max(1.0, (time.process_time() - began) / _REFERENCE)


def works_within(seconds: float, act: Callable[[], object], tries: int = 5) -> bool:
    """Say whether this process does something within so many seconds of the processor, or more if it is slow.

    For what takes a small part of them, unless its time grows with the square of the size.
    """
    found: list[float] = []
    for _ in range(tries):
        began = time.process_time()
        act()
        found.append(time.process_time() - began)
        if found[-1] < seconds or found[-1] < seconds * pace():
            return True
    print(f"{min(found):.2f} s of the processor, at most {seconds:g}")
    return False
