"""`passdown log`: what was published, the newest first, in all checkouts of the project."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import click

from passdown.core.patterns import pattern
from passdown.core.schemas import to_data
from passdown.core.times import parse_instant, render_millis
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.lines import event_lines
from passdown.faces.cli.project import Neighbour, Project, Reading, open_here, open_others
from passdown.ports.index import Place
from passdown.records import record
from passdown.services.history import Seen, Texts, Wanted, join_logs, label, list_places, parse_text

_USUAL: Final = 20
_AGO: Final = pattern(r"([0-9]{1,6})(min|h|d|w)")
_UNITS: Final = (("min", 60), ("h", 3_600), ("d", 86_400), ("w", 604_800))


@record
class Way:
    """Which events are wanted, how many, and how."""

    agent: str
    branch: str
    type: str
    since: str
    limit: int | None
    all: bool
    as_json: bool


class Source(NamedTuple):
    """A checkout with its events, and how it is marked; this one is not."""

    project: Project
    places: Sequence[Place]
    texts: Texts
    mark: str


@click.command()
@click.option("--agent", default="", metavar="NAME", help="Only events of this agent.")
@click.option("--branch", default="", metavar="NAME", help="Only events written on this branch.")
@click.option("--type", default="", metavar="NAME", help="Only events of this type, like session_end.")
@click.option("--since", default="", metavar="TIME", help="Only events since a date, an instant, or 3h, 2d.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Show N events; 20 unless told.")
@click.option("--all", is_flag=True, help="Show every event.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with what each event says.")
@click.pass_context
def command(context: click.Context, /, **_: object) -> int:
    """List what was published, the newest first.

    Events of other checkouts of this project are listed too, marked with the checkout; one that several have
    is listed once. Archived events are listed like the others. `passdown event show ID` shows one in full.
    """
    show_log(Way(**context.params))
    return 0


def show_log(way: Way) -> None:
    """List events as asked for."""
    if way.all and way.limit is not None:
        raise UsageError("--all and --limit do not go together", hint="leave one of them out")
    project = open_here()
    wanted = Wanted(way.agent, way.branch, way.type, read_since(way.since, project.checkout.clock.now()))
    sources = read_sources(project)
    found = list(join_logs([source.places for source in sources], wanted))
    limit = len(found) if way.all else way.limit or _USUAL
    if way.as_json:
        _say_json(sources, found, limit)
    else:
        _say(sources, found, limit)


def read_sources(project: Project, prefix: str = "") -> list[Source]:
    """Read the logs of this checkout, then those of the others."""
    others = [Neighbour(project, "", ""), *open_others(project)]
    sources: list[Source] = []
    for one in others:
        with Reading() as reading:
            places = one.project.call(lambda checkout: list_places(checkout, prefix, reading.step))
        sources.append(Source(one.project, places, Texts(one.project.checkout.log), one.shown))
    return sources


def read_since(text: str, now: datetime) -> datetime | None:
    """Read an instant, or how long ago it was; None for an empty text, and for before all time."""
    if not text:
        return None
    ago = _AGO.fullmatch(text)
    if ago is not None:
        seconds = int(ago[1]) * dict(_UNITS)[ago[2]]
        try:
            return now - timedelta(seconds=seconds)
        except OverflowError:
            return None
    found = parse_instant(text)
    if found is None:
        hint = "write 2026-01-10, 2026-01-10T13:00Z, 30min, 3h, 2d or 1w"
        raise UsageError(f"--since: {text} is no time", hint=hint)
    return found


def _say(sources: Sequence[Source], found: Sequence[Seen], limit: int) -> None:
    for seen in found[:limit]:
        source = sources[seen.where]
        said = label(parse_text(source.texts.read(seen.place)))
        output.say(event_lines(seen.place, said, source.mark))
    if not found:
        output.note("no events")
    if len(found) > limit:
        output.note(f"and {len(found) - limit} earlier")
        output.note_hint(
            "--all shows every event, -n N so many; --since, --agent, --branch and --type choose"
        )


def _say_json(sources: Sequence[Source], found: Sequence[Seen], limit: int) -> None:
    items = (output.render_json(as_data(sources[seen.where], seen.place)) for seen in found[:limit])
    output.say_json_list("events", items, {"earlier": max(len(found) - limit, 0)})


def as_data(source: Source, place: Place) -> dict[str, object]:
    """Give an event as data: what it is, where it lies, and what it says."""
    return {
        "id": place.rank.id,
        "sha256": place.rank.hash,
        "at": render_millis(place.rank.at),
        "agent": place.rank.agent,
        "branch": place.branch,
        "type": place.type,
        "is_retracted": place.is_retracted,
        "checkout": source.mark or ".",
        "path": path_of(source, place),
        "data": to_data(parse_text(source.texts.read(place))),
    }


def path_of(source: Source, place: Place) -> str:
    """Name the file that holds an event, from the root of its checkout."""
    parts = (source.project.checkout.settings.paths.events, place.folder, place.name)
    return "/".join(part for part in parts if part)
