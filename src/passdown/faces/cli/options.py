"""Options that many commands have, and the call of an action that changes what sessions share."""

from collections.abc import Callable
from typing import TypeVar

import click

from passdown.actions.answers import Answered
from passdown.actions.callers import Caller
from passdown.core.coordination.operations import VerbCall
from passdown.faces.cli.calls import call, current_folder
from passdown.faces.cli.tree import TypedCommand
from passdown.services.workspace.verbs import VerbRun

Request = TypeVar("Request")
Result = TypeVar("Result")


def _take_again(context: click.Context, parameter: click.Parameter, value: object) -> None:
    del parameter
    context.find_object(TypedCommand).is_again = bool(value)  # type: ignore[union-attr]  # `run` made one


again_option = click.option(
    "--again",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_take_again,
    help="Run it as a new command, even if the same one was just interrupted.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
session_option = click.option("--session", default="", metavar="ID", help="The session to use.")


def call_shared(
    action: Callable[[Caller, Request], Result], request: Request, session: str = ""
) -> Answered[Result]:
    """Call an action that changes what sessions share; all such actions of a command are one run of it.

    The same words repeat a command whose answer nobody saw, so that nothing happens twice (C142).
    """
    typed = click.get_current_context().ensure_object(TypedCommand)
    is_first = typed.verb is None
    typed.verb = typed.verb or VerbRun(VerbCall(typed.words, str(current_folder())), is_again=typed.is_again)
    return call(action, request, session, typed.verb, is_first=is_first)
