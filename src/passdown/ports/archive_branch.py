"""What archiving needs from git: who else writes, one large commit, and conflicts that archiving made."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Protocol

from passdown.ports.repository import Committed, Skipped
from passdown.records import record


@record
class Conflicts:
    """An unfinished merge, rebase, cherry-pick or revert with conflicts in some folders.

    Files are named by their paths relative to the project's root, and their contents by git's ids.
    """

    command: Annotated[str, "The command in progress, in words."]
    proceed: Annotated[str, "The command that finishes it once nothing conflicts."]
    unmerged: Annotated[
        Mapping[str, Sequence[tuple[int, str]]], "The files with conflicts, and their contents by stage."
    ]
    ours: Annotated[Mapping[str, str], "The files of these folders in the commit that is merged into."]
    theirs: Annotated[Mapping[str, str], "The same in the commit that is merged."]
    merged: Annotated[Mapping[str, str], "The files of these folders that git has merged."]
    others: Annotated[int, "How many files with conflicts are elsewhere."]


class ArchiveBranch(Protocol):
    """The branch of one checkout, as archiving sees it.

    Paths are relative to the project's root, with ``/``. If git is missing or fails, methods return an answer
    and do not raise.
    """

    def is_main_checkout(self) -> bool:
        """Return whether this is the clone's first checkout and not a linked worktree. Only reads files."""
        ...

    def has_remote(self) -> bool:
        """Return whether the clone has a remote. Starts git."""
        ...

    def find_refusal(self) -> Skipped | None:
        """Return why nothing may be archived on this branch now, or None. Starts git.

        Reasons: no branch is checked out, it has no commit yet, a command with several steps is in progress,
        the index is locked, or the branch lacks commits of its upstream as last fetched. Without an upstream,
        the branch of that name of the remote ``origin`` counts.
        """
        ...

    def committed_text(self, path: str) -> bytes | None:
        """Return the content of a file in the last commit, or None if it has no such file. Starts git."""
        ...

    def staged_in(self, *folders: str) -> frozenset[str]:
        """Return the files of these folders that the user's index has in another form than the last commit.

        Starts git.
        """
        ...

    def commit_files(self, paths: Sequence[str], message: str) -> Committed | Skipped:
        """Commit these files as `Repository.commit` does; fast even for many thousands.

        Git's ignore rules do not count. If it is interrupted, the last commit is the old one or the new one;
        the user's index may already have the changes.
        """
        ...

    def find_conflicts(self, *folders: str) -> Conflicts | None:
        """Return the conflicts in these folders, or None; starts git only if there may be some."""
        ...

    def settle(self, contents: Mapping[str, str | None]) -> Skipped | None:
        """Mark conflicts as resolved: each file gets the content with this id, or is removed if it is None.

        Only the index changes. Returns why that failed, or None.
        """
        ...
