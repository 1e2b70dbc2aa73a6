"""Remove a project's local files; files that git tracks stay."""

from collections.abc import Sequence
from typing import NamedTuple

from passdown import layout
from passdown.ports.documents import Documents
from passdown.services.project.setups import classify_paths
from passdown.services.workspace.workspaces import Workspace


class PurgeableFile(NamedTuple):
    """A file that exists on this machine only."""

    documents: Documents
    path: str
    shown: str


def list_local(workspace: Workspace) -> Sequence[PurgeableFile]:
    """List a project's local files: journals and caches in git's folder, ledgers, state."""
    found: list[PurgeableFile] = []
    if (git := workspace.git_documents) is not None:
        found += [PurgeableFile(git, path, layout.shown_in_git(path)) for path in git.list(layout.OURS)]
    for folder in classify_paths(workspace.settings.paths).local:
        tracked = workspace.tracking.tracked(folder)
        found += [
            PurgeableFile(workspace.documents, path, path)
            for path in workspace.documents.list(folder)
            if not tracked.holds(path)
        ]
    return found


def purge(files: Sequence[PurgeableFile]) -> int:
    """Remove local files and return how many; a file that changes in the meantime stays."""
    return sum(one.documents.remove(one.path, one.documents.read(one.path)) for one in files)
