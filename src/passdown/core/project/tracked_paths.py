"""The paths that git tracks in a folder: a tracked file never counts as state of this machine (C119)."""

from collections.abc import Iterable
from typing import Annotated, Final

from passdown.core.lazy_regex import pattern
from passdown.core.paths import fold_path
from passdown.records import record

_SHORT: Final = pattern(r"[^/~]{1,6}~[0-9]+(?:\.[^/.]{0,3})?")
"""Matches the short second name that Windows gives to a file, such as `CONDUC~1`."""


@record
class TrackedPaths:
    """The paths in git's index that are in a folder, or that are the folder itself or a parent of it."""

    paths: Annotated[tuple[str, ...], "The paths as git names them, but relative to the root."] = ()
    folded: Annotated[
        frozenset[str], "The same paths, relative to the checkout and folded by `fold_path`."
    ] = frozenset()
    start: Annotated[
        str, "The path from the top of the checkout to the root, ending in `/`; empty if they are the same."
    ] = ""
    is_known: Annotated[bool, "Whether git listed them; if not, everything counts as tracked."] = True

    def holds(self, path: str) -> bool:
        """Return whether git tracks a path in the folder, or a link or submodule that the path leads through.

        The path is relative to the root.
        """
        parts = fold_path(f"{self.start}{path}").split("/")
        above = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
        return not self.is_known or any(one in self.folded for one in above)


NOTHING_TRACKED: Final = TrackedPaths()
UNKNOWN_TRACKED: Final = TrackedPaths(is_known=False)


def find_tracked(
    paths: Iterable[str], folder: str, start: str = "", *, has_short_names: bool = False
) -> TrackedPaths:
    """Choose the paths of an index that are in a folder, or that are the folder itself or a parent of it.

    If the file system has short names, as on Windows, a path that could be the short name of a file in the
    folder makes the answer unknown.
    """
    wanted = fold_path(f"{start}{folder}").split("/")
    found: list[str] = []
    folded: set[str] = set()
    is_known = True
    for path in paths:
        own = fold_path(path.rstrip("/"))
        parts = own.split("/")
        pairs = zip(parts, wanted, strict=False)
        if all(part == name or (has_short_names and _SHORT.fullmatch(part)) for part, name in pairs):
            is_known = is_known and not (has_short_names and any(map(_SHORT.fullmatch, parts)))
            found.append(path.removeprefix(start))
            folded.add(own)
    return TrackedPaths(paths=tuple(found), folded=frozenset(folded), start=start, is_known=is_known)
