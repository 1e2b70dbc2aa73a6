"""List the events of all checkouts of a project."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from passdown.actions.answers import Form
from passdown.actions.callers import Caller
from passdown.actions.log.events import CheckoutEvents, LoggedEvent, read_logs, read_since
from passdown.ports.index import EventLocation
from passdown.records import record
from passdown.services.log.history import EventFilter, FoundEvent, join_logs, label, parse_text, read_subjects


@record
class LogRequest:
    """Which events to list; an empty field matches all."""

    agent: Annotated[str, "Only events of this agent."] = ""
    branch: Annotated[str, "Only events written on this branch."] = ""
    type: Annotated[str, "Only events of this type."] = ""
    since: Annotated[str, "Only events since a date or time, or an age."] = ""
    limit: Annotated[int | None, "How many of the newest; null for all."] = None


@record
class LabelledEvent:
    """An event in one line."""

    place: Annotated[EventLocation, "What the index knows about it."]
    label: Annotated[str, "What it is about."]
    checkout: Annotated[str, "The checkout that has it; empty for that of the caller."]


@record
class EventLabels:
    """The events, each in one line."""

    events: Annotated[tuple[LabelledEvent, ...], "The events, newest first."]
    earlier: Annotated[int, "How many earlier ones there are."]


def _read_all(events: Iterable[LoggedEvent]) -> tuple[LoggedEvent, ...]:
    return tuple(events)


@record
class EventList:
    """The events in full."""

    events: Annotated[
        Iterable[LoggedEvent], "The events, newest first; each is read when requested.", Form(_read_all)
    ]
    earlier: Annotated[int, "How many earlier ones there are."]


def label_events(caller: Caller, request: LogRequest) -> EventLabels:
    """List events, each with a line about its content."""
    sources, found = _find(caller, request)
    shown = found[: request.limit]
    events = [parse_text(sources[seen.where].texts.read(seen.place)) for seen in shown]
    subjects = read_subjects(caller.workspace, events)
    labelled = [
        LabelledEvent(place=seen.place, label=label(event, subjects), checkout=sources[seen.where].checkout)
        for seen, event in zip(shown, events, strict=True)
    ]
    return EventLabels(events=tuple(labelled), earlier=len(found) - len(shown))


def list_events(caller: Caller, request: LogRequest) -> EventList:
    """List events with their content."""
    sources, found = _find(caller, request)
    shown = found[: request.limit]
    events = (sources[seen.where].describe(seen.place) for seen in shown)
    return EventList(events=events, earlier=len(found) - len(shown))


def _find(caller: Caller, request: LogRequest) -> tuple[Sequence[CheckoutEvents], Sequence[FoundEvent]]:
    """Return the logs of all checkouts, and the events that match."""
    since = read_since(request.since, caller.workspace.clock.now())
    wanted = EventFilter(request.agent, request.branch, request.type, since)
    sources = read_logs(caller)
    return sources, list(join_logs([source.places for source in sources], wanted))
