"""Import a `current.md` that was written by hand or by another tool, as an event (R139).

What an event already states is not published again, even if it was retracted since. A document that is older
than the newest event does not override events: it must not undo newer work. Nothing is lost: a copy of the
whole document is kept in the folder of local state.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Annotated, Final, NamedTuple

from passdown.core.documents.conflicts import refuse_conflict
from passdown.core.documents.key_value import Pair
from passdown.core.facts import MAPS, Fact, ReadPhase, make_key, read_phase
from passdown.core.formats.checkpoints import Phase
from passdown.core.formats.events import MAX_CHARS, Event, EventCheckpoint, render_event
from passdown.core.formats.streams import Checkpoint as StreamCheckpoint
from passdown.core.formats.streams import Stream, Workflow, parse_stream, read_question, write_question
from passdown.core.formats.view_footer import ViewOwner, find_view_owner
from passdown.core.formats.views import View, list_own_lines, parse_view, render_own_line, unsign_line
from passdown.core.kinds import AIMS, FURTHER, FactKind
from passdown.core.lazy_regex import pattern
from passdown.core.merge.event_facts import EventFacts, EventRank, source_of
from passdown.core.merge.merge import Digest
from passdown.core.phases import PhaseState, read_state
from passdown.core.problems import Malformed, Unknown
from passdown.core.safe_text import one_line
from passdown.core.sessions.handoff_streams import from_stream
from passdown.errors import FormatError, PassdownError, StorageError
from passdown.ports.event_log import EventLog
from passdown.records import record, replace
from passdown.services.log.events import WrittenEvent, read_sources, update_index, write_event
from passdown.services.log.views import KEPT, legacy_copy_path, make_text, view_place
from passdown.services.workspace.local_files import ignore_folder
from passdown.services.workspace.workspaces import Workspace

TYPE: Final = "migration"

_ALL: Final = 2_000_000_000

_CUT: Final = pattern(r"… `passdown (?:event|log) show [0-9a-f]{16}`")
_NUMBER: Final = pattern(r"[0-9]{1,9}")


class MigratedContent(NamedTuple):
    """A document as an event, its time, how many next steps it omits, and what no event can hold."""

    event: Event
    at: datetime | None
    next_left: int
    left: tuple[str, ...]


@record
class MigrationPlan:
    """What a migration would publish, and what it would not."""

    path: Annotated[str, "The document, relative to the project's root."]
    data: Annotated[bytes, "Its content when it was read."]
    event: Annotated[Event, "What would be published, without time and agent."]
    left: Annotated[tuple[str, ...], "What has no field in an event, and stays in the copy."]
    says_something: Annotated[bool, "Whether there is anything to publish."]
    is_taken_over: Annotated[bool, "Whether the view replaces the document."]


class Migrated(NamedTuple):
    """The result: the event, the copy of the document, and the path where the view replaced it."""

    written: WrittenEvent | None
    kept: str
    view: str


def plan_migration(workspace: Workspace, path: str) -> MigrationPlan:
    """Read a document and find the facts that no event has; nothing is changed.

    1. The view only replaces the document if it is where the view belongs on this branch, and is not a view
       already.
    2. The view does not replace it while there are no events: an empty view would say less than the document.
    3. Of a view that git merged, only lines that no event states are read: the others may occur twice.

    Raises a StorageError if the document cannot be read, and a PassdownError if it has conflict markers or is
    too large for one event.
    """
    data = workspace.documents.read(path)
    said = read_document(path, data)
    update_index(workspace.log, workspace.index)
    if find_view_owner(data) is ViewOwner.MERGED:  # 3
        event, superseded, said = _read_merged(workspace, data)
    else:
        event = _without_stated(said, frozenset(_list_stated(workspace.log, said)))
        event, superseded = _without_superseded(event, said, workspace.index.digest(_ALL))
    says_something = event != Event(stream=event.stream)
    event = replace(event, branch=workspace.repository.branch(), type=TYPE, reason="migrated")
    if len(render_event(event)) > MAX_CHARS - 1000:
        hint = "split it and migrate the parts one by one"
        raise PassdownError(f"{path} contains more than one event can hold", hint=hint)
    is_ours = find_view_owner(data) is ViewOwner.OURS
    is_in_place = path == view_place(workspace.repository, workspace.settings).path and not is_ours  # 1
    has_events = says_something or workspace.index.digest(1).event_count > 0  # 2
    return MigrationPlan(
        path=path,
        data=data,
        event=event,
        left=(*superseded, *said.left),
        says_something=says_something,
        is_taken_over=is_in_place and has_events,
    )


def migrate(workspace: Workspace, plan: MigrationPlan, agent: str) -> Migrated:
    """Carry out the plan: copy the document, publish the event, and write the view in its place.

    Raises a StorageError if the document has changed since; then nothing was written.
    """
    if workspace.documents.read(plan.path) != plan.data:
        hint = "run the command again; nothing was overwritten"
        raise StorageError(f"{plan.path} has changed since; nothing was written", hint=hint)
    kept = _keep(workspace, plan)
    written = None
    if plan.says_something:
        event = replace(plan.event, agent=agent)
        written = write_event(
            workspace.log, workspace.index, workspace.clock, event, layout=workspace.settings.events.layout
        )
    if plan.is_taken_over:
        workspace.documents.replace(plan.path, make_text(workspace.index).encode())
    return Migrated(written, kept, plan.path if plan.is_taken_over else "")


def _keep(workspace: Workspace, plan: MigrationPlan) -> str:
    """Copy the document; one that stays in the folder of local state needs no copy."""
    runtime = workspace.settings.paths.runtime
    if plan.path.startswith(f"{runtime}/") and not plan.is_taken_over:
        return ""
    kept = legacy_copy_path(workspace.settings, plan.data)
    ignore_folder(workspace.documents, runtime)
    workspace.documents.replace(kept, plan.data, local=True)
    return kept


# --- what a document says -----------------------------------------------------------------------


def read_legacy(workspace: Workspace, path: str) -> EventFacts | None:
    """Return the content of a document in the view's place as an event; None if it cannot be read.

    Without a date it counts as older than every event. The index must be up to date.
    """
    try:
        said = read_document(path, workspace.documents.read(path))
    except PassdownError:  # conflict markers, or not text; the user is told about the file elsewhere
        return None
    at = said.at or min(
        (place.rank.at - timedelta(milliseconds=1) for place in workspace.index.places()),
        default=workspace.now(),
    )
    return source_of(said.event, EventRank(at, path.rpartition("/")[2], "", ""))


def read_document(path: str, data: bytes) -> MigratedContent:
    """Parse a document as a stream or as a view, whichever leaves less unknown text.

    Raises a PassdownError if it is not text, or has conflict markers.
    """
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
        view, stream = parse_view(text), parse_stream(text)
    except UnicodeDecodeError:
        raise PassdownError(f"{path} is not UTF-8 text", hint="save it as UTF-8") from None
    except FormatError as found:
        raise PassdownError(f"{path} cannot be read: {found.message}", hint=found.hint) from found
    refuse_conflict(path, text)
    rest = len(stream.context) + _size(stream.unknown)
    return _read_view(view) if _size(view.unknown) <= rest else _read_stream(stream)


# --- what a person wrote in a view ---------------------------------------------------------------


def find_offered(workspace: Workspace, path: str, broken: bytes, new: str) -> tuple[str, ...]:
    """Return the lines of a broken view that a person probably wrote (C116).

    1. They are not in the new view.
    2. No event states them. (After a rebase, no commit may have our older view.)
    3. They are not in an intact view of the last commit or its parents.
    """
    text = broken.decode("utf-8", "replace")
    known = set(new.split("\n"))
    found = [line for line, _ in _list_unstated(workspace, text, known)]  # 1, 2
    if found:
        for data in workspace.history.texts_of(path):  # 3
            if find_view_owner(data) is ViewOwner.OURS:
                known.update(data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n"))
    return tuple(line for line in found if line not in known)


def list_kept(workspace: Workspace) -> Iterator[tuple[str, int]]:
    """Yield the copies of broken views with lines that no event states, and the number of those lines."""
    start = f"{workspace.settings.paths.runtime}/{KEPT}"
    for path in workspace.documents.list(workspace.settings.paths.runtime):
        if path.startswith(start):
            text = workspace.documents.read(path).decode("utf-8", "replace")
            if count := sum(1 for _ in _list_unstated(workspace, text, ())):
                yield path, count


def _list_unstated(
    workspace: Workspace, text: str, known: Collection[str]
) -> Iterator[tuple[str, MigratedContent]]:
    """Yield the lines of a view that no event states, each with its content.

    The kind does not matter: git may have moved a line under another heading, or under none.
    """
    lines = list(list_own_lines(text, known))
    if not lines:
        return
    nothing = MigratedContent(Event(), None, 0, ())
    stated = {said for _, said in _list_stated(workspace.log, nothing)}
    for line in lines:
        said = _read_view(parse_view(render_own_line(line)))
        moved = _read_view(parse_view(render_own_line(line._replace(section=_STEPS))))
        readings = [list(_list_texts(one.event)) for one in (said, moved)]
        is_stated = any(
            texts and all(one in stated or _CUT.search(one) for one in texts) for texts in readings
        )
        if not is_stated and (readings[0] or said.left):
            yield line.text, said


def _list_texts(event: Event) -> Iterator[str]:
    """Yield the facts of an event, in the form in which a view shows them."""
    aims = (text for text in (event.goal, event.now) if text)
    further = (texts for _, texts in event.more)
    lists = (event.next or (), event.this_session, event.constraints, event.open_questions, *further)
    yield from (_fold(text) for text in (*aims, *(text for texts in lists for text in texts)))
    yield from (_fold(_join_pair(pair)) for pair in (*event.decisions, *event.answers))
    yield from (_fold(_join_phase(one)) for one in event.checkpoints)


def _read_merged(workspace: Workspace, data: bytes) -> tuple[Event, tuple[str, ...], MigratedContent]:
    """Read a view that git merged, line by line; new steps are added to the current ones."""
    text = data.decode("utf-8").replace("\r\n", "\n")
    found = [said for _, said in _list_unstated(workspace, text, ())]
    events = [one.event for one in found]
    steps = tuple(step for one in events for step in one.next or ())
    held = workspace.index.digest(_ALL).one(FactKind.NEXT)
    event = Event(
        goal=next((one.goal for one in events if one.goal), None),
        now=next((one.now for one in events if one.now), None),
        next=((*held.steps, *steps) if held else steps) if steps else None,
        this_session=tuple(item for one in events for item in one.this_session),
        decisions=tuple(item for one in events for item in one.decisions),
        answers=tuple(item for one in events for item in one.answers),
        constraints=tuple(item for one in events for item in one.constraints),
        open_questions=tuple(item for one in events for item in one.open_questions),
        checkpoints=tuple(item for one in events for item in one.checkpoints),
        more=_name_further(
            (kind, tuple(text for one in events for text in dict(one.more).get(kind.row.event_key, ())))
            for kind in FURTHER
        ),
    )
    left = tuple(dict.fromkeys(name for one in found for name in one.left))
    return event, (), MigratedContent(event, None, 0, left)


def _size(unknown: Iterable[Unknown]) -> int:
    return sum(len(one.text) for one in unknown)


def _name_further(
    more: Iterable[tuple[FactKind, tuple[str, ...]]],
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return facts of further kinds by event key, without empty kinds."""
    return tuple((kind.row.event_key, texts) for kind, texts in more if texts)


def _read_view(view: View) -> MigratedContent:
    items = {one.heading: one.items for one in view.more}
    event = Event(
        goal=unsign_line(view.goal) or None,
        now=unsign_line(view.now) or None,
        next=tuple(map(unsign_line, view.next)) or None,
        this_session=view.this_session,
        decisions=view.decisions,
        answers=view.answers,
        constraints=view.constraints,
        open_questions=tuple(write_question(one) for one in view.questions),
        checkpoints=tuple(_checkpoint(phase) for phase in view.checkpoints),
        more=_name_further((kind, items.get(kind.row.heading, ())) for kind in FURTHER),
    )
    left = _name_left((("details of phases", any(phase.detail for phase in view.checkpoints)),), view.unknown)
    at = (view.footer.latest_ts if view.footer else None) or view.updated
    return MigratedContent(event, at, view.next_earlier.count if view.next_earlier else 0, left)


def _read_stream(stream: Stream) -> MigratedContent:
    checkpoint = stream.checkpoint or StreamCheckpoint()
    asked = (write_question(one) for one in stream.questions)
    handoff = from_stream(stream)
    event = Event(
        stream=stream.session_name,
        goal=stream.goal or None,
        now=handoff.now or None,
        next=stream.next or None,
        this_session=stream.this_session,
        decisions=stream.decisions,
        open_questions=(*asked, *stream.unknowns),
        checkpoints=tuple(_checkpoint(phase, checkpoint) for phase in checkpoint.phases),
        more=_name_further(handoff.more),
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
    return MigratedContent(event, stream.updated, 0, _name_left(left, stream.unknown))


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
"""A kind, and a text of that kind as a view shows it."""

_STEPS: Final = "### Next"
_STEP: Final = "step"
"""Used in place of a kind: one of the next steps."""


def _without_stated(said: MigratedContent, stated: frozenset[Stated]) -> Event:
    """Return the event of a document without what other events state."""
    event = said.event
    further = dict(event.more)

    def is_new(kind: FactKind, text: str) -> bool:
        return (kind, _fold(text)) not in stated and not _CUT.search(text)

    def new_texts(kind: FactKind, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(text for text in texts if is_new(kind, text))

    return replace(
        event,
        goal=event.goal if event.goal and is_new(FactKind.GOAL, event.goal) else None,
        now=event.now if event.now and is_new(FactKind.NOW, event.now) else None,
        next=event.next if event.next and is_new(FactKind.NEXT, _join(event.next)) else None,
        this_session=new_texts(FactKind.DONE, event.this_session),
        constraints=new_texts(FactKind.CONSTRAINT, event.constraints),
        open_questions=new_texts(FactKind.QUESTION, event.open_questions),
        decisions=tuple(pair for pair in event.decisions if is_new(FactKind.DECISION, _join_pair(pair))),
        answers=tuple(pair for pair in event.answers if is_new(FactKind.ANSWER, _join_pair(pair))),
        checkpoints=tuple(one for one in event.checkpoints if is_new(FactKind.CHECKPOINT, _join_phase(one))),
        more=_name_further((kind, new_texts(kind, further.get(kind.row.event_key, ()))) for kind in FURTHER),
    )


def _without_superseded(event: Event, said: MigratedContent, digest: Digest) -> tuple[Event, tuple[str, ...]]:
    """Leave out what newer events contradict, if the document is older; also return the names of that."""
    # Documents store their time in seconds.
    if said.at is None or digest.latest is None or said.at >= digest.latest.replace(microsecond=0):
        return event, ()
    keys = {make_key(fact.key) for fact in digest.kinds[FactKind.DECISION].facts}
    decisions = tuple(pair for pair in event.decisions if make_key(pair.key) not in keys)
    newer = {kind.row.event_key: None for kind in AIMS if digest.one(kind)}
    kept = replace(event, decisions=decisions, **newer)
    rows = [kind.row for kind in (*AIMS, FactKind.DECISION)]
    changed = (row.title for row in rows if getattr(kept, row.event_key) != getattr(event, row.event_key))
    return kept, tuple(f"{title} (newer events differ)" for title in changed)


def _list_stated(log: EventLog, said: MigratedContent) -> Iterator[Stated]:
    """Yield what all events of a log state, whether it still holds or not."""
    for source in read_sources(log):
        for fact in source.facts:
            yield from _forms(fact, said)


def _forms(fact: Fact, said: MigratedContent) -> Iterator[Stated]:
    if fact.kind == FactKind.NEXT:
        yield fact.kind, _fold(_join(fact.steps))
        yield from ((_STEP, _fold(step)) for step in fact.steps)
        if said.next_left:
            yield fact.kind, _fold(_join(fact.steps[: len(said.event.next or ())]))
    elif fact.kind != FactKind.RETRACTION:
        yield fact.kind, _fold(_form(fact))


def _form(fact: Fact) -> str:
    if fact.kind in MAPS:
        return _join_pair(Pair(key=fact.key, value=fact.text))
    if fact.kind == FactKind.CHECKPOINT:
        return _join_phase(_stated_checkpoint(read_phase(fact)))
    if fact.kind == FactKind.QUESTION:
        return write_question(read_question(_fold(fact.text)))
    return fact.text


def _stated_checkpoint(one: ReadPhase) -> EventCheckpoint:
    """Return a checkpoint as a view shows it."""
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
