"""Reads and writes single values of our YAML subset, quoted if needed.

Plain text is literal to the end of its line, because agents write `now: issue #12 fixed` and mean all of it.
The writer quotes any value that another YAML reader could misread.
"""

import re
from itertools import accumulate
from types import MappingProxyType
from typing import Final

from passdown.core.lazy_regex import pattern
from passdown.core.problems import Malformed

NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})

_CLOSING: Final = MappingProxyType({"[": "]", "{": "}"})
OPENING: Final = frozenset({*_CLOSING, '"', "'"})
"""The characters that open a value that must be closed."""
_QUOTED: Final = pattern(r"""'[^']*(?:''[^']*)*'|"[^"\\]*(?:\\.[^"\\]*)*\"""", re.DOTALL)
_ESCAPE: Final = pattern(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_NAMED: Final = MappingProxyType(
    {
        "0": "\0",
        "a": "\a",
        "b": "\b",
        "t": "\t",
        "n": "\n",
        "v": "\v",
        "f": "\f",
        "r": "\r",
        "e": "\x1b",
        "_": "\xa0",
        "N": "\x85",
        "L": "\u2028",
        "P": "\u2029",
        " ": " ",
        "/": "/",
        '"': '"',
        "\\": "\\",
    }
)
_LAST_CODE_POINT: Final = 0x10FFFF

_CONTROL: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff"
)
_ESCAPED: Final = pattern(f'[\\\\"\t\n{_CONTROL}]')
_HARD_IN_BLOCK: Final = pattern(f"[{_CONTROL}]")
_SHORT: Final = MappingProxyType({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})
_NOT_PLAIN: Final = pattern(rf"^[\s\-?:,\[\]{{}}#&*!|>'\"%@`=<~]|:\s|:$|\s#|\s$|[\t\n{_CONTROL}]")
_SURPRISE: Final = pattern(
    r"y|n|yes|no|on|off|true|false|null"
    r"|[-+]?\.?(?:inf|nan)|[-+.]?[0-9][0-9a-fx_:.,o+\-]*"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?",
    re.IGNORECASE,
)
_FLOW_ITEM: Final = pattern(
    r"""\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*|([^\s,\[\]{}"'][^,\[\]{}]*))(?:,|$)"""
)
_IN_FLOW: Final = pattern(r"[,\[\]{}?]")


def unquote(text: str) -> str | None:
    """Return the content of a quoted value, or None if `text` is not one quoted value."""
    inner = text[1:-1]
    if text[0] == '"' == text[-1] and '"' not in inner and "\\" not in inner and len(text) > 1:
        return inner
    if not _QUOTED.fullmatch(text):
        return None
    if text[0] == "'":
        return inner.replace("''", "'")
    return _join_surrogates(_ESCAPE.sub(_unescape, inner))


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 1:
        # An escape that YAML does not know, as in "match \d+", stays unchanged.
        return _NAMED.get(code, match[0])
    number = int(code[1:], 16)
    return chr(number) if number <= _LAST_CODE_POINT else match[0]


def _join_surrogates(text: str) -> str:
    """Join the two escapes that JSON writes for one emoji; a lone half becomes a replacement character."""
    if not re.search("[\ud800-\udfff]", text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_scalar(text: str) -> str | None:
    """Read one value on its line: null, quoted, or literal text."""
    if text in NULLS:
        return None
    if text[0] in "\"'":
        quoted = unquote(text)
        return text if quoted is None else quoted
    return text


def refuse_unclosed(text: str) -> None:
    """Raise `Malformed` for a value that opens with a quote, bracket or brace and never closes it."""
    first = text[:1]
    if first not in OPENING:
        return
    if first in _CLOSING:
        depths = accumulate((char == first) - (char == _CLOSING[first]) for char in text)
        is_closed = 0 in depths
    else:
        is_closed = _QUOTED.match(text) is not None
    if not is_closed:
        raise Malformed(f"opens with {first} and never closes it", "put the whole text in quotes")


def read_flow(text: str) -> list[str]:
    """Read `[a, "b"]`; raise `Malformed` for anything nested."""
    inner = text[1:-1].strip()
    items: list[str] = []
    at = 0
    while at < len(inner):
        match = _FLOW_ITEM.match(inner, at)
        if not match:
            raise Malformed("is not a simple list", "write [one, two] or one item on each line")
        items.append(read_scalar((match[1] or match[2]).strip()) or "")
        at = match.end()
    return items


def write_scalar(text: str) -> str:
    """Write one value on one line, quoted if any YAML reader could misread it."""
    if _NOT_PLAIN.search(text) or not text or _SURPRISE.fullmatch(text):
        return quote(text)
    return text


def quote(text: str) -> str:
    """Write one value in double quotes, with all invisible characters escaped."""
    return '"' + _ESCAPED.sub(lambda char: _SHORT.get(char[0]) or f"\\u{ord(char[0]):04x}", text) + '"'


def write_flow(items: tuple[str, ...]) -> str:
    """Write `[a, "b, c"]` on one line."""
    return "[" + ", ".join(quote(i) if _IN_FLOW.search(i) else write_scalar(i) for i in items) + "]"


def can_be_block(text: str) -> bool:
    """Return whether a text of several lines reads back to the byte from a block under `|-`."""
    lines = text.split("\n")
    return (
        len(lines) > 1
        and not lines[0][:1].isspace()
        and bool(lines[0] and lines[-1])
        and not any(line.isspace() for line in lines)
        and not _HARD_IN_BLOCK.search(text)
    )
