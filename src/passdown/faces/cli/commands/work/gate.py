"""`passdown gate`: the validation gates of a track."""

from typing import Final

import click

from passdown.actions.answers import Answered
from passdown.actions.work import gates as actions
from passdown.core.facts import ICONS
from passdown.core.safe_text import one_line
from passdown.core.times import render_seconds
from passdown.core.work.gates import QUESTIONS
from passdown.faces.cli import calls, options, output
from passdown.faces.cli.calls import call
from passdown.faces.cli.commands.work.command_runs import agree, choose_teller
from passdown.faces.cli.commands.work.preflight import is_preflight_skipped, skip_preflight_option
from passdown.records import replace

_REFUSED: Final = 1
_gate_argument = click.argument("name", metavar="GATE")
_note_option = click.option("--note", default="", metavar="TEXT", help="What you checked, or what is wrong.")
_warn_option = click.option("--validate-warn", is_flag=True, help="Only warn if the gate fails.")


@click.group(invoke_without_command=True)
@click.pass_context
def gate(context: click.Context) -> None:
    """Run or record quality gates.

    The gates are design, spec, plan-structure, plan-execution and completion. With `[gates] mode = "full"`,
    design, plan-execution and completion stop the work when they fail; otherwise a failure is a warning.
    After the third failed attempt a person must decide. Without a subcommand, lists the gates of the
    session's track.
    """
    if context.invoked_subcommand is None:
        _list("", as_json=False)


@gate.command("list", short_help="List the gates of the track.")
@options.usual
def list_command(session: str, *, as_json: bool) -> None:
    """List the gates of the track, their last results, and which are due."""
    _list(session, as_json=as_json)


def _list(session: str, *, as_json: bool) -> None:
    calls.show(call(actions.list_all, None, session), _say_gates, as_json=as_json)


def _say_gates(found: actions.GateList) -> None:
    output.say(f"track: {found.track or 'none'}")
    for one in found.gates:
        notes = f"due: {one.due}" if one.due else one.notes or ""
        # an icon has another width in each terminal
        output.say(output.wrapped(f"{one.gate:<15} {one.status or '-':<4}  {notes}".rstrip(), "", " " * 22))


@gate.command(short_help="Show every result of a gate.")
@_gate_argument
@options.usual
def show(name: str, session: str, *, as_json: bool) -> None:
    """Show every known result of a gate, the commands it runs, and what it asks."""
    calls.show(call(actions.show, name, session), _say_details, as_json=as_json)


def _say_details(found: actions.GateDetails) -> None:
    one = found.gate
    output.say(f"{one.gate} of {found.track}" + (f", due: {one_line(one.due)}" if one.due else ""))
    if one.gate in QUESTIONS:
        output.say(output.wrapped(QUESTIONS[one.gate], "  ", "  "))
    for entry in one.history:
        notes = f"  {entry.notes}" if entry.notes else ""
        shown = f"{render_seconds(entry.at)}  {entry.status}  {entry.agent}{notes}"
        output.say(output.wrapped(shown, "  ", "    "))
    for line in found.commands:
        output.say(output.wrapped(f"runs: {line.command}", "  ", "    "))


@gate.command(short_help="Check a gate, and run the plan's verification commands.")
@_gate_argument
@_warn_option
@options.yes
@skip_preflight_option
@options.usual
def run(name: str, session: str, *, validate_warn: bool, yes: bool, as_json: bool) -> int:
    """Check a gate: make its automatic checks, and run the plan's verification commands.

    The commands are in code blocks below a heading with the word Verification. They are shown first, and run
    only if you agree or with --yes, without a shell. `&&` and `;` separate commands; a line that needs more
    of a shell is not run, and fails the gate. Their output stays on this machine.

    Exits with 1 if the gate fails, if you did not agree, or if the gate waits for a person.
    """
    request = actions.GateRequest(
        gate=name,
        only_warns=validate_warn,
        skips_preflight=is_preflight_skipped(),
        told=choose_teller(as_json=as_json),
    )
    planned = call(actions.plan, request, session)
    found = planned.result
    if isinstance(found, actions.EscalatedGate):
        return _show(planned, as_json=as_json)
    if found.lines and not agree(found.lines, yes=yes, as_json=as_json):
        return _show(planned, as_json=as_json)
    request = replace(request, agreed=found.commands, skips_preflight=True)
    return _show(call(actions.run, request, session, is_first=False), as_json=as_json)


@gate.command("pass", short_help="Record that a gate passes, and what was checked.")
@_gate_argument
@_note_option
@skip_preflight_option
@options.usual
def pass_command(name: str, note: str, session: str, *, as_json: bool) -> int:
    """Record that a gate passes, and what was checked.

    This records your own review, and the note says what you checked. plan-structure and completion are
    checked by `passdown gate run`. Exits with 1 if the gate waits for a person.
    """
    return _state(name, note, session, passed=True, as_json=as_json)


@gate.command(short_help="Record that a gate fails, and why.")
@_gate_argument
@_note_option
@skip_preflight_option
@options.usual
def fail(name: str, note: str, session: str, *, as_json: bool) -> int:
    """Record that a gate fails, and why; exits with 1 where that stops the work."""
    return _state(name, note, session, passed=False, as_json=as_json)


def _state(name: str, note: str, session: str, *, passed: bool, as_json: bool) -> int:
    request = actions.GateReview(
        gate=name, note=note, has_passed=passed, skips_preflight=is_preflight_skipped()
    )
    return _show(call(actions.state, request, session), as_json=as_json)


# --- output -------------------------------------------------------------------------------------------


def _show(
    answer: Answered[actions.GatePlan | actions.EscalatedGate | actions.GateQuestion | actions.GateOutcome],
    *,
    as_json: bool,
) -> int:
    """Print the outcome of a gate, and return the exit code."""
    found = calls.show(answer, _say, as_json=as_json)
    is_refused = (
        found.stops if isinstance(found, actions.GateOutcome) else not isinstance(found, actions.GateQuestion)
    )
    return _REFUSED if is_refused else 0


def _say(
    found: actions.GatePlan | actions.EscalatedGate | actions.GateQuestion | actions.GateOutcome,
) -> None:
    if isinstance(found, actions.GateOutcome):
        say_verdict(found)
    elif isinstance(found, actions.EscalatedGate):
        question = found.question
        output.say(output.wrapped(question, "", "  "))
        output.say(output.hint(f'a person decides at a terminal: `passdown answer "{question[:40]}" TEXT`'))
    elif isinstance(found, actions.GatePlan):
        output.note(f"nothing was run, so {found.gate} has no result")
        output.note_hint("confirm at a terminal, or pass --yes")
    else:
        output.say(f"Review {found.gate} yourself:")
        output.say(output.wrapped(found.asks, "  ", "  "))
        for one in found.left_out:
            output.say(f"  not checked: {one}")
        output.say(
            output.hint(f"record the result: `passdown gate pass {found.gate} --note TEXT`, or `fail`")
        )


def say_verdict(found: actions.GateOutcome) -> None:
    """Print the result of a gate."""
    notes = f": {found.notes}" if found.notes else ""
    shown = f"{ICONS[found.status]} {found.status.value} {found.gate}{notes}"
    output.say(output.wrapped(shown, "", "  "))
    for one in found.left_out:
        output.say(f"  not checked: {one}")
    if found.question:
        output.say(output.wrapped(found.question, "", "  "))
    elif found.stops:
        output.say(f"  attempt {found.attempts} of 3")
