"""Write facts into journals, and read what they add up to."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

from passdown.core.accounts import Account, fold_journal, is_last_word
from passdown.core.bookkeeping import MAX_CHARS, Said, ShowTime, fits
from passdown.core.facts import Fact, FactKind, Provenance
from passdown.core.journal import JournalLine
from passdown.core.times import to_millis
from passdown.errors import UsageError
from passdown.records import field, record
from passdown.services.checkouts import Checkout

if TYPE_CHECKING:  # see there
    from passdown.ports.clock import Entropy
    from passdown.ports.journals import Journals
    from passdown.ports.process import Processes

_CHAIN: Final = 20


@record
class Project:
    """All that sessions work with: a checkout, the journals of the project, and who runs on this machine."""

    root: Annotated[str, "The checkout's folder, absolute."]
    checkout: Annotated[Checkout, "Log, index, documents, git, clock and settings."]
    journals: Annotated["Journals", "The journals of all sessions."]
    processes: Annotated["Processes", "The processes of this machine."]
    entropy: Annotated["Entropy", "Where names come from."]
    show_time: Annotated[ShowTime, "The local time of day of an instant."]
    sweep: Annotated[
        Callable[[], int], "Removes what killed processes left behind; says how many files that were."
    ] = lambda: 0
    folded: Annotated[
        dict[str, tuple[Sequence[JournalLine], Account]],
        "What was added up before, and the lines of it.",
    ] = field(default_factory=dict[str, tuple[Sequence[JournalLine], Account]], compare=False)

    def now(self) -> datetime:
        """Give the present instant, in the precision of facts."""
        return to_millis(self.checkout.clock.now())


def read_account(project: Project, session: str) -> Account:
    """Add up the journal of a session; an account without a start for one that has none."""
    lines = project.journals.read(session)
    known = project.folded.get(session)
    if known is None or known[0] is not lines:  # what was given again did not change
        known = project.folded[session] = (lines, fold_journal(session, lines))
    return known[1]


def read_accounts(project: Project) -> Sequence[Account]:
    """Add up every journal of the project, in the order in which the sessions began."""
    return _fold_all(project, project.journals.sessions())


def _fold_all(project: Project, sessions: Iterable[str]) -> Sequence[Account]:
    accounts = [read_account(project, session) for session in sessions]
    begun = [account for account in accounts if account.started_at is not None]
    return sorted(begun, key=lambda account: (account.started_at or project.now(), account.session))


def read_before(project: Project, name: str) -> Iterator[Account]:
    """Follow the sessions that are gone on from, beginning with that one, the nearest first.

    What the oldest of a long row knew is in its events.
    """
    left = set(project.journals.sessions())
    for _ in range(_CHAIN):
        account = read_account(project, name) if name in left else Account()
        if account.started_at is None:
            return
        left.remove(name)
        yield account
        name = account.start.continues


def newest_first(project: Project) -> Sequence[str]:
    """Name the sessions that have a journal, the one that grew last first."""
    names = project.journals.sessions()
    return sorted(names, key=lambda name: (project.journals.changed(name), name), reverse=True)


def read_open(project: Project) -> Sequence[Account]:
    """Add up the journals whose last line does not say that all was published; the others are not read."""
    return [account for account in _fold_all(project, _open_sessions(project)) if not account.is_published]


def _open_sessions(project: Project) -> Iterator[str]:
    for session in project.journals.sessions():
        last = project.journals.last(session)
        if last is not None and not is_last_word(last.fact):
            yield session


def write_fact(project: Project, session: str, fact: Fact) -> JournalLine:
    """Append a fact; when this returns it survives a power cut. Raises a StorageError when it does not."""
    return project.journals.append(session, lambda seq: JournalLine(seq=seq, fact=fact))


def say(
    project: Project, account: Account, said: Said, provenance: Provenance = Provenance.STATED
) -> JournalLine:
    """Append what a session says, stamped and signed; raise a UsageError when it is too long for a line."""
    if not fits(said):
        hint = f"say it in at most {MAX_CHARS} characters; what is longer belongs into a file"
        raise UsageError(f"{said.kind.value}: a text of {len(said.text)} characters is too long", hint=hint)
    fact = make_fact(project, account, said, provenance)
    return write_fact(project, account.session, fact)


def make_fact(project: Project, account: Account, said: Said, provenance: Provenance) -> Fact:
    """Stamp and sign what a session says."""
    return Fact(
        kind=said.kind.value,
        text=_writable(said.text),
        at=project.now(),
        agent=account.agent,
        key=_writable(said.key) or None,
        because=_writable(said.because) or None,
        provenance=provenance,
    )


def _writable(text: str) -> str:
    """Show bytes that were no text as escapes: what cannot be written down would be lost."""
    return text.encode("utf-8", "backslashreplace").decode()


def beat(project: Project, account: Account) -> JournalLine:
    """Give a sign of life."""
    return say(project, account, Said(FactKind.HEARTBEAT, "alive"), Provenance.OBSERVED)
