"""Converts values to JSON data, and derives the JSON Schema of that data from their fields."""

import types
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, Union, cast, get_args, get_origin, get_type_hints

from passdown.core.facts import Fact
from passdown.core.kinds import CARRIED
from passdown.core.times import render_millis, render_seconds
from passdown.records import is_record, names_of

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_HIDDEN: Final = frozenset({"problems", "source", *(() if CARRIED else ("further_facts",))})
"""Fields that no schema has; `further_facts` only if no kind needs it."""
_WHENCE: Final = frozenset({"seq", "event", "event_id", "branch"})


def to_data(value: object) -> object:
    """Convert a value to JSON data; texts stay as they are, instants become ISO strings."""
    if isinstance(value, datetime):
        return render_millis(value) if value.microsecond else render_seconds(value)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Fact):
        return {name: to_data(getattr(value, name)) for name in _shown(Fact)}
    if isinstance(value, tuple):
        return [to_data(one) for one in cast("tuple[object, ...]", value)]
    if is_record(value):
        return {name: to_data(getattr(value, name)) for name in _shown(value)}
    return value


def _shown(value: object) -> Iterator[str]:
    """Return the visible fields of a record or a fact; fields about where it was read are left out."""
    if value is Fact:
        return (name for name in Fact._fields if name not in _WHENCE)
    return (name for name in names_of(value) if name not in _HIDDEN)


def schema_of(cls: type, title: str, doc: str) -> dict[str, object]:
    """Return the JSON Schema of `to_data` for values of a record class."""
    definitions: dict[str, object] = {}
    schema = _of_class(cls, definitions)
    head: dict[str, object] = {"$schema": DIALECT, "title": title, "description": doc}
    return {**head, **schema, **({"$defs": definitions} if definitions else {})}


def _of_class(cls: type, definitions: dict[str, object]) -> dict[str, object]:
    hints = get_type_hints(cls, include_extras=True)
    properties = {name: _of_hint(hints[name], definitions) for name in _shown(cls)}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _of_hint(hint: object, definitions: dict[str, object]) -> dict[str, object]:
    if get_origin(hint) is Annotated:
        inner, doc, *_ = get_args(hint)
        return {**_of_hint(inner, definitions), "description": doc}
    if get_origin(hint) in {Union, types.UnionType}:
        return {"anyOf": [_of_hint(option, definitions) for option in get_args(hint)]}
    if get_origin(hint) is tuple:
        return _of_tuple(get_args(hint), definitions)
    return _of_type(hint, definitions)


def _of_tuple(parts: tuple[object, ...], definitions: dict[str, object]) -> dict[str, object]:
    if parts[-1] is Ellipsis:
        return {"type": "array", "items": _of_hint(parts[0], definitions)}
    items = [_of_hint(part, definitions) for part in parts]
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}


def _of_type(hint: object, definitions: dict[str, object]) -> dict[str, object]:
    if hint is datetime:
        return {"type": "string", "format": "date-time"}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"enum": [choice.value for choice in hint]}
    if hint is Fact or (isinstance(hint, type) and is_record(hint)):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}
            definitions[hint.__name__] = _of_class(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    names = {str: "string", int: "integer", bool: "boolean", type(None): "null"}
    return {"type": next(name for known, name in names.items() if known is hint)}
