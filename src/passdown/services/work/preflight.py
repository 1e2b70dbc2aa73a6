"""The checks before a session works: tracker, mode, lock, context, outbox, silent sessions (C107)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Final, NamedTuple, TypeVar

from passdown import layout
from passdown.core.coordination.leases import TASK, TRACK, Held, Resource
from passdown.core.coordination.refusals import tell_holder
from passdown.core.problems import Severity
from passdown.core.safe_text import one_line
from passdown.core.sessions.session_facts import PREFLIGHT, Account, SessionStart
from passdown.core.times import age_words, seconds_words
from passdown.errors import PassdownError, StorageError, TrackerError, TrackerMissingError
from passdown.ports.coordination import Coordination
from passdown.records import record
from passdown.services.coordination.addressed_handoffs import FoundHandoff
from passdown.services.coordination.overview import read_tasks
from passdown.services.coordination.track_locks import LockChoice, lock_track
from passdown.services.operations.recorded_tracker import BOARD
from passdown.services.operations.waiting import find_waiting
from passdown.services.sessions.journals import read_account, read_open, write_heartbeat
from passdown.services.sessions.liveness import is_live, list_live
from passdown.services.sessions.sessions import find_preferred_mode, foresee_mode
from passdown.services.work.session_contexts import recall_context
from passdown.services.work.tracker_changes import catch_up
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import TrackerChoice

LOCK: Final = "lock"
"""The name of the step that locks the track."""
_NOTHING: Final = "nothing queued"
_SHOWN: Final = 60
_NAMED: Final = 3
T = TypeVar("T")


class PreflightRequest(NamedTuple):
    """The options of a preflight."""

    track: str = ""
    """The track to work on, if it is not the session's."""
    choice: LockChoice | None = None
    """What to do about a track that another session works on."""
    late: Sequence[FoundHandoff] = ()
    """Handoffs for others that have waited for long."""


@record
class PreflightStep:
    """The result of one step."""

    step: Annotated[str, "Its name."]
    text: Annotated[str, "What was found."]
    is_notable: Annotated[bool, "Whether to show it even in brief output."] = False
    is_failed: Annotated[bool, "Whether the step could not be done."] = False


@record
class PreflightReport:
    """The result of a preflight."""

    account: Annotated[Account, "The session; without an id if none has started."]
    steps: tuple[PreflightStep, ...]
    held: Annotated[Held | None, "Who works on the track, if the session did not get it."] = None


def run_preflight(workspace: Workspace, account: Account, request: PreflightRequest) -> PreflightReport:
    """Run all checks before a session works, in the order of the seed, and record that it was done.

    It stops only if the tracker that the settings ask for is missing, with a TrackerMissingError. Any other
    failure is reported, and the remaining checks run.
    """
    tracker = _check_tracker(workspace)
    lock, held = check_lock(workspace, account, request)
    # The mode was locked when the session started.
    mode, preferred = account.start.mode, find_preferred_mode(workspace)
    later = f"; the next session prefers {preferred}" if preferred not in {"", mode} else ""
    steps = (
        tracker,
        PreflightStep(step="mode", text=f"{mode}, locked for this session{later}"),
        lock,
        _recall(workspace, account),
        _catch_up(workspace, account),
        *_find_silent(workspace, account, request.late),
    )
    write_heartbeat(workspace, account, PREFLIGHT)
    return PreflightReport(account=read_account(workspace, account.session), steps=steps, held=held)


def look_ahead(workspace: Workspace, request: PreflightRequest) -> PreflightReport:
    """Run the same checks before a session starts; nothing is locked, sent or recorded."""
    mode = foresee_mode(workspace, "", list_live(workspace))
    nobody = Account(start=SessionStart(mode=mode))
    held = _find_holder(workspace, request.track)
    waiting = find_waiting(workspace)
    owed = f"{len(waiting)} queued; a session sends them" if waiting else _NOTHING
    steps = (
        _check_tracker(workspace),
        PreflightStep(step="mode", text=f"{mode}, if a session starts now"),
        _show_lock(request.track, held),
        _recall(workspace, None),
        PreflightStep(step="outbox", text=owed, is_notable=bool(waiting)),
        *_find_silent(workspace, nobody, request.late),
    )
    return PreflightReport(account=nobody, steps=steps, held=held)


def _find_holder(workspace: Workspace, track: str) -> Held | None:
    """Return who holds a track; None if no live session does."""
    wanted = Resource(TRACK, track)
    leases = _ask(workspace, lambda one: iter(one.leases.leases())) if track else ()
    found = next((one for one in leases if one.resource == wanted and one.left > 0), None)
    if found is None:
        return None
    return Held(kind=TRACK, name=track, held=track, session=found.session, agent=found.agent, left=found.left)


def _show_lock(track: str, held: Held | None) -> PreflightStep:
    if held is not None:
        text = f"track {tell_holder(track, held.held, held.agent, held.left)}"
        return PreflightStep(step=LOCK, text=text, is_notable=True)
    return PreflightStep(step=LOCK, text=f"{track} is free" if track else "no track to lock")


def _check_tracker(workspace: Workspace) -> PreflightStep:
    """Describe where the tasks are kept; a missing `bd` is always reported."""
    step = "tracker"
    if workspace.settings.tracker.kind is TrackerChoice.NONE:
        return PreflightStep(step=step, text="none")
    try:
        workspace.find_tracker()
        found = read_tasks(workspace)
    except TrackerMissingError:
        raise
    except (TrackerError, StorageError) as trouble:
        return PreflightStep(step=step, text=trouble.message, is_notable=True, is_failed=True)
    if found is not None and found.trouble:
        return PreflightStep(step=step, text=found.trouble, is_notable=True, is_failed=True)
    is_board = found is None or found.kind == BOARD
    is_asked = workspace.settings.tracker.kind is TrackerChoice.BOARD
    if is_board and not is_asked and workspace.documents.is_folder(layout.BEADS):
        text = f"board, because bd was not found or {layout.BEADS} has no database"
        return PreflightStep(step=step, text=text, is_notable=True)
    if found is None:
        return PreflightStep(step=step, text="board, no tasks yet")
    counts = f"{found.ready} ready, {found.held} held, {found.waiting} waiting"
    name = found.tracker.partition(" (")[0]  # without the reach of the board
    return PreflightStep(step=step, text=f"{name}: {counts}")


def check_lock(
    workspace: Workspace, account: Account, request: PreflightRequest
) -> tuple[PreflightStep, Held | None]:
    """Lock the track; return its holder if that is another session and no choice about it was made."""
    track = request.track or account.track
    if not track:
        return PreflightStep(step=LOCK, text="no track to lock"), None
    try:
        outcome = lock_track(workspace, account, track, request.choice)
    except PassdownError as found:  # work continues without the lock (R21)
        text = f"could not lock {track}: {found.message}"
        return PreflightStep(step=LOCK, text=text, is_notable=True, is_failed=True), None
    if not isinstance(outcome, Held):
        return PreflightStep(step=LOCK, text=f"{track} is locked by this session"), None
    text = f"track {tell_holder(track, outcome.held, outcome.agent, outcome.left)}"
    if request.choice is LockChoice.CONTINUE:
        return PreflightStep(step=LOCK, text=f"{text}; continuing without the lock", is_notable=True), None
    return PreflightStep(step=LOCK, text=text, is_notable=True), outcome


def _recall(workspace: Workspace, account: Account | None) -> PreflightStep:
    """Describe the saved context, and any problem with its format."""
    try:
        path, context = recall_context(workspace, account)
    except PassdownError as found:
        return PreflightStep(step="context", text=found.message, is_notable=True, is_failed=True)
    if context is None:
        return PreflightStep(step="context", text="none saved")
    wrong = [one for one in context.problems if one.line <= 1 or one.severity is Severity.ERROR]
    if wrong:
        text = f"{path}: {wrong[0].field} {wrong[0].problem}"
        return PreflightStep(step="context", text=text, is_notable=True)
    told = [one_line(lines[0])[:_SHOWN] for lines in (context.intent, context.state.splitlines()) if lines]
    return PreflightStep(step="context", text=" | ".join([path, *told]))


def _catch_up(workspace: Workspace, account: Account) -> PreflightStep:
    """Send the changes that are queued for the tracker."""
    nothing = PreflightStep(step="outbox", text=_NOTHING)
    try:
        if workspace.find_tracker() is None:
            return nothing
        with catch_up(workspace, account) as found:
            counts = ((found.done, "sent"), (found.refused, "refused"), (found.waiting, "still queued"))
    except PassdownError as trouble:
        return PreflightStep(step="outbox", text=trouble.message, is_notable=True, is_failed=True)
    words = [f"{len(some)} {word}" for some, word in counts if some]
    is_notable = bool(found.refused or found.waiting)
    return PreflightStep(step="outbox", text=", ".join(words), is_notable=is_notable) if words else nothing


def _find_silent(
    workspace: Workspace, account: Account, late: Sequence[FoundHandoff]
) -> Iterator[PreflightStep]:
    """Describe what dead sessions left, and which sessions are silent."""
    orphans = [
        *(f"{one.handoff.sender} left a handoff for {one.named}: {one.path}" for one in late),
        *_ask(workspace, lambda one: _list_orphans(one, account)),
    ]
    silent = {
        **dict(_list_sessions(workspace, account)),
        **dict(_ask(workspace, lambda one: _list_members(one, account))),
    }
    for step, lines in (("orphans", orphans), ("agents", [*silent.values()])):
        rest = [f"{len(lines) - _NAMED} more"] if len(lines) > _NAMED else []
        text = "; ".join([*lines[:_NAMED], *rest])
        yield PreflightStep(step=step, text=text or "none", is_notable=bool(text))


def _ask(workspace: Workspace, call: Callable[[Coordination], Iterator[T]]) -> Sequence[T]:
    with suppress(StorageError):  # an unavailable engine has nothing to report
        coordination = workspace.find_coordination()
        return [*call(coordination)] if coordination else ()
    return ()


def _list_orphans(coordination: Coordination, account: Account) -> Iterator[str]:
    for one in coordination.tasks.summary().taken:
        if one.is_orphaned and one.holder != account.session:
            yield f"{one.task.task}, held by {one.agent}: `passdown takeover {one.task.task}`"


def _list_members(coordination: Coordination, account: Account) -> Iterator[tuple[str, str]]:
    """Yield silent members that hold tasks, by session."""
    held = [one for one in coordination.leases.leases() if one.resource.kind == TASK]
    for one in coordination.members.members():
        tasks = [each.resource.name for each in held if each.session == one.session]
        if tasks and not one.is_live and one.session != account.session:
            age = seconds_words(one.silent)
            yield one.session, f"{one.agent} has been silent for {age} and holds {', '.join(tasks)}"


def _list_sessions(workspace: Workspace, account: Account) -> Iterator[tuple[str, str]]:
    """Yield silent sessions of the clone that have not ended."""
    for one in read_open(workspace):
        is_over = one.ended_at is not None or one.session == account.session
        if one.touched_at and not is_over and not is_live(workspace, one):
            holds = f" and holds {one.task}" if one.task else ""
            age = age_words(workspace.now() - one.touched_at)
            yield one.session, f"{one.agent} has been silent for {age}{holds}"
