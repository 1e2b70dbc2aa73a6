"""Calls of `bd`: one after the other where the build needs it, and judged by what it prints."""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Final, NamedTuple

from passdown.core.safe_text import one_line
from passdown.errors import (
    StorageError,
    TrackerAnswerError,
    TrackerBusyError,
    TrackerMissingError,
    TrackerRefusedError,
    TrackerUnsureError,
    UsageError,
)
from passdown.ports.programs import NOT_STARTED, TIMED_OUT, ProgramResult, Programs
from passdown.trackers.beads.builds import Build
from passdown.trackers.beads.issues import NOTHING_SAID, Answer, Issue, parse_answer

_BUSY: Final = ("holds the exclusive lock", "database is locked")
_UNKNOWN: Final = ("no issue found", "no issues found", "issue not found", "not found:")
_NO_DATABASE: Final = ("no beads database found", "database not found")
_OUT_OF_SYNC: Final = "out of sync with JSONL"
_FIRST_PAUSE: Final = 0.05
_LONGEST_WAIT: Final = 5.0
_LONGEST_ARGUMENT: Final = 120_000
"""In bytes; Linux takes 128 KiB for one argument."""
_LONGEST_ERROR: Final = 300
_LOOK: Final = "It may have been done; look with `passdown task show ID`."


class UnknownTaskError(UsageError):
    """There is no task of that id."""


class Installation(NamedTuple):
    """A `bd` on this machine, with what it needs to be called."""

    program: str
    build: Build
    programs: Programs
    lock: Callable[[], AbstractContextManager[None]]
    """Keeps out every other process of ours that calls `bd` for the same database."""
    pause: Callable[[float], None]
    now: Callable[[], datetime]


class Calls:
    """Calls `bd` for one database."""

    def __init__(self, installed: Installation) -> None:
        """Keep what is installed."""
        self._installed = installed
        self._depth = 0
        self.build = installed.build
        self.now = installed.now

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
        lock = self._installed.lock()
        try:
            lock.__enter__()
        except StorageError as found:
            raise TrackerBusyError("other sessions use Beads for too long", hint=found.hint) from found
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
            return self._ask((*words, f"--actor={agent or 'passdown'}", *quiet))

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
        return _judge(words[0], done)

    def _repeat_while_busy(self, words: Sequence[str]) -> ProgramResult:
        """Run `bd`; if another process has the database, it did nothing, and is run again."""
        pause, waited = _FIRST_PAUSE, 0.0
        while True:
            done = self._run(words)
            if done.is_done or not any(text in done.text + done.errors for text in _BUSY):
                return done
            if waited >= _LONGEST_WAIT:
                raise TrackerBusyError(
                    "another program uses the database of Beads", hint="Nothing was changed; try again."
                )
            self._installed.pause(pause)
            waited += pause
            pause *= 2

    def _run(self, words: Sequence[str]) -> ProgramResult:
        for word in words:
            if len(word.encode()) > _LONGEST_ARGUMENT:
                hint = f"Use at most {_LONGEST_ARGUMENT:,} bytes."
                raise TrackerRefusedError("the text is too long for `bd`", hint=hint)
        done = self._installed.programs.run([self._installed.program, *words])
        if done.code == NOT_STARTED:
            raise TrackerMissingError(f"bd was not started: {done.text}", hint="Is it still installed?")
        if done.code == TIMED_OUT or done.code < 0:
            why = done.text if done.code == TIMED_OUT else f"it was ended by signal {-done.code}"
            raise TrackerUnsureError(
                f"`bd {words[0]}` did not finish: {why}",
                hint=_LOOK,
            )
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


def _judge(verb: str, done: ProgramResult) -> tuple[Issue, ...]:
    """Return the tasks that `bd` printed, or raise what it said instead; its exit code alone says nothing."""
    answer = parse_answer(done.text)
    if answer.is_readable and not answer.error:
        return answer.issues
    said = _words(answer, done)
    if any(text in said for text in _UNKNOWN):
        raise UnknownTaskError(f"there is no such task: {said}", hint="`passdown task list` lists them")
    if any(text in said for text in _NO_DATABASE):
        raise TrackerMissingError(
            f"bd finds no database: {said}", hint="Run `bd init`, or set `kind` below [tracker] to board."
        )
    if not answer.is_readable and done.is_done:
        raise TrackerAnswerError(f"the answer of `bd {verb}` cannot be read: {said}", hint="Is `bd` current?")
    if not (done.text.strip() or done.errors.strip()):
        raise TrackerUnsureError(f"`bd {verb}` ended with {done.code} and said nothing", hint=_LOOK)
    raise TrackerRefusedError(f"`bd {verb}` refused: {said}", hint="Nothing was changed.")


def _words(answer: Answer, done: ProgramResult) -> str:
    """Return what was said about an error, in one short line."""
    told = answer.error if answer.error != NOTHING_SAID else ""
    told = f"{told} {done.errors}".strip() or done.text.strip() or NOTHING_SAID
    return one_line(" ".join(told.split()))[:_LONGEST_ERROR]
