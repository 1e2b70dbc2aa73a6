"""An `EventLog` for callers that cannot wait until a large log is read for the first time."""

from collections.abc import Mapping, Sequence

from passdown.errors import UnreadError
from passdown.ports.event_log import EventLog, FileMark


class BoundedLog:
    """A log that reads at most a given number of files that were never read before.

    1. If the cache knows the log, only new files are read, and they are few.
    2. If the cache does not know a large log, reading it would start over on every call and never finish, so
       it is refused.
    3. Without a cache only the newest files are visible: those of the last days, and the last ones in the top
       folder. Then nothing is created: what is published already may be in a file that was not read.
    """

    def __init__(self, log: EventLog, most: int, *, is_cached: bool) -> None:
        """Keep the log, the largest number of files to read, and whether there is a cache."""
        self._log = log
        self._most = most
        self._is_cached = is_cached
        self._is_cut = False

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Return the folders, or the newest of them; raise an UnreadError for a large, unknown log."""
        there = self._log.folders(known)
        if self._is_cached and known:  # 1
            return there
        newest, count = self._find_newest(there)
        if self._is_cached and count > self._most:  # 2
            raise self._unread()
        self._is_cut = self._is_cut or len(newest) < len(there)
        return {folder: there[folder] for folder in newest}  # 3

    def _find_newest(self, there: Mapping[str, int]) -> tuple[list[str], int]:
        """Return the newest folders until they hold too many files, and the number of these files."""
        newest: list[str] = []
        count = 0
        for folder in sorted(there, reverse=True):
            if count > self._most:
                break
            newest.append(folder)
            count += len(self._log.files(folder))
        return newest, count

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Return the files of a folder, or the newest of them."""
        files = self._log.files(folder)
        if self._is_cached or len(files) <= self._most:
            return files
        self._is_cut = True
        return {name: files[name] for name in sorted(files)[-self._most :]}

    def read(self, folder: str, name: str) -> bytes | None:
        """Return a file's content."""
        return self._log.read(folder, name)

    def create(self, folder: str, name: str, data: bytes) -> bool:
        """Create a file, durably; raise an UnreadError if not all files are visible."""
        if self._is_cut:  # 3
            raise self._unread()
        return self._log.create(folder, name, data)

    def _unread(self) -> UnreadError:
        hint = "run `passdown brief` to read them"
        return UnreadError(f"more than {self._most} events have not been read here yet", hint=hint)

    def archive(self, folder: str, names: Sequence[str], day: str) -> int:
        """Move files to the archive of a day."""
        return self._log.archive(folder, names, day)
