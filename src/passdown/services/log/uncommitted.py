"""Find the files of ours that no commit has.

A verb lists our folders and compares them with the last commit. A hook does not walk the tree (C131): the
index knows which files of the log it has read and not yet found in a commit, and git is asked about these
alone. What this clone writes is always among them, because an event is taken into the index as it is written.
"""

from collections.abc import Sequence
from typing import Final

from passdown import layout
from passdown.core.merge.rollups import is_rollup
from passdown.services.workspace.local_files import Mark
from passdown.services.workspace.workspaces import Workspace

ARCHIVING: Final = Mark(
    layout.ARCHIVING, b"Events are being archived; the commit looks at all files of Passdown.\n"
)


def list_uncommitted(workspace: Workspace, *, is_indexed: bool = True) -> Sequence[str]:
    """Return the events, rollups, archived files and records added or archived since the last commit.

    A file that is gone and not in the archive was removed by the user, who commits that. A hook looks at all
    files only if the index could not be brought up to date, or if events were archived: those are gone.
    """
    if not (workspace.is_hook and is_indexed) or ARCHIVING.is_put(workspace):
        return _list_all(workspace)
    events = _list_events(workspace)
    return _list_all(workspace) if any(is_rollup(_name(path)) for path in events) else events


def _list_events(workspace: Workspace) -> Sequence[str]:
    """Return the events that the index knows, and the records, that the last commit lacks."""
    ours, index = workspace.settings.paths, workspace.index
    paths = {f"{ours.events}/{path}": path for path in index.uncommitted()}
    records = [*workspace.documents.list(ours.archive)]
    committed = workspace.tracking.committed_among([*paths, *records])
    index.note_committed([path for full, path in paths.items() if full in committed])
    return sorted({*paths, *records} - committed)


def _list_all(workspace: Workspace) -> Sequence[str]:
    ours = workspace.settings.paths
    folders = (ours.events, ours.event_archive, ours.archive)
    committed = set(workspace.repository.listing(*folders))
    there = {path for folder in folders for path in workspace.documents.list(folder)}
    gone = committed - there
    archived = {_name(path) for path in there if gone and path.startswith(f"{ours.event_archive}/")}
    return sorted((there - committed) | {path for path in gone if _name(path) in archived})


def _name(path: str) -> str:
    return path.rpartition("/")[2]
