"""Whether a test looked at what a face answered or wrote.

A call of a face proves something only if the test looks afterwards. Looks are noted where tests read:

1. An answer: the fields of a `Done` or an `Answer` of ours and of a `CompletedProcess`, what pytest captured,
   what a process or a terminal printed.
2. Something that was written: a file that is opened to be read, a path that is asked for, a folder that is
   listed, a database. What belongs to the repository or to Python was there before, and is no such thing.

An exit code is a look unless it is 0, which says only that nothing was refused; a helper that insists on 0
therefore looks at nothing. A helper that makes the call and hands the answer on carries `@hands_on`: what it
reads itself does not count, the test has to look at what it was given.

What cannot be seen is whether the test compared what it read. A look counts for every call before it, also
one of a helper that is not marked, of our own code that a test calls, or for the next step of a story.
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
"""Where nothing lies that a call of a test wrote."""


class Looks:
    """What the test that runs called, and what of it was followed by a look."""

    def __init__(self) -> None:
        """Begin with nothing called."""
        self.unseen: set[str] = set()
        self.seen: set[str] = set()
        self.has_looked = False
        self._is_open = False
        self._thread = threading.local()

    def forget(self) -> None:
        """Forget the test before, and count nothing yet."""
        self.unseen, self.seen = set(), set()
        self.has_looked = self._is_open = False

    def begin(self) -> None:
        """Count from now on."""
        self.forget()
        self._is_open = True

    def end(self) -> None:
        """Count no more: what pytest reads then is no look."""
        self._is_open = False

    def call(self, kind: str) -> None:
        """Note a call of a face of that kind."""
        if self._is_open:
            self.unseen.add(kind)

    def believe(self, kind: str) -> None:
        """Take the word of a marker for a call that could not be watched; a look is needed all the same."""
        if kind not in self.seen | self.unseen:
            (self.seen if self.has_looked else self.unseen).add(kind)

    @property
    def is_awaited(self) -> bool:
        """Whether a look would count: it is the first, or something was called; and no helper is at work."""
        is_new = bool(self.unseen) or not self.has_looked
        return is_new and self._is_open and not getattr(self._thread, "helpers", 0)

    def look(self) -> None:
        """Note a look at all that was called before."""
        if self.is_awaited:
            self.has_looked = True
            self.seen |= self.unseen
            self.unseen.clear()

    def look_at(self, path: Any) -> None:
        """Note a look at a path, if something that a call wrote can lie there."""
        is_path = self.is_awaited and isinstance(path, (str, bytes, os.PathLike))
        if is_path and not os.path.abspath(os.fsdecode(path)).startswith(_GIVEN):
            self.look()

    @contextmanager
    def helping(self) -> Iterator[None]:
        """Let reads be no looks: they are made for whoever asked."""
        self._thread.helpers = getattr(self._thread, "helpers", 0) + 1
        try:
            yield
        finally:
            self._thread.helpers -= 1


LOOKS: Final = Looks()
"""Those of this process."""


# --- what helpers of ours say -------------------------------------------------------------------------


def hands_on(helper: Callable[P, R]) -> Callable[P, R]:
    """Let what a helper reads be no look: it calls a face, and gives its answer to the test."""

    @functools.wraps(helper)
    def handing(*arguments: P.args, **named: P.kwargs) -> R:
        with LOOKS.helping():
            return helper(*arguments, **named)

    return handing


def answer(kind: Answered) -> Answered:
    """Let reading a value of this class be a look."""
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
    """Let each call of a function be a look."""

    @functools.wraps(function)
    def look(*arguments: P.args, **named: P.kwargs) -> R:
        LOOKS.look()
        return function(*arguments, **named)

    return look


# --- what Python and pytest have ----------------------------------------------------------------------


def watch() -> None:
    """Note each look from now on."""
    from passdown.engines.files.read import OpenFolder

    answer(CaptureResult)
    _change(pytest.CaptureFixture, hands_on, "readouterr")
    _change(subprocess, hands_on, "run")
    _change(subprocess.Popen, looking, "communicate")
    for name in ("returncode", "stderr", "stdout"):
        setattr(subprocess.CompletedProcess, name, _attribute(name))
    _change(Path, _looking_at, *_ASKING)
    _change(Path, hands_on, "mkdir")  # it asks whether the folder is there
    _change(OpenFolder, looking, "open_file", "scan", "status")
    _change(sqlite3, _looking_at, "connect")
    builtins.open = io.open = _opening(io.open)


def _change(owner: object, how: Callable[[Callable[..., Any]], object], *names: str) -> None:
    for name in names:
        setattr(owner, name, how(getattr(owner, name)))


def _attribute(name: str) -> property:
    """Make what stands for an attribute that each value has for itself."""

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
