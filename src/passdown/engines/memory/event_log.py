"""The `EventLog` in the memory of this process; the files live as long as the object."""

from collections.abc import Mapping, Sequence

from passdown.core.merge.rollups import is_rollup
from passdown.engines.files.folders import DAY
from passdown.ports.event_log import FileMark


class MemoryEventLog:
    """Folders of files by name; a folder gets a new mark with every change."""

    def __init__(self) -> None:
        self.archived: dict[str, dict[str, bytes]] = {}
        self._files: dict[str, dict[str, tuple[FileMark, bytes]]] = {}
        self._marks: dict[str, int] = {}
        self._changes = 0

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        del known  # all of them are in memory
        return dict(self._marks)

    def files(self, folder: str) -> Mapping[str, FileMark]:
        files = self._files.get(folder, {})
        return {name: mark for name, (mark, _) in files.items() if _can_hold(name)}

    def read(self, folder: str, name: str) -> bytes | None:
        found = self._files.get(folder, {}).get(name)
        return found and found[1]

    def may_read(self, events: int = 0) -> bool:
        """Return True: everything may be read."""
        del events
        return True

    def create(self, folder: str, name: str, data: bytes) -> bool:
        files = self._files.setdefault(folder, {})
        if name in files:
            return False
        self._change(folder)
        files[name] = (FileMark(len(data), self._changes, self._changes), bytes(data))
        return True

    def archive(self, folder: str, names: Sequence[str], day: str) -> int:
        files, archived = self._files.get(folder, {}), self.archived.setdefault(day, {})
        moved = [
            name for name in names if name in files and archived.get(name, files[name][1]) == files[name][1]
        ]
        for name in moved:
            self._change(folder)
            archived[name] = files.pop(name)[1]
        return len(moved)

    def discard(self, folder: str, files: Mapping[str, bytes], *, is_archived: bool = False) -> Sequence[str]:
        if is_archived:
            archived = self.archived.get(folder, {})
            removed = [name for name, data in files.items() if archived.get(name) == data]
            for name in removed:
                del archived[name]
            return removed
        here = self._files.get(folder, {})
        removed = [name for name, data in files.items() if name in here and here[name][1] == data]
        for name in removed:
            self._change(folder)
            del here[name]
        return removed

    def _change(self, folder: str) -> None:
        """Give a folder a new mark; the top folder exists as soon as another one does."""
        self._changes += 1
        self._marks.setdefault("", self._changes)
        if folder == "" or DAY.fullmatch(folder):
            self._marks[folder] = self._changes


def _can_hold(name: str) -> bool:
    return (name.endswith(".md") and not name.startswith(".")) or is_rollup(name)
