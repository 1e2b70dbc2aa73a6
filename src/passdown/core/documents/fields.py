"""Declares where the fields of a record are in a document, and what kind of value they hold.

A field is declared once, in the annotation of its record: `Annotated[type, "doc", in_key()]`, or with
`in_section`, `in_label`, `in_entry`, `in_member` or `in_rest`. Its type determines how the value is read and
written, unless a codec is given.
"""

import json
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from functools import partial
from types import NoneType
from typing import Final, Literal, TypeVar, cast, get_args

from passdown.core.documents.frontmatter import FrontMatterEntry, read_text, read_texts, write_text
from passdown.core.documents.keys import Key
from passdown.core.documents.places import Codec, ListOf, Paragraph, SingleLine
from passdown.core.documents.scalars import write_flow, write_scalar
from passdown.core.json_text import count_of, dump, text_of, texts_of
from passdown.core.problems import Malformed, Unknown
from passdown.core.times import parse_instant, render_seconds
from passdown.records import defaults_of, is_record, record

C = TypeVar("C", bound=StrEnum)
T = TypeVar("T")

_MAX_DIGITS: Final = 9


def read_instant(text: str) -> datetime:
    """Read an instant; raise `Malformed` if it is not one."""
    instant = parse_instant(text)
    if instant is None:
        raise Malformed(f"is not a time: {text[:40]}", "write it like 2025-12-27T10:30:00Z")
    return instant


def read_count(text: str) -> int:
    """Read a count; raise `Malformed` if it is not one."""
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise Malformed(f"is not a whole number: {text[:40]}", "write digits only")
    return int(text)


def read_choice(text: str, choices: type[C]) -> C:
    """Read one of a closed set, ignoring case; raise `Malformed` with the valid choices."""
    for choice in choices:
        if text.casefold() == choice.value.casefold():
            return choice
    raise Malformed(
        f"is not a known value: {text[:40]}", "use one of " + ", ".join(choice.value for choice in choices)
    )


def reader_of(kind: object) -> Callable[[str], object]:
    """Return the reader for a type: an instant, a count, a choice, or else plain text."""
    if kind is datetime:
        return read_instant
    if kind is int:
        return read_count
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return partial(read_choice, choices=kind)
    return str


def write_value(value: object) -> str:
    """Write a value of one of these types."""
    return render_seconds(value) if isinstance(value, datetime) else str(value)


def write_on_line(value: object) -> str:
    """Write a value so that it can be read back from one line; a text may have to be quoted."""
    return write_scalar(value) if type(value) is str else write_value(value)


def text_key(name: str, *, required: bool = False, keep_empty: bool = False) -> Key[str | None]:
    """Make a key that holds one text."""
    return Key(name, read_text, write_text, None, required=required, keep_empty=keep_empty)


def texts_key(name: str, *, keep_empty: bool = False) -> Key[tuple[str, ...]]:
    """Make a key that holds a short list on its line."""
    return Key(
        name, read_texts, lambda key, value: f"{key}: {write_flow(value)}\n", (), keep_empty=keep_empty
    )


def value_key(
    name: str,
    reader: Callable[[str], T],
    empty: T | None,
    *,
    required: bool = False,
    keep_empty: bool = False,
) -> Key[T | None]:
    """Make a key that holds one value and stays on one line."""

    def read(entry: FrontMatterEntry) -> T | None:
        text = read_text(entry)
        return empty if text is None else reader(text)

    def write(key: str, value: T | None) -> str:
        return f"{key}: {'null' if value is None else write_on_line(value)}\n"

    return Key(name, read, write, empty, required=required, keep_empty=keep_empty)


def instant_key(name: str) -> Key[datetime | None]:
    """Make a key that holds an instant, written to the second."""
    return value_key(name, read_instant, None)


def count_key(name: str) -> Key[int | None]:
    """Make a key that holds a count."""
    return value_key(name, read_count, None)


@record
class FieldSpec:
    """Where a field is, and how it is written if its type alone does not determine that."""

    where: Literal["key", "section", "sections", "label", "entry", "member", "rest"]
    name: str = ""
    section: str = ""
    codec: Codec[object] | None = None
    required: bool = False
    keep_empty: bool = False
    on_line: bool = False
    trail: str = "\n\n"
    spills: str = ""
    names: tuple[str, ...] = ()


def in_key(*, required: bool = False, keep_empty: bool = False, on_line: bool = False) -> FieldSpec:
    """Declare that a field is a key of the same name; `on_line` keeps a text of several lines on one."""
    return FieldSpec(where="key", required=required, keep_empty=keep_empty, on_line=on_line)


def in_section(
    name: str, codec: Codec[T] | None = None, *, required: bool = True, spills: str = ""
) -> FieldSpec:
    """Declare that a field is a section; `name` is the path of titles.

    If the field holds only the first item of a list, `spills` names the field that takes the rest.
    """
    erased = cast("Codec[object] | None", codec)
    return FieldSpec(where="section", name=name, codec=erased, required=required, spills=spills)


def in_sections(names: tuple[str, ...]) -> FieldSpec:
    """Declare that a field holds the lists of several optional sections, each with its title."""
    return FieldSpec(where="sections", names=names)


def in_label(
    name: str, codec: Codec[T] | None = None, *, required: bool = True, trail: str = "\n\n"
) -> FieldSpec:
    """Declare that a field is a bold label in a section; `trail` is what follows it."""
    erased = cast("Codec[object] | None", codec)
    return FieldSpec(where="label", name=name, codec=erased, required=required, trail=trail)


def in_entry(section: str, name: str) -> FieldSpec:
    """Declare that a field is a `name: value` line in a section, which may hold several."""
    return FieldSpec(where="entry", name=name, section=section, keep_empty=True, on_line=True)


def in_member(name: str = "", *, required: bool = False) -> FieldSpec:
    """Declare that a field is a member of a JSON object, by default with the same name."""
    return FieldSpec(where="member", name=name, required=required)


def in_rest() -> FieldSpec:
    """Declare that a field is everything after the section that holds the other fields."""
    return FieldSpec(where="rest")


@record(kw_only=False)
class DeclaredField:
    """A field of a record with a declared position: its name, its type without None, and its default."""

    field: str
    kind: object
    empty: object
    spec: FieldSpec

    @property
    def name(self) -> str:
        """Its key, member or path of titles in the document."""
        return self.spec.name or self.field

    @property
    def is_texts(self) -> bool:
        """Whether it holds several texts."""
        return get_args(self.kind) == (str, ...)

    def key(self) -> Key[object]:
        """Return the key that holds it."""
        name, spec = self.name, self.spec
        if self.is_texts:
            return texts_key(name, keep_empty=spec.keep_empty)
        if self.kind is str and not spec.on_line:
            return text_key(name, required=spec.required, keep_empty=spec.keep_empty)
        reader = reader_of(self.kind)
        return value_key(name, reader, self.empty, required=spec.required, keep_empty=spec.keep_empty)

    def from_json(self, value: object) -> object:
        """Read the value of its JSON member; raise `Malformed` if it is invalid."""
        if value is None:
            return self.empty
        if self.is_texts:
            return texts_of(value, self.name)
        if self.kind is int:
            return count_of(value, self.name)
        if isinstance(self.kind, type) and is_record(self.kind):
            return _record_of(self.kind, value, self.name)
        return reader_of(self.kind)(text_of(value, self.name) or "")

    def to_json(self, value: object) -> object:
        """Return the value of its JSON member."""
        if self.is_texts and value is not None:
            return list(cast("tuple[str, ...]", value))
        if is_record(value):
            known = {one.name: one.to_json(getattr(value, one.field)) for one in declared_fields(type(value))}
            unknown: tuple[Unknown, ...] = getattr(value, "unknown", ())
            return {**known, **{one.place: json.loads(one.text) for one in unknown}}
        return value if value is None or self.kind is int else write_value(value)

    def codec(self) -> Codec[object]:
        """Return the codec for its section or label."""
        found: object = self.spec.codec
        if found is None and self.spec.where == "label":
            found = SingleLine(reader_of(self.kind), write_value, self.empty)
        elif found is None:
            found = ListOf(str, str) if self.is_texts else Paragraph()
        return cast("Codec[object]", found)


def declared_fields(cls: type) -> list[DeclaredField]:
    """Return the fields of a record that declare a position, in order."""
    defaults = defaults_of(cls)
    found: list[DeclaredField] = []
    for name, hint in cls.__annotations__.items():
        for spec in getattr(hint, "__metadata__", ()):
            if isinstance(spec, FieldSpec):
                parts = get_args(hint.__origin__)
                kind = parts[0] if NoneType in parts else hint.__origin__
                found.append(DeclaredField(name, kind, defaults.get(name), spec))
    return found


def _record_of(kind: type, value: object, name: str) -> object:
    """Read a JSON object into a record that has a field `unknown`; raise `Malformed` if it is invalid."""
    if not isinstance(value, dict):
        raise Malformed(f"`{name}` is not a JSON object")
    fields = {one.name: one for one in declared_fields(kind)}
    values: dict[str, object] = {}
    unknown: list[Unknown] = []
    for member, one in cast("dict[str, object]", value).items():
        if found := fields.get(member):
            values[found.field] = found.from_json(one)
        else:
            unknown.append(Unknown(place=member, text=_dump_nested(one, name)))
    return cast("Callable[..., object]", kind)(**values, unknown=tuple(unknown))


def _dump_nested(value: object, name: str) -> str:
    try:
        return dump(value)
    except RecursionError:
        raise Malformed(f"`{name}` is nested too deeply") from None
