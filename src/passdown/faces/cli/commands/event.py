"""`passdown event`: show an event in full, or retract one."""

import click

from passdown.actions.log import events as actions
from passdown.actions.log.events import EventRetraction, RetractedEvent
from passdown.errors import PassdownError
from passdown.faces.cli import output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.commands import log

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group(invoke_without_command=True)
@_json_option
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """Show an event, or retract one.

    Without a subcommand, lists the newest events, as `passdown log` does. An ID may be shortened as long as
    it matches one event; the view shows such an ID after a text that it cut.
    """
    context.obj = as_json
    if context.invoked_subcommand is None:
        log.show_log(
            log.LogOptions(agent="", branch="", type="", since="", limit=None, all=False, as_json=as_json)
        )


@command.command("show", short_help="Print an event as it was written.")
@click.argument("name", metavar="ID")
@_json_option
@click.pass_obj
def show_event(above: bool, name: str, *, as_json: bool) -> None:
    """Print an event as it was written.

    Also finds archived events and events of other checkouts. --json prints its data and its path.
    """
    answer = call(actions.show_event, name)
    show(answer, lambda found: _say_text(found.text, name), as_json=above or as_json)


def _say_text(text: str | None, name: str) -> None:
    if text is None:
        raise PassdownError(f"event {name} has just disappeared", hint="repeat the command")
    output.say(text.replace("\r\n", "\n").removesuffix("\n"))


@command.command(short_help="Retract an event.")
@click.argument("name", metavar="ID")
@click.option("--because", default="", metavar="TEXT", help="The reason, shown in the log.")
@click.option("--agent", default="", metavar="NAME", help="Who retracts it (default: person-<8 hex>).")
@_json_option
@click.pass_obj
def retract(above: bool, name: str, *, because: str, agent: str, as_json: bool) -> None:
    """Retract an event: none of its facts count any more, whatever its time.

    The event file stays; a new event records the retraction. To undo a retraction, publish the facts again.
    Run `passdown synthesize` afterwards.
    """
    request = EventRetraction(name=name, because=because, agent=agent)
    found = show(call(actions.retract_event, request), _say_retracted, as_json=above or as_json)
    if found.event is None:
        output.note(f"event {found.retracted} is already retracted")


def _say_retracted(found: RetractedEvent) -> None:
    if found.event:
        output.say(f"event {found.retracted} is retracted by event {found.event.id}")
        output.note_hint("run `passdown synthesize` to update the view")
