"""Record a change before it is made, and its outcome together with the facts that it states (C142)."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from passdown.core.coordination.operations import RANDOM_BYTES, make_operation
from passdown.core.facts import CLAIMED, Provenance
from passdown.core.formats.journal import JournalLine
from passdown.core.kinds import FactKind
from passdown.core.safe_text import one_line
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import (
    OperationAction,
    Outcome,
    SharedOperation,
    make_answered,
    make_intent,
    make_outcome,
    read_operations,
)
from passdown.errors import StorageError
from passdown.records import replace
from passdown.services.sessions.journals import make_line, read_account
from passdown.services.workspace.workspaces import Workspace

NO_SESSION: Final = "-"
"""The journal of a person without a session."""

_LONGEST_ERROR: Final = 300


def journal_of(session: str) -> str:
    """Return the name of the journal for the operations of a session, or of a person without one."""
    return session or NO_SESSION


def make_id(workspace: Workspace) -> str:
    """Return a new operation id; calls that state no fact use one without recording it (C142)."""
    return make_operation(workspace.clock.now(), workspace.entropy.token(RANDOM_BYTES))


def next_operation(workspace: Workspace, action: OperationAction, subject: str) -> str:
    """Return the id of the next operation of the running command."""
    verb = workspace.verb
    verb.id = verb.id or make_id(workspace)
    return verb.next_id(action.value, subject)


def sign(workspace: Workspace, operation: SharedOperation) -> SharedOperation:
    """Return an operation with its origin: the session's agent and the running command."""
    verb = workspace.verb
    verb.id = verb.id or make_id(workspace)
    agent = read_account(workspace, operation.session).agent if operation.session else ""
    return replace(operation, agent=operation.agent or agent, verb=verb.id, call=verb.call)


def owe(workspace: Workspace, operation: SharedOperation) -> None:
    """Record an operation together with the next one, which it must follow."""
    workspace.verb.owed.append(operation)


def write_down(workspace: Workspace, operation: SharedOperation) -> SharedOperation:
    """Record an operation before it is made; from here on it is not lost.

    1. Operations that must follow it are written before it in the same write: they count only with the last
       line.
    2. Operations that this command, or the command that it repeats, has recorded are not written again. If
       the last line was lost, only the ones that must follow are known.
    """
    verb = workspace.verb
    known = {one.id: one for one in verb.known} | verb.begun
    owed, verb.owed = verb.owed, []
    wanted = [sign(workspace, one) for one in (*owed, operation) if one.id not in known]  # 1, 2
    if wanted:
        try:
            append(workspace, operation.session, wanted)
        except StorageError:
            workspace.open_engine().members.beat(
                ()
            )  # a read-only engine raises an error that says what to do
            raise
    known |= {one.id: one for one in wanted}
    verb.begun |= {one.id: known[one.id] for one in (*owed, operation)}
    return known[operation.id]


def append(workspace: Workspace, session: str, wanted: Sequence[SharedOperation]) -> None:
    """Append operations to a journal, in one write."""
    facts = [fact for one in wanted for fact in make_intent(one)]

    def make(seq: int) -> Sequence[JournalLine]:
        return [JournalLine(seq=seq + number, fact=fact) for number, fact in enumerate(facts)]

    workspace.journals.extend(journal_of(session), make)


def settle(
    workspace: Workspace,
    operation: SharedOperation,
    outcome: Outcome,
    *,
    error: str = "",
    facts: Sequence[NewFact] = (),
    agent: str = "",
) -> SharedOperation:
    """Record the outcome of an attempt, in one write after the facts that it states."""
    shown = one_line(error)[:_LONGEST_ERROR]
    tried_by = agent or operation.agent
    account = read_account(workspace, operation.session) if facts else Account()
    told = make_outcome(operation, outcome, workspace.now(), tried_by, shown)

    def make(seq: int) -> Sequence[JournalLine]:
        stated = [
            make_line(workspace, account, one, _find_provenance(one), seq + number)
            for number, one in enumerate(facts)
        ]
        return [*stated, JournalLine(seq=seq + len(stated), fact=told)]

    workspace.journals.extend(journal_of(operation.session), make)
    settled = replace(
        operation, tries=operation.tries + 1, outcome=outcome.value, error=shown or operation.error
    )
    if operation.id in workspace.verb.begun:
        workspace.verb.begun[operation.id] = settled
    return settled


def _find_provenance(fact: NewFact) -> Provenance:
    """Return the provenance of a fact from an operation: a goal is observed if it is a task's title."""
    is_title = fact.kind is FactKind.GOAL and fact.key == CLAIMED
    return Provenance.OBSERVED if is_title else Provenance.STATED


def abandon(workspace: Workspace, operation: SharedOperation, agent: str, error: str = "") -> SharedOperation:
    """Record that an operation is not tried again."""
    return settle(workspace, operation, Outcome.ABANDONED, error=error, agent=agent)


def drop(workspace: Workspace, op: str) -> None:
    """Record that an operation of this command is not made after all."""
    begun = workspace.verb.begun.get(op)
    if begun is not None and begun.is_open:
        settle(workspace, begun, Outcome.NOT_MADE)


def read_recorded(workspace: Workspace, session: str) -> Sequence[SharedOperation]:
    """Return the operations in a journal, the oldest first."""
    owner = "" if session == NO_SESSION else session
    return read_operations(owner, workspace.journals.read(journal_of(session)))


def note_answered(workspace: Workspace) -> None:
    """Record that the command printed the outcome of its operations; call it only after that.

    The same words typed after this are a new command. If this cannot be recorded, the same words within ten
    minutes repeat the answer.
    """
    begun = [*workspace.verb.begun.values()]
    if not begun:
        return
    first = begun[0]
    fact = make_answered(first, workspace.now(), first.agent)
    with suppress(StorageError):
        workspace.journals.append(
            journal_of(first.session), lambda seq: JournalLine(seq=seq, fact=fact), durable=False
        )
