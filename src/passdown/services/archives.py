"""Archive ledgers: the record of a session is in the archive before its ledger is gone (S0, R18 to R20)."""

import hashlib
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import count
from typing import Annotated, Final

from passdown.core.accounts import Account, may_leave
from passdown.core.archives import archive_file_name, render_archive
from passdown.core.bookkeeping import Said, show_ledger
from passdown.core.facts import FactKind, Provenance
from passdown.core.ledgers import Ledger, parse_ledger, render_ledger
from passdown.core.problems import Severity
from passdown.core.snapshots import (
    Probe,
    Snapshot,
    Surroundings,
    ledger_snapshot,
    make_snapshot,
    to_archive,
)
from passdown.core.times import is_older
from passdown.errors import FormatError, StorageError
from passdown.ports.commits import Commits
from passdown.ports.repository import UNKNOWN
from passdown.records import record, replace
from passdown.services.journals import Project, read_accounts, say
from passdown.services.ledgers import keep_ledger

STALE_AFTER: Final = timedelta(hours=24)
"""How long after it was last updated a ledger is stale (R18)."""

STALE: Final = "stale"
SESSION_END: Final = "session-end"
RECOVERED: Final = "recovered"

_LEDGER: Final = "LEDGER.md"
_MOST_FILES: Final = 200
_MOST_BYTES: Final = 16_777_216
_HASH_SIZE: Final = 16


@record
class Archived:
    """A record in the archive, and what became of the ledger."""

    path: Annotated[str, "The record's path from the root; empty when there was nothing to record."]
    session: Annotated[str, "Whose record it is."]
    trigger: Annotated[str, "What made it."]
    ledger: Annotated[str, "The ledger's path from the root."]
    is_removed: Annotated[bool, "Whether the ledger is gone."]
    redacted: Annotated[tuple[str, ...], "The rules by which secrets were taken out."] = ()


@record
class _Found:
    """A ledger on disk."""

    ledger: Ledger
    data: bytes


def archive_ledger(project: Project, account: Account, trigger: str, *, keep: bool = False) -> Archived:
    """Archive the ledger of a session and remove it, unless it is to be kept; let go of track and task (R38).

    1. Edits by hand are taken in first. A ledger that says more than the journal stands whole in the record.
    2. The record is written, durably and under a name of its own; a session that ended and said nothing
       leaves none.
    3. Only then the ledger is removed, if it is still the one that was read.

    Raises a StorageError when the record could not be written; then the ledger stays.
    """
    if account.ended_at is None:  # 1
        account = keep_ledger(project, account).account
    found = _read_own(project, account)
    is_more = found is not None and found.ledger != show_ledger(account, project.show_time)
    snapshot = make_snapshot(account, look_around(project, account), trigger)
    path = ""
    if is_more or not _was_silent(account):
        path = write_record(project, snapshot, _shared_text(found, account) if found and is_more else "")  # 2
    is_removed = not keep and found is not None and _remove(project, account.start.ledger, found)  # 3
    unbound = [Said(FactKind.BINDING, "", key) for key in ("track", "task") if getattr(account, key)]
    if keep:
        keep_ledger(project, account, unbound, provenance=Provenance.OBSERVED)
    else:
        for said in unbound:
            say(project, account, said, Provenance.OBSERVED)
    return Archived(
        path=path,
        session=account.session,
        trigger=trigger,
        ledger=account.start.ledger,
        is_removed=is_removed,
        redacted=snapshot.redacted,
    )


def _shared_text(found: _Found, account: Account) -> str:
    """Give the text of a ledger without what stays on the machine (C61); else to the byte."""
    ledger = replace(found.ledger, read=())
    if account.goal and not may_leave(FactKind.GOAL, account.goal):
        ledger = replace(ledger, goal="")
    if account.now and not may_leave(FactKind.NOW, account.now):
        ledger = replace(ledger, now="")
    return found.data.decode() if ledger == found.ledger else render_ledger(ledger)


def _was_silent(account: Account) -> bool:
    return account.ended_at is not None and not (account.goal or account.now or account.lists)


def archive_stale(project: Project, live: Collection[str] = ()) -> Sequence[Archived]:
    """Archive the ledgers here that nobody keeps any more (R19).

    1. Of a session that ended, and whose journal is published.
    2. Of whomever, when more than 24 hours passed since it was last updated; not of one that runs (C62).

    A ledger that cannot be read stays where it is, and so does one whose record cannot be written now.
    """
    accounts = {account.session: account for account in read_accounts(project)}
    archived: list[Archived] = []
    for path in list(project.checkout.documents.list(project.checkout.settings.paths.ledgers)):
        found = _read(project, path) if path.endswith(f"/{_LEDGER}") else None
        if found is None:
            continue
        account = accounts.get(found.ledger.session_id or "", Account())
        if (account.start.checkout, account.start.ledger) != (project.root, path):
            account = Account()
        trigger = "" if account.session in live else _judge(project, found.ledger, account)
        # What cannot be archived today is archived at the next start.
        with suppress(StorageError):
            if trigger and account.session:
                archived.append(archive_ledger(project, account, trigger))
            elif trigger:
                archived.append(_archive_foreign(project, path, found))
    return archived


def _judge(project: Project, ledger: Ledger, account: Account) -> str:
    """Say why a ledger is to be archived; empty when it is not."""
    if account.is_published:  # 1
        return STALE if account.end_reason == RECOVERED else SESSION_END
    updated = ledger.updated
    return STALE if updated is not None and is_older(updated, project.now(), STALE_AFTER) else ""  # 2


def _archive_foreign(project: Project, path: str, found: _Found) -> Archived:
    """Archive the ledger of a session that has no journal here; all of it stands in the record."""
    snapshot = ledger_snapshot(found.ledger, project.now(), STALE)
    record = write_record(project, snapshot, found.data.decode())
    return Archived(
        path=record,
        session=snapshot.session,
        trigger=STALE,
        ledger=path,
        is_removed=_remove(project, path, found),
        redacted=snapshot.redacted,
    )


def _remove(project: Project, path: str, found: _Found) -> bool:
    """Remove a ledger that is archived; one that cannot be removed stays, which loses nothing."""
    try:
        return project.checkout.documents.remove(path, found.data)
    except StorageError:
        return False


def _read_own(project: Project, account: Account) -> _Found | None:
    """Read the ledger of a session, if it lies here and is its own."""
    if account.start.checkout != project.root or not account.start.ledger:
        return None
    found = _read(project, account.start.ledger)
    return found if found is not None and found.ledger.session_id == account.session else None


def _read(project: Project, path: str) -> _Found | None:
    """Read a ledger; None when there is none, or it cannot be read well enough."""
    try:
        data = project.checkout.documents.read(path)
        ledger = parse_ledger(data.decode("utf-8"))
    except (StorageError, FormatError, UnicodeDecodeError):
        return None
    is_broken = any(one.severity is Severity.ERROR for one in ledger.problems)
    return None if is_broken else _Found(ledger=ledger, data=data)


def write_record(project: Project, snapshot: Snapshot, ledger: str = "") -> str:
    """Write the record of a session under a name that nobody has, and give its path.

    The same record is written once, though whoever wrote it was cut off before the ledger was removed.
    """
    documents = project.checkout.documents
    folder = project.checkout.settings.paths.archive
    at = snapshot.at or project.now()
    data = render_archive(to_archive(snapshot, ledger)).encode()
    return next(
        path
        for number in count(1)
        for path in [f"{folder}/{archive_file_name(at, snapshot.trigger, number if number > 1 else 0)}"]
        if documents.create(path, data) or documents.read(path) == data
    )


def look_around(project: Project, account: Account) -> Surroundings:
    """Say what is the case around a session: branch, last commit, and what its files hold."""
    repository = project.checkout.repository
    is_here = account.start.checkout == project.root and account.ended_at is None
    branch = repository.branch() if is_here else UNKNOWN
    paths = [entry.text for entry in account.of(FactKind.FILE)][-_MOST_FILES:]
    return Surroundings(
        at=account.ended_at or project.now(),
        branch=account.start.branch if branch == UNKNOWN else branch,
        commit=read_head(project) if is_here else "",
        probes=probe_files(project, paths),
    )


def read_head(project: Project) -> str:
    """Give the id of the last commit; empty if nobody knows."""
    repository = project.checkout.repository
    return repository.head() if isinstance(repository, Commits) else ""


def probe_files(project: Project, paths: Sequence[str]) -> tuple[Probe, ...]:
    """Take the hash of each file; empty for one that cannot be read, or is too large to be."""
    return tuple(Probe(path, _hash(project, path)) for path in paths)


def _hash(project: Project, path: str) -> str:
    documents = project.checkout.documents
    try:
        data = documents.read(path) if documents.size(path) <= _MOST_BYTES else None
    except StorageError:
        return ""
    return "" if data is None else hashlib.sha256(data).hexdigest()[:_HASH_SIZE]
