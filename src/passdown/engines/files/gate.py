"""A gate that one process passes at a time, before it uses a file that another library writes."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from os import close

from passdown.engines.files.read import open_trusted
from passdown.engines.files.system_calls import lock_in_turn
from passdown.engines.files.write import make_private
from passdown.errors import StorageError


class Gate:
    """A lock on an empty file. The system opens it when the process that holds it ends.

    Where files cannot be locked, or this one cannot be created, everybody passes: whoever needs more than
    order and less waiting must lock what is behind the gate, too.
    """

    def __init__(self, path: str, *, lock: Callable[[int, float], bool] = lock_in_turn) -> None:
        """Name the file; it is created when the gate is first passed."""
        self._path = path
        self._lock = lock

    @contextmanager
    def passed(self, wait: float) -> Generator[None, None, None]:
        """Keep others out; raise a StorageError if they do not let us in within that many seconds."""
        with ExitStack() as stack:
            is_free = True
            with suppress(OSError):  # a read-only folder, a file system without locks
                make_private(self._path)
                handle = open_trusted(self._path)
                stack.callback(close, handle)
                is_free = self._lock(handle, wait)
            if not is_free:
                message = f"{self._path} is busy: other processes did not release it for {wait:g} s"
                raise StorageError(message, hint="Nothing was changed; try again.")
            yield
