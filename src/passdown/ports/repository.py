"""What services need from git: the branch, the checkouts, committed files, and one careful commit."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Final, Protocol

from passdown.records import record

UNKNOWN: Final = "unknown"
"""The branch name for a checkout that is not on a branch."""


class SkipReason(StrEnum):
    """Why nothing was committed."""

    NOTHING = "nothing"
    NO_REPOSITORY = "no-repository"
    NO_IDENTITY = "no-identity"
    UNFINISHED = "unfinished"
    LOCKED = "locked"
    DETACHED = "detached"
    NO_COMMIT = "no-commit"
    AMENDABLE = "amendable"
    NO_GIT = "no-git"
    REFUSED = "refused"


@record
class Checkout:
    """One working copy of the project."""

    path: Annotated[str, "The folder, absolute and without links."]
    branch: Annotated[str, "Its branch, or `unknown`."]
    is_here: Annotated[bool, "Whether it is the current checkout."]


@record
class Committed:
    """A commit was made."""

    commit: Annotated[str, "Its id; empty if git made the commit but did not report the id."]
    paths: Annotated[tuple[str, ...], "The files given to the commit, including unchanged ones."]


@record
class Skipped:
    """No commit was made; files, index and history are unchanged."""

    why: Annotated[SkipReason, "The kind of reason, for programs."]
    reason: Annotated[str, "The reason, for people."]
    hint: Annotated[str, "What to do next; empty if nothing."] = ""

    @property
    def is_quiet(self) -> bool:
        """Whether to tell the user nothing, because there was nothing to commit, or no repository."""
        return self.why in {SkipReason.NOTHING, SkipReason.NO_REPOSITORY}


class Repository(Protocol):
    """The repository that contains a project's root, seen from there; there may be none.

    Paths are relative to the root, with ``/``. If git is missing, broken or fails, methods return an answer
    and do not raise. In a bare repository, which has no files to work on, every method raises a UsageError.
    """

    def is_there(self) -> bool:
        """Return whether the root is in a checkout. Only reads files."""
        ...

    def branch(self) -> str:
        """Return the current branch, even before its first commit; `UNKNOWN` if there is none."""
        ...

    def last_commit(self) -> str:
        """Return the id of the last commit, or "" if there is none or it cannot be read. Starts nothing."""
        ...

    def integration_branch(self, preferred: str) -> str | None:
        """Return the branch on which all work is merged, or None if it cannot be determined.

        It is `preferred` unless that is empty, else the branch that the remote ``origin`` points to, else
        ``main`` or ``master``, whichever exists or will be created by the first commit.
        """
        ...

    def checkouts(self) -> Sequence[Checkout]:
        """List the existing checkouts of the project, sorted by path; empty without git."""
        ...

    def common_folder(self) -> str | None:
        """Return the absolute path of the git folder that all checkouts share, or None if there is none."""
        ...

    def prefix(self) -> str:
        """Return the path from the top of the checkout to the root; empty at the top and without git."""
        ...

    def listing(self, *folders: str) -> Mapping[str, str]:
        """Return the ids of all files below these folders in the last commit, by path; ``""`` is the root.

        Links and submodules are left out. The result is empty before the first commit and without git.
        """
        ...

    def is_ignored(self, path: str) -> bool:
        """Return whether git ignores a path; False if it is already tracked, or without git."""
        ...

    def commit(self, paths: Sequence[str], message: str) -> Committed | Skipped:
        """Commit these files as they are on disk, whether new, changed or deleted, and nothing else.

        They are written to the new commit and to the user's index. Every other index entry, staged or not,
        and every file stays unchanged. No hook runs; nothing is signed, prompted for or pushed. The author
        comes from git's settings and is never guessed. Paths are left out if git ignores them, if they are
        links or folders, or if they are behind a link, in another repository or outside the root. After
        `Skipped`, the index is unchanged.
        """
        ...
