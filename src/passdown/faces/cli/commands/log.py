"""`passdown log`: list the events of all checkouts of the project, newest first."""

from typing import Final

import click

from passdown.actions.answers import encode
from passdown.actions.log.log import EventLabels, LogRequest, label_events, list_events
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.calls import call
from passdown.faces.cli.lines import event_lines

USUAL: Final = 20


@click.command()
@click.option("--agent", default="", metavar="NAME", help="Only events of this agent.")
@click.option("--branch", default="", metavar="NAME", help="Only events written on this branch.")
@click.option("--type", default="", metavar="NAME", help="Only events of this type, like session_end.")
@click.option(
    "--since", default="", metavar="TIME", help="Only events since a date or time, or an age like 3h or 2d."
)
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Show N events (default: 20).")
@click.option("--all", "show_all", is_flag=True, help="Show every event.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object, with the content of each event."
)
def command(*, limit: int | None, show_all: bool, as_json: bool, **wanted: str) -> int:
    """List published events, newest first.

    Includes archived events and the events of other checkouts, which are marked with the checkout; an event
    that several checkouts have is listed once. `passdown event show ID` shows one in full.
    """
    if show_all and limit is not None:
        raise UsageError("--all and --limit cannot be combined", hint="remove one of them")
    show_log(LogRequest(**wanted, limit=None if show_all else limit or USUAL), as_json=as_json)
    return 0


def show_log(request: LogRequest, *, as_json: bool) -> None:
    """List the events that match."""
    if not as_json:
        _say(call(label_events, request).result)
        return
    found = call(list_events, request).result
    items = (output.render_json(encode(one)) for one in found.events)
    output.say_json_list("events", items, {"earlier": found.earlier})


def _say(found: EventLabels) -> None:
    for one in found.events:
        output.say(event_lines(one.place, one.label, one.checkout))
    if not found.events:
        output.note("no events")
    if found.earlier:
        output.note(f"and {found.earlier} earlier")
        output.note_hint(
            "show all with --all, or N with -n N; filter with --since, --agent, --branch and --type"
        )
