"""The JSON Schema of what commands print with `--json`, derived from the records that actions answer with."""

import collections.abc
import importlib
import types
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

from passdown.actions.answers import HIDDEN, INLINE, NO_FORMS, OR_NULL, Form
from passdown.core.schemas import to_data
from passdown.records import is_record, names_of
from passdown.services.sessions.pending_commits import CommitOutcome
from tests.house import read_modules
from tests.house.whole import find_classes

ROOT: Final = Path(__file__).resolve().parents[1]
RECORDED: Final = ROOT / "tests" / "unit" / "cli" / "json_answers.txt"
_PLAIN: Final = (
    (str, "string"),
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (type(None), "null"),
)
_LISTS: Final = frozenset(
    {tuple, list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Iterator}
)
_OBJECTS: Final = frozenset({dict, collections.abc.Mapping})

Schema = dict[str, Any]


# Records that are printed one by one, without waiting for the rest, and what encloses them.
_STREAMED: Final = {
    ("actions.log.events.LoggedEvent",): "actions.log.log.EventList",
    ("actions.project.checks.CheckedDocument", "actions.project.checks.CheckCounts"): "",
}


class Call(NamedTuple):
    """A recorded call of a command."""

    line: str
    actions: tuple[str, ...]
    records: tuple[str, ...]
    """The records of its answer; none if it was refused."""
    printed: str


def read_calls() -> Iterator[Call]:
    """Read the recorded calls, with the records that they answered with."""
    for part in RECORDED.read_text(encoding="utf-8").removeprefix("$ ").split("\n\n$ "):
        line, ended, printed = part.split("\n", 2)
        names = [name for name in ended.split()[1:] if not name.endswith(">")]  # a lambda is no action
        records = tuple(name for name in names if isinstance(find_part(name), type))
        yield Call(line, tuple(name for name in names if name not in records), records, printed)


class Field(NamedTuple):
    """One member of an answer."""

    name: str
    doc: str
    schema: Schema


@cache
def _names() -> Mapping[str, object]:
    """Return the classes that annotations in quotes may refer to; names of public classes are unique."""
    modules, _ = read_modules(ROOT / "src" / "passdown")
    found: dict[str, object] = {"Path": Path, "datetime": datetime, "CommitOutcome": CommitOutcome}
    found |= {name: getattr(collections.abc, name) for name in collections.abc.__all__}
    for name, places in find_classes(modules).items():
        module = places[0][0].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if module.split(".")[0] not in {"testing", "__main__"}:
            found[name] = getattr(importlib.import_module(f"passdown.{module}"), name)
    return found


def find_part(path: str) -> Any:
    """Find an action or a record by the name that `name_part` gives it."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"passdown.{module}"), name)


def name_part(found: Any) -> str:
    """Name an action or a record by where it is in the package."""
    return f"{found.__module__.removeprefix('passdown.')}.{found.__name__}"


def list_answers(call: Call) -> list[tuple[str, ...]]:
    """List the records that a call answers with: the recorded ones, and others that its action may return.

    An answer that is not a record of an action is only described in words.
    """
    if not call.actions or call.records in _STREAMED:
        return [call.records]
    returned = get_type_hints(find_part(call.actions[-1]), localns=dict(_names())).get("return")
    names = [name_part(one) for one in _options(returned) if is_record(one)]
    others: list[tuple[str, ...]] = [(name,) for name in names if name.startswith("actions.")]
    return [call.records, *others] if call.records and call.records not in others else others


def answer_of(records: tuple[str, ...], definitions: dict[str, Schema]) -> Schema:
    """Return the schema of an answer, without the version that every answer has."""
    if records not in _STREAMED:
        (name,) = records
        return object_of(find_part(name), definitions)
    if around := _STREAMED[records]:
        return object_of(find_part(around), definitions)
    each, counts = (of(find_part(name), definitions) for name in records)
    files = {"type": "array", "items": each, "description": "Each file."}
    return {
        "description": "What is wrong with files.",
        "type": "object",
        "properties": {"files": files, "summary": {**counts, "description": "How many there are."}},
        "required": ["files", "summary"],
    }


def _find_fields(cls: type, definitions: dict[str, Schema], forms: Mapping[str, Form]) -> Iterator[Field]:
    """Find the members that a record has in JSON; the records in them go to `definitions`."""
    hints = get_type_hints(cls, localns=dict(_names()), include_extras=True)
    for name in names_of(cls):
        inner, marks = _split(hints[name])
        doc = next((mark for mark in marks if isinstance(mark, str)), "")
        known = [forms[name]] if name in forms else [mark for mark in marks if isinstance(mark, Form)]
        form = next((one for one in known if one.convert), None)
        if INLINE in known:
            for option in _options(inner):
                further = (form and form.forms) or NO_FORMS
                yield from _find_fields(option, definitions, further) if is_record(option) else ()
        elif HIDDEN not in known:
            yield Field(name, doc, _of_form(form, inner, definitions))


def object_of(cls: type, definitions: dict[str, Schema], forms: Mapping[str, Form] = NO_FORMS) -> Schema:
    """Return the schema of a record that is encoded as a JSON object.

    A field replaces one with the same name in an inlined record.
    """
    fields = {one.name: one for one in _find_fields(cls, definitions, forms)}.values()
    return {
        "description": (cls.__doc__ or "").split("\n")[0],
        "type": "object",
        "properties": {one.name: {**one.schema, "description": one.doc} for one in fields},
        "required": [one.name for one in fields],
        **({"additionalProperties": True} if _has_further(cls) else {}),
    }


def _has_further(cls: type) -> bool:
    """Return whether a mapping with varying names is inlined beside the fields."""
    hints = get_type_hints(cls, localns=dict(_names()), include_extras=True)
    split = [_split(hints[name]) for name in names_of(cls)]
    return any(INLINE in marks and not all(map(is_record, _options(inner))) for inner, marks in split)


def of(hint: object, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of a value that is encoded by its type."""
    inner, marks = _split(hint)
    if form := next((mark for mark in marks if isinstance(mark, Form)), None):
        return _of_form(form, inner, definitions)
    options, origin = _options(inner), get_origin(inner)
    if len(options) > 1:
        return {"anyOf": [of(option, definitions) for option in options]}
    if origin in _OBJECTS:
        return {"type": "object", "additionalProperties": of(get_args(inner)[1], definitions)}
    if origin in _LISTS:
        return _of_list(origin, get_args(inner), definitions)
    return _of_type(inner, definitions)


def _split(hint: object) -> tuple[Any, Sequence[Any]]:
    if get_origin(hint) is Annotated:
        inner, *marks = get_args(hint)
        return inner, marks
    return hint, ()


def _options(hint: object) -> Sequence[Any]:
    return get_args(hint) if get_origin(hint) in {Union, types.UnionType} else (hint,)


def _of_form(form: Form | None, hint: object, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of a formatted value: the one of its form function's return type."""
    if form is None or form.convert is None:
        return of(hint, definitions)
    if form is OR_NULL:
        return {"anyOf": [of(hint, definitions), {"type": "null"}]}
    if form.forms is not None:
        return _of_members(form.forms, hint, definitions)
    if form.convert is to_data:
        return _of_document(hint)
    return of(get_type_hints(form.convert, localns=dict(_names()))["return"], definitions)


def _of_members(forms: Mapping[str, Form], hint: object, definitions: dict[str, Schema]) -> Schema:
    if len(options := _options(hint)) > 1:
        return {"anyOf": [_of_members(forms, option, definitions) for option in options]}
    if get_origin(hint) in _LISTS:
        return {"type": "array", "items": _of_members(forms, get_args(hint)[0], definitions)}
    if isinstance(hint, type) and is_record(hint):
        return object_of(hint, definitions, forms)
    return of(hint, definitions)


def _of_document(hint: object) -> Schema:
    """Return the schema of one of our documents, or a part of one; the format pages describe its content."""
    if len(options := _options(hint)) > 1:
        return {"anyOf": [_of_document(option) for option in options]}
    if get_origin(hint) in _LISTS:
        return {"type": "array", "items": _of_document(get_args(hint)[0])}
    return {"type": "null" if hint is type(None) else "object"}


def _of_list(origin: object, parts: Sequence[object], definitions: dict[str, Schema]) -> Schema:
    if origin is tuple and parts[-1] is not Ellipsis:
        items = [of(part, definitions) for part in parts]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    return {"type": "array", "items": of(parts[0], definitions)}


def _of_type(hint: object, definitions: dict[str, Schema]) -> Schema:
    if hint is datetime:
        return {"type": "string", "format": "date-time"}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"enum": [choice.value for choice in hint]}
    if isinstance(hint, type) and is_record(hint):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}
            definitions[hint.__name__] = object_of(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    return next(({"type": name} for known, name in _PLAIN if known is hint), {})
