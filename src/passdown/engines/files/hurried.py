"""The `EventLog` for one who cannot wait until all of a large one is read for the first time."""

from collections.abc import Mapping, Sequence

from passdown.errors import UnreadError
from passdown.ports.event_log import EventLog, FileMark


class HurriedLog:
    """Another log, of which no more than so many files are read that were never read before.

    1. A cache that knows the log reads what is new, which is little.
    2. One that does not would read a large log again and again, and in vain: that is refused.
    3. Without a cache only the newest files are there: the last days, and the last of the top folder.
    """

    def __init__(self, log: EventLog, most: int, *, is_cached: bool) -> None:
        """Keep the log, how many files are not too many, and whether what is read is remembered."""
        self._log = log
        self._most = most
        self._is_cached = is_cached

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Give the folders, or the newest of them; raise an UnreadError for a large log that is not known."""
        there = self._log.folders(known)
        if self._is_cached and known:  # 1
            return there
        newest, count = self._find_newest(there)
        if self._is_cached and count > self._most:  # 2
            hint = "`passdown brief` reads all of them, once"
            raise UnreadError(f"more than {self._most} events were never read here", hint=hint)
        return {folder: there[folder] for folder in newest}  # 3

    def _find_newest(self, there: Mapping[str, int]) -> tuple[list[str], int]:
        """Name the folders, the newest first, until there are too many files in them; and count these."""
        newest: list[str] = []
        count = 0
        for folder in sorted(there, reverse=True):
            if count > self._most:
                break
            newest.append(folder)
            count += len(self._log.files(folder))
        return newest, count

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Give the files of a folder, or the newest of them."""
        files = self._log.files(folder)
        if self._is_cached or len(files) <= self._most:
            return files
        return {name: files[name] for name in sorted(files)[-self._most :]}

    def read(self, folder: str, name: str) -> bytes | None:
        """Give a file's content."""
        return self._log.read(folder, name)

    def create(self, folder: str, name: str, data: bytes) -> bool:
        """Create a file, durably."""
        return self._log.create(folder, name, data)

    def archive(self, folder: str, names: Sequence[str], day: str) -> int:
        """Move files to the archive of a day."""
        return self._log.archive(folder, names, day)
