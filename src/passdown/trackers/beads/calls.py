"""Calls of `bd`: one after the other where the build needs it, and judged by what it prints.

A call that fails may pass later; all tries of one command end ten seconds after the first failure (C148).
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
"""Said before anything was done, so the call is made again; a lock that is met later is a failure."""
_NO_DATABASE: Final = ("no beads database found", "database not found")
_OUT_OF_SYNC: Final = "out of sync with JSONL"
UNNAMED: Final = "passdown"
"""As whom `bd` is called for somebody without a session."""
_FIRST_PAUSE: Final = 0.05
_LONGEST_WAIT: Final = 5.0
LONGEST: Final = 10.0
"""Seconds within which all tries of one command end, from the first call that failed."""
_LONGEST_ARGUMENT: Final = 120_000
"""In bytes; Linux takes 128 KiB for one argument."""
_LONGEST_ERROR: Final = 300
_CHANGES: Final = frozenset({"create", "update", "close", "heartbeat"})
_LATER: Final = "Try again when it answers."
_LOOK: Final = "It may have been done; look with `passdown task show ID`."
_LOOK_FOR_NEW: Final = "It may have been done; look with `passdown task list`."


class UnknownTaskError(UsageError):
    """There is no task of that id."""


class Installation(NamedTuple):
    """A `bd` on this machine, with what it needs to be called."""

    program: str
    build: Build
    programs: Callable[[float], Programs]
    """Starts programs with a time limit."""
    lock: Callable[[float], AbstractContextManager[None]]
    """Keeps out every other process of ours that calls `bd` for the same database; waits for some seconds."""
    pause: Callable[[float], None]
    clock: Clock


class CallTime:
    """How much time one command has left for `bd`: without a failure enough for any call, then less."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._ends: float | None = None

    def left(self) -> float:
        """Return the seconds that are left; raise a TrackerSpentError if there are none."""
        left = LONGEST if self._ends is None else self._ends - self._monotonic()
        if left <= 0:
            raise TrackerSpentError(
                f"bd failed for {LONGEST:g} seconds, and is not called again", hint=_LATER
            )
        return left

    def begin(self) -> float:
        """Return when something begins that may fail."""
        return self._monotonic()

    def fail(self, began: float) -> None:
        """Limit the time from the beginning of the first that failed."""
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
        """Let no other process of ours call `bd` meanwhile, if the build needs that (C98).

        Changes come one by one with every build: of four writers at once, the newest lets one wait for longer
        than a call may take.
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
            raise TrackerBusyError("other sessions use Beads for too long", hint=_LATER) from found
        try:
            yield
        finally:
            lock.__exit__(None, None, None)

    def read(self, *words: str) -> tuple[Issue, ...]:
        """Ask for tasks."""
        return self._ask(words)

    def change(self, agent: str, *words: str) -> tuple[Issue, ...]:
        """Change tasks for an agent; return them as they are then.

        A call that took too long or died raises a TrackerUnsureError: whoever made it must look.
        """
        quiet = ("--no-auto-flush", "--no-auto-import") if self.build.has_imports else ()
        with self.alone(is_change=True):
            return self._ask((*words, f"--actor={agent or UNNAMED}", *quiet))

    def show(self, task: str) -> Issue | None:
        """Return a task; None if there is none of exactly this id, which may be the start of another."""
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
        """Run `bd`; if another process has the database, it did nothing, and is run again."""
        pause, waited = _FIRST_PAUSE, 0.0
        while True:
            done = self._run(words)
            if not _BUSY.search(done.text + done.errors) or judge(self.build, done) is AnswerMeaning.DONE:
                return done
            if waited >= _LONGEST_WAIT:
                raise TrackerBusyError("another program uses the database of Beads", hint=_LATER)
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
            raise TrackerMissingError(f"bd was not started: {done.text}", hint="Is it still installed?")
        if done.code == TIMED_OUT or done.code < 0:
            why = done.text if done.code == TIMED_OUT else f"it was ended by signal {-done.code}"
            raise TrackerUnsureError(f"`bd {words[0]}` did not finish: {why}", hint=_find_hint(words[0]))
        return done


def require_id(task: str) -> None:
    """Raise an UnknownTaskError for what `bd` would take for an option, or for several lines."""
    if not task or task.startswith("-") or not task.isprintable():
        raise UnknownTaskError(
            f"{one_line(task)!r} is not the id of a task", hint="See `passdown task list`."
        )


def clean(text: str) -> str:
    """Return a text as an argument can hold it: without NUL, and in UTF-8."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _read(build: Build, verb: str, done: ProgramResult) -> tuple[Issue, ...]:
    """Return the tasks that `bd` printed, or raise what it said instead."""
    verdict, answer = judge(build, done), parse_answer(done.text)
    if verdict is AnswerMeaning.DONE:
        return answer.issues
    said = _words(answer, done)
    if verdict is AnswerMeaning.UNKNOWN:
        raise UnknownTaskError(f"there is no such task: {said}", hint="`passdown task list` lists them")
    if verdict is AnswerMeaning.REFUSED:
        raise TrackerRefusedError(f"`bd {verb}` refused: {said}", hint="Trying again does not help.")
    if any(text in said for text in _NO_DATABASE):
        hint = "Run `bd init`, or set `kind` below [tracker] to board."
        raise TrackerUnsureError(f"bd finds no database: {said}", hint=hint)
    if done.is_done and not answer.is_readable:
        raise TrackerAnswerError(f"the answer of `bd {verb}` cannot be read: {said}", hint="Is `bd` current?")
    raise TrackerUnsureError(f"`bd {verb}` failed with exit code {done.code}: {said}", hint=_find_hint(verb))


def _find_hint(verb: str) -> str:
    """Return what to do after a call that failed; nobody knows the id of a new task."""
    if verb == "create":
        return _LOOK_FOR_NEW
    return _LOOK if verb in _CHANGES else _LATER


def _words(answer: Answer, done: ProgramResult) -> str:
    """Return what was said about an error, in one short line."""
    told = answer.error if answer.error != NOTHING_SAID else ""
    told = f"{told} {done.errors}".strip() or done.text.strip() or NOTHING_SAID
    return one_line(" ".join(told.split()))[:_LONGEST_ERROR]
