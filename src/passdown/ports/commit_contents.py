"""What services need to judge commits: what they change, and where git looks for hooks."""

from collections.abc import Sequence
from typing import Annotated, Protocol

from passdown.records import record


@record
class CommitContent:
    """What a commit changes."""

    tree: Annotated[str, "The id of its tree; empty if it is not known yet."]
    paths: Annotated[tuple[str, ...], "The files that it adds, changes or deletes; both names of a rename."]
    commit: Annotated[str, "Its id; empty before it is made."] = ""


class CommitContents(Protocol):
    """What commits of one checkout change. Paths are relative to the root, with ``/``; git is started."""

    def staged(self) -> CommitContent | None:
        """Return what a commit would change now, or None if git cannot tell.

        In a hook of `git commit`, that is what this commit changes, with its tree.
        """
        ...

    def commits_in(self, span: str) -> Sequence[CommitContent] | None:
        """Return what the commits of a range such as ``main..HEAD`` changed, the oldest first.

        None if git does not know the range, or it is none.
        """
        ...

    def commits_pushed(self, tips: Sequence[str], known: Sequence[str]) -> Sequence[CommitContent] | None:
        """Return what the commits changed that a push adds, the oldest first: `tips` and what they contain.

        Left out are `known` commits and those of all remotes, as far as this clone knows them. None if git
        cannot tell.
        """
        ...

    def changed_since(self, branch: str) -> Sequence[str]:
        """Return the files that commits changed since the current branch left another one; sorted.

        Empty if git does not know that branch, here or at the remote ``origin``.
        """
        ...

    def find_created(self, commit: str, paths: Sequence[str]) -> Sequence[str]:
        """Return those of the paths that a commit does not have; none if git does not know the commit."""
        ...

    def hooks_path(self) -> str:
        """Return the folder that git's settings name for hooks, absolute; empty if it is git's own."""
        ...
