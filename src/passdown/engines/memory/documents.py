"""The `Documents` in this process's memory; what is replaced survives no longer than the object."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from passdown.errors import StorageError

SKIPPED: Final = frozenset({".git", "node_modules", ".venv"})


class MemoryDocuments:
    """Files by their path; a folder is there as long as a file lies in it."""

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        """Start with these files."""
        self._files: dict[str, bytes] = {}
        for path, data in (files or {}).items():
            self.replace(path, data)

    def read(self, path: str) -> bytes:
        """Give the whole content of a file."""
        found = self._files.get(_locate(path))
        if found is None and self.is_folder(path):
            raise StorageError(f"could not read {path}: it is not a regular file", hint="Name a file.")
        if found is None:
            raise StorageError(f"{path}: no such file", hint="Check the name.")
        return found

    def list(self, folder: str) -> Iterator[str]:
        """Name the files below a folder, in the order of their paths."""
        place = _locate(folder)
        if place in self._files:
            raise StorageError(f"could not read {folder}: it is not a folder", hint="Name a folder.")
        start = f"{place}/" if place else ""
        below = [name for name in self._files if name.startswith(start)]
        return iter(sorted(name for name in below if not SKIPPED & {*name.removeprefix(start).split("/")}))

    def replace(self, path: str, data: bytes, *, local: bool = False) -> None:
        """Make a file hold exactly these bytes; nobody else can look at them anyway."""
        del local
        place = _locate(path)
        if self.is_folder(path) or any(above in self._files for above in _above(place)):
            reason = f"could not write {path}: a file or folder is in the way"
            raise StorageError(reason, hint="Move it away.")
        self._files[place] = bytes(data)

    def create(self, path: str, data: bytes) -> bool:
        """Make a file that must not exist."""
        if self.exists(path):
            return False
        self.replace(path, data)
        return True

    def remove(self, path: str, data: bytes) -> bool:
        """Remove a file that holds exactly these bytes."""
        place = _locate(path)
        if self._files.get(place) != data:
            return False
        del self._files[place]
        return True

    def folders(self, folder: str) -> Sequence[str]:
        """Name the folders that lie directly in a folder."""
        place = _locate(folder)
        start = f"{place}/" if place else ""
        below = (name.removeprefix(start).partition("/") for name in self._files if name.startswith(start))
        return sorted({name for name, slash, _ in below if slash})

    def exists(self, path: str) -> bool:
        """Say whether the path names a file or folder."""
        return _locate(path) in self._files or self.is_folder(path)

    def is_folder(self, path: str) -> bool:
        """Say whether the path names a folder; the root is one, though nothing lies in it."""
        place = _locate(path)
        return not place or any(name.startswith(f"{place}/") for name in self._files)

    def size(self, path: str) -> int:
        """Give the size of a file in bytes."""
        return len(self.read(path))


def _locate(path: str) -> str:
    """Give the one way to write a path, or raise a StorageError if it leads out of the root."""
    place = posixpath.normpath(path or ".")
    if "\0" in path or place.startswith("/") or place.split("/")[0] == "..":
        raise StorageError(f"{path}: lies outside the project", hint="Name a path below the root.")
    return "" if place == "." else place


def _above(place: str) -> Iterator[str]:
    """Name the folders that a file lies in."""
    parts = place.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))
