"""Find the documents of a track: design, specification and plan (C101)."""

from collections.abc import Collection
from typing import Final

from passdown import layout
from passdown.core.lazy_regex import pattern
from passdown.services.workspace.workspaces import Workspace

_NAME: Final = pattern(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_DOCUMENTS: Final = (layout.DESIGN, layout.SPEC, layout.PLAN)


def list_track_documents(workspace: Workspace, track: str) -> Collection[str]:
    """Return the documents that a track or change has; an invalid folder name has none."""
    return [name for name in _DOCUMENTS if find_track_document(workspace, track, name)]


def find_track_document(workspace: Workspace, track: str, name: str) -> str:
    """Return the path of a document of the track, or else of the change; empty if it does not exist."""
    if not _NAME.fullmatch(track):
        return ""
    paths = workspace.settings.paths
    places = (layout.paper(folder, track, name) for folder in (paths.tracks, paths.loops))
    return next((path for path in places if workspace.documents.exists(path)), "")
