"""Reads YAML outside our subset with PyYAML, one event at a time, so that hostile input fails early.

No YAML library survives hostile input while it builds the value: deep nesting kills the process, and aliases
fill the memory. PyYAML's event parser is safe, so the value is built here, without recursion, and rejected as
soon as it nests too deeply or uses an anchor, alias, tag or second document. Every scalar is text, never a
boolean or a date.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

from passdown.core.problems import Malformed

Value: TypeAlias = "str | list[Value] | dict[str, Value] | None"

MAX_CHARS: Final = 65_536
MAX_DEPTH: Final = 16

_HINT: Final = "write it as plain `key: value` lines or a list with one `- item` on each line"


def load(text: str) -> Value:
    """Read a value that the subset does not cover; raise `Malformed` if it is unsafe or invalid."""
    if len(text) > MAX_CHARS:
        raise Malformed(f"is over {MAX_CHARS} characters and too complex to read", _HINT)
    builder = _Builder()
    for event in _events(text):
        builder.take(event)
    return builder.value


def _events(text: str) -> Iterator[object]:
    import yaml  # slow to load and rarely needed

    loader: type[yaml.BaseLoader | yaml.CBaseLoader] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        yield from yaml.parse(text, Loader=loader)  # pyright: ignore[reportUnknownMemberType]  # untyped stub
    except (yaml.YAMLError, ValueError) as problem:
        reason = getattr(problem, "problem", None) or "it cannot be read"
        raise Malformed(f"is not valid YAML: {reason}", _HINT) from None


class _Builder:
    """Builds the value from a stream of events."""

    def __init__(self) -> None:
        self.value: Value = None
        self._open: list[list[Value]] = []
        self._documents = 0

    def take(self, event: object) -> None:
        """Add an event; raise `Malformed` if it is not supported."""
        match type(event).__name__:
            case "ScalarEvent":
                self._refuse_marks(event)
                self._add(str(getattr(event, "value", "")))
            case "SequenceStartEvent" | "MappingStartEvent":
                self._refuse_marks(event)
                self._open.append([])
                if len(self._open) > MAX_DEPTH:
                    raise Malformed(f"is nested more than {MAX_DEPTH} levels deep", _HINT)
            case "SequenceEndEvent":
                self._add(self._open.pop())
            case "MappingEndEvent":
                self._add(_as_map(self._open.pop()))
            case "AliasEvent":
                raise Malformed("uses a YAML alias, which is not supported", _HINT)
            case "DocumentStartEvent":
                self._documents += 1
                if self._documents > 1:
                    raise Malformed("is more than one YAML document", _HINT)
            case _:
                pass

    def _refuse_marks(self, event: object) -> None:
        if getattr(event, "anchor", None) or getattr(event, "tag", None):
            raise Malformed("uses YAML anchors or tags, which are not supported", _HINT)

    def _add(self, value: Value) -> None:
        if self._open:
            self._open[-1].append(value)
        else:
            self.value = value


def _as_map(parts: list[Value]) -> dict[str, Value]:
    """Build a map from alternating names and values; a repeated name is rejected, so nothing is lost."""
    names = [name for name in parts[::2] if isinstance(name, str)]
    if len(set(names)) != len(parts) // 2:
        raise Malformed("has a duplicate key, or a key that is not a string", _HINT)
    return dict(zip(names, parts[1::2], strict=True))
