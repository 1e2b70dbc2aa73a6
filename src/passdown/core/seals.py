"""The seal of a view: what its footer says, told without reading the whole document (C64)."""

import hashlib
import re
from enum import StrEnum
from typing import Final, NamedTuple

from passdown.core.patterns import pattern

_SEAL: Final = pattern(r"---\r?\n_synthesized:\r?\n((?:[ \t]+[^\n]*\n)*)---\s*\Z")
_KEY: Final = pattern(r"^[ \t]+(\w+): *\"?([^\"\n]*?)\"?\r?$", re.MULTILINE)


class Seal(NamedTuple):
    """What the footer of a view says, and whether the text above it is still the one it was made for."""

    events: str
    renderer: str
    is_whole: bool


class Ownership(StrEnum):
    """Whose a file is that stands where a view belongs."""

    NOBODY = "nobody"
    OURS = "ours"
    EDITED = "edited"
    FOREIGN = "foreign"


def hash_text(text: str) -> str:
    """Hash a text by its LF form (C66)."""
    return hashlib.sha256(text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")).hexdigest()


def read_seal(text: str) -> Seal | None:
    """Read the footer of a view; None for a document that we did not make."""
    start = text.rfind("---\n_synthesized:" if "\r" not in text else "---\r\n_synthesized:")
    found = _SEAL.match(text, start) if start >= 0 else None
    if found is None:
        return None
    keys = dict(_KEY.findall(found[1]))
    is_whole = keys.get("view_sha256") == hash_text(text[:start])
    return Seal(keys.get("events_sha256", ""), keys.get("renderer", ""), is_whole)


def judge_owner(data: bytes | None) -> Ownership:
    """Tell whose a file is: a view without our footer is somebody's, one that does not fit it was edited."""
    if data is None:
        return Ownership.NOBODY
    seal = read_seal(data.decode("utf-8", "replace"))
    if seal is None:
        return Ownership.FOREIGN
    return Ownership.OURS if seal.is_whole else Ownership.EDITED
