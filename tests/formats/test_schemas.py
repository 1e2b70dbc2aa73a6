"""What a check prints for a document fits the schema of its format."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError

from passdown.core.formats.registry import FORMATS, Format
from passdown.core.schemas import schema_of, to_data
from tests.formats.strategies import BY_NAME, KINDS, Kind
from tests.hostile.agents import DOCUMENTS

GOLDEN = Path(__file__).parent / "golden"
VALIDATORS = {one.name: Draft202012Validator(one.schema(), format_checker=FormatChecker()) for one in FORMATS}
each_format = pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.name)


def _written(name: str) -> Iterator[str]:
    yield from (path.read_bytes().decode() for path in sorted(GOLDEN.glob(f"{name}-*")))
    yield from (one.text for one in DOCUMENTS if one.format == name)


@each_format
def test_each_schema_is_a_schema(one: Format) -> None:
    schema = one.schema()

    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == one.title


@each_format
def test_each_property_says_what_it_means(one: Format) -> None:
    schema = one.schema()
    definitions = schema.get("$defs", {})
    assert isinstance(definitions, dict)

    shapes = [shape for name, shape in definitions.items() if name != "Unknown"]
    for shape in (schema, *shapes):
        assert all(found.get("description") for found in shape["properties"].values())


@each_format
def test_every_document_fits_its_schema(one: Format) -> None:
    for text in (one.example(), *_written(one.name)):
        VALIDATORS[one.name].validate(to_data(one.parse(text)))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.format.name)
@given(data=st.data())
def test_every_value_fits_its_schema(kind: Kind, data: st.DataObject) -> None:
    value = data.draw(kind.values)

    VALIDATORS[kind.format.name].validate(to_data(value))


@each_format
def test_a_schema_refuses_what_is_no_field(one: Format) -> None:
    data = to_data(one.parse(one.example()))
    assert isinstance(data, dict)

    with pytest.raises(ValidationError):
        VALIDATORS[one.name].validate({**data, "surprise": 1})


def test_sources_and_problems_are_no_part_of_the_data() -> None:
    document = BY_NAME["ledger"].parse("not a ledger")

    data = to_data(document)

    assert isinstance(data, dict)
    assert not {"source", "problems"} & data.keys()


def test_a_tuple_of_fixed_length_has_a_schema_of_its_length() -> None:
    schema = schema_of(type(BY_NAME["journal"].format.sample), "Journal", "")
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)

    others = definitions["JournalLine"]["properties"]["others"]["items"]

    assert (others["minItems"], others["maxItems"]) == (2, 2)
