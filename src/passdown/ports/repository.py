"""What services ask of git: which branch, which checkouts, what is committed, and one careful commit."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Final, Protocol

from passdown.records import record

UNKNOWN: Final = "unknown"
"""The branch of a checkout that stands on none."""


class Why(StrEnum):
    """Why nothing was committed."""

    NOTHING = "nothing"
    NO_REPOSITORY = "no-repository"
    NO_IDENTITY = "no-identity"
    UNFINISHED = "unfinished"
    LOCKED = "locked"
    REFUSED = "refused"


@record
class Checkout:
    """One working copy of the project."""

    path: Annotated[str, "The folder, absolute and without links."]
    branch: Annotated[str, "Its branch, or `unknown`."]
    is_here: Annotated[bool, "Whether it is the one we stand in."]


@record
class Committed:
    """A commit was made."""

    commit: Annotated[str, "Its id; empty when git made it but would not tell."]
    paths: Annotated[tuple[str, ...], "The files that were handed to it, also those that had not changed."]


@record
class Skipped:
    """No commit was made, and files, index and history are as they were."""

    why: Annotated[Why, "The kind of reason, for programs."]
    reason: Annotated[str, "The reason, for people."]
    hint: Annotated[str, "What to do next; empty when there is nothing to do."] = ""

    @property
    def is_quiet(self) -> bool:
        """Whether nobody needs to hear of it: there was nothing to commit, or nowhere to commit it."""
        return self.why in {Why.NOTHING, Why.NO_REPOSITORY}


class Repository(Protocol):
    """The repository that a project's root lies in, seen from there; there may be none.

    Paths are written from the root with ``/``. Git missing, broken or unwilling is an answer, not an error.
    Every method raises a UsageError in a bare repository, which has no files to work on.
    """

    def is_there(self) -> bool:
        """Say whether the root lies in a checkout. Reads files only."""
        ...

    def branch(self) -> str:
        """Name the branch we stand on, also before its first commit; `UNKNOWN` without one."""
        ...

    def integration_branch(self, preferred: str) -> str | None:
        """Name the branch on which all work meets, or None if nothing tells.

        It is `preferred` if that is not empty, else the branch that the remote ``origin`` points to, else
        ``main`` or ``master``, whichever exists or is the one that our first commit will make.
        """
        ...

    def checkouts(self) -> Sequence[Checkout]:
        """List every checkout of the project that is there, in the order of paths; empty without git."""
        ...

    def common_folder(self) -> str | None:
        """Give the folder of git that all checkouts share, absolute, or None without one."""
        ...

    def listing(self, folder: str) -> Mapping[str, str]:
        """Give the id of every file that the last commit holds below a folder, by path; ``""`` is the root.

        Links and submodules are left out. It is empty before the first commit, and without git.
        """
        ...

    def is_ignored(self, path: str) -> bool:
        """Say whether git's rules keep a path out; False for what is tracked already, and without git."""
        ...

    def commit(self, paths: Sequence[str], message: str) -> Committed | Skipped:
        """Commit these files as they lie on disk, new, changed or gone, and nothing else.

        They enter the last commit and the user's index. Every other entry of the index, staged or not, and
        every file stays as it was. No hook runs, nothing is signed, nothing asks, nothing is pushed. The
        author is whom git's settings name, never a guess. Left out are paths that git ignores, that are
        links or folders, or that lie behind a link, in another repository or outside the root. After
        `Skipped` the index is as it was before.
        """
        ...
