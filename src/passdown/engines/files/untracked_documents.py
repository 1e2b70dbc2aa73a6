"""The `Documents` of a checkout without the machine state that git tracks (C119)."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from passdown import layout
from passdown.errors import StorageError

if TYPE_CHECKING:  # git is hardly ever asked
    from passdown.ports.documents import Documents
    from passdown.ports.tracking import Tracking


class UntrackedDocuments:
    """Documents in which machine state that git tracks is missing and cannot be written.

    Git is asked only about files of the runtime folder that exist and are state.
    """

    def __init__(self, documents: "Documents", runtime: str, tracking: Callable[[], "Tracking"]) -> None:
        self._documents = documents
        self._runtime = runtime
        self._start = f"{runtime}/"
        self._tracking = tracking

    def read(self, path: str, *, settled: bool = False) -> bytes:
        self._refuse(path)
        return self._documents.read(path, settled=settled)

    def list(self, folder: str) -> Iterator[str]:
        return (path for path in self._documents.list(folder) if not self._is_hidden(path))

    def replace(self, path: str, data: bytes, *, local: bool = False, expected: bytes | None = None) -> None:
        self._refuse(path)
        self._documents.replace(path, data, local=local, expected=expected)

    def displaced(self, path: str, seen: Collection[bytes] = ()) -> Sequence[bytes]:
        return self._documents.displaced(path, seen)

    def create(self, path: str, data: bytes) -> bool:
        return self._documents.create(path, data)

    def remove(self, path: str, data: bytes, *, kept: bool = False) -> bool:
        return not self._is_hidden(path) and self._documents.remove(path, data, kept=kept)

    def folders(self, folder: str) -> Sequence[str]:
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
            message = f"{path}: git tracks it, or does not say whether it does, so it is not used"
            raise StorageError(message, hint="`passdown doctor` says what to do about it.")

    def _is_hidden(self, path: str) -> bool:
        """Return whether git tracks a file of state; a session's own state file is asked about elsewhere."""
        name = path.removeprefix(self._start)
        if name == path or name.startswith(layout.SESSION_STATE) or not layout.is_machine_state(name):
            return False
        return self._documents.exists(path) and self._tracking().tracked(self._runtime).holds(path)
