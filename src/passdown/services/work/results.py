"""Keep the results of subagents, and apply their task updates once, for the session's agent (R210)."""

from collections.abc import Callable, Sequence
from typing import Annotated, Final

from passdown.core.coordination.leases import Held, Lost
from passdown.core.coordination.operations import Operation
from passdown.core.coordination.tasks import COMPLETED, REASONS
from passdown.core.digests import sha256
from passdown.core.facts import Provenance, is_inside
from passdown.core.formats.journal import JournalLine, Scope, facts_of
from passdown.core.hosts.kept_results import (
    DONE,
    KeptResult,
    Members,
    ResultState,
    ResultStep,
    fold_results,
    members_of_begin,
    members_of_malformed,
    members_of_result,
    members_of_try,
)
from passdown.core.hosts.results import ResultAction, SubagentResult, TaskUpdate, change_texts, read_result
from passdown.core.kinds import FactKind
from passdown.core.problems import Malformed
from passdown.core.safe_text import one_line
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.secrets import redact
from passdown.core.sessions.session_facts import Account
from passdown.errors import StorageError, TrackerError, TrackerUnsureError, UsageError
from passdown.records import record
from passdown.services.coordination.claims import CloseRequest
from passdown.services.coordination.membership import join_project
from passdown.services.operations.operations import make_id
from passdown.services.sessions.journals import make_fact, read_account, read_before
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.work.tracker_changes import add_note, close
from passdown.services.workspace.workspaces import Workspace

_SHORTEST: Final = 4


@record
class AppliedResult:
    """The outcome of applying a result."""

    kept: Annotated[KeptResult, "The current state of the result."]
    tried: Annotated[tuple[int, ...], "The positions of the updates that were tried now."] = ()
    is_unsure: Annotated[bool, "Whether one of them had no answer and may have been made."] = False


# --- keeping ----------------------------------------------------------------------------------------


def take_result(workspace: Workspace, account: Account, text: str, subagent: str = "") -> KeptResult | None:
    """Keep the result at the end of a subagent's message; return None if there is none.

    1. Secrets are redacted before anything is written.
    2. A result that the session, or one that it continues, already has is not kept again.
    3. An unreadable result is kept as malformed, so that it gets noticed.
    """
    try:
        result = read_result(text)
    except Malformed as found:  # 3
        name = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        hint = f"; {found.hint}" if found.hint else ""
        members = members_of_malformed(f"the result {found.problem}{hint}", subagent)
        return _keep(workspace, account, name, ResultStep.MALFORMED, members)
    if result is None:
        return None
    clean = change_texts(result, lambda one: redact(one).text)  # 1
    step = ResultStep.TAKEN if clean.updates else ResultStep.NOTED
    return _keep(workspace, account, clean.id, step, members_of_result(clean, subagent))


def _keep(
    workspace: Workspace, account: Account, name: str, step: ResultStep, members: Members
) -> KeptResult:
    before = _read_all(workspace, account)
    if name not in before:  # 2
        _write_once(workspace, account, name, step, members, lambda known: known is None)
    return _read_all(workspace, account)[name]


def _write_once(
    workspace: Workspace,
    account: Account,
    name: str,
    step: ResultStep,
    members: Members,
    is_new: Callable[[KeptResult | None], bool],
) -> None:
    """Add a line about a result, unless another process has done so in the meantime."""

    def make(seq: int) -> Sequence[JournalLine]:
        lines = workspace.journals.read(account.session)
        if not is_new(fold_results(facts_of(account.session, lines)).get(name)):
            return []
        fact = make_fact(workspace, account, NewFact(FactKind.RESULT, step.value, name), Provenance.OBSERVED)
        return [JournalLine(seq=seq, fact=fact._replace(others=members))]

    workspace.journals.extend(account.session, make)


# --- reading ----------------------------------------------------------------------------------------


def list_results(workspace: Workspace, account: Account) -> Sequence[KeptResult]:
    """List the results of a session and of those that it continues, the oldest first."""
    return list(_read_all(workspace, account).values())


def _read_all(workspace: Workspace, account: Account) -> dict[str, KeptResult]:
    sessions = [one.session for one in read_before(workspace, account.session)]
    return fold_results(
        fact for session in reversed(sessions) for fact in facts_of(session, workspace.journals.read(session))
    )


def find_result(results: Sequence[KeptResult], name: str) -> KeptResult:
    """Return the result whose id starts with a name; raise a UsageError unless there is exactly one."""
    found = [one for one in results if len(name) >= _SHORTEST and one.id.startswith(name)]
    if len(found) != 1:
        problem = "several results start with" if found else "there is no result"
        raise UsageError(f"{problem} {one_line(name)[:64]}", hint="`passdown result list --all` lists them")
    return found[0]


# --- applying ---------------------------------------------------------------------------------------


def drop_result(workspace: Workspace, account: Account, kept: KeptResult) -> KeptResult:
    """Record that a result is not applied, or not any further."""
    if kept.is_open:
        _say(workspace, account, kept, ResultStep.DROPPED)
    return _read_all(workspace, account)[kept.id]


def apply_result(workspace: Workspace, account: Account, kept: KeptResult) -> AppliedResult:
    """Apply the updates of a result in their order (R210).

    1. What another session of the project did with the same result counts.
    2. Each update has an operation id that is recorded before the first attempt; the effect of an update that
       was tried before is looked for first, so nothing happens twice.
    3. A close adds the notes, if any, and closes with the reason; an update only adds the notes.
    4. A refused update does not stop the others and can be tried again.
    5. When all are done, the session's files include those that the result names.
    """
    if kept.state is not ResultState.WAITING:
        return AppliedResult(kept=kept)
    sessions = workspace.journals.mentioning(Scope.ALL, kept.id)
    everywhere = [fact for one in sessions for fact in facts_of(one, workspace.journals.read(one))]
    known = fold_results(sorted(everywhere, key=lambda fact: fact.at)).get(kept.id, kept)  # 1
    if known.state is ResultState.APPLIED:
        _say(workspace, account, kept, ResultStep.APPLIED)
        return AppliedResult(kept=known)
    # If several processes begin at once, the first one decides the ids.
    operations = {at: known.operations.get(at) or make_id(workspace) for at in known.left}
    _say(workspace, account, known, ResultStep.BEGUN, members_of_begin(operations))  # 2
    kept = _read_all(workspace, account)[known.id]
    tried, has_unsure = tuple(kept.left), False
    for at in tried:
        op = Operation(kept.operations[at], is_repeat=at in known.operations)
        outcome, is_unsure = _apply(workspace, account, kept.updates[at], op)  # 3, 4
        has_unsure |= is_unsure
        members = members_of_try(at, outcome, is_unsure=is_unsure)
        _say(workspace, account, kept, ResultStep.TRIED, members)
        account = read_account(workspace, account.session)
    kept = _read_all(workspace, account)[kept.id]
    if not kept.left and kept.is_open:
        _say(workspace, account, kept, ResultStep.APPLIED)
        _add_files(workspace, account, kept.result)  # 5
        kept = _read_all(workspace, account)[kept.id]
    return AppliedResult(kept=kept, tried=tried, is_unsure=has_unsure)


def _apply(workspace: Workspace, account: Account, update: TaskUpdate, op: Operation) -> tuple[str, bool]:
    """Apply one update; return `DONE` or the reason it failed, and whether it may have happened anyway.

    A change that the tracker did not answer is queued in the outbox, which makes it once.
    """
    try:
        if update.action is ResultAction.CLOSE:
            return _close(workspace, account, update, op), False
        join_project(workspace, account)
        add_note(workspace, account, update.task, update.notes, op)
    except (TrackerUnsureError, StorageError) as found:
        return found.message, True
    except (TrackerError, UsageError) as found:
        return found.message, False
    return DONE, False


def _close(workspace: Workspace, account: Account, update: TaskUpdate, op: Operation) -> str:
    reason = update.reason if update.reason in REASONS else COMPLETED
    notes = [update.notes] if update.notes else []
    if reason != update.reason:
        notes.append(f"REASON: {update.reason}")
    request = CloseRequest(update.task, reason, note="\n".join(notes), op=op)
    outcome = close(workspace, account, request).outcome
    if isinstance(outcome, Held):
        return f"{outcome.agent} holds {update.task}"
    if isinstance(outcome, Lost):
        return f"this session does not hold {update.task}; claim it first: `passdown claim {update.task}`"
    return DONE


def _add_files(workspace: Workspace, account: Account, result: SubagentResult | None) -> None:
    known = {fact.text for fact in account.of(FactKind.FILE)}
    new = [path for path in (result.files if result else ()) if is_inside(path) and path not in known]
    if new:
        update_ledger(workspace, account, [NewFact(FactKind.FILE, path) for path in new])


def _say(
    workspace: Workspace, account: Account, kept: KeptResult, step: ResultStep, members: Members = ()
) -> None:
    _write_once(workspace, account, kept.id, step, members, lambda _: True)
