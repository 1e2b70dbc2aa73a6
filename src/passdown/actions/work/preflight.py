"""Check that nothing blocks a session before it works; other actions do this once (C107)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

from passdown.actions.answers import HIDDEN, NoticeKind
from passdown.actions.callers import Caller, find_person, find_ready, find_shown, need_person, need_session
from passdown.core.coordination.handoff_rules import HandoffState
from passdown.core.coordination.leases import Held
from passdown.core.sessions.session_facts import Account
from passdown.errors import PassdownError, TrackerMissingError, UsageError
from passdown.records import record, replace
from passdown.services.sessions.liveness import list_here
from passdown.wiring.workspaces import open_with_handoffs

if TYPE_CHECKING:  # a session needs the rest once
    from passdown.services.coordination.track_locks import LockChoice
    from passdown.services.work.preflight import PreflightReport, PreflightRequest, PreflightStep


@record
class TrackRequest:
    """The track that a session should work on."""

    track: Annotated[str, "The track; empty for that of the session."] = ""
    choice: Annotated[str, "What to do if another session has it: continue, wait or force."] = ""
    agent: Annotated[str, "The session that a person chose among several; empty if none."] = ""


@record
class PreflightResult:
    """The outcome of a preflight."""

    session: Annotated[str | None, "The session; null if none is running."]
    agent: Annotated[str | None, "The name of its agent."]
    mode: Annotated[str, "SA if it works alone, MA if several do."]
    steps: Annotated["Sequence[PreflightStep]", "The outcome of each step, in order."]
    held: Annotated[Held | None, "Who has the track, if the session did not get it."]
    choices: Annotated[tuple[str, ...], "The choices to offer, if a person can be asked.", HIDDEN]


class PreparedTrack(NamedTuple):
    """A session that will be bound to a track."""

    account: Account
    held: Held | None = None
    """Who has the track, if it cannot be bound."""
    steps: "Sequence[PreflightStep]" = ()
    choices: tuple[str, ...] = ()
    """The choices to offer, if a person can be asked; the steps are then not reported yet."""


@record
class LockedTrack:
    """The outcome of locking a track."""

    step: Annotated["PreflightStep", "The step to report."]
    held: Annotated[Held | None, "Who has the track, if the session did not get it."]


def preflight(caller: Caller, request: TrackRequest) -> PreflightResult:
    """Run the preflight of a session; without one, only look: nothing is locked or changed."""
    from passdown.services.work.preflight import look_ahead, run_preflight

    chosen = choose_session(caller, request.agent)
    account = find_ready(chosen) if request.choice else find_shown(chosen)
    if account is None and request.choice:
        raise UsageError(
            "no session is running here, so no track can be locked", hint="run `passdown start` first"
        )
    wanted = _read_request(caller, account or Account(), request)
    if account is None:
        report = look_ahead(caller.workspace, wanted)
    else:
        report = run_preflight(caller.workspace, account, wanted)
    return PreflightResult(
        session=report.account.session or None,
        agent=report.account.agent or None,
        mode=report.account.start.mode,
        steps=report.steps,
        held=report.held,
        choices=_list_choices(caller, report.held, request.choice) if account else (),
    )


def choose_session(caller: Caller, agent: str) -> Caller:
    """Return the caller with the session that a person chose, if one was chosen."""
    return replace(caller, session=agent) if agent else caller


def list_agents(caller: Caller, _request: None = None) -> Sequence[str]:
    """Return the sessions here that a person may choose from; none if the caller is no person."""
    return sorted(one.agent for one in list_here(caller.workspace)) if find_person(caller).is_person else ()


def _list_choices(caller: Caller, held: Held | None, choice: str) -> tuple[str, ...]:
    """Return the choices about a track that another session has; none if no person can be asked."""
    if held is None or choice or not caller.around.has_terminal():
        return ()
    from passdown.services.coordination.track_locks import LockChoice

    may_force = find_person(caller).is_person
    return tuple(one.value for one in LockChoice if may_force or one is not LockChoice.FORCE)


def lock(caller: Caller, request: TrackRequest) -> LockedTrack:
    """Lock the track of a session, as a preflight does."""
    from passdown.services.work.preflight import PreflightRequest, check_lock

    wanted = PreflightRequest(request.track, _read_choice(caller, request.choice))
    account = need_session(choose_session(caller, request.agent))
    step, held = check_lock(caller.workspace, account, wanted)
    return LockedTrack(step=step, held=held)


def prepare(caller: Caller, account: Account, *, is_skipped: bool) -> Account:
    """Run the preflight once per session, for an action that calls the tracker itself.

    Only blocking steps are reported; the action itself reports a failing tracker. A track that another
    session has does not stop it.
    """
    if is_skipped or account.is_prepared:
        return account
    report = _run(caller, account)
    _note_steps(caller, [one for one in report.steps if not one.is_failed])
    return report.account


def prepare_freely(caller: Caller, account: Account, *, is_skipped: bool) -> Account:
    """Run the preflight of an action that needs no tracker: nothing stops it (R21)."""
    if is_skipped or account.is_prepared:
        return account
    try:
        report = _run(caller, account)
    except TrackerMissingError as found:
        caller.note(NoticeKind.STEP, step="tracker", text=found.message)
        return account
    _note_steps(caller, report.steps)
    return report.account


def prepare_track(caller: Caller, account: Account, request: TrackRequest) -> PreparedTrack:
    """Run the preflight for a track to bind, or only lock the track if the preflight ran before."""
    from passdown.services.work.preflight import PreflightRequest, check_lock

    if account.is_prepared and request.track == account.track:
        return PreparedTrack(account)
    if not account.is_prepared:
        try:
            report = _run(caller, account, request)
        except TrackerMissingError as found:
            caller.note(NoticeKind.STEP, step="tracker", text=found.message)
        else:
            return _tell(caller, PreparedTrack(report.account, report.held, report.steps), request)
    wanted = PreflightRequest(request.track, _read_choice(caller, request.choice))
    step, held = check_lock(caller.workspace, account, wanted)
    return _tell(caller, PreparedTrack(account, held, (step,)), request)


def _tell(caller: Caller, found: PreparedTrack, request: TrackRequest) -> PreparedTrack:
    """Report what blocks the caller, unless a person is asked about it first."""
    choices = _list_choices(caller, found.held, request.choice)
    if not choices:
        _note_steps(caller, found.steps)
    return found._replace(choices=choices)


def unlock_others(caller: Caller, account: Account) -> None:
    """Release the locks of tracks that a session no longer works on; a failure is a warning (R21)."""
    from passdown.services.coordination.track_locks import unlock_tracks

    try:
        unlock_tracks(caller.workspace, account, but=account.track)
    except PassdownError as found:
        caller.note(NoticeKind.STEP, step="lock", text=found.message)


def _run(caller: Caller, account: Account, request: TrackRequest | None = None) -> "PreflightReport":
    from passdown.services.work.preflight import run_preflight

    wanted = _read_request(caller, account, request or TrackRequest())
    return run_preflight(caller.workspace, account, wanted)


def _read_request(caller: Caller, account: Account, request: TrackRequest) -> "PreflightRequest":
    """Return the request for the service, with the handoffs that others have not read for long."""
    from passdown.services.coordination.addressed_handoffs import find_handoffs
    from passdown.services.work.preflight import PreflightRequest

    choice = _read_choice(caller, request.choice)
    checkouts = open_with_handoffs(caller.workspace)
    late = tuple(find_handoffs(caller.workspace, account, checkouts, HandoffState.LATE))
    return PreflightRequest(request.track, choice, late)


def _read_choice(caller: Caller, choice: str) -> "LockChoice | None":
    """Return what to do about a track that another session has; only a person may force it."""
    if not choice:
        return None
    from passdown.services.coordination.track_locks import LockChoice

    if choice == LockChoice.FORCE.value:
        hint = "wait for it with --wait, or work beside it with --continue"
        need_person(caller, "take a track from a session that is alive", hint=hint)
    return LockChoice(choice)


def _note_steps(caller: Caller, steps: "Sequence[PreflightStep]") -> None:
    """Report what blocks the caller, each text once."""
    notable = {one.text: one for one in reversed(steps) if one.is_notable}
    for one in reversed(notable.values()):
        caller.note(NoticeKind.STEP, step=one.step, text=one.text)
