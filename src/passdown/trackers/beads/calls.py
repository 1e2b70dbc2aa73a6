"""Calls of `bd`: one by one where the build needs that, and judged by their output.

A call that fails may succeed later; all attempts of a command end ten seconds after its first failure (C148).
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final, NamedTuple

from passdown.core.lazy_regex import pattern
from passdown.core.safe_text import one_line
from passdown.errors import (
    StorageError,
    TrackerAnswerError,
    TrackerBusyError,
    TrackerMissingError,
    TrackerRefusedError,
    TrackerSpentError,
    TrackerUnsureError,
    UsageError,
)
from passdown.ports.clock import Clock
from passdown.ports.programs import NOT_STARTED, TIMED_OUT, ProgramResult, Programs
from passdown.trackers.beads.builds import Build
from passdown.trackers.beads.issues import NOTHING_SAID, Answer, Issue, parse_answer
from passdown.trackers.beads.refusals import AnswerMeaning, judge

_BUSY: Final = pattern(r"holds the exclusive lock|failed to open database: .*database is locked")
"""Printed before anything was done, so the call is repeated; a lock that appears later is a failure."""
_NO_DATABASE: Final = ("no beads database found", "database not found")
_OUT_OF_SYNC: Final = "out of sync with JSONL"
UNNAMED: Final = "passdown"
"""The actor for calls of `bd` without a session."""
_FIRST_PAUSE: Final = 0.05
_LONGEST_WAIT: Final = 5.0
LONGEST: Final = 10.0
"""Seconds for all attempts of one command, from the first call that failed."""
_LONGEST_ARGUMENT: Final = 120_000
"""In bytes; Linux allows 128 KiB for one argument."""
_LONGEST_ERROR: Final = 300
_CHANGES: Final = frozenset({"create", "update", "close", "heartbeat"})
_LATER: Final = "Try again later."
_LOOK: Final = "The change may have been made; check with `passdown task show ID`."
_LOOK_FOR_NEW: Final = "The task may have been added; check with `passdown task list`."


class UnknownTaskError(UsageError):
    """No task has this id."""


class Installation(NamedTuple):
    """A `bd` on this machine, with everything needed to call it."""

    program: str
    build: Build
    programs: Callable[[float], Programs]
    """Starts programs with a time limit."""
    lock: Callable[[float], AbstractContextManager[None]]
    """Locks out our other processes that call `bd` for the same database; waits up to some seconds."""
    pause: Callable[[float], None]
    clock: Clock


class CallTime:
    """The time that one command has left for `bd`; it is limited from the first failure on."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._ends: float | None = None

    def left(self) -> float:
        """Return the seconds that are left; raise a TrackerSpentError if there are none."""
        left = LONGEST if self._ends is None else self._ends - self._monotonic()
        if left <= 0:
            raise TrackerSpentError(f"bd kept failing for {LONGEST:g} seconds", hint=_LATER)
        return left

    def begin(self) -> float:
        """Return the start time of a call that may fail."""
        return self._monotonic()

    def fail(self, began: float) -> None:
        """Limit the time, counted from the start of the first call that failed."""
        self._ends = began + LONGEST if self._ends is None else self._ends


class Calls:
    """Calls `bd` for one database."""

    def __init__(self, installed: Installation) -> None:
        self._installed = installed
        self._depth = 0
        self._patience = CallTime(installed.clock.monotonic)
        self.build = installed.build
        self.now = installed.clock.now

    @contextmanager
    def alone(self, *, is_change: bool = False) -> Generator[None, None, None]:
        """Lock out calls of `bd` by our other processes, if the build needs that (C98).

        Changes run one by one with every build: with four writers at once, even the newest build makes one of
        them wait for longer than a call may take.
        """
        if self._depth or not (self.build.needs_lock or is_change):
            yield
            return
        with self._locked():
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        lock, began = self._installed.lock(self._patience.left()), self._patience.begin()
        try:
            lock.__enter__()
        except StorageError as found:
            self._patience.fail(began)
            raise TrackerBusyError("Beads is busy with calls of other sessions", hint=_LATER) from found
        try:
            yield
        finally:
            lock.__exit__(None, None, None)

    def read(self, *words: str) -> tuple[Issue, ...]:
        """Run a command that reads tasks."""
        return self._ask(words)

    def change(self, agent: str, *words: str) -> tuple[Issue, ...]:
        """Change tasks for an agent; return their new state.

        A call that took too long or died raises a TrackerUnsureError: the caller must look at the task.
        """
        quiet = ("--no-auto-flush", "--no-auto-import") if self.build.has_imports else ()
        with self.alone(is_change=True):
            return self._ask((*words, f"--actor={agent or UNNAMED}", *quiet))

    def show(self, task: str) -> Issue | None:
        """Return a task; None if none has exactly this id, which may be the beginning of another."""
        require_id(task)
        try:
            found = self.read("show", task)
        except UnknownTaskError:
            return None
        return next((one for one in found if one.id == task), None)

    def run(self, *words: str) -> ProgramResult:
        """Run a command whose output is text."""
        with self.alone():
            return self._repeat_while_busy(words)

    def _ask(self, words: Sequence[str]) -> tuple[Issue, ...]:
        command = (*words, "--json")
        with self.alone():
            done = self._repeat_while_busy(command)
            if _OUT_OF_SYNC in done.text + done.errors:
                self._repeat_while_busy(("sync", "--import-only"))
                done = self._repeat_while_busy(command)
        return _read(self.build, words[0], done)

    def _repeat_while_busy(self, words: Sequence[str]) -> ProgramResult:
        """Run `bd`; run it again if it did nothing because another process has the database."""
        pause, waited = _FIRST_PAUSE, 0.0
        while True:
            done = self._run(words)
            if not _BUSY.search(done.text + done.errors) or judge(self.build, done) is AnswerMeaning.DONE:
                return done
            if waited >= _LONGEST_WAIT:
                raise TrackerBusyError("another program is using the Beads database", hint=_LATER)
            self._installed.pause(pause)
            waited += pause
            pause *= 2

    def _run(self, words: Sequence[str]) -> ProgramResult:
        for word in words:
            if len(word.encode()) > _LONGEST_ARGUMENT:
                hint = f"Use at most {_LONGEST_ARGUMENT:,} bytes."
                raise TrackerRefusedError("the text is too long for `bd`", hint=hint)
        programs, began = self._installed.programs(self._patience.left()), self._patience.begin()
        done = programs.run([self._installed.program, *words])
        may_fail = not done.is_done or "--json" in words
        if may_fail and judge(self.build, done) is AnswerMeaning.FAILED:
            self._patience.fail(began)
        if done.code == NOT_STARTED:
            raise TrackerMissingError(
                f"bd could not be started: {done.text}", hint="Check that it is still installed."
            )
        if done.code == TIMED_OUT or done.code < 0:
            why = done.text if done.code == TIMED_OUT else f"it was killed by signal {-done.code}"
            raise TrackerUnsureError(f"`bd {words[0]}` did not finish: {why}", hint=_find_hint(words[0]))
        return done


def require_id(task: str) -> None:
    """Raise an UnknownTaskError for an id that `bd` would take for an option or for several lines."""
    if not task or task.startswith("-") or not task.isprintable():
        raise UnknownTaskError(f"{one_line(task)!r} is not a task id", hint="`passdown task list` lists them")


def clean(text: str) -> str:
    """Return a text that can be an argument: valid UTF-8 without NUL."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _read(build: Build, verb: str, done: ProgramResult) -> tuple[Issue, ...]:
    """Return the tasks that `bd` printed, or raise its error."""
    verdict, answer = judge(build, done), parse_answer(done.text)
    if verdict is AnswerMeaning.DONE:
        return answer.issues
    said = _words(answer, done)
    if verdict is AnswerMeaning.UNKNOWN:
        raise UnknownTaskError(f"no such task: {said}", hint="`passdown task list` lists them")
    if verdict is AnswerMeaning.REFUSED:
        raise TrackerRefusedError(f"`bd {verb}` refused: {said}", hint="Trying again will not help.")
    if any(text in said for text in _NO_DATABASE):
        hint = 'Run `bd init`, or set `kind = "board"` under [tracker].'
        raise TrackerUnsureError(f"bd found no database: {said}", hint=hint)
    if done.is_done and not answer.is_readable:
        raise TrackerAnswerError(
            f"cannot read the output of `bd {verb}`: {said}", hint="Check whether `bd` is up to date."
        )
    raise TrackerUnsureError(f"`bd {verb}` failed with exit code {done.code}: {said}", hint=_find_hint(verb))


def _find_hint(verb: str) -> str:
    """Return what to do after a call that failed; the id of a new task is unknown."""
    if verb == "create":
        return _LOOK_FOR_NEW
    return _LOOK if verb in _CHANGES else _LATER


def _words(answer: Answer, done: ProgramResult) -> str:
    """Return the words of an error, in one short line."""
    told = answer.error if answer.error != NOTHING_SAID else ""
    told = f"{told} {done.errors}".strip() or done.text.strip() or NOTHING_SAID
    return one_line(" ".join(told.split()))[:_LONGEST_ERROR]
