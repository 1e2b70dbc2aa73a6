"""A `current.md` that a person or another tool wrote: it is told to sessions until it is migrated (R139)."""

from datetime import timedelta
from typing import TYPE_CHECKING

from passdown.core.formats.view_footer import ViewOwner, find_view_owner
from passdown.errors import PassdownError, StorageError
from passdown.services.log.views import legacy_copy_path
from passdown.services.workspace.workspaces import Workspace

if TYPE_CHECKING:  # hardly any project has such a document
    from passdown.core.merge.event_facts import EventFacts


def find_legacy(workspace: Workspace) -> str:
    """Return the path of a document that we did not make in the place of the view, or "".

    One that was migrated in this checkout does not count, even if the view is elsewhere on this branch.
    """
    path = workspace.settings.paths.view
    try:
        data = workspace.documents.read(path) if workspace.documents.exists(path) else None
        if data is None or find_view_owner(data) is not ViewOwner.FOREIGN:
            return ""
        return "" if workspace.documents.exists(legacy_copy_path(workspace.settings, data)) else path
    except StorageError:  # a folder, a link, or too large
        return ""


def read_legacy(workspace: Workspace) -> "EventFacts | None":
    """Return what such a document says, as if it were an event; None if there is none, or it cannot be read.

    Without a date it is older than every event. The index must be up to date.
    """
    path = find_legacy(workspace)
    if not path:
        return None
    from passdown.core.merge.event_facts import EventRank, source_of
    from passdown.services.log.migrations import read_document

    try:
        said = read_document(path, workspace.documents.read(path))
    except PassdownError:  # it has conflict markers, or is not text; the user is told of the file
        return None
    at = said.at or min(
        (place.rank.at - timedelta(milliseconds=1) for place in workspace.index.places()),
        default=workspace.now(),
    )
    return source_of(said.event, EventRank(at, path.rpartition("/")[2], "", ""))
