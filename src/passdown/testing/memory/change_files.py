"""The `ChangeFiles` in the memory of this process."""

from collections.abc import Callable, Mapping, Sequence

from passdown import layout
from passdown.ports.change_files import NO_CHANGES
from passdown.ports.event_log import FileMark


class MemoryChanges:
    """Files by change and name; each write gives a file a new mark."""

    def __init__(self) -> None:
        """Start without a change."""
        self._changes: dict[str, dict[str, bytes]] = {}
        self._marks: dict[tuple[str, str], FileMark] = {}

    def write(self, change: str, name: str, data: bytes) -> None:
        """Write a file as a person would."""
        self._changes.setdefault(change, {})[name] = data
        self._marks[change, name] = FileMark(len(data), len(self._marks) + hash(data) % 2**32, 0)

    def mark(self) -> int:
        """Return how many changes there are."""
        return len(self._changes) or NO_CHANGES

    def changes(self) -> Sequence[str]:
        """Return the names of all changes."""
        return sorted(self._changes)

    def files(self, change: str) -> Mapping[str, FileMark]:
        """Return the state and the loop ledgers of a change."""
        names = self._changes.get(change, {})
        return {name: self._marks[change, name] for name in names if layout.is_change_file(name)}

    def read(self, change: str, name: str) -> bytes | None:
        """Return the content of a file."""
        return self._changes.get(change, {}).get(name)

    def append(self, change: str, name: str, make: Callable[[bytes], bytes]) -> bytes:
        """Add to a file."""
        before = self.read(change, name) or b""
        added = make(before)
        if added:
            self.write(change, name, before + added)
        return added
