"""`passdown tdd`: show the phases of the test-first cycle, or start one."""

from collections.abc import Callable
from typing import Final, TypeVar

import click

from passdown.actions.work import tdd as actions
from passdown.core.formats.ledgers import TddPhase
from passdown.core.times import render_seconds
from passdown.errors import UsageError
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show

_CHOICE: Final = "passdown.tdd"
Call = TypeVar("Call", bound=Callable[..., object])


def _choose(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Note which of the two flags was given; both at once are an error (C7)."""
    if value:
        choice = parameter.name == "tdd"
        if context.meta.setdefault(_CHOICE, choice) is not choice:
            raise UsageError("--tdd and --no-tdd cannot be combined", hint="remove one of them")


def tdd_options(call: Call) -> Call:
    """Add `--tdd` and `--no-tdd`; `read_choice` returns which was given."""
    flags = {"--tdd": "Follow the test-first cycle.", "--no-tdd": "Do not follow the test-first cycle."}
    for flag, help_ in reversed(flags.items()):
        call = click.option(flag, is_flag=True, expose_value=False, callback=_choose, help=help_)(call)
    return call


def read_choice() -> bool | None:
    """Return which of the two flags the running command has; None if neither."""
    chosen: object = click.get_current_context().meta.get(_CHOICE)
    return chosen if isinstance(chosen, bool) else None


@click.group(invoke_without_command=True)
@options.usual
@click.pass_context
def tdd(context: click.Context, session: str, *, as_json: bool) -> None:
    """Show the phases of the test-first cycle, or record that one begins.

    Passdown notices phases at the end of a turn: RED when a test file is written or a test fails, GREEN when
    a test passes, REFACTOR when something is committed after that. Each is noted on the task. A subcommand
    records it at once. Without one, shows the phases of the session.
    """
    context.obj = session
    if context.invoked_subcommand is None:
        show(call(actions.show, None, session), _say_cycle, as_json=as_json)


@tdd.command(short_help="Start RED: write a failing test.")
@options.usual
def red(session: str, *, as_json: bool) -> None:
    """Start RED: a failing test is being written; the task gets a note."""
    _begin(TddPhase.RED, session, as_json=as_json)


@tdd.command(short_help="Start GREEN: make the test pass.")
@options.usual
def green(session: str, *, as_json: bool) -> None:
    """Start GREEN: the test is being made to pass; the task gets a note."""
    _begin(TddPhase.GREEN, session, as_json=as_json)


@tdd.command(short_help="Start REFACTOR: clean up the code.")
@options.usual
def refactor(session: str, *, as_json: bool) -> None:
    """Start REFACTOR: the code is being cleaned up; the task gets a note."""
    _begin(TddPhase.REFACTOR, session, as_json=as_json)


def _begin(phase: TddPhase, session: str, *, as_json: bool) -> None:
    above = click.get_current_context().find_object(str) or ""
    show(call(actions.begin, phase, session or above), _say_phase, as_json=as_json)


def _say_phase(found: actions.PhaseResult) -> None:
    output.say(f"{found.agent} is now in {found.phase.value}" + (f" ({found.task})" if found.task else ""))
    if found.warning:
        output.note(f"unusual order: {found.warning}")
    if found.note:
        where = "noted on the task" if found.noted else "queued for the tracker"
        output.say(f"  {where}: {found.note}")


def _say_cycle(found: actions.CycleResult) -> None:
    output.say(f"phase: {found.phase or 'none'}")
    if found.skipped and not found.phase:
        output.say(output.wrapped(found.skipped, "", "  "))
    elif not found.followed:
        output.say("not followed: the session has no track or task, or it is turned off")
    for one in found.phases:
        began = render_seconds(one.began)
        output.say(output.wrapped(f"{began}  {one.phase}: {one.why}", "  ", "    "))
