"""`passdown result`: apply what subagents returned, once."""

import sys
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

import click

from passdown.core.hosts.kept_results import DONE, KeptResult, ResultState
from passdown.core.hosts.results import ResultAction, ResultStatus, TaskUpdate
from passdown.core.times import render_seconds
from passdown.errors import StorageError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.coordination import (
    json_option,
    note_input,
    open_shared,
    session_option,
)
from passdown.faces.cli.sessions import find_ready, need_session, open_sessions
from passdown.services.work.results import (
    apply_result,
    drop_result,
    find_result,
    list_results,
    take_result,
)
from passdown.wiring.subagents import find_rules
from passdown.wiring.workspaces import read_named

_ENDED: Final = MappingProxyType(
    {
        ResultState.APPLIED: "Already applied",
        ResultState.DROPPED: "Was dropped",
        ResultState.NOTED: "Asks for nothing",
    }
)
_WORDS: Final = MappingProxyType({ResultAction.CLOSE: "closed", ResultAction.UPDATE: "added notes to"})


@click.group("result", short_help="Apply what subagents returned, once.")
def result() -> None:
    """Apply what subagents returned, once.

    A subagent does not change tasks. It returns an object that says what is to be done, and the agent that
    started it runs `passdown result apply`.
    """


@result.command(short_help="Do what results of subagents ask for.")
@click.argument("path", metavar="[FILE]", default="")
@click.option("--id", "names", multiple=True, metavar="ID", help="Apply only this result.")
@session_option
@json_option
def apply(path: str, names: tuple[str, ...], session: str, *, as_json: bool) -> int:
    """Do what results of subagents ask for: close tasks, or add notes to them.

    FILE has a result, as the subagent returned it; `-` reads it from the input. Without FILE, all results are
    applied that hooks kept when subagents of the session ended. The same result is applied once, wherever it
    comes from. Exits with 1 if something could not be done, and with 5 if there was no answer, so that it may
    have been done; the same call tries that again.
    """
    workspace = open_shared()
    account = need_session(workspace, session)
    if path:
        data = sys.stdin.buffer.read() if path == "-" else read_named(path)
        note_input(workspace, data)
        kept = take_result(workspace, account, data.decode("utf-8", "replace"))
        if kept is None:
            where = "the input" if path == "-" else path
            raise UsageError(f"there is no result in {where}", hint="`passdown result rules` shows its form")
        chosen: Sequence[KeptResult] = [kept]
    else:
        known = list_results(workspace, account)
        chosen = [find_result(known, name) for name in names] or [one for one in known if one.is_open]
    applied = [apply_result(workspace, account, one) for one in chosen]
    results = [one.kept for one in applied]
    if as_json:
        output.say_json({"session": account.session, "results": [_as_data(one) for one in results]})
    else:
        for one in applied:
            _say_applied(one.kept, is_new=bool(one.tried))
        if not applied:
            output.say("No result waits to be applied.")
    if any(one.is_unsure for one in applied):
        return StorageError.exit_code
    return int(any(one.is_open for one in results))


@result.command("list", short_help="List the results that wait, or all.")
@click.option("--all", "show_all", is_flag=True, help="Also list results that were applied or dropped.")
@session_option
@json_option
def list_(session: str, *, show_all: bool, as_json: bool) -> None:
    """List the results of the session's subagents that wait to be applied, or all."""
    workspace = open_sessions()
    account = find_ready(workspace, session)
    known = list_results(workspace, account) if account else ()
    found = [one for one in known if show_all or one.is_open]
    if as_json:
        output.say_json({"results": [_as_data(one) for one in found]})
        return
    for one in found:
        output.say(output.wrapped(f"{one.id}  {one.state.value}  {_title(one)}", "", "  "))
    if not found:
        output.say("There are no results." if show_all else "No result waits to be applied.")


@result.command(short_help="Show a result.")
@click.argument("name", metavar="ID")
@session_option
@json_option
def show(name: str, session: str, *, as_json: bool) -> None:
    """Show what a subagent returned, and what became of it."""
    workspace = open_sessions()
    account = find_ready(workspace, session)
    found = find_result(list_results(workspace, account) if account else (), name)
    if as_json:
        output.say_json({"result": _as_data(found)})
        return
    output.say(output.wrapped(f"{found.id}  {found.state.value}  {_title(found)}", "", "  "))
    for at, update in enumerate(found.updates):
        output.say(output.wrapped(_ask(update, found.outcomes.get(at, "")), "  ", "    "))
        for line in update.notes.splitlines():
            output.say(output.wrapped(line, "    > ", "      "))
    for path in found.result.files if found.result else ():
        output.say(output.wrapped(f"changed {path}", "  ", "    "))
    for problem in found.problems:
        output.say(output.wrapped(f"problem: {problem}", "  ", "    "))


@result.command(short_help="Do not apply a result.")
@click.argument("name", metavar="ID")
@session_option
@json_option
def drop(name: str, session: str, *, as_json: bool) -> None:
    """Decide that a result is not applied; what was applied of it stays."""
    workspace = open_sessions()
    account = need_session(workspace, session)
    found = drop_result(workspace, account, find_result(list_results(workspace, account), name))
    if as_json:
        output.say_json({"result": _as_data(found)})
    else:
        output.say(f"{found.id} is {found.state.value}")


@result.command(short_help="Print the rules that a subagent is told.")
@json_option
def rules(*, as_json: bool) -> None:
    """Print the rules that a subagent is told at its start.

    Hooks tell them where the host calls at the start of a subagent. Elsewhere, put them into its prompt.
    """
    text = find_rules(open_sessions(), is_asked=True)
    if as_json:
        output.say_json({"rules": text})
    else:
        output.say(text.rstrip("\n"))


def _say_applied(kept: KeptResult, *, is_new: bool) -> None:
    """Say what was done, and what was not and why."""
    if kept.state is ResultState.MALFORMED:
        output.note(f"{kept.id} cannot be read: {'; '.join(kept.problems)}")
        output.note_hint(f"ask the subagent again, or run `passdown result drop {kept.id}`")
        return
    word = "Not all is applied" if kept.is_open else "Applied" if is_new else _ENDED[kept.state]
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


def _title(kept: KeptResult) -> str:
    if kept.result is None:
        return "; ".join(kept.problems)
    failed = "failed: " if kept.result.status is ResultStatus.FAILED else ""
    return f"{failed}{kept.result.title}"


def _ask(update: TaskUpdate, outcome: str) -> str:
    asked = f"close {update.task} ({update.reason})" if update.reason else f"add notes to {update.task}"
    return f"{asked}: {outcome}" if outcome else asked


def _as_data(kept: KeptResult) -> dict[str, object]:
    return {
        "id": kept.id,
        "state": kept.state.value,
        "at": render_seconds(kept.at),
        "subagent": kept.subagent or None,
        "status": kept.result.status.value if kept.result else None,
        "summary": kept.result.summary if kept.result else None,
        "updates": [
            {
                "id": one.task,
                "action": one.action.value,
                "reason": one.reason or None,
                "notes": one.notes or None,
                "outcome": kept.outcomes.get(at),
            }
            for at, one in enumerate(kept.updates)
        ],
        "files": list(kept.result.files) if kept.result else [],
        "problems": list(kept.problems),
    }
