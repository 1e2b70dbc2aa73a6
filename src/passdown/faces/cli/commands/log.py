"""`passdown log`: list the events of all checkouts of the project, newest first."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import click

from passdown.actions.events import read_since
from passdown.core.schemas import to_data
from passdown.core.times import render_millis
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.lines import event_lines
from passdown.faces.cli.progress import ReadingProgress
from passdown.faces.cli.project import CliProject, OtherCheckout, open_here, open_others
from passdown.ports.index import EventLocation
from passdown.records import record
from passdown.services.log.history import (
    EventFilter,
    EventTexts,
    FoundEvent,
    join_logs,
    label,
    list_places,
    parse_text,
    read_subjects,
)

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


class CheckoutLog(NamedTuple):
    """A checkout with its events and its mark; the current checkout has no mark."""

    project: CliProject
    places: Sequence[EventLocation]
    texts: EventTexts
    mark: str


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
    project = open_here()
    wanted = EventFilter(
        options.agent, options.branch, options.type, read_since(options.since, project.workspace.clock.now())
    )
    sources = read_checkout_logs(project)
    found = list(join_logs([source.places for source in sources], wanted))
    limit = len(found) if options.all else options.limit or _USUAL
    if options.as_json:
        _say_json(sources, found, limit)
    else:
        _say(sources, found, limit)


def read_checkout_logs(project: CliProject, prefix: str = "") -> list[CheckoutLog]:
    """Read the log of this checkout, then those of the others."""
    others = [OtherCheckout(project, "", ""), *open_others(project)]
    sources: list[CheckoutLog] = []
    for one in others:
        with ReadingProgress() as reading:
            places = one.project.call(lambda workspace: list_places(workspace, prefix, reading.step))
        sources.append(CheckoutLog(one.project, places, EventTexts(one.project.workspace.log), one.shown))
    return sources


def _say(sources: Sequence[CheckoutLog], found: Sequence[FoundEvent], limit: int) -> None:
    events = [parse_text(sources[seen.where].texts.read(seen.place)) for seen in found[:limit]]
    subjects = read_subjects(sources[0].project.workspace, events)
    for seen, event in zip(found, events, strict=False):
        output.say(event_lines(seen.place, label(event, subjects), sources[seen.where].mark))
    if not found:
        output.note("no events")
    if len(found) > limit:
        output.note(f"and {len(found) - limit} earlier")
        output.note_hint(
            "--all shows every event, -n N the newest N; --since, --agent, --branch and --type filter"
        )


def _say_json(sources: Sequence[CheckoutLog], found: Sequence[FoundEvent], limit: int) -> None:
    items = (output.render_json(as_data(sources[seen.where], seen.place)) for seen in found[:limit])
    output.say_json_list("events", items, {"earlier": max(len(found) - limit, 0)})


def as_data(source: CheckoutLog, place: EventLocation) -> dict[str, object]:
    """Return an event as data for JSON: its identity, its path and its content."""
    return {
        "id": place.rank.id,
        "sha256": place.rank.hash,
        "at": render_millis(place.rank.at),
        "ranked_at": render_millis(place.ranked_at),
        "agent": place.rank.agent,
        "branch": place.branch,
        "type": place.type,
        "is_retracted": place.is_retracted,
        "checkout": source.mark or ".",
        "path": path_of(source, place),
        "data": to_data(parse_text(source.texts.read(place))),
    }


def path_of(source: CheckoutLog, place: EventLocation) -> str:
    """Return the path of the file that holds an event, from the root of its checkout."""
    parts = (source.project.workspace.settings.paths.events, place.folder, place.name)
    return "/".join(part for part in parts if part)
