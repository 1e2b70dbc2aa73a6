"""A project in memory in which sessions work, with a clock and processes that a test moves."""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final

from passdown.core.coordination.members import EngineTime
from passdown.core.facts import Fact, Provenance
from passdown.core.formats.journal import JournalLine
from passdown.core.kinds import FactKind
from passdown.core.project.metrics import Metric
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import NO_PROCESS, Account, HostProcess
from passdown.core.times import to_millis
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.file_names import LocalFileNames
from passdown.engines.memory.event_log import MemoryEventLog
from passdown.engines.memory.index import MemoryIndex
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
from passdown.records import field, record, replace
from passdown.services.log.events import WrittenEvent
from passdown.services.operations.recorded_coordination import RecordedCoordination
from passdown.services.operations.recorded_tracker import RecordedTracker
from passdown.services.sessions.ledgers import LedgerUpdate, update_ledger
from passdown.services.sessions.session_end import close_session
from passdown.services.sessions.sessions import StartedSession, StartRequest, start_session
from passdown.services.workspace.account_cache import AccountCache
from passdown.services.workspace.verbs import VerbRun
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import Settings
from passdown.testing.memory.change_files import MemoryChanges
from passdown.testing.memory.coordination import MemoryStore
from passdown.testing.memory.documents import MemoryDocuments
from passdown.testing.memory.git_history import MemoryHistory
from passdown.testing.memory.journals import MemoryJournals
from passdown.testing.memory.repository import MemoryRepository
from passdown.trackers.board import Board
from tests.support.events import MovedClock

NOON: Final = datetime(2026, 1, 11, 12, tzinfo=UTC)
ROOT: Final = "/project"
LEDGER: Final = "conductor/sessions/active/LEDGER.md"
AGENT: Final = "toast-00000001"


class CountedEntropy:
    """Gives bytes that count, so that names are known."""

    def __init__(self, start: int = 0) -> None:
        """Begin after a number."""
        self._count = start

    def token(self, size: int) -> bytes:
        """Give the next number."""
        self._count += 1
        return self._count.to_bytes(size, "big")


class KnownProcesses:
    """Processes that a test lets live and die; what it does not name is unknown."""

    def __init__(self, host: HostProcess = NO_PROCESS) -> None:
        """Run under this host."""
        self.host = host
        self.alive: dict[HostProcess, bool] = {host: True} if host != NO_PROCESS else {}

    def find_host(self) -> HostProcess:
        """Give the host."""
        return self.host

    def is_alive(self, process: HostProcess) -> bool | None:
        """Say what the test says."""
        return self.alive.get(process)


def show_time(at: datetime) -> str:
    """Show the time of day in UTC."""
    return f"{at:%H:%M}"


def make_coordination() -> Coordination:
    """Make what sessions share, in memory, at a time that stands still."""
    return Coordinator(MemoryStore(lambda: EngineTime(NOON.timestamp())), "memory")


class MemoryLocks:
    """Locks of one process; whoever waits for one that is held does not get it."""

    def __init__(self) -> None:
        """Begin with none."""
        self.names: set[str] = set()

    @contextmanager
    def held(self, name: str, wait: float) -> Generator[bool, None, None]:
        """Hold a lock."""
        del wait
        is_free = name not in self.names
        self.names.add(name)
        try:
            yield is_free
        finally:
            if is_free:
                self.names.discard(name)

    def handles(self) -> tuple[int, ...]:
        """Give none."""
        return ()


@record
class MemoryWorkspace:
    """A workspace whose parts are there from the start; `replace` gives one with other parts."""

    root: str = ROOT
    settings: Settings = field(default_factory=Settings)
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    clock: Clock = field(default_factory=lambda: MovedClock(NOON))
    entropy: Entropy = field(default_factory=CountedEntropy)
    documents: Documents = field(default_factory=MemoryDocuments)
    git_documents: Documents | None = None
    repository: Repository = field(default_factory=lambda: MemoryRepository(MemoryDocuments()))
    archive_branch: ArchiveBranch = field(default_factory=lambda: MemoryRepository(MemoryDocuments()))
    history: GitHistory = field(default_factory=MemoryHistory)
    commit_contents: CommitContents = field(default_factory=MemoryHistory)
    tracking: Tracking = field(default_factory=lambda: MemoryRepository(MemoryDocuments()))
    file_names: FileNames = field(default_factory=LocalFileNames)
    change_files: ChangeFiles = field(default_factory=MemoryChanges)
    log: EventLog = field(default_factory=MemoryEventLog)
    index: Index = field(default_factory=MemoryIndex)
    journals: Journals = field(default_factory=MemoryJournals)
    accounts: AccountCache = field(default_factory=AccountCache)
    processes: Processes = field(default_factory=KnownProcesses)
    shared: Coordination = field(default_factory=make_coordination)
    show_time: Callable[[datetime], str] = show_time
    warn: Callable[[str], None] = lambda _: None
    report: Callable[[str], None] = lambda _: None
    record_metrics: Callable[[Iterable[Metric]], None] = lambda _: None
    wait: Callable[[float], None] = lambda _: None
    locks: Locks = field(default_factory=MemoryLocks)
    make_tracker: Callable[[Coordination], Tracker] = Board
    sweep: Callable[[], int] = lambda: 0
    begin: Callable[[], None] = lambda: None
    on_close: Callable[[Callable[[], object]], None] = lambda _: None
    close: Callable[[], None] = lambda: None
    has_server: bool = False
    is_hook: bool = False
    has_outside_tracker: bool = False
    verb: VerbRun = field(default_factory=VerbRun)

    @property
    def coordination(self) -> Coordination:
        """Give what sessions share, with its records."""
        return RecordedCoordination(self, self.shared)

    def open_engine(self) -> Coordination:
        """Give it without its records."""
        return self.shared

    def find_coordination(self) -> Coordination | None:
        """Give what sessions share; somebody has always used it."""
        return self.coordination

    def read_coordination(self) -> Coordination | None:
        """Give it to be looked at."""
        return self.coordination

    @property
    def tracker(self) -> Tracker:
        """Give the board, or what a test put in its place, with its records."""
        return RecordedTracker(self)

    def open_tracker(self) -> Tracker:
        """Give it without its records."""
        return self.make_tracker(self.shared)

    def find_tracker(self) -> Tracker | None:
        """Give the board; somebody has always used it."""
        self.open_tracker()
        return self.tracker

    def now(self) -> datetime:
        """Give the present instant, in the precision of facts."""
        return to_millis(self.clock.now())


@record
class Place:
    """A project, and what a test changes about it."""

    project: MemoryWorkspace
    clock: MovedClock
    documents: MemoryDocuments
    repository: MemoryRepository
    history: MemoryHistory
    log: MemoryEventLog
    processes: KnownProcesses

    def start(self, **request: object) -> Account:
        """Start a session."""
        return self.started(**request).account

    def started(self, **request: object) -> StartedSession:
        """Start a session, and give all that came of it."""
        return start_session(self.project, StartRequest(**request))  # type: ignore[arg-type]  # a test knows its wish

    def say(
        self, account: Account, kind: FactKind, text: str, key: str = "", because: str = ""
    ) -> LedgerUpdate:
        """Let a session say something."""
        return update_ledger(self.project, account, [NewFact(kind, text, key, because)])

    def pass_time(self, **span: float) -> None:
        """Move the clock on."""
        self.clock.at += timedelta(**span)

    def read(self, path: str = LEDGER) -> str:
        """Read a file."""
        return self.documents.read(path).decode()

    def write(self, text: str, path: str = LEDGER) -> None:
        """Write a file as a person would."""
        self.documents.replace(path, text.encode())

    def edit(self, old: str, new: str, path: str = LEDGER) -> None:
        """Change a part of a file as a person would."""
        text = self.read(path)
        assert text.count(old) == 1, text
        self.write(text.replace(old, new), path)

    def events(self) -> list[str]:
        """Give the texts of all events, by name."""
        found = [self.log.read("", name) for name in sorted(self.log.files(""))]
        return [data.decode() for data in found if data is not None]


def make_place(
    journals: MemoryJournals | None = None,
    *,
    root: str = ROOT,
    entropy: int = 0,
    host: HostProcess = NO_PROCESS,
    settings: Settings | None = None,
) -> Place:
    """Make a project in memory; with journals of another one it is another checkout of that."""
    clock = MovedClock(NOON)
    documents = MemoryDocuments()
    repository = MemoryRepository(documents)
    log = MemoryEventLog()
    processes = KnownProcesses(host)
    history = MemoryHistory()
    project = MemoryWorkspace(
        root=root,
        settings=settings or Settings(),
        clock=clock,
        entropy=CountedEntropy(entropy),
        documents=documents,
        repository=repository,
        tracking=repository,
        history=history,
        log=log,
        journals=MemoryJournals() if journals is None else journals,
        processes=processes,
    )
    return Place(
        project=project,
        clock=clock,
        documents=documents,
        repository=repository,
        history=history,
        log=log,
        processes=processes,
    )


def with_parts(place: Place, **changes: object) -> MemoryWorkspace:
    """Give the workspace with other parts."""
    if "coordination" in changes:
        changes["shared"] = changes.pop("coordination")
    return replace(place.project, **changes)


def make_line(
    seq: int,
    kind: str,
    text: str = "text",
    key: str | None = None,
    because: str | None = None,
    *,
    provenance: Provenance = Provenance.STATED,
    at: datetime | None = None,
    others: tuple[tuple[str, str], ...] = (),
) -> JournalLine:
    """Make a line of a journal; each is a second later than the one before."""
    fact = Fact(
        kind=str(kind),
        text=text,
        at=to_millis(at or NOON + timedelta(seconds=seq)),
        agent=AGENT,
        key=key or "",
        because=because or "",
        provenance=provenance,
        others=others,
    )
    return JournalLine(seq=seq, fact=fact)


def in_order(*facts: tuple[str, ...] | Callable[[int], JournalLine]) -> list[JournalLine]:
    """Make lines of (kind, text, key, because), numbered from 1."""
    return [one(seq) if callable(one) else make_line(seq, *one) for seq, one in enumerate(facts, 1)]


def end_session(workspace: Workspace, account: Account, reason: str = "session-end") -> WrittenEvent | None:
    """End a session and keep its ledger, as `passdown end --keep` does; give what it published."""
    return close_session(workspace, account, reason, keep=True).written
