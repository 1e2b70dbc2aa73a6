"""Remembers that a server could not be reached, so that the next command does not wait for it again (C86)."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from passdown.engines.files import read, write
from passdown.errors import AwayError, BrokenError, StorageError, UnansweredError
from passdown.ports.clock import BootClock

if TYPE_CHECKING:
    from passdown.ports.coordination import Coordination, History, Leases, Members, Messages, Offers, Tasks

REMEMBERED: Final = 30.0
"""Seconds during which an engine that could not be reached is not tried again (C86)."""


class AwayMark(NamedTuple):
    """When an engine could not be reached, and when it was back, in seconds of a boot."""

    boot: str
    away: float
    back: float | None
    why: str


class EngineAway:
    """The outage of one engine, remembered in this clone for all processes of this boot."""

    def __init__(self, path: str, clock: BootClock) -> None:
        """Store the path of the file, which exists once the engine could not be reached."""
        self._path = path
        self._clock = clock

    def recall(self) -> AwayError | None:
        """Return the error of the last attempt if it failed a moment ago; None if the engine may be tried."""
        mark, now = self._read(), self._clock.read().seconds
        if mark is None or mark.back is not None or not 0 <= now - mark.away < REMEMBERED:
            return None
        left = int(REMEMBERED - (now - mark.away)) + 1
        return AwayError(mark.why, hint=f"Passdown tries again in {left} s.")

    def note_away(self, why: str) -> None:
        """Record that the engine does not answer; if that cannot be written, the next command tries again."""
        now = self._clock.read()
        self._write(AwayMark(now.boot, now.seconds, None, why))

    def note_back(self) -> None:
        """Record that the engine answers again, if it did not before."""
        mark = self._read()
        if mark is not None and mark.back is None:
            self._write(mark._replace(back=self._clock.read().seconds))

    def _read(self) -> AwayMark | None:
        """Return the mark of this boot; None if there is none that can be read."""
        with suppress(OSError, ValueError, TypeError):
            boot, away, back, why = json.loads(read.read_trusted(self._path))
            if boot == self._clock.read().boot:
                return AwayMark(boot, float(away), None if back is None else float(back), str(why))
        return None

    def _write(self, mark: AwayMark) -> None:
        with suppress(StorageError):
            write.replace(self._path, json.dumps(mark).encode(), local=True)


class WatchedCoordination:
    """A `Coordination` that remembers when its engine is away, and does not ask it again in this process.

    Every method may be repeated, because each change has the id of its operation.
    """

    def __init__(self, coordination: "Coordination", away: EngineAway) -> None:
        watch = _Watch(away)
        self.engine = coordination.engine
        self.members = cast("Members", _WatchedPart(coordination.members, watch))
        self.leases = cast("Leases", _WatchedPart(coordination.leases, watch))
        self.tasks = cast("Tasks", _WatchedPart(coordination.tasks, watch))
        self.messages = cast("Messages", _WatchedPart(coordination.messages, watch))
        self.offers = cast("Offers", _WatchedPart(coordination.offers, watch))
        self.history = cast("History", _WatchedPart(coordination.history, watch))


class _WatchedPart:
    """One part of a `Coordination` in which each call is watched."""

    def __init__(self, part: object, watch: "_Watch") -> None:
        self._part = part
        self._watch = watch

    def __getattr__(self, name: str) -> Callable[..., object]:
        act = getattr(self._part, name)
        return lambda *given, **named: self._watch.call(lambda: act(*given, **named))


class _Watch:
    """What this process knows about the engine."""

    def __init__(self, away: EngineAway) -> None:
        self._away = away
        self._is_known_back = False
        self._has_failed = False

    def call(self, act: Callable[[], object]) -> object:
        """Call the engine, and record whether it answers; a refusal is an answer too."""
        if self._has_failed and (known := self._away.recall()) is not None:
            raise known
        try:
            outcome = _try_twice(act)
        except AwayError as found:
            self._has_failed, self._is_known_back = True, False
            self._away.note_away(found.message)
            raise
        if not self._is_known_back:
            self._is_known_back = True
            self._away.note_back()
        return outcome


def _try_twice(act: Callable[[], object]) -> object:
    """Call the engine; if the connection breaks, call it once more on a new one (C144).

    If both calls fail and the first may have made the change, raise the first error.
    """
    try:
        return act()
    except (BrokenError, UnansweredError) as first:
        try:
            return act()
        except AwayError as second:
            raise (first if isinstance(first, UnansweredError) else second) from second
