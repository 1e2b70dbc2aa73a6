"""Open loops, add turns, leave feedback, and go on with a change (C105)."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Annotated, Final

from passdown import layout
from passdown.core.documents.conflicts import refuse_conflict
from passdown.core.formats.change_states import (
    COMPLETE,
    PENDING,
    ChangePhase,
    ChangeState,
    Lane,
    RunMode,
    make_change_state,
    parse_change_state,
    render_change_state,
    with_status,
)
from passdown.core.formats.loops import (
    Loop,
    Turn,
    parse_loop,
    read_result,
    render_feedback,
    render_loop,
    render_turn,
)
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.secrets import redact
from passdown.core.sessions.session_facts import Account
from passdown.core.work.loop_feedback import (
    LoopFeedback,
    find_feedback,
    name_feedback,
    next_number,
    place_of,
    shorten,
)
from passdown.core.work.loops import (
    AT_WORK_MARK,
    DONE_MARK,
    LOOPS,
    PHASE_OF,
    ChangeFacts,
    ImplementationReport,
    LoopKind,
    LoopName,
    LoopRoute,
    find_finish_refusal,
    find_refusal,
    find_route,
    is_change_name,
    judge_cycles,
    mark_task,
    may_go_on,
    parse_loop_name,
    parse_tasks,
    refuse_other_way,
    render_report,
)
from passdown.errors import FormatError, PassdownError, StorageError, UsageError
from passdown.records import record, replace
from passdown.services.handover.briefs import read_brief_input
from passdown.services.handover.deliveries import CUT
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.loop_feedback import read_loops, take_in_feedback
from passdown.services.workspace.workspaces import Workspace

_ROUNDS: Final = 5


@record
class OpenRequest:
    """Which loop to open."""

    change: Annotated[str, "The change."]
    loop: Annotated[str, "The loop, like `ideation` or `plan-01`."]
    lane: Annotated[Lane | None, "The lane of a new change; full, if nobody says."] = None
    mode: Annotated[RunMode | None, "The mode of a new change; manual, if nobody says."] = None
    is_forced: Annotated[bool, "Write the tasks anew although some are at work or done."] = False


@record
class OpenedLoop:
    """A loop that can go on."""

    path: Annotated[str, "Its ledger, from the root."]
    state_path: Annotated[str, "The state of its change."]
    facts: Annotated[ChangeFacts, "What is there of the change."]
    loop: Annotated[LoopName, "The loop."]
    turns: Annotated[int, "How many turns it has."]
    is_new: Annotated[bool, "Whether the change was created."]


@record
class TurnRequest:
    """A turn to add."""

    change: Annotated[str, "The change."]
    loop: Annotated[str, "The loop."]
    text: Annotated[str, "What it says."]
    answers: Annotated[tuple[str, ...], "Further feedback that it answers: turns or ids."] = ()
    cycles: Annotated[int, "How often the agent revised its work before."] = 0
    report: Annotated[ImplementationReport | None, "What an implementation tells."] = None
    escalation: Annotated[str, "What a person must decide."] = ""
    is_complete: Annotated[bool, "Whether the change is reconciled with it."] = False


@record
class AddedTurn:
    """A turn that was added."""

    path: Annotated[str, "The ledger, from the root."]
    number: Annotated[int, "Its number."]
    answered: Annotated[tuple[LoopFeedback, ...], "The feedback that it names."]
    left: Annotated[tuple[LoopFeedback, ...], "Feedback of this loop that still waits."]
    advice: Annotated[str, "What the user should know about its cycles; empty if nothing."]


@record
class LoopSummary:
    """A loop, in short."""

    loop: Annotated[str, "Its name."]
    path: Annotated[str, "Its ledger, from the root."]
    turns: Annotated[int, "How many turns it has."]
    waiting: Annotated[int, "How much feedback waits in it."]
    result: Annotated[str, "How the last implementation ended; empty for other loops."]
    last: Annotated[Turn | None, "Its last turn."] = None
    last_at: Annotated[datetime | None, "When that was added."] = None


@record
class ChangeSummary:
    """A change, and where it goes on."""

    facts: Annotated[ChangeFacts, "What is there of it."]
    route: Annotated[LoopRoute, "Where it goes on."]
    goes_on: Annotated[bool, "Whether an agent goes on to the next phase without asking."]
    loops: Annotated[tuple[LoopSummary, ...], "Its loops."]
    changed: Annotated[int, "When anything of it last changed."]


# --- reading --------------------------------------------------------------------------------------


def read_change(workspace: Workspace, name: str) -> ChangeFacts:
    """Return what is there of a change; raise a FormatError if its state cannot be read."""
    _require_change(name)
    files, documents = workspace.change_files.files(name), workspace.documents
    changes = workspace.settings.paths.loops
    specs = layout.change_paper(changes, name, layout.CHANGE_SPECS)
    plans = layout.change_paper(changes, name, layout.CHANGE_PLANS)
    return ChangeFacts(
        name=name,
        state=_read_state(workspace, name) if layout.CHANGE_STATE in files else None,
        has_seed=documents.exists(layout.change_paper(changes, name, layout.CHANGE_SEED)),
        has_specs=any(documents.list(specs)),
        tasks=parse_tasks(_read_tasks(workspace, name)),
        plans=frozenset(path.rpartition("/")[2].removesuffix(".md") for path in documents.list(plans)),
        loops=frozenset(loop for path in files if (loop := layout.loop_of(path))),
    )


def _require_change(name: str) -> None:
    if not is_change_name(name):
        hint = "use kebab case without separators, like habit-tracker"
        raise UsageError(f"{name[:60]!r} cannot be the name of a change", hint=hint)


def _need_loop(name: str) -> LoopName:
    loop = parse_loop_name(name)
    if loop is None:
        raise UsageError(f"there is no loop {name[:60]!r}", hint=f"the loops are {LOOPS}")
    return loop


def _read_state(workspace: Workspace, name: str) -> ChangeState:
    data = workspace.change_files.read(name, layout.CHANGE_STATE) or b""
    text = data.decode("utf-8", "replace")
    refuse_conflict(layout.change_state(workspace.settings.paths.loops, name), text)
    return parse_change_state(text)


def _read_tasks(workspace: Workspace, name: str) -> str:
    path = layout.change_paper(workspace.settings.paths.loops, name, layout.CHANGE_TASKS)
    if not workspace.documents.exists(path):
        return ""
    return workspace.documents.read(path).decode("utf-8", "replace")


def read_ledger(workspace: Workspace, change: str, loop: str) -> Loop:
    """Read the ledger of a loop; one that is not there is empty."""
    data = workspace.change_files.read(change, _ledger_name(loop)) or b""
    return parse_loop(data.decode("utf-8", "replace"))


def _ledger_name(loop: str) -> str:
    return layout.loop_ledger("", "", loop).removeprefix("//")


def summarize(workspace: Workspace, name: str) -> ChangeSummary:
    """Return a change with its loops, and where it goes on; raise a UsageError if there is no such change."""
    facts = read_change(workspace, name)
    if facts.state is None and not facts.loops:
        known = ", ".join(_list_names(workspace))
        hint = f"the changes are {known}" if known else "begin one: `passdown loop open CHANGE ideation`"
        raise UsageError(f"there is no change {name}", hint=hint)
    marks = workspace.change_files.files(name)
    return ChangeSummary(
        facts=facts,
        route=find_route(facts),
        goes_on=may_go_on(facts),
        loops=tuple(_summarize_loop(workspace, name, loop) for loop in sorted(facts.loops)),
        changed=max((mark.changed for mark in marks.values()), default=0),
    )


def _summarize_loop(workspace: Workspace, change: str, loop: str) -> LoopSummary:
    ledger = read_ledger(workspace, change, loop)
    last = ledger.turns[-1] if ledger.turns else None
    return LoopSummary(
        loop=loop,
        path=layout.loop_ledger(workspace.settings.paths.loops, change, loop),
        turns=len(ledger.turns),
        waiting=sum(not item.is_named for item in find_feedback(f"{change}/{loop}", ledger)),
        result=read_result(last) if last else "",
        last=last,
        last_at=last.at if last else None,
    )


def list_changes(workspace: Workspace) -> Sequence[ChangeSummary]:
    """Return every change, the one that changed last first; folders without a state or a ledger are none."""
    found = [summarize(workspace, name) for name in _list_names(workspace)]
    return sorted(found, key=lambda one: (-one.changed, one.facts.name))


def _list_names(workspace: Workspace) -> Sequence[str]:
    files = workspace.change_files
    return [name for name in files.changes() if is_change_name(name) and files.files(name)]


# --- opening --------------------------------------------------------------------------------------


def open_loop(workspace: Workspace, request: OpenRequest) -> OpenedLoop:
    """Open a loop, and its change if there is none; set the phase of the change.

    Raises a PassdownError if the change is not as far as the loop needs it; nothing is changed then.
    """
    loop = _need_loop(request.loop)
    facts, name = read_change(workspace, request.change), request.change
    is_new = facts.state is None
    if facts.state is None:
        _refuse_folder(workspace, facts)
        lane, mode = request.lane or Lane.FULL, request.mode or RunMode.MANUAL
        facts = replace(facts, state=make_change_state(name, lane, mode))
    refused = refuse_other_way(facts, request.lane, request.mode)
    refused = refused or find_refusal(loop, facts, is_forced=request.is_forced)
    if refused is not None:
        raise PassdownError(refused.problem, hint=refused.hint)
    paths = workspace.settings.paths
    state_path = layout.change_state(paths.loops, name)
    if is_new and facts.state is not None:
        workspace.documents.create(state_path, render_change_state(facts.state).encode())
    _revise(workspace, state_path, lambda text: _with_phase(text, loop))
    if loop.kind is LoopKind.PLAN:
        tasks = layout.change_paper(paths.loops, name, layout.CHANGE_TASKS)
        _revise(workspace, tasks, lambda text: mark_task(text, loop.task, AT_WORK_MARK))

    def begin(content: bytes) -> bytes:
        return b"" if content.strip() else render_loop(Loop(title=loop.title)).encode()

    workspace.change_files.append(name, _ledger_name(loop.text), begin)
    return OpenedLoop(
        path=layout.loop_ledger(paths.loops, name, loop.text),
        state_path=state_path,
        facts=read_change(workspace, name),
        loop=loop,
        turns=len(read_ledger(workspace, name, loop.text).turns),
        is_new=is_new,
    )


def _refuse_folder(workspace: Workspace, facts: ChangeFacts) -> None:
    """Refuse to begin a change in a folder that is something else."""
    folder = layout.change_paper(workspace.settings.paths.loops, facts.name, "").rstrip("/")
    if not facts.loops and workspace.documents.exists(folder):
        hint = "choose another name, or move the folder away"
        raise PassdownError(f"{folder} is there, and has no {layout.CHANGE_STATE}", hint=hint)


def _with_phase(text: str, loop: LoopName) -> str:
    state = parse_change_state(text)
    task = loop.task or state.current_task
    if state.is_reconciled and loop.kind is not LoopKind.RECONCILE:  # more is done now
        state = replace(state, reconcile=with_status(state.reconcile, PENDING))
    return render_change_state(replace(state, phase=PHASE_OF[loop.kind], current_task=task))


def _revise(workspace: Workspace, path: str, revise: Callable[[str], str]) -> None:
    """Revise a file that people edit; what somebody writes at that moment is revised instead of lost."""
    documents = workspace.documents
    data = documents.read(path, settled=True)
    for _ in range(_ROUNDS):
        revised = revise(_decode(path, data)).encode()
        if revised != data:
            documents.replace(path, revised, expected=data)
        displaced = documents.displaced(path)
        if not displaced:
            return
        data = displaced[-1]
        documents.replace(path, data)
        documents.displaced(path, displaced)
    raise StorageError(f"{path} is being edited", hint="run the command again")


def _decode(path: str, data: bytes) -> str:
    """Return the text of a file that is about to be revised; raise a FormatError if that would lose bytes."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError(f"{path} is not UTF-8 text", hint="save it as UTF-8") from None
    refuse_conflict(path, text)
    return text


# --- turns ----------------------------------------------------------------------------------------


def append_turn(workspace: Workspace, account: Account, request: TurnRequest) -> AddedTurn:
    """Add a turn to a loop, in one write at its end; earlier turns stay as they are (R155).

    It names the feedback that the session was shown, and what is asked for; that feedback is answered then.
    Raises a PassdownError if the agent revised its work too often in auto mode (R152).
    """
    loop = _need_loop(request.loop)
    facts = read_change(workspace, request.change)
    if loop.text not in facts.loops:
        hint = f"open it: `passdown loop open {request.change} {loop.text}`"
        raise UsageError(f"{request.change} has no loop {loop.text}", hint=hint)
    advice = _judge_cycles(loop, facts.mode, request)
    account = take_in_feedback(workspace, account, [request.change])
    told = {one for sent in account.deliveries if sent.state != CUT for one in sent.feedback}
    added = _write_turn(workspace, account, request, loop, {*told, *request.answers})
    said = [NewFact(FactKind.TURN, _show_turn(request, loop, added.number))]
    if request.escalation:
        place = f"{request.change}/{loop.text} turn {added.number}"
        said.append(NewFact(FactKind.QUESTION, f"{place}: {shorten(request.escalation.strip())}"))
    update_ledger(workspace, account, said)
    take_in_feedback(workspace, account, [request.change])
    _mark_progress(workspace, request, loop)
    return replace(added, advice=advice)


_DONE: Final = "SUCCESS"


def _mark_progress(workspace: Workspace, request: TurnRequest, loop: LoopName) -> None:
    """Mark a task that is implemented as done, or the change as reconciled."""
    changes = workspace.settings.paths.loops
    if request.report is not None and request.report.result == _DONE:
        path = layout.change_paper(changes, request.change, layout.CHANGE_TASKS)
        if workspace.documents.exists(path):
            _revise(workspace, path, lambda text: mark_task(text, loop.task, DONE_MARK))
    if request.is_complete:
        _revise(workspace, layout.change_state(changes, request.change), _with_reconciled)


def _with_reconciled(text: str) -> str:
    state = parse_change_state(text)
    return render_change_state(replace(state, reconcile=with_status(state.reconcile, COMPLETE)))


def _judge_cycles(loop: LoopName, mode: RunMode, request: TurnRequest) -> str:
    verdict = judge_cycles(loop, mode, request.cycles)
    if verdict.is_refused and not request.escalation:
        hint = "accept the work as it is, or ask a person: append the turn with --escalate QUESTION"
        raise PassdownError(verdict.text, hint=hint)
    return verdict.text


def _show_turn(request: TurnRequest, loop: LoopName, number: int) -> str:
    result = f": {request.report.result}" if request.report else ""
    return f"{request.change}/{loop.text} turn {number}{result}"


def _write_turn(
    workspace: Workspace, account: Account, request: TurnRequest, loop: LoopName, told: Collection[str]
) -> AddedTurn:
    name = f"{request.change}/{loop.text}"
    at = workspace.now()
    found: list[AddedTurn] = []

    def make(content: bytes) -> bytes:
        text = content.decode("utf-8", "replace")
        ledger = parse_loop(text)
        waiting = [item for item in find_feedback(name, ledger) if not item.is_named]
        answered = [item for item in waiting if item.id in told or str(item.turn) in told]
        turn = Turn(
            number=next_number(ledger.turns),
            at=at,
            agent=account.agent,
            text=_compose(request, answered),
        )
        path = layout.loop_ledger(workspace.settings.paths.loops, request.change, loop.text)
        left = tuple(item for item in waiting if item not in answered)
        found.append(AddedTurn(path=path, number=turn.number, answered=tuple(answered), left=left, advice=""))
        return render_turn(text, turn).encode()

    workspace.change_files.append(request.change, _ledger_name(loop.text), make)
    return found[-1]


def _compose(request: TurnRequest, answered: Sequence[LoopFeedback]) -> str:
    """Put the parts of a turn together; secrets are redacted, since ledgers are shared."""
    parts = [
        name_feedback(answered),
        request.text.strip("\n"),
        render_report(request.report) if request.report else "",
        f"### Escalated\n\n{request.escalation.strip()}" if request.escalation else "",
    ]
    text = "\n\n".join(part for part in parts if part.strip()).replace("\r\n", "\n")
    return redact(text.encode("utf-8", "backslashreplace").decode()).text


# --- the end --------------------------------------------------------------------------------------


def finish_change(workspace: Workspace, account: Account, name: str) -> bool:
    """Finish a change, and return whether it was not finished before; all its files stay.

    Raises a PassdownError if something is left to do, or feedback waits; nothing is changed then.
    """
    facts = summarize(workspace, name).facts
    if facts.phase is ChangePhase.FINISHED:
        return False
    account = take_in_feedback(workspace, account, [name])
    said = [fact.text for fact in reversed(read_brief_input(workspace, account).of(FactKind.FEEDBACK))]
    refused = find_finish_refusal(facts, [place_of(one) for one in said if one.startswith(f"{name}/")])
    if refused is not None:
        raise PassdownError(refused.problem, hint=refused.hint)
    update_ledger(workspace, account, [NewFact(FactKind.DONE, f"finished the change {name}")])
    _revise(workspace, layout.change_state(workspace.settings.paths.loops, name), _with_end)
    take_in_feedback(workspace, account, [name])
    return True


def _with_end(text: str) -> str:
    state = parse_change_state(text)
    return render_change_state(replace(state, phase=ChangePhase.FINISHED, finish_status=COMPLETE))


# --- feedback -------------------------------------------------------------------------------------


def leave_feedback(workspace: Workspace, account: Account, change: str, loop: str, text: str) -> LoopFeedback:
    """Add feedback to the last turn of a loop, as a person would in an editor, and record it."""
    name = _need_loop(loop)
    facts = read_change(workspace, change)
    if name.text not in facts.loops:
        known = ", ".join(sorted(facts.loops)) or "not opened yet"
        raise UsageError(f"{change} has no loop {name.text}", hint=f"its loops are {known}")
    said = redact(text.strip().encode("utf-8", "backslashreplace").decode().replace("\r\n", "\n")).text

    def make(content: bytes) -> bytes:
        before = content.decode("utf-8", "replace")
        turns = parse_loop(before).turns
        if not turns:
            hint = "tell every session instead: `passdown tell TEXT`"
            raise UsageError(f"{change}/{name.text} has no turn yet", hint=hint)
        added = render_feedback(before, said)
        if parse_loop(before + added).turns[-1].feedback == turns[-1].feedback:  # blank, or only a comment
            raise UsageError("feedback needs a text", hint="say in a few words what the next turn should do")
        return added.encode()

    workspace.change_files.append(change, _ledger_name(name.text), make)
    take_in_feedback(workspace, account, [change])
    ledger = read_ledger(workspace, change, name.text)
    return [*find_feedback(f"{change}/{name.text}", ledger)][-1]


def refresh(workspace: Workspace, account: Account, changes: Collection[str] = ()) -> Account:
    """Read the ledgers that have changed, and record what people wrote there."""
    return take_in_feedback(workspace, account, changes)


def find_ledger_of(workspace: Workspace, text: str) -> str:
    """Return the ledger in which a feedback stands, by the text of its fact; empty if it is not one here."""
    items = {item.text: item for item in read_loops(workspace).items}
    found = items.get(text)
    if found is None:
        return ""
    change, _, loop = found.loop.partition("/")
    return layout.loop_ledger(workspace.settings.paths.loops, change, loop)
