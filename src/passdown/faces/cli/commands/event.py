"""`passdown event`: one event in full, and how to take one back."""

import hashlib

import click

from passdown.core.events import Event
from passdown.core.ids import clean_foreign, make_agent
from passdown.core.sources import ID_SIZE
from passdown.core.times import render_millis
from passdown.errors import FormatError, PassdownError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.commands import log
from passdown.faces.cli.project import open_here
from passdown.ports.clock import Clock
from passdown.services.checkouts import Checkout
from passdown.services.events import Written, write_event
from passdown.services.history import find_event
from passdown.settings import EventLayout

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group(invoke_without_command=True)
@_json_option
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """Show an event, or take one back.

    Without a verb the newest events are listed, as `passdown log` does. An ID may be cut, as long as it means
    one event; what a view shows behind a text that is too long is such an ID.
    """
    context.obj = as_json
    if context.invoked_subcommand is None:
        log.show_log(log.Way(agent="", branch="", type="", since="", limit=None, all=False, as_json=as_json))


@command.command(short_help="Print an event as it was written.")
@click.argument("name", metavar="ID")
@_json_option
@click.pass_obj
def show(above: bool, name: str, *, as_json: bool) -> None:  # noqa: FBT001 - click passes it so
    """Print an event as it was written.

    Events of other checkouts and archived ones are found too. With --json it is data, with where it lies.
    """
    sources = log.read_sources(open_here(), _clean(name))
    seen = find_event([source.places for source in sources], name)
    source = sources[seen.where]
    if above or as_json:
        output.say_json({"event": log.as_data(source, seen.place)})
        return
    text = source.texts.read(seen.place)
    if text is None:
        raise PassdownError(f"event {name} was there a moment ago and is gone", hint="repeat the command")
    output.say(text.replace("\r\n", "\n").removesuffix("\n"))


@command.command(short_help="Take an event back.")
@click.argument("name", metavar="ID")
@click.option("--because", default="", metavar="TEXT", help="Why, for whoever reads the log.")
@click.option("--agent", default="", metavar="NAME", help="Who takes it back; person-<8 hex> unless told.")
@_json_option
@click.pass_obj
def retract(above: bool, name: str, *, because: str, agent: str, as_json: bool) -> None:  # noqa: FBT001 - click passes it so
    """Take an event back: nothing it says counts any more, whatever its time.

    The event stays where it is; a new event says that it is taken back. To undo that, publish what it said
    again. Run `passdown synthesize` afterwards.
    """
    project = open_here()
    sources = log.read_sources(project, _clean(name))
    place = find_event([source.places for source in sources], name).place
    if place.is_retracted:
        if above or as_json:
            output.say_json({"retracted": place.rank.id, "event": None})
        output.note(f"event {place.rank.id} is retracted already")
        return
    # The id may be shared, by events of other tools or by a copy; whoever names the hash means that one.
    is_by_id = place.rank.id.startswith("ev-") and place.rank.id.startswith(name)
    named = place.rank.id if is_by_id else place.rank.hash[:ID_SIZE]
    who = _clean_agent(agent) or make_person(place.rank.hash, project.checkout.clock)
    event = Event(
        agent=who,
        branch=project.checkout.repository.branch(),
        type="retraction",
        reason=" ".join(because.split()) or "retracted",
        retracted_events=(named,),
    )
    written = project.call(lambda checkout: _write(checkout, event))
    if above or as_json:
        events = project.checkout.settings.paths.events
        output.say_json({"retracted": place.rank.id, "event": _as_data(written, events)})
    else:
        output.say(f"event {place.rank.id} is retracted, by event {written.event.id}")
        output.note_hint("`passdown synthesize` brings the view up to date")


def _clean(name: str) -> str:
    if not name.strip():
        raise UsageError("the ID is empty", hint="`passdown log` lists the events")
    return name


def make_person(about: str, clock: Clock) -> str:
    """Name the person at the keyboard for one event; two at the same moment about the same are one."""
    return make_agent("person", hashlib.sha256(f"{about} {clock.now().isoformat()}".encode()).digest())


def _clean_agent(name: str) -> str:
    if not name:
        return ""
    try:
        return clean_foreign(name, "--agent")
    except FormatError as found:
        raise UsageError(found.message.removesuffix("."), hint=found.hint) from found


def _write(checkout: Checkout, event: Event) -> Written:
    by_day = checkout.settings.events.layout is EventLayout.DAY
    written = write_event(checkout.log, checkout.index, checkout.clock, event, by_day=by_day)
    if written is None:  # only an event that covers a journal can be published already
        raise PassdownError("the event was not written", hint="repeat the command")
    return written


def _as_data(written: Written, events: str) -> dict[str, object]:
    at = written.event.ts
    return {
        "id": written.event.id,
        "at": render_millis(at) if at else None,
        "agent": written.event.agent,
        "path": "/".join(part for part in (events, written.folder, written.name) if part),
    }
