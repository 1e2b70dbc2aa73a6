"""List the events of all checkouts of a project."""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Annotated, NamedTuple

from passdown.actions.answers import Form
from passdown.actions.callers import Caller, ask
from passdown.actions.log.events import CheckoutEvents, LoggedEvent, open_logs, read_since
from passdown.ports.index import EVERY, EventFilter, EventLocation
from passdown.records import record
from passdown.services.log.history import (
    FoundEvent,
    LogPart,
    find_different_days,
    join_logs,
    label,
    list_days,
    parse_text,
    read_part,
    read_subjects,
)


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


@record
class _Found:
    """The events to list, with the checkouts that have them."""

    sources: Sequence[CheckoutEvents]
    shown: Sequence[FoundEvent]
    earlier: int


def label_events(caller: Caller, request: LogRequest) -> EventLabels:
    """List events, each with a line about its content."""
    found = _find(caller, request)
    sources, shown = found.sources, found.shown
    events = [parse_text(sources[seen.where].texts.read(seen.place)) for seen in shown]
    subjects = read_subjects(caller.workspace, events)
    labelled = [
        LabelledEvent(place=seen.place, label=label(event, subjects), checkout=sources[seen.where].checkout)
        for seen, event in zip(shown, events, strict=True)
    ]
    return EventLabels(events=tuple(labelled), earlier=found.earlier)


def list_events(caller: Caller, request: LogRequest) -> EventList:
    """List events with their content."""
    found = _find(caller, request)
    events = (found.sources[seen.where].describe(seen.place) for seen in found.shown)
    return EventList(events=events, earlier=found.earlier)


def _find(caller: Caller, request: LogRequest) -> _Found:
    """Find the newest events of all checkouts that match, and count the earlier ones.

    Only these are read, so that the cost does not depend on the number of events. What several checkouts have
    is looked up in each of them: it may be retracted in one.
    """
    since = read_since(request.since, caller.workspace.clock.now())
    wanted = EventFilter(request.agent, request.branch, request.type, since)
    limit = EVERY if request.limit is None else request.limit
    logs = open_logs(caller)
    parts = [ask(_read_newest, log.caller, _Newest(wanted, limit)).result for log in logs]
    shown = list(join_logs([part.newest for part in parts]))[:limit]
    count = parts[0].total
    if request.limit is None:
        count = len(shown)
    elif len(logs) > 1:
        names = [seen.place.rank.hash for seen in shown]
        shown = list(join_logs([ask(_look_up, log.caller, names).result for log in logs]))
        different = _Days(wanted, find_different_days(parts))
        listed = [ask(_list_days, log.caller, different).result for log in logs]
        count += len({place.rank.hash for places in listed for place in places}) - len(listed[0])
    sources = [log.read(part.newest) for log, part in zip(logs, parts, strict=True)]
    return _Found(sources=sources, shown=shown, earlier=count - len(shown))


class _Newest(NamedTuple):
    wanted: EventFilter
    limit: int


def _read_newest(caller: Caller, request: _Newest) -> LogPart:
    """Return the newest events that a checkout has and that match."""
    return read_part(caller.workspace, request.wanted, request.limit, caller.around.progress)


class _Days(NamedTuple):
    wanted: EventFilter
    days: frozenset[date]


def _list_days(caller: Caller, request: _Days) -> Sequence[EventLocation]:
    """Return the events of some days that a checkout has and that match."""
    return list_days(caller.workspace, request.wanted, request.days)


def _look_up(caller: Caller, names: Sequence[str]) -> list[EventLocation]:
    """Return the events with these hashes that a checkout has."""
    return [place for name in names for place in caller.workspace.index.places(name)]
