"""The `Repository` in the memory of this process, for files in any `Documents`."""

import posixpath
from collections.abc import Mapping, Sequence

from passdown.core.git_hash import git_blob_id
from passdown.core.project.tracked_paths import TrackedPaths, find_tracked
from passdown.ports.documents import Documents
from passdown.ports.repository import UNKNOWN, Checkout, Committed, Skipped, SkipReason
from passdown.records import record


@record
class MemoryCommit:
    """One commit: its message, and all files after it."""

    message: str
    files: Mapping[str, str]


class MemoryRepository:
    """One checkout with a linear history; assign to the attributes to change its state."""

    def __init__(self, documents: Documents, *, branch: str = "main", ignored: Sequence[str] = ()) -> None:
        """Start without commits; a path is ignored if it is one of `ignored` or below one."""
        self.commits: list[MemoryCommit] = []
        self.current = branch
        self.default: str | None = None
        self.there = True
        self.last = ""
        self.refusal: Skipped | None = None
        self._documents = documents
        self._ignored = tuple(ignored)

    def is_there(self) -> bool:
        """Return whether there is a repository."""
        return self.there

    def branch(self) -> str:
        """Return the current branch, or `UNKNOWN`."""
        return self.current if self.there else UNKNOWN

    def last_commit(self) -> str:
        """Return the id of the last commit."""
        return self.last if self.there else ""

    def integration_branch(self, preferred: str) -> str | None:
        """Return the branch on which all work is merged, or None."""
        if preferred or not self.there:
            return preferred or None
        return self.default or (self.current if self.current in {"main", "master"} else None)

    def checkouts(self) -> Sequence[Checkout]:
        """List the only checkout."""
        return [Checkout(path="/memory", branch=self.current, is_here=True)] if self.there else []

    def common_folder(self) -> str | None:
        """Return a folder that is not on disk."""
        return "/memory/.git" if self.there else None

    def prefix(self) -> str:
        """Return an empty prefix: the root is the top."""
        return ""

    def listing(self, *folders: str) -> Mapping[str, str]:
        """Return the ids of all files below these folders in the last commit."""
        starts = tuple(f"{folder.strip('/')}/".lstrip("/") for folder in folders)
        return {path: name for path, name in self._files().items() if path.startswith(starts)}

    def committed_among(self, paths: Sequence[str]) -> frozenset[str]:
        """Return those of some paths that are files in the last commit."""
        return frozenset(self._files()).intersection(paths)

    def is_ignored(self, path: str) -> bool:
        """Return whether a path is ignored."""
        is_named = any(path == one or path.startswith(f"{one}/") for one in self._ignored)
        return self.there and is_named and path not in self._files()

    def names(self) -> Sequence[str] | None:
        """Return the committed files, or None without a repository."""
        return sorted(self._files()) if self.there else None

    def tracked(self, folder: str) -> TrackedPaths:
        """Return what the last commit holds of a folder."""
        return find_tracked(self._files() if self.there else (), folder)

    def commit(self, paths: Sequence[str], message: str) -> Committed | Skipped:
        """Commit these files as they are in the documents, and nothing else."""
        if not self.there:
            return Skipped(why=SkipReason.NO_REPOSITORY, reason="the project is not in a git repository")
        if self.refusal is not None:
            return self.refusal
        files = dict(self._files())
        own = sorted({posixpath.normpath(path) for path in paths if path and not self.is_ignored(path)})
        own = [path for path in own if self._take(path, files)]
        if files == self._files():
            return Skipped(why=SkipReason.NOTHING, reason="nothing to commit")
        self.commits.append(MemoryCommit(message=message, files=files))
        return Committed(commit=f"{len(self.commits):040x}", paths=tuple(own))

    def _files(self) -> Mapping[str, str]:
        return self.commits[-1].files if self.commits else {}

    def _take(self, path: str, files: dict[str, str]) -> bool:
        """Update one file; return whether it exists or existed."""
        if path.startswith(("/", "..")) or self._documents.is_folder(path):
            return False
        if self._documents.exists(path):
            files[path] = git_blob_id(self._documents.read(path))
            return True
        return files.pop(path, None) is not None

    def is_main_checkout(self) -> bool:
        """Return whether there is a repository: it has one checkout."""
        return self.there

    def has_remote(self) -> bool:
        """Return False."""
        return False

    def find_refusal(self) -> Skipped | None:
        """Return why nothing is committed, or None."""
        return self.refusal

    def committed_text(self, path: str) -> bytes | None:
        """Return the content of a committed file that did not change since."""
        return self._documents.read(path) if path in self._files() and self._documents.exists(path) else None

    def staged_in(self, *folders: str) -> frozenset[str]:
        """Return nothing: there is no index."""
        del folders
        return frozenset()

    def commit_files(self, paths: Sequence[str], message: str) -> Committed | Skipped:
        """Commit these files."""
        return self.commit(paths, message)

    def find_conflicts(self, *folders: str) -> None:
        """Return None: nothing is merged."""
        del folders

    def settle(self, contents: Mapping[str, str | None]) -> Skipped | None:
        """Do nothing: nothing conflicts."""
        del contents
        return None
