"""Who works here, who holds what, handoffs, index, and what is not committed yet."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final

from passdown import layout
from passdown.actions.answers import HIDDEN, INLINE, SECONDS, Form, describe, members
from passdown.actions.callers import Caller
from passdown.actions.project.searches import INDEX_STATE
from passdown.actions.sessions.decisions import CONTESTED
from passdown.actions.sessions.sessions import SessionSummary, find_pause, summarize
from passdown.core.coordination.members import MemberState
from passdown.core.facts import Fact
from passdown.core.formats.journal import Scope
from passdown.core.hosts.context_usage import ContextReading
from passdown.core.hosts.signals import NO_SIGNS, Degradation, Signal
from passdown.core.project.takeovers import TakeoverChoice, list_choices
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import SharedOperation, describe_operation
from passdown.errors import PassdownError, StorageError, UsageError
from passdown.records import record
from passdown.services.coordination.overview import read_tasks
from passdown.services.coordination.reservations import list_reservations
from passdown.services.handover.context_usage import read_level
from passdown.services.handover.degradation import read_degradation
from passdown.services.handover.handoffs import HandoffCount, count_handoffs
from passdown.services.log.archive_conflicts import describe_conflicts
from passdown.services.log.archive_writers import find_due
from passdown.services.log.commits import count_files
from passdown.services.operations.waiting import find_waiting
from passdown.services.project.status import IndexState, count_questions, find_index_state
from passdown.services.sessions.decisions import read_contested
from passdown.services.sessions.journals import name_now, read_accounts, read_open
from passdown.services.sessions.liveness import Liveness, judge_liveness, show_place
from passdown.services.sessions.pending_commits import find_uncommitted
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.searches import open_search_scope

if TYPE_CHECKING:  # few sessions coordinate, and few projects have tasks
    from passdown.ports.coordination import Coordination
    from passdown.services.coordination.overview import TaskOverview
    from passdown.services.log.archive_writers import DueRun
    from passdown.services.sessions.pending_commits import UncommittedFiles

LAST_WORK: Final = "last worked on"


@record
class StatusRequest:
    """What the status should include."""

    shows_all: Annotated[bool, "Whether to include ended sessions."] = False
    counts_questions: Annotated[bool, "Whether to count the open questions."] = False


def _tell_context(found: ContextReading | None) -> dict[str, object] | None:
    return {"percent": found.percent, "level": found.level.value} if found else None


def _tell_signals(signals: Sequence[Signal]) -> list[dict[str, str]]:
    return [{"kind": one.kind.value, "text": one.text} for one in signals]


@record
class SessionStatus:
    """A session and its state."""

    summary: Annotated[SessionSummary, "The session.", INLINE]
    now: Annotated[str | None, "Its current work; for an ended session, null."]
    last_worked_on: Annotated[str | None, "Its last work, once it ended."]
    state: Annotated[str, "live, unknown, stale or ended."]
    ledger_updated_at: Annotated[datetime | None, "When it last recorded a fact."]
    ledger_age_seconds: Annotated[int | None, "How long ago that was."]
    context: Annotated[
        ContextReading | None, "How full its context is, as measured by hooks.", Form(_tell_context)
    ]
    compactions: Annotated[int, "How often its context was compacted."]
    signals: Annotated[tuple[Signal, ...], "Signs that it is getting worse.", Form(_tell_signals)]
    choices: Annotated[tuple[TakeoverChoice, ...], "What can be done if it is stale."]
    account: Annotated[Account, "All its facts.", HIDDEN]
    doing: Annotated[str, "The label of its work: now, or last worked on.", HIDDEN]


@record
class HeldTask:
    """A task that a session has."""

    id: Annotated[str, "The task."]
    title: Annotated[str, "Its title."]
    agent: Annotated[str, "The agent that has it."]
    session: Annotated[str, "The session that has it."]
    left: Annotated[float, "How many seconds its lease lasts."]
    fence: Annotated[int, "The fence of the lease."]
    is_orphaned: Annotated[bool, "Whether the session is silent."]


@record
class HeldFile:
    """A path that a session has reserved."""

    agent: Annotated[str, "The agent that holds it."]
    session: Annotated[str, "The session that holds it."]
    left: Annotated[float, "How many seconds its lease lasts."]
    fence: Annotated[int, "The fence of the lease."]
    path: Annotated[str, "The path.", HIDDEN]


@record
class MemberStatus:
    """A session in the coordination."""

    session: Annotated[str, "The session."]
    agent: Annotated[str, "The name of its agent."]
    team: Annotated[str, "Its team."]
    role: Annotated[str, "Its role."]
    is_live: Annotated[bool, "Whether it is alive; the tasks of one that is silent may be taken over."]
    is_stale: Annotated[bool, "Whether it is known to have crashed.", HIDDEN]
    silent: Annotated[float, "How many seconds ago it was last seen."]
    unread: Annotated[int, "How many messages it has not read."]
    tasks: Annotated[tuple[HeldTask, ...], "The tasks that it has.", HIDDEN]
    files: Annotated[tuple[HeldFile, ...], "The files that it holds.", HIDDEN]


@record
class OpenOffer:
    """A task that a session offers to others."""

    id: Annotated[str, "The offer."]
    task: Annotated[str, "The task."]
    agent: Annotated[str, "The agent that offers it."]
    session: Annotated[str, "The session that offers it."]
    to: Annotated[str | None, "Who may accept it; null for anybody."]
    left: Annotated[float, "In how many seconds it expires."]


@record
class TeamStatus:
    """What sessions share; empty if none coordinate here, or if the engine does not answer."""

    engine: Annotated[str | None, "The engine and its reach, in words."] = None
    members: Annotated[tuple[MemberStatus, ...], "The sessions: live ones first, then the last seen."] = ()
    tasks: Annotated[tuple[HeldTask, ...], "The tasks that they have."] = ()
    reservations: Annotated[Mapping[str, HeldFile], "Who holds which path (R213)."] = MappingProxyType({})
    offers: Annotated[tuple[OpenOffer, ...], "What is offered."] = ()


@record
class TrackerStatus:
    """Where the tasks are kept, and how many of them are open."""

    kind: Annotated[str, "The kind of tracker: board or beads."]
    name: Annotated[str, "The tracker with its version, in words."]
    ready: Annotated[int, "How many tasks can be claimed now."]
    held: Annotated[int, "How many tasks are in progress."]
    waiting: Annotated[int, "How many tasks wait for another task, or for something outside the tracker."]
    trouble: Annotated[str | None, "Why the tasks could not be read."]


@record
class StatusResult:
    """The state of the project at a glance."""

    sessions: Annotated[tuple[SessionStatus, ...], "The sessions."]
    handoffs: Annotated[
        HandoffCount,
        "How many handoffs there are.",
        members(last_at=SECONDS, sessions=HIDDEN, handed_over_at=HIDDEN),
    ]
    index: Annotated[IndexState, "How the search index compares with the files.", INDEX_STATE]
    paused_by: Annotated[str | None, "What pauses Passdown here."]
    uncommitted: Annotated["UncommittedFiles | None", "The files that are not committed yet."]
    team: Annotated[TeamStatus, "What sessions share.", INLINE]
    tracker: Annotated[
        TrackerStatus | None, "The tracker; null if there is none, or if it is not in use yet."
    ]
    outbox: Annotated[tuple[Mapping[str, object], ...], "The changes queued for the tracker."]
    contested: Annotated[Sequence[Sequence[Fact]], "Decisions that contradict each other.", CONTESTED]
    counted: Annotated[str, "How many files of each kind are not committed yet.", HIDDEN]
    waiting: Annotated[Sequence[SharedOperation], "The changes queued for the tracker.", HIDDEN]
    questions: Annotated[int, "How many questions are open, if they were to be counted.", HIDDEN]
    now: Annotated[datetime, "When this was read.", HIDDEN]
    due: Annotated["DueRun | None", "What waits to be archived, and who archives it.", HIDDEN] = None
    conflicts: Annotated[
        tuple[str, str] | None, "An unfinished merge in files of events, and what to do about it.", HIDDEN
    ] = None


def status(caller: Caller, request: StatusRequest) -> StatusResult:
    """Return who works here, who holds what, and what is pending; change nothing."""
    workspace = caller.workspace
    accounts = read_accounts(workspace, Scope.ALL) if request.shows_all else read_open(workspace)
    known = [(one, judge_liveness(workspace, one).value) for one in accounts]
    rows = [
        (show_place(workspace, one), state) for one, state in known if request.shows_all or state != "ended"
    ]
    paused, handoffs = find_pause(caller), count_handoffs(workspace)
    index = find_index_state(open_search_scope(workspace))
    uncommitted, counted = _find_uncommitted(caller)
    tasks = _find_tasks(workspace)
    stale = frozenset(one.session for one, state in known if state == Liveness.STALE)
    team = _find_team(caller, tasks, stale)
    waiting = find_waiting(workspace)
    return StatusResult(
        sessions=tuple(_describe(workspace, *row) for row in rows),
        handoffs=handoffs,
        index=index,
        paused_by=paused or None,
        uncommitted=uncommitted,
        due=find_due(workspace),
        conflicts=describe_conflicts(workspace),
        team=team,
        tracker=describe(TrackerStatus, tasks, name=tasks.tracker) if tasks else None,
        outbox=tuple(describe_operation(one, workspace.now()) for one in waiting),
        contested=read_contested(workspace),
        counted=counted,
        waiting=waiting,
        questions=count_questions(workspace) if request.counts_questions else 0,
        now=workspace.now(),
    )


# --- sessions -----------------------------------------------------------------------------------------


def _describe(workspace: Workspace, account: Account, state: str) -> SessionStatus:
    """Describe a session; once it ended, its last prompt no longer counts as its work."""
    text, doing = account.now.text if account.now else None, name_now(workspace, account)
    reading, signs = _read_context(workspace, account)
    updated = account.said_at
    return SessionStatus(
        summary=summarize(account),
        now=text if doing == "now" else None,
        last_worked_on=text if doing == LAST_WORK else None,
        state=state,
        ledger_updated_at=updated,
        ledger_age_seconds=int((workspace.now() - updated).total_seconds()) if updated else None,
        context=reading,
        compactions=signs.compactions,
        signals=signs.signals,
        choices=list_choices(account.start.checkout, workspace.root) if state == "stale" else (),
        account=account,
        doing=doing,
    )


def _read_context(workspace: Workspace, account: Account) -> tuple[ContextReading | None, Degradation]:
    """Return how full a session's context is, and the signs that it gets worse, as measured by hooks."""
    names = [layout.session_file(one) for one in reversed(account.host_sessions)]
    readings = [read_level(workspace, name) for name in names]
    signs = [read_degradation(workspace, name) for name in names]
    return next(filter(None, readings), None), next((one for one in signs if one != NO_SIGNS), NO_SIGNS)


def _find_uncommitted(caller: Caller) -> "tuple[UncommittedFiles | None, str]":
    """Return the files that are not committed yet, and how many of each kind there are, in words."""
    try:
        found = find_uncommitted(caller.workspace)
    except StorageError as error:  # the sessions are listed anyway
        caller.warn(error.message)
        return None, ""
    return found, count_files(caller.workspace.settings.paths, found.paths) if found else ""


# --- what sessions share ------------------------------------------------------------------------------


def _find_tasks(workspace: Workspace) -> "TaskOverview | None":
    """Return the open tasks; None without a tracker, or if the engine behind it does not answer."""
    # The reading of the team reports why.
    with suppress(StorageError, UsageError):
        return read_tasks(workspace)
    return None


def _find_team(caller: Caller, tasks: "TaskOverview | None", stale: frozenset[str]) -> TeamStatus:
    try:
        coordination = caller.workspace.find_coordination()
        return TeamStatus() if coordination is None else _read_team(coordination, tasks, stale)
    except PassdownError as found:  # the sessions are listed anyway
        caller.warn(found.message, found.hint)
        return TeamStatus()


def _read_team(
    coordination: "Coordination", tasks: "TaskOverview | None", stale: frozenset[str]
) -> TeamStatus:
    """Return which sessions coordinate, and who holds which tasks and files.

    The engine knows when a session was last seen; this machine also knows which of them are `stale`.
    """
    files = [describe(HeldFile, one, path=one.resource.name) for one in list_reservations(coordination)]
    held = [
        describe(HeldTask, one, id=one.task.task, title=one.task.title, session=one.holder)
        for one in (tasks.tasks if tasks else ())
        if one.holder
    ]

    def rank(one: MemberState) -> tuple[bool, float]:
        return not one.is_live or one.session in stale, one.silent

    members = [
        describe(
            MemberStatus,
            one,
            is_live=one.is_live and one.session not in stale,
            is_stale=one.session in stale,
            unread=len(coordination.messages.waiting(one.session)),
            tasks=tuple(task for task in held if task.session == one.session),
            files=tuple(file for file in files if file.session == one.session),
        )
        for one in sorted(coordination.members.members(), key=rank)
    ]
    offers = [
        describe(
            OpenOffer,
            one.offer,
            one,
            id=one.offer.offer,
            session=one.offer.giver,
            to=one.offer.taker or None,
        )
        for one in coordination.offers.offers()
    ]
    return TeamStatus(
        engine=coordination.engine,
        members=tuple(members),
        tasks=tuple(task for one in members for task in one.tasks),
        reservations={one.path: one for one in files},
        offers=tuple(offers),
    )
