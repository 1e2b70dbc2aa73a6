"""Offer a task to another session, and accept what is offered."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

from passdown.actions.answers import HIDDEN
from passdown.actions.callers import Caller, need_author, refuse_without_holding
from passdown.core.coordination.leases import Grant, Lost
from passdown.core.coordination.offers import OfferEnded, OfferGone, OfferState
from passdown.core.sessions.session_facts import Account
from passdown.records import record
from passdown.services.coordination import offers as services
from passdown.services.workspace.workspaces import Workspace


@record
class OfferRequest:
    """A task to offer, with all files of the session."""

    task: Annotated[str, "The task; empty for the one that the session works on."] = ""
    to: Annotated[str, "Who may accept it; empty for anybody."] = ""


@record
class CreatedOffer:
    """An offer that was made."""

    offer: Annotated[str, "Its id."]
    task: Annotated[str, "The task."]
    to: Annotated[str | None, "Who may accept it; null for anybody."]
    short_name: Annotated[str, "The start of its id that is enough to name it.", HIDDEN]


@record
class OpenOffers:
    """The open offers."""

    offers: Annotated[Sequence[OfferState], "The offers."]


@record
class AcceptedOffer:
    """An offer that was accepted."""

    accepted: Annotated[tuple[Grant, ...], "The task and the files that the session has now."]
    carried: Annotated[int, "How many facts came with them."]
    agent: Annotated[str, "The agent that offered them.", HIDDEN]


@record
class EndedOffer:
    """An offer that was declined or withdrawn."""

    offer: Annotated[str, "Its id."]
    task: Annotated[str, "The task."]
    state: Annotated[str, "declined or withdrawn."]


def offer(caller: Caller, request: OfferRequest) -> CreatedOffer | Lost:
    """Offer a task that the session has."""
    found = services.offer_task(
        caller.workspace, need_author(caller, refuse_without_holding), request.task, request.to
    )
    if isinstance(found, Lost):
        return found
    made = found.offer
    return CreatedOffer(offer=made.offer, task=made.task, to=made.taker or None, short_name=made.short_name)


def list_open(caller: Caller, _request: None = None) -> OpenOffers:
    """List the open offers."""
    return OpenOffers(offers=services.list_offers(caller.workspace))


def review(caller: Caller, name: str) -> services.OfferReview | AcceptedOffer | OfferGone:
    """Compare an offer with the current state; its test is not run.

    If the same command already accepted one and nobody saw its answer, return that answer.
    """
    repeated = services.accept_again(
        caller.workspace, need_author(caller, partial(services.review_offer, caller.workspace, name))
    )
    return _describe(repeated) if repeated else services.review_offer(caller.workspace, name)


def accept(caller: Caller, reviewed: services.OfferReview) -> AcceptedOffer | OfferGone:
    """Take over the task, files and unread messages of a reviewed offer, and the facts that came with it."""
    return _describe(services.accept_offer(caller.workspace, need_author(caller), reviewed))


def _describe(found: services.AcceptResult) -> AcceptedOffer | OfferGone:
    outcome = found.outcome
    if isinstance(outcome, OfferGone):
        return outcome
    return AcceptedOffer(accepted=outcome.grants, carried=found.carried, agent=outcome.offer.agent)


def decline(caller: Caller, name: str) -> EndedOffer | OfferGone:
    """Decline an offer."""
    return _end(caller, name, services.decline_offer)


def withdraw(caller: Caller, name: str) -> EndedOffer | OfferGone:
    """Withdraw an offer of the session."""
    return _end(caller, name, services.withdraw_offer)


def _end(
    caller: Caller, name: str, end: Callable[[Workspace, Account, str], OfferEnded | OfferGone]
) -> EndedOffer | OfferGone:
    check = partial(services.review_offer, caller.workspace, name)
    found = end(caller.workspace, need_author(caller, check), name)
    if isinstance(found, OfferGone):
        return found
    return EndedOffer(offer=found.offer.offer, task=found.offer.task, state=found.offer.state)
