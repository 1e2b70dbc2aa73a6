"""The quality gates of a track: list them, run one, record its result."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated

from passdown.actions.answers import HIDDEN, INLINE, SECONDS, describe
from passdown.actions.callers import Caller, find_shown, need_session, refuse_without_track
from passdown.actions.work.command_runs import RunRequest, ignore_run, need_agreed, run_lines
from passdown.actions.work.preflight import prepare_freely
from passdown.core.facts import GateStatus, Provenance
from passdown.core.sessions.session_facts import Account
from passdown.core.work.gates import QUESTIONS
from passdown.core.work.plan_commands import CommandLine
from passdown.records import record
from passdown.services.work import gates as services
from passdown.services.work.plan_commands import CommandRun


@record
class GateEntry:
    """A result of a gate."""

    status: Annotated[str, "Its result."]
    notes: Annotated[str | None, "What was found."]
    at: Annotated[datetime, "When.", SECONDS]
    agent: Annotated[str, "Who recorded it."]
    provenance: Annotated[Provenance, "Whether commands were run, or it is a manual review."]


@record
class ListedGate:
    """A gate of a track."""

    gate: Annotated[str, "Its name."]
    status: Annotated[str | None, "Its last result."]
    notes: Annotated[str | None, "What was found then."]
    due: Annotated[str | None, "Why it is due."]
    history: Annotated[Sequence[GateEntry], "Every result that the session knows, oldest first."]


@record
class GateList:
    """The gates of a track."""

    track: Annotated[str, "The track."]
    gates: Annotated[Sequence[ListedGate], "Its gates."]


@record
class GateCommand:
    """A command that verifies the plan."""

    command: Annotated[str, "The line."]
    refused: Annotated[str | None, "Why it is not run."]


@record
class GateDetails:
    """A gate, with the commands that it runs."""

    track: Annotated[str, "The track."]
    gate: Annotated[ListedGate, "The gate.", INLINE]
    commands: Annotated[Sequence[GateCommand], "The commands."]


@record
class GateRequest:
    """A gate to check."""

    gate: Annotated[str, "Its name."]
    only_warns: Annotated[bool, "Whether a failure is a warning."] = False
    skips_preflight: Annotated[bool, "Whether to skip the preflight."] = False
    agreed: Annotated[Sequence[str], "The commands that the user saw and agreed to."] = ()
    told: Annotated[Callable[[CommandRun], None], "Is called at once with each outcome."] = ignore_run


@record
class GateReview:
    """A manual review of a gate."""

    gate: Annotated[str, "Its name."]
    note: Annotated[str, "What was checked, or is wrong."]
    has_passed: Annotated[bool, "Whether it passes."]
    skips_preflight: Annotated[bool, "Whether to skip the preflight."] = False


@record
class EscalatedGate:
    """A gate that only a person can lift."""

    gate: Annotated[str, "Its name."]
    track: Annotated[str, "The track."]
    status: Annotated[str | None, "Its result: none yet."]
    question: Annotated[str, "What a person must decide."]


@record
class GatePlan:
    """The commands that a gate will run."""

    gate: Annotated[str, "Its name."]
    status: Annotated[str | None, "Its result: none yet."]
    commands: Annotated[Sequence[str], "The commands."]
    lines: Annotated[Sequence[CommandLine], "The commands, as they were parsed.", HIDDEN]


@record
class GateQuestion:
    """A gate that needs a manual review."""

    gate: Annotated[str, "Its name."]
    status: Annotated[str | None, "Its result: none yet."]
    asks: Annotated[str, "What to review."]
    left_out: Annotated[Sequence[str], "What was not checked."]


@record
class GateRun:
    """A command that a gate ran."""

    command: Annotated[str, "The line."]
    exit: Annotated[int | None, "Its exit code; null if it did not end by itself."]
    ended: Annotated[str, "How it ended, in words."]


@record
class GateOutcome:
    """The result of a gate."""

    gate: Annotated[str, "Its name."]
    track: Annotated[str, "The track."]
    status: Annotated[GateStatus, "Its result."]
    notes: Annotated[str | None, "What was found."]
    left_out: Annotated[Sequence[str], "What was not checked."]
    attempts: Annotated[int, "How often it failed in this session since it last passed."]
    question: Annotated[str | None, "What a person must decide now; null if nothing."]
    commands: Annotated[Sequence[GateRun], "The commands that were run."]
    stops: Annotated[bool, "Whether the work must stop.", HIDDEN]


# --- list ---------------------------------------------------------------------------------------------


def list_all(caller: Caller, _request: None = None) -> GateList:
    """List the gates of the track, their last results, and which of them are due."""
    account = _find_shown(caller)
    gates = [_describe(one) for one in services.list_gates(caller.workspace, account)]
    return GateList(track=account.track, gates=gates)


def show(caller: Caller, gate: str) -> GateDetails:
    """Show every result of a gate that the session knows, and the commands that it runs."""
    account = _find_shown(caller)
    services.need_gate(gate)
    state = next(one for one in services.list_gates(caller.workspace, account) if one.gate == gate)
    lines = services.find_commands(caller.workspace, account, gate)
    commands = [GateCommand(command=line.text, refused=line.refused or None) for line in lines]
    return GateDetails(track=account.track, gate=_describe(state), commands=commands)


def _find_shown(caller: Caller) -> Account:
    """Find the session whose gates are shown; without one, they are those of no track."""
    account = find_shown(caller)
    return services.learn_results(caller.workspace, account) if account else Account()


def _describe(state: services.GateState) -> ListedGate:
    result = state.result
    return describe(
        ListedGate,
        state,
        status=result.text if result else None,
        notes=result.because or None if result else None,
        history=[
            describe(GateEntry, one, status=one.text, notes=one.because or None) for one in state.history
        ],
    )


# --- run ----------------------------------------------------------------------------------------------


def plan(caller: Caller, request: GateRequest) -> GatePlan | EscalatedGate:
    """Return the commands that a gate will run."""
    account = _prepare(caller, is_skipped=request.skips_preflight)
    services.need_gate(request.gate)
    if escalated := _find_escalated(caller, account, request.gate):
        return escalated
    lines = services.find_commands(caller.workspace, account, request.gate)
    return GatePlan(gate=request.gate, status=None, commands=[line.text for line in lines], lines=lines)


def run(caller: Caller, request: GateRequest) -> GateOutcome | GateQuestion | EscalatedGate:
    """Run a gate: count open items, and run the commands that verify the plan."""
    workspace = caller.workspace
    account = _prepare(caller, is_skipped=request.skips_preflight)
    services.need_gate(request.gate)
    if escalated := _find_escalated(caller, account, request.gate):
        return escalated
    lines = services.find_commands(workspace, account, request.gate)
    need_agreed([line.text for line in lines], request.agreed)
    runs = run_lines(caller, RunRequest(lines=lines, told=request.told)) if lines else ()
    choice = services.choose_mode(workspace, only_warn=request.only_warns)
    verdict = services.check_gate(workspace, account, request.gate, choice, runs)
    left_out = tuple(services.find_left_out(workspace, request.gate))
    if verdict is None:
        asks = QUESTIONS[request.gate]
        return GateQuestion(gate=request.gate, status=None, asks=asks, left_out=left_out)
    judged = services.record_verdict(workspace, account, verdict._replace(left_out=left_out), runs)
    return describe_verdict(judged, runs)


def state(caller: Caller, request: GateReview) -> GateOutcome | EscalatedGate:
    """Record a manual review of a gate."""
    account = _prepare(caller, is_skipped=request.skips_preflight)
    services.need_gate(request.gate)
    choice = services.choose_mode(caller.workspace)
    verdict = services.state_word(request.gate, choice, request.note, passed=request.has_passed)
    if escalated := _find_escalated(caller, account, request.gate):
        return escalated
    return describe_verdict(services.record_verdict(caller.workspace, account, verdict))


def _prepare(caller: Caller, *, is_skipped: bool) -> Account:
    account = prepare_freely(caller, need_session(caller, refuse_without_track), is_skipped=is_skipped)
    return services.learn_results(caller.workspace, account)


def _find_escalated(caller: Caller, account: Account, gate: str) -> EscalatedGate | None:
    question = services.find_blocking(caller.workspace, account, gate)
    if not question:
        return None
    return EscalatedGate(gate=gate, track=account.track, status=None, question=question)


def describe_verdict(judged: services.JudgedGate, runs: Sequence[CommandRun] = ()) -> GateOutcome:
    """Return the result of a gate."""
    commands = [
        GateRun(command=one.line.text, exit=one.code if one.code >= 0 else None, ended=one.ended)
        for one in runs
    ]
    return describe(GateOutcome, judged.verdict, judged, track=judged.account.track, commands=commands)
