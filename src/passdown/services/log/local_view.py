"""The local view: updated at a start and after each event, outside git, without a commit (R131, R132).

An event marks it as outdated, so that if a hook is cut off, the next one updates it. The mark only saves
work: a start compares the view with the events in any case. This module imports little, because the end of
most turns only checks the mark.
"""

from typing import TYPE_CHECKING, Final

from passdown import layout
from passdown.core.formats.view_footer import ViewOwner, find_view_owner
from passdown.services.log.events import update_index
from passdown.services.log.views import (
    NOTE,
    ViewState,
    judge_view,
    local_view_path,
    make_text,
    read_view,
    view_place,
    write_view,
)
from passdown.services.workspace.local_files import Mark

if TYPE_CHECKING:
    from passdown.services.workspace.workspaces import Workspace

_OUTDATED: Final = Mark(
    layout.TO_SYNTHESIZE, b"An event was published; the next hook updates the local view.\n"
)


def mark_outdated(workspace: "Workspace") -> None:
    """Mark the view as outdated, before an event is published or when the view could not be made."""
    _OUTDATED.put(workspace)  # without the mark, the next event or start updates the view


def is_outdated(workspace: "Workspace") -> bool:
    """Return whether the local view may lack an event."""
    return _OUTDATED.is_put(workspace)


def mark_updated(workspace: "Workspace") -> None:
    """Mark the local view as up to date."""
    _OUTDATED.remove(workspace)  # a leftover mark costs one comparison at the end of the next turn


def update_local_view(workspace: "Workspace") -> str:
    """Update the local view from the events; return its path, or "" if there is nothing to show.

    1. In git it is the local file on every branch: a tracked one is only written with its commit (ADR 0009).
       Outside git it is where the policy says, unless a document of somebody else is there.
    2. If the index remembers the hash of the current view, the view is compared with that and not rendered
       again.

    Raises a PassdownError if the file is not ours or cannot be written.
    """
    update_index(workspace.log, workspace.index)
    path = _find_path(workspace)  # 1
    if read_view(workspace.documents, path) is None and workspace.index.digest(1).event_count == 0:
        return ""
    is_known = workspace.index.recall(NOTE) is not None
    if not is_known or judge_view(workspace.documents, path, workspace.index) is not ViewState.CURRENT:  # 2
        # Only one process at a time: a slow one could overwrite a newer view.
        with workspace.index.changing():
            text = make_text(workspace.index)
            write_view(workspace.documents, path, text, workspace.settings.paths.runtime)
    mark_updated(workspace)
    return path


def _find_path(workspace: "Workspace") -> str:
    local = local_view_path(workspace.settings)
    if workspace.repository.is_there():
        return local
    path = view_place(workspace.repository, workspace.settings).path
    is_foreign = find_view_owner(read_view(workspace.documents, path)) is ViewOwner.FOREIGN
    return local if is_foreign else path
