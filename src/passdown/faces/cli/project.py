"""The project that a command was called in, with a fallback if its cache cannot be used."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from passdown.errors import CacheError, PassdownError, StorageError
from passdown.faces.cli import output
from passdown.services.workspace.workspaces import (
    NO_LIMITS,
    UNCACHED,
    ReadLimits,
    Workspace,
    list_other_roots,
)
from passdown.settings import Settings
from passdown.wiring.projects import find_root, read_settings
from passdown.wiring.workspaces import Listener, open_workspace

if TYPE_CHECKING:  # few commands have something to record
    from collections.abc import Iterable

    from passdown.core.project.metrics import Metric
    from passdown.services.workspace.verbs import VerbRun

T = TypeVar("T")


class CliProject:
    """One checkout of the project, with its workspace."""

    def __init__(self, root: Path, settings: Settings, verb: "VerbRun | None" = None) -> None:
        """Open the checkout, without its cache if that cannot be opened."""
        self.root = root
        self._verb = verb
        self.workspace = self._open(settings)

    def call(self, work: Callable[[Workspace], T]) -> T:
        """Call a function with the workspace; if the cache fails, call it again without the cache."""
        try:
            return work(self.workspace)
        except CacheError as found:
            output.note(f"{found.message}; continuing without it")
            self.workspace = self._open(self.workspace.settings, UNCACHED)
            return work(self.workspace)

    def _open(self, settings: Settings, limits: ReadLimits = NO_LIMITS) -> Workspace:
        listener = Listener(output.note, output.note, self._record_metrics)
        return open_workspace(self.root, settings, limits, listener, self._verb)

    def _record_metrics(self, metrics: "Iterable[Metric]") -> None:
        from passdown.faces.hooks.hook_log import log_metrics  # few commands have something to record

        log_metrics(str(self.root), metrics)


def current_folder() -> Path:
    """Return the folder that the command was called in."""
    try:
        return Path.cwd()
    except OSError as found:
        reason = f"could not find the current folder: {found.strerror}"
        raise StorageError(reason, hint="change to a folder that exists") from found


def open_here(verb: "VerbRun | None" = None) -> CliProject:
    """Open the project of the current folder, for a command, and print warnings about its settings."""
    root = find_root(current_folder())
    settings, warnings = read_settings(root)
    for warning in warnings:
        output.note(warning)
    return CliProject(root, settings, verb)


class OtherCheckout(NamedTuple):
    """Another checkout of the project, with the path to show and its branch."""

    project: CliProject
    shown: str
    branch: str


def open_others(project: CliProject) -> Sequence[OtherCheckout]:
    """Open the other checkouts of the project; skip those whose settings cannot be read, with a note."""
    return list(_open_others(project))


def _open_others(project: CliProject) -> Iterator[OtherCheckout]:
    for path, branch in list_other_roots(project.workspace.repository):
        root = Path(path)
        if not os.path.isdir(root):  # Path.is_dir() raises without permission
            continue
        shown = os.path.relpath(root, project.root).replace(os.sep, "/")
        try:
            settings, _ = read_settings(root)
        except PassdownError as found:
            output.note(f"skipped the events of {shown}: {found.message}")
            continue
        yield OtherCheckout(CliProject(root, settings), shown, branch)
