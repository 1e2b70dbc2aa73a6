"""`passdown log`: list the events of all checkouts of the project, show one, or retract one."""

from typing import TYPE_CHECKING, Final

import click

from passdown.actions.answers import encode
from passdown.actions.log import events as actions
from passdown.actions.log.log import EventLabels, LogRequest, label_events, list_events
from passdown.errors import PassdownError, UsageError
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.lines import event_lines, list_records

if TYPE_CHECKING:  # few calls list sessions
    from passdown.actions.handover.handoffs import SessionRecords

USUAL: Final = 20


@click.group(invoke_without_command=True)
@click.option("--agent", default="", metavar="NAME", help="Only events of this agent.")
@click.option("--branch", default="", metavar="NAME", help="Only events written on this branch.")
@click.option("--type", default="", metavar="NAME", help="Only events of this type, like session_end.")
@click.option(
    "--since", default="", metavar="TIME", help="Only events since a date or time, or an age like 3h or 2d."
)
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Show N events (default: 20).")
@click.option("--all", "show_all", is_flag=True, help="Show all, not only the newest.")
@click.option("--sessions", "listed", flag_value="sessions", help="List the sessions that ended, not events.")
@click.option(
    "--history",
    "listed",
    flag_value="history",
    help="List imported sessions, not events; see `passdown import`.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object, with the content of each event."
)
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    limit: int | None,
    show_all: bool,
    listed: str | None,
    as_json: bool,
    **wanted: str,
) -> None:
    """List published events, newest first; show one, or retract one.

    Includes archived events and the events of other checkouts, which are marked with the checkout; an event
    that several checkouts have is listed once. `passdown log show ID` shows one in full. An ID may be
    shortened as long as it matches one event; the view shows such an ID after a text that it cut.

    With --sessions, lists the records that sessions left when they ended; `passdown handoff show NAME` shows
    one in full. With --history, lists the sessions that `passdown import` imported.
    """
    if context.invoked_subcommand is not None:
        if limit is not None or show_all or listed or any(wanted.values()):
            hint = f"write `passdown log {context.invoked_subcommand} ID`"
            raise UsageError("only the list of events can be filtered", hint=hint)
        return
    if show_all and limit is not None:
        raise UsageError("--all and --limit cannot be combined", hint="remove one of them")
    shown = None if show_all else limit or USUAL
    if listed is None:
        show_log(LogRequest(**wanted, limit=shown), as_json=as_json)
    elif any(wanted.values()):
        raise UsageError(f"--{listed} lists every session; it cannot be filtered", hint="remove the filter")
    elif listed == "sessions":
        _show_sessions(shown, as_json=as_json)
    else:
        from passdown.faces.cli.commands.set_up.history import list_history  # few calls list history

        list_history(shown, as_json=as_json)


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


def _show_sessions(limit: int | None, *, as_json: bool) -> None:
    from passdown.actions.handover.handoffs import list_sessions  # the log loads nothing of sessions

    show(call(list_sessions, limit), _say_sessions, as_json=as_json)


def _say_sessions(found: "SessionRecords") -> None:
    for line in list_records(found.sessions, found.now, has_kinds=False):
        output.say(line)
    if not found.sessions:
        output.note("no session has ended yet")
    if found.earlier:
        output.note(f"and {found.earlier} earlier")
        output.note_hint("--all lists every session, -n N the newest N")


# --- one event ------------------------------------------------------------------------------------


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
@click.option(
    "--agent", default="", metavar="NAME", help="The name that retracts it (default: person-<8 hex>)."
)
@options.json
def retract(name: str, *, because: str, agent: str, as_json: bool) -> None:
    """Retract an event: none of its facts count any more.

    The event file stays; a new event records the retraction. To undo it, publish the facts again. Run
    `passdown synthesize` afterwards to update the view.
    """
    request = actions.EventRetraction(name=name, because=because, agent=agent)
    found = show(call(actions.retract_event, request), _say_retracted, as_json=as_json)
    if found.event is None:
        output.note(f"event {found.retracted} is already retracted")


def _say_retracted(found: actions.RetractedEvent) -> None:
    if found.event:
        output.say(f"retracted {found.retracted} (recorded as {found.event.id})")
        output.note_hint("run `passdown synthesize` to update the view")


@click.group(invoke_without_command=True, commands=[show_event, retract])
@options.json
@click.pass_context
def event(context: click.Context, *, as_json: bool) -> None:
    """Show an event, or retract one; same as `log`.

    Without a subcommand, lists the newest events.
    """
    if context.invoked_subcommand is None:
        show_log(LogRequest(limit=USUAL), as_json=as_json)
