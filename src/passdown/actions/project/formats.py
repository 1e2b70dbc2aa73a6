"""List the document formats; show the schema or an example of one. No project is needed for it."""

from collections.abc import Mapping
from typing import Annotated

from passdown.core.formats.registry import FORMATS, find_format
from passdown.records import record


@record
class FormatSummary:
    """A format."""

    name: Annotated[str, "Its name."]
    format_version: Annotated[int, "Its version."]
    paths: Annotated[tuple[str, ...], "Where its documents usually are; the most usual place first."]
    description: Annotated[str, "What it is for."]


@record
class KnownFormats:
    """Every format."""

    formats: Annotated[tuple[FormatSummary, ...], "The formats."]


@record
class FormatSchema:
    """The JSON Schema of a format."""

    name: Annotated[str, "The format."]
    format_version: Annotated[int, "Its version."]
    schema: Annotated[Mapping[str, object], "The schema of `data` in the output of `passdown check --json`."]


@record
class FormatExample:
    """A valid document of a format."""

    name: Annotated[str, "The format."]
    format_version: Annotated[int, "Its version."]
    text: Annotated[str, "The document."]


def list_formats() -> KnownFormats:
    """List the formats."""
    rows = [
        FormatSummary(name=one.name, format_version=one.version, paths=one.paths, description=one.doc)
        for one in FORMATS
    ]
    return KnownFormats(formats=tuple(rows))


def show_schema(name: str) -> FormatSchema:
    """Return the JSON Schema of a format; raise a UsageError if there is no such format."""
    found = find_format(name)
    return FormatSchema(name=found.name, format_version=found.version, schema=found.schema())


def show_example(name: str) -> FormatExample:
    """Return a valid document of a format; raise a UsageError if there is no such format."""
    found = find_format(name)
    return FormatExample(name=found.name, format_version=found.version, text=found.example())
