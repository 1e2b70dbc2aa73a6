"""The list of the slowest tests: the quick run leaves them to CI, which runs them without counting coverage.

    pytest --cov --durations=0 tests/conformance tests/formats tests/unit > times.txt
    python -m tests.quick times.txt

writes the list again: the slowest tests, until the others take a fifth of the total time. They still run if
their file is named.

`covering_tests.txt` lists those of them that cover a line of core or services that no other test covers: CI
counts their coverage too. If CI misses a line, add a short test, or add a long one to that list.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

LIST: Final = Path(__file__).with_name("long_tests.txt")
COVERING: Final = Path(__file__).with_name("covering_tests.txt")
_LEFT: Final = 0.2
"""The share of the time that the other tests may take."""
_TIME: Final = re.compile(r"^([0-9.]+)s (?:call|setup|teardown) +([^\[\s]+)", re.MULTILINE)


def read_long() -> frozenset[str]:
    """Return the long tests, without their cases."""
    return frozenset(LIST.read_text(encoding="utf-8").split())


def read_covering() -> frozenset[str]:
    """Return the long tests whose coverage counts."""
    return frozenset(COVERING.read_text(encoding="utf-8").split())


def choose_long(times: Iterable[tuple[str, float]]) -> Iterator[str]:
    """Yield the longest tests, until the others take their share of the time."""
    sums: dict[str, float] = {}
    for test, seconds in times:
        sums[test] = sums.get(test, 0) + seconds
    left, most = sum(sums.values()), sum(sums.values()) * _LEFT
    for test, seconds in sorted(sums.items(), key=lambda one: one[1], reverse=True):
        if left <= most:
            return
        left -= seconds
        yield test


def main(path: str) -> None:
    """Write the list from the output of pytest."""
    said = Path(path).read_text(encoding="utf-8")
    times = [(test, float(seconds)) for seconds, test in _TIME.findall(said)]
    LIST.write_text("".join(f"{test}\n" for test in sorted(choose_long(times))), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
