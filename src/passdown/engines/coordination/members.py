"""The `Members` of a project: sessions join, give heartbeats, leave, and inherit from dead sessions."""

from collections.abc import Sequence

from passdown.core.coordination.members import (
    ANY_ROLE,
    Inherited,
    Joined,
    Left,
    Member,
    MemberState,
    StillAlive,
)
from passdown.core.coordination.messages import TO_NAME
from passdown.engines.coordination.changes import (
    ChangeSubject,
    Judge,
    RefusedError,
    end_leases,
    free_tasks,
    move_leases,
    require_member,
    run_change,
)
from passdown.engines.coordination.offers import settle_offers
from passdown.engines.coordination.retention import delete_old
from passdown.engines.coordination.transactions import TimedStore, Transaction
from passdown.records import replace


class StoredMembers:
    """Implements `Members` over a store of rows."""

    def __init__(self, store: TimedStore) -> None:
        self._store = store

    def join(self, op: str, member: Member) -> Joined:
        """Join; for a session that has joined already this is a heartbeat, and nothing is logged."""

        def act(change: Transaction) -> Joined:
            settle_offers(change)
            known = change.find_member(member.session)
            time = change.time
            joined = replace(
                _keep_role(member, known),
                seen=time.seconds,
                boot=time.boot,
                ended=None,
                continues=member.continues or (known.continues if known else ""),
            )
            change.put_member(joined)
            for name in filter(None, (member.name, member.agent)):
                change.move_inbox(f"{TO_NAME}{name}", member.session)
            delete_old(change, Judge(change, self._store, self._store.lifetimes))
            return Joined(session=member.session, is_new=known is None)

        if self._is_same(op, member):
            return Joined(session=member.session, is_new=False)
        return run_change(self._store, op, ChangeSubject("join", member.session, member.agent), act)

    def _is_same(self, op: str, member: Member) -> bool:
        """Return whether a session has joined already, under the same name, role and process.

        That is a heartbeat, written at most once a minute. A repeated operation does not count: it returns
        the outcome of the first.
        """
        with self._store.looking() as reading:
            known = None if reading.find_log(op) else reading.find_member(member.session)
            if known is None or known.ended is not None or known.boot != reading.time.boot:
                return False
            same = _keep_role(member, known)
            is_same = replace(same, seen=known.seen, boot=known.boot, continues=known.continues) == known
            is_fresh = reading.time.seconds - known.seen <= self._store.lifetimes.grace
        if is_same and not is_fresh:
            self._store.hear([member.session])
        return is_same

    def beat(self, sessions: Sequence[str]) -> None:
        self._store.hear(sessions)

    def leave(self, op: str, session: str) -> Left:
        def act(change: Transaction) -> Left:
            member = change.find_member(session)
            if member is None or member.ended is not None:
                raise RefusedError(Left(session=session))
            settle_offers(change)
            released = [lease for lease in change.leases_of(session) if not lease.offer]
            end_leases(change, released)
            free_tasks(change, released)
            change.put_member(replace(member, ended=change.time.seconds))
            return Left(session=session, released=tuple((one.kind, one.name) for one in released))

        return run_change(self._store, op, ChangeSubject("leave", session), act)

    def inherit(self, op: str, session: str, dead: str) -> Inherited | StillAlive:
        def act(change: Transaction) -> Inherited | StillAlive:
            heir = require_member(change, session)
            judge = Judge(change, self._store, self._store.lifetimes)
            giver = judge.member(dead)
            if session == dead or (judge.is_alive(giver) and not judge.has_died(giver)):
                left = max(judge.silence_left(giver), 0.0)
                raise RefusedError(StillAlive(session=dead, agent=giver.agent, left=left))
            settle_offers(change)
            moved = move_leases(change, change.leases_of(dead), session, offer=True)
            _move_taken(change, dead, session)
            for offer in change.open_offers():
                if offer.giver == dead:
                    change.put_offer(replace(offer, giver=session, agent=heir.agent))
            messages = change.move_inbox(dead, session)
            if change.find_member(dead) is not None:
                change.put_member(replace(giver, ended=giver.ended or change.time.seconds))
            change.put_member(replace(heir, continues=dead))
            resources = tuple((lease.kind, lease.name) for lease in moved)
            return Inherited(session=session, fence=change.fence, resources=resources, messages=messages)

        return run_change(self._store, op, ChangeSubject("inherit", session, dead), act)

    def members(self) -> Sequence[MemberState]:
        with self._store.looking() as reading:
            judge = Judge(reading, self._store, self._store.lifetimes)
            return [
                MemberState(
                    session=one.session,
                    agent=one.agent,
                    name=one.name,
                    team=one.team,
                    role=one.role,
                    silent=max(reading.time.seconds - one.seen, 0.0),
                    is_live=judge.is_alive(one),
                )
                for one in reading.members()
            ]


def _keep_role(member: Member, known: Member | None) -> Member:
    """Return a member with the role that it had, if it names none."""
    return replace(member, role=known.role) if known is not None and member.role == ANY_ROLE else member


def _move_taken(change: Transaction, dead: str, heir: str) -> None:
    """Move what was taken from the dead session to its heir, so that a late commit is recognized."""
    own = {lease.resource: lease.fence for lease in change.leases_of(heir, ended=True)}
    for lease in change.leases_of(dead, ended=True):
        if lease.is_taken and lease.fence > own.get(lease.resource, 0):
            change.put_lease(replace(lease, session=heir))
