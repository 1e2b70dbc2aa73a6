"""The `Offers` of a project: the giver keeps what it offers until another session accepts (C92)."""

from collections.abc import Sequence

from passdown.core.coordination.leases import PATH, TASK, Lease, Lost, Resource
from passdown.core.coordination.members import Member
from passdown.core.coordination.messages import ALL, TO_ROLE
from passdown.core.coordination.offers import (
    ACCEPTED,
    DECLINED,
    OFFERED,
    OVER,
    WITHDRAWN,
    Accepted,
    NewOffer,
    Offer,
    Offered,
    OfferEnded,
    OfferGone,
    OfferState,
)
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
from passdown.engines.coordination.transactions import Reading, TimedStore, Transaction
from passdown.records import replace

_FOR_OTHERS = "other"


class StoredOffers:
    """Implements `Offers` over a store of rows."""

    def __init__(self, store: TimedStore) -> None:
        self._store = store

    def offer(self, op: str, offer: NewOffer) -> Offered | Lost:
        def act(change: Transaction) -> Offered:
            giver = require_member(change, offer.giver)
            settle_offers(change)
            leases = change.leases_of(offer.giver)
            if not any(one.kind == TASK and one.name == offer.task for one in leases):
                held = [one for one in change.leases_on(TASK, offer.task) if one.ended is None]
                now = max((one.fence for one in held), default=0)
                raise RefusedError(Lost(kind=TASK, name=offer.task, fence=0, now=now))
            withdraw_offers(change, offer.task)
            made = Offer(
                offer=op,
                giver=offer.giver,
                agent=giver.agent,
                taker=offer.taker,
                task=offer.task,
                facts=offer.facts,
                expires=change.time.seconds + offer.seconds,
            )
            change.put_offer(made)
            for lease in change.leases_of(offer.giver):
                is_wanted = lease.kind == PATH or lease.resource == Resource(TASK, offer.task)
                if is_wanted and not lease.offer:
                    until = max(lease.until, made.expires)
                    change.put_lease(replace(lease, offer=op, until=until))
            return Offered(offer=made)

        return run_change(self._store, op, ChangeSubject("offer", offer.giver, offer.task), act)

    def accept(self, op: str, session: str, offer: str) -> Accepted | OfferGone:
        def act(change: Transaction) -> Accepted:
            taker = require_member(change, session)
            found = _require_open(change, offer)
            if not _is_for(change, found, taker):
                raise RefusedError(OfferGone(offer=offer, state=_FOR_OTHERS))
            judge = Judge(change, self._store, self._store.lifetimes)
            moved = move_leases(change, _leases_in(change, found), session, offer=False)
            messages = change.move_inbox(found.giver, session)
            accepted = _settle(change, found, ACCEPTED)
            grants = tuple(judge.make_grant(lease) for lease in moved)
            return Accepted(offer=accepted, grants=grants, messages=messages)

        return run_change(self._store, op, ChangeSubject("accept", session, offer), act)

    def decline(self, op: str, session: str, offer: str) -> OfferEnded | OfferGone:
        """Decline an offer; its task and files stay with the giver, or go back to the board."""

        def act(change: Transaction) -> OfferEnded:
            found = _require_open(change, offer)
            if not _is_for(change, found, require_member(change, session)):
                raise RefusedError(OfferGone(offer=offer, state=_FOR_OTHERS))
            return OfferEnded(offer=_end(change, found, DECLINED))

        return run_change(self._store, op, ChangeSubject("decline", session, offer), act)

    def withdraw(self, op: str, session: str, offer: str) -> OfferEnded | OfferGone:
        def act(change: Transaction) -> OfferEnded:
            found = _require_open(change, offer)
            if found.giver != session:
                raise RefusedError(OfferGone(offer=offer, state=_FOR_OTHERS))
            return OfferEnded(offer=_end(change, found, WITHDRAWN))

        return run_change(self._store, op, ChangeSubject("withdraw", session, offer), act)

    def offers(self) -> Sequence[OfferState]:
        with self._store.looking() as reading:
            now = reading.time.seconds
            found = reading.open_offers()
            return [OfferState(offer=one, left=one.expires - now) for one in found if one.expires > now]


def settle_offers(change: Transaction) -> None:
    """End the offers that have expired."""
    for offer in change.open_offers():
        if offer.expires <= change.time.seconds:
            _end(change, offer, OVER)


def withdraw_offers(change: Transaction, task: str) -> int:
    """End the offers of a task that its holder closes, gives back or offers anew; return their number."""
    found = [offer for offer in change.open_offers() if offer.task == task]
    for offer in found:
        _end(change, offer, WITHDRAWN)
    return len(found)


def _require_open(change: Transaction, name: str) -> Offer:
    settle_offers(change)
    found = change.find_offer(name)
    if found is None or found.state != OFFERED:
        raise RefusedError(OfferGone(offer=name, state=found.state if found else ""))
    return found


def _is_for(change: Reading, offer: Offer, member: Member) -> bool:
    """Return whether a session may accept or decline: the offer is addressed to it, and not its own."""
    if member.session == offer.giver:
        return False
    if offer.taker == ALL:
        giver = change.find_member(offer.giver)
        return giver is not None and giver.team == member.team
    return offer.taker in {"", member.agent, member.name, f"{TO_ROLE}{member.role}"}


def _leases_in(change: Reading, offer: Offer) -> list[Lease]:
    return [lease for lease in change.leases_of(offer.giver) if lease.offer == offer.offer]


def _end(change: Transaction, offer: Offer, state: str) -> Offer:
    """End an offer; its task and files are the giver's again, or free if the giver has ended."""
    leases = _leases_in(change, offer)
    giver = change.find_member(offer.giver)
    if giver is None or giver.ended is not None:
        end_leases(change, leases)
        free_tasks(change, leases)
    else:
        for lease in leases:
            change.put_lease(replace(lease, offer="", until=0.0))
    return _settle(change, offer, state)


def _settle(change: Transaction, offer: Offer, state: str) -> Offer:
    """Store that an offer is no longer open, and since when: it is kept for a while after that."""
    settled = replace(offer, state=state, expires=min(offer.expires, change.time.seconds))
    change.put_offer(settled)
    return settled
