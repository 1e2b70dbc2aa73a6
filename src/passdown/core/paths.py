"""Checks paths that come from outside: which stay within the project, and which mean the same file."""

import unicodedata
from typing import Final

from passdown.core.lazy_regex import pattern

# Matches paths that lead out of the project, or that mean another file on another system.
_WAYS_OUT: Final = pattern(r"^[/~]|^[A-Za-z]:|[\\\x00-\x1f\x7f]")
_NOT_NAMES: Final = frozenset({"", ".git", "git~1"})
"""Parts of a path that, folded, are empty, lead upward, or mean git's folder."""


def normal_path(text: str) -> str | None:
    """Return a path within the project in its normal form, or None if it leads out or into git's folder.

    This is the one rule for every path that a journal, an event, a handoff or a setting names.
    """
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if not parts or _WAYS_OUT.search(text) or any(fold_path(part) in _NOT_NAMES for part in parts):
        return None
    return "/".join(parts)


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is in its normal form and below a folder of the project."""
    return normal_path(path) == path and path.startswith(f"{folder}/")


def fold_path(path: str) -> str:
    """Return a path in a form in which all paths that may mean the same file are equal.

    Depending on the file system, it ignores case, how a letter is composed, invisible characters, or the dots
    and spaces at the end of a name.
    """
    if not path.isascii():
        folded = unicodedata.normalize("NFKC", path.casefold())
        path = "".join(one for one in folded if unicodedata.category(one) != "Cf")
    return "/".join(part.rstrip(". ") for part in path.lower().split("/"))
