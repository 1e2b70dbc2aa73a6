"""A gate that one process passes at a time, before it uses a file that another library writes."""

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from os import close

from passdown.engines.files.read import open_trusted
from passdown.engines.files.system_calls import lock_in_turn
from passdown.engines.files.write import make_private
from passdown.errors import AwayError


class Gate:
    """A lock on an empty file. The system opens it when the process that holds it ends.

    Where files cannot be locked, or this one cannot be created, everybody passes: whoever needs more than
    order and less waiting must lock what is behind the gate, too.
    """

    def __init__(
        self,
        path: str,
        *,
        lock: Callable[[int, float], bool] = lock_in_turn,
        patience: float | None = None,
    ) -> None:
        """Name the file; it is created when the gate is first passed.

        `patience` is the time to wait for a process that makes no progress, in seconds.
        """
        self._path = path
        self._lock = lock
        self.patience = patience
        self.is_locked = False
        """Whether others were really kept out when the gate was last passed."""

    @contextmanager
    def passed(self, wait: float, progress: Callable[[], object] = tuple) -> Generator[None, None, None]:
        """Keep others out; raise an AwayError if they do not let us in within that many seconds.

        A process makes progress while `progress` gives something else each time.
        """
        handle, is_free, self.is_locked = None, True, False
        try:
            with suppress(OSError):  # a read-only folder, a file system without locks
                make_private(self._path)
                handle = open_trusted(self._path)
                is_free = self.is_locked = self._enter(handle, wait, progress)
            if not is_free:
                span = wait if self.patience is None else min(wait, self.patience)
                message = f"{self._path} is busy: other processes did not release it for {span:g} s"
                raise AwayError(message, hint="Nothing was changed; try again.")
            yield
        finally:
            if handle is not None:
                close(handle)

    def _enter(self, handle: int, wait: float, progress: Callable[[], object]) -> bool:
        patience = self.patience
        if patience is None or wait <= patience:
            return self._lock(handle, wait)
        before = progress()
        while wait > 0:
            if self._lock(handle, min(wait, patience)):
                return True
            wait -= patience
            last, before = before, progress()
            if before == last:
                return False
        return False
