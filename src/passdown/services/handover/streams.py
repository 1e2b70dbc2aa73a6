"""The stream document of a piece of work: find it, read it, take it in, and update it (R53, R57, R76)."""

from contextlib import suppress

from passdown import layout
from passdown.core.documents.conflicts import refuse_conflict
from passdown.core.facts import Provenance
from passdown.core.formats.journal import facts_of
from passdown.core.formats.streams import Stream, parse_stream, render_stream
from passdown.core.ids import is_stream_name, kebab
from passdown.core.kinds import FactKind
from passdown.core.problems import Severity
from passdown.core.sessions.handoff_streams import to_stream
from passdown.core.sessions.handoffs import Handoff
from passdown.core.sessions.ledger_sync import NewFact, fits_a_line
from passdown.core.sessions.progress import find_saved_stream
from passdown.core.sessions.secrets import redact
from passdown.core.sessions.session_facts import Account
from passdown.errors import FormatError, PassdownError, UsageError
from passdown.services.handover.intake import take_in_stream
from passdown.services.handover.snapshots import MANUAL, take_snapshot
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.other_documents import list_streams, read_other_context, stream_path
from passdown.services.workspace.workspaces import Workspace


def find_stream(
    workspace: Workspace, account: Account | None, wanted: str = "", *, by_goal: bool = False
) -> str:
    """Return the path of the stream document that a session keeps; empty if nothing names one (R57, R59).

    It is the one that was named, or whose path was given, else that of the track, else the one that shows the
    last checkpoint, else the only one that can be updated, else, with `by_goal`, one that is named after the
    goal. Raises a UsageError for a name that no stream can have.
    """
    name = _name_of(workspace, wanted) if wanted else _find_own_name(account) or _find_only(workspace)
    if not name and by_goal and account and account.goal:
        name = kebab(redact(account.goal.text).text)
    if not name:
        return ""
    if "/" in name:
        hint = "name one of those that `passdown handoff list` shows"
        raise UsageError(f"{name} is not a stream document of this project", hint=hint)
    if not is_stream_name(name):
        raise UsageError(f"{name} is not a valid stream name", hint=f"use kebab case, like {kebab(name)}")
    paths = workspace.settings.paths
    if f"{paths.handoffs}/{name}" in {paths.events, paths.event_archive}:
        raise UsageError(
            f"{name} is already used as a folder for something else", hint="give the stream another name"
        )
    return stream_path(paths, name)


def _name_of(workspace: Workspace, wanted: str) -> str:
    """Return the name of a stream that was named, or whose document was (R94)."""
    folder, _, last = wanted.rpartition("/")
    start, _, name = folder.rpartition("/")
    is_path = last == layout.CURRENT and start == workspace.settings.paths.handoffs
    return name if is_path else wanted


def _find_own_name(account: Account | None) -> str:
    """Return the name of the stream that a session works on, or shows its checkpoints in."""
    if account is None:
        return ""
    return kebab(account.track) if account.track else find_saved_stream(account)


def _find_only(workspace: Workspace) -> str:
    """Name the only stream that has a document, without those that must be mended first; else empty."""
    names: list[str] = []
    for name, path in list_streams(workspace):
        with suppress(PassdownError):
            check_stream(workspace, path)
            names.append(name)
    return names[0] if len(names) == 1 and is_stream_name(names[0]) else ""


def read_text(workspace: Workspace, path: str) -> str:
    """Read the text of a document; raises a StorageError or FormatError if it cannot be read."""
    try:
        return workspace.documents.read(path).decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError(f"{path} is not UTF-8 text", hint="save it as UTF-8") from None


def read_stream(workspace: Workspace, path: str) -> Stream:
    """Read a stream document; raises a StorageError or FormatError if it cannot be read."""
    text = read_text(workspace, path)
    refuse_conflict(path, text)
    return parse_stream(text)


def check_stream(workspace: Workspace, path: str) -> Stream | None:
    """Read a stream document that is about to be updated; return None if there is none.

    Raises a PassdownError for one that must be mended first.
    """
    if not workspace.documents.exists(path):
        return None
    stream = read_stream(workspace, path)
    broken = [one for one in stream.problems if one.severity is Severity.ERROR]
    if broken:
        hint = f"nothing was written; `passdown check {path} --fix` repairs what is safe to repair"
        raise PassdownError(f"{path}:{broken[0].line}: {broken[0].field} {broken[0].problem}", hint=hint)
    return stream


def write_stream(workspace: Workspace, path: str, handoff: Handoff) -> None:
    """Put a snapshot into the Ledger section of a stream document, or make the document (R57, R58, R74)."""
    documents = workspace.documents
    known = check_stream(workspace, path)
    data = render_stream(to_stream(handoff, path.split("/")[-2], known)).encode()
    if known is not None:
        documents.replace(path, data)
    elif not documents.create(path, data):
        write_stream(workspace, path, handoff)  # somebody made it a moment ago


def take_in_own(workspace: Workspace, account: Account, path: str) -> Account:
    """Take in what a document says that is about to be written; raises a PassdownError if that fails."""
    known = check_stream(workspace, path)
    return take_in_stream(workspace, account, path.split("/")[-2], known) if known is not None else account


def find_own_stream(workspace: Workspace, account: Account, wanted: str = "") -> str:
    """Return the path of the document to keep up to date with a session; empty without one (R76).

    A document is made only for a track, or if it is named. Raises a PassdownError for one that must be mended
    first.
    """
    path = find_stream(workspace, account, wanted)
    is_there = bool(path) and check_stream(workspace, path) is not None
    return path if is_there or account.track or wanted else ""


def preview_stream(workspace: Workspace, account: Account, path: str) -> Stream:
    """Return what the document of a session would say now; nothing is written.

    Raises a PassdownError for one that must be mended first.
    """
    known = check_stream(workspace, path) if path else None
    name = path.split("/")[-2] if path else ""
    return to_stream(take_snapshot(workspace, account, MANUAL), name, known)


def update_stream(workspace: Workspace, account: Account, path: str) -> None:
    """Bring a stream document up to date with what a session knows; what others wrote is taken in first."""
    account = take_in_own(workspace, account, path)
    write_stream(workspace, path, take_snapshot(workspace, account, MANUAL))


def refresh_stream(workspace: Workspace, account: Account) -> str:
    """Bring the document of the session's track up to date, if there is one; return what went wrong."""
    try:
        path = find_stream(workspace, account) if account.track else ""
        if path and workspace.documents.exists(path):
            update_stream(workspace, account, path)
    except PassdownError as found:
        return found.message
    return ""


# --- at the start of a session ----------------------------------------------------------------------


def take_in_documents(workspace: Workspace, account: Account) -> Account:
    """Take in documents that its brief would tell of, and edits of the one that the session keeps (C147).

    What cannot be kept is left: a start never fails because of it, and the brief reads the document itself.
    """
    own = ""
    with suppress(PassdownError):
        own = find_stream(workspace, account)
    for name, path in list_streams(workspace):
        with suppress(PassdownError):
            stream = read_stream(workspace, path)
            account = take_in_stream(workspace, account, name, stream, is_own=path == own)
    return _take_in_context(workspace, account)


def _take_in_context(workspace: Workspace, account: Account) -> Account:
    """Let the first session that says something go on from the anchored context that lies here (R235)."""
    found = None if account.start.is_fresh else read_other_context(workspace, account)
    if found is None:
        return account
    said = [
        NewFact(FactKind(one.kind), one.text, one.key, one.because, origin=one)
        for one in facts_of(found.author, found.lines)
    ]
    said = [one for one in said if fits_a_line(one)]
    return update_ledger(workspace, account, said, provenance=Provenance.OBSERVED).account
