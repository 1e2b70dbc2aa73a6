"""Open loops, add turns and leave feedback (C105)."""

from collections.abc import Collection, Sequence
from typing import Annotated

from passdown import layout
from passdown.core.formats.change_states import (
    COMPLETE,
    PENDING,
    Lane,
    RunMode,
    parse_change_state,
    render_change_state,
    with_status,
)
from passdown.core.formats.loops import (
    MAX_BYTES,
    MAX_LINES,
    SUCCESS,
    Loop,
    Turn,
    has_room,
    parse_loop,
    render_feedback,
    render_loop,
    render_turn,
)
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.secrets import redact
from passdown.core.sessions.session_facts import Account
from passdown.core.work.loop_feedback import LoopFeedback, find_feedback, name_feedback, next_number, shorten
from passdown.core.work.loops import (
    AT_WORK_MARK,
    BEGINNINGS,
    DONE_MARK,
    LOOPS,
    PHASE_OF,
    ChangeFacts,
    ImplementationReport,
    LoopKind,
    LoopName,
    begin_state,
    find_refusal,
    judge_cycles,
    mark_task,
    parse_loop_name,
    refuse_other_way,
    render_report,
)
from passdown.errors import PassdownError, UsageError
from passdown.records import record, replace
from passdown.services.handover.deliveries import CUT
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.loop_feedback import read_loops, record_feedback
from passdown.services.work.changes import (
    find_settled,
    need_change,
    need_ledger,
    read_change,
    read_ledger,
    revise,
    revise_state,
)
from passdown.services.workspace.workspaces import Workspace


@record
class OpenRequest:
    """A request to open a loop."""

    change: Annotated[str, "The change."]
    loop: Annotated[str, "The loop, like `ideation` or `plan-01`."]
    lane: Annotated[Lane | None, "The lane of a new change; full if none is given."] = None
    mode: Annotated[RunMode | None, "The mode of a new change; manual if none is given."] = None
    is_forced: Annotated[bool, "Rewrite the tasks although some are in progress or done."] = False


@record
class OpenedLoop:
    """An opened loop."""

    path: Annotated[str, "Its ledger, from the root."]
    state_path: Annotated[str, "The state of its change."]
    facts: Annotated[ChangeFacts, "What exists of the change."]
    loop: Annotated[LoopName, "The loop."]
    turns: Annotated[int, "How many turns it has."]
    is_new: Annotated[bool, "Whether the change was created."]


@record
class TurnRequest:
    """A request to add a turn."""

    change: Annotated[str, "The change."]
    loop: Annotated[str, "The loop."]
    text: Annotated[str, "Its text."]
    answers: Annotated[tuple[str, ...], "Further feedback that it answers: turns or ids."] = ()
    cycles: Annotated[int, "How often the agent revised its work before."] = 0
    report: Annotated[ImplementationReport | None, "The report of an implementation."] = None
    escalation: Annotated[str, "What a person must decide."] = ""
    is_complete: Annotated[bool, "Whether it completes the reconciliation of the change."] = False


@record
class AddedTurn:
    """The added turn."""

    path: Annotated[str, "The ledger, from the root."]
    number: Annotated[int, "Its number."]
    answered: Annotated[tuple[LoopFeedback, ...], "The feedback that it answers."]
    left: Annotated[tuple[LoopFeedback, ...], "The feedback of this loop that is still unanswered."]
    advice: Annotated[str, "A note for the user about its cycles; empty if there is none."]


def need_loop(name: str) -> LoopName:
    """Return the loop of this name; raise a UsageError if there is no such loop."""
    loop = parse_loop_name(name)
    if loop is None:
        raise UsageError(f"there is no loop {name[:60]!r}", hint=f"the loops are {LOOPS}")
    return loop


# --- opening --------------------------------------------------------------------------------------


def open_loop(workspace: Workspace, request: OpenRequest) -> OpenedLoop:
    """Open a loop, create its change if needed, and set the phase of the change.

    Only ideation and proposal can start a change; a folder of ledgers without a state gets one. Raises a
    PassdownError, without changing anything, if the change is not ready for the loop.
    """
    loop = need_loop(request.loop)
    facts, name = read_change(workspace, request.change), request.change
    is_new = facts.state is None and not facts.loops
    if is_new and loop.kind not in BEGINNINGS:
        need_change(workspace, name)
    if is_new:
        _refuse_folder(workspace, facts)
    if facts.state is None:
        facts = replace(facts, state=begin_state(facts, request.lane, request.mode))
    refused = refuse_other_way(facts, request.lane, request.mode)
    refused = refused or find_refusal(loop, facts, is_forced=request.is_forced)
    if refused is not None:
        raise PassdownError(refused.problem, hint=refused.hint)
    paths = workspace.settings.paths
    state_path = revise_state(workspace, facts, lambda text: _with_phase(text, loop))
    if loop.kind is LoopKind.PLAN:
        tasks = layout.change_document(paths.loops, name, layout.CHANGE_TASKS)
        revise(workspace, tasks, lambda text: mark_task(text, loop.task, AT_WORK_MARK))

    def begin(content: bytes) -> bytes:
        return b"" if content.strip() else render_loop(Loop(title=loop.title)).encode()

    workspace.change_files.append(name, layout.loop_file(loop.text), begin)
    return OpenedLoop(
        path=_path(workspace, name, loop),
        state_path=state_path,
        facts=read_change(workspace, name),
        loop=loop,
        turns=len(read_ledger(workspace, name, loop.text).turns),
        is_new=is_new,
    )


def _refuse_folder(workspace: Workspace, facts: ChangeFacts) -> None:
    """Raise a PassdownError if the folder of a new change exists and is something else."""
    folder = layout.change_document(workspace.settings.paths.loops, facts.name, "").rstrip("/")
    if workspace.documents.exists(folder):
        hint = "choose another name, or move the folder"
        raise PassdownError(f"{folder} already exists and has no {layout.CHANGE_STATE}", hint=hint)


def _with_phase(text: str, loop: LoopName) -> str:
    state = parse_change_state(text)
    task = loop.task or state.current_task
    if state.is_reconciled and loop.kind is not LoopKind.RECONCILE:  # there is new work
        state = replace(state, reconcile=with_status(state.reconcile, PENDING))
    return render_change_state(replace(state, phase=PHASE_OF[loop.kind], current_task=task))


# --- turns ----------------------------------------------------------------------------------------


def append_turn(workspace: Workspace, account: Account, request: TurnRequest) -> AddedTurn:
    """Append a turn to a loop in one write; earlier turns stay unchanged (R155).

    It names the feedback that the session was shown or asks to answer, which is then answered. Raises a
    PassdownError if the agent revised its work too often in auto mode (R152).
    """
    loop = need_loop(request.loop)
    facts = need_ledger(workspace, request.change, loop.text)
    cycles = judge_cycles(loop, facts.mode, request.cycles)
    if cycles.is_refused and not request.escalation:
        hint = "accept the work as it is, or ask a person: add --escalate QUESTION"
        raise PassdownError(cycles.text, hint=hint)
    _need_room(_path(workspace, request.change, loop), b"", _encode(request.text))
    account = record_feedback(workspace, account, [request.change])
    settled = find_settled(workspace, account, [request.change])
    added = _write_turn(workspace, account, request, loop, settled)
    place = f"{request.change}/{loop.text} turn {added.number}"
    result = f": {request.report.result}" if request.report else ""
    said = [NewFact(FactKind.TURN, f"{place}{result}")]
    if request.escalation:
        said.append(NewFact(FactKind.QUESTION, f"{place}: {shorten(request.escalation.strip())}"))
    update_ledger(workspace, account, said)
    record_feedback(workspace, account, [request.change])
    _mark_progress(workspace, request, loop, facts)
    return replace(added, advice=cycles.text)


def _mark_progress(workspace: Workspace, request: TurnRequest, loop: LoopName, facts: ChangeFacts) -> None:
    """Mark an implemented task as done, or the change as reconciled."""
    changes = workspace.settings.paths.loops
    if request.report is not None and request.report.result == SUCCESS:
        path = layout.change_document(changes, request.change, layout.CHANGE_TASKS)
        if workspace.documents.exists(path):
            revise(workspace, path, lambda text: mark_task(text, loop.task, DONE_MARK))

    def reconcile(text: str) -> str:
        state = parse_change_state(text)
        return render_change_state(replace(state, reconcile=with_status(state.reconcile, COMPLETE)))

    if request.is_complete:
        revise_state(workspace, facts, reconcile)


def _write_turn(
    workspace: Workspace, account: Account, request: TurnRequest, loop: LoopName, settled: Collection[str]
) -> AddedTurn:
    name = f"{request.change}/{loop.text}"
    at = workspace.now()
    told = {one for sent in account.deliveries if sent.state != CUT for one in sent.feedback}
    path = _path(workspace, request.change, loop)
    found: list[AddedTurn] = []

    def make(content: bytes) -> bytes:
        text = content.decode("utf-8", "replace")
        ledger = parse_loop(text)
        unnamed = [item for item in find_feedback(name, ledger) if not item.is_named]
        waiting = [item for item in unnamed if item.text not in settled]
        answered = [
            item
            for item in unnamed
            if (item.id in told and item in waiting)
            or not {item.id, str(item.turn)}.isdisjoint(request.answers)
        ]
        number = next_number(ledger.turns)
        turn = Turn(number=number, at=at, agent=account.agent, text=_compose(request, answered))
        left = tuple(item for item in waiting if item not in answered)
        found.append(AddedTurn(path=path, number=number, answered=tuple(answered), left=left, advice=""))
        return _need_room(path, content, render_turn(text, turn).encode())

    workspace.change_files.append(request.change, layout.loop_file(loop.text), make)
    return found[-1]


def _path(workspace: Workspace, change: str, loop: LoopName) -> str:
    return layout.loop_ledger(workspace.settings.paths.loops, change, loop.text)


def _encode(text: str) -> bytes:
    """Return a text as UTF-8; invalid characters are escaped."""
    return text.encode("utf-8", "backslashreplace")


def _need_room(path: str, content: bytes, added: bytes) -> bytes:
    """Return the addition to a ledger; refuse it if the ledger would become too large to read."""
    if not has_room(content, added):
        problem = f"{path} would exceed {MAX_BYTES:,} bytes or {MAX_LINES:,} lines; nothing was added"
        raise PassdownError(problem, hint="put long texts into a separate file and name it in the turn")
    return added


def _compose(request: TurnRequest, answered: Sequence[LoopFeedback]) -> str:
    """Join the parts of a turn; secrets are redacted, since ledgers are shared."""
    parts = [
        name_feedback(answered),
        request.text.strip("\n"),
        render_report(request.report) if request.report else "",
        f"### Escalated\n\n{request.escalation.strip()}" if request.escalation else "",
    ]
    text = "\n\n".join(part for part in parts if part.strip()).replace("\r\n", "\n")
    return redact(_encode(text).decode()).text


# --- feedback -------------------------------------------------------------------------------------


def leave_feedback(workspace: Workspace, change: str, loop: str, text: str) -> LoopFeedback:
    """Add feedback to the last turn of a loop, as a person would in an editor.

    Until a session records it, the next start or loop command of a session does.
    """
    name = need_loop(loop)
    need_ledger(workspace, change, name.text)
    path = _path(workspace, change, name)
    data = _need_room(path, b"", _encode(text.strip()))
    said = redact(data.decode().replace("\r\n", "\n")).text

    def make(content: bytes) -> bytes:
        before = content.decode("utf-8", "replace")
        turns = parse_loop(before).turns
        if not turns:
            hint = "tell every session instead: `passdown tell TEXT`"
            raise UsageError(f"{change}/{name.text} has no turn yet", hint=hint)
        added = render_feedback(before, said)
        data = _need_room(path, content, added.encode())
        if parse_loop(before + added).turns[-1].feedback == turns[-1].feedback:  # blank, or only a comment
            raise UsageError("the feedback is empty", hint="say in a few words what the next turn should do")
        return data

    workspace.change_files.append(change, layout.loop_file(name.text), make)
    ledger = read_ledger(workspace, change, name.text)
    return [*find_feedback(f"{change}/{name.text}", ledger)][-1]


def find_ledger_of(workspace: Workspace, text: str) -> str:
    """Return the ledger that contains a feedback, by the text of its fact; empty if none here does."""
    items = {item.text: item for item in read_loops(workspace).items}
    found = items.get(text)
    if found is None:
        return ""
    change, _, loop = found.loop.partition("/")
    return layout.loop_ledger(workspace.settings.paths.loops, change, loop)
