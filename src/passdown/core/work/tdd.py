"""The test-first cycle, RED, GREEN, REFACTOR, observed in a session's work (S4, R173 to R179, C103).

1. RED: a test file was written, or a test failed. GREEN: a test passed. REFACTOR: a commit after GREEN.
   A test that passes during REFACTOR changes nothing.
2. The order is RED, GREEN, REFACTOR, and RED again. Any other change counts too, with a warning.
3. A session follows the cycle if it has a track or a task, unless somebody switched it off or the task is
   only about documentation. Without test files, the cycle begins with the first one.
4. Each change adds a note to the task, in the words of the seed. A phase that ends has a duration.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

from passdown.core.facts import Fact
from passdown.core.formats.ledgers import TddPhase
from passdown.core.json_text import dump
from passdown.core.kinds import FactKind
from passdown.core.lazy_regex import pattern
from passdown.core.sessions.session_facts import TDD_OFF, TDD_ON, TDD_SKIPPED, Account, NewFact
from passdown.core.times import parse_instant, render_millis

NOTES: Final = MappingProxyType(
    {
        TddPhase.RED: "IN_PROGRESS: RED phase - writing failing test",
        TddPhase.GREEN: "IN_PROGRESS: GREEN phase - making test pass",
        TddPhase.REFACTOR: "IN_PROGRESS: REFACTOR phase - cleaning up code",
    }
)
"""The note on the task for each phase, in the words of the seed."""

NO_TESTS: Final = "No test files detected. Skipping TDD checkpoints."
DOCUMENTATION: Final = "The task is about documentation only. Skipping TDD checkpoints."
SWITCHED_OFF: Final = "Switched off with --no-tdd. Skipping TDD checkpoints."
NOT_ASKED_FOR: Final = "[tdd] default is off. Skipping TDD checkpoints; --tdd follows them."

_TEST_FILE: Final = pattern(r"(?:.*_(?:test|spec)\..*|.*\.(?:test|spec)\..*|(?:test|spec)_.*)")
_NOT_OURS: Final = pattern(r"(?:^|/)(?:\.[^/]+|node_modules|site-packages|venv|vendor|__pycache__)/")
_DOCUMENTATION: Final = pattern(r"\b(?:document|documentation|docs|readme|changelog|tutorial|guide)\b")
_BEGAN: Final = "began"
"""The additional member of a phase: when it began, by the transcript."""
_NEXT: Final = MappingProxyType(
    {
        "": TddPhase.RED,
        TddPhase.RED: TddPhase.GREEN,
        TddPhase.GREEN: TddPhase.REFACTOR,
        TddPhase.REFACTOR: TddPhase.RED,
    }
)


class PhaseChange(NamedTuple):
    """The beginning of a phase."""

    phase: TddPhase
    task: str
    at: datetime
    why: str
    warning: Annotated[str, "What is unusual about the order; empty if nothing is."] = ""

    @property
    def fact(self) -> NewFact:
        """The fact that records it."""
        because = f"{self.why}; {self.warning}" if self.warning else self.why
        return NewFact(
            FactKind.TDD,
            self.phase.value,
            self.task,
            because,
            others=((_BEGAN, dump(render_millis(self.at))),),
        )


class EndedPhase(NamedTuple):
    """A phase that ended, and how many seconds it took."""

    phase: str
    task: str
    at: datetime
    seconds: float


def is_test_file(path: str) -> bool:
    """Return whether a path is a test file of the project (R179)."""
    return not _NOT_OURS.search(path) and bool(_TEST_FILE.fullmatch(path.rpartition("/")[2]))


def find_skip(account: Account, *, default: bool, title: str, paths: Iterable[str]) -> str:
    """Return why the cycle of a task is not followed; empty if it is (3). `paths` are the project's files."""
    if account.tdd_choice == TDD_OFF:
        return SWITCHED_OFF
    if account.tdd_choice != TDD_ON and not default:
        return NOT_ASKED_FOR
    if _DOCUMENTATION.search(title.casefold()):
        return DOCUMENTATION
    return "" if any(map(is_test_file, paths)) else NO_TESTS


def say_skip(account: Account, reason: str) -> NewFact | None:
    """Return the fact that the cycle is not followed, and why; None if it is recorded for this task."""
    return None if account.tdd_skip == reason else NewFact(FactKind.TDD, TDD_SKIPPED, account.task, reason)


def is_followed(account: Account, *, default: bool) -> bool:
    """Return whether the session follows the cycle (3)."""
    if not (account.track or account.task) or account.tdd_choice == TDD_OFF:
        return False
    return account.tdd_skip in {"", NO_TESTS} and (default or account.tdd_choice == TDD_ON)


class Cycle:
    """Follows the phases of one session, one observation after the other."""

    def __init__(self, account: Account, now: datetime) -> None:
        """Start with the current phase of the session."""
        self.task = account.task
        self.phase: str = account.tdd if account.tdd in set(TddPhase) else ""
        self.began = _began(account.of(FactKind.TDD), now)
        self.changes: list[PhaseChange] = []
        self.ended: list[EndedPhase] = []
        self.has_refactored = False

    def bind(self, task: str, at: datetime) -> None:
        """Switch to another task, which starts a new cycle; an empty task means that it was closed."""
        if task != self.task:
            self._end(at)
            self.task, self.phase = task, ""

    def _end(self, at: datetime) -> None:
        if self.phase:
            self.has_refactored = self.has_refactored or self.phase == TddPhase.REFACTOR
            seconds = max(0.0, (at - self.began).total_seconds())
            self.ended.append(EndedPhase(self.phase, self.task, at, seconds))

    def write_file(self, path: str, at: datetime) -> None:
        """Observe that a file was written."""
        if is_test_file(path) and self.phase != TddPhase.RED:
            self.begin(TddPhase.RED, at, f"{path} was written")

    def run_test(self, command: str, code: int | None, at: datetime) -> None:
        """Observe that a test was run."""
        if code is None:
            return
        if code and self.phase != TddPhase.RED:
            self.begin(TddPhase.RED, at, f"{command[:200]}: exit {code}")
        elif not code and self.phase not in {TddPhase.GREEN, TddPhase.REFACTOR}:
            self.begin(TddPhase.GREEN, at, f"{command[:200]}: exit 0")

    def commit(self, name: str, at: datetime) -> None:
        """Observe a commit."""
        if self.phase == TddPhase.GREEN:
            self.begin(TddPhase.REFACTOR, at, f"commit {name[:12]}")
        elif self.phase == TddPhase.REFACTOR:
            self.has_refactored = True

    def begin(self, phase: TddPhase, at: datetime, why: str) -> PhaseChange:
        """Begin a phase (2)."""
        wanted = _NEXT[self.phase]
        warning = "" if phase == wanted else f"{phase} after {self.phase or 'nothing'}, expected {wanted}"
        self._end(at)
        change = PhaseChange(phase, self.task, at, why, warning)
        self.changes.append(change)
        self.phase, self.began = phase.value, at
        return change


def _began(facts: Iterable[Fact], now: datetime) -> datetime:
    """Return when the current phase began."""
    last = next((fact for fact in reversed([*facts]) if fact.text in set(TddPhase)), None)
    if last is None:
        return now
    stated: object = json.loads(dict(last.others).get(_BEGAN, '""'))
    return (parse_instant(stated) if isinstance(stated, str) and stated else None) or last.at


def list_phases(account: Account) -> Iterator[tuple[Fact, datetime]]:
    """Yield the phases of a session and when each began, oldest first."""
    for fact in account.of(FactKind.TDD):
        if fact.text in set(TddPhase):
            yield fact, _began([fact], fact.at)
