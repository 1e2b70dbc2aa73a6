"""What services ask of a repository's history: where it stands, and how far it went since."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class Commits(Protocol):
    """The commits of the branch we stand on. Git missing or unwilling is an answer, not an error."""

    def head(self) -> str:
        """Give the id of the last commit; empty before the first one, and without git."""
        ...

    def count_since(self, commit: str, apart_from: Sequence[str] = ()) -> int | None:
        """Count the commits that the last one has and that one lacks; None if it is not known here.

        Those that change nothing but these files and folders, from the project's root, do not count.
        """
        ...
