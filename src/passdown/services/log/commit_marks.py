"""Marks that save work: something was published, everything is committed, the view is not committed.

No decision depends on a mark alone. If one is lost, git is asked once more, or the next event updates the
view. This module is separate from `commits`, because most hooks find nothing to do and need no more than
this.
"""

from typing import Final

from passdown import layout
from passdown.services.log.indexing import require_complete
from passdown.services.log.views import view_place
from passdown.services.workspace.local_files import Mark
from passdown.services.workspace.workspaces import Workspace

_NOTE: Final = "committed"
"""The name under which an index remembers that everything was committed."""

TO_COMMIT: Final = Mark(
    layout.TO_COMMIT, b"A running session published something; the end of a turn commits it.\n"
)
"""Without it, the next event or start makes the commit; a leftover one costs one question to git."""

TO_COMMIT_VIEW: Final = Mark(
    layout.TO_COMMIT_VIEW, b"Events were committed without the view; a later hook commits it.\n"
)


def has_outdated_view(workspace: Workspace) -> bool:
    """Return whether the view may lack committed events and should be committed on this branch."""
    if not TO_COMMIT_VIEW.is_put(workspace):
        return False
    return view_place(workspace.repository, workspace.settings).is_tracked


def describe_files(workspace: Workspace) -> str:
    """Return a text that changes with every event and every session record; the index must be up to date.

    Only the folder of records is listed: its months tell when they last changed. A record that is added to a
    month within the grain of a time stamp goes unnoticed, until the next event.

    Raises an UnreadError if not all events were read.
    """
    require_complete(workspace.index)
    folder = workspace.settings.paths.archive
    months = workspace.documents.folders(folder)
    records = list(workspace.documents.list(folder, apart_from={f"{folder}/{name}" for name in months}))
    changed = (f"{name}:{mark}" for name, mark in months.items())
    events = workspace.index.digest(1).events_sha256
    return " ".join((events, f"{len(records)}", records[-1] if records else "", *changed))


def remember_committed(workspace: Workspace, described: str) -> None:
    """Remember that the described files were committed."""
    workspace.index.remember(_NOTE, described)


def is_known_committed(workspace: Workspace) -> bool:
    """Return whether all files were committed and none was added since."""
    remembered = None if workspace.index.unread() else workspace.index.recall(_NOTE)
    return remembered is not None and remembered == describe_files(workspace)
