"""The notes on a task when a phase of its test-first cycle begins (R175 to R178)."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from passdown.core.coordination.operations import RANDOM_BYTES, make_operation
from passdown.core.facts import Fact
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import OperationAction, SharedOperation, make_intent
from passdown.core.work.tdd import NOTES, PhaseChange


def make_notes(
    account: Account, changes: Sequence[PhaseChange], now: datetime, token: Callable[[int], bytes]
) -> Iterator[Fact]:
    """Yield the journal lines that queue the notes; the next command that calls the tracker adds them."""
    for change in changes:
        if change.task:
            operation = SharedOperation(
                id=make_operation(now, token(RANDOM_BYTES)),
                action=OperationAction.UPDATE,
                at=now,
                agent=account.agent,
                session=account.session,
                task=change.task,
                note=NOTES[change.phase],
            )
            yield from make_intent(operation)
