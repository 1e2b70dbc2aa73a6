"""The patch format of `apply_patch`, a tool of several hosts."""

import re
from typing import Final

from passdown.core.lazy_regex import pattern

_PATCHED: Final = pattern(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)


def find_patched(patch: str) -> tuple[str, ...]:
    """Return the files that a patch adds, changes, removes or moves, each once and as it names them."""
    return tuple(dict.fromkeys(path for found in _PATCHED.findall(patch) if (path := found.strip())))
