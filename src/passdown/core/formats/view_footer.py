"""Reads the footer of a view without reading the whole document (C64)."""

import re
from enum import StrEnum
from typing import Final, NamedTuple

from passdown.core.digests import sha256
from passdown.core.documents.conflicts import find_conflict
from passdown.core.documents.markdown import LineState, mark_lines
from passdown.core.lazy_regex import pattern

_SEAL: Final = pattern(r"---\r?\n_synthesized:\r?\n((?:[ \t]+[^\n]*\n)*)---\s*\Z")
_INNER: Final = pattern(r"^---[ \t]*\r?\n_synthesized:[ \t]*\r?$", re.MULTILINE)
_HASH: Final = pattern(r"^[ \t]+view_sha256:", re.MULTILINE)
_KEY: Final = pattern(r"^[ \t]+(\w+): *\"?([^\"\n]*?)\"?\r?$", re.MULTILINE)


class FooterCheck(NamedTuple):
    """The footer of a view, and whether the text above it is unchanged since it was written."""

    events: str
    renderer: str
    is_whole: bool


class ViewOwner(StrEnum):
    """The owner of a file at the location of a view."""

    NOBODY = "nobody"
    OURS = "ours"
    EDITED = "edited"
    MERGED = "merged"
    FOREIGN = "foreign"


def hash_text(text: str) -> str:
    """Return the hash of a text with LF line ends (C66)."""
    return sha256(text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")).hexdigest()


def check_footer(text: str) -> FooterCheck | None:
    """Read the footer of a view; return None for a document that we did not write."""
    start = text.rfind("---\n_synthesized:" if "\r" not in text else "---\r\n_synthesized:")
    found = _SEAL.match(text, start) if start >= 0 else None
    if found is None:
        return None
    keys = dict(_KEY.findall(found[1]))
    is_whole = keys.get("view_sha256") == hash_text(text[:start])
    return FooterCheck(keys.get("events_sha256", ""), keys.get("renderer", ""), is_whole)


def find_view_owner(data: bytes | None) -> ViewOwner:
    """Return the owner of a file.

    1. Ours: the footer at its end matches the text above.
    2. Merged: git joined two views, or left conflict markers in one.
    3. Edited: our footer is there, but it does not match, or there is text after it.
    4. Foreign: there is no footer of ours; a footer in a code block does not count.
    """
    if data is None:
        return ViewOwner.NOBODY
    text = data.decode("utf-8", "replace")
    footer = check_footer(text)
    if footer is not None and footer.is_whole:
        return ViewOwner.OURS
    if footer is None and not _has_inner_footer(text):
        return ViewOwner.FOREIGN
    return ViewOwner.MERGED if is_merged(text) else ViewOwner.EDITED


def is_merged(text: str) -> bool:
    """Return whether a merge made a text with our footer: it has two hashes, or conflict markers."""
    return len(_HASH.findall(text)) > 1 or find_conflict(text) > 0


def _has_inner_footer(text: str) -> bool:
    """Return whether our footer is anywhere in a text, outside of code and comments."""
    found = _INNER.search(text) if "_synthesized:" in text and _HASH.search(text) else None
    if found is None:
        return False
    lines = text.split("\n")
    states, _ = mark_lines(lines)
    spans = zip(lines, lines[1:], states, strict=False)
    return any(state is LineState.TEXT and _INNER.match(f"{line}\n{after}") for line, after, state in spans)
