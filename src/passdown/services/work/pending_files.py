"""Keep the seed's files of queued tracker changes in step with the outbox (R191 to R202).

The files are output. Only records that another tool left in them are read, and each only once. A file that
git tracks belongs to others and is not touched (C119).
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from passdown import layout
from passdown.core.coordination.tasks import Listing
from passdown.core.formats.journal import Scope
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import OperationAction, SharedOperation, list_unsynced
from passdown.core.work.pending_files import (
    is_rendered,
    parse_pending,
    read_record,
    read_unsynced,
    render_pending,
    render_unsynced,
    render_unsynced_tasks,
)
from passdown.errors import StorageError, TrackerError
from passdown.records import replace
from passdown.services.operations.operations import abandon, append
from passdown.services.operations.waiting import find_waiting, read_all
from passdown.services.workspace.local_files import ignore_folder
from passdown.services.workspace.workspaces import Workspace

_LOCK: Final = "files"
_WAIT: Final = 5.0
_PENDING: Final = (
    (layout.PENDING_UPDATES, OperationAction.UPDATE),
    (layout.PENDING_CLOSES, OperationAction.CLOSE),
)


class _OpenFile(NamedTuple):
    """The content of a file, and what others wrote to it while it was last replaced."""

    path: str
    data: bytes = b""
    late: Sequence[bytes] = ()

    @property
    def texts(self) -> Sequence[str]:
        return [one.decode("utf-8", "replace") for one in (*self.late, self.data) if one]


def take_in_files(workspace: Workspace, account: Account | None) -> None:
    """Import records that other tools left in the files; without a session there is no journal for them."""
    if account is not None:
        with workspace.locks.held(_LOCK, _WAIT) as is_held:
            if is_held:
                _take_in_all(workspace, account)


def update_files(workspace: Workspace, account: Account | None) -> None:
    """Import records that other tools left in the files, and write the changes that are still queued.

    Records that somebody writes at this moment are imported by the next call. Files that cannot be read or
    written stay unchanged, since the journals have everything. Without a session nothing is imported, and
    only a sync that is due is written.
    """
    if account is None and not _may_need_sync(workspace):
        return
    with workspace.locks.held(_LOCK, _WAIT) as is_held:
        if is_held and account is not None:
            _write_all(workspace, _take_in_all(workspace, account))
        elif is_held:
            unsynced, syncs = _open(workspace, layout.UNSYNCED), _find_syncs(workspace)
            if _is_known(workspace, unsynced):
                _write_unsynced(workspace, unsynced, syncs)


def find_unsynced_files(workspace: Workspace) -> Sequence[str]:
    """Return the files that say that a sync is due; none if they could not be written."""
    unsynced, tasks = (_open(workspace, name) for name in (layout.UNSYNCED, layout.UNSYNCED_TASKS))
    texts = [render_unsynced(one).encode() for one in _find_syncs(workspace)]
    if unsynced is None or unsynced.data not in texts:
        return ()
    return [file.path for file in (unsynced, tasks) if file and file.data]


class _OpenFiles(NamedTuple):
    """The files as they were read, and the lines to keep."""

    pending: Sequence[_OpenFile | None]
    kept: Sequence[Sequence[str]]
    unsynced: _OpenFile | None
    is_ours: bool
    """Whether the last file says that a sync is due, or is missing."""


def _take_in_all(workspace: Workspace, account: Account) -> _OpenFiles:
    pending = [_open(workspace, name) for name, _ in _PENDING]
    kept = [_take_in_pending(workspace, account, file) for file in pending]
    unsynced = _open(workspace, layout.UNSYNCED)
    return _OpenFiles(pending, kept, unsynced, _take_in_unsynced(workspace, account, unsynced))


def _write_all(workspace: Workspace, files: _OpenFiles) -> None:
    waiting = [one for one in find_waiting(workspace) if is_rendered(one)]
    for file, lines, (_, action) in zip(files.pending, files.kept, _PENDING, strict=True):
        of_action = [one for one in waiting if one.action is action]
        _write(workspace, file, render_pending(of_action, lines))
    if files.is_ours:
        syncs = [one for one in waiting if one.action is OperationAction.SYNC]
        _write_unsynced(workspace, files.unsynced, syncs)


def _write_unsynced(workspace: Workspace, file: _OpenFile | None, syncs: Sequence[SharedOperation]) -> None:
    if syncs or (file and file.data):
        text = render_unsynced(syncs[0]) if syncs else ""
        if file and file.data != text.encode():
            tasks = _list_unsynced(workspace) if syncs else ()
            _write(workspace, _open(workspace, layout.UNSYNCED_TASKS), render_unsynced_tasks(tasks))
        _write(workspace, file, text)


def _find_syncs(workspace: Workspace) -> Sequence[SharedOperation]:
    waiting = (one for one in find_waiting(workspace) if one.action is OperationAction.SYNC)
    return [one for one in waiting if is_rendered(one)]


def _may_need_sync(workspace: Workspace) -> bool:
    """Return whether a sync is or was due; otherwise, without a session, not even a lock is written."""
    path = f"{workspace.settings.paths.runtime}/{layout.UNSYNCED}"
    with suppress(StorageError):  # an unreadable file stays unchanged
        return workspace.documents.exists(path) or bool(_find_syncs(workspace))
    return False


def _is_known(workspace: Workspace, file: _OpenFile | None) -> bool:
    """Return whether the journals have everything in a file, so that it may be replaced."""
    found = [read_unsynced(text, "") for text in (file.texts if file else ())]
    return all(one is not None and workspace.journals.mentioning(Scope.ALL, one.id) for one in found)


def _list_unsynced(workspace: Workspace) -> Sequence[str]:
    """Return the tasks that the tracker lists (R191), else the tasks changed since the last sync."""
    with suppress(TrackerError, StorageError):  # it is asked only once, since the list is only shown
        return [one.task.task for one in workspace.tracker.tasks(Listing.OPEN)]
    return list_unsynced(read_all(workspace))


def _take_in_pending(workspace: Workspace, account: Account, file: _OpenFile | None) -> Sequence[str]:
    """Import the records of other tools; return the lines to keep."""
    kept: list[str] = []
    for text in file.texts if file else ():
        found = parse_pending(text)
        kept += found.unreadable
        for one in found.records:
            operation = read_record(one, account.agent)
            if operation is None:
                kept.append(one.source)
            else:
                _take_in(workspace, account, operation)
    return kept


def _take_in_unsynced(workspace: Workspace, account: Account, file: _OpenFile | None) -> bool:
    """Import a sync that another tool left; return False if the file is something else."""
    for text in file.texts if file else ():
        operation = read_unsynced(text, account.agent)
        if operation is None:
            return False
        _take_in(workspace, account, operation)
    return True


def _take_in(workspace: Workspace, account: Account, operation: SharedOperation) -> None:
    """Add an operation to the session's journal, unless a journal has it."""
    if workspace.journals.mentioning(Scope.ALL, operation.id):
        return
    wish = replace(operation, session=account.session)
    append(workspace, wish.session, [wish])
    if not wish.is_waiting:
        abandon(workspace, wish, account.agent)
        workspace.warn(
            f"{wish.key}: a claim is not tried again later; to claim it: `passdown claim {wish.task}`"
        )


def _open(workspace: Workspace, name: str) -> _OpenFile | None:
    """Read a file, which may be missing; None if it must not be touched."""
    path, documents = f"{workspace.settings.paths.runtime}/{name}", workspace.documents
    if workspace.tracking.tracked(workspace.settings.paths.runtime).holds(path):
        return None
    with suppress(StorageError):  # an unreadable file stays unchanged
        data = documents.read(path) if documents.exists(path) else b""
        return _OpenFile(path, data, documents.displaced(path))
    return None


def _write(workspace: Workspace, file: _OpenFile | None, text: str) -> None:
    """Write a file that was read before; a change made meanwhile is set aside for the next call."""
    documents, data = workspace.documents, text.encode()
    with suppress(StorageError):  # the journals have everything
        if file is None or (data == file.data and not file.late):
            return
        if data:
            ignore_folder(documents, workspace.settings.paths.runtime)
            documents.replace(file.path, data, local=True, expected=file.data)
        elif file.data:
            documents.remove(file.path, file.data, kept=True)
        documents.displaced(file.path, file.late)
