"""`passdown event`: show an event in full, or retract one."""

import hashlib

import click

from passdown.core.facts import ESCALATED
from passdown.core.formats.events import Event
from passdown.core.ids import clean_foreign, make_agent
from passdown.core.merge.event_facts import ID_SIZE
from passdown.core.times import render_millis
from passdown.errors import FormatError, PassdownError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.commands import log
from passdown.faces.cli.project import open_here
from passdown.faces.cli.sessions import need_person, update_view
from passdown.ports.clock import Clock
from passdown.services.log.events import WrittenEvent, write_event
from passdown.services.log.history import find_event
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import EventLayout

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


@command.command(short_help="Print an event as it was written.")
@click.argument("name", metavar="ID")
@_json_option
@click.pass_obj
def show(above: bool, name: str, *, as_json: bool) -> None:
    """Print an event as it was written.

    Also finds archived events and events of other checkouts. --json prints its data and its path.
    """
    sources = log.read_checkout_logs(open_here(), _clean(name))
    seen = find_event([source.places for source in sources], name)
    source = sources[seen.where]
    if above or as_json:
        output.say_json({"event": log.as_data(source, seen.place)})
        return
    text = source.texts.read(seen.place)
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
    project = open_here()
    sources = log.read_checkout_logs(project, _clean(name))
    seen = find_event([source.places for source in sources], name)
    place = seen.place
    if ESCALATED in (sources[seen.where].texts.read(place) or ""):
        need_person("retract an event about an escalated gate", hint="a person answers the gate's question")
    if place.is_retracted:
        if above or as_json:
            output.say_json({"retracted": place.rank.id, "event": None})
        output.note(f"event {place.rank.id} is already retracted")
        return
    # Copies and events of other tools may share an id; a hash names exactly one event.
    is_by_id = place.rank.id.startswith("ev-") and place.rank.id.startswith(name)
    named = place.rank.id if is_by_id else place.rank.hash[:ID_SIZE]
    who = _clean_agent(agent) or make_person(place.rank.hash, project.workspace.clock)
    event = Event(
        agent=who,
        branch=project.workspace.repository.branch(),
        type="retraction",
        reason=" ".join(because.split()) or "retracted",
        retracted_events=(named,),
    )
    written = project.call(lambda workspace: _write(workspace, event))
    update_view(project.workspace)
    if above or as_json:
        events = project.workspace.settings.paths.events
        output.say_json({"retracted": place.rank.id, "event": _as_data(written, events)})
    else:
        output.say(f"event {place.rank.id} is retracted by event {written.event.id}")
        output.note_hint("run `passdown synthesize` to update the view")


def _clean(name: str) -> str:
    if not name.strip():
        raise UsageError("the ID is empty", hint="`passdown log` lists the events")
    return name


def make_person(about: str, clock: Clock) -> str:
    """Return an agent name for the user; the same subject at the same instant gives the same name."""
    return make_agent("person", hashlib.sha256(f"{about} {clock.now().isoformat()}".encode()).digest())


def _clean_agent(name: str) -> str:
    if not name:
        return ""
    try:
        return clean_foreign(name, "--agent")
    except FormatError as found:
        raise UsageError(found.message.removesuffix("."), hint=found.hint) from found


def _write(workspace: Workspace, event: Event) -> WrittenEvent:
    by_day = workspace.settings.events.layout is EventLayout.DAY
    written = write_event(workspace.log, workspace.index, workspace.clock, event, by_day=by_day)
    if written is None:  # only an event that covers a journal can already be published
        raise PassdownError("the event was not written", hint="repeat the command")
    return written


def _as_data(written: WrittenEvent, events: str) -> dict[str, object]:
    at = written.event.ts
    return {
        "id": written.event.id,
        "at": render_millis(at) if at else None,
        "agent": written.event.agent,
        "path": "/".join(part for part in (events, written.folder, written.name) if part),
    }
