"""`passdown feedback`: the feedback that nobody has answered yet."""

import click

from passdown.faces.cli import fact_verbs, options


@click.group(invoke_without_command=True)
@options.usual
@click.pass_context
def feedback(context: click.Context, session: str, *, as_json: bool) -> None:
    """List feedback that nobody has answered; same as `tell --list`.

    Each is shown with its age, and with who was told. Every brief has it until it is answered: by a later
    turn of its loop, by `passdown answer`, or until you dismiss it.
    """
    if context.invoked_subcommand is None:
        fact_verbs.list_feedback(session, as_json=as_json)


@feedback.command(short_help="Dismiss feedback: no brief shows it any more.")
@click.argument("text", metavar="TEXT")
@options.usual
def dismiss(text: str, session: str, *, as_json: bool) -> None:
    """Dismiss feedback: no brief shows it any more; TEXT is its id, or how it begins.

    The same as `passdown answer --dismiss TEXT`.
    """
    fact_verbs.dismiss_feedback(text, session, as_json=as_json)
