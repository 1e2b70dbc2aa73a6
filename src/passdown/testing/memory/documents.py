"""`Documents` in the memory of this process; the files live as long as the object."""

import posixpath
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final
from zlib import crc32

from passdown.errors import StorageError

SKIPPED: Final = frozenset({".git", "node_modules", ".venv"})


class MemoryDocuments:
    """Files by path; a folder exists as long as it contains a file."""

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        """Start with these files."""
        self._files: dict[str, bytes] = {}
        self._displaced: dict[str, list[bytes]] = {}
        for path, data in (files or {}).items():
            self.replace(path, data)

    def read(self, path: str, *, settled: bool = False) -> bytes:
        """Return the whole content of a file; in memory all of it is written at once."""
        del settled
        found = self._files.get(_locate(path))
        if found is None and self.is_folder(path):
            raise StorageError(f"could not read {path}: it is not a regular file", hint="Name a file.")
        if found is None:
            raise StorageError(f"{path}: no such file", hint="Check the name.")
        return found

    def list(self, folder: str, *, apart_from: Collection[str] = ()) -> Iterator[str]:
        """List the files below a folder, sorted by path."""
        place = _locate(folder)
        if place in self._files:
            raise StorageError(f"could not read {folder}: it is not a folder", hint="Name a folder.")
        start = f"{place}/" if place else ""
        apart = tuple(f"{_locate(one)}/" for one in apart_from if _locate(one) != place)
        below = [name for name in self._files if name.startswith(start) and not name.startswith(apart)]
        return iter(sorted(name for name in below if not SKIPPED & {*name.removeprefix(start).split("/")}))

    def replace(
        self,
        path: str,
        data: bytes,
        *,
        local: bool = False,
        expected: bytes | None = None,
        durable: bool = True,
    ) -> None:
        """Make a file hold exactly these bytes; `local` and `durable` change nothing in memory."""
        del local, durable
        place = _locate(path)
        if self.is_folder(path) or any(above in self._files for above in _above(place)):
            reason = f"could not write {path}: a file or folder is in the way"
            raise StorageError(reason, hint="Move it away.")
        before = self._files.get(place)
        if expected is not None and before is not None and before != expected:
            self._displaced.setdefault(place, []).append(before)
        self._files[place] = bytes(data)

    def displaced(self, path: str, seen: Collection[bytes] = ()) -> Sequence[bytes]:
        """Return the displaced contents of a file that are not in `seen`."""
        place = _locate(path)
        left = [data for data in self._displaced.get(place, ()) if data not in seen]
        self._displaced[place] = left
        return list(left)

    def create(self, path: str, data: bytes) -> bool:
        """Create a file that must not exist."""
        if self.exists(path):
            return False
        self.replace(path, data)
        return True

    def remove(self, path: str, data: bytes, *, kept: bool = False, durable: bool = True) -> bool:
        """Remove a file that holds exactly these bytes."""
        del kept, durable
        place = _locate(path)
        if self._files.get(place) != data:
            return False
        del self._files[place]
        return True

    def folders(self, folder: str) -> Mapping[str, int]:
        """Return the folders directly in a folder; their marks are made from the names in them."""
        place = _locate(folder)
        start = f"{place}/" if place else ""
        found: dict[str, set[str]] = {}
        for path in sorted(self._files):
            name, slash, rest = path.removeprefix(start).partition("/")
            if path.startswith(start) and slash:
                found.setdefault(name, set()).add(rest.partition("/")[0])
        return {name: crc32("/".join(sorted(names)).encode()) for name, names in sorted(found.items())}

    def exists(self, path: str) -> bool:
        """Return whether the path is a file or folder."""
        return _locate(path) in self._files or self.is_folder(path)

    def is_folder(self, path: str) -> bool:
        """Return whether the path is a folder; the root always is, even if it is empty."""
        place = _locate(path)
        return not place or any(name.startswith(f"{place}/") for name in self._files)

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return len(self.read(path))


def _locate(path: str) -> str:
    """Return the normalized path, or raise a StorageError if it leads out of the root."""
    place = posixpath.normpath(path or ".")
    if "\0" in path or place.startswith("/") or place.split("/")[0] == "..":
        raise StorageError(f"{path} is outside the project", hint="Name a path inside the project.")
    return "" if place == "." else place


def _above(place: str) -> Iterator[str]:
    """Return the folders that contain a file."""
    parts = place.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))
