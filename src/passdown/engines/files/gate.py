"""A gate that one process passes at a time, before it uses a file that another library writes."""

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from os import close

from passdown.engines.files.read import open_trusted
from passdown.engines.files.system_calls import lock_in_turn
from passdown.engines.files.write import make_private
from passdown.engines.patience import Patience
from passdown.errors import AwayError


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
    def passed(self, wait: float | Patience) -> Generator[None, None, None]:
        """Keep others out; raise an AwayError if they do not let us in within that many seconds."""
        patience = wait if isinstance(wait, Patience) else Patience(wait)
        handle, is_free = None, True
        try:
            with suppress(OSError):  # a read-only folder, a file system without locks
                make_private(self._path)
                handle = open_trusted(self._path)
                is_free = self._enter(handle, patience)
            if not is_free:
                span = f"{patience.seconds:g} s"
                message = f"{self._path} is busy: other processes did not release it for {span}"
                raise AwayError(message, hint="Nothing was changed; try again.")
            yield
        finally:
            if handle is not None:
                close(handle)

    def _enter(self, handle: int, patience: Patience) -> bool:
        """Wait for one's turn; whoever waits on keeps its place, because it is the same open file."""
        what = f"another process to release {self._path}"
        return any(self._lock(handle, seconds) for seconds in patience.waits(what))
