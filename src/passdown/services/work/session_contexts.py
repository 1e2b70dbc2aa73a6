"""Save what a session knows as an anchored context, and recall it (C106, R231 to R235)."""

from itertools import count
from types import MappingProxyType
from typing import Annotated, Final

from passdown.core.facts import make_key
from passdown.core.formats.session_contexts import (
    CONSTRAINTS,
    INTENT,
    SessionContext,
    find_empty,
    is_damaged,
    mark_session_context,
    parse_session_context,
    render_session_context,
)
from passdown.core.git_hash import git_blob_id
from passdown.core.kinds import FactKind
from passdown.core.sessions.handoffs import Handoff
from passdown.core.sessions.session_facts import Account
from passdown.core.times import render_archive_stamp
from passdown.core.work.session_contexts import NAMED_FILES, make_context, update_context
from passdown.errors import PassdownError, StorageError
from passdown.records import record
from passdown.services.sessions.foreign_documents import context_path
from passdown.services.workspace.local_files import ignore_folder
from passdown.services.workspace.workspaces import Workspace

_HINTS: Final = MappingProxyType(
    {
        INTENT: 'run `passdown goal "TEXT"`',
        CONSTRAINTS: 'run `passdown rule-out "TEXT"`, or save with --nothing-ruled-out',
    }
)


@record
class SavedContext:
    """A saved context."""

    path: Annotated[str, "Its path from the root."]
    context: Annotated[SessionContext, "What it says."]
    backup: Annotated[str, "Where the unreadable old text was moved; empty if there was none."] = ""


def save_context(workspace: Workspace, account: Account, *, nothing_ruled_out: bool = False) -> SavedContext:
    """Save the context of a session; sections that somebody added and ruled-out options stay.

    An unchanged file is not written again, and an unreadable one is kept beside the new one. If there is no
    intent or no constraint, raises a PassdownError that names the section, and nothing is written (R234).
    Edits that somebody made during the last save are included.
    """
    from passdown.services.handover.snapshots import (
        MANUAL,
        take_snapshot,
    )  # it loads everything that briefs need

    path = context_path(workspace, account)
    data = workspace.documents.read(path) if workspace.documents.exists(path) else None
    late = workspace.documents.displaced(path)
    old = _read(data)
    for edited in filter(None, map(_read, late)):
        old = update_context(edited, old) if old else edited
    handoff = take_snapshot(workspace, account, MANUAL)
    dates = {one.key: f"{one.at:%Y-%m-%d}" for one in account.of(FactKind.DECISION)}
    new = make_context(handoff, dates, _list_dirty(workspace, handoff), nothing_ruled_out=nothing_ruled_out)
    lines = workspace.journals.read(account.session)
    asked = (make_key(one.fact.text) for one in lines if one.fact.kind == FactKind.QUESTION)
    settled = frozenset({*map(make_key, handoff.answered), *asked})  # answered, or asked and retracted
    context = update_context(old, new, settled) if old else new
    if empty := find_empty(context):
        raise PassdownError(f"{empty} [PRESERVE] section is empty; nothing saved", hint=_HINTS[empty])
    backup = _keep(workspace, path, data) if data and old is None else ""
    ignore_folder(workspace.documents, workspace.settings.paths.runtime)
    text = mark_session_context(render_session_context(context)).encode()
    if text != data:
        workspace.documents.replace(path, text, local=True, expected=data)
    workspace.documents.displaced(path, late)
    return SavedContext(path=path, context=context, backup=backup)


def _list_dirty(workspace: Workspace, handoff: Handoff) -> frozenset[str]:
    """Return the uncommitted files, if there are more changed files than are named anyway."""
    paths = [one.path for one in handoff.file_hashes]
    if len(paths) <= NAMED_FILES:
        return frozenset()
    committed = workspace.repository.listing("")
    return frozenset(path for path in paths if not _is_committed(workspace, path, committed.get(path, "")))


def _is_committed(workspace: Workspace, path: str, blob: str) -> bool:
    try:
        return bool(blob) and git_blob_id(workspace.documents.read(path), like=blob) == blob
    except StorageError:  # it is deleted or too large
        return bool(blob)


def _read(data: bytes | None) -> SessionContext | None:
    """Read a context; None if it is missing or damaged. Raises a FormatError if its version is newer."""
    try:
        text = (data or b"").decode()
    except UnicodeDecodeError:
        return None
    context = parse_session_context(text) if text.strip() else None
    return None if context is None or is_damaged(context) else context


def _keep(workspace: Workspace, path: str, data: bytes) -> str:
    """Keep an unreadable text beside the new one, under an unused name."""
    documents = workspace.documents
    stem = f"{path}.{render_archive_stamp(workspace.now())}"
    names = (f"{stem}.bak" if number == 1 else f"{stem}.{number}.bak" for number in count(1))
    name = next(one for one in names if not documents.exists(one) or documents.read(one) == data)
    documents.replace(name, data, local=True)
    return name


def save_if_complete(workspace: Workspace, account: Account) -> str:
    """Save a context automatically (R232); return why an existing one was not changed, else an empty text.

    If the existing one could not be read, return where it was moved. Without the required sections there is
    nothing to save. A file that git tracks is somebody's document (C119).
    """
    path = context_path(workspace, account)
    is_there = workspace.documents.exists(path)
    if is_there and workspace.tracking.tracked(workspace.settings.paths.runtime).holds(path):
        return f"{path} was not changed, because git tracks it"
    try:
        saved = save_context(workspace, account)
    except PassdownError as found:
        return found.message if is_there else ""
    return f"{path} could not be read; moved it to {saved.backup}" if saved.backup else ""


def recall_context(workspace: Workspace, account: Account | None) -> tuple[str, SessionContext | None]:
    """Return the path and content of a session's context; without a session, of the first one here.

    Raises a FormatError if it cannot be read.
    """
    path = context_path(workspace, account)
    if not workspace.documents.exists(path):
        return path, None
    return path, parse_session_context(workspace.documents.read(path).decode("utf-8", "replace"))
