"""The workspace: everything that the services of one checkout need."""

from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:  # a workspace refers to all of them; a service loads those that it uses
    from collections.abc import Callable, Iterable, Mapping

    from passdown.core.project.metrics import Metric
    from passdown.ports.archive_branch import ArchiveBranch
    from passdown.ports.change_files import ChangeFiles
    from passdown.ports.clock import Clock, Entropy
    from passdown.ports.commit_contents import CommitContents
    from passdown.ports.coordination import Coordination
    from passdown.ports.documents import Documents
    from passdown.ports.event_log import EventLog
    from passdown.ports.file_names import FileNames
    from passdown.ports.git_history import GitHistory
    from passdown.ports.index import Index
    from passdown.ports.journals import Journals
    from passdown.ports.locks import Locks
    from passdown.ports.programs import Processes
    from passdown.ports.repository import Repository
    from passdown.ports.tracker import Tracker
    from passdown.ports.tracking import Tracking
    from passdown.services.workspace.account_cache import AccountCache
    from passdown.services.workspace.verbs import VerbRun
    from passdown.settings import Settings


class Workspace(Protocol):
    """One checkout of a project, with everything that services need.

    Each part is built on first use, so that a command loads and opens no more than it needs.
    """

    @property
    def root(self) -> str:
        """The absolute path of the checkout's folder."""
        ...

    @property
    def settings(self) -> "Settings":
        """The settings of the project."""
        ...

    @property
    def variables(self) -> "Mapping[str, str]":
        """The environment of the caller, also for programs that are started."""
        ...

    @property
    def clock(self) -> "Clock":
        """The clock."""
        ...

    @property
    def entropy(self) -> "Entropy":
        """The source of random bytes, for names."""
        ...

    @property
    def documents(self) -> "Documents":
        """The files below the root."""
        ...

    @property
    def git_documents(self) -> "Documents | None":
        """The git files that all checkouts share; None without git."""
        ...

    @property
    def repository(self) -> "Repository":
        """The repository that contains the root; there may be none."""
        ...

    @property
    def archive_branch(self) -> "ArchiveBranch":
        """The branch of the checkout, as archiving sees it."""
        ...

    @property
    def history(self) -> "GitHistory":
        """The history of that repository."""
        ...

    @property
    def commit_contents(self) -> "CommitContents":
        """The changes in its commits."""
        ...

    @property
    def tracking(self) -> "Tracking":
        """What git tracks in this checkout."""
        ...

    @property
    def file_names(self) -> "FileNames":
        """The names of the files on this machine."""
        ...

    @property
    def change_files(self) -> "ChangeFiles":
        """The states and loop ledgers of the changes in this checkout."""
        ...

    @property
    def log(self) -> "EventLog":
        """The events of this checkout."""
        ...

    @property
    def index(self) -> "Index":
        """The index of these events."""
        ...

    @property
    def journals(self) -> "Journals":
        """The journals of all sessions of the project."""
        ...

    @property
    def locks(self) -> "Locks":
        """Locks that the checkouts of the clone share."""
        ...

    @property
    def accounts(self) -> "AccountCache":
        """The accounts of these journals, as last read."""
        ...

    @property
    def processes(self) -> "Processes":
        """The processes of this machine."""
        ...

    @property
    def verb(self) -> "VerbRun":
        """The running command, and the operations it has begun."""
        ...

    @property
    def coordination(self) -> "Coordination":
        """What sessions of the project share; raises a StorageError if it cannot be used.

        Every change is recorded in the journal of its session before it is made (C142).
        """
        ...

    def open_engine(self) -> "Coordination":
        """Return the same without recording: only for the code that keeps and finishes the records."""
        ...

    def open_tracker(self) -> "Tracker":
        """Return the tracker without recording, for the same code."""
        ...

    def find_coordination(self) -> "Coordination | None":
        """Return what sessions of the project share, or None if it was never used here."""
        ...

    def read_coordination(self) -> "Coordination | None":
        """Return it for reading only; with a server, the copy of its reservations; None without a file here.

        Nothing is written or waited for.
        """
        ...

    @property
    def has_server(self) -> bool:
        """Whether the settings name a coordination server; the server is not asked."""
        ...

    @property
    def is_hook(self) -> bool:
        """Whether a hook uses it, which may only wait briefly."""
        ...

    @property
    def has_outside_tracker(self) -> bool:
        """Whether tasks are kept in an external tracker; it is not asked and not started."""
        ...

    @property
    def tracker(self) -> "Tracker":
        """The tracker; raises a UsageError if the project has none, and a TrackerError if it cannot be used.

        Every change is recorded first, as in `coordination`. A change that is queued, because the tracker
        cannot be reached, raises a TrackerQueuedError.

        Only commands use it, never hooks: it may start a slow program.
        """
        ...

    def find_tracker(self) -> "Tracker | None":
        """Return the tracker; None if there is none, or if it is the board and was never used here."""
        ...

    def now(self) -> datetime:
        """Return the current time, in the precision of facts."""
        ...

    def wait(self, seconds: float, /) -> None:
        """Wait for some seconds."""
        ...

    def show_time(self, at: datetime, /) -> str:
        """Return a time as local time of day."""
        ...

    def warn(self, text: str, /) -> None:
        """Tell the user, in one line, what was done differently from what somebody wrote."""
        ...

    def report(self, text: str, /) -> None:
        """Tell the user immediately, in one line, what takes time: waiting, or trying again."""
        ...

    def record_metrics(self, metrics: "Iterable[Metric]", /) -> None:
        """Record metrics for `passdown metrics`, if possible."""
        ...

    def sweep(self) -> int:
        """Remove what killed processes left behind, and return how many files that were.

        Files named after sessions, which those have not written for days, are deleted too.
        """
        ...

    def begin(self) -> None:
        """Begin an action, with a new allowance for waiting.

        Raises an OtherThreadError in any thread but the one that opened it (C136).
        """
        ...

    def on_close(self, act: "Callable[[], object]", /) -> None:
        """Register something to be closed together with it."""
        ...

    def close(self) -> None:
        """Close what was opened; later use opens it again."""
        ...


def list_other_roots(repository: "Repository") -> list[tuple[str, str]]:
    """Return the project's root and branch in every other checkout; the root need not exist."""
    checkouts = repository.checkouts()
    if not any(one.is_here for one in checkouts):
        return []
    below = repository.prefix() and f"/{repository.prefix()}"
    return [(f"{one.path}{below}", one.branch) for one in checkouts if not one.is_here]


class ReadLimits(NamedTuple):
    """How long a caller may wait, and how much may be read."""

    wait: float | None = None
    """Seconds to wait for other writers of the cache; None is the default."""
    lock_wait: float | None = None
    """Seconds to wait for the lock of a journal before publishing, and for other writers of what sessions
    share; None is the default."""
    most: int = 0
    """How many events that are new to an index may be read; 0 means all."""
    is_cached: bool = True


NO_LIMITS: Final = ReadLimits()
"""Wait for everything."""

UNCACHED: Final = ReadLimits(is_cached=False)
"""Wait for everything, without the cache."""
