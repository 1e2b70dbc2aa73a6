"""Offers: a session hands a task and its files to another; the giver owns them until they are accepted."""

from typing import Annotated, Final, NamedTuple

from passdown.core.coordination.leases import Grant
from passdown.records import record

OFFERED: Final = "offered"
ACCEPTED: Final = "accepted"
DECLINED: Final = "declined"
WITHDRAWN: Final = "withdrawn"
OVER: Final = "over"
"""Nobody accepted the offer in time."""

OFFER_SECONDS: Final = 86_400.0
_NAME_SIZE: Final = 18


def short_offer(name: str) -> str:
    """Return the start of an offer's id, which is enough to name it."""
    return name[:_NAME_SIZE]


class NewOffer(NamedTuple):
    """An offer to make: a task that the session holds, with all its reserved files."""

    giver: str
    taker: str
    """An address, or empty for anybody."""
    task: str
    facts: str = ""
    """The giver's facts, which the taker verifies, as JSON."""
    seconds: float = OFFER_SECONDS


@record
class Offer:
    """An offer as it is stored."""

    offer: Annotated[str, "Its id."]
    giver: Annotated[str, "The session that offers."]
    agent: Annotated[str, "Its agent."]
    taker: Annotated[str, "The address it is offered to; empty for anybody."]
    task: Annotated[str, "The task."]
    facts: Annotated[str, "The giver's facts, which the taker verifies, as JSON."] = ""
    state: Annotated[str, "offered, accepted, declined, withdrawn or over."] = OFFERED
    expires: Annotated[float, "When it stops being open; for a settled offer, when it did."] = 0.0

    @property
    def short_name(self) -> str:
        """The start of its id, which is enough to name it."""
        return short_offer(self.offer)


@record
class OfferState:
    """An offer as others see it."""

    offer: Offer
    left: Annotated[float, "Seconds until it expires."]


@record
class Offered:
    """The offer is open."""

    offer: Offer


@record
class Accepted:
    """Task, files and unread messages now belong to the taker, under new fences."""

    offer: Offer
    grants: tuple[Grant, ...]
    messages: int = 0


@record
class OfferEnded:
    """The offer was declined or withdrawn; task and files stay with the giver, or return to the board."""

    offer: Offer


@record
class OfferGone:
    """Refused: the offer is not open, or is for somebody else."""

    offer: str
    state: Annotated[str, "Its state; empty if there is no such offer, `other` if it is for somebody else."]
