"""Options that several commands have, and the call of an action that changes what sessions share."""

from collections.abc import Callable
from typing import TypeVar

import click

from passdown.actions.answers import Answered
from passdown.actions.callers import Caller
from passdown.faces.cli.calls import call, current_folder
from passdown.faces.cli.tree import TypedCommand

Call = TypeVar("Call", bound=Callable[..., object])
Request = TypeVar("Request")
Result = TypeVar("Result")


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
    "--run-test", is_flag=True, help="Run the recorded test, without a shell, once you agree."
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


def usual(command: Call) -> Call:
    """Add `--session` and `--json`."""
    return session(json(command))


def changing(command: Call) -> Call:
    """Add `--again`, `--session` and `--json`, to a command that changes what sessions share."""
    return again(usual(command))


def call_shared(
    action: Callable[[Caller, Request], Result], request: Request, session: str = ""
) -> Answered[Result]:
    """Call an action that changes what sessions share; all such actions of a command belong to one run.

    If nobody saw the answer of a command, typing it again repeats that run, so that nothing happens twice
    (C142).
    """
    from passdown.core.coordination.operations import VerbCall  # most commands change nothing that is shared
    from passdown.services.workspace.verbs import VerbRun

    typed = click.get_current_context().ensure_object(TypedCommand)
    is_first = typed.verb is None
    typed.verb = typed.verb or VerbRun(VerbCall(typed.words, str(current_folder())), is_again=typed.is_again)
    return call(action, request, session, typed.verb, is_first=is_first)
