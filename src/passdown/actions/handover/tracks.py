"""Bind a session to a track, unbind it, or finish the track."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from passdown.actions.answers import HIDDEN, NoticeKind, describe
from passdown.actions.callers import Caller, find_shown, need_session, refuse_without_track
from passdown.actions.handover.handoffs import CreatedHandoff, describe_written
from passdown.actions.work.gates import GateOutcome, describe_verdict
from passdown.actions.work.preflight import TrackRequest, choose_session, prepare_track, unlock_others
from passdown.core.coordination.leases import Held
from passdown.core.facts import GateStatus
from passdown.records import record, replace
from passdown.services.handover import tracks as services
from passdown.services.project.metrics import find_conflicts
from passdown.services.work.gates import judge_completion, needs_completion
from passdown.services.work.tdd import choose_cycle

if TYPE_CHECKING:  # few sessions find their track taken
    from passdown.services.work.preflight import PreflightStep

_COMPLETION: Final = "completion"


@record
class BindRequest:
    """What a session should work on."""

    track: Annotated[str, "The track; empty for that of the session."] = ""
    task: Annotated[str, "The task that it has claimed."] = ""
    choice: Annotated[str, "What to do if another session has the track: continue, wait or force."] = ""
    agent: Annotated[str, "The session that a person chose among several; empty if none."] = ""
    follows_tdd: Annotated[bool | None, "Whether to follow the test-first cycle; null as configured."] = None
    skips_preflight: Annotated[bool, "Whether to skip the preflight."] = False


@record
class UnbindRequest:
    """What a session no longer works on."""

    only_task: Annotated[bool, "Whether the track stays."] = False


@record
class FinishRequest:
    """How to finish a track."""

    keeps_ledger: Annotated[bool, "Whether the ledger stays where it is."] = False
    skips_gate: Annotated[bool, "Whether to skip the gate `completion`."] = False
    only_warns: Annotated[bool, "Whether a failed gate is only a warning."] = False


@record
class BoundTrack:
    """What a session works on now."""

    session: Annotated[str, "The session."]
    agent: Annotated[str, "The name of its agent."]
    track: Annotated[str | None, "Its track."]
    task: Annotated[str | None, "Its task."]
    before: Annotated[str | None, "The track that it worked on before."]
    handoff: Annotated[CreatedHandoff | None, "The handoff that was written when it left that track."]
    binding: Annotated[services.TrackBinding, "The session, with its facts.", HIDDEN]
    task_before: Annotated[str, "The task that it had before it was unbound.", HIDDEN]


@record
class HeldTrack:
    """A track that another session has."""

    held: Annotated[Held, "Who has it."]
    steps: Annotated["Sequence[PreflightStep]", "The other preflight steps, not reported yet.", HIDDEN]
    choices: Annotated[tuple[str, ...], "The choices to offer, if a person can be asked.", HIDDEN]


@record
class WaitingGate:
    """A gate that waits for a person."""

    gate: Annotated[str, "Its name."]
    status: Annotated[str | None, "Its result: none yet."] = None


@record
class TrackResult:
    """What the session of the caller works on."""

    session: Annotated[str | None, "The session; null if none is running."] = None
    track: Annotated[str | None, "Its track."] = None
    task: Annotated[str | None, "Its task."] = None
    document: Annotated[str | None, "The path of the stream document of the track."] = None


def bind(caller: Caller, request: BindRequest) -> BoundTrack | HeldTrack:
    """Work on a track, on a task, or both; a session locks its track."""
    workspace = caller.workspace
    account = need_session(choose_session(caller, request.agent))
    if not request.skips_preflight:
        wanted = TrackRequest(track=request.track.strip() or account.track, choice=request.choice)
        prepared = prepare_track(caller, account, wanted)
        if prepared.held:
            return HeldTrack(held=prepared.held, steps=prepared.steps, choices=prepared.choices)
        account = prepared.account
    if request.track:
        bound = services.bind_track(workspace, account, request.track)
    else:
        bound = services.TrackBinding(account=account, before=account.track)
    unlock_others(caller, bound.account)
    if request.task:
        bound = replace(bound, account=services.bind_task(workspace, bound.account, request.task))
    account, skipped = choose_cycle(workspace, bound.account, choice=request.follows_tdd)
    if skipped:
        caller.warn(skipped)
    if bound.before != account.track:
        conflicts = find_conflicts(workspace, account.session, account.track)
        workspace.record_metrics(conflicts)
        for one in conflicts:
            caller.note(NoticeKind.SAME_TRACK, agent=one.values["other_agent"], track=account.track)
    return _describe(replace(bound, account=account))


def unbind(caller: Caller, request: UnbindRequest) -> BoundTrack:
    """Unbind the track and the task, or only the task; the ledger stays."""
    account = need_session(caller)
    if request.only_task:
        bound = services.TrackBinding(
            account=services.bind_task(caller.workspace, account, ""), before=account.track
        )
    else:
        bound = services.unbind_track(caller.workspace, account)
    unlock_others(caller, bound.account)
    return _describe(bound, account.task)


def finish(caller: Caller, request: FinishRequest) -> BoundTrack | GateOutcome | WaitingGate:
    """Finish the track, unless its last gate stops that."""
    account = need_session(caller, refuse_without_track)
    if account.track and not request.skips_gate and needs_completion(caller.workspace, account):
        judged = judge_completion(caller.workspace, account, only_warn=request.only_warns)
        if judged is None:
            return WaitingGate(gate=_COMPLETION)
        if judged.verdict.stops:
            return describe_verdict(judged)
        word = "warning" if judged.verdict.status is GateStatus.WARN else "passed"
        text = f"{word}: {judged.verdict.notes}" if judged.verdict.notes else word
        caller.note(NoticeKind.STEP, step=_COMPLETION, text=text)
        account = judged.account
    bound = services.finish_track(caller.workspace, account, keep=request.keeps_ledger)
    unlock_others(caller, bound.account)
    return _describe(bound)


def show(caller: Caller, _request: None = None) -> TrackResult:
    """Show the track and the task of the session, and the document of the track."""
    account = find_shown(caller)
    if account is None:
        return TrackResult()
    listed = services.find_document(caller.workspace, account)
    return describe(TrackResult, account, document=listed.path if listed else None)


def _describe(bound: services.TrackBinding, task_before: str = "") -> BoundTrack:
    return describe(
        BoundTrack,
        bound.account,
        before=bound.before or None,
        handoff=describe_written(bound.handoff) if bound.handoff else None,
        binding=bound,
        task_before=task_before,
    )
