"""Hand a task over to another session: offer, verify, accept (C92)."""

from collections.abc import Sequence
from typing import Annotated, Final

from passdown.core.coordination.leases import TASK, Lost
from passdown.core.coordination.messages import NewMessage
from passdown.core.coordination.offers import (
    Accepted,
    NewOffer,
    Offer,
    Offered,
    OfferEnded,
    OfferGone,
    OfferState,
    short_offer,
)
from passdown.core.formats.archives import render_archive
from passdown.core.sessions.handoffs import to_archive
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import OperationAction
from passdown.errors import TrackerError, UsageError
from passdown.ports.coordination import Coordination
from passdown.records import record, replace
from passdown.services.coordination.finishing import changing
from passdown.services.coordination.mail import deliver, queue_message
from passdown.services.coordination.membership import join_project, record_holdings
from passdown.services.coordination.reservations import move_tasks, queue_moves
from passdown.services.handover.handoffs import HandoffComparison, list_carried, make_offer_review
from passdown.services.handover.snapshots import take_snapshot
from passdown.services.operations.operations import next_operation
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.workspace.workspaces import Workspace

_TRIGGER: Final = "offer"


@record
class OfferReview:
    """An offer, and what changed since it was made."""

    offer: Offer
    review: HandoffComparison


@record
class AcceptResult:
    """The outcome of accepting an offer."""

    account: Account
    outcome: Accepted | OfferGone
    carried: Annotated[int, "How many facts came with it."] = 0


def offer_task(workspace: Workspace, account: Account, task: str, to: str) -> Offered | Lost:
    """Offer a task with all files and facts of the session, and tell the agent it is offered to."""
    task = task or account.task
    if not task:
        raise UsageError("this session holds no task", hint="name one: `passdown handoff offer --task ID`")
    with changing(workspace, account):
        coordination = join_project(workspace, account)
        account = update_ledger(workspace, account).account
        facts = render_archive(to_archive(take_snapshot(workspace, account, _TRIGGER, for_record=True)))
        op = next_operation(workspace, OperationAction.OFFER, task)
        text = f"I offer you task {task}: run `passdown handoff accept {short_offer(op)}`"
        told = NewMessage(account.session, to, text, kind=_TRIGGER)
        message = queue_message(workspace, told, op) if to else ""
        outcome = coordination.offers.offer(op, NewOffer(account.session, to, task, facts))
        if isinstance(outcome, Offered) and to:
            deliver(workspace, coordination, told, message)
        return outcome


def list_offers(workspace: Workspace) -> Sequence[OfferState]:
    """List the open offers; without coordination there are none."""
    coordination = workspace.find_coordination()
    return coordination.offers.offers() if coordination else ()


def review_offer(workspace: Workspace, name: str) -> OfferReview:
    """Compare an offer with this checkout before it is accepted; its test is not run."""
    offer = _find_offer(workspace.coordination, name)
    return OfferReview(offer=offer, review=make_offer_review(workspace, offer))


def accept_offer(workspace: Workspace, account: Account, review: OfferReview) -> AcceptResult:
    """Take over task, files and unread messages under new fences, with the giver's facts."""
    with changing(workspace, account):
        carried = len(list_carried(review.review, read_account(workspace, account.session)))
        found = _accept(workspace, account, review.offer.offer, [review.offer.task])
        return replace(found, carried=carried) if isinstance(found.outcome, Accepted) else found


def accept_again(workspace: Workspace, account: Account) -> AcceptResult | None:
    """Return the outcome of an interrupted accept that is repeated; the offer itself is gone by now."""
    with changing(workspace, account):
        known = workspace.verb.find_known(OperationAction.ACCEPT)
        moved = [one.task for one in workspace.verb.known if one.action is OperationAction.MOVE]
        return _accept(workspace, account, known.task, moved) if known else None


def _accept(workspace: Workspace, account: Account, offer: str, tasks: Sequence[str]) -> AcceptResult:
    coordination = join_project(workspace, account)
    op = next_operation(workspace, OperationAction.ACCEPT, offer)
    moves = queue_moves(workspace, account, coordination, tasks, after=op)
    outcome = coordination.offers.accept(op, account.session, offer)
    if isinstance(outcome, Accepted):
        fences = {one.name: one.fence for one in outcome.grants if one.kind == TASK}
        try:
            move_tasks(workspace, account, moves, fences)
        except TrackerError as found:
            task = " ".join(moves)
            workspace.warn(f"the tracker does not know yet that {task} is yours: {found.message}")
            workspace.warn(f"run `passdown takeover {task}` when the tracker answers again")
        account = record_holdings(workspace, account, coordination)
    return AcceptResult(account=account, outcome=outcome)


def decline_offer(workspace: Workspace, account: Account, name: str) -> OfferEnded | OfferGone:
    """Decline an offer."""
    with changing(workspace, account):
        offers = join_project(workspace, account).offers
        offer = _choose_offer(workspace, OperationAction.DECLINE, name)
        op = next_operation(workspace, OperationAction.DECLINE, offer)
        return offers.decline(op, account.session, offer)


def withdraw_offer(workspace: Workspace, account: Account, name: str) -> OfferEnded | OfferGone:
    """Withdraw an offer of the session."""
    with changing(workspace, account):
        offers = join_project(workspace, account).offers
        offer = _choose_offer(workspace, OperationAction.WITHDRAW, name)
        op = next_operation(workspace, OperationAction.WITHDRAW, offer)
        return offers.withdraw(op, account.session, offer)


def _choose_offer(workspace: Workspace, action: OperationAction, name: str) -> str:
    """Return the id of the named offer, or of the offer of the command that is repeated."""
    known = workspace.verb.find_known(action)
    return known.task if known else _find_offer(workspace.coordination, name).offer


def _find_offer(coordination: Coordination, name: str) -> Offer:
    """Return the open offer whose id starts with a name; an empty name means the only one."""
    found = [one.offer for one in coordination.offers.offers() if one.offer.offer.startswith(name)]
    if len(found) == 1:
        return found[0]
    hint = "`passdown handoff offers` lists them"
    if not found:
        raise UsageError(f"there is no open offer {name}".rstrip(), hint=hint)
    raise UsageError("there are several open offers; name one", hint=hint)
