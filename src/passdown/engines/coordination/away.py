"""Remember that an engine was away: nobody waits for it again at once, and what sessions hold is spared.

Sessions cannot give signs of life to an engine that is away. Whoever comes first when it is back would find
all of them dead, and take over what they hold.
"""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from passdown.engines.coordination.transactions import Reading, Store, StoreAround, Transaction
from passdown.engines.files import read, write
from passdown.errors import AwayError, StorageError
from passdown.ports.clock import BootClock

REMEMBERED: Final = 30.0
"""For how many seconds an engine that was away is not waited for again (C86)."""
SPARED: Final = 60.0
"""For how many seconds after it is back nothing is taken over (C81)."""


class AwayMark(NamedTuple):
    """When an engine was away, and since when it is back, in seconds of a boot."""

    boot: str
    away: float
    back: float | None
    why: str


class EngineAway:
    """What is remembered about one engine in this clone, for all processes of this boot."""

    def __init__(self, path: str, clock: BootClock) -> None:
        """Name the file; it is there once the engine has been away."""
        self._path = path
        self._clock = clock

    def recall(self) -> AwayError | None:
        """Return why the engine is known to be away, if somebody asked it a moment ago."""
        mark, now = self._read(), self._clock.read().seconds
        if mark is None or mark.back is not None or not 0 <= now - mark.away < REMEMBERED:
            return None
        left = int(REMEMBERED - (now - mark.away)) + 1
        return AwayError(mark.why, hint=f"It is asked again in {left} s.")

    def spared(self) -> float:
        """Return for how many seconds nothing is taken over; an engine that answers now is back since now."""
        mark = self._read()
        if mark is None:
            return 0.0
        since = self._clock.read().seconds - mark.back if mark.back is not None else 0.0
        return max(SPARED - since, 0.0) if since >= 0 else 0.0

    def note_away(self, why: str) -> None:
        """Write down that the engine does not answer; if that cannot be written, it is asked again."""
        now = self._clock.read()
        self._write(AwayMark(now.boot, now.seconds, None, why))

    def note_back(self) -> None:
        """Write down that the engine answers again, if it did not."""
        mark = self._read()
        if mark is not None and mark.back is None:
            self._write(mark._replace(back=self._clock.read().seconds))

    def _read(self) -> AwayMark | None:
        """Return the mark of this boot; whatever cannot be read is none."""
        with suppress(OSError, ValueError, TypeError):
            boot, away, back, why = json.loads(read.read_trusted(self._path))
            if boot == self._clock.read().boot:
                return AwayMark(boot, float(away), None if back is None else float(back), str(why))
        return None

    def _write(self, mark: AwayMark) -> None:
        with suppress(StorageError):
            write.replace(self._path, json.dumps(mark).encode(), local=True)


class WatchedStore(StoreAround):
    """A `Store` that remembers when it is away; once it was, nobody in this process waits for it again."""

    def __init__(self, store: Store, away: EngineAway) -> None:
        """Watch a store."""
        super().__init__(store)
        self._away = away
        self._is_known_back = False
        self._has_failed = False

    @contextmanager
    def changing(self) -> Generator[Transaction, None, None]:
        """Take the project's lock, then give a transaction; keep its changes unless it raises."""
        with self._watching(), self._store.changing() as change:
            yield change

    @contextmanager
    def looking(self) -> Generator[Reading, None, None]:
        """Give one consistent state; nobody waits for it."""
        with self._watching(is_change=False), self._store.looking() as reading:
            yield reading

    def beat(self, sessions: Sequence[str]) -> None:
        """Set the last sign of life of these sessions, if they have not ended, to now; no position."""
        with self._watching():
            self._store.beat(sessions)

    @contextmanager
    def _watching(self, *, is_change: bool = True) -> Generator[None, None, None]:
        """Note whether the store answers; only what could be changed shows that it is back.

        A file that another process keeps locked can still be read.
        """
        if self._has_failed and (known := self._away.recall()) is not None:
            raise known
        is_answered = is_change
        try:
            yield
        except StorageError as found:
            is_answered = False
            if isinstance(found, AwayError):
                self._has_failed, self._is_known_back = True, False
                self._away.note_away(found.message)
            raise
        finally:
            if is_answered and not self._is_known_back:  # also if it refused something
                self._is_known_back = True
                self._away.note_back()
