"""Builds the workspace of one checkout, each part on first use."""

import os
from _thread import get_ident  # as in `engines/sqlite/database.py`
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from passdown import layout
from passdown.core.times import to_millis
from passdown.engines import system
from passdown.engines.files import read, write
from passdown.engines.system import SystemClock, SystemEntropy, local_time
from passdown.errors import NoServerError, OtherThreadError, StorageError, UsageError
from passdown.records import record
from passdown.services.workspace.workspaces import NO_LIMITS, ReadLimits, list_other_roots
from passdown.settings import Paths, Settings, TrackerChoice
from passdown.wiring.projects import find_coordination_url, read_settings

if TYPE_CHECKING:  # everything built here is loaded on demand
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from passdown.core.project.metrics import Metric
    from passdown.engines.git.repository import GitRepository
    from passdown.engines.patience import Patience
    from passdown.engines.process import SystemProcesses
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
    from passdown.ports.journals import EndedIndex, Journals
    from passdown.ports.locks import Locks
    from passdown.ports.programs import Processes
    from passdown.ports.repository import Repository
    from passdown.ports.tracker import Tracker
    from passdown.ports.tracking import Tracking
    from passdown.services.handover.briefs import OtherCheckoutLog
    from passdown.services.workspace.account_cache import AccountCache
    from passdown.services.workspace.verbs import VerbRun
    from passdown.services.workspace.workspaces import Workspace
    from passdown.wiring.caches import CachePlace
    from passdown.wiring.coordination import EngineFile
    from passdown.wiring.machine_state import RuntimeFolders
    from passdown.wiring.trackers import TrackerPlace

    Warn = Callable[[str], None]
    RecordMetrics = Callable[[Iterable[Metric]], object]

_LARGEST_COPY: Final = 64 * 1024 * 1024
"""The size of the largest cache that a hook copies from another checkout."""
_SWEPT: Final = 7 * 86_400
"""After this many seconds without change, a day folder is left to the doctor."""


_CLOSED: Final = ("journals", "log", "index", "coordination", "tracker", "_engine", "_tracker")
"""The parts that keep files, folders or connections open, directly or through another part."""


@record
class Outside:
    """What a workspace gets from its caller; it reads no environment itself (C136)."""

    variables: Annotated["Mapping[str, str]", "The environment of the caller."]
    warn: Annotated["Warn | None", "Called with warnings."] = None
    report: Annotated["Warn | None", "Called with what the command is waiting for."] = None
    record_metrics: Annotated["RecordMetrics | None", "Called with metrics to record."] = None
    verb: Annotated["VerbRun | None", "The command that is running, if it changes what sessions share."] = (
        None
    )


class LocalWorkspace:
    """A `Workspace` that uses the files, git and clock of this machine."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        outside: Outside,
        limits: ReadLimits = NO_LIMITS,
    ) -> None:
        """Store the root, the settings, what the caller provides, and the limits on how much is read."""
        self.root = str(root)
        self.settings = settings
        self.variables = outside.variables
        self._folder = root
        self._haste = limits
        self._outside = outside
        self._thread = get_ident()
        self._opened = ExitStack()

    @cached_property
    def clock(self) -> "Clock":
        """The clock of this machine."""
        return SystemClock()

    @cached_property
    def entropy(self) -> "Entropy":
        """The random number generator of this machine."""
        return SystemEntropy()

    @cached_property
    def documents(self) -> "Documents":
        """The files below the root, except machine state that git tracks."""
        from passdown.engines.files.documents import UntrackedDocuments  # loaded on demand

        runtime = self.settings.paths.runtime
        return UntrackedDocuments(
            open_documents(self._folder, is_checkout=True), runtime, lambda: self.tracking
        )

    @cached_property
    def git_documents(self) -> "Documents | None":
        """The git files that all checkouts share."""
        common = self._git.common_folder()
        return open_documents(Path(common)) if common else None

    @cached_property
    def _git(self) -> "GitRepository":
        from passdown.engines.git.repository import GitRepository  # loaded on demand

        return GitRepository(self._folder, variables=self.variables)

    @cached_property
    def repository(self) -> "Repository":
        """The repository that contains the root."""
        return self._git

    @cached_property
    def archive_branch(self) -> "ArchiveBranch":
        """The branch, as archiving sees it."""
        return self._git

    @cached_property
    def history(self) -> "GitHistory":
        """The history of the repository."""
        return self._git

    @cached_property
    def commit_contents(self) -> "CommitContents":
        """The changes of the repository's commits."""
        return self._git

    @cached_property
    def tracking(self) -> "Tracking":
        """The files that git tracks in the checkout."""
        return self._git

    @cached_property
    def file_names(self) -> "FileNames":
        """The names of the files on this machine."""
        from passdown.engines.file_names import LocalFileNames  # only needed to reserve files

        return LocalFileNames()

    @cached_property
    def change_files(self) -> "ChangeFiles":
        """The states and loop ledgers of the changes in the checkout."""
        from passdown.engines.files.change_files import FileChanges  # few projects have any

        return FileChanges(self.root, str(self._folder / self.settings.paths.loops), self.clock)

    @cached_property
    def log(self) -> "EventLog":
        """The events of the checkout."""
        from passdown.engines.files.event_log import FileEventLog  # loaded on demand

        paths = self.settings.paths
        log = FileEventLog(
            str(self._folder / paths.events),
            str(self._folder / paths.event_archive),
            self.clock,
            root=self.root,
        )
        self.on_close(log.close)
        if not self._haste.most:
            return log
        from passdown.engines.files.bounded_log import BoundedLog  # only hooks have a limit

        return BoundedLog(log, self._haste.most, self.clock)

    @cached_property
    def index(self) -> "Index":
        """The index of the events, from the cache or in memory."""
        from passdown.wiring.caches import open_index, open_memory_index

        if not self._haste.is_cached:
            return open_memory_index()
        place = self._cache_place
        index = open_index(place, self._haste.wait)
        self.on_close(index.close)
        return index

    @property
    def _cache_place(self) -> "CachePlace":
        from passdown.wiring.caches import CachePlace  # loaded on demand

        largest = _LARGEST_COPY if self.is_hook else None
        return CachePlace(self._folder, self.settings, self._git.common_folder(), self.tracking, largest)

    @cached_property
    def journals(self) -> "Journals":
        """The journals of the project: in git's folder, and in the local state of each checkout."""
        from passdown.engines.files.journals import LONGEST_WAIT, FileJournals  # loaded on demand

        common = self._git.common_folder()
        own = [os.path.join(common, layout.OURS)] if common else []
        roots = [self.root, *(other for other, _ in list_other_roots(self.repository))]
        runtime = self.settings.paths.runtime
        kept = {os.path.join(root, runtime, layout.JOURNALS): root for root in roots}
        folders = [*(os.path.join(folder, layout.JOURNALS) for folder in own), *kept]

        def is_ignored(folder: str, name: str) -> bool:
            root = kept.get(folder)
            if root is None or not os.path.lexists(os.path.join(folder, name)):
                return False
            return self._runtimes.is_tracked(root, layout.JOURNALS, name)

        bases = [*([common] if common else []), *roots]
        wait = LONGEST_WAIT if self._haste.lock_wait is None else self._haste.lock_wait
        journals = FileJournals(
            folders, roots=bases, is_ignored=is_ignored, wait=wait, open_index=self._open_ended
        )
        self.on_close(journals.close)
        return journals

    def _open_ended(self) -> "EndedIndex | None":
        """Open the index of ended journals; a call that asks for no cache does without."""
        from passdown.wiring.caches import CachePlace, open_ended  # few calls look for an ended session

        if not self._haste.is_cached:
            return None
        place = CachePlace(self._folder, self.settings, self._git.common_folder(), self.tracking)
        return open_ended(place, self._haste.wait)

    @cached_property
    def locks(self) -> "Locks":
        """The locks of the clone: in git's folder, or in the runtime folder without git."""
        from passdown.engines.files.locks import FileLocks  # only needed to write to a tracker

        return FileLocks(os.path.join(self._shared_folder, layout.OUTBOX))

    @cached_property
    def _runtimes(self) -> "RuntimeFolders":
        from passdown.wiring.machine_state import RuntimeFolders  # usually nothing is in these folders

        return RuntimeFolders(self.settings.paths.runtime, self.variables)

    @cached_property
    def accounts(self) -> "AccountCache":
        """The accounts of sessions already read from the journals."""
        from passdown.services.workspace.account_cache import AccountCache  # loaded on demand

        return AccountCache(self.settings.paths.ledgers)

    @property
    def processes(self) -> "Processes":
        """The processes of this machine."""
        return self._processes

    @cached_property
    def _processes(self) -> "SystemProcesses":
        from passdown.engines.process import SystemProcesses  # loaded on demand

        return SystemProcesses()

    @cached_property
    def verb(self) -> "VerbRun":
        """The command that is running; an empty one in a hook."""
        from passdown.services.workspace.verbs import VerbRun  # few calls change what is shared

        return self._outside.verb or VerbRun()

    @cached_property
    def coordination(self) -> "Coordination":
        """The coordination engine, with a record of each operation; opened on first use."""
        from passdown.services.operations.recorded_coordination import RecordedCoordination

        return RecordedCoordination(self._as_workspace, self._engine)

    @property
    def _as_workspace(self) -> "Workspace":
        # Pyright does not accept a cached property as a property; mypy does, and checks it.
        return self  # pyright: ignore[reportReturnType]

    @cached_property
    def _engine(self) -> "Coordination":
        from passdown.wiring.coordination import open_coordination  # few calls need it

        return open_coordination(self.engine_file, self.settings, self.processes)

    def open_engine(self) -> "Coordination":
        """Return the coordination engine without the records of operations."""
        return self._engine

    def open_tracker(self) -> "Tracker":
        """Return the tracker without the records of operations."""
        return self._tracker

    def find_coordination(self) -> "Coordination | None":
        """Return the coordination engine, if it has been used here.

        Hooks do without a server, because its driver alone takes longer to load than a hook may take (C77).
        """
        url = find_coordination_url(self.settings, self.variables)
        if url is None:
            return None
        if url:
            return self.coordination if self._haste.lock_wait is None else None
        places = (self._coordination_place, os.path.join(self._shared_folder, layout.COORDINATION_CHANGES))
        return self.coordination if any(map(os.path.lexists, places)) else None  # it may have been lost

    def read_coordination(self) -> "Coordination | None":
        """Return the coordination engine, opened for reading."""
        from passdown.wiring.coordination import open_for_reading  # few calls need it

        return open_for_reading(self.engine_file, self.settings, self.processes)

    @property
    def has_server(self) -> bool:
        """Whether the settings name a server; a team without a URL in the user's settings has none."""
        with suppress(UsageError, NoServerError):
            return bool(find_coordination_url(self.settings, self.variables))
        return False

    @property
    def is_hook(self) -> bool:
        """Whether a hook uses it."""
        return self._haste.lock_wait is not None

    @property
    def has_outside_tracker(self) -> bool:
        """Whether the tasks are kept in Beads."""
        from passdown.wiring.trackers import uses_beads  # few calls need it

        return uses_beads(self.settings, self._tracker_place)

    @cached_property
    def tracker(self) -> "Tracker":
        """The tracker, with a record of each operation; chosen on first use."""
        from passdown.services.operations.recorded_tracker import RecordedTracker  # few calls need it

        return RecordedTracker(self._as_workspace)

    @cached_property
    def _tracker(self) -> "Tracker":
        from passdown.wiring.trackers import open_tracker  # few calls need it

        return open_tracker(self.settings, self._tracker_place, lambda: self._engine)

    def find_tracker(self) -> "Tracker | None":
        """Return the tracker, if the project uses one."""
        if self.settings.tracker.kind is TrackerChoice.NONE:
            return None
        from passdown.wiring.trackers import uses_beads  # few calls need it

        is_used = uses_beads(self.settings, self._tracker_place) or self.find_coordination() is not None
        if not is_used:
            return None
        self.open_tracker()  # raises now if the tracker cannot be used
        return self.tracker

    @property
    def _tracker_place(self) -> "TrackerPlace":
        from passdown.wiring.trackers import TrackerPlace  # few calls need it

        common = self._git.common_folder() or ""
        return TrackerPlace(self.root, self.variables, common, self.locks.handles)

    @property
    def engine_file(self) -> "EngineFile":
        """The file through which the sessions of the clone coordinate if there is no server."""
        from passdown.wiring.coordination import EngineFile  # few calls need it

        place = self._coordination_place
        folder = os.path.dirname(place)
        copy, away = (os.path.join(folder, name) for name in (layout.COORDINATION_COPY, layout.ENGINE_AWAY))
        return EngineFile(
            path=place,
            copy=copy,
            away=away,
            variables=self.variables,
            below=self._git.prefix(),
            patience=self._patience,
            ignores_case=self._git.ignores_case(),
            workspace=self._as_workspace,
        )

    @cached_property
    def _patience(self) -> "Patience":
        """How long this call waits in total for the coordination engine; a hook waits only briefly (C144)."""
        from passdown.engines.patience import Patience  # few calls need it

        wait = self._haste.lock_wait
        return Patience(self.settings.coordination.wait_seconds if wait is None else wait, self.report)

    @property
    def _coordination_place(self) -> str:
        return os.path.join(self._shared_folder, layout.COORDINATION)

    @cached_property
    def _shared_folder(self) -> str:
        common = self._git.common_folder()
        if common:
            return os.path.join(common, layout.OURS)
        return os.path.join(self.root, self.settings.paths.runtime)

    def now(self) -> "datetime":
        """Return the current instant, in the precision of facts."""
        return to_millis(self.clock.now())

    def wait(self, seconds: float, /) -> None:
        """Sleep."""
        system.pause(seconds)

    def show_time(self, at: "datetime", /) -> str:
        """Return an instant as local time of day."""
        return local_time(at)

    def warn(self, text: str, /) -> None:
        """Pass a warning to the caller, if the caller takes warnings."""
        if self._outside.warn is not None:
            self._outside.warn(text)

    def report(self, text: str, /) -> None:
        """Tell the caller immediately what takes time, if the caller takes reports."""
        if self._outside.report is not None:
            self._outside.report(text)

    def record_metrics(self, metrics: "Iterable[Metric]", /) -> None:
        """Pass metrics to the caller, if the caller records them."""
        if self._outside.record_metrics is not None:
            self._outside.record_metrics(metrics)

    def sweep(self) -> int:
        """Remove what killed processes recently left behind, and what ended sessions left long ago."""
        from passdown.engines.files import archive  # only a start needs it
        from passdown.engines.process import SystemProcesses
        from passdown.wiring.caches import remove_caches
        from passdown.wiring.ended_files import SessionPlaces, delete_of_ended

        remove_caches(self._cache_place)
        common, paths = self._git.common_folder(), self.settings.paths
        swept, flat = swept_folders(self._folder, paths, common)
        now = self.clock.now().timestamp()
        since = now - _SWEPT
        places = SessionPlaces(self.root, paths.runtime, paths.ledgers, common or "")
        delete_of_ended(places, self.tracking, now)
        roots = [self.root, *([common] if common else [])]
        return archive.sweep(swept, SystemProcesses().is_gone, flat=flat, since=since, roots=roots)

    def begin(self) -> None:
        """Begin an action with a new waiting time; a hook has one waiting time for all of its actions."""
        self._check_thread()
        if "_processes" in vars(self):
            self._processes.forget()
        if "_patience" in vars(self) and not self.is_hook:
            self._patience.restart()

    def _check_thread(self) -> None:
        """Raise an error in another thread: stores and cached files are not shared between threads."""
        if get_ident() != self._thread:
            message = "this checkout was opened in another thread"
            raise OtherThreadError(message, hint="Open the project once in each thread.")

    def on_close(self, act: "Callable[[], object]", /) -> None:
        """Call `act` when the workspace is closed."""
        self._opened.callback(act)

    def close(self) -> None:
        """Close what was opened; later use opens it again."""
        self._check_thread()
        for part in _CLOSED:
            vars(self).pop(part, None)
        self._opened.close()


def open_workspace(
    root: Path, settings: Settings, outside: Outside, limits: ReadLimits = NO_LIMITS
) -> "Workspace":
    """Return the workspace of a checkout; nothing is read or created before a service needs it."""
    # Pyright does not accept a cached property as a property; mypy does, and checks it.
    return LocalWorkspace(root, settings, outside, limits)  # pyright: ignore[reportReturnType]


def open_documents(root: Path, *, is_checkout: bool = False) -> "Documents":
    """Return the documents below a folder of this machine."""
    from passdown.engines.files.documents import FileDocuments  # loaded on demand

    return FileDocuments(root, is_checkout=is_checkout)


def read_named(path: str, folder: str = "") -> bytes:
    """Return the content of a file that the user named; raise a StorageError if it cannot be read.

    A name that is not absolute is looked up in `folder`.
    """
    try:
        return read.read_trusted(os.path.join(folder, path))
    except OSError as found:
        raise read.unreadable(path, found) from found


def find_named(pattern: str, folder: Path) -> list[str]:
    """Return the regular files that match a pattern from the user, relative to a folder."""
    return read.find_files(pattern, folder=str(folder), recursive=True)


def open_elsewhere(workspace: "Workspace", limits: ReadLimits = NO_LIMITS) -> "list[OtherCheckoutLog]":
    """Open the logs of the project's other checkouts, skipping those whose settings cannot be read."""
    return list_logs(open_others(workspace, limits))


def list_logs(others: "Sequence[tuple[Workspace, str]]") -> "list[OtherCheckoutLog]":
    """Return the logs of other checkouts, each given with its branch."""
    from passdown.services.handover.briefs import OtherCheckoutLog  # loaded on demand

    return [OtherCheckoutLog(log=there.log, index=there.index, branch=branch) for there, branch in others]


def open_others(workspace: "Workspace", limits: ReadLimits = NO_LIMITS) -> "list[tuple[Workspace, str]]":
    """Open the project's other checkouts, each with its branch, skipping those with unreadable settings.

    They are closed together with the given workspace.
    """
    outside = Outside(variables=workspace.variables)
    found: list[tuple[Workspace, str]] = []
    for root, branch in list_other_roots(workspace.repository):
        # The user of that checkout sees the error there.
        with suppress(StorageError, UsageError):
            if os.path.isdir(root):  # is_dir() raises without permission
                settings, _ = read_settings(Path(root), outside.variables)
                there = open_workspace(Path(root), settings, outside, limits)
                workspace.on_close(there.close)
                found.append((there, branch))
    return found


def open_checkouts(workspace: "Workspace", limits: ReadLimits = NO_LIMITS) -> "list[Workspace]":
    """Open all checkouts of the project, this one first."""
    return [workspace, *(there for there, _ in open_others(workspace, limits))]


def open_with_handoffs(workspace: "Workspace", limits: ReadLimits = NO_LIMITS) -> "list[Workspace]":
    """Open the checkouts that have handoffs to one agent, read or not; usually there are none."""
    return [one for one in open_checkouts(workspace, limits) if has_handoffs(one)]


def has_handoffs(workspace: "Workspace") -> bool:
    """Return whether a checkout has handoffs to one agent, read or not."""
    folder = workspace.settings.paths.runtime
    # A folder that cannot be listed holds nothing for us.
    with suppress(StorageError):
        names = (path[len(folder) + 1 :] for path in open_documents(Path(workspace.root)).list(folder))
        return any(name.startswith((layout.ADDRESSED, layout.PROCESSED)) for name in names)
    return False


def swept_folders(root: Path, paths: Paths, common: str | None) -> tuple[list[str], list[str]]:
    """Return the folders that Passdown writes to: its own, and those in which only some files are its own."""
    ours = [os.path.join(common, layout.OURS)] if common else []
    shared = [os.path.join(common, layout.GIT_INFO)] if common else []
    written = (
        paths.ledgers,
        paths.archive,
        paths.handoffs,
        paths.events,
        paths.event_archive,
        paths.runtime,
    )
    return [*ours, *(str(root / path) for path in written)], [str(root), *shared]


def append_line(path: str, line: str) -> None:
    """Append a line to a file that the host provides for this."""
    write.append(path, f"{line}\n".encode(), local=True)
