"""Hooks after work was done: they record it, and publish it when due."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from passdown import layout
from passdown.core.hosts.context_usage import ContextLevel, ContextReading
from passdown.core.hosts.hook_calls import HookPoint, HookReply
from passdown.core.sessions.session_facts import Account
from passdown.errors import CacheError, StorageError, UnreadError
from passdown.faces.hooks import hook_log, quick
from passdown.faces.hooks.hook_context import HookContext
from passdown.faces.hooks.views import update_outdated
from passdown.records import replace
from passdown.services.handover.context_usage import (
    find_level_in_transcript,
    note_level,
    read_level,
    thresholds_of,
)
from passdown.services.handover.deliveries import CUT, WHOLE, await_turn_end, confirm, leave_notice
from passdown.services.log.commit_marks import is_marked, mark_to_commit
from passdown.services.sessions.liveness import is_heartbeat_due
from passdown.services.sessions.observations import TranscriptSource, observe
from passdown.services.sessions.unpublished import is_due
from passdown.wiring.transcripts import open_source

if TYPE_CHECKING:
    from passdown.core.hosts.signals import Signal
    from passdown.core.project.metrics import Metric
    from passdown.core.work.observed_work import WorkNews
    from passdown.ports.coordination import Coordination

_NEARLY_FULL: Final = frozenset({ContextLevel.SAVE, ContextLevel.FORCE})
_TRACKER: Final = "bd "
_RESULTS: Final = ('"status"', '"beadUpdates"', '"bead_updates"')
"""Every result of a subagent contains one of these."""
_NOTICES: Final = MappingProxyType(
    {
        ContextLevel.SUGGEST: "Plan a handoff soon",
        ContextLevel.SAVE: "Everything is saved: hand off now",
        ContextLevel.FORCE: "Everything is saved: clear or compact now",
    }
)


def end_turn(context: HookContext) -> HookReply:
    """Record what the turn did, check that the brief arrived, and publish when due.

    From 70 % on, the document of the track follows each turn (R76). A nearly full context is a reason to
    publish, and a full one to notify the user (C38). The status line shows how full the context is; for a
    host without one, this hook says so once per level.
    """
    source = _open_source(context)
    account, signs = _look(context, context.find() or _start(context), source)
    _give_sign(context, account)
    reading, is_news = _read_level(context, source)
    level = reading.level if reading else ContextLevel.LOW
    if level is not ContextLevel.LOW:
        context.refresh_stream(account)
    if level in _NEARLY_FULL:
        _publish(context, account, "token-budget")
        _save_context(context, account)
    elif is_due(context.workspace, account.session, _interval(context)):
        _publish(context, account, "turn-end")
    said = [signs] if signs else []
    if account.results and not context.call.subagent:
        said.append("results of subagents wait to be applied: `passdown result apply`")
    if reading and (is_news or level is ContextLevel.FORCE):
        said.insert(0, f"the context is {reading.percent} % full. {_NOTICES[level]}")
    return HookReply(notice=f"Passdown: {'. '.join(said)}") if said else HookReply()


def _read_level(context: HookContext, source: TranscriptSource | None) -> tuple[ContextReading | None, bool]:
    """Return how full the context is, from the transcript or the status line, and whether to say so."""
    known = read_level(context.workspace, context.name)
    thresholds = thresholds_of(context.workspace.settings.context)
    told = find_level_in_transcript(source, thresholds, context.workspace.now()) if source else None
    if told is None:
        return known, False
    if known is not None and known.level is told.level:
        return told, False
    note_level(context.workspace, context.name, told)
    return told, told.level is not ContextLevel.LOW


def _start(context: HookContext) -> Account:
    """Start a session whose start the host did not report."""
    from passdown.services.sessions.sessions import (
        StartRequest,
        start_session,
    )  # the session is nearly always running

    request = StartRequest(host=context.host.name, host_session=context.call.session)
    return start_session(context.workspace, request).account


def save(context: HookContext) -> HookReply:
    """Record and publish everything: the host is about to compact the context."""
    account = context.find()
    if account is not None:
        _look(context, account, _open_source(context))
        _publish(context, account, "pre-compact")
        context.refresh_stream(account)
        _save_context(context, account)
        _count_compaction(context)
        if not context.host.calls_after_compaction:
            leave_notice(context.workspace, context.name)
    return HookReply()


def _save_context(context: HookContext, account: Account) -> None:
    """Write the anchored context, if the session said what has to be in it (C106)."""
    from passdown.services.work.session_contexts import save_if_complete  # a context is rarely nearly full

    if trouble := save_if_complete(context.workspace, account):
        context.note(trouble)


def end_subagent(context: HookContext) -> HookReply:
    """Record what a subagent did, and keep the result that it returned; its session's transcript leads to it.

    Nothing is applied here: that is for the agent of the session (R210).
    """
    account = context.find()
    if account is None:
        return HookReply()
    kept = _take_result(context, account)
    _look(context, account, _open_source(context))
    return HookReply(notice=kept)


def _take_result(context: HookContext, account: Account) -> str:
    """Keep the result of a subagent; return what the user should know about it."""
    call = context.call
    if not any(sign in call.message for sign in _RESULTS):
        return ""
    from passdown.core.hosts.kept_results import ResultState  # few subagents return one
    from passdown.services.work.results import take_result

    try:
        kept = take_result(context.workspace, account, call.message, call.subagent)
    except StorageError as found:  # the agent has the result before it, too
        context.note(found.message)
        return ""
    if kept is None or not kept.is_open:
        return ""
    if kept.state is ResultState.MALFORMED:
        return f"Passdown: a subagent returned a result that cannot be read: {'; '.join(kept.problems)}"
    return "Passdown: kept the result of a subagent; the agent applies it with `passdown result apply`"


def _interval(context: HookContext) -> timedelta:
    """Return how old the last event must be before the end of a turn publishes another (C57)."""
    return timedelta(minutes=context.workspace.settings.events.publish_minutes)


def _publish(context: HookContext, account: Account, reason: str) -> None:
    """Publish, or leave it to the next hook if another process is at it or not all events can be read now."""
    from passdown.services.sessions.publications import publish  # most turns publish nothing

    wanted = context.workspace.settings.commit
    if wanted.checkpoint or wanted.event:
        mark_to_commit(context.workspace)
    try:
        publish(context.workspace, account.session, kind="checkpoint", reason=reason)
    except StorageError as found:
        is_unread = isinstance(found, UnreadError)  # without the cache even less was read
        if isinstance(found, CacheError) and context.limits.is_cached and not is_unread:
            raise  # it can be done without the cache
        hook_log.log_trouble(str(context.root), f"{context.call.event}: {found.message}")


def follow_up(context: HookContext) -> str:
    """Update the view with what was published, and commit it if it is time.

    Either may be left over from an earlier turn. Returns what the user should know.
    """
    update_outdated(context)
    if not is_marked(context.workspace):
        return ""
    from passdown.services.sessions.owed_commits import AFTER_TURN, commit_waiting, find_trouble

    is_cached = context.limits.is_cached
    return find_trouble(commit_waiting(context.workspace, AFTER_TURN, with_view=is_cached, note=context.note))


def follow_save(context: HookContext) -> str:
    """Update the view with what was published; the end of the turn commits it."""
    update_outdated(context)
    return ""


def _open_source(context: HookContext) -> TranscriptSource | None:
    if not context.call.transcript:
        return None
    source = open_source(context.root, Path(context.call.transcript), context.host, may_come=True)
    if source is None or context.call.point is not HookPoint.TURN_END:
        return source
    return replace(source, said=context.call.message)


def _look(context: HookContext, account: Account, source: TranscriptSource | None) -> tuple[Account, str]:
    """Record what is new in the transcript, and give a sign of life if that said nothing for five minutes.

    Also returns what the user should know about it.
    """
    account, signs = _observe(context, account, source)
    if not is_heartbeat_due(context.workspace, account):
        return account, signs
    from passdown.services.sessions.sessions import touch  # most turns are in the transcript

    return touch(context.workspace, account), signs


def _observe(context: HookContext, account: Account, source: TranscriptSource | None) -> tuple[Account, str]:
    """Record what is new in the transcript, if there is one that can be read."""
    if source is None:
        return account, ""
    if context.call.point is HookPoint.TURN_END:
        await_turn_end(account, source)
    if not source.transcripts.size(source.path):  # it does not exist yet
        return account, ""
    judged = confirm(context.workspace, account, source)
    if any(one.state == CUT and not one.is_mail for one in judged):
        leave_notice(context.workspace, context.name)
    _acknowledge(context, account, [at for one in judged if one.state == WHOLE for at in one.messages])
    found = observe(context.workspace, account, source, with_files=False)
    _record_manual(context, found.commands)
    if found.work is not None:
        hook_log.log_metrics(str(context.root), _phase_metrics(found.work))
    if found.edited and account.reservations:
        _renew(context, account, found.edited)
    said = [_judge(context, found.signals), *_say_work(found.work)]
    return found.kept.account, ". ".join(filter(None, said))


def _phase_metrics(work: "WorkNews") -> "Sequence[Metric]":
    if not work.ended:
        return ()
    from passdown.services.project.metrics import make_phase_metrics  # few turns end a phase

    return make_phase_metrics(work.ended)


def _say_work(work: "WorkNews | None") -> Iterator[str]:
    """Say which gates became due, and what is wrong with the order of test-first phases."""
    if work is None:
        return
    for gate in work.due:
        yield f"the gate {gate.key} is due ({gate.because}): run `passdown gate run {gate.key}`"
    warnings = [change.warning for change in work.changes if change.warning]
    if warnings:
        yield f"test-first order: {warnings[-1]}"


def _acknowledge(context: HookContext, account: Account, positions: Sequence[int]) -> None:
    """Mark messages as read that a brief told and the transcript shows; others are told again (C90)."""

    def act(_: "Coordination") -> None:
        from passdown.services.coordination.addressed_handoffs import settle_told  # few sessions coordinate
        from passdown.services.coordination.mail import acknowledge
        from passdown.wiring.workspaces import open_with_handoffs

        checkouts = open_with_handoffs(context.workspace, context.limits)
        for trouble in settle_told(context.workspace, account, checkouts, positions):
            context.note(trouble)
        acknowledge(context.workspace, account, positions)

    if positions:
        context.ask_engine(act)


def _give_sign(context: HookContext, account: Account) -> None:
    """Show the other sessions that this one is alive, if they coordinate here (C80)."""

    def act(_: "Coordination") -> None:
        from passdown.services.coordination.membership import join_project  # few sessions coordinate

        join_project(context.workspace, account, is_alone=True)

    context.ask_engine(act)


def _renew(context: HookContext, account: Account, paths: Sequence[str]) -> None:
    """Use the reservations of files again that the session edited (C80)."""

    def act(coordination: "Coordination") -> None:
        from passdown.services.coordination.reservations import renew_edited  # few sessions coordinate

        renew_edited(context.workspace, account, coordination, paths)

    context.ask_engine(act)


def _record_manual(context: HookContext, commands: Sequence[str]) -> None:
    """Record commands of the tracker that the agent ran by itself; few turns have any."""
    manual = [command for command in commands if _TRACKER in command]
    if manual:
        from passdown.services.project.metrics import find_manual_metrics

        hook_log.log_metrics(str(context.root), find_manual_metrics(context.workspace, manual))


def _judge(context: HookContext, signals: "Sequence[Signal]") -> str:
    """Store the signs of a turn that the session gets worse; return what to say when it just did."""
    if context.call.point is not HookPoint.TURN_END or not (signals or _has_signs(context)):
        return ""
    from passdown.services.handover.degradation import note_signals  # most turns have no signs

    try:
        if not note_signals(context.workspace, context.name, signals):
            return ""
    except StorageError as found:  # the facts of the turn are safe, and are published next
        context.note(found.message)
        return ""
    first: dict[str, str] = {}
    for one in signals:
        first.setdefault(one.kind, one.text)
    return f"this session seems to get worse: {'; '.join(first.values())}. Save, then clear or compact"


def _has_signs(context: HookContext) -> bool:
    return quick.has_file(str(context.root), layout.SIGNALS, context.call.session)


def _count_compaction(context: HookContext) -> None:
    from passdown.services.handover.degradation import note_compaction  # compactions are rare

    try:
        note_compaction(context.workspace, context.name)
    except StorageError as found:  # everything that matters is saved
        context.note(found.message)
