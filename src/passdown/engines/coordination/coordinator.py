"""The `Coordination` of a project over any store of rows."""

from collections.abc import Sequence
from typing import Final

from passdown.core.coordination.leases import Lifetimes
from passdown.engines.coordination.changes import CANCELLED, cancel_change
from passdown.engines.coordination.leases import StoredLeases
from passdown.engines.coordination.members import StoredMembers
from passdown.engines.coordination.messages import StoredMessages
from passdown.engines.coordination.offers import StoredOffers
from passdown.engines.coordination.tasks import StoredTasks
from passdown.engines.coordination.transactions import Store, TimedStore
from passdown.ports.coordination import LogEntry

_FIRST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 1.0


class StoredHistory:
    """Implements `History` over a store of rows."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def position(self) -> int:
        with self._store.looking() as reading:
            return reading.position()

    def since(self, position: int, most: int) -> Sequence[LogEntry]:
        with self._store.looking() as reading:
            now = reading.time.seconds
            return [
                LogEntry(row.position, row.op, row.session, row.verb, row.subject, max(now - row.at, 0.0))
                for row in reading.log_since(position, most)
            ]

    def find(self, op: str) -> int:
        with self._store.looking() as reading:
            found = reading.find_log(op)
        if found is None or found.verb == CANCELLED:
            return 0
        self._store.confirm()
        return found.position

    def cancel(self, op: str) -> object | None:
        return cancel_change(self._store, op)

    def wait(self, position: int, seconds: float) -> int:
        """Poll with growing pauses until there is a change or the time is up."""
        pause, waited = _FIRST_PAUSE, 0.0
        while (found := self.position()) <= position and waited < seconds:
            pause = min(pause, seconds - waited)
            self._store.pause(pause)
            waited += pause
            pause = min(pause * 2, _LONGEST_PAUSE)
        return found


class Coordinator:
    """The six parts of one project."""

    def __init__(
        self, store: Store, engine: str, lifetimes: Lifetimes | None = None, *, ignores_case: bool = False
    ) -> None:
        """Coordinate over a store; `engine` describes it and its reach in words.

        In a checkout that ignores case, patterns are compared without regard to case (C85).
        """
        limits = lifetimes or Lifetimes()
        self.engine = engine
        timed = TimedStore(store, limits)
        self.members = StoredMembers(timed)
        self.leases = StoredLeases(timed, ignores_case=ignores_case)
        self.tasks = StoredTasks(timed)
        self.messages = StoredMessages(timed)
        self.offers = StoredOffers(timed)
        self.history = StoredHistory(store)
