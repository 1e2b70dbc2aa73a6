"""The life cycle of a session: it starts, sends heartbeats, and ends, or is recovered if it never ended."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Final

from passdown import layout
from passdown.core.facts import Fact, Provenance
from passdown.core.formats.journal import SESSION_END, JournalLine, Scope
from passdown.core.formats.ledgers import GENERIC
from passdown.core.formats.state_file import choose_mode, read_preferred_mode
from passdown.core.holds import PUBLISHED
from passdown.core.ids import clean_foreign, make_agent, name_file, name_person
from passdown.core.kinds import FactKind
from passdown.core.sessions.conversations import find_cleared, is_empty
from passdown.core.sessions.ledger_sync import TRACK, NewFact, carry_bindings, carry_steps
from passdown.core.sessions.session_facts import (
    MARK,
    NO_PROCESS,
    PERSON,
    Account,
    HostProcess,
    SessionStart,
    fold_journal,
    fold_without_end,
    make_start,
)
from passdown.core.sessions.track_lines import find_last_track
from passdown.errors import CacheError, FormatError, PassdownError, StorageError
from passdown.records import record, replace
from passdown.services.log.events import WrittenEvent
from passdown.services.sessions.journals import (
    append_fact,
    make_fact,
    make_line,
    newest_first,
    read_account,
    read_open,
    require_short,
    write_fact,
    write_heartbeat,
)
from passdown.services.sessions.ledgers import (
    OpenedLedger,
    is_free,
    open_ledger,
    read_ledger,
    record_displaced,
    remove_state,
    update_ledger,
)
from passdown.services.sessions.liveness import find_person_session, is_called, is_live, is_over, list_kept
from passdown.services.workspace.workspaces import Workspace

if TYPE_CHECKING:  # archiving and publishing are loaded on demand
    from passdown.services.sessions.archives import ArchivedLedger

LEDGER: Final = layout.LEDGER
RECOVERED: Final = "recovered"
"""The reason recorded for the end of a session that was recovered."""


@record
class StartRequest:
    """What a start asks for."""

    host: Annotated[str, "The program the agent runs in."] = GENERIC
    host_session: Annotated[str, "The host's id of the session."] = ""
    is_named: Annotated[
        bool, "Whether the user chose that id, which then never means another session (C123)."
    ] = False
    nickname: Annotated[str, "The agent's name; the host if empty."] = ""
    track: Annotated[str, "The track to work on."] = ""
    mode: Annotated[str, "SA or MA; empty for the preference set here."] = ""
    is_new: Annotated[bool, "Start another session even if one is running."] = False
    is_fork: Annotated[bool, "It is a child of the session of the same process."] = False
    goes_on: Annotated[bool, "After a clear or a compaction, its session gets this id (C153)."] = False
    is_fresh: Annotated[bool, "Do not carry on the goal of the last session."] = False
    team: Annotated[str, "The team of the session; empty for the setting (C150)."] = ""
    role: Annotated[str, "What the session works on; empty for the setting."] = ""
    kind: Annotated[str, "`person` for the session of a person (C122)."] = ""

    @property
    def is_plain(self) -> bool:
        """Whether it asks for just any session, without a name, track or mode."""
        given = (self.host_session, self.nickname, self.track, self.mode)
        return self.host == GENERIC and not any(given)


@record
class RecoveredSession:
    """A session that never ended, and what was published for it."""

    account: Account
    written: WrittenEvent | None
    archived: "ArchivedLedger | None" = None
    """The record of its ledger, if that is here."""


@record
class StartedSession:
    """A running session."""

    account: Account
    is_new: bool
    recovered: tuple[RecoveredSession, ...] = ()
    archived: "tuple[ArchivedLedger, ...]" = ()
    others: tuple[Account, ...] = ()

    @property
    def is_recorded(self) -> bool:
        """Whether the start did something that metrics count; usually not."""
        return bool(self.recovered or self.archived or (self.is_new and self.account.track))

    def takes_over(self, other: Account) -> bool:
        """Return whether it continues a session that crashed or went silent without ending."""
        start = self.account.start
        is_next = self.is_new and start.continues == other.session and not start.is_fresh
        return is_next and other.ended_at is None


def recover(workspace: Workspace) -> tuple[RecoveredSession, ...]:
    """Publish and end sessions that never ended, each only once; the next start retries what fails."""
    # Text that cannot be read now is kept until the next start.
    with suppress(StorageError):
        record_displaced(workspace)
    recovered: list[RecoveredSession] = []
    for account in read_open(workspace):
        if is_over(workspace, account):
            # Unwritten facts stay in the journal; or another process has already done it.
            with suppress(StorageError, _AlreadyDoneError):
                opened = _open_own(workspace, account)
                written = _finish(workspace, account, RECOVERED)
                archived = _archive_own(workspace, account, opened)
                recovered.append(RecoveredSession(account=account, written=written, archived=archived))
    return tuple(recovered)


def _open_own(workspace: Workspace, account: Account) -> OpenedLedger | None:
    """Journal manual edits of a session's ledger, if it is here and still belongs to the session."""
    if account.start.checkout != workspace.root:
        return None
    reading = read_ledger(workspace, account)
    if reading.ledger.session_id != account.label or reading.problems:
        return None
    return open_ledger(workspace, account)


def _archive_own(
    workspace: Workspace, before: Account, opened: OpenedLedger | None
) -> "ArchivedLedger | None":
    """Archive the ledger of a session that was recovered; it is not rendered again only to be read once.

    If its host told of the end, it ended as usual, and only its record was not written then.
    """
    if opened is None:
        return None
    from passdown.services.sessions.archives import SESSION_END as AS_USUAL
    from passdown.services.sessions.archives import STALE, archive_ledger

    trigger = STALE if before.ended_at is None else AS_USUAL
    with suppress(StorageError):  # the next start archives it
        return archive_ledger(workspace, read_account(workspace, before.session), trigger, opened=opened)
    return None


class _AlreadyDoneError(Exception):
    """Another process has ended the session in the meantime."""


def _finish(workspace: Workspace, account: Account, reason: str) -> WrittenEvent | None:
    """Publish what is unpublished and write the last line, while nobody else can add a line.

    If it is interrupted before the last line, the next start does the rest.
    """
    from passdown.services.sessions.publications import publishing, write_open

    written: list[WrittenEvent] = []

    def make(seq: int) -> Sequence[JournalLine]:
        if read_account(workspace, account.session).is_published:
            raise _AlreadyDoneError
        event = write_open(workspace, account.session, kind=SESSION_END, reason=reason)
        written.extend([event] if event else [])
        ended = NewFact(FactKind.END, reason, PUBLISHED)
        return [JournalLine(seq=seq, fact=make_fact(workspace, account, ended, Provenance.OBSERVED))]

    with publishing(workspace):
        workspace.journals.extend(account.session, make, alone=True)
    return written[0] if written else None


def start_session(workspace: Workspace, request: StartRequest) -> StartedSession:
    """Start a session, or return the one that is already running (C52, C53).

    1. First, leftovers of killed processes are removed, sessions that never ended are recovered, unused
       ledgers are archived, and a view that git merged is repaired if a start may commit.
    2. The same host session in the same checkout is the same session.
    3. After a clear or a compaction, a new id from the same process in the same checkout is added to the
       session whose conversation was cleared (C153). A start without an id returns the session of its
       process. An id that the user chose means the session with that name, or a new one (C123).
    4. An unnamed session of the same terminal that has done nothing becomes the requested one.
    5. Otherwise a new session starts. It continues the one that had the host's id, or the last one here. If
       the one with the host's id crashed, the new session keeps its track and task (C82).
    """
    workspace.sweep()  # 1
    recovered = recover(workspace)
    archived = [one.archived for one in recovered if one.archived is not None]
    archived += _archive_stale(workspace, list_kept(workspace))
    _repair_view(workspace)
    process = workspace.processes.find_host()
    with _one_at_a_time(workspace):
        kept = list_kept(workspace)
        live = [one for one in kept if is_live(workspace, one)]
        known = None if request.is_new else _find_running(workspace, request, kept, process)
        empty = _find_empty(workspace, request, live, process)
        if known is not None and (request.is_plain or empty is None or known.session != empty.session):
            account = _join(workspace, known, request)
        else:
            known, beside = None, [one for one in kept if one != empty]
            account = _begin(workspace, request, process, beside, empty)
    account = _read_loops(workspace, account)
    others = tuple(one for one in live if one.session != account.session and not one.start.is_person)
    return StartedSession(
        account=account, is_new=known is None, recovered=recovered, archived=tuple(archived), others=others
    )


def start_person_session(workspace: Workspace) -> Account:
    """Return the session of a person in this checkout; start one if there is none (C122).

    It recovers nothing, and continues the last one of a person here.
    """
    with _one_at_a_time(workspace):
        known = find_person_session(workspace)
        if known is not None:
            return known
        name = name_person(workspace.commit_contents.author_name())
        request = StartRequest(nickname=name, kind=PERSON)
        return _begin(workspace, request, NO_PROCESS, list_kept(workspace), None)


def _read_loops(workspace: Workspace, account: Account) -> Account:
    """Record what people wrote into loop ledgers; most projects have none."""
    if not workspace.documents.is_folder(workspace.settings.paths.loops):
        return account
    from passdown.services.sessions.loop_feedback import record_feedback

    # A start never fails because of loops; the brief reads their ledgers too.
    with suppress(CacheError):
        return record_feedback(workspace, account)
    return account


def _archive_stale(workspace: Workspace, live: Sequence[Account]) -> "Sequence[ArchivedLedger]":
    """Archive unused ledgers; usually all ledgers belong to running sessions."""
    folder = workspace.settings.paths.ledgers
    kept = {one.start.ledger for one in live if one.start.checkout == workspace.root}
    if all(path in kept or not path.endswith(LEDGER) for path in workspace.documents.list(folder)):
        return ()
    from passdown.services.sessions.archives import archive_stale

    return archive_stale(workspace, {account.session for account in live})


def _repair_view(workspace: Workspace) -> None:
    """Repair a view that git merged, in a project whose starts commit."""
    if not workspace.settings.commit.start:
        return
    from passdown.services.log.synthesis import repair_view

    # A start never fails because of the view; the next end repairs it.
    with suppress(PassdownError):
        repair_view(workspace)


@contextmanager
def _one_at_a_time(workspace: Workspace) -> Generator[None, None, None]:
    """Let the sessions of a checkout start one after another, if the cache can be used.

    Without the cache, two sessions that start at the same moment may choose the same ledger; one of them then
    leaves it alone.
    """
    with ExitStack() as stack:
        with suppress(CacheError):
            stack.enter_context(workspace.index.changing())
        yield
        # Nothing was changed in the cache, so nothing can be lost.
        with suppress(CacheError):
            stack.close()


def _find_running(
    workspace: Workspace, request: StartRequest, kept: Sequence[Account], process: HostProcess
) -> Account | None:
    if request.is_named:
        return next((one for one in reversed(kept) if is_called(one, request.host_session)), None)
    here = [one for one in kept if one.start.checkout == workspace.root and one.start.host == request.host]
    same = [one for one in here if request.host_session and request.host_session in one.host_sessions]
    if same:  # 2
        return same[-1]
    if request.is_fork or process == NO_PROCESS:
        return None
    return _find_continued(request, [one for one in here if one.start.process == process])  # 3


def _find_continued(request: StartRequest, own: Sequence[Account]) -> Account | None:
    """Return the session of its process that a start without a known id continues."""
    if request.goes_on:
        return find_cleared(own)
    return own[-1] if own and not request.host_session else None


def _find_empty(
    workspace: Workspace, request: StartRequest, live: Sequence[Account], process: HostProcess
) -> Account | None:
    """Return a session of the same terminal that has done nothing yet and may be reused."""
    if request.is_new or request.is_fork or process == NO_PROCESS:
        return None
    here = [one for one in live if one.start.checkout == workspace.root and one.start.process == process]
    empty = [one for one in here if one.start.host == GENERIC and is_empty(one)]
    return next((one for one in reversed(empty) if not _must_drop(workspace, request, one)), None)


def _must_drop(workspace: Workspace, request: StartRequest, empty: Account) -> bool:
    """Return whether an empty session carried on facts that the requested one must not have."""
    if not (empty.goal or empty.now or empty.lists):
        return False
    before = read_account(workspace, empty.start.continues)
    return request.is_fresh or _leaves_track(workspace, request, before)


def _join(workspace: Workspace, account: Account, request: StartRequest) -> Account:
    team, role = request.team or account.start.team, request.role or account.start.role
    if (team, role) != (account.start.team, account.start.role):
        start = replace(account.start, team=team, role=role, branch=account.branch)
        write_fact(workspace, account.session, make_start(start, workspace.now(), account.agent))
    if request.host_session and not is_called(account, request.host_session):
        append_fact(workspace, account, NewFact(FactKind.HOST, request.host_session), Provenance.OBSERVED)
    else:
        write_heartbeat(workspace, account)
    return update_ledger(workspace, read_account(workspace, account.session)).account


def _begin(
    workspace: Workspace,
    request: StartRequest,
    process: HostProcess,
    kept: Sequence[Account],
    empty: Account | None,
) -> Account:
    """Write the first line of a journal, carry facts over, and render the ledger.

    An empty session is reused, with its id, its ledger and the facts it carried over.
    """
    agent, start = _identify(workspace, request, process, kept, empty)
    session = empty.session if empty else f"s-{workspace.entropy.token(6).hex()}"
    before = read_account(workspace, start.continues) if start.continues else None
    first = make_start(start, workspace.now(), agent)
    is_new = before is not None and (empty is None or empty.start.continues != start.continues)
    _write_beginning(
        workspace,
        session,
        first,
        _Inheritance(
            carried=_carry_over(workspace, request, before) if is_new and before else (),
            bookmarks=before.bookmarks if is_new and before else {},
            bound=_bind(workspace, request, before),
        ),
    )
    if empty:
        remove_state(workspace, empty)
    return update_ledger(workspace, read_account(workspace, session)).account


@record
class _Inheritance:
    """What a new session knows from the beginning."""

    carried: Sequence[NewFact]
    bookmarks: Mapping[str, str]
    """How far transcripts were read, so that nothing is read twice."""
    bound: Sequence[NewFact]


def _write_beginning(workspace: Workspace, session: str, first: Fact, known: _Inheritance) -> None:
    """Write the start of a session, and what it knows from the beginning, in one write."""
    require_short([*known.carried, *known.bound])

    def make(seq: int) -> Sequence[JournalLine]:
        start = JournalLine(seq=seq, fact=first)
        account = fold_journal(session, [*workspace.journals.read(session), start])
        said = [(one, Provenance.OBSERVED) for one in known.carried]
        said += [(one, Provenance.STATED) for one in known.bound]
        lines = [
            make_line(workspace, account, one, provenance, seq + number)
            for number, (one, provenance) in enumerate(said, 1)
        ]
        for name, mark in known.bookmarks.items():
            new_fact = NewFact(FactKind.BOOKMARK, name, others=((MARK, mark),))
            fact = make_fact(workspace, account, new_fact, Provenance.OBSERVED)
            lines.append(JournalLine(seq=seq + len(lines) + 1, fact=fact))
        return [start, *lines]

    workspace.journals.extend(session, make)


def _identify(
    workspace: Workspace,
    request: StartRequest,
    process: HostProcess,
    kept: Sequence[Account],
    empty: Account | None,
) -> tuple[str, SessionStart]:
    """Return the agent of a session and everything else that identifies it."""
    before = _find_before(workspace, request)
    name = _choose_name(request, kept)
    agent = make_agent(request.nickname or name or request.host, workspace.entropy.token(4))
    states = workspace.documents.list(workspace.settings.paths.runtime) if name else ()
    return agent, SessionStart(
        host=request.host,
        host_session=request.host_session,
        name=name,
        file=name_file(name, filter(None, map(layout.state_owner, states))) if name else "",
        checkout=workspace.root,
        branch=workspace.repository.branch(),
        commit=workspace.repository.last_commit(),
        ledger=empty.start.ledger if empty else _choose_ledger(workspace, request, kept, agent),
        process=process,
        continues=before.session if before else "",
        is_fresh=request.is_fresh,
        mode=foresee_mode(workspace, request.mode, [one for one in kept if is_live(workspace, one)]),
        team=request.team or workspace.settings.session.team,
        role=request.role or workspace.settings.session.role,
        kind=request.kind,
    )


def _carry_over(workspace: Workspace, request: StartRequest, before: Account) -> Sequence[NewFact]:
    """Return the goal, now and next that a session takes over from the one it continues."""
    if request.is_fresh or _leaves_track(workspace, request, before):
        return ()
    aims = [fact for fact in (before.goal, before.now) if fact]
    carried = [NewFact(FactKind(fact.kind), fact.text, fact.key, origin=fact) for fact in aims]
    return (*carried, *carry_steps(before.of(FactKind.NEXT)))


def _leaves_track(workspace: Workspace, request: StartRequest, before: Account) -> bool:
    """Return whether the last session worked on another track than the requested one."""
    if not request.track:
        return False
    return find_last_track(workspace.journals.read(before.session)) not in {"", request.track}


def _bind(workspace: Workspace, request: StartRequest, before: Account | None) -> Sequence[NewFact]:
    """Return the facts that bind a new session.

    1. To the requested track.
    2. If a session with the same host id crashed, to its track and task, which its recovery released (C82).
    """
    dead = Account()
    is_same = before is not None and request.host_session in before.host_sessions and not request.is_fresh
    if before is not None and is_same and before.end_reason == RECOVERED:
        dead = fold_without_end(before.session, workspace.journals.read(before.session))
    if request.track and request.track != dead.track:  # 1
        return [NewFact(FactKind.BINDING, request.track, TRACK)]
    return carry_bindings(dead)  # 2


def foresee_mode(workspace: Workspace, asked: str, live: Sequence[Account]) -> str:
    """Return the mode of a session that starts beside the running ones."""
    is_shared = any(not one.start.is_person for one in live) or workspace.has_server
    return choose_mode(asked, find_preferred_mode(workspace), is_shared=is_shared)


def find_preferred_mode(workspace: Workspace) -> str:
    """Return the user's preferred mode in this checkout; empty if there is none."""
    path = f"{workspace.settings.paths.runtime}/{layout.PREFERENCES}"
    documents = workspace.documents
    try:
        return read_preferred_mode(documents.read(path)) if documents.exists(path) else ""
    except StorageError:
        return ""


def _choose_name(request: StartRequest, kept: Sequence[Account]) -> str:
    """Return the id that the user gave a new session, unless another has it or it is not one line."""
    if not request.is_named or any(one.start.name == request.host_session for one in kept):
        return ""
    with suppress(FormatError):  # such an id can only be used in commands
        return clean_foreign(request.host_session)
    return ""


def _choose_ledger(workspace: Workspace, request: StartRequest, kept: Sequence[Account], agent: str) -> str:
    """Return the plain path for the first live agent of a checkout, else one in its own folder (C4).

    A ledger without a journal, such as a broken one or another tool's, is not overwritten.
    """
    folder, name = workspace.settings.paths.ledgers, _choose_name(request, kept)
    if request.kind:
        return f"{folder}/{agent}/{LEDGER}"
    taken = {one.start.ledger for one in kept if one.start.checkout == workspace.root}
    plain = f"{folder}/{LEDGER}"
    return plain if plain not in taken and is_free(workspace, plain, name) else f"{folder}/{agent}/{LEDGER}"


def _find_before(workspace: Workspace, request: StartRequest) -> Account | None:
    """Return the session that a new one continues: by the host's id, else the last one that ended here.

    A person continues a person's, and an agent an agent's.
    """
    host = request.host_session
    named = workspace.journals.mentioning(Scope.ALL, host) if host else ()
    same = (one for one in _read_ended(workspace, named) if host in one.host_sessions)
    live = workspace.journals.sessions(Scope.LIVE)  # the last ones to end are among them
    here = (one for one in _read_ended(workspace, live) if one.start.checkout == workspace.root)
    return next(same, None) or next((one for one in here if one.start.kind == request.kind), None)


def _read_ended(workspace: Workspace, sessions: Iterable[str]) -> Iterator[Account]:
    """Yield those that ended, the newest first, each read on demand: usually the first one is enough."""
    accounts = (read_account(workspace, name) for name in newest_first(workspace, sessions))
    return (account for account in accounts if account.ended_at is not None)


def publish_end(workspace: Workspace, account: Account, reason: str) -> WrittenEvent | None:
    """Publish what is unpublished and end a session; return None if there was nothing to publish."""
    with suppress(_AlreadyDoneError):  # another process has already published it
        return _finish(workspace, account, reason)
    return None


def touch(workspace: Workspace, account: Account) -> Account:
    """Write a heartbeat and bring the ledger up to date."""
    write_heartbeat(workspace, account)
    return update_ledger(workspace, read_account(workspace, account.session)).account
