"""The options that several commands have."""

from collections.abc import Callable
from typing import TypeVar

import click

from passdown.faces.cli.tree import TypedCommand

Call = TypeVar("Call", bound=Callable[..., object])


def _inherit(context: click.Context, parameter: click.Parameter, value: object) -> bool:
    """Return whether a flag was given, to the command or to the group that it is in."""
    above = context.parent.params if context.parent else {}
    return bool(value or above.get(str(parameter.name)))


def _take_again(context: click.Context, parameter: click.Parameter, value: object) -> None:
    del parameter
    context.find_object(TypedCommand).is_again = bool(value)  # type: ignore[union-attr]  # `run` made one


json = click.option("--json", "as_json", is_flag=True, callback=_inherit, help="Print one JSON object.")
session = click.option("--session", default="", metavar="ID", help="The session to use.")
again = click.option(
    "--again",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_take_again,
    help="Run it as a new command, even if the same one was just interrupted.",
)
yes = click.option("--yes", is_flag=True, help="Do not ask. Needed without a terminal.")
write = click.option("--yes", is_flag=True, help="Write without asking. Needed without a terminal.")
run_test = click.option(
    "--run-test", is_flag=True, help="Run the recorded test, without a shell, if you agree."
)


def limit(usual_number: int, what: str) -> Callable[[Call], Call]:
    """Make `-n N`, for a command that lists something."""
    return click.option(
        "-n",
        "--limit",
        type=click.IntRange(min=1),
        default=usual_number,
        metavar="N",
        help=f"Show N {what} (default: {usual_number}).",
    )


def usual(call: Call) -> Call:
    """Add `--session` and `--json`."""
    return session(json(call))


def changing(call: Call) -> Call:
    """Add `--again`, `--session` and `--json`, to a command that changes what sessions share."""
    return again(usual(call))
