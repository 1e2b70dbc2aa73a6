"""The `Messages` of a project."""

from collections.abc import Sequence

from passdown.core.coordination.leases import TASK
from passdown.core.coordination.members import Member
from passdown.core.coordination.messages import (
    ALL,
    READ_KEPT,
    TO_NAME,
    TO_ROLE,
    TO_TASK,
    Acknowledged,
    Expired,
    Message,
    NewMessage,
    NoRecipient,
    Sent,
    WaitingMessage,
)
from passdown.engines.coordination.changes import (
    ChangeSubject,
    Judge,
    RefusedError,
    require_member,
    run_change,
)
from passdown.engines.coordination.offers import settle_offers
from passdown.engines.coordination.transactions import TimedStore, Transaction


class StoredMessages:
    """Implements `Messages` over a store of rows."""

    def __init__(self, store: TimedStore) -> None:
        self._store = store

    def send(self, op: str, message: NewMessage) -> Sent | NoRecipient:
        def act(change: Transaction) -> Sent:
            sender = require_member(change, message.sender)
            settle_offers(change)
            judge = Judge(change, self._store, self._store.lifetimes, caller=sender)
            recipients = _find_recipients(change, judge, sender, message.to)
            if not recipients:
                raise RefusedError(NoRecipient(to=message.to))
            now = change.time.seconds
            stored = Message(
                message=op,
                sender=message.sender,
                agent=sender.agent,
                to=message.to,
                content=message.content,
                context=message.context,
                priority=message.priority,
                kind=message.kind,
                sent=now,
                expires=now + message.seconds,
            )
            change.add_message(stored, list(recipients))
            return Sent(message=op, recipients=tuple(recipients.values()))

        return run_change(self._store, op, ChangeSubject("send", message.sender, message.to), act)

    def waiting(self, session: str) -> Sequence[WaitingMessage]:
        with self._store.looking() as reading:
            now = reading.time.seconds
            return [
                WaitingMessage(position=position, message=message, age=max(now - message.sent, 0.0))
                for position, message in reading.inbox(session)
                if message.expires > now
            ]

    def acknowledge(self, op: str, session: str, positions: Sequence[int]) -> Acknowledged:
        """Mark messages as read; those already read do not count."""

        def act(change: Transaction) -> Acknowledged:
            count = change.mark_read(session, positions)
            if not count:
                raise RefusedError(Acknowledged(count=0))
            return Acknowledged(count=count)

        return run_change(self._store, op, ChangeSubject("read", session), act)

    def expire(self, op: str) -> Expired:
        def act(change: Transaction) -> Expired:
            now = change.time.seconds
            gone = Expired(messages=tuple(change.expired(now)))
            change.drop_messages(now, now - READ_KEPT)
            return gone

        with self._store.looking() as reading:
            now = reading.time.seconds
            if reading.find_log(op) is None and not reading.has_old_messages(now, now - READ_KEPT):
                return Expired()
        return run_change(self._store, op, ChangeSubject("expire", ""), act)


def _find_recipients(change: Transaction, judge: Judge, sender: Member, to: str) -> dict[str, str]:
    """Return the inboxes that an address names, and the agents they belong to.

    1. All: the live sessions of the sender's team.
    2. A role: the live sessions that have it.
    3. A task: the session that holds it.
    4. An agent or a nickname; if no session has that name, the message waits for the next one that does.
    """
    if to == ALL or to.startswith(TO_ROLE):
        others = [one for one in change.members() if one.session != sender.session and judge.is_alive(one)]
        if to == ALL:  # 1
            return {one.session: one.agent for one in others if one.team == sender.team}
        return {one.session: one.agent for one in others if one.role == to.removeprefix(TO_ROLE)}  # 2
    if to.startswith(TO_TASK):  # 3
        leases = change.leases_on(TASK, to.removeprefix(TO_TASK))
        return {one.session: judge.member(one.session).agent for one in leases if one.ended is None}
    name = to.removeprefix(TO_NAME)
    if not name:
        return {}
    found = {one.session: one.agent for one in change.members_named(name)}  # 4
    return found or {f"{TO_NAME}{name}": f"{TO_NAME}{name}"}
