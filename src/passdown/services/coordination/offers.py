"""Hand a task over to another session: offer, verify, accept (C92)."""

from collections.abc import Sequence
from typing import Annotated, Final

from passdown.core.coordination.leases import TASK, Fenced, Lost, Resource
from passdown.core.coordination.messages import NewMessage
from passdown.core.coordination.offers import (
    Accepted,
    NewOffer,
    Offer,
    Offered,
    OfferEnded,
    OfferGone,
    OfferState,
)
from passdown.core.formats.archives import parse_archive, render_archive
from passdown.core.sessions.handoffs import from_archive, to_archive
from passdown.core.sessions.session_facts import Account
from passdown.errors import TrackerError, UsageError
from passdown.ports.coordination import Coordination
from passdown.records import record
from passdown.services.coordination.mail import deliver
from passdown.services.coordination.membership import join_project, new_operation, record_holdings
from passdown.services.coordination.reservations import move_task
from passdown.services.handover.handoffs import (
    HandoffReview,
    ListedHandoff,
    Run,
    make_review,
    resume_handoff,
)
from passdown.services.handover.snapshots import take_snapshot
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.workspace.workspaces import Workspace

_TRIGGER: Final = "offer"
_NAME_SIZE: Final = 18
"""How much of an offer's id is shown; the start of an id is enough to name it."""


@record
class OfferReview:
    """An offer, and what changed since it was made."""

    offer: Offer
    review: HandoffReview


@record
class AcceptResult:
    """What accepting came to."""

    account: Account
    outcome: Accepted | OfferGone
    carried: Annotated[int, "How many facts came with it."] = 0


def offer_task(workspace: Workspace, account: Account, task: str, to: str) -> Offered | Lost:
    """Offer a task that the session holds, with all its files and what it knows; it owns them until then.

    The one that it is offered to is told.
    """
    task = task or account.task
    if not task:
        raise UsageError("the session holds no task", hint="name one: `passdown handoff offer --task ID`")
    coordination = join_project(workspace, account)
    account = update_ledger(workspace, account).account
    facts = render_archive(to_archive(take_snapshot(workspace, account, _TRIGGER)))
    outcome = coordination.offers.offer(new_operation(workspace), NewOffer(account.session, to, task, facts))
    if isinstance(outcome, Offered) and to:
        text = f"I offer you task {task}: run `passdown handoff accept {short_name(outcome.offer)}`"
        deliver(workspace, coordination, NewMessage(account.session, to, text, kind=_TRIGGER))
    return outcome


def short_name(offer: Offer) -> str:
    """Return the start of an offer's id, which is enough to name it."""
    return offer.offer[:_NAME_SIZE]


def list_offers(workspace: Workspace) -> Sequence[OfferState]:
    """List the offers that stand; without coordination there are none."""
    coordination = workspace.find_coordination()
    return coordination.offers.offers() if coordination else ()


def review_offer(workspace: Workspace, name: str, run: Run | None = None) -> OfferReview:
    """Compare what an offer says with what is here, before anybody accepts it.

    The recorded test command runs only if `run` is given: it is text that somebody else wrote.
    """
    offer = _find_offer(workspace.coordination, name)
    listed = ListedHandoff(name=short_name(offer), kind=_TRIGGER, path=f"offer {short_name(offer)}")
    handoff = from_archive(parse_archive(offer.facts))
    return OfferReview(offer=offer, review=make_review(workspace, listed, handoff, run))


def accept_offer(workspace: Workspace, account: Account, review: OfferReview) -> AcceptResult:
    """Take over task, files and unread messages under new fences, then what the giver knew."""
    coordination = join_project(workspace, account)
    outcome = coordination.offers.accept(new_operation(workspace), account.session, review.offer.offer)
    if isinstance(outcome, OfferGone):
        return AcceptResult(account=account, outcome=outcome)
    account = record_holdings(workspace, account, coordination)
    _tell_tracker(workspace, account, coordination, review.offer.task)
    account = record_holdings(workspace, account, coordination)
    resumed = resume_handoff(workspace, review.review, account)
    return AcceptResult(account=resumed.account, outcome=outcome, carried=resumed.carried)


def _tell_tracker(workspace: Workspace, account: Account, coordination: Coordination, task: str) -> None:
    """Tell a tracker outside whose the task is now; if it does not answer, that is a warning."""
    try:
        move_task(workspace, account, coordination, Fenced(Resource(TASK, task), account.claims.get(task, 0)))
    except TrackerError as found:
        workspace.warn(f"the tracker does not know that {task} is yours: {found.message}")
        workspace.warn(f"run `passdown takeover {task}` when it is back")


def decline_offer(workspace: Workspace, account: Account, name: str) -> OfferEnded | OfferGone:
    """Refuse an offer."""
    coordination = join_project(workspace, account)
    offer = _find_offer(coordination, name)
    return coordination.offers.decline(new_operation(workspace), account.session, offer.offer)


def withdraw_offer(workspace: Workspace, account: Account, name: str) -> OfferEnded | OfferGone:
    """Take an offer of the session back."""
    coordination = join_project(workspace, account)
    offer = _find_offer(coordination, name)
    return coordination.offers.withdraw(new_operation(workspace), account.session, offer.offer)


def _find_offer(coordination: Coordination, name: str) -> Offer:
    """Return the only offer that stands, or the one whose id starts with a name."""
    found = [one.offer for one in coordination.offers.offers() if one.offer.offer.startswith(name)]
    if len(found) == 1:
        return found[0]
    hint = "`passdown handoff offers` lists them"
    if not found:
        raise UsageError(f"there is no offer {name}".rstrip(), hint=hint)
    raise UsageError("several offers stand: name one", hint=hint)
