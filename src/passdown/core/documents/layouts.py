"""Derives the layout of a Markdown document from the declared fields of a record."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Final, cast

from passdown.core.documents.fields import DeclaredField, FieldSpec, count_key, declared_fields
from passdown.core.documents.keys import PLACE, Block, Key, block_key
from passdown.core.documents.places import Codec, Entries, Heading, ListOf, Place, SingleLine
from passdown.core.problems import Unknown
from passdown.records import as_dict, is_record, replace

_TOP_LEVEL: Final = 2

Values = Mapping[str, object]
Make = Callable[..., object]


class Layout:
    """The keys and places of a record in the order of its fields, with functions to read and write them.

    A field that holds a record is a block of the front matter, a section of `key: value` lines, or a section
    with its own places, depending on the fields of that record. A parent section is added before its
    children.
    """

    def __init__(self, cls: type, parent: str = "") -> None:
        """Derive the layout; `parent` is the prefix of the names of places."""
        self.keys: list[Key[object]] = []
        self.places: list[Place[object]] = []
        self.rest = ""
        self.spilling: list[tuple[str, str]] = []
        self._blocks: dict[str, str] = {}
        self._headings: list[str] = []
        self._parent = parent
        self._readers: dict[str, Callable[[Values], object]] = {}
        self._writers: dict[str, Callable[[object], Values]] = {}
        fields = declared_fields(cls)
        for one in fields:
            if one.spec.where == "key":
                self._add_key(one)
            elif one.spec.where == "entry":
                self._add_entry(one, fields)
            elif one.spec.where == "sections":
                self._add_sections(one)
            elif one.spec.where == "rest":
                self.rest = one.field
            else:
                self._add_place(one)
        if not parent:
            self.keys.append(count_key("format"))

    def _bind(self, one: DeclaredField, at: str) -> None:
        self._readers[one.field] = itemgetter(at)
        self._writers[one.field] = lambda value: {at: value}

    def _add_key(self, one: DeclaredField) -> None:
        if not is_record(one.kind):
            self.keys.append(one.key())
            self._bind(one, one.name)
            return
        name, make = one.name, cast("Make", one.kind)
        self.keys.append(block_key(name, _keys_of(make)))
        self._blocks[f"{PLACE} / {name}"] = name

        def read(values: Values) -> object:
            inner = cast("Block", values[name]).values
            return None if inner is None else make(**inner)

        self._readers[one.field] = read
        self._writers[one.field] = lambda value: {name: Block(None if value is None else as_dict(value))}

    def _add_entry(self, one: DeclaredField, fields: Iterable[DeclaredField]) -> None:
        section, name = one.spec.section, one.name
        if all(place.name != section for place in self.places):
            keys = tuple(other.key() for other in fields if other.spec.section == section)
            spec = replace(one.spec, required=True)  # the section is required; an entry in it is optional
            self._place(section, cast("Codec[object]", Entries(keys)), spec)
        self._readers[one.field] = lambda values: cast("Values", values[section])[name]
        self._writers[one.field] = lambda value: {section: {name: value}}

    def _add_place(self, one: DeclaredField) -> None:
        at = f"{self._parent}/{one.name}" if self._parent else one.name
        if one.spec.codec is None and is_record(one.kind):
            self._add_record(one, at, cast("Make", one.kind))
            return
        self._place(at, one.codec(), one.spec)
        self._bind(one, at)
        if one.spec.spills:
            self.spilling.append((at, one.spec.spills))
            self._readers[one.field] = lambda values: next(iter(cast("tuple[str, ...]", values[at])), "")
            self._writers[one.field] = lambda value: {at: (value,) if value else ()}

    def _add_sections(self, one: DeclaredField) -> None:
        names = one.spec.names
        for name in names:
            self._place(name, cast("Codec[object]", ListOf(str, str)), one.spec)
        self._readers[one.field] = lambda values: tuple(
            (name, values[name]) for name in names if values[name]
        )

        def write(value: object) -> Values:
            lists = dict(cast("tuple[tuple[str, object], ...]", value))
            return {name: lists.get(name, ()) for name in names}

        self._writers[one.field] = write

    def _add_record(self, one: DeclaredField, at: str, make: Make) -> None:
        if declared_fields(cast("type", one.kind))[0].spec.where == "key":
            self._place(at, cast("Codec[object]", Entries(_keys_of(make))), one.spec)
            self._readers[one.field] = lambda values: make(**cast("Values", values[at]))
            self._writers[one.field] = lambda value: {at: as_dict(value)}
            return
        inner = Layout(cast("type", one.kind), at)
        self.places += inner.places

        def read(values: Values) -> object:
            found = make(**inner.read(values))
            return None if found == make() else found

        self._readers[one.field] = read
        self._writers[one.field] = lambda value: inner.values(value or make())

    def _place(self, name: str, codec: Codec[object], spec: FieldSpec) -> None:
        r"""Add a place, after any parent sections that are still missing; a `\` in a name stands for `/`."""
        above, _, title = name.rpartition("/")
        title = title.replace("\\", "/")
        if above and all(place.name != above for place in self.places):
            self._headings.append(above)
            head = f"{'#' * (above.count('/') + _TOP_LEVEL)} {above.rpartition('/')[2]}"
            self.places.append(
                Place(above, cast("Codec[object]", Heading()), head, trail=spec.trail, required=spec.required)
            )
        if spec.where == "label":
            head, lead = f"**{title}:**", " " if isinstance(codec, SingleLine) else "\n"
        else:
            head, lead = f"{'#' * (name.count('/') + _TOP_LEVEL)} {title}", "\n" if above else "\n\n"
        self.places.append(Place(name, codec, head, lead, spec.trail, spec.required))

    def read(self, values: Values) -> dict[str, object]:
        """Return the values of the fields, given those of keys and places."""
        found = {field: read(values) for field, read in self._readers.items()}
        for name, field in self.spilling:
            others = cast("tuple[object, ...]", values[name])[1:]
            found[field] = others + cast("tuple[object, ...]", found[field])
        return found

    def values(self, record: object) -> dict[str, object]:
        """Return the values of keys and places, given a record."""
        values = dict[str, object](dict.fromkeys(self._headings))
        for field, write in self._writers.items():
            for name, value in write(getattr(record, field)).items():
                before = values.get(name)
                values[name] = {**before, **cast("Values", value)} if isinstance(before, dict) else value
        return values

    def inner(self, values: Values) -> Iterator[Unknown]:
        """Yield the unknown text inside blocks, each with its block as the place."""
        for place, name in self._blocks.items():
            yield from (Unknown(place=place, text=text) for text in cast("Block", values[name]).others)

    def with_inner(
        self, values: dict[str, object], unknown: Iterable[Unknown]
    ) -> tuple[dict[str, object], tuple[Unknown, ...]]:
        """Put unknown text back into its blocks; return the values, and the unknown text from elsewhere."""
        outside: list[Unknown] = []
        for one in unknown:
            block = cast("Block | None", values.get(self._blocks.get(one.place, "")))
            if block is None:
                outside.append(one)
            else:
                values[self._blocks[one.place]] = block._replace(others=(*block.others, one.text))
        return values, tuple(outside)


def _keys_of(make: Make) -> tuple[Key[object], ...]:
    return tuple(one.key() for one in declared_fields(cast("type", make)))
