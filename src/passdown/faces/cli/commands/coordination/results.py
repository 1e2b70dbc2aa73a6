"""`passdown result`: apply what subagents returned, once."""

import sys
from types import MappingProxyType
from typing import Final

import click

from passdown.actions.coordination import results as actions
from passdown.core.hosts.kept_results import DONE, KeptResult, ResultState
from passdown.core.hosts.results import ResultAction, ResultStatus, TaskUpdate
from passdown.errors import StorageError
from passdown.faces.cli import calls, options, output
from passdown.faces.cli.calls import call
from passdown.faces.cli.options import call_shared

_ENDED: Final = MappingProxyType(
    {
        ResultState.APPLIED: "Already applied",
        ResultState.DROPPED: "Already dropped",
        ResultState.NOTED: "Nothing to apply",
    }
)
_WORDS: Final = MappingProxyType({ResultAction.CLOSE: "closed", ResultAction.UPDATE: "added notes to"})


@click.group("result", short_help="Apply task changes proposed by subagents.")
def result() -> None:
    """Apply task changes proposed by subagents.

    A subagent does not change tasks itself. It returns an object with the changes it proposes, and the agent
    that started it runs `passdown result apply`. Each result is applied once.
    """


@result.command(short_help="Apply what subagents propose.")
@click.argument("path", metavar="[FILE]", default="")
@click.option("--id", "names", multiple=True, metavar="ID", help="Apply only this result.")
@options.usual
def apply(path: str, names: tuple[str, ...], session: str, *, as_json: bool) -> int:
    """Apply what subagents propose: close tasks, or add notes to them.

    FILE is a result as the subagent returned it; `-` reads it from standard input. Without FILE, applies all
    results that hooks kept when subagents of the session ended. Each result is applied once, wherever it
    comes from. Exits with 1 if a change failed, and with 5 if there was no answer, so that it may have been
    made; the same command then tries again.
    """
    given = sys.stdin.buffer.read() if path == actions.INPUT else b""
    answer = call_shared(actions.apply, actions.ApplyRequest(path=path, given=given, names=names), session)
    applied = calls.show(answer, _say_results, as_json=as_json).applied
    if any(one.is_unsure for one in applied):
        return StorageError.exit_code
    return int(any(one.kept.is_open for one in applied))


def _say_results(found: actions.AppliedResults) -> None:
    for one in found.applied:
        _say_applied(one.kept, is_new=bool(one.tried))
    if not found.applied:
        output.say("No results to apply.")


@result.command("list", short_help="List the results that are not applied yet, or all.")
@click.option("--all", "show_all", is_flag=True, help="Also list results that were applied or dropped.")
@options.usual
def list_(session: str, *, show_all: bool, as_json: bool) -> None:
    """List the results of the session's subagents that are not applied yet, or all."""
    answer = call(actions.list_known, actions.ListResultsRequest(is_all=show_all), session)
    found = calls.show(answer, _say_listed, as_json=as_json)
    if not (found.results or as_json):
        output.say("No results." if show_all else "No results to apply.")


def _say_listed(found: actions.ListedResults) -> None:
    for one in found.results:
        _say_title(one.kept)


@result.command(short_help="Show a result.")
@click.argument("name", metavar="ID")
@options.usual
def show(name: str, session: str, *, as_json: bool) -> None:
    """Show what a subagent returned, and what was done with it."""
    calls.show(call(actions.show, name, session), _say_shown, as_json=as_json)


def _say_shown(shown: actions.ShownResult) -> None:
    found = shown.result.kept
    _say_title(found)
    for at, update in enumerate(found.updates):
        output.say(output.wrapped(_ask(update, found.outcomes.get(at, "")), "  ", "    "))
        for line in update.notes.splitlines():
            output.say(output.wrapped(line, "    > ", "      "))
    for path in found.result.files if found.result else ():
        output.say(output.wrapped(f"changed {path}", "  ", "    "))
    for problem in found.problems:
        output.say(output.wrapped(f"problem: {problem}", "  ", "    "))


@result.command(short_help="Drop a result without applying it.")
@click.argument("name", metavar="ID")
@options.usual
def drop(name: str, session: str, *, as_json: bool) -> None:
    """Drop a result without applying it; what was already applied stays."""
    answer = call(actions.drop, name, session)
    found = answer.result.result
    calls.show(answer, lambda _: output.say(f"{found.id} is {found.state}"), as_json=as_json)


@result.command(short_help="Print the rules that a subagent gets.")
@options.json
def rules(*, as_json: bool) -> None:
    """Print the rules that a subagent gets at its start.

    In hosts that call a hook at the start of a subagent, the hook prints them. Elsewhere, put them into the
    subagent's prompt.
    """
    answer = call(actions.read_rules, None)
    calls.show(answer, lambda found: output.say(found.rules.rstrip("\n")), as_json=as_json)


def _say_applied(kept: KeptResult, *, is_new: bool) -> None:
    """Print what was applied, and what was not and why."""
    if kept.state is ResultState.MALFORMED:
        output.note(f"{kept.id} cannot be read: {'; '.join(kept.problems)}")
        output.note_hint(f"ask the subagent again, or run `passdown result drop {kept.id}`")
        return
    word = "Partly applied" if kept.is_open else "Applied" if is_new else _ENDED[kept.state]
    output.say(output.wrapped(f"{word}: {kept.id} {_title(kept)}", "", "  "))
    if not is_new:
        return
    for at, update in enumerate(kept.updates):
        outcome = kept.outcomes.get(at, "")
        if outcome == DONE:
            output.say(f"  {_WORDS[update.action]} {update.task}")
        elif outcome:
            output.note(f"not {_WORDS[update.action]} {update.task}: {outcome}")
    for problem in kept.problems:
        output.note(f"{kept.id}: {problem}")


def _say_title(kept: KeptResult) -> None:
    output.say(output.wrapped(f"{kept.id}  {kept.state.value}  {_title(kept)}", "", "  "))


def _title(kept: KeptResult) -> str:
    if kept.result is None:
        return "; ".join(kept.problems)
    failed = "failed: " if kept.result.status is ResultStatus.FAILED else ""
    return f"{failed}{kept.result.title}"


def _ask(update: TaskUpdate, outcome: str) -> str:
    asked = f"close {update.task} ({update.reason})" if update.reason else f"add notes to {update.task}"
    return f"{asked}: {outcome}" if outcome else asked
