"""Makes outside text safe to show."""

import re
from typing import Final

from passdown.core.lazy_regex import pattern

# Characters that move the cursor, change the writing direction, or are invisible. Joiners (U+200C, U+200D)
# stay: scripts and emoji need them.
_UNSEEN: Final = pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_BREAKS: Final = pattern(r"[\n\t]")


def printable(text: str) -> str:
    """Escape control, bidirectional and invisible characters, so that a text cannot move the cursor.

    Line feeds and tabs stay.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text  # compiling the pattern takes longer than printing most answers
    return _UNSEEN.sub(_escape, text)


def escape_json(text: str) -> str:
    """Replace what `printable` would escape in a JSON text with JSON's own, equivalent escapes."""
    return _UNSEEN.sub(_escape_json, text)


def _escape_json(match: re.Match[str]) -> str:
    """Write a character as JSON does: as UTF-16 units of two bytes each."""
    halves = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{halves[at : at + 4]}" for at in range(0, len(halves), 4))


def one_line(text: str) -> str:
    """Escape a text like `printable`, including line feeds and tabs, so that it is one line."""
    return _BREAKS.sub(_escape, printable(text))


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return f"\\U{ord(character):08x}" if character > "\uffff" else f"\\u{ord(character):04x}"
