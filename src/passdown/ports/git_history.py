"""What services need from a repository's history: past commits, unfinished work, obstacles to a commit."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from passdown.ports.repository import Skipped


class UnfinishedWork(NamedTuple):
    """The work that exists only in this checkout."""

    changed: Sequence[str] = ()
    """Changed and new files that are not committed, relative to the root, without ignored files."""
    unpushed: int | None = None
    """The number of commits of the branch that no remote has; None without a remote."""


class DescribedCommit(NamedTuple):
    """A commit as people recognise it: by its subject and files."""

    id: str
    subject: str
    files: tuple[str, ...] = ()
    """The files that it changed, relative to the root; none for a merge."""


class GitHistory(Protocol):
    """The commits of one checkout. If git is missing or fails, the answer is empty and nothing raises."""

    def head(self) -> str:
        """Return the id of the last commit; empty before the first commit and without git."""
        ...

    def count_since(self, commit: str, apart_from: Sequence[str] = ()) -> int | None:
        """Count the commits since the given one; return None if it is unknown here.

        Commits that change only the files and folders in `apart_from`, relative to the project's root, do not
        count.
        """
        ...

    def commits_since(self, at: datetime, after: str = "") -> Sequence[str]:
        """Return the ids of the commits made in this checkout since then, oldest first.

        Git records only whole seconds, so in the first second, commits up to `after` are left out. Commits
        that were fetched, checked out or amended away are always left out. Only reads files.
        """
        ...

    def describe(self, commits: Sequence[str]) -> Sequence[DescribedCommit]:
        """Return the subjects and files of commits, given by their full ids, in the same order.

        Commits that git does not have here, commits on no branch here, and our own are left out. Starts git.
        """
        ...

    def texts_of(self, path: str) -> Sequence[bytes]:
        """Return the content of a file in the last commit and in each of its parents, where it exists.

        Starts git.
        """
        ...

    def contents(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the content of committed files by their ids; an unknown id is left out. Starts git."""
        ...

    def files_since(self, at: datetime) -> Sequence[str]:
        """Return the files that those commits changed, and files with uncommitted changes that are newer.

        Paths are relative to the root, with ``/``; files that git ignores are left out. Starts git.
        """
        ...

    def find_unfinished(self) -> UnfinishedWork:
        """Return what is not committed, and how many commits no remote has. Starts git."""
        ...

    def find_obstacle(
        self, now: datetime, amendable: timedelta, *, files_only: bool = False
    ) -> Skipped | None:
        """Return why only the user should commit now, or None.

        Reasons: there is no repository or no commit yet, no branch is checked out, a command with several
        steps is in progress, the index is locked, or git knows no author; or the last commit is not ours, not
        pushed, and was made within `amendable` before `now`, so that the user may still amend it. With
        `files_only`, git is not started, and the last two reasons are not checked.
        """
        ...

    def committable(self, paths: Sequence[str]) -> Sequence[str]:
        """Return the paths that a commit would include: no ignored files, links or folders."""
        ...
