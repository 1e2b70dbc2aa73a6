"""What services need to judge commits: their changes, their author, and where git looks for hooks."""

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple, Protocol

from passdown.records import record


@record
class CommitContent:
    """The changes of a commit."""

    tree: Annotated[str, "The id of its tree; empty if it is not known yet."]
    paths: Annotated[
        tuple[str, ...], "The files that it adds, changes or deletes; a rename lists both names."
    ]
    commit: Annotated[str, "Its id; empty before it is made."] = ""


class ChangedLines(NamedTuple):
    """How many lines of a file were added and removed; None if it is not a text."""

    added: int | None
    removed: int | None


class CommitContents(Protocol):
    """The changes of commits in one checkout. Paths are relative to the root, with ``/``. Starts git."""

    def staged(self) -> CommitContent | None:
        """Return what a commit would change now, or None if git cannot tell.

        In a hook of `git commit`, these are the changes of that commit, with its tree.
        """
        ...

    def commits_in(self, span: str) -> Sequence[CommitContent] | None:
        """Return what the commits of a range such as ``main..HEAD`` changed, oldest first.

        None if git does not know the range, or if it is not a range.
        """
        ...

    def commits_pushed(self, tips: Sequence[str], known: Sequence[str]) -> Sequence[CommitContent] | None:
        """Return what the commits of a push changed, oldest first: `tips` and their ancestors.

        `known` commits and those of all remotes, as far as this clone knows them, are left out. None if git
        cannot tell.
        """
        ...

    def changed_since(self, branch: str) -> Sequence[str]:
        """Return the files that commits changed since the current branch left another branch, sorted.

        Empty if git knows that branch neither here nor at the remote ``origin``.
        """
        ...

    def find_created(self, commit: str, paths: Sequence[str]) -> Sequence[str]:
        """Return the paths that a commit does not have; none if git does not know the commit."""
        ...

    def count_changes(self, commit: str, paths: Sequence[str]) -> Mapping[str, ChangedLines]:
        """Return how the tracked files among these paths differ from those of a commit.

        Files that are the same are left out, and all if git does not know the commit.
        """
        ...

    def read_committed(self, commit: str, path: str) -> bytes | None:
        """Return the content of a file in a commit; None if git has no such commit or file."""
        ...

    def author_name(self) -> str:
        """Return the name that the user gave git for the author of commits; empty if there is none."""
        ...

    def hooks_path(self) -> str:
        """Return the folder that git's settings name for hooks, absolute; empty if it is git's own."""
        ...
