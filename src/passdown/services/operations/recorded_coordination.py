"""The coordination engine, with every change recorded before it is made (C142).

All changes through a workspace come here, so that none is missed. Reads and heartbeats go straight to the
engine.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from passdown.core.coordination.holding_facts import list_closed, list_granted, list_released
from passdown.core.coordination.leases import TASK, Fenced, Grant, Granted, Held, Lost, Released, Resource
from passdown.core.coordination.members import Inherited, StillAlive
from passdown.core.coordination.messages import NewMessage, NoRecipient, Sent
from passdown.core.coordination.offers import Accepted, NewOffer, Offered, OfferEnded, OfferGone
from passdown.core.coordination.outcomes import dump_outcome
from passdown.core.coordination.tasks import (
    Claimed,
    DependencyCycle,
    NothingReady,
    Task,
    TaskClosed,
    TaskStored,
)
from passdown.core.json_text import dump
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import OperationAction, Outcome, SharedOperation
from passdown.errors import StorageError, UnansweredError, UnsureError, UsageError
from passdown.ports.coordination import Coordination, History, Leases, Members, Messages, Offers, Tasks
from passdown.records import replace
from passdown.services.operations.operations import settle, write_down
from passdown.services.sessions.journals import read_account
from passdown.services.workspace.workspaces import Workspace

_REFUSALS: Final = (Held, Lost, NothingReady, NoRecipient, DependencyCycle, OfferGone, StillAlive)
"""The outcomes that the engine does not store: a repeat with the same id may have another one."""

_UNSURE: Final = "Run the same command again; nothing is done twice."
T = TypeVar("T")


class Recorder:
    """Records the changes to the engine and their outcomes."""

    def __init__(self, workspace: Workspace, history: History | None = None) -> None:
        """Write to the journals of a workspace; an outside tracker has no history."""
        self.workspace = workspace
        self._history = history

    def perform(self, wanted: SharedOperation, call: Callable[[], T]) -> T:
        """Record a change, then make it.

        1. If it is unknown whether it was made, it stays open and the next command finishes it.
        2. If the engine could not be asked, it was not made.
        """
        operation = write_down(self.workspace, wanted)
        try:
            outcome = call()
        except (UnsureError, UnansweredError) as error:  # 1
            error.hint = _UNSURE
            raise
        except StorageError as error:  # 2
            settle(self.workspace, operation, Outcome.NOT_MADE, error=error.message)
            raise
        except UsageError as error:
            settle(self.workspace, operation, Outcome.REFUSED, error=error.message)
            raise
        self.record(operation, outcome)
        return outcome

    def record(self, operation: SharedOperation, outcome: object) -> SharedOperation:
        """Record the outcome of an operation with the facts that it states, unless it is settled."""
        if not operation.is_open:
            return operation
        if isinstance(outcome, _REFUSALS):
            return settle(self.workspace, operation, Outcome.REFUSED)
        if isinstance(outcome, Accepted):
            from passdown.services.handover.handoffs import make_offer_review, resume_handoff  # few need it

            # Repeating this is safe: facts of the offer that are already known are not stated again.
            account = read_account(self.workspace, operation.session)
            resume_handoff(self.workspace, make_offer_review(self.workspace, outcome.offer), account)
        made = outcome.task if isinstance(outcome, Task) else ""
        found = replace(operation, position=self._find_position(operation.id), result=made)
        account = read_account(self.workspace, operation.session)
        facts = _list_facts(account, operation, outcome) if account.started_at is not None else ()
        return settle(self.workspace, found, Outcome.DONE, facts=facts)

    def _find_position(self, op: str) -> int:
        with suppress(StorageError):  # the change was made; its position only helps to rebuild a lost file
            return self._history.find(op) if self._history else 0
        return 0

    def wanted(
        self, action: OperationAction, op: str, session: str, subject: str = "", **values: object
    ) -> SharedOperation:
        """Return a change of the engine as an operation, with everything needed to repeat it."""
        return SharedOperation(
            id=op,
            action=action,
            at=self.workspace.now(),
            session=session,
            task=subject,
            values=dump(values) if values else "",
        )


def _list_facts(account: Account, operation: SharedOperation, outcome: object) -> Sequence[NewFact]:
    """Return the facts that an outcome states: what the session holds now or no longer, and what is done."""
    match outcome:
        case Granted() | Claimed() | Accepted():
            tasks = outcome.tasks if isinstance(outcome, Claimed) else ()
            named = operation.task.partition(" ")[0] if tasks else ""
            return list_granted(account, outcome.grants, tasks, named)
        case Inherited():
            fence = outcome.fence
            grants = [Grant(kind=kind, name=name, fence=fence, left=0.0) for kind, name in outcome.resources]
            return list_granted(account, grants)
        case Released():
            return list_released(account, outcome.resources)
        case TaskClosed():
            return list_closed(account, outcome, operation.reason, operation.note)
        case TaskStored() if operation.action is OperationAction.GIVE_BACK:
            return list_released(account, [Resource(TASK, operation.task)])
        case _:
            return ()


def describe_message(workspace: Workspace, op: str, message: NewMessage) -> SharedOperation:
    """Return the sending of a message as an operation."""
    left_out = {"content", "sender", "to"}
    values = {name: value for name, value in message._asdict().items() if name not in left_out}
    return SharedOperation(
        id=op,
        action=OperationAction.MESSAGE,
        at=workspace.now(),
        session=message.sender,
        task=message.to,
        note=message.content,
        values=dump(values),
    )


def _name_all(resources: Sequence[Resource]) -> str:
    return " ".join(one.name for one in resources)


class RecordedMembers:
    """`Members`; only `inherit` grants something and is recorded."""

    def __init__(self, recorder: Recorder, members: Members) -> None:
        """Record the changes to one part of the engine."""
        self._recorder = recorder
        self._members = members
        self.join, self.beat, self.leave = members.join, members.beat, members.leave
        self.members = members.members

    def inherit(self, op: str, session: str, dead: str) -> Inherited | StillAlive:
        """Move what a silent session holds."""
        wanted = self._recorder.wanted(OperationAction.INHERIT, op, session, dead)
        return self._recorder.perform(wanted, lambda: self._members.inherit(op, session, dead))


class RecordedLeases:
    """`Leases`; grants, releases and takeovers are recorded."""

    def __init__(self, recorder: Recorder, leases: Leases) -> None:
        """Record the changes to one part of the engine."""
        self._recorder = recorder
        self._leases = leases
        self.renew, self.check, self.judge = leases.renew, leases.check, leases.judge
        self.leases = leases.leases

    def acquire(self, op: str, session: str, wanted: Sequence[Resource], ttl: float) -> Granted | Held:
        """Grant all or none."""
        operation = self._recorder.wanted(
            OperationAction.RESERVE, op, session, _name_all(wanted), wanted=list(wanted), seconds=ttl
        )
        return self._recorder.perform(operation, lambda: self._leases.acquire(op, session, wanted, ttl))

    def release(self, op: str, session: str, held: Sequence[Fenced]) -> Released | Lost:
        """Release all of these, or none."""
        names = _name_all([one.resource for one in held])
        operation = self._recorder.wanted(OperationAction.RELEASE, op, session, names, held=list(held))
        return self._recorder.perform(operation, lambda: self._leases.release(op, session, held))

    def take_over(self, op: str, session: str, wanted: Sequence[Resource], *, force: bool) -> Granted | Held:
        """Take resources from silent sessions, or from any session by force."""
        operation = self._recorder.wanted(
            OperationAction.TAKE_OVER, op, session, _name_all(wanted), wanted=list(wanted), force=force
        )
        return self._recorder.perform(
            operation, lambda: self._leases.take_over(op, session, wanted, force=force)
        )


class RecordedTasks:
    """`Tasks`; commands usually change them through the tracker, which records its own changes."""

    def __init__(self, recorder: Recorder, tasks: Tasks) -> None:
        """Record the changes to one part of the engine."""
        self._recorder = recorder
        self._tasks = tasks
        self.find, self.tasks, self.summary = tasks.find, tasks.tasks, tasks.summary

    def add(self, op: str, session: str, task: Task) -> TaskStored:
        """Add a task."""
        wanted = self._recorder.wanted(OperationAction.ADD, op, session, task.task)
        operation = replace(wanted, values=dump_outcome(task))
        return self._recorder.perform(operation, lambda: self._tasks.add(op, session, task))

    def claim(
        self, op: str, session: str, tasks: Sequence[str], *, role: str = "", another: bool = False
    ) -> Claimed | Held | NothingReady:
        """Claim the named tasks, all or none, or the first ready one."""
        operation = self._recorder.wanted(OperationAction.CLAIM, op, session, " ".join(tasks))
        return self._recorder.perform(
            operation, lambda: self._tasks.claim(op, session, tasks, role=role, another=another)
        )

    def close(self, op: str, session: str, held: Fenced, reason: str, note: str) -> TaskClosed | Lost:
        """Close a task under its fence."""
        wanted = self._recorder.wanted(OperationAction.CLOSE, op, session, held.resource.name)
        operation = replace(wanted, fence=held.fence, reason=reason, note=note)
        return self._recorder.perform(operation, lambda: self._tasks.close(op, session, held, reason, note))

    def note(self, op: str, session: str, task: str, text: str) -> TaskStored:
        """Add a text to the note of a task."""
        wanted = replace(self._recorder.wanted(OperationAction.UPDATE, op, session, task), note=text)
        return self._recorder.perform(wanted, lambda: self._tasks.note(op, session, task, text))

    def give_back(self, op: str, session: str, held: Fenced) -> TaskStored | Lost:
        """Give up a task that the session holds, so that others can claim it."""
        wanted = self._recorder.wanted(OperationAction.GIVE_BACK, op, session, held.resource.name)
        operation = replace(wanted, fence=held.fence)
        return self._recorder.perform(operation, lambda: self._tasks.give_back(op, session, held))

    def change(self, op: str, session: str, task: Task) -> TaskStored:
        """Change title, body, priority, role, or the state of a task."""
        wanted = self._recorder.wanted(OperationAction.CHANGE, op, session, task.task)
        operation = replace(wanted, values=dump_outcome(task))
        return self._recorder.perform(operation, lambda: self._tasks.change(op, session, task))

    def wait_for(self, op: str, session: str, task: str, other: str) -> TaskStored | DependencyCycle:
        """Make a task depend on another until that is closed."""
        operation = self._recorder.wanted(OperationAction.BLOCK, op, session, task, other=other)
        return self._recorder.perform(operation, lambda: self._tasks.wait_for(op, session, task, other))


class RecordedMessages:
    """`Messages`; sent messages are recorded."""

    def __init__(self, recorder: Recorder, messages: Messages) -> None:
        """Record the changes to one part of the engine."""
        self._recorder = recorder
        self._messages = messages
        self.waiting, self.acknowledge = messages.waiting, messages.acknowledge
        self.expire = messages.expire

    def send(self, op: str, message: NewMessage) -> Sent | NoRecipient:
        """Put a message into the inbox of every session that has the address."""
        wanted = describe_message(self._recorder.workspace, op, message)
        return self._recorder.perform(wanted, lambda: self._messages.send(op, message))


class RecordedOffers:
    """`Offers`; every change is recorded."""

    def __init__(self, recorder: Recorder, offers: Offers) -> None:
        """Record the changes to one part of the engine."""
        self._recorder = recorder
        self._offers = offers
        self.offers = offers.offers

    def offer(self, op: str, offer: NewOffer) -> Offered | Lost:
        """Offer a task, and with it all files of the giver."""
        values = {"taker": offer.taker, "seconds": offer.seconds}
        wanted = self._recorder.wanted(OperationAction.OFFER, op, offer.giver, offer.task, **values)
        operation = replace(wanted, note=offer.facts)
        return self._recorder.perform(operation, lambda: self._offers.offer(op, offer))

    def accept(self, op: str, session: str, offer: str) -> Accepted | OfferGone:
        """Move task, files and unread messages to the session."""
        operation = self._recorder.wanted(OperationAction.ACCEPT, op, session, offer)
        return self._recorder.perform(operation, lambda: self._offers.accept(op, session, offer))

    def decline(self, op: str, session: str, offer: str) -> OfferEnded | OfferGone:
        """Decline an offer."""
        operation = self._recorder.wanted(OperationAction.DECLINE, op, session, offer)
        return self._recorder.perform(operation, lambda: self._offers.decline(op, session, offer))

    def withdraw(self, op: str, session: str, offer: str) -> OfferEnded | OfferGone:
        """Withdraw an offer of the session itself."""
        operation = self._recorder.wanted(OperationAction.WITHDRAW, op, session, offer)
        return self._recorder.perform(operation, lambda: self._offers.withdraw(op, session, offer))


class RecordedCoordination:
    """`Coordination` of one project, with every change in the journal of the session that makes it."""

    def __init__(self, workspace: Workspace, engine: Coordination) -> None:
        """Record the changes to an engine."""
        recorder = Recorder(workspace, engine.history)
        self.engine = engine.engine
        self.history = engine.history
        self.members = RecordedMembers(recorder, engine.members)
        self.leases = RecordedLeases(recorder, engine.leases)
        self.tasks = RecordedTasks(recorder, engine.tasks)
        self.messages = RecordedMessages(recorder, engine.messages)
        self.offers = RecordedOffers(recorder, engine.offers)
