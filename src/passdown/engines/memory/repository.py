"""The `Repository` in this process's memory, over files that some `Documents` hold."""

import posixpath
from collections.abc import Mapping, Sequence
from datetime import datetime

from passdown.core.blobs import blob_id
from passdown.ports.documents import Documents
from passdown.ports.repository import UNKNOWN, Checkout, Committed, Skipped, Why
from passdown.records import record


@record
class MemoryCommit:
    """One commit that was made: its message, and the files it left behind."""

    message: str
    files: Mapping[str, str]


class MemoryRepository:
    """One checkout with one line of commits; what it stands for can be changed by assigning to it."""

    def __init__(self, documents: Documents, *, branch: str = "main", ignored: Sequence[str] = ()) -> None:
        """Start without a commit; a path is ignored if it is one of `ignored` or lies below one."""
        self.commits: list[MemoryCommit] = []
        self.current = branch
        self.default: str | None = None
        self.there = True
        self.refusal: Skipped | None = None
        self.works: list[tuple[datetime, str, tuple[str, ...]]] = []
        self._documents = documents
        self._ignored = tuple(ignored)

    def is_there(self) -> bool:
        """Say whether there is a repository."""
        return self.there

    def branch(self) -> str:
        """Name the branch we stand on, or `UNKNOWN`."""
        return self.current if self.there else UNKNOWN

    def integration_branch(self, preferred: str) -> str | None:
        """Name the branch on which all work meets, or None."""
        if preferred or not self.there:
            return preferred or None
        return self.default or (self.current if self.current in {"main", "master"} else None)

    def checkouts(self) -> Sequence[Checkout]:
        """List the one checkout."""
        return [Checkout(path="/memory", branch=self.current, is_here=True)] if self.there else []

    def common_folder(self) -> str | None:
        """Give a folder that is not on any disk."""
        return "/memory/.git" if self.there else None

    def listing(self, folder: str) -> Mapping[str, str]:
        """Give the id of every file that the last commit holds below a folder."""
        start = f"{folder.strip('/')}/".lstrip("/")
        return {path: name for path, name in self._files().items() if path.startswith(start)}

    def is_ignored(self, path: str) -> bool:
        """Say whether a path is kept out."""
        is_named = any(path == one or path.startswith(f"{one}/") for one in self._ignored)
        return self.there and is_named and path not in self._files()

    def commit(self, paths: Sequence[str], message: str) -> Committed | Skipped:
        """Commit these files as they lie in the documents, and nothing else."""
        if not self.there:
            return Skipped(why=Why.NO_REPOSITORY, reason="the project is not in a git repository")
        if self.refusal is not None:
            return self.refusal
        files = dict(self._files())
        own = sorted({posixpath.normpath(path) for path in paths if path and not self.is_ignored(path)})
        own = [path for path in own if self._take(path, files)]
        if files == self._files():
            return Skipped(why=Why.NOTHING, reason="there is nothing to commit")
        self.commits.append(MemoryCommit(message=message, files=files))
        return Committed(commit=f"{len(self.commits):040x}", paths=tuple(own))

    def commits_since(self, at: datetime) -> Sequence[str]:
        """Give the commits that a test says were made since."""
        return [name for made, name, _ in self.works if made >= at]

    def files_since(self, at: datetime) -> Sequence[str]:
        """Give the files that a test says were changed since."""
        return [path for made, _, paths in self.works if made >= at for path in paths]

    def _files(self) -> Mapping[str, str]:
        return self.commits[-1].files if self.commits else {}

    def _take(self, path: str, files: dict[str, str]) -> bool:
        """Bring one file up to date, and say whether it is or was there."""
        if path.startswith(("/", "..")) or self._documents.is_folder(path):
            return False
        if self._documents.exists(path):
            files[path] = blob_id(self._documents.read(path))
            return True
        return files.pop(path, None) is not None
