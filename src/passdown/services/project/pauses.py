"""Pause and resume a project, with a mark for all its checkouts (C70)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from passdown import layout
from passdown.core.project.pauses import OFF, is_off, parse_mark, render_mark
from passdown.records import record
from passdown.services.workspace.local_files import list_places, read_small, write_local
from passdown.services.workspace.workspaces import Workspace


@record
class Pause:
    """A pause: what causes it, and since when."""

    by: Annotated[str, "The mark's path as shown to the user, or the variable's name."]
    since: Annotated[datetime | None, "Since when; None if unknown."] = None


def find_pauses(workspace: Workspace, variables: Mapping[str, str]) -> tuple[Pause, ...]:
    """Return everything that turns Passdown off here."""
    found = [Pause(by=OFF)] if is_off(variables) else []
    for documents, path, shown in list_places(workspace, layout.PAUSED):
        if documents.exists(path):
            found.append(Pause(by=shown, since=parse_mark(read_small(documents, path))))
    return tuple(found)


def pause(workspace: Workspace, now: datetime) -> Pause | None:
    """Pause the project; return None if it is already paused.

    The mark is in git's folder, for all checkouts. Without git, or if that folder cannot be written, it is in
    the folder of local state, for this checkout. Raises a StorageError if neither can be written.
    """
    if find_pauses(workspace, {}):
        return None
    return Pause(by=write_local(workspace, layout.PAUSED, render_mark(now).encode()), since=now)


def unpause(workspace: Workspace) -> tuple[str, ...]:
    """Remove and return every mark; raise a StorageError if one cannot be removed."""
    gone: list[str] = []
    for documents, path, shown in list_places(workspace, layout.PAUSED):
        if documents.exists(path) and documents.remove(path, documents.read(path)):
            gone.append(shown)
    return tuple(gone)
