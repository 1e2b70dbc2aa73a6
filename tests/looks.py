"""Whether a test looked at what a face answered or wrote.

A call of a face proves something only if the test looks at the result. Looks are recorded where tests read:

1. An answer: the fields of a `Done` or an `Answer` of ours and of a `CompletedProcess`, what pytest captured,
   what a process or a terminal printed.
2. Something that was written: a file that is opened for reading, the status of a path, the listing of a
   folder, a database. Files of the repository or of Python existed before, and do not count.

Reading an exit code is a look unless it is 0, which says only that nothing was refused; a helper that
requires 0 therefore does not look. A helper that makes the call and returns the answer is marked `@hands_on`:
what it reads itself does not count, the test must look at what it gets.

Whether the test compared what it read cannot be seen. A look counts for all calls before it, including those
of a helper that is not marked, of our own code that a test calls, or in an earlier step of a story.
"""

import builtins
import functools
import io
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import pytest
from _pytest.capture import CaptureResult

P = ParamSpec("P")
R = TypeVar("R")
Answered = TypeVar("Answered", bound=type[object])

_CODES: Final = frozenset({"code", "returncode"})
_TAKING: Final = frozenset(
    {"__contains__", "__eq__", "__getitem__", "__iter__", "__len__", "__ne__", "get", "items", "values"}
)
_ASKING: Final = frozenset(
    {"exists", "glob", "is_dir", "is_file", "is_symlink", "iterdir", "lstat", "readlink", "rglob", "stat"}
)
_GIVEN: Final = tuple(
    os.path.join(folder, "") for folder in (Path(__file__).parent.parent, sys.prefix, sys.base_prefix)
)
"""Folders in which no call of a test writes."""


class Looks:
    """The calls that the current test made, and which of them were followed by a look."""

    def __init__(self) -> None:
        """Start without any calls."""
        self.unseen: set[str] = set()
        self.seen: set[str] = set()
        self.has_looked = False
        self._is_open = False
        self._thread = threading.local()

    def forget(self) -> None:
        """Forget the previous test, and do not count yet."""
        self.unseen, self.seen = set(), set()
        self.has_looked = self._is_open = False

    def begin(self) -> None:
        """Start counting."""
        self.forget()
        self._is_open = True

    def end(self) -> None:
        """Stop counting: what pytest reads after this is not a look."""
        self._is_open = False

    def call(self, kind: str) -> None:
        """Record a call of a face of that kind."""
        if self._is_open:
            self.unseen.add(kind)

    def believe(self, kind: str) -> None:
        """Accept a marker in place of a call that could not be watched; a look is still needed."""
        if kind not in self.seen | self.unseen:
            (self.seen if self.has_looked else self.unseen).add(kind)

    @property
    def is_awaited(self) -> bool:
        """Whether a look would count: it is the first, or something was called; and no helper is running."""
        is_new = bool(self.unseen) or not self.has_looked
        return is_new and self._is_open and not getattr(self._thread, "helpers", 0)

    def look(self) -> None:
        """Record a look at everything that was called before."""
        if self.is_awaited:
            self.has_looked = True
            self.seen |= self.unseen
            self.unseen.clear()

    def look_at(self, path: Any) -> None:
        """Record a look at a path, if a call may have written something there."""
        is_path = self.is_awaited and isinstance(path, (str, bytes, os.PathLike))
        if is_path and not os.path.abspath(os.fsdecode(path)).startswith(_GIVEN):
            self.look()

    @contextmanager
    def helping(self) -> Iterator[None]:
        """Do not count reads: they are made by a helper for its caller."""
        self._thread.helpers = getattr(self._thread, "helpers", 0) + 1
        try:
            yield
        finally:
            self._thread.helpers -= 1


LOOKS: Final = Looks()
"""The looks of this process."""


# --- what helpers of ours say -------------------------------------------------------------------------


def hands_on(helper: Callable[P, R]) -> Callable[P, R]:
    """Do not count the reads of a helper: it calls a face, and returns the answer to the test."""

    @functools.wraps(helper)
    def handing(*arguments: P.args, **named: P.kwargs) -> R:
        with LOOKS.helping():
            return helper(*arguments, **named)

    return handing


def answer(kind: Answered) -> Answered:
    """Count reading a value of this class as a look."""
    for name in getattr(kind, "_fields", ()):
        setattr(kind, name, property(_reading(name, getattr(kind, name).__get__)))
    _change(kind, looking, *_TAKING.intersection(dir(kind)))
    return kind


def _reading(name: str, get: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        found = get(value)
        if found or name not in _CODES:
            LOOKS.look()
        return found

    return read


def looking(function: Callable[P, R]) -> Callable[P, R]:
    """Count each call of a function as a look."""

    @functools.wraps(function)
    def look(*arguments: P.args, **named: P.kwargs) -> R:
        LOOKS.look()
        return function(*arguments, **named)

    return look


# --- what Python and pytest have ----------------------------------------------------------------------


def watch() -> None:
    """Record every look from now on."""
    from passdown.engines.files.read import OpenFolder

    answer(CaptureResult)
    _change(pytest.CaptureFixture, hands_on, "readouterr")
    _change(subprocess, hands_on, "run")
    _change(subprocess.Popen, looking, "communicate")
    for name in ("returncode", "stderr", "stdout"):
        setattr(subprocess.CompletedProcess, name, _attribute(name))
    _change(Path, _looking_at, *_ASKING)
    _change(Path, hands_on, "mkdir")  # it checks whether the folder exists
    _change(OpenFolder, looking, "open_file", "scan", "status")
    _change(sqlite3, _looking_at, "connect")
    builtins.open = io.open = _opening(io.open)


def _change(owner: object, how: Callable[[Callable[..., Any]], object], *names: str) -> None:
    for name in names:
        setattr(owner, name, how(getattr(owner, name)))


def _attribute(name: str) -> property:
    """Return a property in place of an attribute that each value has for itself."""

    def write(value: Any, found: Any) -> None:
        vars(value)[name] = found

    return property(_reading(name, lambda value: vars(value)[name]), write)


def _looking_at(function: Callable[..., R]) -> Callable[..., R]:
    @functools.wraps(function)
    def look(path: object, *arguments: Any, **named: Any) -> R:
        LOOKS.look_at(path)
        return function(path, *arguments, **named)

    return look


def _opening(function: Callable[..., Any]) -> Any:
    @functools.wraps(function)
    def opening(file: object, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        if "r" in mode:
            LOOKS.look_at(file)
        return function(file, mode, *arguments, **named)

    return opening
