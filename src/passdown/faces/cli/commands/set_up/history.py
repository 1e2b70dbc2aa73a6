"""`passdown history`: list the sessions that `passdown import` imported, or show one."""

from typing import Final

import click

from passdown.actions.project import history as actions
from passdown.core.safe_text import one_line
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.lines import cut, minute, width

USUAL: Final = 20


@click.group(invoke_without_command=True)
@options.json
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """List imported sessions, or show one; see `passdown import`.

    Without a subcommand, lists the newest.
    """
    if context.invoked_subcommand is None:
        list_history(USUAL, as_json=as_json)


@command.command("show", short_help="Print an imported session.")
@click.argument("name", metavar="ID")
@options.json
def show_history(name: str, *, as_json: bool) -> None:
    """Print an imported session: what was said, and what was done.

    An ID may be shortened as long as it matches one session.
    """
    show(call(actions.show_session, name), _say_session, as_json=as_json)


def _say_session(found: actions.ShownHistory) -> None:
    output.say(found.text.removesuffix("\n"))


def list_history(limit: int | None, *, as_json: bool) -> None:
    """List the newest imported sessions."""
    show(call(actions.list_sessions, limit), _say_list, as_json=as_json)


def _say_list(found: actions.HistoryList) -> None:
    for one in found.sessions:
        at = minute(one.ended) if one.ended else "no date"
        kind = "subagent" if one.parent else output.counted(one.prompts, "prompt")
        # An id is never cut: it is what `history show` takes.
        output.say(f"{at}  {one_line(one.name)}  {one.host}  {kind}")
        if one.about:
            output.say(f"    {cut(one.about, width() - 4)}")
    if not found.sessions:
        output.note("nothing was imported")
        output.note_hint("`passdown import --dry-run` says what can be imported")
    if found.earlier:
        output.note(f"and {found.earlier} earlier")
        output.note_hint("`passdown log --history --all` lists every session, -n N the newest N")
