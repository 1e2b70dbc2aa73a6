"""A project in memory in which sessions work, with a clock and processes that a test moves."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from passdown.core.accounts import NO_PROCESS, Account, Process
from passdown.core.bookkeeping import Said
from passdown.core.facts import Fact, FactKind, Provenance
from passdown.core.journal import JournalLine
from passdown.core.times import to_millis
from passdown.engines.index.memory import MemoryIndex
from passdown.engines.memory.documents import MemoryDocuments
from passdown.engines.memory.event_log import MemoryEventLog
from passdown.engines.memory.journals import MemoryJournals
from passdown.engines.memory.repository import MemoryRepository
from passdown.records import record, replace
from passdown.services.checkouts import Checkout
from passdown.services.journals import Project
from passdown.services.ledgers import Kept, keep_ledger
from passdown.services.sessions import Started, Wish, start_session
from passdown.settings import Settings
from tests.events import MovedClock

NOON: Final = datetime(2026, 1, 11, 12, tzinfo=UTC)
LEDGER: Final = "conductor/sessions/active/LEDGER.md"
ROOT: Final = "/project"
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

    def __init__(self, host: Process = NO_PROCESS) -> None:
        """Run under this host."""
        self.host = host
        self.alive: dict[Process, bool] = {host: True} if host != NO_PROCESS else {}

    def find_host(self) -> Process:
        """Give the host."""
        return self.host

    def is_alive(self, process: Process) -> bool | None:
        """Say what the test says."""
        return self.alive.get(process)


@record
class Place:
    """A project, and what a test changes about it."""

    project: Project
    clock: MovedClock
    documents: MemoryDocuments
    repository: MemoryRepository
    log: MemoryEventLog
    processes: KnownProcesses

    def start(self, **wish: object) -> Account:
        """Start a session."""
        return self.started(**wish).account

    def started(self, **wish: object) -> Started:
        """Start a session, and give all that came of it."""
        return start_session(self.project, Wish(**wish))  # type: ignore[arg-type]  # a test knows its wish

    def say(self, account: Account, kind: FactKind, text: str, key: str = "", because: str = "") -> Kept:
        """Let a session say something."""
        return keep_ledger(self.project, account, [Said(kind, text, key, because)])

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
    journals: MemoryJournals | None = None, *, root: str = ROOT, entropy: int = 0, host: Process = NO_PROCESS
) -> Place:
    """Make a project in memory; with journals of another one it is another checkout of that."""
    clock = MovedClock(NOON)
    documents = MemoryDocuments()
    repository = MemoryRepository(documents)
    log = MemoryEventLog()
    processes = KnownProcesses(host)
    checkout = Checkout(
        log=log,
        index=MemoryIndex(),
        documents=documents,
        repository=repository,
        clock=clock,
        settings=Settings(),
    )
    project = Project(
        root=root,
        checkout=checkout,
        journals=MemoryJournals() if journals is None else journals,
        processes=processes,
        entropy=CountedEntropy(entropy),
        show_time=show_time,
    )
    return Place(
        project=project,
        clock=clock,
        documents=documents,
        repository=repository,
        log=log,
        processes=processes,
    )


def with_checkout(place: Place, **changes: object) -> Project:
    """Give the project with other parts of its checkout."""
    return replace(place.project, checkout=replace(place.project.checkout, **changes))


def show_time(at: datetime) -> str:
    """Show the time of day in UTC."""
    return f"{at:%H:%M}"


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
        key=key,
        because=because,
        provenance=provenance,
        others=others,
    )
    return JournalLine(seq=seq, fact=fact)


def in_order(*facts: tuple[str, ...] | Callable[[int], JournalLine]) -> list[JournalLine]:
    """Make lines of (kind, text, key, because), numbered from 1."""
    return [one(seq) if callable(one) else make_line(seq, *one) for seq, one in enumerate(facts, 1)]
