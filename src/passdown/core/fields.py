"""The kinds of field that several formats share: text, instants, counts, choices."""

from datetime import datetime
from enum import StrEnum
from typing import Final, TypeVar

from passdown.core.frontmatter import Entry, read_text, read_texts, write_text
from passdown.core.keys import Key
from passdown.core.problems import Malformed
from passdown.core.scalars import write_flow, write_scalar
from passdown.core.times import parse_instant, render_seconds

C = TypeVar("C", bound=StrEnum)

_MAX_DIGITS: Final = 9


def read_instant(text: str) -> datetime:
    """Read an instant; raise `Malformed` when it is none."""
    instant = parse_instant(text)
    if instant is None:
        raise Malformed(f"is not a time: {text[:40]}", "write it like 2025-12-27T10:30:00Z")
    return instant


def read_count(text: str) -> int:
    """Read a number of things; raise `Malformed` when it is none."""
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise Malformed(f"is not a whole number: {text[:40]}", "write digits only")
    return int(text)


def read_choice(text: str, choices: type[C]) -> C:
    """Read one of a closed set, in any case; raise `Malformed` naming the set."""
    for choice in choices:
        if text.casefold() == choice.value.casefold():
            return choice
    raise Malformed(f"is {text[:40]}", "use one of " + ", ".join(choice.value for choice in choices))


def text_key(name: str, *, required: bool = False, keep_empty: bool = False) -> Key[str | None]:
    """Make a key that holds one text."""
    return Key(name, read_text, write_text, None, required=required, keep_empty=keep_empty)


def line_key(name: str, *, keep_empty: bool = False) -> Key[str | None]:
    """Make a key that holds one text and stays on its line, as it must among Markdown."""

    def write(key: str, value: str | None) -> str:
        return f"{key}: {'null' if value is None else write_scalar(value)}\n"

    return Key(name, read_text, write, None, keep_empty=keep_empty)


def instant_key(name: str, *, required: bool = False) -> Key[datetime | None]:
    """Make a key that holds an instant, written to the second."""
    return Key(name, _read_instant_entry, _write_instant, None, required=required)


def _read_instant_entry(entry: Entry) -> datetime | None:
    text = read_text(entry)
    return None if text is None else read_instant(text)


def _write_instant(name: str, value: datetime | None) -> str:
    return f"{name}: {render_seconds(value) if value else 'null'}\n"


def choice_key(
    name: str, choices: type[C], *, required: bool = False, keep_empty: bool = False
) -> Key[C | None]:
    """Make a key that holds one of a closed set."""

    def read(entry: Entry) -> C | None:
        text = read_text(entry)
        return None if text is None else read_choice(text, choices)

    def write(key: str, value: C | None) -> str:
        return f"{key}: {value.value if value else 'null'}\n"

    return Key(name, read, write, None, required=required, keep_empty=keep_empty)


def count_key(name: str, *, keep_empty: bool = False) -> Key[int | None]:
    """Make a key that holds a number of things."""

    def read(entry: Entry) -> int | None:
        text = read_text(entry)
        return None if text is None else read_count(text)

    def write(key: str, value: int | None) -> str:
        return f"{key}: {'null' if value is None else value}\n"

    return Key(name, read, write, None, keep_empty=keep_empty)


def texts_key(name: str) -> Key[tuple[str, ...]]:
    """Make a key that holds a short list on its line."""

    def write(key: str, value: tuple[str, ...]) -> str:
        return f"{key}: {write_flow(value)}\n"

    return Key(name, read_texts, write, ())
