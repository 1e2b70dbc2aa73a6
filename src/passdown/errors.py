"""Every error Passdown raises on purpose, each with its exit code.

::

    PassdownError            1  refused
    ├── FormatError          1  a document cannot be read, and says where
    ├── UsageError           2  the command was called wrongly
    ├── HeldError            3  somebody else holds it
    ├── OutdatedError        4  a view is older than its events
    └── StorageError         5  the disk or the engine said no; try later
        └── CacheError       5  what can be rebuilt cannot be used; there is a way without it
            └── UnreadError  5  it would have to be built first, and there is no time

Losing a race is a value, not an error. What is not in this tree is our bug and ends with 70.
"""


class PassdownError(Exception):
    """Passdown refused; the message says what and why."""

    exit_code = 1
    code = "refused"

    def __init__(self, message: str, *, hint: str = "") -> None:
        """Keep the message and what the reader can do next."""
        super().__init__(message)
        self.message = message
        self.hint = hint


class FormatError(PassdownError):
    """A document that cannot be read at all."""

    def __init__(self, message: str, *, line: int = 1, field: str = "", hint: str = "") -> None:
        """Keep the place: the line counts from 1, the field may be empty."""
        super().__init__(message, hint=hint)
        self.line = line
        self.field = field


class UsageError(PassdownError):
    """The command was called wrongly."""

    exit_code = 2
    code = "usage"


class HeldError(PassdownError):
    """Somebody else holds what was asked for."""

    exit_code = 3
    code = "held"


class OutdatedError(PassdownError):
    """A view is older than the events it shows."""

    exit_code = 4
    code = "outdated"


class StorageError(PassdownError):
    """The disk or the engine said no; nothing was acknowledged."""

    exit_code = 5
    code = "try-later"


class CacheError(StorageError):
    """A cache cannot be used; whoever asked can do without it."""


class UnreadError(CacheError):
    """So much was never read that somebody in a hurry does not begin with it."""
