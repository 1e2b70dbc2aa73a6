"""`passdown tdd`: the phases of the test-first cycle, and why a task has none."""

from collections.abc import Callable
from typing import Final, TypeVar

import click

from passdown.core.formats.ledgers import TddPhase
from passdown.core.sessions.session_facts import Account
from passdown.core.times import render_seconds
from passdown.core.work.tdd import is_followed, list_phases
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.sessions import find_ready, need_session, open_sessions
from passdown.faces.hooks.hook_log import log_metrics
from passdown.services.project.metrics import make_phase_metrics
from passdown.services.work.tdd import BegunPhase, begin_phase

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_session_option = click.option("--session", default="", metavar="ID", help="The session to use.")

_CHOICE: Final = "passdown.tdd"
Call = TypeVar("Call", bound=Callable[..., object])


def _choose(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Note which of the two flags was given; both at once are an error (C7)."""
    if value:
        choice = parameter.name == "tdd"
        if context.meta.setdefault(_CHOICE, choice) is not choice:
            raise UsageError("--tdd and --no-tdd exclude each other", hint="give one of them")


def tdd_options(call: Call) -> Call:
    """Add `--tdd` and `--no-tdd`; `read_choice` tells what was given."""
    flags = {"--tdd": "Follow the test-first cycle.", "--no-tdd": "Do not follow the test-first cycle."}
    for flag, help_ in reversed(flags.items()):
        call = click.option(flag, is_flag=True, expose_value=False, callback=_choose, help=help_)(call)
    return call


def read_choice() -> bool | None:
    """Return what the two flags of the running command say; None if they say nothing."""
    chosen: object = click.get_current_context().meta.get(_CHOICE)
    return chosen if isinstance(chosen, bool) else None


@click.group(invoke_without_command=True)
@_session_option
@_json_option
@click.pass_context
def tdd(context: click.Context, session: str, *, as_json: bool) -> None:
    """Show the phases of the test-first cycle, or say that one begins.

    Passdown sees phases by itself at the end of a turn: RED when a test file is written or a test fails,
    GREEN when a test passes, REFACTOR when something is committed after that. Each is noted on the task. A
    subcommand says it at once. Without one, shows the phases of the session.
    """
    context.obj = (session, as_json)
    if context.invoked_subcommand is None:
        _show(session, as_json=as_json)


@tdd.command(short_help="A failing test is being written.")
@_session_option
@_json_option
@click.pass_obj
def red(above: tuple[str, bool], /, session: str, *, as_json: bool) -> None:
    """Say that a failing test is being written: state and journal first, then the note on the task."""
    _begin(TddPhase.RED, session or above[0], as_json=as_json or above[1])


@tdd.command(short_help="The test is being made to pass.")
@_session_option
@_json_option
@click.pass_obj
def green(above: tuple[str, bool], /, session: str, *, as_json: bool) -> None:
    """Say that the test is being made to pass: state and journal first, then the note on the task."""
    _begin(TddPhase.GREEN, session or above[0], as_json=as_json or above[1])


@tdd.command(short_help="The code is being cleaned up.")
@_session_option
@_json_option
@click.pass_obj
def refactor(above: tuple[str, bool], /, session: str, *, as_json: bool) -> None:
    """Say that the code is being cleaned up: state and journal first, then the note on the task."""
    _begin(TddPhase.REFACTOR, session or above[0], as_json=as_json or above[1])


def _begin(phase: TddPhase, session: str, *, as_json: bool) -> None:
    workspace = open_sessions()
    begun = begin_phase(workspace, need_session(workspace, session), phase)
    log_metrics(workspace.root, make_phase_metrics(begun.ended))
    _say(begun, phase, as_json=as_json)


def _say(begun: BegunPhase, phase: TddPhase, *, as_json: bool) -> None:
    change, account = begun.change, begun.account
    if as_json:
        output.say_json(
            {
                "session": account.session,
                "task": account.task or None,
                "phase": phase.value,
                "changed": change is not None,
                "warning": change.warning or None if change else None,
                "note": begun.note or None,
                "noted": begun.is_noted,
            }
        )
        return
    output.say(f"{account.agent} is in {phase.value}" + (f" of {account.task}" if account.task else ""))
    if change is not None and change.warning:
        output.note(f"the order is unusual: {change.warning}")
    if begun.note:
        where = "noted on the task" if begun.is_noted else "waits for the tracker"
        output.say(f"  {where}: {begun.note}")


def _show(session: str, *, as_json: bool) -> None:
    workspace = open_sessions()
    account = find_ready(workspace, session) or Account()
    phases = [
        {
            "phase": fact.text,
            "task": fact.key or None,
            "began": render_seconds(at),
            "why": fact.because or None,
        }
        for fact, at in list_phases(account)
    ]
    follows = is_followed(account, default=workspace.settings.tdd.default)
    if as_json:
        skipped = account.tdd_skip or None
        output.say_json(
            {"phase": account.tdd or None, "followed": follows, "skipped": skipped, "phases": phases}
        )
        return
    output.say(f"phase: {account.tdd or 'none'}")
    if account.tdd_skip and not account.tdd:
        output.say(output.wrapped(account.tdd_skip, "", "  "))
    elif not follows:
        output.say("not followed: the session has neither a track nor a task, or it is switched off")
    for one in phases:
        output.say(output.wrapped(f"{one['began']}  {one['phase']}: {one['why']}", "  ", "    "))
