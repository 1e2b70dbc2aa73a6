"""`passdown feedback`: what people said that nobody has answered yet."""

import click

from passdown.actions.work import feedback as actions
from passdown.core.safe_text import one_line
from passdown.core.times import age_words
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show


@click.group(invoke_without_command=True)
@options.usual
@click.pass_context
def feedback(context: click.Context, session: str, *, as_json: bool) -> None:
    """List feedback that nobody has answered.

    It is shown with its age, and with who was told. Every brief has it until it is answered: by a later turn
    of its loop, by `passdown answer`, or until you dismiss it.
    """
    if context.invoked_subcommand is None:
        show(call(actions.list_all, None, session), _say, as_json=as_json)


@feedback.command(short_help="Dismiss feedback: no brief shows it any more.")
@click.argument("text", metavar="TEXT")
@options.usual
def dismiss(text: str, session: str, *, as_json: bool) -> None:
    """Dismiss feedback: no brief shows it any more; TEXT is its id, or how it begins."""
    answer = call(actions.dismiss, text, session)
    show(answer, lambda found: output.say(f"dismissed: {one_line(found.text)}"), as_json=as_json)


def _say(found: actions.FeedbackResult) -> None:
    if not found.feedback:
        output.say("No open feedback.")
        return
    for one in found.feedback:
        told = f"shown to {', '.join(one.told)}" if one.told else "not shown to an agent yet"
        output.say(f"{one.id}  {age_words(found.now - one.at)} ago, {told}")
        output.say(output.wrapped(one_line(" ".join(one.text.split())), "  ", "  "))
        if one.ledger:
            output.say(f"  in {one.ledger}")
    by_turn = ", or with a turn of its loop" if any(one.ledger for one in found.feedback) else ""
    output.say(f'Answer it: `passdown answer "START OF IT" "TEXT"`{by_turn}.')
