"""The event log of one checkout, as files in folders: listed cheaply, read whole, never edited."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class FileMark(NamedTuple):
    """What tells that a file is still the one that was read: its size, time and number."""

    size: int
    changed: int
    number: int


class EventLog(Protocol):
    """The folders that hold events, and the files in them; names use ``/`` on every system.

    Only files that could be events or rollups are listed, never symbolic links or our own unfinished writes.
    A file or folder that goes away while we look is not there. All StorageErrors carry a hint.
    """

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Give every folder that can hold events with a mark that changes when its list of names does.

        `known` is what an earlier call gave: where the mark of the top folder is the same, its folders are
        not listed again. A mark of 0 means that the folder was changed so recently that the next change
        might not be seen: it must be listed again next time.
        """
        ...

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Give the files of one folder by name; a missing folder holds none."""
        ...

    def read(self, folder: str, name: str) -> bytes | None:
        """Give a file's whole content; None if it is gone, cannot be read, or is too large to be ours."""
        ...

    def create(self, folder: str, name: str, data: bytes) -> bool:
        """Create a file that must not exist; False if it does. When it returns True, the file is durable.

        Raises a StorageError when it cannot be written.
        """
        ...

    def archive(self, folder: str, names: Sequence[str], day: str) -> int:
        """Move files to the archive of a day, each durably there before it is gone here; say how many moved.

        A file that stands in the archive already with the same content is only removed here; one with other
        content stays where it is.
        """
        ...
