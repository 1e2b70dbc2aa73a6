"""`passdown event`: show an event in full, or retract one."""

import click

from passdown.actions.log import events as actions
from passdown.actions.log.log import LogRequest
from passdown.errors import PassdownError
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.commands import log


@click.group(invoke_without_command=True)
@options.json
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """Show an event, or retract one.

    Without a subcommand, lists the newest events, as `passdown log` does. An ID may be shortened as long as
    it matches only one event; the view shows such an ID after each text that it cut.
    """
    if context.invoked_subcommand is None:
        log.show_log(LogRequest(limit=log.USUAL), as_json=as_json)


@command.command("show", short_help="Print an event as it was written.")
@click.argument("name", metavar="ID")
@options.json
def show_event(name: str, *, as_json: bool) -> None:
    """Print an event as it was written.

    Also finds archived events and events of other checkouts. --json prints its data and its path.
    """
    answer = call(actions.show_event, name)
    show(answer, lambda found: _say_text(found.text, name), as_json=as_json)


def _say_text(text: str | None, name: str) -> None:
    if text is None:
        raise PassdownError(f"event {name} was just removed", hint="run the command again")
    output.say(text.replace("\r\n", "\n").removesuffix("\n"))


@command.command(short_help="Retract an event.")
@click.argument("name", metavar="ID")
@click.option("--because", default="", metavar="TEXT", help="The reason, shown in the log.")
@click.option("--agent", default="", metavar="NAME", help="Who retracts it (default: person-<8 hex>).")
@options.json
def retract(name: str, *, because: str, agent: str, as_json: bool) -> None:
    """Retract an event: none of its facts count any more.

    The event file stays; a new event records the retraction. To undo a retraction, publish the facts again.
    Run `passdown synthesize` afterwards.
    """
    request = actions.EventRetraction(name=name, because=because, agent=agent)
    found = show(call(actions.retract_event, request), _say_retracted, as_json=as_json)
    if found.event is None:
        output.note(f"event {found.retracted} is already retracted")


def _say_retracted(found: actions.RetractedEvent) -> None:
    if found.event:
        output.say(f"retracted {found.retracted} (recorded as {found.event.id})")
        output.note_hint("run `passdown synthesize` to update the view")
