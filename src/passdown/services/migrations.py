"""Take over a `current.md` that was written by hand or by another tool: what it says becomes an event (R139).

What an event already states is not published again, even if it was taken back since, and a document that is
older than the newest event does not change what events say by now: it must not undo newer work. Nothing is
lost: the document is kept, whole, below the folder of local state.
"""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Annotated, Final, NamedTuple, cast

from passdown.core.checkpoints import Phase, PhaseState, read_state
from passdown.core.events import MAX_CHARS, Event, EventCheckpoint, render_event
from passdown.core.facts import make_key
from passdown.core.merge import Digest
from passdown.core.pairs import Pair
from passdown.core.patterns import pattern
from passdown.core.problems import Malformed, Unknown
from passdown.core.rollups import is_rollup, parse_rollup
from passdown.core.seals import Ownership, judge_owner
from passdown.core.sources import (
    CHECKPOINTS,
    CONSTRAINTS,
    DECISIONS,
    DONE,
    GOAL,
    NEXT,
    NOW,
    QUESTIONS,
    Checkpoint,
    Fact,
    Section,
    Source,
    Value,
    parse_source,
)
from passdown.core.streams import Checkpoint as StreamCheckpoint
from passdown.core.streams import Stream, Workflow, parse_stream, read_question, write_question
from passdown.core.texts import one_line
from passdown.core.views import View, parse_view
from passdown.errors import FormatError, PassdownError, StorageError
from passdown.ports.event_log import EventLog
from passdown.records import record, replace
from passdown.services.checkouts import Checkout
from passdown.services.events import Written, take_in, write_event
from passdown.services.local_files import ignore_folder
from passdown.services.view_homes import view_place
from passdown.services.views import make_text
from passdown.settings import EventLayout

TYPE: Final = "migration"

_ALL: Final = 2_000_000_000

_CUT: Final = pattern(r"… `passdown event show [0-9a-f]{16}`")
_NUMBER: Final = pattern(r"[0-9]{1,9}")


class Said(NamedTuple):
    """What a document says: as an event, when, how many next steps it leaves out, what no event can hold."""

    event: Event
    at: datetime | None
    next_left: int
    left: tuple[str, ...]


@record
class Plan:
    """What would be published, and what would not."""

    path: Annotated[str, "The document, from the project's root."]
    data: Annotated[bytes, "What it held when it was read."]
    event: Annotated[Event, "What would be published; without a time and an agent."]
    left: Annotated[tuple[str, ...], "What no field of an event holds: it stays in the copy."]
    says_something: Annotated[bool, "Whether there is anything to publish."]
    is_taken_over: Annotated[bool, "Whether the view takes the document's place."]


class Migrated(NamedTuple):
    """What was done: the event, where the document is kept, and where the view took its place."""

    written: Written | None
    kept: str
    view: str


def plan_migration(checkout: Checkout, path: str) -> Plan:
    """Read a document and work out what it says that no event states; nothing is changed.

    1. The view takes its place only where the view belongs on this branch, and is not there already.
    2. Nor does it as long as there is no event: an empty view would say less than the document.

    Raises a StorageError when it cannot be read, and refuses what is too large for one event.
    """
    data = checkout.documents.read(path)
    said = _read(path, data)
    take_in(checkout.log, checkout.index)
    event = _without_stated(said, frozenset(_list_stated(checkout.log, said)))
    event, superseded = _without_superseded(event, said, checkout.index.digest(_ALL))
    says_something = event != Event(stream=event.stream)
    event = replace(event, branch=checkout.repository.branch(), type=TYPE, reason="migrated")
    if len(render_event(event)) > MAX_CHARS - 1000:
        hint = "split it into parts and migrate each"
        raise PassdownError(f"{path} says more than one event can hold", hint=hint)
    is_ours = judge_owner(data) is Ownership.OURS
    is_in_place = path == view_place(checkout.repository, checkout.settings).path and not is_ours  # 1
    has_events = says_something or checkout.index.digest(1).event_count > 0  # 2
    return Plan(
        path=path,
        data=data,
        event=event,
        left=(*superseded, *said.left),
        says_something=says_something,
        is_taken_over=is_in_place and has_events,
    )


def migrate(checkout: Checkout, plan: Plan, agent: str) -> Migrated:
    """Do what was planned: keep the document, publish the event, put the view in its place.

    Raises a StorageError when the document has changed since; then nothing was written.
    """
    if checkout.documents.read(plan.path) != plan.data:
        hint = "repeat the command; the newer text was kept"
        raise StorageError(f"{plan.path} has changed meanwhile; nothing was written", hint=hint)
    kept = _keep(checkout, plan)
    written = None
    if plan.says_something:
        by_day = checkout.settings.events.layout is EventLayout.DAY
        event = replace(plan.event, agent=agent)
        written = write_event(checkout.log, checkout.index, checkout.clock, event, by_day=by_day)
    if plan.is_taken_over:
        checkout.documents.replace(plan.path, make_text(checkout.index).encode())
    return Migrated(written, kept, plan.path if plan.is_taken_over else "")


def _keep(checkout: Checkout, plan: Plan) -> str:
    """Keep the document; one that lies below the folder of local state, and stays there, is kept already."""
    runtime = checkout.settings.paths.runtime
    if plan.path.startswith(f"{runtime}/") and not plan.is_taken_over:
        return ""
    kept = f"{runtime}/legacy-current-{hashlib.sha256(plan.data).hexdigest()[:12]}.md"
    ignore_folder(checkout.documents, runtime)
    checkout.documents.replace(kept, plan.data, local=True)
    return kept


# --- what a document says -----------------------------------------------------------------------


def _read(path: str, data: bytes) -> Said:
    """Read a document as the stream or the view it is: by the reading that leaves less over."""
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
        view, stream = parse_view(text), parse_stream(text)
    except UnicodeDecodeError:
        raise PassdownError(f"{path} is not UTF-8 text", hint="save it as UTF-8") from None
    except FormatError as found:
        raise PassdownError(f"{path} cannot be read: {found.message}", hint=found.hint) from found
    rest = len(stream.context) + _size(stream.unknown)
    return _read_view(view) if _size(view.unknown) <= rest else _read_stream(stream)


def _size(unknown: Iterable[Unknown]) -> int:
    return sum(len(one.text) for one in unknown)


def _read_view(view: View) -> Said:
    event = Event(
        goal=view.goal or None,
        now=view.now or None,
        next=view.next or None,
        this_session=view.this_session,
        decisions=view.decisions,
        constraints=view.constraints,
        open_questions=tuple(write_question(one) for one in view.questions),
        checkpoints=tuple(_checkpoint(phase) for phase in view.checkpoints),
    )
    left = _name_left((("details of phases", any(phase.detail for phase in view.checkpoints)),), view.unknown)
    at = (view.footer.latest_ts if view.footer else None) or view.updated
    return Said(event, at, view.next_earlier.count if view.next_earlier else 0, left)


def _read_stream(stream: Stream) -> Said:
    checkpoint = stream.checkpoint or StreamCheckpoint()
    asked = (write_question(one) for one in stream.questions)
    event = Event(
        stream=stream.session_name,
        goal=stream.goal or None,
        now=stream.now or None,
        next=stream.next or None,
        this_session=stream.this_session,
        decisions=stream.decisions,
        open_questions=(*asked, *stream.unknowns),
        checkpoints=tuple(_checkpoint(phase, checkpoint) for phase in checkpoint.phases),
    )
    left = (
        ("Branch", stream.ledger_branch),
        ("Test", stream.test),
        ("Workflow State", stream.workflow != Workflow()),
        ("Resolved", stream.resolved),
        ("Last Failure", stream.last_failure),
        ("details of phases", any(phase.detail for phase in checkpoint.phases)),
        ("Validation State", checkpoint.validation),
        ("Resume Context", checkpoint.resume),
        ("the text after the Ledger section", stream.context),
    )
    return Said(event, stream.updated, 0, _name_left(left, stream.unknown))


def _name_left(left: Iterable[tuple[str, object]], unknown: Iterable[Unknown]) -> tuple[str, ...]:
    names = dict.fromkeys(one.place.removeprefix("Ledger/") or "the text at the top" for one in unknown)
    return (*(name for name, value in left if value), *names)


def _checkpoint(phase: Phase, around: StreamCheckpoint | None = None) -> EventCheckpoint:
    around = around or StreamCheckpoint()
    return EventCheckpoint(
        phase=phase.phase,
        status=phase.state,
        name=phase.name or None,
        agent=around.agent or None,
        task=around.task or None,
        updated=around.last_updated,
    )


# --- what events state already --------------------------------------------------------------------

Stated = tuple[str, str]
"""A section, and a text of it in the form in which a view shows it."""


def _without_stated(said: Said, stated: frozenset[Stated]) -> Event:
    """Leave out of an event what other events state."""
    event = said.event

    def is_new(section: Section, text: str) -> bool:
        return (section, _fold(text)) not in stated and not _CUT.search(text)

    def new_texts(section: Section, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(text for text in texts if is_new(section, text))

    return replace(
        event,
        goal=event.goal if event.goal and is_new(GOAL, event.goal) else None,
        now=event.now if event.now and is_new(NOW, event.now) else None,
        next=event.next if event.next and is_new(NEXT, _join(event.next)) else None,
        this_session=new_texts(DONE, event.this_session),
        constraints=new_texts(CONSTRAINTS, event.constraints),
        open_questions=new_texts(QUESTIONS, event.open_questions),
        decisions=tuple(pair for pair in event.decisions if is_new(DECISIONS, _join_pair(pair))),
        checkpoints=tuple(one for one in event.checkpoints if is_new(CHECKPOINTS, _join_phase(one))),
    )


def _without_superseded(event: Event, said: Said, digest: Digest) -> tuple[Event, tuple[str, ...]]:
    """Leave out of an older document's event what newer events say otherwise, and name it."""
    # Documents tell their time in seconds.
    if said.at is None or digest.latest is None or said.at >= digest.latest.replace(microsecond=0):
        return event, ()
    keys = {make_key(held.value[0]) for held in digest.sections[DECISIONS].held}
    kept = replace(
        event,
        goal=None if GOAL in digest.registers else event.goal,
        now=None if NOW in digest.registers else event.now,
        next=None if NEXT in digest.registers else event.next,
        decisions=tuple(pair for pair in event.decisions if make_key(pair.key) not in keys),
    )
    names = (("Goal", "goal"), ("Now", "now"), ("Next", "next"), ("Decisions", "decisions"))
    changed = (name for name, field in names if getattr(kept, field) != getattr(event, field))
    return kept, tuple(f"{name} (newer events say otherwise)" for name in changed)


def _list_stated(log: EventLog, said: Said) -> Iterator[Stated]:
    """List what every event of a log states, whether it still holds or not."""
    for folder in log.folders({}):
        for name in log.files(folder):
            for source in _read_sources(log, folder, name):
                for fact in source.facts:
                    yield from _forms(fact, said)


def _read_sources(log: EventLog, folder: str, name: str) -> Iterator[Source]:
    data = log.read(folder, name) or b""
    if is_rollup(name):
        yield from (source for _, source in parse_rollup(data).members)
        return
    source = parse_source(data, name)
    if source is not None:
        yield source


def _forms(fact: Fact, said: Said) -> Iterator[Stated]:
    section, _, value, _ = fact
    if value is None:
        return
    if section == NEXT:
        steps = (value,) if isinstance(value, str) else value
        yield section, _fold(_join(steps))
        if said.next_left:
            yield section, _fold(_join(steps[: len(said.event.next or ())]))
    else:
        yield section, _fold(_form(section, value))


def _form(section: Section, value: Value) -> str:
    if section == DECISIONS:
        key, text = cast("tuple[str, str]", value)
        return _join_pair(Pair(key=key, value=text))
    if section == CHECKPOINTS:
        return _join_phase(_stated_checkpoint(Checkpoint._make(value)))
    if section == QUESTIONS:
        return write_question(read_question(_fold(str(value))))
    return str(value)


def _stated_checkpoint(one: Checkpoint) -> EventCheckpoint:
    """Give a checkpoint as a view shows it."""
    number = int(one.phase) if _NUMBER.fullmatch(one.phase) else 0
    name = one.name or (one.phase if number == 0 else "")
    try:
        status = read_state(one.status)
    except Malformed:
        status = PhaseState.PENDING
    return EventCheckpoint(phase=number, status=status, name=name.replace("(", "[").replace(")", "]") or None)


def _fold(text: str) -> str:
    return one_line(" ".join(text.split()))


def _join(texts: Iterable[str]) -> str:
    return " / ".join(_fold(text) for text in texts)


def _join_pair(pair: Pair) -> str:
    return f"{pair.key}: {pair.value}"


def _join_phase(one: EventCheckpoint) -> str:
    return f"{one.phase} {one.name or ''} {one.status}"
