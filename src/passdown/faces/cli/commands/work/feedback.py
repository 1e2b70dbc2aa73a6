"""`passdown feedback`: what people said that nobody has answered yet."""

from collections.abc import Sequence

import click

from passdown.core.safe_text import one_line
from passdown.core.times import age_words, render_seconds
from passdown.faces.cli import output
from passdown.faces.cli.coordination import find_author, json_option, session_option
from passdown.faces.cli.sessions import need_session, note_ledger_update, open_sessions
from passdown.services.work.feedback import WaitingFeedback, dismiss_feedback, list_feedback
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.workspaces import open_elsewhere


@click.group(invoke_without_command=True)
@session_option
@json_option
@click.pass_context
def feedback(context: click.Context, session: str, *, as_json: bool) -> None:
    """List feedback that nobody has answered.

    It is shown with its age, and with who was told. Every brief has it until it is answered: by a later turn
    of its loop, by `passdown answer`, or until you dismiss it.
    """
    context.obj = as_json
    if context.invoked_subcommand is None:
        workspace = open_sessions()
        found = list_feedback(workspace, find_author(workspace, session), open_elsewhere(workspace))
        if as_json:
            output.say_json({"feedback": [_as_data(one) for one in found]})
        else:
            _say(workspace, found)


@feedback.command(short_help="Dismiss feedback: no brief shows it any more.")
@click.argument("text", metavar="TEXT")
@session_option
@json_option
@click.pass_obj
def dismiss(above: bool, text: str, session: str, *, as_json: bool) -> None:
    """Dismiss feedback: no brief shows it any more; TEXT is its id, or how it begins."""
    workspace = open_sessions()
    account = need_session(workspace, session)
    fact, kept = dismiss_feedback(workspace, account, text, open_elsewhere(workspace))
    note_ledger_update(kept)
    if above or as_json:
        output.say_json({"id": fact.id, "text": fact.text})
    else:
        output.say(f"dismissed: {one_line(fact.text)}")


def _as_data(one: WaitingFeedback) -> dict[str, object]:
    return {
        "id": one.fact.id,
        "text": one.fact.text,
        "at": render_seconds(one.fact.at),
        "agent": one.fact.agent,
        "told": list(one.told),
        "ledger": one.ledger or None,
    }


def _say(workspace: Workspace, found: Sequence[WaitingFeedback]) -> None:
    if not found:
        output.say("No feedback waits for an answer.")
        return
    for one in found:
        age = age_words(workspace.now() - one.fact.at)
        told = f"told {', '.join(one.told)}" if one.told else "nobody was told yet"
        output.say(f"{one.fact.id}  {age} ago, {told}")
        output.say(output.wrapped(one_line(" ".join(one.fact.text.split())), "  ", "  "))
        if one.ledger:
            output.say(f"  in {one.ledger}")
    output.say('Answer it: `passdown answer "START OF IT" "TEXT"`, or with a turn of its loop.')
