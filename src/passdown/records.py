"""Values with named fields: what dataclasses are to other programs, and next to free to load (ADR 0014).

A command that says one word loads a hundred kinds of values and makes a few of each: what a kind needs to be
made is compiled when the first of it is made.
"""

import operator
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast, dataclass_transform, overload

T = TypeVar("T")

_SHAPE: Final = "__record__"
_MISSING: Final = object()


class FrozenError(AttributeError):
    """A value is never changed; make another one with `replace`."""


class Field:
    """How a field is filled and whether it is compared, where its annotation does not say all."""

    __slots__ = ("default", "is_compared", "make")

    def __init__(
        self,
        default: object = _MISSING,
        make: Callable[[], object] | None = None,
        *,
        is_compared: bool = True,
    ) -> None:
        """Keep what was said."""
        self.default = default
        self.make = make
        self.is_compared = is_compared

    @property
    def has_default(self) -> bool:
        """Say whether the field may be left out."""
        return self.make is not None or self.default is not _MISSING


@overload
def field(*, default: T, compare: bool = True) -> T: ...
@overload
def field(*, default_factory: Callable[[], T], compare: bool = True) -> T: ...
def field(
    *,
    default: object = _MISSING,
    default_factory: Callable[[], object] | None = None,
    compare: bool = True,
) -> object:
    """Say more about a field than its annotation does; what is not compared is not shown either."""
    return Field(default, default_factory, is_compared=compare)


class _Shape:
    """What is known of a kind of values before the first of them is made."""

    __slots__ = ("cls", "compared", "fields", "is_frozen", "is_named", "values_of")

    def __init__(self, fields: dict[str, Field], *, is_frozen: bool, is_named: bool) -> None:
        self.fields = fields
        self.is_frozen = is_frozen
        self.is_named = is_named
        self.compared = tuple(name for name, one in fields.items() if one.is_compared)
        self.values_of: Callable[[object], object] = (
            operator.attrgetter(*self.compared) if self.compared else type
        )
        self.cls: type = object


@overload
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def record(cls: type[T], /) -> type[T]: ...
@overload
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def record(
    *, frozen: bool = True, kw_only: bool = True, order: bool = False
) -> Callable[[type[T]], type[T]]: ...
def record(
    cls: type[T] | None = None, /, *, frozen: bool = True, kw_only: bool = True, order: bool = False
) -> type[T] | Callable[[type[T]], type[T]]:
    """Make a class one of values: its annotations are its fields, and it has no others."""

    def build(cls: type[T]) -> type[T]:
        return _build(cls, frozen=frozen, kw_only=kw_only, order=order)

    return build if cls is None else build(cls)


def _build(cls: type[T], *, frozen: bool, kw_only: bool, order: bool) -> type[T]:
    """Make the class again, with slots: they cannot be added to one that is there."""
    body = dict(cls.__dict__)
    fields = {name: _read_field(body.pop(name, _MISSING)) for name in cls.__annotations__}
    shape = _Shape(fields, is_frozen=frozen, is_named=kw_only)
    body.pop("__dict__", None)
    body.pop("__weakref__", None)
    given = {**_COMMON, **(_FROZEN if frozen else _OPEN), **(_ORDERED if order else {})}
    body = {**given, **body, "__slots__": tuple(fields), "__init__": _make_first, _SHAPE: shape}
    if not kw_only:
        body["__match_args__"] = tuple(fields)
    made = cast("Callable[..., type[T]]", type(cls))(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    shape.cls = made
    return made


def _read_field(said: object) -> Field:
    return said if isinstance(said, Field) else Field(said)


def _make_first(self: object, *given: object, **named: object) -> None:
    """Stand in for `__init__` until the first value of a kind is made."""
    shape = _shape_of(self)
    fill = _compile(shape)
    setattr(shape.cls, "__init__", fill)  # noqa: B010 - a type checker takes it for a mistake
    fill(self, *given, **named)


def _compile(shape: _Shape) -> Callable[..., None]:
    """Compile what fills the fields of a value. All of its text is names that stand in our own source."""
    known: dict[str, object] = {"missing": _MISSING}
    for name, one in shape.fields.items():
        known |= {f"set_{name}": getattr(shape.cls, name).__set__, f"make_{name}": one.make}
        known[f"default_{name}"] = one.default
    heads = [
        "self",
        *(["*"] if shape.is_named and shape.fields else []),
        *map(_head, shape.fields, shape.fields.values()),
    ]
    lines = [_line(name, one, is_frozen=shape.is_frozen) for name, one in shape.fields.items()]
    if hasattr(shape.cls, "__post_init__"):
        lines.append("self.__post_init__()")
    made: dict[str, Callable[..., None]] = {}
    exec(f"def __init__({', '.join(heads)}):\n {'; '.join(lines) or 'pass'}", known, made)  # noqa: S102 - see above
    return made["__init__"]


def _head(name: str, one: Field) -> str:
    return f"{name}=default_{name}" if one.has_default else name


def _line(name: str, one: Field, *, is_frozen: bool) -> str:
    value = f"make_{name}() if {name} is missing else {name}" if one.make else name
    return f"set_{name}(self, {value})" if is_frozen else f"self.{name} = {value}"


def _shape_of(value: object) -> _Shape:
    return cast("_Shape", getattr(value, _SHAPE))


def _equal(self: object, other: object) -> object:
    if type(self) is not type(other):
        return NotImplemented
    values_of = _shape_of(self).values_of
    return values_of(self) == values_of(other)


def _hash(self: object) -> int:
    return hash(_shape_of(self).values_of(self))


def _less(self: object, other: object) -> object:
    if type(self) is not type(other):
        return NotImplemented
    values_of = cast("Callable[[object], Any]", _shape_of(self).values_of)
    return values_of(self) < values_of(other)


def _show(self: object) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in _shape_of(self).compared)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(self: object, name: str, *_: object) -> None:
    raise FrozenError(f"{type(self).__name__}.{name} cannot be changed: use replace")


_COMMON: Final = MappingProxyType[str, object]({"__eq__": _equal, "__repr__": _show})
_FROZEN: Final = MappingProxyType[str, object](
    {"__hash__": _hash, "__setattr__": _refuse, "__delattr__": _refuse}
)
_OPEN: Final = MappingProxyType[str, object]({"__hash__": None})
_ORDERED: Final = MappingProxyType[str, object]({"__lt__": _less})


def is_record(value: object) -> bool:
    """Say whether something is such a value, or a kind of them."""
    return hasattr(value, _SHAPE)


def names_of(value: object) -> tuple[str, ...]:
    """Give the names of the fields of a value, or of a kind of values."""
    return tuple(_shape_of(value).fields)


def compared_names_of(value: object) -> tuple[str, ...]:
    """Give the names of the fields that tell a value from others of its kind."""
    return _shape_of(value).compared


def defaults_of(cls: type) -> dict[str, object]:
    """Give what fields hold when nothing is said, by name; those that must be said are left out."""
    fields = _shape_of(cls).fields.items()
    return {name: one.make() if one.make else one.default for name, one in fields if one.has_default}


def as_dict(value: object) -> dict[str, Any]:
    """Give the fields of a value by name, each as it is."""
    return {name: getattr(value, name) for name in names_of(value)}


def replace(value: T, /, **changes: object) -> T:
    """Make a value like another, but for what changes."""
    return type(value)(**(as_dict(value) | changes))
