"""Archive ledgers: write a session's record before its ledger is removed (S0, R18 to R20)."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import chain, count, islice
from typing import Annotated, Final

from passdown import layout
from passdown.core.digests import sha256
from passdown.core.facts import Provenance, may_leave
from passdown.core.formats.archives import archive_file_name, render_archive
from passdown.core.formats.journal import JournalLine
from passdown.core.formats.ledgers import Ledger, parse_ledger, render_ledger
from passdown.core.kinds import FactKind
from passdown.core.paths import normal_path
from passdown.core.problems import Severity
from passdown.core.sessions.handoffs import (
    CheckoutState,
    FileChange,
    FileHash,
    Handoff,
    handoff_from_ledger,
    make_handoff,
    to_archive,
    without_events,
)
from passdown.core.sessions.ledger_sync import let_go, show_ledger
from passdown.core.sessions.session_facts import Account
from passdown.core.sessions.unpublished import open_lines, own_lines
from passdown.core.times import is_older
from passdown.errors import CacheError, FormatError, StorageError
from passdown.ports.commit_contents import ChangedLines
from passdown.ports.documents import Documents
from passdown.ports.index import EventFilter
from passdown.records import record, replace
from passdown.services.log.events import catch_up_session
from passdown.services.sessions.foreign_documents import publish_ledger
from passdown.services.sessions.journals import append_facts, list_labelled, only_of_track, read_account
from passdown.services.sessions.ledgers import (
    LedgerReading,
    OpenedLedger,
    open_ledger,
    render_filled,
    write_back,
    write_state,
)
from passdown.services.sessions.liveness import show_place
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import KeptRecords

STALE_AFTER: Final = timedelta(hours=24)
"""The time without updates after which a ledger is stale (R18)."""

STALE: Final = "stale"
SESSION_END: Final = "session-end"
RECOVERED: Final = "recovered"

_MANY: Final = 1_000
"""How many records the folder of records may have before new ones go to folders of their month."""
_MOST_FILES: Final = 200
_MOST_BYTES: Final = 16_777_216
_HASH_SIZE: Final = 16


@record
class ArchivedLedger:
    """The result of archiving a ledger."""

    path: Annotated[str, "The record's path, relative to the root; empty if there was nothing to record."]
    session: Annotated[str, "The session."]
    trigger: Annotated[str, "What triggered it."]
    ledger: Annotated[str, "The ledger's path, relative to the root."]
    is_removed: Annotated[bool, "Whether the ledger was removed."]
    redacted: Annotated[tuple[str, ...], "The rules that found the removed secrets."] = ()


@record
class _Found:
    """A ledger on disk."""

    ledger: Ledger
    data: bytes


def archive_ledger(
    workspace: Workspace,
    account: Account,
    trigger: str,
    *,
    keep: bool = False,
    opened: OpenedLedger | None = None,
) -> ArchivedLedger:
    """Archive and remove the ledger of a session, unless it is kept; unbind track and task (R38).

    1. Manual edits are recorded first. If the ledger has more than the journal, the record includes all of
       it.
    2. The record is written durably, under an unused name. An ended session without facts of its own has no
       record (C163), and neither has one that ended as usual if `[archive] sessions` is `handoff`, unless its
       ledger says more.
    3. The record of a session whose facts are all in events names the events, and does not repeat them.
    4. Only then is the ledger removed, if it has not changed since it was read.

    Raises a StorageError if the record could not be written; then the ledger stays.
    """
    is_here = account.start.checkout == workspace.root
    if opened is None and is_here and account.ended_at is None:  # 1
        opened = open_ledger(workspace, account)
        account = read_account(workspace, account.session)
    found = _fill(workspace, account, opened.reading) if opened else _read_own(workspace, account)
    own = only_of_track(workspace, account)
    handoff = make_handoff(own, read_checkout_state(workspace, account, for_record=True), trigger)
    path = _write_ledger_record(workspace, account, handoff, found)  # 2, 3
    is_removed = not keep and found is not None and _remove(workspace, account.start.ledger, found)  # 4
    if released := let_go(account):
        append_facts(workspace, account, released, Provenance.OBSERVED)
    if keep and opened is not None:
        write_back(workspace, opened)
    elif is_here:
        # The journal has everything; the next update writes the state file.
        with suppress(StorageError):
            write_state(workspace, read_account(workspace, account.session))
    return ArchivedLedger(
        path=path,
        session=account.session,
        trigger=trigger,
        ledger=account.start.ledger,
        is_removed=is_removed,
        redacted=handoff.redacted,
    )


def _shared_text(found: _Found, account: Account) -> str:
    """Return the text of a ledger, without parts that must stay on this machine (C61)."""
    ledger = replace(found.ledger, read=())
    if account.goal and not may_leave(account.goal):
        ledger = replace(ledger, goal="")
    if account.now and not may_leave(account.now):
        ledger = replace(ledger, now="")
    return found.ledger.source or "" if ledger == found.ledger else render_ledger(ledger)


def archive_stale(workspace: Workspace, live: Collection[str] = ()) -> Sequence[ArchivedLedger]:
    """Archive the ledgers here that are no longer in use (R19).

    1. Those of ended sessions whose journals are published.
    2. Others that were not updated for more than 24 hours, unless their session is running (C62).

    Ledgers stay if they cannot be read, or if their record cannot be written now. A ledger that git tracks
    and that has no journal on this machine is somebody's document, and stays too.
    """
    archived: list[ArchivedLedger] = []
    folder = workspace.settings.paths.ledgers
    for path in list(workspace.documents.list(folder)):
        found = _read(workspace, path) if path.endswith(f"/{layout.LEDGER}") else None
        if found is None:
            continue
        account = _find_owner(workspace, found.ledger.session_id or "", path)
        trigger = "" if account.session in live else _judge(workspace, found.ledger, account)
        # What cannot be archived now is archived at the next start.
        with suppress(StorageError):
            if trigger and account.session:
                archived.append(archive_ledger(workspace, account, trigger))
            elif trigger and not workspace.tracking.tracked(folder).holds(path):
                archived.append(_archive_foreign(workspace, path, found))
    return archived


def _find_owner(workspace: Workspace, label: str, path: str) -> Account:
    """Return the newest session of this checkout with an id and a ledger; an empty account without one."""
    known = list_labelled(workspace, label) if label else ()
    named = [one for one in known if one.start.ledger == path]
    return named[-1] if named and named[-1].start.checkout == workspace.root else Account()


def _judge(workspace: Workspace, ledger: Ledger, account: Account) -> str:
    """Return why a ledger should be archived; empty if it should not."""
    if account.is_published:  # 1
        return STALE if account.end_reason == RECOVERED else SESSION_END
    updated = ledger.updated
    return STALE if updated is not None and is_older(updated, workspace.now(), STALE_AFTER) else ""  # 2


def _archive_foreign(workspace: Workspace, path: str, found: _Found) -> ArchivedLedger:
    """Archive a ledger without a journal here in full, after publishing its facts."""
    publish_ledger(workspace, found.ledger, STALE)
    handoff = handoff_from_ledger(found.ledger, workspace.now(), STALE)
    record = write_record(workspace, handoff, found.data.decode())
    return ArchivedLedger(
        path=record,
        session=handoff.session,
        trigger=STALE,
        ledger=path,
        is_removed=_remove(workspace, path, found),
        redacted=handoff.redacted,
    )


def _remove(workspace: Workspace, path: str, found: _Found) -> bool:
    """Remove an archived ledger; if it stays, or a power cut brings it back, the next start does it again."""
    try:
        return workspace.documents.remove(path, found.data, kept=True, durable=False)
    except StorageError:
        return False


def _write_ledger_record(
    workspace: Workspace, account: Account, handoff: Handoff, found: _Found | None
) -> str:
    """Write a session's record and return its path; empty if it ended and needs none."""
    is_more = found is not None and found.ledger != show_ledger(account, workspace.show_time)
    if account.ended_at is not None:
        lines = workspace.journals.read(account.session)
        events = _list_events(workspace, account, lines)
        is_usual = bool(events) and handoff.trigger == SESSION_END
        is_left_out = is_usual and workspace.settings.archive.sessions is KeptRecords.HANDOFF
        if not is_more and (is_left_out or not own_lines(account.session, lines)):
            return ""
        handoff = without_events(handoff, events) if events else handoff
    return write_record(workspace, handoff, _shared_text(found, account) if found and is_more else "")


def _list_events(workspace: Workspace, account: Account, lines: Sequence[JournalLine]) -> tuple[str, ...]:
    """Return the events of a session, the oldest first; none unless they state all its facts."""
    index = workspace.index
    try:
        with index.changing():
            catch_up_session(workspace.log, index, account.agent, account.started_at)
    except CacheError:  # the record repeats what it cannot find
        return ()
    if open_lines(lines, index.published(account.session).line):
        return ()
    places = index.matching(EventFilter(agent=account.agent))
    return tuple(place.rank.id for place in reversed(places) if not place.is_retracted)


def _fill(workspace: Workspace, account: Account, reading: LedgerReading) -> _Found | None:
    """Return the session's ledger, updated with what it knows now; None if it is not its own."""
    if reading.problems or reading.ledger.session_id != account.label:
        return None
    ledger = parse_ledger(render_filled(workspace, account, reading))
    return _Found(ledger=ledger, data=reading.text.encode())


def _read_own(workspace: Workspace, account: Account) -> _Found | None:
    """Read the ledger of a session, if it is in this checkout and belongs to the session."""
    if account.start.checkout != workspace.root or not account.start.ledger:
        return None
    found = _read(workspace, account.start.ledger)
    return found if found is not None and found.ledger.session_id == account.label else None


def _read(workspace: Workspace, path: str) -> _Found | None:
    """Read a ledger; return None if it does not exist or has errors."""
    try:
        data = workspace.documents.read(path)
        ledger = parse_ledger(data.decode("utf-8"))
    except (StorageError, FormatError, UnicodeDecodeError):
        return None
    is_broken = any(one.severity is Severity.ERROR for one in ledger.problems)
    return None if is_broken else _Found(ledger=ledger, data=data)


def write_record(workspace: Workspace, handoff: Handoff, ledger: str = "") -> str:
    """Write a session's record under an unused name, unless it already exists; return its path."""
    documents = workspace.documents
    folder = workspace.settings.paths.archive
    at = handoff.at or workspace.now()
    author = handoff.agent or handoff.session
    data = render_archive(to_archive(handoff, ledger)).encode()
    places = (folder, f"{folder}/{at:%Y-%m}")
    names = (archive_file_name(at, handoff.trigger, author, number) for number in chain([0], count(2)))
    return next(path for name in names if (path := _create_record(documents, places, name, data)))


def _create_record(documents: Documents, places: tuple[str, str], name: str, data: bytes) -> str:
    """Write a record to the folder of records, or if it has many, to that of a month (C130).

    Return its path, also if it is there already; empty if another record has this name in either folder.
    """
    top, month = places
    flat = f"{top}/{name}"
    there = next((path for path in (flat, f"{month}/{name}") if documents.exists(path)), "")
    if not there:
        months = {f"{top}/{one}" for one in documents.folders(top)}
        is_full = sum(1 for _ in islice(documents.list(top, apart_from=months), _MANY)) == _MANY
        there = f"{month}/{name}" if is_full else flat
        if documents.create(there, data):
            return there
    return there if documents.read(there) == data else ""


def read_checkout_state(workspace: Workspace, account: Account, *, for_record: bool = False) -> CheckoutState:
    """Return the state of a session's checkout: branch, last commit, and hashes of its files.

    Only for a record is git started, to distinguish new files from changed ones.
    """
    is_here = account.start.checkout == workspace.root and account.ended_at is None
    paths = [entry.text for entry in account.of(FactKind.FILE)][-_MOST_FILES:]
    contents = workspace.commit_contents
    created = contents.find_created(account.start.commit, paths) if for_record else ()
    changes: Mapping[str, ChangedLines] = {}
    if for_record:
        changes = contents.count_changes(account.start.commit, paths)
    return CheckoutState(
        at=account.ended_at or workspace.now(),
        branch=show_place(workspace, account).branch,
        commit=workspace.history.head() if is_here else "",
        file_hashes=hash_files(workspace, paths),
        created=tuple(created),
        changes=tuple(FileChange(path, _show_change(changes[path])) for path in paths if path in changes),
    )


def _show_change(lines: ChangedLines) -> str:
    """Return how many lines of a file were added and removed, such as `+12 -3`."""
    return "binary" if lines.added is None else f"+{lines.added} -{lines.removed}"


def hash_files(workspace: Workspace, paths: Sequence[str]) -> tuple[FileHash, ...]:
    """Return the hash of each file; empty if it cannot be read or is too large."""
    return tuple(FileHash(path, _hash(workspace, path)) for path in paths)


def _hash(workspace: Workspace, path: str) -> str:
    documents = workspace.documents
    if normal_path(path) is None:  # the path comes from a journal or a handoff
        return ""
    try:
        data = documents.read(path) if documents.size(path) <= _MOST_BYTES else None
    except StorageError:
        return ""
    return "" if data is None else sha256(data).hexdigest()[:_HASH_SIZE]
