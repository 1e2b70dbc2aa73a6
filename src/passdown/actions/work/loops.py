"""Changes and their loops: turns of agents, with a person's feedback between them."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated

from passdown import layout
from passdown.actions.answers import HIDDEN, INLINE, OR_NULL, Form, describe, members
from passdown.actions.callers import Caller, find_author, find_speaker, is_person, need_author, need_person
from passdown.actions.work.preflight import prepare_freely
from passdown.core.formats.change_states import ChangePhase, Lane, RunMode
from passdown.core.formats.loops import Turn
from passdown.core.kinds import FactKind
from passdown.core.schemas import to_data
from passdown.core.work.loops import find_last
from passdown.records import record
from passdown.services.handover.briefs import read_brief_input
from passdown.services.handover.deliveries import note_shown_feedback
from passdown.services.sessions.loop_feedback import record_feedback
from passdown.services.work import loops
from passdown.services.work.changes import (
    ChangeSummary,
    LoopSummary,
    approve_change,
    finish_change,
    list_changes,
    need_change,
    need_ledger,
    summarize,
)
from passdown.services.work.loops import OpenRequest, TurnRequest, append_turn, need_loop


@record
class OpenedChange:
    """A loop that was opened."""

    change: Annotated[str, "The change."]
    loop: Annotated[str, "The loop."]
    path: Annotated[str, "Its ledger, from the root."]
    state: Annotated[str, "The state of the change, from the root."]
    phase: Annotated[ChangePhase, "The phase of the change."]
    lane: Annotated[Lane, "Its lane."]
    mode: Annotated[RunMode, "Its mode."]
    turns: Annotated[int, "How many turns the loop has."]
    is_new: Annotated[bool, "Whether the change was created."]


@record
class AppendRequest:
    """A turn to add to a loop."""

    turn: Annotated[TurnRequest, "The turn."]
    skips_preflight: Annotated[bool, "Whether to skip the preflight."] = False


@record
class FeedbackEntry:
    """Feedback in a ledger."""

    id: Annotated[str, "Its id."]
    turn: Annotated[int, "The turn that it is about."]
    text: Annotated[str, "What it says."]
    place: Annotated[str, "The loop and the turn, in words.", HIDDEN]


@record
class AppendedTurn:
    """A turn that was added."""

    path: Annotated[str, "The ledger, from the root."]
    turn: Annotated[int, "Its number."]
    answered: Annotated[Sequence[FeedbackEntry], "The feedback that it answers."]
    left: Annotated[Sequence[FeedbackEntry], "Feedback of this loop that is still open."]
    advice: Annotated[str | None, "What the user should know about its cycles."]


@record
class FeedbackRequest:
    """Feedback on the last turn of a loop."""

    change: Annotated[str, "The change."]
    loop: Annotated[str, "The loop."]
    text: Annotated[str, "What the next turn should do."]


@record
class ChangeEntry:
    """A change and its next step."""

    change: Annotated[str, "Its name."]
    phase: Annotated[ChangePhase, "Its phase."]
    lane: Annotated[Lane, "Its lane."]
    mode: Annotated[RunMode, "Its mode."]
    is_approved: Annotated[bool, "Whether a person approved its proposal."]
    task: Annotated[str | None, "The task in progress."]
    next_loop: Annotated[str | None, "The loop of its next step."]
    is_run: Annotated[bool, "Whether an agent can continue now."]
    goes_on: Annotated[bool, "Whether an agent continues with the next phase without asking."]
    advice: Annotated[str, "What to do next, in words."]
    loops: Annotated[Sequence[LoopSummary], "Its loops.", members(result=OR_NULL, last=HIDDEN)]


@record
class ChangeList:
    """Changes, the last changed first."""

    changes: Annotated[Sequence[ChangeEntry], "The changes."]


@record
class ChangeRequest:
    """A change to continue or finish."""

    change: Annotated[str, "Its name."]
    skips_preflight: Annotated[bool, "Whether to skip the preflight."] = False


@record
class ShownFeedback:
    """Open feedback."""

    id: Annotated[str, "Its id."]
    text: Annotated[str, "Its place and its text."]
    at: Annotated[datetime, "When it was left.", HIDDEN]


@record
class ContinuedChange:
    """The next step of a change, and its open feedback."""

    change: Annotated[ChangeEntry, "The change.", INLINE]
    last_turn: Annotated[Turn | None, "The last turn of the loop.", Form(to_data)]
    feedback: Annotated[Sequence[ShownFeedback], "The open feedback, oldest first."]
    path: Annotated[str, "The ledger of the loop.", HIDDEN]
    now: Annotated[datetime, "When it was shown.", HIDDEN]


@record
class ApprovedChange:
    """A change whose proposal is approved."""

    change: Annotated[str, "Its name."]
    is_approved: Annotated[bool, "Whether it is approved: yes."]
    state: Annotated[str, "The state of the change, from the root."]
    is_new: Annotated[bool, "Whether that changed now."]


@record
class FinishedChange:
    """A change that is finished."""

    change: Annotated[str, "Its name."]
    phase: Annotated[ChangePhase, "Its phase: finished."]
    state: Annotated[str, "The state of the change, from the root."]
    is_new: Annotated[bool, "Whether that changed now."]
    folder: Annotated[str, "The folder of its ledgers.", HIDDEN]


# --- turns and feedback -------------------------------------------------------------------------------


def open_loop(caller: Caller, request: OpenRequest) -> OpenedChange:
    """Open a loop of a change, or start a change."""
    opened = loops.open_loop(caller.workspace, request)
    account = find_author(caller)
    if account is not None:
        record_feedback(caller.workspace, account, [request.change])
    return describe(
        OpenedChange,
        opened,
        opened.facts,
        change=request.change,
        loop=request.loop,
        state=opened.state_path,
    )


def append(caller: Caller, request: AppendRequest) -> AppendedTurn:
    """Add a turn to a loop; it answers the feedback that the session was shown."""
    turn = request.turn
    need_ledger(caller.workspace, turn.change, need_loop(turn.loop).text)  # before a session is started
    account = prepare_freely(caller, need_author(caller), is_skipped=request.skips_preflight)
    added = append_turn(caller.workspace, account, turn)
    return describe(
        AppendedTurn,
        added,
        turn=added.number,
        answered=[describe(FeedbackEntry, one) for one in added.answered],
        left=[describe(FeedbackEntry, one) for one in added.left],
    )


def leave_feedback(caller: Caller, request: FeedbackRequest) -> FeedbackEntry:
    """Leave feedback on the last turn of a loop, under the person's name if a person calls."""
    left = loops.leave_feedback(caller.workspace, request.change, request.loop, request.text)
    account = need_author(caller) if is_person(caller) else find_author(caller)
    if account is not None:
        record_feedback(caller.workspace, account, [request.change], by_account=left.text)
    return describe(FeedbackEntry, left)


# --- changes ------------------------------------------------------------------------------------------


def status(caller: Caller, change: str) -> ChangeList:
    """List the changes, their loops, and open feedback; or only one change."""
    found = [summarize(caller.workspace, change)] if change else list_changes(caller.workspace)
    return ChangeList(changes=[_describe(one) for one in found])


def go_on(caller: Caller, request: ChangeRequest) -> ContinuedChange:
    """Show the next step of a change; the next turn of the session answers the feedback that it is shown."""
    workspace, name = caller.workspace, request.change
    found = summarize(workspace, name)
    account = find_speaker(caller)
    if account is None and any(one.waiting for one in found.loops):  # its next turn answers what it is shown
        account = need_author(caller)
    if account is not None:
        account = prepare_freely(caller, account, is_skipped=request.skips_preflight)
        account = record_feedback(workspace, account, [name])
    facts = [
        fact
        for fact in reversed(read_brief_input(workspace, account).of(FactKind.FEEDBACK))
        if fact.text.startswith(f"{name}/")
    ]
    if facts and account is not None:
        ids = [fact.id for fact in facts]
        caller.after.append(partial(note_shown_feedback, workspace, account, ids))
    last = _find_shown(found)
    return ContinuedChange(
        change=_describe(found),
        last_turn=last.last if last else None,
        feedback=[describe(ShownFeedback, fact) for fact in facts],
        path=last.path if last else "",
        now=workspace.now(),
    )


def _find_shown(found: ChangeSummary) -> LoopSummary | None:
    """Return the loop of a change's next step; if that is not open yet, its latest loop."""
    if found.route.loop is None:
        return None
    wanted = (found.route.loop, find_last(found.facts.loops))
    return next((one for name in wanted for one in found.loops if name and one.loop == name.text), None)


def approve(caller: Caller, change: str) -> ApprovedChange:
    """Approve the proposal of a change; only a person may do this, in every mode."""
    need_change(caller.workspace, change)
    hint = f"ask the user to run `passdown loop approve {change}`"
    need_person(caller, f"approve the proposal of {change}", hint=hint)
    is_new = approve_change(caller.workspace, change)
    state = layout.change_state(caller.workspace.settings.paths.loops, change)
    return ApprovedChange(change=change, is_approved=True, state=state, is_new=is_new)


def finish(caller: Caller, request: ChangeRequest) -> FinishedChange:
    """Finish a change: all tasks are done, it is reconciled, and it has no open feedback."""
    workspace, change = caller.workspace, request.change
    need_change(workspace, change)  # before a session is started for it
    account = prepare_freely(caller, need_author(caller), is_skipped=request.skips_preflight)
    is_new = finish_change(workspace, account, change)
    changes = workspace.settings.paths.loops
    return FinishedChange(
        change=change,
        phase=ChangePhase.FINISHED,
        state=layout.change_state(changes, change),
        is_new=is_new,
        folder=layout.change_document(changes, change, layout.LOOP_FOLDER),
    )


def _describe(found: ChangeSummary) -> ChangeEntry:
    facts, route = found.facts, found.route
    next_loop = route.loop.text if route.loop else None
    return describe(
        ChangeEntry,
        facts,
        route,
        change=facts.name,
        next_loop=next_loop,
        goes_on=found.goes_on,
        loops=found.loops,
    )
