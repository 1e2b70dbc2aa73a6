"""Values with named fields: a small dataclass that is cheap to load (ADR 0014).

A command that states one fact loads a hundred record classes and creates values of only a few. So `__init__`
is compiled when the first value of a class is created, and a signature is built only on request.

`@record` rejects a class that it does not support when the class is defined: a subclass of a record, a
`ClassVar`, a mutable default.
"""

import operator
from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, cast, dataclass_transform, overload

if TYPE_CHECKING:  # `inspect` takes longer to load than a whole verb
    from inspect import Signature

T = TypeVar("T")

_SHAPE: Final = "__record__"


class _Missing:
    """Stands for a missing default, or for a default that a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


_MISSING: Final = _Missing()
_CHANGING: Final[tuple[type, ...]] = (list, dict, set)
_VARIABLE_KINDS: Final = frozenset({str, type(ClassVar), type(ClassVar[int])})
"""The types that the annotation of a class variable can have: a string, bare, or with its type."""


class FrozenError(AttributeError):
    """Records cannot be changed; make a new one with `replace`."""


class Field:
    """How a field is filled and whether it is compared, beyond what its annotation says."""

    __slots__ = ("default", "is_compared", "make")

    def __init__(
        self,
        default: object = _MISSING,
        make: Callable[[], object] | None = None,
        *,
        is_compared: bool = True,
    ) -> None:
        """Store the options."""
        self.default = default
        self.make = make
        self.is_compared = is_compared

    @property
    def has_default(self) -> bool:
        """Return whether the field may be omitted."""
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
    """Describe a field beyond its annotation; a field that is not compared is not in the repr either."""
    return Field(default, default_factory, is_compared=compare)


class _Shape:
    """What is known about a record class before its first value is created."""

    __slots__ = ("cls", "compared", "fields", "is_frozen", "is_named", "names", "values_of")

    def __init__(self, fields: dict[str, Field], *, is_frozen: bool, is_named: bool) -> None:
        self.fields = fields
        self.names = tuple(fields)
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
def record(*, frozen: bool = True, kw_only: bool = True) -> Callable[[type[T]], type[T]]: ...
def record(
    cls: type[T] | None = None, /, *, frozen: bool = True, kw_only: bool = True
) -> type[T] | Callable[[type[T]], type[T]]:
    """Turn a class into a record: its annotations are its only fields."""

    def build(cls: type[T]) -> type[T]:
        return _build(cls, frozen=frozen, kw_only=kw_only)

    return build if cls is None else build(cls)


def _build(cls: type[T], *, frozen: bool, kw_only: bool) -> type[T]:
    """Create the class again with slots, which cannot be added to an existing class."""
    body = dict(cls.__dict__)
    fields = _read_fields(cls, body)
    if not kw_only:
        _check_order(cls, fields)
    shape = _Shape(fields, is_frozen=frozen, is_named=kw_only)
    body.pop("__dict__", None)
    body.pop("__weakref__", None)
    given = {**_COMMON, **(_FROZEN if frozen else _OPEN)}
    body = {**given, **body, "__slots__": tuple(fields), "__init__": _make_first, _SHAPE: shape}
    if not kw_only:
        body["__match_args__"] = tuple(fields)
    made = cast("Callable[..., type[T]]", type(cls))(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    shape.cls = made
    return made


def _read_fields(cls: type, body: dict[str, object]) -> dict[str, Field]:
    """Take the fields out of a class; raise TypeError for one that a record cannot have."""
    fields: dict[str, Field] = {}
    for name, annotation in cls.__annotations__.items():
        said = body.pop(name, _MISSING)
        fields[name] = found = said if isinstance(said, Field) else Field(said)
        if isinstance(found.default, _CHANGING):
            raise TypeError(
                f"{cls.__qualname__}.{name}: all values would share it; use field(default_factory=…)"
            )
        if type(annotation) in _VARIABLE_KINDS and _is_class_variable(annotation):
            raise TypeError(
                f"{cls.__qualname__}.{name}: a record has no ClassVar; use a constant of the module"
            )
    return fields


def _is_class_variable(annotation: object) -> bool:
    return str(annotation).removeprefix("typing.").partition("[")[0] == "ClassVar"


def _check_order(cls: type, fields: dict[str, Field]) -> None:
    """Raise TypeError for a required field that follows an optional one."""
    optional = ""
    for name, one in fields.items():
        if optional and not one.has_default:
            raise TypeError(f"{cls.__qualname__}.{name} needs a default, because {optional} has one")
        optional = name if one.has_default else ""


def _refuse_subclass(cls: type) -> None:
    parent = next(one.__qualname__ for one in cls.__mro__[1:] if is_record(one))
    raise TypeError(f"{cls.__qualname__}: a record has no subclasses; give it a field of type {parent}")


def _make_first(self: object, *given: object, **named: object) -> None:
    """Stand in for `__init__` until the first value of the class is created."""
    shape = _shape_of(self)
    fill = _compile(shape)
    setattr(shape.cls, "__init__", fill)  # noqa: B010 - a type checker takes it for a mistake
    fill(self, *given, **named)


def _compile(shape: _Shape) -> Callable[..., None]:
    """Compile the function that fills the fields. Its text consists only of names from our own source."""
    known: dict[str, object] = {"missing": _MISSING}
    for name, one in shape.fields.items():
        known |= {f"set_{name}": getattr(shape.cls, name).__set__, f"make_{name}": one.make}
        known[f"default_{name}"] = one.default
    heads = ["self", *(["*"] if shape.is_named and shape.fields else [])]
    heads += [f"{name}=default_{name}" if one.has_default else name for name, one in shape.fields.items()]
    lines = [_line(name, one, is_frozen=shape.is_frozen) for name, one in shape.fields.items()]
    if hasattr(shape.cls, "__post_init__"):
        lines.append("self.__post_init__()")
    made: dict[str, Callable[..., None]] = {}
    exec(f"def __init__({', '.join(heads)}):\n {'; '.join(lines) or 'pass'}", known, made)  # noqa: S102 - see above
    return made["__init__"]


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


def _show(self: object) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in _shape_of(self).compared)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(self: object, name: str, *_: object) -> None:
    raise FrozenError(f"{type(self).__name__}.{name} cannot be changed: use replace")


def _save(self: object) -> dict[str, object]:
    return as_dict(self)


def _restore(self: object, state: dict[str, object]) -> None:
    """Fill a value created by `copy` or `pickle`; `__post_init__` already checked the original."""
    for name, value in state.items():
        object.__setattr__(self, name, value)


class _LazySignature:
    """The signature of a record class, built when it is asked for."""

    def __get__(self, value: object, cls: type) -> "Signature":
        if value is not None:
            raise AttributeError("__signature__")  # a value has the signature of its `__call__`, if any
        from inspect import Parameter, Signature

        shape = _shape_of(cls)
        kind = Parameter.KEYWORD_ONLY if shape.is_named else Parameter.POSITIONAL_OR_KEYWORD
        return Signature(
            [
                Parameter(
                    name,
                    kind,
                    default=one.default if one.has_default else Parameter.empty,
                    annotation=cls.__annotations__[name],
                )
                for name, one in shape.fields.items()
            ],
            return_annotation=None,
        )


_COMMON: Final = MappingProxyType[str, object](
    {
        "__eq__": _equal,
        "__repr__": _show,
        "__getstate__": _save,
        "__setstate__": _restore,
        "__init_subclass__": _refuse_subclass,  # Python makes it a class method
        "__signature__": _LazySignature(),
    }
)
_FROZEN: Final = MappingProxyType[str, object](
    {"__hash__": _hash, "__setattr__": _refuse, "__delattr__": _refuse}
)
_OPEN: Final = MappingProxyType[str, object]({"__hash__": None})


def is_record(value: object) -> bool:
    """Return whether something is a record or a record class."""
    return hasattr(value, _SHAPE)


def names_of(value: object) -> tuple[str, ...]:
    """Return the field names of a record or a record class."""
    return _shape_of(value).names


def compared_names_of(value: object) -> tuple[str, ...]:
    """Return the names of the fields that are compared."""
    return _shape_of(value).compared


def defaults_of(cls: type) -> dict[str, object]:
    """Return the default values of fields by name; required fields are left out."""
    fields = _shape_of(cls).fields.items()
    return {name: one.make() if one.make else one.default for name, one in fields if one.has_default}


def as_dict(value: object) -> dict[str, Any]:
    """Return the fields of a record by name, without converting their values."""
    return {name: getattr(value, name) for name in names_of(value)}


def replace(value: T, /, **changes: object) -> T:
    """Return a copy of a record with some fields changed."""
    fields = as_dict(value)
    fields.update(changes)
    return type(value)(**fields)
