"""`passdown format`: the formats, their schemas and examples."""

import click

from passdown.actions.answers import encode
from passdown.actions.project import formats
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
    known = formats.list_formats()
    if as_json:
        output.say_json(encode(known))
        return
    width = max(len(found.name) for found in known.formats)
    for found in known.formats:
        indent = " " * (width + 2)
        output.say(output.wrapped(found.description, f"{found.name:<{width}}  ", indent))
        output.say(f"{indent}{found.paths[0]}")


@command.command(short_help="Print the JSON Schema of a format.")
@click.argument("name")
@_json_option
@click.pass_context
def schema(context: click.Context, name: str, *, as_json: bool) -> None:
    """Print the JSON Schema of a format, which describes `data` in `passdown check --json`.

    NAME is a format that `passdown format` lists. --json prints one object with the schema as `schema`.
    """
    found = formats.show_schema(name)
    if as_json or context.obj:
        output.say_json(encode(found))
    else:
        output.say_schema(found.schema)


@command.command(short_help="Print a valid document of a format.")
@click.argument("name")
@_json_option
@click.pass_context
def example(context: click.Context, name: str, *, as_json: bool) -> None:
    """Print a valid document of a format, as a starting point.

    NAME is a format that `passdown format` lists. --json prints one object with the document as `text`.
    """
    found = formats.show_example(name)
    if as_json or context.obj:
        output.say_json(encode(found))
    else:
        output.say(found.text.removesuffix("\n"))
