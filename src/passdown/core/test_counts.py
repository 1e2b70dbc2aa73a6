"""Counts tests and passing tests in the output of the program that ran them (C155).

1. It knows pytest, unittest, jest, vitest, mocha, the runner of node, `go test -v` and `cargo test`, and does
   not guess for other programs.
2. Of several summaries in one output, the last counts. The summaries that go and cargo print for each package
   are added up.
3. Skipped tests count as tests, but not as passing.
4. The counts of go and cargo are unknown if a part of the output was left out.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from passdown.core.lazy_regex import pattern

MAX_CHARS: Final = 2_000_000
"""How many characters of an output are read, from its end."""

_COLOUR: Final = pattern(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_LEFT_OUT: Final = pattern(
    r"[0-9] (?:bytes|characters|chars|lines|tokens) (?:are )?(?:left out|truncated|omitted)"
    r"|omitted [0-9]+ of [0-9]+ lines|[Oo]utput (?:was )?truncated"
)
"""Matches how Passdown and hosts say that a part of an output is missing."""
_PYTEST: Final = pattern(
    r"(?m)^(?:=+ )?(?P<said>no tests ran|[0-9]{1,9} [a-z]+(?: [a-z]+)?"
    r"(?:, [0-9]{1,9} [a-z]+(?: [a-z]+)?){0,12})"
    r" in [0-9.]+s(?: \([0-9:]+\))?(?: =+)?[ \t]*$"
)
_UNITTEST: Final = pattern(
    r"(?m)^Ran (?P<count>[0-9]{1,9}) tests? in [0-9.]+s\n\n"
    r"(?:OK|FAILED|NO TESTS RAN)(?: \((?P<said>[^)\n]*)\))?[ \t]*$"
)
_JEST: Final = pattern(
    r"(?m)^[ \t]*Tests:[ \t]+(?P<said>(?:[0-9]{1,9} [a-z]+, ){0,6})(?P<count>[0-9]{1,9}) total[ \t]*$"
)
_VITEST: Final = pattern(
    r"(?m)^[ \t]*Tests[ \t]+(?P<said>[0-9]{1,9} [a-z]+(?: \| [0-9]{1,9} [a-z]+){0,6})"
    r" \((?P<count>[0-9]{1,9})\)[ \t]*$"
)
_MOCHA: Final = pattern(
    r"(?m)^[ \t]*(?P<passing>[0-9]{1,9}) passing \([^)\n]{1,40}\)[ \t]*$"
    r"(?:\n[ \t]*(?P<pending>[0-9]{1,9}) pending[ \t]*$)?"
    r"(?:\n[ \t]*(?P<failing>[0-9]{1,9}) failing[ \t]*$)?"
)
_NODE: Final = pattern(
    r"(?m)^[#\u2139] tests (?P<count>[0-9]{1,9})\n(?:[#\u2139] suites [0-9]{1,9}\n)?"
    r"[#\u2139] pass (?P<passing>[0-9]{1,9})$"
)
_GO: Final = pattern(
    r"(?m)^(?:(?P<begun>=== RUN   [^\s/]+)|(?P<passed>--- PASS: [^\s/]+ \([0-9.]+s\))"
    r"|--- (?:FAIL|SKIP): [^\s/]+ \([0-9.]+s\))$"
)
_CARGO: Final = pattern(
    r"(?m)^test result: [a-zA-Z]+\. ([0-9]{1,9}) passed; ([0-9]{1,9}) failed; ([0-9]{1,9}) ignored;"
)
_PART: Final = pattern(r"([0-9]{1,9}) ([a-z]+)")
_NAMED: Final = pattern(r"([a-z ]+)=([0-9]{1,9})")


class CountedTests(NamedTuple):
    """How many tests there are, and how many of them pass."""

    total: int
    passing: int

    @property
    def text(self) -> str:
        """Both counts in words."""
        if not self.total:
            return "no tests"
        noun = "test" if self.total == 1 else "tests"
        of = "" if self.total == self.passing else f"{self.passing} of "
        return f"{of}{self.total} {noun} passing"


def add_counts(counts: Iterable[CountedTests | None]) -> CountedTests | None:
    """Add up the counts of several commands; None if no count is known."""
    known = [one for one in counts if one is not None]
    return CountedTests(sum(one.total for one in known), sum(one.passing for one in known)) if known else None


def count_tests(output: str) -> CountedTests | None:
    """Read how many tests ran from the output of a command; None if it does not say."""
    text = _COLOUR.sub("", output[-MAX_CHARS:].replace("\r\n", "\n"))
    found = [
        (matches[-1].end(), matches, read) for one, read in _RUNNERS if (matches := [*one.finditer(text)])
    ]
    if not found:
        return None
    _, matches, read = max(found, key=lambda one: one[0])  # 2
    if read in _SUMMED and (len(output) > MAX_CHARS or _LEFT_OUT.search(text)):  # 4
        return None
    return read(matches)


Matches = list[re.Match[str]]


def _read_pytest(matches: Matches) -> CountedTests:
    said = _parts(matches[-1]["said"])
    ran = ("passed", "failed", "error", "errors", "skipped", "xfailed", "xpassed")
    return CountedTests(
        sum(said.get(word, 0) for word in ran), said.get("passed", 0) + said.get("xpassed", 0)
    )


def _read_total(matches: Matches) -> CountedTests:
    """Read a line of jest or vitest with the total number of tests."""
    return CountedTests(int(matches[-1]["count"]), _parts(matches[-1]["said"]).get("passed", 0))


def _read_mocha(matches: Matches) -> CountedTests:
    passing = int(matches[-1]["passing"])
    others = (matches[-1][name] for name in ("pending", "failing"))
    return CountedTests(passing + sum(int(one) for one in others if one), passing)


def _read_node(matches: Matches) -> CountedTests:
    return CountedTests(int(matches[-1]["count"]), int(matches[-1]["passing"]))


def _read_unittest(matches: Matches) -> CountedTests:
    count = int(matches[-1]["count"])
    others = sum(int(number) for _, number in _NAMED.findall(matches[-1]["said"] or ""))
    return CountedTests(count, max(0, count - others))  # each part of a test can fail by itself


def _read_go(matches: Matches) -> CountedTests | None:
    """Read the tests that began and those that passed; without `-v` only failures are named."""
    begun = sum(one["begun"] is not None for one in matches)
    return CountedTests(begun, sum(one["passed"] is not None for one in matches)) if begun else None


def _read_cargo(matches: Matches) -> CountedTests:
    numbers = [[int(number) for number in one.groups()] for one in matches]
    return CountedTests(sum(map(sum, numbers)), sum(passed for passed, *_ in numbers))


def _parts(said: str) -> dict[str, int]:
    return {word: int(number) for number, word in _PART.findall(said)}


_RUNNERS: Final[tuple[tuple[re.Pattern[str], Callable[[Matches], CountedTests | None]], ...]] = (
    (_PYTEST, _read_pytest),
    (_UNITTEST, _read_unittest),
    (_JEST, _read_total),
    (_VITEST, _read_total),
    (_MOCHA, _read_mocha),
    (_NODE, _read_node),
    (_GO, _read_go),
    (_CARGO, _read_cargo),
)  # 1
_SUMMED: Final = (_read_go, _read_cargo)
