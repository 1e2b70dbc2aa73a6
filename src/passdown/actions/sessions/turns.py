"""Record what a host's turn did, and publish it when due."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from passdown import layout
from passdown.actions.callers import Caller, ask_engine, find_hosted
from passdown.actions.sessions.sessions import refresh_stream, update_view
from passdown.core.hosts.context_usage import ContextLevel, ContextReading
from passdown.core.sessions.session_facts import Account
from passdown.errors import CacheError, StorageError, UnreadError
from passdown.ports.host import Host
from passdown.records import record, replace
from passdown.services.handover.context_usage import (
    find_level_in_transcript,
    note_level,
    read_level,
    thresholds_of,
)
from passdown.services.handover.deliveries import CUT, WHOLE, await_turn_end, confirm, leave_notice
from passdown.services.log.commit_marks import TO_COMMIT
from passdown.services.log.local_view import is_outdated
from passdown.services.sessions.liveness import is_heartbeat_due
from passdown.services.sessions.observations import TranscriptSource, observe
from passdown.services.sessions.pending_commits import AFTER_TURN, commit_waiting, find_trouble
from passdown.services.sessions.unpublished import is_due
from passdown.wiring.transcripts import open_source
from passdown.wiring.workspaces import open_with_handoffs

if TYPE_CHECKING:
    from passdown.core.hosts.kept_results import KeptResult
    from passdown.core.hosts.signals import Signal
    from passdown.core.work.observed_work import WorkNews
    from passdown.ports.coordination import Coordination

_NEARLY_FULL: Final = frozenset({ContextLevel.SAVE, ContextLevel.FORCE})
_TRACKER: Final = "bd "
_RESULTS: Final = ('"status"', '"beadUpdates"', '"bead_updates"')
"""Every result of a subagent contains one of these."""


@record
class HostTurnRequest:
    """What a host reports about a turn, a compaction, or the end of a subagent."""

    host: Annotated[Host, "The host."]
    transcript: Annotated[str, "The path of its transcript."] = ""
    message: Annotated[str, "The last message of the agent or subagent."] = ""
    subagent: Annotated[str, "The host's id of the subagent; empty for the session's own agent."] = ""
    has_signs: Annotated[bool, "Whether earlier turns showed signs that the session gets worse."] = False


@record
class HostTurnResult:
    """What the user should know after a turn."""

    context: Annotated[ContextReading | None, "How full the context is, if the user should know."] = None
    signals: Annotated[Sequence["Signal"], "Why the session just got worse; empty if it did not."] = ()
    work: Annotated["WorkNews | None", "Gates that became due, and new phases."] = None
    has_results: Annotated[bool, "Whether there are results of subagents to apply."] = False


@record
class _SeenTurn:
    """What the transcript shows about a turn."""

    account: Account
    signals: "Sequence[Signal]" = ()
    work: "WorkNews | None" = None
    is_observed: Annotated[bool, "Whether there is a transcript that can be read."] = False


def end_turn(caller: Caller, request: HostTurnRequest) -> HostTurnResult:
    """Record what the turn did, check that the brief arrived, and publish when due.

    From 70 % on, each turn updates the document of the track (R76). A nearly full context is a reason to
    publish, and a full one to notify the user (C38). The status line shows how full the context is; in a host
    without one, the user is told once per level.
    """
    source = _open_source(caller, request)
    source = source and replace(source, said=request.message)
    account = find_hosted(caller) or _start(caller, request)
    if source is not None:
        await_turn_end(account, source)
    seen = _look(caller, account, source)
    account = seen.account
    is_judged = seen.is_observed and (seen.signals or request.has_signs)
    signals = _judge(caller, seen.signals) if is_judged else ()
    ask_engine(caller, lambda _: _give_sign(caller, account))
    reading, is_news = _read_level(caller, source)
    level = reading.level if reading else ContextLevel.LOW
    _publish_when_due(caller, account, level)
    return HostTurnResult(
        context=reading if is_news or level is ContextLevel.FORCE else None,
        signals=signals,
        work=seen.work,
        has_results=bool(account.results) and not request.subagent,
    )


def _publish_when_due(caller: Caller, account: Account, level: ContextLevel) -> None:
    """Publish if the context is nearly full, or the last publication is too old (C57)."""
    workspace = caller.workspace
    if level is not ContextLevel.LOW:
        refresh_stream(caller, account)
    if level in _NEARLY_FULL:
        _publish(caller, account, "token-budget")
        _save_context(caller, account)
    elif is_due(workspace, account.session, timedelta(minutes=workspace.settings.events.publish_minutes)):
        _publish(caller, account, "turn-end")


def _start(caller: Caller, request: HostTurnRequest) -> Account:
    """Start a session whose start the host did not report."""
    from passdown.services.sessions.sessions import StartRequest, start_session  # it is nearly always running

    asked = StartRequest(host=request.host.name, host_session=caller.session)
    return start_session(caller.workspace, asked).account


def _give_sign(caller: Caller, account: Account) -> None:
    """Show the other sessions that this one is alive (C80)."""
    from passdown.services.coordination.membership import join_project  # few sessions coordinate

    join_project(caller.workspace, account, is_alone=True)


def _read_level(caller: Caller, source: TranscriptSource | None) -> tuple[ContextReading | None, bool]:
    """Return how full the context is, from the transcript or the status line, and whether to say so."""
    workspace, name = caller.workspace, layout.session_file(caller.session)
    known = read_level(workspace, name)
    thresholds = thresholds_of(workspace.settings.context)
    told = find_level_in_transcript(source, thresholds, workspace.now()) if source else None
    if told is None:
        return known, False
    if known is not None and known.level is told.level:
        return told, False
    note_level(workspace, name, told)
    return told, told.level is not ContextLevel.LOW


def save(caller: Caller, request: HostTurnRequest) -> None:
    """Record and publish everything: the host is about to compact the context."""
    account = find_hosted(caller)
    if account is None:
        return
    _look(caller, account, _open_source(caller, request))
    _publish(caller, account, "pre-compact")
    refresh_stream(caller, account)
    _save_context(caller, account)
    from passdown.services.handover.degradation import note_compaction  # compactions are rare

    name = layout.session_file(caller.session)
    try:
        note_compaction(caller.workspace, name)
    except StorageError as found:  # everything important is saved
        caller.note_trouble(found.message)
    if not request.host.calls_after_compaction:
        leave_notice(caller.workspace, name)


def _save_context(caller: Caller, account: Account) -> None:
    """Write the session context, if the session recorded what it requires (C106)."""
    from passdown.services.work.session_contexts import save_if_complete  # a context is rarely nearly full

    if trouble := save_if_complete(caller.workspace, account):
        caller.note_trouble(trouble)


def _publish(caller: Caller, account: Account, reason: str) -> None:
    """Publish, or leave it to the next hook if another process is publishing or some events are unread."""
    from passdown.services.sessions.publications import publish  # most turns publish nothing

    wanted = caller.workspace.settings.commit
    if wanted.checkpoint or wanted.event:
        TO_COMMIT.put(caller.workspace)
    try:
        publish(caller.workspace, account.session, kind="checkpoint", reason=reason)
    except StorageError as found:
        is_unread = isinstance(found, UnreadError)  # without the cache even less was read
        if isinstance(found, CacheError) and caller.around.limits.is_cached and not is_unread:
            raise  # it can be done without the cache
        caller.note_trouble(found.message)


def follow_turn(caller: Caller, *, may_commit: bool) -> str:
    """Update the view with what was published and commit it if due, after the host was answered.

    Both may be left over from an earlier turn. Returns why it was not committed, if the user should know.
    """
    if is_outdated(caller.workspace):
        update_view(caller)
    if not may_commit or not TO_COMMIT.is_put(caller.workspace):
        return ""
    is_cached = caller.around.limits.is_cached
    return find_trouble(
        commit_waiting(caller.workspace, AFTER_TURN, with_view=is_cached, note=caller.note_trouble)
    )


# --- subagents ----------------------------------------------------------------------------------------


def end_subagent(caller: Caller, request: HostTurnRequest) -> "KeptResult | None":
    """Record what a subagent did, and save the result that it returned.

    Nothing is applied here: the agent of the session does that (R210).
    """
    account = find_hosted(caller)
    if account is None:
        return None
    kept = _take_result(caller, account, request)
    _look(caller, account, _open_source(caller, request))
    return kept


def _take_result(caller: Caller, account: Account, request: HostTurnRequest) -> "KeptResult | None":
    if not any(sign in request.message for sign in _RESULTS):
        return None
    from passdown.services.work.results import take_result  # few subagents return one

    try:
        return take_result(caller.workspace, account, request.message, request.subagent)
    except StorageError as found:  # the agent has seen the result, too
        caller.note_trouble(found.message)
        return None


# --- the transcript -----------------------------------------------------------------------------------


def _open_source(caller: Caller, request: HostTurnRequest) -> TranscriptSource | None:
    if not request.transcript:
        return None
    root = Path(caller.workspace.root)
    return open_source(root, Path(request.transcript), request.host, may_come=True)


def _look(caller: Caller, account: Account, source: TranscriptSource | None) -> _SeenTurn:
    """Record what is new in the transcript; if nothing was for five minutes, record a heartbeat."""
    seen = _observe(caller, account, source)
    if not is_heartbeat_due(caller.workspace, seen.account):
        return seen
    from passdown.services.sessions.sessions import touch  # most turns are in the transcript

    return replace(seen, account=touch(caller.workspace, seen.account))


def _observe(caller: Caller, account: Account, source: TranscriptSource | None) -> _SeenTurn:
    """Record what is new in the transcript, if there is one that can be read."""
    workspace = caller.workspace
    if source is None or not source.transcripts.size(source.path):  # it does not exist yet
        return _SeenTurn(account=account)
    judged = confirm(workspace, account, source)
    if any(one.state == CUT and not one.is_mail for one in judged):
        leave_notice(workspace, layout.session_file(caller.session))
    positions = [at for one in judged if one.state == WHOLE for at in one.messages]
    if positions:
        ask_engine(caller, lambda _: _acknowledge(caller, account, positions))
    found = observe(workspace, account, source, with_files=False)
    _record_metrics(caller, found.commands, found.work)
    if found.edited and account.reservations:
        ask_engine(caller, lambda coordination: _renew(caller, account, coordination, found.edited))
    return _SeenTurn(account=found.kept.account, signals=found.signals, work=found.work, is_observed=True)


def _acknowledge(caller: Caller, account: Account, positions: Sequence[int]) -> None:
    """Mark messages as read if the transcript shows the brief with them; others are sent again (C90)."""
    from passdown.services.coordination.addressed_handoffs import settle_told  # few sessions coordinate
    from passdown.services.coordination.mail import acknowledge

    checkouts = open_with_handoffs(caller.workspace, caller.around.limits)
    for trouble in settle_told(caller.workspace, account, checkouts, positions):
        caller.note_trouble(trouble)
    acknowledge(caller.workspace, account, positions)


def _renew(caller: Caller, account: Account, coordination: "Coordination", paths: Sequence[str]) -> None:
    """Renew the reservations of the files that the session edited (C80)."""
    from passdown.services.coordination.reservations import renew_edited  # few sessions coordinate

    renew_edited(caller.workspace, account, coordination, paths)


def _record_metrics(caller: Caller, commands: Sequence[str], work: "WorkNews | None") -> None:
    """Record finished phases, and the tracker commands that the agent ran by itself."""
    manual = [command for command in commands if _TRACKER in command]
    ended = work.ended if work else ()
    if manual or ended:
        from passdown.services.project.metrics import find_manual_metrics, make_phase_metrics

        found = [*find_manual_metrics(caller.workspace, manual), *make_phase_metrics(ended)]
        caller.workspace.record_metrics(found)


def _judge(caller: Caller, signals: "Sequence[Signal]") -> "Sequence[Signal]":
    """Store the signs that the session gets worse; return them if it just got worse."""
    from passdown.services.handover.degradation import note_signals  # most turns have no signs

    try:
        is_worse = note_signals(caller.workspace, layout.session_file(caller.session), signals)
    except StorageError as found:  # the facts of the turn are saved, and are published next
        caller.note_trouble(found.message)
        return ()
    return signals if is_worse else ()
