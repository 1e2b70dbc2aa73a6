"""Layouts: a record that says where its fields stand is read and written by that alone."""

from datetime import UTC, datetime
from typing import Annotated

import pytest

from passdown.core.documents.documents import DocumentFormat
from passdown.core.documents.fields import (
    declared_fields,
    in_entry,
    in_key,
    in_label,
    in_member,
    in_rest,
    in_section,
)
from passdown.core.documents.places import ListOf
from passdown.core.formats import archives, ledgers, streams
from passdown.core.problems import Problem, Unknown
from passdown.records import field, names_of, record, replace


@record
class Engine:
    """A block of the front matter."""

    power: Annotated[int, "How strong it is.", in_key()] = 0
    fuel: Annotated[str | None, "What it burns.", in_key()] = None


@record
class Trip:
    """A section of `key: value` lines."""

    kilometres: Annotated[int | None, "How far.", in_key()] = None
    driver: Annotated[str | None, "Who drove.", in_key(on_line=True)] = None


@record
class Report:
    """A section with places of its own."""

    by: Annotated[str, "Who looked.", in_label("By", required=False)] = ""
    faults: Annotated[tuple[str, ...], "What was found.", in_section("Faults", required=False)] = ()


@record
class Car:
    """A made-up document with a field in each kind of place."""

    built: Annotated[datetime | None, "When.", in_key(required=True)] = None
    engine: Annotated[Engine | None, "What drives it.", in_key()] = None
    title: Annotated[str, "The title."] = "Car"
    plate: Annotated[str | None, "Its plate.", in_entry("Papers", "plate")] = None
    owner: Annotated[str | None, "Whose it is.", in_entry("Papers", "owner")] = None
    now: Annotated[str, "What is done.", in_section("Work/Now", ListOf(str, str), spills="next")] = ""
    next: Annotated[tuple[str, ...], "What follows.", in_section("Work/Next")] = ()
    trip: Annotated[Trip, "The last trip.", in_section("Trip")] = field(default_factory=Trip)
    report: Annotated[Report | None, "The last check.", in_section("Report")] = None
    unknown: Annotated[tuple[Unknown, ...], "What no field holds."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


FORMAT = DocumentFormat(Car, "car", 1, lambda _text, _car: (), title="Car")
CAR = Car(
    built=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    engine=Engine(power=90),
    plate="AB 12",
    now="wash",
    next=("wax",),
    trip=Trip(kilometres=3),
    report=Report(by="me", faults=("dent",)),
)
TEXT = """\
---
built: 2026-01-02T03:04:05Z
engine:
  power: 90
  fuel: null
---

# Car

## Papers

plate: AB 12
owner: null

## Work

### Now
- wash

### Next
- wax

## Trip

kilometres: 3

## Report

**By:** me

### Faults
- dent

"""


def test_a_record_is_written_in_the_order_of_its_fields_and_read_back() -> None:
    assert FORMAT.render(CAR) == TEXT.rstrip("\n") + "\n"
    assert FORMAT.parse(FORMAT.render(CAR)) == CAR
    assert FORMAT.parse(FORMAT.render(CAR)).problems == ()


def test_what_no_key_of_a_block_holds_stays_in_the_block() -> None:
    text = TEXT.replace("  power: 90\n", "  power: 90\n  colour: red\n")
    car = FORMAT.parse(text)

    assert car.unknown == (Unknown(place="front matter / engine", text="colour: red"),)
    assert FORMAT.render(car) == text
    assert "  colour: red\n  power: 91\n" in FORMAT.render(replace(car, engine=Engine(power=91)))
    assert FORMAT.parse(FORMAT.render(replace(car, source=None))) == car


def test_a_changed_field_changes_its_own_place() -> None:
    text = TEXT.replace("- wax\n", "*  wax\n<!-- later -->\n").replace("- dent", "*  dent")

    changed = FORMAT.render(replace(FORMAT.parse(text), next=("wax", "dry")))

    assert changed == text.replace("*  wax\n<!-- later -->\n", "<!-- later -->\n\n- wax\n- dry\n")


def test_a_section_of_which_nothing_is_required_is_left_out() -> None:
    assert "Report" not in FORMAT.render(replace(CAR, report=None))
    assert [one.field for one in FORMAT.parse(FORMAT.render(replace(CAR, report=None))).problems] == []


@pytest.mark.parametrize("document", [ledgers.FORMAT, streams.FORMAT, archives.FORMAT, FORMAT])
def test_a_place_that_is_absent_reads_as_the_default_of_its_field(document: DocumentFormat[Car]) -> None:
    found = document.parse("")
    nothing = type(found)(title="")

    assert found == nothing


@pytest.mark.parametrize("cls", [ledgers.Ledger, streams.Stream, archives.Archive, Car])
def test_every_field_of_a_document_stands_somewhere(cls: type) -> None:
    ours = {"title", "unknown", "problems", "source"}

    assert {one.field for one in declared_fields(cls)} == {*names_of(cls)} - ours


def test_a_field_stands_under_its_own_name_unless_another_is_given() -> None:
    @record
    class Named:
        own: Annotated[str, "doc", in_member()] = ""
        other: Annotated[str | None, "doc", in_member("Other", required=True)] = None
        rest: Annotated[str, "doc", in_rest()] = ""
        plain: Annotated[str, "doc"] = ""

    fields = declared_fields(Named)

    assert [(one.field, one.name, one.kind, one.empty) for one in fields] == [
        ("own", "own", str, ""),
        ("other", "Other", str, None),
        ("rest", "rest", str, ""),
    ]
