"""Read and write files that stay on this machine: in git's own folder, or in a folder that git ignores."""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from passdown import layout
from passdown.errors import StorageError

if TYPE_CHECKING:
    from passdown.ports.documents import Documents
    from passdown.services.workspace.workspaces import Workspace

_MOST_BYTES: Final = 64
_IGNORE: Final = b"# Everything here is local to this checkout.\n*\n"


class LocalFile(NamedTuple):
    """A location for a file of local state, and its path as shown to the user."""

    documents: "Documents"
    path: str
    shown: str


def ignore_folder(documents: "Documents", folder: str) -> None:
    """Keep a folder of local files out of git with an ignore file; a new one is private to its owner."""
    rule = f"{folder}/{layout.IGNORE}"
    if not documents.exists(rule):
        documents.replace(rule, _IGNORE, local=True)


def read_if_there(documents: "Documents", path: str) -> bytes | None:
    """Read a file; return None if there is none."""
    return documents.read(path) if documents.exists(path) else None


def read_small(documents: "Documents", path: str) -> str:
    """Read a short text of ours; empty if there is none, or it is too long or cannot be read."""
    with suppress(StorageError):
        if documents.size(path) <= _MOST_BYTES:
            return documents.read(path).decode("ascii", "replace").strip()
    return ""


class Mark(NamedTuple):
    """A file in this checkout that exists while work may be pending; it only saves searching for the work.

    So it is not synced: a power cut may lose it, or bring it back (ADR 0042).
    """

    name: str
    text: bytes

    def put(self, workspace: "Workspace") -> None:
        """Create it, if possible."""
        with suppress(StorageError):
            if not self.is_put(workspace):
                ignore_folder(workspace.documents, workspace.settings.paths.runtime)
                workspace.documents.replace(self._path(workspace), self.text, local=True, durable=False)

    def is_put(self, workspace: "Workspace") -> bool:
        """Return whether it exists."""
        return workspace.documents.exists(self._path(workspace))

    def remove(self, workspace: "Workspace") -> None:
        """Remove it, if possible."""
        with suppress(StorageError):
            workspace.documents.remove(self._path(workspace), self.text, durable=False)

    def _path(self, workspace: "Workspace") -> str:
        return f"{workspace.settings.paths.runtime}/{self.name}"


def list_places(workspace: "Workspace", name: str) -> Iterator[LocalFile]:
    """Yield the locations of a file of local state: git's folder, for all checkouts, then this checkout."""
    if workspace.git_documents is not None:
        path = layout.in_git(name)
        yield LocalFile(workspace.git_documents, path, layout.shown_in_git(path))
    path = f"{workspace.settings.paths.runtime}/{name}"
    yield LocalFile(workspace.documents, path, path)


def write_local(workspace: "Workspace", name: str, data: bytes) -> str:
    """Write a file of local state to the first location that works; return its path as shown to the user.

    A sandbox may forbid git's folder; then the file is written to this checkout. Raises a StorageError if it
    cannot be written anywhere.
    """
    *preferred, last = list_places(workspace, name)
    for place in preferred:
        with suppress(StorageError):  # the last location raises the error
            place.documents.replace(place.path, data, local=True)
            return place.shown
    ignore_folder(workspace.documents, workspace.settings.paths.runtime)
    last.documents.replace(last.path, data, local=True)
    return last.shown


def remove_local(workspace: "Workspace", name: str) -> None:
    """Remove a file of local state that nobody needs any more, if possible."""
    for place in list_places(workspace, name):
        with suppress(StorageError):  # it may not exist; a leftover file is small and never read
            place.documents.remove(place.path, place.documents.read(place.path))
