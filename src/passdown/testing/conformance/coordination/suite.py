"""The complete suite of coordination."""

from passdown.testing.conformance.coordination.guards import GuardPromises
from passdown.testing.conformance.coordination.history import HistoryPromises, RepeatPromises
from passdown.testing.conformance.coordination.leases import LeasePromises
from passdown.testing.conformance.coordination.members import InheritancePromises, MemberPromises
from passdown.testing.conformance.coordination.messages import MessagePromises
from passdown.testing.conformance.coordination.offers import OfferPromises
from passdown.testing.conformance.coordination.races import RacePromises
from passdown.testing.conformance.coordination.retention import RetentionPromises
from passdown.testing.conformance.coordination.silences import SilencePromises
from passdown.testing.conformance.coordination.tasks import BoardPromises, ClaimPromises


class CoordinationConformance(
    MemberPromises,
    InheritancePromises,
    LeasePromises,
    GuardPromises,
    ClaimPromises,
    BoardPromises,
    MessagePromises,
    OfferPromises,
    HistoryPromises,
    RepeatPromises,
    RacePromises,
    SilencePromises,
    RetentionPromises,
):
    """The promises of the port; subclass it, say how to make a bench, and name it `Test…`."""
