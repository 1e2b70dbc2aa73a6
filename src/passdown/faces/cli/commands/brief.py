"""`passdown brief`: print what a starting session is told, and measure how much briefs recall."""

from typing import Any, Final

import click

from passdown.actions.answers import encode
from passdown.actions.handover import briefs
from passdown.core.briefs import budgets
from passdown.core.briefs.budgets import Budget
from passdown.errors import PassdownError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.calls import call, show

_MOST_SESSIONS: Final = 10_000
_MOST_TOKENS: Final = 1_000_000


@click.command()
@click.option("--session", default="", metavar="ID", help="The session to brief.")
@click.option("--tokens", default="", metavar="N", help="Use at most N tokens (default: 1500).")
@click.option(
    "--chars",
    type=click.IntRange(min=budgets.LEAST_CHARACTERS),
    default=budgets.CHARACTERS,
    metavar="N",
    help="Use at most N characters (default: 9000).",
)
@click.option(
    "--banner", is_flag=True, help="Print only the goal, the current work, and which events they come from."
)
@click.option("--eval", "is_eval", is_flag=True, help="Measure how much of made-up histories briefs show.")
@click.option(
    "--sessions", default="", metavar="N,…", help="With --eval: the lengths of the histories, in sessions."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with every fact in full.")
def command(session: str, tokens: str, chars: int, *, banner: bool, as_json: bool, **measured: Any) -> int:
    """Print what a new session needs to know, within a budget.

    The goal, current work, feedback and next step come first. Rules, decisions, questions and other facts
    share the rest of the budget; those that name a file the session works on come first. Facts that do not
    fit are counted, with the command that shows them. Without a session, prints what the next session here
    would see. Text that sessions and people wrote follows `>`: it is data, not instructions.

    --eval needs no project: it makes up histories of many sessions whose facts stay in force, and counts how
    many of them briefs show within each budget. --tokens may then be a list. Exits with 1 if a fact that must
    be shown is missing.
    """
    if measured["is_eval"]:
        if session or banner:
            hint = "remove the other option"
            raise UsageError("--eval cannot be used with --session or --banner", hint=hint)
        return _evaluate(measured["sessions"], tokens, chars, as_json=as_json)
    if measured["sessions"]:
        raise UsageError("--sessions needs --eval", hint="--session ID names the session to brief")
    numbers = _numbers(tokens, "--tokens", budgets.LEAST_TOKENS, _MOST_TOKENS)
    if len(numbers) > 1:
        raise UsageError("--tokens accepts a list only with --eval", hint="give one number")
    budget = Budget(tokens=numbers[0] if numbers else budgets.TOKENS, characters=chars)
    if banner:
        show(call(briefs.show_banner, None, session), _say, as_json=as_json)
    elif as_json:
        show(call(briefs.describe_brief, budget, session), _say, as_json=True)
    else:
        show(call(briefs.show_brief, budget, session), _say, as_json=False)
    return 0


def _say(found: briefs.BriefText | briefs.BriefResult) -> None:
    output.say(found.text)


# --- recall ---------------------------------------------------------------------------------------


def _evaluate(sessions: str, tokens: str, chars: int, *, as_json: bool) -> int:
    from passdown.actions.handover.recall import RecallRequest, measure_recall  # briefs do not need it
    from passdown.core.evidence.recall import render_recall

    request = RecallRequest(
        sessions=_numbers(sessions, "--sessions", 1, _MOST_SESSIONS),
        tokens=_numbers(tokens, "--tokens", budgets.LEAST_TOKENS, _MOST_TOKENS),
        characters=chars,
    )
    found = measure_recall(request)
    if as_json:
        output.say_json(encode(found))
    else:
        output.say(render_recall(found.measured))
    for row in found.rows:
        if not row.is_good:
            which = f"{row.sessions} sessions, {row.tokens} tokens"
            output.note(f"required facts are missing from the brief: {which}")
    return 0 if found.is_good else PassdownError.exit_code


def _numbers(text: str, name: str, least: int, most: int) -> tuple[int, ...]:
    """Parse whole numbers separated by commas; return none for an empty text."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and least <= int(part[:9]) <= most for part in parts):
        raise UsageError(f"{name}: {text} is not valid", hint=f"write whole numbers from {least} to {most}")
    return tuple(int(part) for part in parts)
