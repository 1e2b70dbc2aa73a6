"""Every error that Passdown raises on purpose, each with its exit code.

::

    PassdownError            1  refused
    ├── FormatError          1  a document cannot be read; it says where
    ├── UsageError           2  the command was called incorrectly
    ├── HeldError            3  another session holds it
    ├── OutdatedError        4  a view is older than its events
    ├── StorageError         5  the disk or the engine failed; try later
    │   ├── UnsureError      5  the write may not survive a power cut
    │   ├── UnwritableError  5  this process may read it but not write it
    │   ├── AwayError        5  the coordination engine does not answer; nothing was granted
    │   │   ├── BrokenError      5  the connection broke before anything changed; a new one may work
    │   │   └── UnansweredError  5  the outcome is unknown; repeat it with the same operation id
    │   ├── NoServerError    5  the project belongs to a team, but the settings name no server
    │   ├── OtherThreadError 5  a store belongs to the thread that opened it
    │   └── CacheError       5  a cache cannot be used; everything works without it
    │       └── UnreadError  5  not all events have been read yet, and time is up
    └── TrackerError         1  the tracker did not do it; `is_recoverable` says whether to retry (G6)
        ├── TrackerMissingError   1  its program or its database is missing
        ├── TrackerAnswerError    1  its answer cannot be read
        ├── TrackerRefusedError   1  it refused; retrying does not help
        ├── TrackerBusyError      5  others are using it; retry
        │   └── TrackerSpentError 5  it failed for so long that it was not called again
        ├── TrackerUnsureError    5  it failed, timed out or died: look at the task before you retry
        ├── TrackerQueuedError    5  it does not answer; the change is queued for a later command
        └── TrackerSyncError      5  the exchange with a remote failed; retry

Losing a race is a value, not an error. Any other exception is a bug in Passdown and exits with 70.
"""


class PassdownError(Exception):
    """Passdown refused to do something; the message says what and why."""

    exit_code = 1
    code = "refused"

    def __init__(self, message: str, *, hint: str = "") -> None:
        """Store the message and the hint about what to do next."""
        super().__init__(message)
        self.message = message
        self.hint = hint


class FormatError(PassdownError):
    """A document cannot be read; the error says where."""

    def __init__(self, message: str, *, line: int = 1, field: str = "", hint: str = "") -> None:
        """Store the message and its place; lines count from 1, and the field may be empty."""
        super().__init__(message, hint=hint)
        self.line = line
        self.field = field


class UsageError(PassdownError):
    """The command was called incorrectly."""

    exit_code = 2
    code = "usage"


class UnknownSessionError(UsageError):
    """No session has the name that was given."""


class SeveralSessionsError(UsageError):
    """Several sessions are running here, and the command names none."""


class HeldError(PassdownError):
    """Another session holds what was requested."""

    exit_code = 3
    code = "held"


class OutdatedError(PassdownError):
    """A view is older than its events."""

    exit_code = 4
    code = "outdated"


class StorageError(PassdownError):
    """The disk or the engine failed; nothing was acknowledged."""

    exit_code = 5
    code = "try-later"


class UnsureError(StorageError):
    """A write may not survive a power cut; nothing was acknowledged."""


class UnwritableError(StorageError):
    """This process may read a store but not write it, as in a sandbox."""


class AwayError(StorageError):
    """The coordination engine cannot be reached now; nothing was granted."""


class BrokenError(AwayError):
    """The connection to the engine broke or could not be made; nothing changed."""


class UnansweredError(AwayError):
    """The engine was told to commit a change and did not confirm it; the outcome is unknown."""


class NoServerError(StorageError):
    """The project belongs to a team, but the settings name no server; nothing was granted."""


def is_away(error: BaseException | None) -> bool:
    """Return whether the engine did not answer.

    An engine that can be read but not written did answer (C86, C87). A server that the settings do not name
    is not away, because it does not come back by itself (C159).
    """
    return isinstance(error, StorageError) and not isinstance(error, UnwritableError | NoServerError)


class OtherThreadError(StorageError):
    """A store was used in another thread than the one that opened it."""


class CacheError(StorageError):
    """A cache cannot be used; everything works without it, only slower."""


class UnreadError(CacheError):
    """Not all events have been read yet, and a result that leaves some out would be wrong (C131)."""


class TrackerError(PassdownError):
    """The tracker did not do what was requested."""

    code = "tracker"
    is_recoverable = False
    """Whether the same call may succeed later (G6)."""


class TrackerMissingError(TrackerError):
    """The program of the tracker is not installed, or there is no database."""

    code = "tracker-missing"


class TrackerAnswerError(TrackerError):
    """The tracker's answer cannot be read."""

    code = "tracker-answer"


class TrackerRefusedError(TrackerError):
    """The tracker refused the last request; earlier ones may have been done."""

    code = "tracker-refused"


class TrackerBusyError(TrackerError):
    """Others are using the tracker; it did nothing."""

    exit_code = 5
    code = "tracker-busy"
    is_recoverable = True


class TrackerSpentError(TrackerBusyError):
    """The tracker failed for as long as one command waits; it was not called again."""


class TrackerUnsureError(TrackerError):
    """The tracker failed, timed out or died; it is unknown whether it did what was requested."""

    exit_code = 5
    code = "tracker-unsure"
    is_recoverable = True


class TrackerQueuedError(TrackerError):
    """The tracker does not answer; the change is queued, and a later command sends it."""

    exit_code = 5
    code = "tracker-queued"
    is_recoverable = True


class TrackerSyncError(TrackerError):
    """The tracker could not exchange its tasks with a remote."""

    exit_code = 5
    code = "tracker-sync"
    is_recoverable = True
