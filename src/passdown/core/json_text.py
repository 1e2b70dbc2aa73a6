"""Edits JSON objects as text: members are read and changed one at a time; the rest is kept to the byte."""

import json
from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from passdown.core.lazy_regex import pattern
from passdown.core.problems import Malformed

_SPACE: Final = pattern(r"[ \t\r\n]*")
_SURROGATE: Final = pattern("[\ud800-\udfff]")
_DECODER: Final = json.JSONDecoder()


class JsonMember(NamedTuple):
    """One member of an object, with its start and the span of its value."""

    name: str
    value: object
    start: int
    value_start: int
    value_end: int


def dump(value: object) -> str:
    """Write one JSON value on one line; characters that cannot be encoded are escaped."""
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def read_members(text: str) -> list[JsonMember]:
    """Split a text that is one object into members; raise `Malformed` with the line if it is not one.

    A repeated name is listed each time.
    """
    members, end = read_object(text, 1 if text.startswith("\ufeff") else 0)
    if text[end:].strip():
        raise Malformed(f"has text after the end of the object at {_where(text, end)}")
    return members


def read_object(text: str, at: int) -> tuple[list[JsonMember], int]:
    """Split the object at an offset into its members; also return the offset after it."""
    at = _skip(text, at)
    if text[at : at + 1] != "{":
        raise Malformed("is not a JSON object", "start it with `{`")
    members: list[JsonMember] = []
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        if members:
            at = _skip(text, _expect(text, at, ","))
        start = at
        name, at = _decode(text, at)
        if not isinstance(name, str):
            raise Malformed(f"has a member without a name at {_where(text, start)}")
        value_start = _skip(text, _expect(text, _skip(text, at), ":"))
        value, value_end = _decode(text, value_start)
        members.append(JsonMember(name, value, start, value_start, value_end))
        at = _skip(text, value_end)
    return members, at + 1


def read_items(text: str) -> list[tuple[int, int]]:
    """Return the span of each item of a text that is one list; raise `Malformed` if it is not one."""
    items: list[tuple[int, int]] = []
    at = _skip(text, _expect(text, _skip(text, 0), "["))
    while text[at : at + 1] != "]":
        if items:
            at = _skip(text, _expect(text, at, ","))
        _, end = _decode(text, at)
        items.append((at, end))
        at = _skip(text, end)
    return items


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _expect(text: str, at: int, char: str) -> int:
    if text[at : at + 1] != char:
        raise Malformed(f"is not valid JSON: `{char}` expected at {_where(text, at)}")
    return at + 1


def _decode(text: str, at: int) -> tuple[object, int]:
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        raise Malformed(f"is not valid JSON at {_where(text, at)}") from None
    return value, end


def _where(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}"


def revise_members(text: str, changes: Mapping[str, object]) -> str:
    """Set members of an object, the first of each name; new ones follow the last, with the same layout."""
    members = read_members(text)
    first = {member.name: member for member in reversed(members)}
    for member in reversed(members):
        if member.name in changes and first[member.name] is member:
            text = text[: member.value_start] + dump(changes[member.name]) + text[member.value_end :]
    for name in changes:
        if name not in first:
            text = append_member(text, name, dump(changes[name]))
    return text


def append_member(text: str, name: str, value: str) -> str:
    """Add a member to an object, after the last one and with the same layout; the value is JSON."""
    members = read_members(text)
    member = f"{dump(name)}: {value}"
    if not members:
        at = text.index("{") + 1
        return f"{text[:at]}\n  {member}\n{text[at:].lstrip()}"
    last = members[-1]
    gap = text[len(text[: last.start].rstrip()) : last.start] or " "
    return f"{text[: last.value_end]},{gap}{member}{text[last.value_end :]}"


def load_object(text: str | bytes) -> dict[str, object] | None:
    """Read a text that is one object; None if it is anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def member_at(value: object, *names: str) -> object:
    """Return the value under nested member names, or None if one is missing."""
    for name in names:
        value = cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None
    return value


def object_at(value: object, *names: str) -> dict[str, object]:
    """Return the object under nested member names, or an empty one if there is none."""
    found = member_at(value, *names)
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


def list_at(value: object, *names: str) -> list[object]:
    """Return the list under nested member names, or an empty one if there is none."""
    found = member_at(value, *names)
    return cast("list[object]", found) if isinstance(found, list) else []


def text_at(value: object, *names: str) -> str:
    """Return the text under nested member names, or an empty string if there is none."""
    found = member_at(value, *names)
    return found if isinstance(found, str) else ""


def number_at(value: object, *names: str) -> int | None:
    """Return the whole number under nested member names, or None if there is none."""
    found = member_at(value, *names)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def text_of(value: object, name: str) -> str | None:
    """Return a text or null; raise `Malformed` for anything else."""
    if isinstance(value, str):
        # A lone surrogate is valid JSON, but cannot be stored as text.
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if value is None:
        return None
    raise Malformed(f"`{name}` is not a string")


def texts_of(value: object, name: str) -> tuple[str, ...]:
    """Return a list of texts; raise `Malformed` for anything else."""
    if value is None:
        return ()
    items = cast("list[object]", value) if isinstance(value, list) else None
    if items is None or not all(isinstance(one, str) for one in items):
        raise Malformed(f"`{name}` is not a list of strings")
    return tuple(text_of(one, name) or "" for one in items)


def count_of(value: object, name: str) -> int | None:
    """Return a whole number or null; raise `Malformed` for anything else."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise Malformed(f"`{name}` is not a whole number")
