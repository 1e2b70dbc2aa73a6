"""Read, summarize, approve and finish changes (C105) without losing what people edit meanwhile."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Annotated, Final

from passdown import layout
from passdown.core.documents.conflicts import refuse_conflict
from passdown.core.formats.change_states import (
    APPROVED,
    COMPLETE,
    ChangePhase,
    ChangeState,
    parse_change_state,
    render_change_state,
    with_status,
)
from passdown.core.formats.loops import SUCCESS, Loop, Turn, parse_loop, read_result
from passdown.core.ids import is_stream_name
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.core.work.loop_feedback import find_feedback, place_of
from passdown.core.work.loops import (
    ChangeFacts,
    LoopRoute,
    begin_state,
    find_approval_refusal,
    find_finish_refusal,
    find_route,
    may_go_on,
    parse_loop_name,
    parse_tasks,
    sort_loops,
)
from passdown.errors import FormatError, PassdownError, StorageError, UsageError
from passdown.records import record, replace
from passdown.services.handover.briefs import read_brief_input
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.loop_feedback import read_loops, record_feedback
from passdown.services.workspace.workspaces import Workspace

_ROUNDS: Final = 5


@record
class LoopSummary:
    """A summary of a loop."""

    loop: Annotated[str, "Its name."]
    path: Annotated[str, "Its ledger, from the root."]
    turns: Annotated[int, "How many turns it has."]
    waiting: Annotated[int, "How many feedbacks in it wait."]
    result: Annotated[str, "How the last implementation ended; empty for other loops."]
    last: Annotated[Turn | None, "Its last turn."] = None
    last_at: Annotated[datetime | None, "When that turn was added."] = None


@record
class ChangeSummary:
    """A summary of a change, and where it continues."""

    facts: Annotated[ChangeFacts, "What exists of it."]
    route: Annotated[LoopRoute, "Where it continues."]
    goes_on: Annotated[bool, "Whether an agent continues to the next phase without asking."]
    loops: Annotated[tuple[LoopSummary, ...], "Its loops."]
    changed: Annotated[int, "When anything of it last changed."]


# --- reading --------------------------------------------------------------------------------------


def read_change(workspace: Workspace, name: str) -> ChangeFacts:
    """Return what exists of a change; raise a FormatError if its state cannot be read."""
    if not is_stream_name(name):
        hint = "use lower-case words joined by `-`, like habit-tracker"
        raise UsageError(f"{name[:60]!r} is not a valid name for a change", hint=hint)
    files, documents = workspace.change_files.files(name), workspace.documents
    changes = workspace.settings.paths.loops
    specs = layout.change_document(changes, name, layout.CHANGE_SPECS)
    plans = layout.change_document(changes, name, layout.CHANGE_PLANS)
    tasks = layout.change_document(changes, name, layout.CHANGE_TASKS)
    listed = documents.read(tasks).decode("utf-8", "replace") if documents.exists(tasks) else ""
    return ChangeFacts(
        name=name,
        state=_read_state(workspace, name) if layout.CHANGE_STATE in files else None,
        has_specs=any(documents.list(specs)),
        tasks=parse_tasks(listed),
        plans=frozenset(path.rpartition("/")[2].removesuffix(".md") for path in documents.list(plans)),
        loops=frozenset(loop for path in files if (loop := layout.loop_of(path))),
    )


def need_change(workspace: Workspace, name: str) -> ChangeFacts:
    """Return what exists of a change; raise a UsageError if there is no such change."""
    facts = read_change(workspace, name)
    if facts.state is None and not facts.loops:
        known = ", ".join(_list_names(workspace))
        hint = f"the changes are {known}" if known else f"to start it: `passdown loop open {name} ideation`"
        raise UsageError(f"there is no change {name}", hint=hint)
    return facts


def need_ledger(workspace: Workspace, name: str, loop: str) -> ChangeFacts:
    """Return what exists of a change; raise a UsageError if the change or its loop does not exist."""
    facts = need_change(workspace, name)
    if loop not in facts.loops:
        hint = f"to open it: `passdown loop open {name} {loop}`"
        if facts.loops:
            hint = f"its loops are {', '.join(sorted(facts.loops))}; {hint}"
        raise UsageError(f"{name} has no loop {loop}", hint=hint)
    return facts


def _read_state(workspace: Workspace, name: str) -> ChangeState:
    data = workspace.change_files.read(name, layout.CHANGE_STATE) or b""
    text = data.decode("utf-8", "replace")
    refuse_conflict(layout.change_state(workspace.settings.paths.loops, name), text)
    return parse_change_state(text)


def read_ledger(workspace: Workspace, change: str, loop: str) -> Loop:
    """Read the ledger of a loop; a missing one is empty."""
    data = workspace.change_files.read(change, layout.loop_file(loop)) or b""
    return parse_loop(data.decode("utf-8", "replace"))


# --- summaries ------------------------------------------------------------------------------------


def summarize(workspace: Workspace, name: str) -> ChangeSummary:
    """Return a change with its loops and where it continues; raise a UsageError if it does not exist."""
    facts = need_change(workspace, name)
    return _sum_up(workspace, facts, find_settled(workspace, None, [name]))


def list_changes(workspace: Workspace) -> Sequence[ChangeSummary]:
    """Return every change, the last changed first; a folder without state and ledgers is not a change."""
    changes = [read_change(workspace, name) for name in _list_names(workspace)]
    unfinished = [one.name for one in changes if one.phase is not ChangePhase.FINISHED]
    settled = find_settled(workspace, None, unfinished)
    found = [_sum_up(workspace, facts, settled) for facts in changes]
    return sorted(found, key=lambda one: (-one.changed, one.facts.name))


def _list_names(workspace: Workspace) -> Sequence[str]:
    files = workspace.change_files
    return [name for name in files.changes() if is_stream_name(name) and files.files(name)]


def find_settled(workspace: Workspace, account: Account | None, changes: Collection[str]) -> Collection[str]:
    """Return the texts of feedback in ledgers that no turn names but that does not wait any more.

    It was answered in another way, or a person dismissed it. The ledgers of `changes` are read even if the
    changes are finished.
    """
    unnamed = {item.text for item in read_loops(workspace, changes).items if not item.is_named}
    if not unnamed:
        return unnamed
    return unnamed - {fact.text for fact in read_brief_input(workspace, account).of(FactKind.FEEDBACK)}


def _sum_up(workspace: Workspace, facts: ChangeFacts, settled: Collection[str]) -> ChangeSummary:
    loops = tuple(_summarize_loop(workspace, facts, loop, settled) for loop in sort_loops(facts.loops))
    ended = {parse_loop_name(one.loop): one.result for one in loops}
    facts = replace(
        facts, succeeded=frozenset(one.task for one, how in ended.items() if one and how == SUCCESS)
    )
    marks = workspace.change_files.files(facts.name)
    return ChangeSummary(
        facts=facts,
        route=find_route(facts),
        goes_on=may_go_on(facts),
        loops=loops,
        changed=max((mark.changed for mark in marks.values()), default=0),
    )


def _summarize_loop(
    workspace: Workspace, facts: ChangeFacts, loop: str, settled: Collection[str]
) -> LoopSummary:
    ledger = read_ledger(workspace, facts.name, loop)
    last = ledger.turns[-1] if ledger.turns else None
    waiting = [
        item
        for item in find_feedback(f"{facts.name}/{loop}", ledger)
        if not item.is_named and item.text not in settled
    ]
    return LoopSummary(
        loop=loop,
        path=layout.loop_ledger(workspace.settings.paths.loops, facts.name, loop),
        turns=len(ledger.turns),
        waiting=0 if facts.phase is ChangePhase.FINISHED else len(waiting),
        result=read_result(last) if last else "",
        last=last,
        last_at=last.at if last else None,
    )


# --- approval and end -----------------------------------------------------------------------------


def approve_change(workspace: Workspace, name: str) -> bool:
    """Approve the proposal of a change for a person; return False if it was already approved.

    Raises a PassdownError, without changing anything, if there is no such change or nothing to approve.
    """
    facts = need_change(workspace, name)
    refused = find_approval_refusal(facts)
    if refused is not None:
        raise PassdownError(refused.problem, hint=refused.hint)
    if facts.is_approved:
        return False

    def approve(text: str) -> str:
        state = parse_change_state(text)
        return render_change_state(replace(state, proposal=with_status(state.proposal, APPROVED)))

    revise_state(workspace, facts, approve)
    return True


def finish_change(workspace: Workspace, account: Account, name: str) -> bool:
    """Finish a change; return False if it was already finished. All its files stay.

    Raises a PassdownError, without changing anything, if work is left or feedback waits.
    """
    facts = need_change(workspace, name)
    if facts.phase is ChangePhase.FINISHED:
        return False
    account = record_feedback(workspace, account, [name])
    said = [fact.text for fact in reversed(read_brief_input(workspace, account).of(FactKind.FEEDBACK))]
    refused = find_finish_refusal(facts, [place_of(one) for one in said if one.startswith(f"{name}/")])
    if refused is not None:
        raise PassdownError(refused.problem, hint=refused.hint)
    update_ledger(workspace, account, [NewFact(FactKind.DONE, f"finished the change {name}")])

    def finish(text: str) -> str:
        state = parse_change_state(text)
        return render_change_state(replace(state, phase=ChangePhase.FINISHED, finish_status=COMPLETE))

    revise_state(workspace, facts, finish)
    record_feedback(workspace, account, [name])
    return True


# --- writing --------------------------------------------------------------------------------------


def revise_state(workspace: Workspace, facts: ChangeFacts, change: Callable[[str], str]) -> str:
    """Edit the state of a change and return its path; a missing state is first made from its ledgers."""
    path = layout.change_state(workspace.settings.paths.loops, facts.name)
    if not workspace.documents.exists(path):
        state = facts.state or begin_state(facts)
        workspace.documents.create(path, render_change_state(state).encode())
    revise(workspace, path, change)
    return path


def revise(workspace: Workspace, path: str, change: Callable[[str], str]) -> None:
    """Edit a file that people edit too; if somebody writes it at that moment, their version is edited."""
    documents = workspace.documents
    data = documents.read(path, settled=True)
    for _ in range(_ROUNDS):
        revised = change(_decode(path, data)).encode()
        if revised != data:
            documents.replace(path, revised, expected=data)
        displaced = documents.displaced(path)
        if not displaced:
            return
        data = displaced[-1]
        documents.replace(path, data)
        documents.displaced(path, displaced)
    raise StorageError(f"somebody is editing {path}", hint="run the command again")


def _decode(path: str, data: bytes) -> str:
    """Return the text of a file to edit; raise a FormatError if decoding it would lose bytes."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError(f"{path} is not UTF-8 text", hint="save it as UTF-8") from None
    refuse_conflict(path, text)
    return text
