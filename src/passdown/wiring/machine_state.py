"""Finds tracked files in the runtime folders of checkouts: they are not state of this machine (C119)."""

from collections.abc import Mapping

from passdown.engines.git.repository import GitRepository


class RuntimeFolders:
    """The runtime folders of some checkouts, each with its own git index."""

    def __init__(self, runtime: str, variables: Mapping[str, str]) -> None:
        """Store the path of the runtime folder in every checkout, and the environment of the caller."""
        self._runtime = runtime
        self._variables = variables
        self._asked: dict[str, GitRepository] = {}

    def is_tracked(self, root: str, *names: str) -> bool:
        """Return whether git tracks a file of a checkout; `names` lead to it from the runtime folder."""
        if root not in self._asked:
            self._asked[root] = GitRepository(root, variables=self._variables)
        return self._asked[root].tracked(self._runtime).holds("/".join((self._runtime, *names)))
