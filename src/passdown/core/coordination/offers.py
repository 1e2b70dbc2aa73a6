"""Offers: a session hands its task and files to another; until that accepts, the giver owns them."""

from typing import Annotated, Final, NamedTuple

from passdown.core.coordination.leases import Grant
from passdown.records import record

OFFERED: Final = "offered"
ACCEPTED: Final = "accepted"
DECLINED: Final = "declined"
WITHDRAWN: Final = "withdrawn"
OVER: Final = "over"
"""Nobody accepted it in time."""

OFFER_SECONDS: Final = 86_400.0
_NAME_SIZE: Final = 18


def short_offer(name: str) -> str:
    """Return the start of an offer's id, which is enough to name it."""
    return name[:_NAME_SIZE]


class NewOffer(NamedTuple):
    """What a session offers: a task it holds, and with it all files it holds."""

    giver: str
    taker: str
    """An address, or empty for anybody."""
    task: str
    facts: str = ""
    """What the taker verifies, as JSON."""
    seconds: float = OFFER_SECONDS


@record
class Offer:
    """An offer as it is stored."""

    offer: Annotated[str, "Its id."]
    giver: Annotated[str, "The session that offers."]
    agent: Annotated[str, "Its agent."]
    taker: Annotated[str, "The address it is offered to; empty for anybody."]
    task: Annotated[str, "The task."]
    facts: Annotated[str, "What the taker verifies, as JSON."] = ""
    state: Annotated[str, "offered, accepted, declined, withdrawn or over."] = OFFERED
    expires: float = 0.0

    @property
    def short_name(self) -> str:
        """The start of its id, which is enough to name it."""
        return short_offer(self.offer)


@record
class OfferState:
    """An offer as others see it."""

    offer: Offer
    left: Annotated[float, "Seconds until it is over."]


@record
class Offered:
    """The offer stands."""

    offer: Offer


@record
class Accepted:
    """Task, files and unread messages are the taker's, under new fences."""

    offer: Offer
    grants: tuple[Grant, ...]
    messages: int = 0


@record
class OfferEnded:
    """The offer was declined or withdrawn; task and files stay with the giver, or go back to the board."""

    offer: Offer


@record
class OfferGone:
    """Refused: the offer does not stand, or is for somebody else."""

    offer: str
    state: Annotated[str, "Its state; empty if there is none, `other` if it is for somebody else."]
