"""The complete suite of trackers."""

from passdown.testing.conformance.tracker.changes import ChangePromises
from passdown.testing.conformance.tracker.claims import ClaimingPromises


class TrackerConformance(ClaimingPromises, ChangePromises):
    """The promises of the port; subclass it, say how to make a bench, and name it `Test…`."""
