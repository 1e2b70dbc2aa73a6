"""Records: values that cannot be changed, compared by what they say, made as cheaply as they are loaded."""

import copy
import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import pytest

from passdown.records import (
    FrozenError,
    as_dict,
    compared_names_of,
    defaults_of,
    field,
    is_record,
    names_of,
    record,
    replace,
)

T = TypeVar("T")


@record
class Point:
    """A place."""

    x: int
    y: Annotated[int, "Up."] = 2

    def far(self) -> int:
        """Go."""
        return self.x + self.y


@record(kw_only=False)
class Pair(Generic[T]):
    """Two of a kind."""

    first: T
    second: T


@record(frozen=False)
class Open:
    """Something that grows."""

    seen: list[int] = field(default_factory=list[int])
    count: int = 0


@record
class Noted:
    """A text and where it was read."""

    text: str
    source: str | None = field(default=None, compare=False)


@record
class Step:
    """A number with a name."""

    at: int
    name: str = ""


@record
class Nothing:
    """A sign."""


@record
class Checked:
    """Two numbers in their order."""

    least: int
    most: int

    def __post_init__(self) -> None:
        """Look."""
        if self.least > self.most:
            raise ValueError("the wrong way round")


def test_a_record_has_its_fields_and_defaults_and_methods() -> None:
    point = Point(x=1)

    assert (point.x, point.y, point.far()) == (1, 2, 3)
    assert (Point.__name__, Point.__qualname__, Point.__doc__) == ("Point", "Point", "A place.")


def test_what_is_missing_or_unknown_is_refused() -> None:
    with pytest.raises(TypeError, match="'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'z'"):
        Point(x=1, z=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        Point(1)  # type: ignore[call-arg]


def test_a_record_cannot_be_changed_and_has_no_room_for_more() -> None:
    point = Point(x=1)

    with pytest.raises(FrozenError, match=r"Point\.x cannot be changed"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenError):
        del point.x
    assert not hasattr(point, "__dict__")


def test_an_open_record_can_be_changed_has_lists_of_its_own_and_no_hash() -> None:
    one, other = Open(), Open()
    one.seen.append(1)
    one.count = 3

    assert (one.seen, other.seen, one.count) == ([1], [], 3)
    assert not hasattr(one, "more")
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    assert Open(seen=[4]).seen == [4]


def test_records_are_equal_by_kind_and_by_what_is_compared() -> None:
    assert Point(x=1) == Point(x=1, y=2)
    assert Point(x=1) != Point(x=2)
    assert Noted(text="a", source="s") == Noted(text="a")
    assert len({Noted(text="a", source="s"), Noted(text="a"), Noted(text="b")}) == 2
    assert Step(at=1) != Point(x=1)  # type: ignore[comparison-overlap]
    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing()}) == 1


def test_fields_by_place_are_matched_by_place() -> None:
    match Pair(1, second=2):
        case Pair(first, second):
            assert (first, second) == (1, 2)


def test_a_record_shows_what_is_compared() -> None:
    assert repr(Noted(text="a", source="s")) == "Noted(text='a')"
    assert repr(Nothing()) == "Nothing()"


def test_a_check_of_its_own_runs_whenever_one_is_made() -> None:
    with pytest.raises(ValueError, match="wrong way"):
        Checked(least=2, most=1)
    with pytest.raises(ValueError, match="wrong way"):
        replace(Checked(least=1, most=2), most=0)


def test_another_is_made_from_one_and_what_changes() -> None:
    noted = Noted(text="a", source="s")

    assert replace(noted, text="b").source == "s"
    assert replace(Pair(1, 2), second=3) == Pair(1, 3)
    with pytest.raises(TypeError, match="'txt'"):
        replace(noted, txt="b")


def test_fields_can_be_listed() -> None:
    assert names_of(Noted) == names_of(Noted(text="a")) == ("text", "source")
    assert compared_names_of(Noted) == ("text",)
    assert as_dict(Noted(text="a")) == {"text": "a", "source": None}
    assert defaults_of(Point) == {"y": 2}
    assert defaults_of(Open) == {"seen": [], "count": 0}
    assert is_record(Noted)
    assert is_record(Nothing())
    assert not is_record("a")


def test_a_method_that_a_class_has_is_kept() -> None:
    @record
    class Shy:
        word: str

        def __repr__(self) -> str:
            return "?"

    assert repr(Shy(word="a")) == "?"


def test_a_subclass_of_a_record_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"Further: a record has no subclasses; give it a field of type Point$"
    ):

        class Further(Point):  # pyright: ignore[reportUnusedClass]
            z: int

    with pytest.raises(TypeError, match="a record has no subclasses"):

        @record
        class Numbers(Pair[int]):  # pyright: ignore[reportUnusedClass]
            third: int


@pytest.mark.parametrize(
    "annotation", [ClassVar, ClassVar[int], "ClassVar", "ClassVar[int]", "typing.ClassVar[int]"]
)
def test_a_class_variable_is_refused(annotation: object) -> None:
    made = type("Made", (), {"__annotations__": {"x": int, "most": annotation}, "most": 3})

    with pytest.raises(TypeError, match=r"^Made\.most: a record has no ClassVar"):
        record(made)


@pytest.mark.parametrize("annotation", ["ClassVariable", "tuple[int, ...]", Pair[int]])
def test_an_annotation_that_only_looks_like_a_class_variable_is_a_field(annotation: object) -> None:
    made: type = record(type("Made", (), {"__annotations__": {"x": annotation}}))

    assert names_of(made) == ("x",)


@pytest.mark.parametrize("default", [[], {}, set(), field(default=[1])])
def test_a_default_that_can_change_is_refused(default: object) -> None:
    made = type("Made", (), {"__annotations__": {"x": object}, "x": default})

    with pytest.raises(TypeError, match=r"^Made\.x: all values would share it; use field"):
        record(made)


def test_a_field_by_place_that_must_be_given_after_one_with_a_default_is_refused() -> None:
    made: type[Any] = type("Made", (), {"__annotations__": {"x": int, "y": int}, "x": 1})

    with pytest.raises(TypeError, match=r"^Made\.y needs a default, because x has one$"):
        record(kw_only=False)(made)
    assert as_dict(record(made)(y=2)) == {"x": 1, "y": 2}  # fields by name come in any order


@pytest.mark.parametrize("value", [Point(x=1), Pair([1], [2]), Noted(text="a", source="s"), Nothing()])
@pytest.mark.parametrize(
    "again",
    [
        copy.copy,
        copy.deepcopy,
        *(lambda one, way=way: pickle.loads(pickle.dumps(one, way)) for way in range(6)),  # noqa: S301 - ours
    ],
)
def test_a_record_is_copied_and_pickled(value: object, again: Callable[[object], object]) -> None:
    made = again(value)

    assert made == value
    assert as_dict(made) == as_dict(value)  # also what is not compared
    assert type(made) is type(value)
    with pytest.raises(AttributeError):
        made.more = 1  # type: ignore[attr-defined]


def test_a_copy_shares_what_it_holds_and_a_deep_one_does_not() -> None:
    value = Open(seen=[1])

    assert copy.copy(value).seen is value.seen
    assert copy.deepcopy(value).seen is not value.seen


def test_the_signature_tells_names_kinds_types_and_defaults_before_a_value_is_made() -> None:
    @record
    class New:
        first: int
        second: "str" = "a"
        third: list[int] = field(default_factory=list[int])

    assert str(inspect.signature(New)) == (
        "(*, first: int, second: 'str' = 'a', third: list[int] = <factory>) -> None"
    )
    New(first=1)
    assert [*inspect.signature(New).parameters] == ["first", "second", "third"]
    assert str(inspect.signature(Pair)) == "(first: ~T, second: ~T) -> None"
    assert str(inspect.signature(Nothing)) == "() -> None"


def test_a_signature_fits_what_can_be_called() -> None:
    inspect.signature(Point).bind(x=1)
    inspect.signature(Pair).bind(1, second=2)
    with pytest.raises(TypeError):
        inspect.signature(Point).bind(1)
    with pytest.raises(TypeError):
        inspect.signature(Point(x=1))  # type: ignore[arg-type]


def test_what_a_verb_loads_has_no_dataclasses() -> None:
    shown = (
        "import sys, passdown.faces.cli.fact_verbs, passdown.faces.hooks.starts, passdown.faces.hooks.turns"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"{shown}; print({{'dataclasses', 'inspect'}} & set(sys.modules))"],
        env={name: text for name, text in os.environ.items() if not name.startswith("COVERAGE")},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "set()\n"
