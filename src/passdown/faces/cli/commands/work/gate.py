"""`passdown gate`: the validation gates of a track."""

from collections.abc import Sequence
from typing import Final

import click

from passdown.core.facts import ICONS, Fact
from passdown.core.safe_text import one_line
from passdown.core.sessions.session_facts import Account
from passdown.core.times import render_seconds
from passdown.core.work.gates import QUESTIONS, GateVerdict
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.commands.work.command_runs import agree_and_run, how_it_ended, yes_option
from passdown.faces.cli.commands.work.preflight import prepare_freely, skip_preflight_option
from passdown.faces.cli.sessions import find_ready, need_session, open_sessions
from passdown.services.work.gates import (
    GateState,
    JudgedGate,
    check_gate,
    choose_mode,
    find_blocking,
    find_commands,
    find_left_out,
    learn_results,
    list_gates,
    need_gate,
    record_verdict,
    state_word,
)
from passdown.services.work.plan_commands import CommandRun
from passdown.services.workspace.workspaces import Workspace

_REFUSED: Final = 1
_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_session_option = click.option("--session", default="", metavar="ID", help="The session to use.")
_gate_argument = click.argument("name", metavar="GATE")
_note_option = click.option("--note", default="", metavar="TEXT", help="What was checked, or is wrong.")
_warn_option = click.option("--validate-warn", is_flag=True, help="Let a failure be a warning.")


@click.group(invoke_without_command=True)
@click.pass_context
def gate(context: click.Context) -> None:
    """Judge the gates of the session's track.

    The gates are design, spec, plan-structure, plan-execution and completion. With `[gates] mode = "full"`
    design, plan-execution and completion stop the work when they fail; otherwise a failure is a warning.
    After the third failed attempt a person must decide. Without a subcommand, lists the gates.
    """
    if context.invoked_subcommand is None:
        _list("", as_json=False)


@gate.command("list", short_help="List the gates of the track.")
@_session_option
@_json_option
def list_command(session: str, *, as_json: bool) -> None:
    """List the gates of the track, their last results, and which of them are due."""
    _list(session, as_json=as_json)


def _list(session: str, *, as_json: bool) -> None:
    workspace, account = _open(session)
    found = list_gates(workspace, account)
    if as_json:
        output.say_json({"track": account.track, "gates": [_as_data(one) for one in found]})
        return
    output.say(f"track: {account.track}")
    for one in found:
        shown = one.result.text if one.result else "-"  # an icon has another width in each terminal
        notes = f"due: {one.due}" if one.due else one.result.because if one.result else ""
        output.say(output.wrapped(f"{one.gate:<15} {shown:<4}  {notes}".rstrip(), "", " " * 22))


@gate.command(short_help="Show every result of a gate.")
@_gate_argument
@_session_option
@_json_option
def show(name: str, session: str, *, as_json: bool) -> None:
    """Show every result of a gate that the session knows, the commands that it runs, and what it asks."""
    workspace, account = _open(session)
    need_gate(name)
    state = next(one for one in list_gates(workspace, account) if one.gate == name)
    lines = find_commands(workspace, account, name)
    if as_json:
        commands = [{"command": line.text, "refused": line.refused or None} for line in lines]
        output.say_json({"track": account.track, **_as_data(state), "commands": commands})
        return
    output.say(f"{name} of {account.track}" + (f", due: {one_line(state.due)}" if state.due else ""))
    if name in QUESTIONS:
        output.say(output.wrapped(QUESTIONS[name], "  ", "  "))
    for fact in state.history:
        notes = f"  {fact.because}" if fact.because else ""
        shown = f"{render_seconds(fact.at)}  {fact.text}  {fact.agent}{notes}"
        output.say(output.wrapped(shown, "  ", "    "))
    for line in lines:
        output.say(output.wrapped(f"runs: {line.text}", "  ", "    "))


@gate.command(short_help="Check a gate: count what can be counted, run the plan's commands.")
@_gate_argument
@_warn_option
@yes_option
@skip_preflight_option
@_session_option
@_json_option
def run(name: str, session: str, *, validate_warn: bool, yes: bool, as_json: bool) -> int:
    """Check a gate: count what can be counted, and run the commands that verify the plan.

    The commands stand in code blocks below a heading with the word Verification. They are shown first, and
    run only if you agree or with --yes: as words, without a shell. `&&` and `;` make several commands; a line
    in which a shell would do more is not run, and fails the gate. What they print stays on this machine.

    Exits with 1 if the gate fails, if you did not agree, or if the gate waits for a person.
    """
    workspace, account = _open_prepared(session)
    need_gate(name)
    if _is_blocked(workspace, account, name, as_json=as_json):
        return _REFUSED
    lines = find_commands(workspace, account, name)
    runs = agree_and_run(workspace, lines, yes=yes, as_json=as_json) if lines else ()
    if runs is None:
        _say_unasked(name, lines, as_json=as_json)
        return _REFUSED
    choice = choose_mode(workspace, only_warn=validate_warn)
    verdict = check_gate(workspace, account, name, choice, runs)
    left_out = find_left_out(workspace, name)
    if verdict is None:
        _say_question(name, left_out, as_json=as_json)
        return 0
    judged = record_verdict(workspace, account, verdict._replace(left_out=tuple(left_out)), runs)
    return say_verdict(judged, runs, as_json=as_json)


@gate.command("pass", short_help="Say that a gate passes, and what was checked.")
@_gate_argument
@_note_option
@skip_preflight_option
@_session_option
@_json_option
def pass_command(name: str, note: str, session: str, *, as_json: bool) -> int:
    """Say that a gate passes, and what was checked.

    It is your word, and the note says what it rests on. plan-structure and completion are counted by
    `passdown gate run`. Exits with 1 if the gate waits for a person.
    """
    return _state(name, note, session, passed=True, as_json=as_json)


@gate.command(short_help="Say that a gate fails, and why.")
@_gate_argument
@_note_option
@skip_preflight_option
@_session_option
@_json_option
def fail(name: str, note: str, session: str, *, as_json: bool) -> int:
    """Say that a gate fails, and why; exits with 1 where that stops the work."""
    return _state(name, note, session, passed=False, as_json=as_json)


def _state(name: str, note: str, session: str, *, passed: bool, as_json: bool) -> int:
    workspace, account = _open_prepared(session)
    need_gate(name)
    verdict = state_word(name, choose_mode(workspace), note, passed=passed)
    if _is_blocked(workspace, account, name, as_json=as_json):
        return _REFUSED
    return say_verdict(record_verdict(workspace, account, verdict), as_json=as_json)


def _open(session: str) -> tuple[Workspace, Account]:
    """Open the project to look at its gates, which starts no session."""
    workspace = open_sessions()
    account = find_ready(workspace, session)
    if account is None:
        hint = "start one: `passdown start --track TRACK`"
        raise UsageError("no session is running here, so there is no track with gates", hint=hint)
    return workspace, learn_results(workspace, account)


def _open_prepared(session: str) -> tuple[Workspace, Account]:
    workspace = open_sessions()
    account = prepare_freely(workspace, need_session(workspace, session))
    return workspace, learn_results(workspace, account)


# --- what is said -------------------------------------------------------------------------------------


def _is_blocked(workspace: Workspace, account: Account, name: str, *, as_json: bool) -> bool:
    """Say that a gate waits for a person, if it does."""
    question = find_blocking(workspace, account, name)
    if question and as_json:
        output.say_json({"gate": name, "track": account.track, "status": None, "question": question})
    elif question:
        output.say(output.wrapped(question, "", "  "))
        output.say(output.hint(f'a person decides at a terminal: `passdown answer "{question[:40]}" TEXT`'))
    return bool(question)


def _say_unasked(name: str, lines: Sequence[object], *, as_json: bool) -> None:
    if as_json:
        shown = [str(getattr(line, "text", "")) for line in lines]
        output.say_json({"gate": name, "status": None, "commands": shown})
    else:
        output.note(f"nothing was run, so {name} has no result")
        output.note_hint("agree at a terminal, or add --yes")


def _say_question(name: str, left_out: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        output.say_json({"gate": name, "status": None, "asks": QUESTIONS[name], "left_out": list(left_out)})
        return
    output.say(f"{name} is yours to judge:")
    output.say(output.wrapped(QUESTIONS[name], "  ", "  "))
    for one in left_out:
        output.say(f"  not checked: {one}")
    output.say(output.hint(f"`passdown gate pass {name} --note TEXT`, or `fail`"))


def say_verdict(judged: JudgedGate, runs: Sequence[CommandRun] = (), *, as_json: bool) -> int:
    """Say how a gate ended, and return the exit code."""
    verdict = judged.verdict
    if as_json:
        output.say_json(_verdict_data(judged, runs))
    else:
        _say_verdict(verdict)
        if judged.question:
            output.say(output.wrapped(judged.question, "", "  "))
        elif verdict.stops:
            output.say(f"  attempt {judged.attempts} of 3")
    return _REFUSED if verdict.stops else 0


def _say_verdict(verdict: GateVerdict) -> None:
    notes = f": {verdict.notes}" if verdict.notes else ""
    shown = f"{ICONS[verdict.status]} {verdict.status.value} {verdict.gate}{notes}"
    output.say(output.wrapped(shown, "", "  "))
    for one in verdict.left_out:
        output.say(f"  not checked: {one}")


def _verdict_data(judged: JudgedGate, runs: Sequence[CommandRun]) -> dict[str, object]:
    verdict = judged.verdict
    return {
        "gate": verdict.gate,
        "track": judged.account.track,
        "status": verdict.status.value,
        "notes": verdict.notes or None,
        "left_out": list(verdict.left_out),
        "attempts": judged.attempts,
        "question": judged.question or None,
        "commands": [
            {
                "command": one.line.text,
                "exit": one.code if one.code >= 0 else None,
                "ended": how_it_ended(one),
            }
            for one in runs
        ],
    }


def _as_data(state: GateState) -> dict[str, object]:
    return {
        "gate": state.gate,
        "status": state.result.text if state.result else None,
        "notes": (state.result.because or None) if state.result else None,
        "due": state.due or None,
        "history": [_fact_data(fact) for fact in state.history],
    }


def _fact_data(fact: Fact) -> dict[str, object]:
    return {
        "status": fact.text,
        "notes": fact.because or None,
        "at": render_seconds(fact.at),
        "agent": fact.agent,
        "provenance": fact.provenance.value,
    }
