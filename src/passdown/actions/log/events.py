"""Show an event, or retract one; read the logs of all checkouts."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple

from passdown.actions.answers import HIDDEN, MILLIS, Form, describe
from passdown.actions.callers import Caller, ask, need_person
from passdown.actions.log.checkouts import open_others
from passdown.core.digests import sha256
from passdown.core.facts import ESCALATED
from passdown.core.formats.events import Event
from passdown.core.ids import clean_foreign, make_agent
from passdown.core.merge.event_facts import ID_SIZE
from passdown.core.schemas import to_data
from passdown.core.times import parse_duration, parse_instant
from passdown.errors import FormatError, PassdownError, UsageError
from passdown.ports.clock import Clock
from passdown.ports.index import EventLocation
from passdown.records import record
from passdown.services.log.events import write_event
from passdown.services.log.history import EventTexts, FoundEvent, find_event, list_places, parse_text


@record
class EventRetraction:
    """An event to retract."""

    name: Annotated[str, "Its id or hash, or the start of one."]
    because: Annotated[str, "The reason."] = ""
    agent: Annotated[str, "Who retracts it; empty for a person without a name."] = ""


@record
class LoggedEvent:
    """A published event."""

    id: Annotated[str, "Its id."]
    sha256: Annotated[str, "The hash of its file."]
    at: Annotated[datetime, "When it was written.", MILLIS]
    ranked_at: Annotated[datetime, "The time by which it is ordered.", MILLIS]
    agent: Annotated[str, "Who wrote it."]
    branch: Annotated[str, "The branch that it was written on."]
    type: Annotated[str, "Its type."]
    is_retracted: Annotated[bool, "Whether it was retracted, so that its facts no longer count."]
    checkout: Annotated[str, "The checkout that has it, from the root of this one."]
    path: Annotated[str, "The file that holds it, from the root of its checkout."]
    data: Annotated[Event, "What it says.", Form(to_data)]


@record
class ShownEvent:
    """An event in full."""

    event: Annotated[LoggedEvent, "The event."]
    text: Annotated[str | None, "Its text as it was written; None if it was just removed.", HIDDEN]


@record
class NewEvent:
    """An event that was written."""

    id: Annotated[str | None, "Its id."]
    at: Annotated[datetime | None, "When.", MILLIS]
    agent: Annotated[str | None, "Who wrote it."]
    path: Annotated[str, "Its file, from the root of the project."]


@record
class RetractedEvent:
    """An event that is retracted."""

    retracted: Annotated[str, "Its id."]
    event: Annotated[NewEvent | None, "The event that retracts it; null if it was already retracted."]


class CheckoutEvents(NamedTuple):
    """The events of a checkout, and its name; the caller's own checkout has none."""

    places: Sequence[EventLocation]
    texts: EventTexts
    folder: str
    checkout: str = ""

    def describe(self, place: EventLocation) -> LoggedEvent:
        """Return an event with its content."""
        return describe(
            LoggedEvent,
            place.rank,
            place,
            sha256=place.rank.hash,
            checkout=self.checkout or ".",
            path="/".join(part for part in (self.folder, place.folder, place.name) if part),
            data=parse_text(self.texts.read(place)),
        )


def show_event(caller: Caller, name: str) -> ShownEvent:
    """Find an event by its id or hash, or the start of one, in any checkout."""
    source, seen = _find(caller, name)
    return ShownEvent(event=source.describe(seen.place), text=source.texts.read(seen.place))


def retract_event(caller: Caller, request: EventRetraction) -> RetractedEvent:
    """Write an event that retracts another; its file stays."""
    from passdown.actions.sessions.sessions import update_view  # it loads more than `log` needs

    source, seen = _find(caller, request.name)
    rank, workspace = seen.place.rank, caller.workspace
    if ESCALATED in (source.texts.read(seen.place) or ""):
        hint = "a person must answer the gate's question"
        need_person(caller, "retract an event about an escalated gate", hint=hint)
    if seen.place.is_retracted:
        return RetractedEvent(retracted=rank.id, event=None)
    # Copies and events of other tools may share an id; a hash names exactly one event.
    is_by_id = rank.id.startswith("ev-") and rank.id.startswith(request.name)
    event = Event(
        agent=_clean_agent(request.agent) or make_person(rank.hash, workspace.clock),
        branch=workspace.repository.branch(),
        type="retraction",
        reason=" ".join(request.because.split()) or "retracted",
        retracted_events=(rank.id if is_by_id else rank.hash[:ID_SIZE],),
    )
    written = write_event(
        workspace.log, workspace.index, workspace.clock, event, layout=workspace.settings.events.layout
    )
    if written is None:  # only an event that covers a journal can already be published
        raise PassdownError("the event was not written", hint="run the command again")
    update_view(caller)
    parts = (workspace.settings.paths.events, written.folder, written.name)
    made = NewEvent(
        id=written.event.id,
        at=written.event.ts,
        agent=written.event.agent,
        path="/".join(part for part in parts if part),
    )
    return RetractedEvent(retracted=rank.id, event=made)


def make_person(about: str, clock: Clock) -> str:
    """Return an agent name for the user; the same subject at the same instant gives the same name."""
    return make_agent("person", sha256(f"{about} {clock.now().isoformat()}".encode()).digest())


def _clean_agent(name: str) -> str:
    if not name:
        return ""
    try:
        return clean_foreign(name, "--agent")
    except FormatError as found:
        raise UsageError(found.message.removesuffix("."), hint=found.hint) from found


def _find(caller: Caller, name: str) -> tuple[CheckoutEvents, FoundEvent]:
    if not name.strip():
        raise UsageError("the ID is empty", hint="run `passdown log` to list the events")
    sources = read_logs(caller, name)
    seen = find_event([source.places for source in sources], name)
    return sources[seen.where], seen


def read_logs(caller: Caller, prefix: str = "") -> Sequence[CheckoutEvents]:
    """Read the events of this checkout, then those of the others; `prefix` is the start of an id or hash."""
    return [log.read(ask(_list_places, log.caller, prefix).result) for log in open_logs(caller)]


class CheckoutLog(NamedTuple):
    """A checkout whose events are listed, and its name; the caller's own checkout has none."""

    caller: Caller
    checkout: str = ""

    def read(self, places: Sequence[EventLocation]) -> CheckoutEvents:
        """Return some of its events, ready to be read."""
        workspace = self.caller.workspace
        return CheckoutEvents(
            places, EventTexts(workspace.log), workspace.settings.paths.events, self.checkout
        )


def open_logs(caller: Caller) -> Sequence[CheckoutLog]:
    """Open the logs of all checkouts, that of the caller first."""
    return [CheckoutLog(caller), *(CheckoutLog(one.caller, one.shown) for one in open_others(caller))]


def _list_places(caller: Caller, prefix: str) -> Sequence[EventLocation]:
    return list_places(caller.workspace, prefix, caller.around.progress)


def read_since(text: str, now: datetime) -> datetime | None:
    """Parse a time or an age; return None for an empty text, and for an age before the first date."""
    if not text:
        return None
    seconds = parse_duration(text)
    if seconds is not None:
        try:
            return now - timedelta(seconds=seconds)
        except OverflowError:
            return None
    found = parse_instant(text)
    if found is None:
        hint = "write 2026-01-10, 2026-01-10T13:00Z, 30min, 3h, 2d or 1w"
        raise UsageError(f"--since: `{text}` is not a valid time", hint=hint)
    return found
