"""`passdown format`: the formats, their schemas and examples."""

import click

from passdown.core.formats.registry import FORMATS, Format, find_format
from passdown.faces.cli import output

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group(invoke_without_command=True)
@_json_option
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """List the document formats; show a schema or an example.

    Each format is listed with its purpose and the usual location of its documents.
    """
    context.obj = as_json
    if context.invoked_subcommand is not None:
        return
    if as_json:
        output.say_json({"formats": [_row(found) for found in FORMATS]})
        return
    width = max(len(found.name) for found in FORMATS)
    for found in FORMATS:
        indent = " " * (width + 2)
        output.say(output.wrapped(found.doc, f"{found.name:<{width}}  ", indent))
        output.say(f"{indent}{found.paths[0]}")


def _row(found: Format) -> dict[str, object]:
    return {
        "name": found.name,
        "format_version": found.version,
        "paths": list(found.paths),
        "description": found.doc,
    }


@command.command(short_help="Print the JSON Schema of a format.")
@click.argument("name")
@_json_option
@click.pass_obj
def schema(above: bool, name: str, *, as_json: bool) -> None:
    """Print the JSON Schema of a format, which describes `data` in `passdown check --json`.

    NAME is a format that `passdown format` lists. --json prints one object with the schema as `schema`.
    """
    found = find_format(name)
    if above or as_json:
        output.say_json({"name": found.name, "format_version": found.version, "schema": found.schema()})
    else:
        output.say_schema(found.schema())


@command.command(short_help="Print a valid document of a format.")
@click.argument("name")
@_json_option
@click.pass_obj
def example(above: bool, name: str, *, as_json: bool) -> None:
    """Print a valid document of a format, as a starting point.

    NAME is a format that `passdown format` lists. --json prints one object with the document as `text`.
    """
    found = find_format(name)
    if above or as_json:
        output.say_json({"name": found.name, "format_version": found.version, "text": found.example()})
    else:
        output.say(found.example().removesuffix("\n"))
