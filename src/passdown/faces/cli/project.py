"""The project a command was called in, with a way on when its cache cannot be used."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeVar

from passdown import wiring
from passdown.errors import CacheError, PassdownError, StorageError
from passdown.faces.cli import output
from passdown.faces.cli.progress import Progress
from passdown.records import replace
from passdown.services.checkouts import Checkout
from passdown.settings import Settings

T = TypeVar("T")

_MANY: Final = 500
"""Reading so many files takes long enough to be shown."""


class Reading:
    """The bar that is shown while many files are read."""

    def __init__(self, what: str = "reading events") -> None:
        """Begin without a bar: how many files there are is not known yet."""
        self._what = what
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        """Give the bar."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, found: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away, however the work ended."""
        if self._progress is not None:
            self._progress.hide()

    def step(self, number: int, total: int) -> None:
        """Count one more file as read; when the count begins anew, so does the bar."""
        if self._progress is None or number == 1:
            shown = total >= _MANY and output.is_terminal(sys.stderr)
            self._progress = Progress(self._what, total, shown=shown)
        self._progress.step()


class Project:
    """One checkout of the project, and what it is worked with."""

    def __init__(self, root: Path, settings: Settings) -> None:
        """Open the checkout; where its cache cannot be opened, do without."""
        self.root = root
        self.checkout = wiring.open_checkout(root, settings)

    def call(self, work: Callable[[Checkout], T]) -> T:
        """Do something with the checkout; when its cache fails, once more without."""
        try:
            return work(self.checkout)
        except CacheError as found:
            output.note(f"{found.message}; going on without it")
            self.checkout = replace(self.checkout, index=wiring.open_memory_index())
            return work(self.checkout)


def current_folder() -> Path:
    """Return the folder the command was called in."""
    try:
        return Path.cwd()
    except OSError as found:
        reason = f"could not find the current folder: {found.strerror}"
        raise StorageError(reason, hint="change to a folder that exists") from found


def open_here() -> Project:
    """Open the project around the current folder, and say what is wrong with its settings."""
    root = wiring.find_root(current_folder())
    settings, warnings = wiring.read_settings(root)
    for warning in warnings:
        output.note(warning)
    return Project(root, settings)


class Neighbour(NamedTuple):
    """Another checkout of the project, and how it is shown."""

    project: Project
    shown: str
    branch: str


def open_others(project: Project) -> Sequence[Neighbour]:
    """Open the other checkouts of the project; one whose settings cannot be read is named and left out."""
    return list(_open_others(project))


def _open_others(project: Project) -> Iterator[Neighbour]:
    for root, branch in wiring.list_other_roots(project.root, project.checkout):
        if not os.path.isdir(root):  # noqa: PTH112 - is_dir() raises where we may not look
            continue
        shown = os.path.relpath(root, project.root).replace(os.sep, "/")
        try:
            settings, _ = wiring.read_settings(root)
        except PassdownError as found:
            output.note(f"events of {shown} are left out: {found.message}")
            continue
        yield Neighbour(Project(root, settings), shown, branch)
