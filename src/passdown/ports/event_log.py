"""The event log of one checkout, as files in folders: cheap to list, read as a whole, never edited."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class FileMark(NamedTuple):
    """The size, time and inode number of a file, which show whether it has changed since it was read."""

    size: int
    changed: int
    number: int


class EventLog(Protocol):
    """The folders that hold events, and the files in them; names use ``/`` on every system.

    Only files that could be events or rollups are listed, never symbolic links or our own unfinished writes.
    A file or folder that disappears during a call counts as missing. All StorageErrors carry a hint.
    """

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Return every folder that can hold events, with a mark that changes when its list of names does.

        `known` is the result of an earlier call: if the mark of the top folder is unchanged, its folders are
        not listed again. A mark of 0 means that the folder changed so recently that its next change might go
        unnoticed, so it must be listed again next time. Raises a StorageError if a link is in the path of the
        top folder, because it could lead to the events of another project.
        """
        ...

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Return the files of one folder by name; a missing folder has none."""
        ...

    def read(self, folder: str, name: str) -> bytes | None:
        """Return a file's whole content, or None if it is gone, unreadable, or too large to be ours."""
        ...

    def may_read(self, events: int = 0) -> bool:
        """Count events that were just read for an index; return whether more of them may be read now.

        A log opened by a hook allows it only a portion of the new events; the next hook continues (C131).
        """
        ...

    def create(self, folder: str, name: str, data: bytes) -> bool:
        """Create a file; return False if it already exists. When it returns True, the file is durable.

        Raises a StorageError if the file cannot be written.
        """
        ...

    def archive(self, folder: str, names: Sequence[str], day: str) -> int:
        """Move files to the archive of a day; return how many were moved.

        Each file is durable in the archive before it is removed here. A file that the archive already holds
        with the same content is only removed here; if the content differs, the file stays where it is.
        """
        ...

    def discard(self, folder: str, files: Mapping[str, bytes], *, is_archived: bool = False) -> Sequence[str]:
        """Remove the files of a folder that hold exactly these bytes; return their names.

        With `is_archived`, `folder` is a day of the archive; it is removed when it is empty. Raises a
        StorageError if a file cannot be removed; what was removed before stays removed.
        """
        ...
