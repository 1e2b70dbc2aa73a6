"""Write facts into journals, and fold journals into accounts."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from passdown.core.facts import Fact, Provenance
from passdown.core.formats.journal import JournalLine, Scope
from passdown.core.ids import is_id
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import MAX_CHARS, NewFact, fits_a_line
from passdown.core.sessions.session_facts import Account, fold_journal, is_final_end, name_work
from passdown.core.statements import carry
from passdown.errors import UsageError
from passdown.services.workspace.workspaces import Workspace

KEPT_LIVE: Final = 50
"""How many of the journals that grew last are never archived (C129)."""
_CHAIN: Final = 20


def read_account(workspace: Workspace, session: str) -> Account:
    """Fold the journal of a session; without a journal, the account has no start."""
    return workspace.accounts.fold(session, workspace.journals.read(session))


def only_of_track(workspace: Workspace, account: Account) -> Account:
    """Return an account without facts about other tracks; unchanged if the session has no track."""
    if not account.track:
        return account
    lines = workspace.journals.read(account.session)
    from passdown.core.sessions.track_lines import select_track_lines  # few sessions have a track

    return fold_journal(account.session, select_track_lines(lines, account.track))


def read_labelled(workspace: Workspace, label: str | None) -> Account:
    """Return the session that a ledger names, by our id or the user's; an empty account if there is none.

    Of several with the same user's id, it is the one that has not ended, or else the newest.
    """
    if not label:
        return Account()
    if is_id(label) and (account := read_account(workspace, label)).started_at is not None:
        return account
    found = (read_account(workspace, one) for one in workspace.journals.mentioning(Scope.ALL, label))
    named = [(one.ended_at is None, one.started_at, one.session) for one in found if one.start.name == label]
    return read_account(workspace, max(named)[-1]) if named else Account()


def list_labelled(workspace: Workspace, label: str) -> Sequence[Account]:
    """Return the sessions with this id in their ledgers, in the order in which they began."""
    if is_id(label) and (account := read_account(workspace, label)).started_at is not None:
        return [account] if account.label == label else []
    found = fold_all(workspace, workspace.journals.mentioning(Scope.ALL, label))
    return [one for one in found if one.label == label]


def read_accounts(workspace: Workspace, scope: Scope) -> Sequence[Account]:
    """Fold the journals of the project, in the order in which the sessions began."""
    return fold_all(workspace, workspace.journals.sessions(scope))


def fold_all(workspace: Workspace, sessions: Iterable[str]) -> Sequence[Account]:
    """Fold the journals of these sessions, in the order in which the sessions began."""
    accounts = [read_account(workspace, session) for session in sessions]
    begun = [account for account in accounts if account.started_at is not None]
    return sorted(begun, key=lambda account: (account.started_at or workspace.now(), account.session))


def read_before(workspace: Workspace, name: str) -> Iterator[Account]:
    """Yield a session and those it continues; very old ones are only found in events."""
    seen: set[str] = set()
    for _ in range(_CHAIN):
        account = read_account(workspace, name) if name and name not in seen else Account()
        if account.started_at is None:
            return
        seen.add(name)
        yield account
        name = account.start.continues


def name_now(workspace: Workspace, account: Account) -> str:
    """Return the title of a session's current step; a carried-on step is over if its session is."""
    if account.now is None:
        return "now"
    owner = account
    if account.now.session != account.session:
        owner = read_account(workspace, account.now.session)
    return name_work(account.now, is_over=owner.ended_at is not None or owner.started_at is None)


def newest_first(workspace: Workspace, sessions: Iterable[str]) -> Sequence[str]:
    """Return sessions in the order of the last change of their journals, the newest first."""
    return sorted(sessions, key=lambda name: (workspace.journals.changed(name), name), reverse=True)


def read_open(workspace: Workspace) -> Sequence[Account]:
    """Fold the journals whose last line is not a published end; the others are not read."""
    return [account for account in fold_all(workspace, _open_sessions(workspace)) if not account.is_published]


def _open_sessions(workspace: Workspace) -> Iterator[str]:
    for session in workspace.journals.sessions(Scope.LIVE):
        last = workspace.journals.last(session)
        if last is not None and not is_final_end(last.fact):
            yield session


def write_fact(workspace: Workspace, session: str, fact: Fact) -> JournalLine:
    """Append a fact durably, so that it survives a power cut; raise a StorageError if that fails."""
    return workspace.journals.append(session, lambda seq: JournalLine(seq=seq, fact=fact))


def make_line(
    workspace: Workspace, account: Account, new_fact: NewFact, provenance: Provenance, seq: int
) -> JournalLine:
    """Make the line for a new fact; a carried-on fact keeps its author and time."""
    fact = make_fact(workspace, account, new_fact, provenance)
    if new_fact.origin is None:
        return JournalLine(seq=seq, fact=fact)
    origin = new_fact.origin
    kept = fact._replace(
        at=origin.at,
        agent=origin.agent,
        session=origin.session,
        commit=origin.commit,
        provenance=origin.provenance,
        others=(*fact.others, *carry(origin)) if new_fact.kind is FactKind.DECISION else fact.others,
    )
    return JournalLine(seq=seq, fact=kept, at=fact.at, agent=fact.agent)


def append_fact(
    workspace: Workspace, account: Account, new_fact: NewFact, provenance: Provenance = Provenance.STATED
) -> JournalLine:
    """Append a fact with time and author; raise a UsageError if it is too long for a line."""
    return append_facts(workspace, account, [new_fact], provenance)[0]


def append_facts(
    workspace: Workspace, account: Account, new_facts: Sequence[NewFact], provenance: Provenance
) -> Sequence[JournalLine]:
    """Append facts in one write; raise a UsageError and write nothing if one is too long for a line."""
    require_short(new_facts)
    return workspace.journals.extend(
        account.session,
        lambda seq: [
            make_line(workspace, account, one, provenance, seq + number)
            for number, one in enumerate(new_facts)
        ],
    )


def require_short(new_facts: Sequence[NewFact]) -> None:
    """Raise a UsageError if a fact is too long for a line."""
    for one in new_facts:
        if not fits_a_line(one):
            hint = f"shorten it to {MAX_CHARS} characters; put longer text in a file"
            raise UsageError(f"{one.kind.value}: a text of {len(one.text)} characters is too long", hint=hint)


def make_fact(workspace: Workspace, account: Account, new_fact: NewFact, provenance: Provenance) -> Fact:
    """Make a fact of a session, with time and author."""
    return Fact(
        kind=new_fact.kind.value,
        text=_writable(new_fact.text),
        at=max(workspace.now(), account.touched_at or workspace.now()),
        agent=account.agent,
        key=_writable(new_fact.key),
        because=_writable(new_fact.because),
        provenance=provenance,
        commit=workspace.repository.last_commit() if new_fact.kind.row.event_key else "",
        others=new_fact.others,
    )


def _writable(text: str) -> str:
    """Escape bytes that are not text, which could not be written otherwise."""
    return text.encode("utf-8", "backslashreplace").decode()


def write_heartbeat(workspace: Workspace, account: Account, key: str = "") -> JournalLine:
    """Write a heartbeat; its key tells what it follows."""
    return append_fact(workspace, account, NewFact(FactKind.HEARTBEAT, "alive", key), Provenance.OBSERVED)
