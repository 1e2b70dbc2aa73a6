"""`Journals` in the memory of this process; the lines live as long as the object."""

from collections.abc import Callable, Iterable, Sequence
from threading import RLock

from passdown.core.formats.journal import JournalLine, Scope, render_line
from passdown.core.sessions.journal_keys import keys_of


class MemoryJournals:
    """Lines by session; every change gets its own time."""

    def __init__(self) -> None:
        """Start without journals."""
        self._lines: dict[str, list[JournalLine]] = {}
        self._changed: dict[str, int] = {}
        self._changes = 0
        self._ended: set[str] = set()
        self._lock = RLock()

    def sessions(self, scope: Scope) -> Sequence[str]:
        """Return the sessions that have a journal."""
        return sorted({*self._lines} - (set() if scope is Scope.ALL else self._ended))

    def read(self, session: str) -> Sequence[JournalLine]:
        """Return the lines of a session."""
        return list(self._lines.get(session, ()))

    def last(self, session: str) -> JournalLine | None:
        """Return the last line."""
        lines = self._lines.get(session)
        return lines[-1] if lines else None

    def mentioning(self, scope: Scope, *texts: str, keys: Iterable[str] | None = None) -> Sequence[str]:
        """Return the sessions whose journal contains one of these texts; those archived, by their keys."""
        live = {one: "".join(map(render_line, self._lines[one])) for one in self.sessions(Scope.LIVE)}
        found = {one for one, written in live.items() if any(text in written for text in texts)}
        wanted = {*(texts if keys is None else keys)}
        ended = self._ended if scope is Scope.ALL else ()
        return sorted(found | {one for one in ended if not wanted.isdisjoint(keys_of(one, self._lines[one]))})

    def append(
        self, session: str, make: Callable[[int], JournalLine], *, durable: bool = True
    ) -> JournalLine:
        """Add one line, made for the next free number."""
        del durable
        return self.extend(session, lambda seq: [make(seq)])[0]

    def extend(
        self, session: str, make: Callable[[int], Sequence[JournalLine]], *, alone: bool = False
    ) -> Sequence[JournalLine]:
        """Add lines, made for the next free numbers; in memory no other process interferes."""
        del alone
        with self._lock:
            known = self._lines.get(session, [])
            lines = make(max((one.seq for one in known), default=0) + 1)
            if lines:
                self._lines[session] = [*known, *lines]
                self._ended.discard(session)
                self._changes += 1
                self._changed[session] = self._changes
        return lines

    def changed(self, session: str) -> int:
        """Return the number of a journal's last change; 0 if there is none."""
        return self._changed.get(session, 0)

    def put_away(self, session: str, seq: int) -> bool:
        """Take a journal out of the live ones, if it has this last line."""
        with self._lock:
            last = self.last(session)
            if session in self._ended or last is None or last.seq != seq:
                return False
            self._ended.add(session)
            return True
