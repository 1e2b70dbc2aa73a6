"""The life of a session: it starts, gives signs of life, ends, and is recovered when it never ended."""

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Final

from passdown.core.accounts import MARK, NO_PROCESS, PUBLISHED, Account, Process, Start, make_start
from passdown.core.bookkeeping import Said
from passdown.core.facts import FactKind, Provenance
from passdown.core.ids import make_agent
from passdown.core.journal import JournalLine
from passdown.core.sessions import USUAL_MODE, read_preferred_mode
from passdown.errors import CacheError, StorageError
from passdown.records import record, replace
from passdown.services.events import Written
from passdown.services.journals import (
    Project,
    beat,
    make_fact,
    newest_first,
    read_account,
    read_open,
    say,
    write_fact,
)
from passdown.services.ledgers import is_free, keep_ledger, read_ledger
from passdown.services.presence import is_live, list_live

if TYPE_CHECKING:  # what archives and publishes is loaded when there is something to do
    from passdown.services.archives import Archived

LEDGER: Final = "LEDGER.md"
RECOVERED: Final = "recovered"
PREFERENCES: Final = "preferences.json"
"""In the folder of local state: what a person prefers, as other tools read it."""


@record
class Wish:
    """What a start asks for."""

    host: Annotated[str, "The program the agent runs in."] = "generic"
    host_session: Annotated[str, "The id the host gave the session."] = ""
    nickname: Annotated[str, "What the agent is called; the host if empty."] = ""
    track: Annotated[str, "The track to work on."] = ""
    mode: Annotated[str, "SA or MA; empty for what is preferred here."] = ""
    is_new: Annotated[bool, "Start another session, whatever there is."] = False
    is_fork: Annotated[bool, "A child of the session that the same process runs."] = False
    is_fresh: Annotated[bool, "Do not carry the goal of the last session on."] = False


@record
class Recovered:
    """A session that never ended, and what was published for it."""

    account: Account
    written: Written | None


@record
class Started:
    """A session that runs."""

    account: Account
    is_new: bool
    recovered: tuple[Recovered, ...] = ()
    archived: "tuple[Archived, ...]" = ()
    others: tuple[Account, ...] = ()


def recover(project: Project) -> tuple[Recovered, ...]:
    """Publish what sessions knew that never ended, or ended without publishing, and end them; each once.

    A session that cannot be published now is left for the next start.
    """
    recovered: list[Recovered] = []
    for account in read_open(project):
        if not is_live(project, account):
            # What cannot be written today is still in the journal tomorrow; what another one does is done.
            with suppress(StorageError, _AlreadyDoneError):
                _keep_own(project, account)
                written = _finish(project, account, RECOVERED)
                recovered.append(Recovered(account=account, written=written))
                _keep_own(project, read_account(project, account.session))
    return tuple(recovered)


def _keep_own(project: Project, account: Account) -> None:
    """Bring the ledger of a session that ended up to date, if it lies here and is still its own."""
    if account.start.checkout == project.root:
        reading = read_ledger(project, account)
        if reading.ledger.session_id == account.session and not reading.problems:
            keep_ledger(project, account)


class _AlreadyDoneError(Exception):
    """Somebody else has ended the session in the meantime."""


def _finish(project: Project, account: Account, reason: str) -> Written | None:
    """Publish what is open and write the last line; nobody adds a line in between.

    The last line comes last: cut off before it, the next start does the rest.
    """
    from passdown.services.publications import publish  # noqa: PLC0415 - see above

    written: list[Written] = []

    def make(seq: int) -> JournalLine:
        if read_account(project, account.session).is_published:
            raise _AlreadyDoneError
        event = publish(project, account.session, kind="session_end", reason=reason)
        written.extend([event] if event else [])
        ended = Said(FactKind.END, reason, PUBLISHED)
        return JournalLine(seq=seq, fact=make_fact(project, account, ended, Provenance.OBSERVED))

    project.journals.append(account.session, make)
    return written[0] if written else None


def start_session(project: Project, wish: Wish) -> Started:
    """Start a session, or give the one that runs already (C52, C53).

    1. What killed processes left behind is swept up, what never ended is recovered, and the ledgers that
       nobody keeps any more are archived.
    2. The same host session in the same checkout is the same session.
    3. A new id from the same process in the same checkout is added to its session, unless it is a fork.
    4. Otherwise a new one starts; it goes on from the one that had the host's id, or the last one here.
    """
    project.sweep()  # 1
    recovered = recover(project)
    archived = _archive_stale(project, list_live(project))
    process = project.processes.find_host()
    with _one_at_a_time(project):
        live = list_live(project)
        known = None if wish.is_new else _find_running(project, wish, live, process)
        account = _join(project, known, wish) if known else _begin(project, wish, process, live)
    others = tuple(one for one in live if one.session != account.session)
    return Started(
        account=account, is_new=known is None, recovered=recovered, archived=tuple(archived), others=others
    )


def _archive_stale(project: Project, live: Sequence[Account]) -> "Sequence[Archived]":
    """Archive the ledgers that nobody keeps any more; mostly there is none but those of who runs."""
    folder = project.checkout.settings.paths.ledgers
    kept = {one.start.ledger for one in live if one.start.checkout == project.root}
    if all(path in kept or not path.endswith(LEDGER) for path in project.checkout.documents.list(folder)):
        return ()
    from passdown.services.archives import archive_stale  # noqa: PLC0415 - see above

    return archive_stale(project, {account.session for account in live})


@contextmanager
def _one_at_a_time(project: Project) -> Generator[None, None, None]:
    """Let one session of a checkout start after the other, where the cache can be used.

    Without it two that start at the same moment may choose the same ledger; one of them then leaves it alone.
    """
    with ExitStack() as stack:
        with suppress(CacheError):
            stack.enter_context(project.checkout.index.changing())
        yield
        # Nothing was changed in the cache, so nothing can be lost with it.
        with suppress(CacheError):
            stack.close()


def _find_running(project: Project, wish: Wish, live: Sequence[Account], process: Process) -> Account | None:
    here = [one for one in live if one.start.checkout == project.root and one.start.host == wish.host]
    same = [one for one in here if wish.host_session and wish.host_session in one.host_sessions]
    if same:  # 2
        return same[-1]
    if wish.is_fork or process == NO_PROCESS:
        return None
    return next((one for one in reversed(here) if one.start.process == process), None)  # 3


def _join(project: Project, account: Account, wish: Wish) -> Account:
    if wish.host_session and wish.host_session not in account.host_sessions:
        say(project, account, Said(FactKind.HOST, wish.host_session), Provenance.OBSERVED)
    else:
        beat(project, account)
    return keep_ledger(project, read_account(project, account.session)).account


def _begin(project: Project, wish: Wish, process: Process, live: Sequence[Account]) -> Account:
    """Write the first line of a journal, carry on what is to be carried on, and render the ledger."""
    before = _find_before(project, wish)
    agent = make_agent(wish.nickname or wish.host, project.entropy.token(4))
    session = f"s-{project.entropy.token(6).hex()}"
    start = Start(
        host=wish.host,
        host_session=wish.host_session,
        checkout=project.root,
        branch=project.checkout.repository.branch(),
        ledger=_choose_ledger(project, live, agent),
        process=process,
        continues=before.session if before else "",
        is_fresh=wish.is_fresh,
        mode=wish.mode or _preferred_mode(project),
    )
    write_fact(project, session, make_start(start, project.now(), agent))
    account = read_account(project, session)
    carried = [] if before is None or wish.is_fresh else list(_carry(before))
    for said in carried:
        say(project, account, said, Provenance.OBSERVED)
    bookmarks = before.bookmarks if before else Account().bookmarks
    for name, mark in bookmarks.items():  # what was read then is not read again
        fact = make_fact(project, account, Said(FactKind.BOOKMARK, name), Provenance.OBSERVED)
        write_fact(project, session, replace(fact, others=((MARK, mark),)))
    bound = [Said(FactKind.BINDING, wish.track, "track")] if wish.track else []
    return keep_ledger(project, read_account(project, session), bound).account


def _preferred_mode(project: Project) -> str:
    """Give the mode that somebody prefers in this checkout, or the usual one."""
    path = f"{project.checkout.settings.paths.runtime}/{PREFERENCES}"
    documents = project.checkout.documents
    try:
        return read_preferred_mode(documents.read(path)) if documents.exists(path) else USUAL_MODE
    except StorageError:
        return USUAL_MODE


def _choose_ledger(project: Project, live: Sequence[Account], agent: str) -> str:
    """Give the first live session of a checkout the plain path, and every other one its own folder (C4).

    What lies there and is in no journal, such as a broken ledger or another tool's, is not taken away.
    """
    folder = project.checkout.settings.paths.ledgers
    taken = {one.start.ledger for one in live if one.start.checkout == project.root}
    plain = f"{folder}/{LEDGER}"
    return plain if plain not in taken and is_free(project, plain) else f"{folder}/{agent}/{LEDGER}"


def _find_before(project: Project, wish: Wish) -> Account | None:
    """Find the session that a new one goes on from: by the host's id, else the last that ended here."""
    order = newest_first(project)
    host = wish.host_session
    named = project.journals.mentioning(host) if host else ()
    same = (one for one in _read_ended(project, order, named) if host in one.host_sessions)
    here = (one for one in _read_ended(project, order, order) if one.start.checkout == project.root)
    return next(same, None) or next(here, None)


def _read_ended(project: Project, order: Sequence[str], wanted: Collection[str]) -> Iterator[Account]:
    """Read sessions that ended, each when it is asked for: mostly the first will do."""
    accounts = (read_account(project, name) for name in order if name in wanted)
    return (account for account in accounts if account.ended_at is not None)


def _carry(before: Account) -> Sequence[Said]:
    """Say again what the last session was to achieve and had not finished."""
    said = [Said(FactKind.GOAL, before.goal.text, before.goal.key)] if before.goal else []
    following = [entry.text for entry in before.of(FactKind.NEXT)]
    if before.now:
        said.append(Said(FactKind.NOW, before.now.text, before.now.key))
    if following:
        said.append(Said(FactKind.NEXT, "\n".join(following)))
    return said


def end_session(project: Project, account: Account, reason: str = "session-end") -> Written | None:
    """End a session: take in the last edits, publish what is open, let go of track and task.

    None when everything was published already. Cut off anywhere, the next start does the rest.
    """
    account = keep_ledger(project, account).account
    written: Written | None = None
    # Whoever was faster has published what was open.
    with suppress(_AlreadyDoneError):
        written = _finish(project, account, reason)
    keep_ledger(project, read_account(project, account.session))
    return written


def touch(project: Project, account: Account) -> Account:
    """Give a sign of life and bring the ledger up to date."""
    beat(project, account)
    return keep_ledger(project, read_account(project, account.session)).account
