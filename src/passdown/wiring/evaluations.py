"""Opens an empty, temporary project for a measurement, with a clock that stands still."""

from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from passdown.engines.scratch import scratch_folder
from passdown.settings import Settings
from passdown.wiring.workspaces import LocalWorkspace, Outside

if TYPE_CHECKING:
    from passdown.services.workspace.workspaces import Workspace


class _StoppedClock:
    """A clock that stands still."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        return self._at

    def monotonic(self) -> float:
        return 0.0


@contextmanager
def open_empty_project(now: datetime) -> "Generator[Workspace, None, None]":
    """Make a project in a temporary folder, with files and cache; the folder is removed at the end."""
    with scratch_folder() as folder:
        settings = Settings()
        workspace = LocalWorkspace(folder, settings, Outside(variables={}))
        vars(workspace)["clock"] = _StoppedClock(now)
        workspace.documents.create(f"{settings.paths.runtime}/.gitignore", b"*\n")  # the cache lies beside it
        with closing(workspace):
            yield workspace  # pyright: ignore[reportReturnType]  # as in `open_workspace`
