"""Which files in the runtime folders of checkouts git tracks: those are not state of this machine (C119)."""

from passdown.engines.git.repository import GitRepository


class RuntimeFolders:
    """The runtime folders of some checkouts, each with an index of its own."""

    def __init__(self, runtime: str) -> None:
        """Keep the path of the runtime folder in every checkout."""
        self._runtime = runtime
        self._asked: dict[str, GitRepository] = {}

    def is_tracked(self, root: str, *names: str) -> bool:
        """Return whether git tracks a file of a checkout; `names` lead to it from the runtime folder."""
        if root not in self._asked:
            self._asked[root] = GitRepository(root)
        return self._asked[root].tracked(self._runtime).holds("/".join((self._runtime, *names)))
