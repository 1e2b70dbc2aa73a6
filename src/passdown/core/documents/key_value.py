"""The `key: text` items in which decisions and resume notes are written."""

from typing import Annotated

from passdown.records import record


@record
class Pair:
    """A key with its text."""

    key: Annotated[str, "What it is about."]
    value: Annotated[str, "The text about it."] = ""


def read_pair(text: str) -> Pair:
    """Read `key: value`; a text without a colon is only a key."""
    key, colon, value = text.partition(": ")
    if not colon and text.endswith(":"):
        return Pair(key=text[:-1])
    return Pair(key=key.strip(), value=value.strip())


def write_pair(pair: Pair) -> str:
    """Write `key: value`."""
    return f"{pair.key}: {pair.value}" if pair.value else pair.key
