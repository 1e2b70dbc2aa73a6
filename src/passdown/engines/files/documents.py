"""The `Documents` below a folder on this machine."""

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from passdown import layout
from passdown.engines.files import read, write
from passdown.engines.files.displaced_names import choose_displaced, is_displaced, is_leftover
from passdown.engines.files.read import OpenFolder
from passdown.engines.files.system_calls import leave_unsynced
from passdown.errors import StorageError
from passdown.records import replace

if TYPE_CHECKING:  # git is rarely asked
    from passdown.ports.documents import Documents
    from passdown.ports.tracking import Tracking

SKIPPED: Final = frozenset({".git", "node_modules", ".venv"})
"""Folders that are never searched: they belong to other tools and can be huge."""


class FileDocuments:
    """The files below one root folder, which need not exist yet."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        operations: write.FileOperations = write.HERE,
        is_checkout: bool = False,
    ) -> None:
        """Store the root as an absolute path, so that a change of the working directory does not matter.

        In a checkout, only the folder of a local file is private: those above it also hold shared files.
        """
        self._root = os.path.abspath(root)
        self._ways = operations
        self._is_checkout = is_checkout

    def read(self, path: str, *, settled: bool = False) -> bytes:
        """Return the whole content of a regular file; never blocks on a FIFO or device, follows no link."""
        full = self._locate(path)
        if full == self._root:
            raise read.unreadable(path, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
        try:
            with read.parent_of(self._root, full, by_handle=self._ways.folder_handles) as (folder, name):
                if settled:
                    return self._read_settled(path, folder, name)
                return folder.read(name, read.JOURNAL if path.endswith(".jsonl") else read.DOCUMENT)
        except OSError as error:
            raise read.unreadable(path, error) from error

    def _read_settled(self, path: str, folder: OpenFolder, name: str) -> bytes:
        from passdown.engines.files import displaced  # few files are edited by people

        with folder.opened(name) as handle:
            data = displaced.read_settled(handle, self._ways)
        if data is None:
            reason = f"could not read {path}: another program is writing to it"
            raise StorageError(reason, hint="Nothing was changed; try again when it is saved.")
        return data

    def list(self, folder: str, *, apart_from: Collection[str] = ()) -> Iterator[str]:
        full = self._locate(folder)
        top = os.path.relpath(full, self._root).replace(os.sep, "/")
        return self._list(full, "" if top == os.curdir else top + "/", apart_from)

    def replace(
        self,
        path: str,
        data: bytes,
        *,
        local: bool = False,
        expected: bytes | None = None,
        durable: bool = True,
    ) -> None:
        full = self._locate(path)
        folder = os.path.dirname(path)
        if local and self._is_checkout and not self.is_folder(folder):
            above = os.path.dirname(os.path.dirname(full))
            write.make_folder(above, local=False, operations=self._ways, root=self._root)
        ways = self._choose_ways(durable=durable)
        write.replace(full, data, local=local, expected=expected, operations=ways, root=self._root)

    def _choose_ways(self, *, durable: bool) -> write.FileOperations:
        """Return the operations with which a file is written: without a sync if it can be made again."""
        return self._ways if durable else replace(self._ways, sync=leave_unsynced)

    def displaced(self, path: str, seen: Collection[bytes] = ()) -> Sequence[bytes]:
        above, name = os.path.split(self._locate(path))
        # A folder that is missing or cannot be read holds no displaced file.
        with suppress(OSError), self._open(above) as folder:
            if names := choose_displaced((entry.name for entry in folder.scan()), name):
                from passdown.engines.files import displaced  # few files are edited by people

                return displaced.find_displaced(folder, names, seen, operations=self._ways)
        return ()

    def create(self, path: str, data: bytes) -> bool:
        return write.create(self._locate(path), data, operations=self._ways, root=self._root)

    def remove(self, path: str, data: bytes, *, kept: bool = False, durable: bool = True) -> bool:
        from passdown.engines.files import archive  # verbs do not remove files

        full, ways = self._locate(path), self._choose_ways(durable=durable)
        return archive.remove_file(full, data, kept=kept, operations=ways, root=self._root)

    def folders(self, folder: str) -> Mapping[str, int]:
        full = self._locate(folder)
        try:
            with self._open(full) as opened:
                names = sorted(entry.name for entry in opened.scan() if read.is_folder(entry))
                return {name: mark for name in names if (mark := _changed_at(opened, name))}
        except OSError:
            return {}

    def exists(self, path: str) -> bool:
        return self._mode(path) != 0

    def is_folder(self, path: str) -> bool:
        return stat.S_ISDIR(self._mode(path))

    def size(self, path: str) -> int:
        full = self._locate(path)
        try:
            return read.status(self._root, full, by_handle=self._ways.folder_handles).st_size
        except OSError as error:
            raise read.unreadable(path, error) from error

    def _locate(self, path: str) -> str:
        """Return the full path of a file, or raise a StorageError if it is outside of the root."""
        full = os.path.abspath(os.path.join(self._root, path))
        is_within = full == self._root or full.startswith(self._root.rstrip(os.sep) + os.sep)
        if not _is_a_name(path) or not is_within:
            message = f"{path} is outside the project"
            raise StorageError(message, hint="Name a path inside the project.")
        return full

    def _mode(self, path: str) -> int:
        """Return the mode of the file or folder at a path; 0 if it cannot be reached."""
        full = self._locate(path)
        try:
            return read.status(self._root, full, by_handle=self._ways.folder_handles).st_mode
        except OSError:
            return 0

    def _open(self, full: str) -> OpenFolder:
        return read.open_folder(self._root, full, by_handle=self._ways.folder_handles)

    def _list(self, full: str, prefix: str, apart_from: Collection[str]) -> Iterator[str]:
        """Yield the files below a folder; the prefix ends in ``/``, or is ``""`` for the root."""
        try:
            folder = self._open(full)
        except FileNotFoundError:
            return  # never created
        except OSError as error:
            raise read.unreadable(prefix.removesuffix("/") or ".", error) from error
        yield from self._walk(folder, prefix, apart_from)

    def _walk(
        self, folder: OpenFolder, prefix: str, apart_from: Collection[str], depth: int = 0
    ) -> Iterator[str]:
        """Yield the files below an open folder, and close it."""
        with folder:
            try:
                if depth > read.DEEPEST:
                    raise OSError(errno.ENAMETOOLONG, f"folders are nested more than {read.DEEPEST} deep")  # noqa: TRY301
                entries = [(_sort_name(entry), read.is_file(entry)) for entry in folder.scan()]
            except OSError as error:
                raise read.unreadable(prefix or ".", error) from error
            for name, is_file in sorted(entries):
                if name.removesuffix("/") in SKIPPED or is_leftover(name) or is_displaced(name):
                    continue
                if is_file:
                    yield prefix + name
                elif name.endswith("/") and (prefix + name).removesuffix("/") not in apart_from:
                    below = _enter(folder, prefix, name)
                    if below is not None:
                        yield from self._walk(below, prefix + name, apart_from, depth + 1)


def _changed_at(folder: OpenFolder, name: str) -> int:
    """Return when the list of names of a folder changed; 0 if it has just been removed."""
    try:
        return folder.status(name).st_mtime_ns
    except OSError:
        return 0


def _enter(folder: OpenFolder, prefix: str, name: str) -> OpenFolder | None:
    try:
        return folder.enter(name.removesuffix("/"))
    except FileNotFoundError:
        return None  # removed since its folder was listed
    except OSError as error:
        raise read.unreadable(prefix + name, error) from error


class UntrackedDocuments:
    """Documents that neither read nor write machine state that git tracks (C119): a commit could plant it.

    Git is asked only about state files in the runtime folder that exist.
    """

    def __init__(self, documents: "Documents", runtime: str, tracking: Callable[[], "Tracking"]) -> None:
        self._documents = documents
        self._runtime = runtime
        self._start = f"{runtime}/"
        self._tracking = tracking

    def read(self, path: str, *, settled: bool = False) -> bytes:
        self._refuse(path)
        return self._documents.read(path, settled=settled)

    def list(self, folder: str, *, apart_from: Collection[str] = ()) -> Iterator[str]:
        found = self._documents.list(folder, apart_from=apart_from)
        return (path for path in found if not self._is_hidden(path))

    def replace(
        self,
        path: str,
        data: bytes,
        *,
        local: bool = False,
        expected: bytes | None = None,
        durable: bool = True,
    ) -> None:
        self._refuse(path)
        self._documents.replace(path, data, local=local, expected=expected, durable=durable)

    def displaced(self, path: str, seen: Collection[bytes] = ()) -> Sequence[bytes]:
        return self._documents.displaced(path, seen)

    def create(self, path: str, data: bytes) -> bool:
        return self._documents.create(path, data)

    def remove(self, path: str, data: bytes, *, kept: bool = False, durable: bool = True) -> bool:
        return not self._is_hidden(path) and self._documents.remove(path, data, kept=kept, durable=durable)

    def folders(self, folder: str) -> Mapping[str, int]:
        return self._documents.folders(folder)

    def exists(self, path: str) -> bool:
        return self._documents.exists(path) and not self._is_hidden(path)

    def is_folder(self, path: str) -> bool:
        return self._documents.is_folder(path)

    def size(self, path: str) -> int:
        self._refuse(path)
        return self._documents.size(path)

    def _refuse(self, path: str) -> None:
        if self._is_hidden(path):
            message = f"could not use {path}: git tracks it, or could not say whether it does"
            raise StorageError(message, hint="Run `passdown doctor` to see how to fix it.")

    def _is_hidden(self, path: str) -> bool:
        name = path.removeprefix(self._start)
        if name == path or name.startswith(layout.SESSION_STATE) or not layout.is_machine_state(name):
            return False
        return self._documents.exists(path) and self._tracking().tracked(self._runtime).holds(path)


def _sort_name(entry: os.DirEntry[str]) -> str:
    """Return a name that sorts like the paths below it: folders end in ``/``, but links to folders do not."""
    return entry.name + "/" if read.is_folder(entry) else entry.name


def _is_a_name(path: str) -> bool:
    """Return whether the system allows a file with this name."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False
