"""`passdown log`: list the events of all checkouts of the project, newest first."""

from typing import Final

import click

from passdown.actions.answers import encode
from passdown.actions.log.log import EventLabels, LogRequest, label_events, list_events
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.calls import call
from passdown.faces.cli.lines import event_lines
from passdown.records import record

_USUAL: Final = 20


@record
class LogOptions:
    """The options of the command."""

    agent: str
    branch: str
    type: str
    since: str
    limit: int | None
    all: bool
    as_json: bool


@click.command()
@click.option("--agent", default="", metavar="NAME", help="Only events of this agent.")
@click.option("--branch", default="", metavar="NAME", help="Only events written on this branch.")
@click.option("--type", default="", metavar="NAME", help="Only events of this type, like session_end.")
@click.option(
    "--since", default="", metavar="TIME", help="Only events since a date or time, or an age like 3h or 2d."
)
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Show N events (default: 20).")
@click.option("--all", is_flag=True, help="Show every event.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object, with the content of each event."
)
@click.pass_context
def command(context: click.Context, /, **_: object) -> int:
    """List published events, newest first.

    Includes archived events and the events of other checkouts, which are marked with the checkout; an event
    that several checkouts have is listed once. `passdown event show ID` shows one in full.
    """
    show_log(LogOptions(**context.params))
    return 0


def show_log(options: LogOptions) -> None:
    """List the events that the options select."""
    if options.all and options.limit is not None:
        raise UsageError("--all and --limit cannot be combined", hint="remove one of them")
    request = LogRequest(
        agent=options.agent,
        branch=options.branch,
        type=options.type,
        since=options.since,
        limit=None if options.all else options.limit or _USUAL,
    )
    if not options.as_json:
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
            "--all shows every event, -n N the newest N; --since, --agent, --branch and --type filter"
        )
