"""Every error that Passdown raises on purpose, each with its exit code.

::

    PassdownError            1  refused
    ├── FormatError          1  a document cannot be read; it says where
    ├── UsageError           2  the command was called wrongly
    ├── HeldError            3  another session holds it
    ├── OutdatedError        4  a view is older than its events
    ├── StorageError         5  the disk or the engine failed; try later
    │   ├── UnsureError      5  it may have been written, but it may not survive a power cut
    │   ├── UnwritableError  5  this process may not write it; it may be read
    │   ├── AwayError        5  what sessions share does not answer; nothing was granted
    │   │   ├── BrokenError      5  the connection broke before anything was changed; a new one may work
    │   │   └── UnansweredError  5  it may or may not have been done; repeat it with the same operation id
    │   ├── NoServerError    5  the project is a team's, and the settings name no server
    │   ├── OtherThreadError 5  a store belongs to the thread that opened it
    │   └── CacheError       5  a cache cannot be used; the work can be done without it
    │       └── UnreadError  5  not all events were read yet, and there is no time to do it
    └── TrackerError         1  the tracker did not do it; each says whether it can be tried again (G6)
        ├── TrackerMissingError   1  its program or its database is not there
        ├── TrackerAnswerError    1  its answer cannot be read
        ├── TrackerRefusedError   1  it refused, and trying again does not help
        ├── TrackerBusyError      5  others use it; try again
        │   └── TrackerSpentError 5  it failed for so long that it was not called again
        ├── TrackerUnsureError    5  it failed, took too long or died: look at the task before you try again
        ├── TrackerQueuedError    5  it does not answer; a later command does what is written down
        └── TrackerSyncError      5  the exchange with a remote failed; try again

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
    """A document cannot be read."""

    def __init__(self, message: str, *, line: int = 1, field: str = "", hint: str = "") -> None:
        """Store the place: lines count from 1, and the field may be empty."""
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
    """Several sessions run here, and none was named."""


class HeldError(PassdownError):
    """Another session holds what was asked for."""

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
    """Something may have been written, but it may not survive a power cut; nothing was acknowledged."""


class UnwritableError(StorageError):
    """This process may not write something, as in a sandbox; it may be read."""


class AwayError(StorageError):
    """What sessions share cannot be asked now; nothing was granted."""


class BrokenError(AwayError):
    """The connection to the engine broke, or could not be made; nothing was changed."""


class UnansweredError(AwayError):
    """The engine was told to keep a change, and did not say whether it did."""


class NoServerError(StorageError):
    """The project is a team's, and the settings name no server; nothing was granted."""


def is_away(error: BaseException | None) -> bool:
    """Return whether the engine did not answer; one that may be read and not written did (C86, C87).

    A server that the settings do not name is not away: it does not come back by itself (C159).
    """
    return isinstance(error, StorageError) and not isinstance(error, UnwritableError | NoServerError)


class OtherThreadError(StorageError):
    """A store was used in another thread than the one that opened it."""


class CacheError(StorageError):
    """A cache cannot be used; the work can be done without it."""


class UnreadError(CacheError):
    """Not all events were read yet, and what is made from them must not leave any out (C131)."""


class TrackerError(PassdownError):
    """The tracker did not do what was asked for."""

    code = "tracker"
    is_recoverable = False
    """Whether the same may succeed later (G6)."""


class TrackerMissingError(TrackerError):
    """The program of the tracker is not installed, or there is no database."""

    code = "tracker-missing"


class TrackerAnswerError(TrackerError):
    """The tracker answered something that cannot be read."""

    code = "tracker-answer"


class TrackerRefusedError(TrackerError):
    """The tracker refused what it was asked for last; what came before that may have been done."""

    code = "tracker-refused"


class TrackerBusyError(TrackerError):
    """Others use the tracker, which did nothing."""

    exit_code = 5
    code = "tracker-busy"
    is_recoverable = True


class TrackerSpentError(TrackerBusyError):
    """The tracker failed for as long as one command waits; it was not called again."""


class TrackerUnsureError(TrackerError):
    """The tracker failed, took too long or died; nobody knows whether it did what was asked for."""

    exit_code = 5
    code = "tracker-unsure"
    is_recoverable = True


class TrackerQueuedError(TrackerError):
    """The tracker does not answer; what is wanted is written down, and a later command does it."""

    exit_code = 5
    code = "tracker-queued"
    is_recoverable = True


class TrackerSyncError(TrackerError):
    """The tracker could not exchange its tasks with a remote."""

    exit_code = 5
    code = "tracker-sync"
    is_recoverable = True
