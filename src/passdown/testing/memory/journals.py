"""`Journals` in the memory of this process; the lines live as long as the object."""

from collections.abc import Callable, Sequence
from threading import RLock

from passdown.core.formats.journal import JournalLine, Scope, render_line


class MemoryJournals:
    """Lines by session; every change gets its own time."""

    def __init__(self) -> None:
        """Start without journals."""
        self._lines: dict[str, list[JournalLine]] = {}
        self._changed: dict[str, int] = {}
        self._changes = 0
        self._lock = RLock()

    def sessions(self, scope: Scope) -> Sequence[str]:
        """Return the sessions that have a journal."""
        del scope  # nothing is put away yet
        return sorted(self._lines)

    def read(self, session: str) -> Sequence[JournalLine]:
        """Return the lines of a session."""
        return list(self._lines.get(session, ()))

    def last(self, session: str) -> JournalLine | None:
        """Return the last line."""
        lines = self._lines.get(session)
        return lines[-1] if lines else None

    def mentioning(self, scope: Scope, *texts: str) -> Sequence[str]:
        """Return the sessions whose journal contains one of these texts."""
        del scope  # nothing is put away yet
        written = {session: "".join(map(render_line, lines)) for session, lines in self._lines.items()}
        return sorted(session for session, all_ in written.items() if any(text in all_ for text in texts))

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
                self._changes += 1
                self._changed[session] = self._changes
        return lines

    def changed(self, session: str) -> int:
        """Return the number of a journal's last change; 0 if there is none."""
        return self._changed.get(session, 0)
