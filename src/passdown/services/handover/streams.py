"""The stream document of a piece of work: find it, read it, import it, and update it (R53, R57, R76)."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from passdown import layout
from passdown.core.documents.conflicts import refuse_conflict
from passdown.core.facts import Fact, Provenance
from passdown.core.formats.events import render_event
from passdown.core.formats.journal import facts_of
from passdown.core.formats.streams import Stream, parse_stream, render_stream
from passdown.core.ids import is_agent, is_stream_name, kebab
from passdown.core.kinds import FactKind
from passdown.core.problems import Severity
from passdown.core.sessions.document_events import (
    MOST_BYTES,
    NO_TIME,
    StreamContent,
    name_document_file,
    read_stream_content,
    split_content,
)
from passdown.core.sessions.handoff_streams import to_stream
from passdown.core.sessions.handoffs import Handoff
from passdown.core.sessions.ledger_sync import NewFact, fits_a_line
from passdown.core.sessions.progress import find_saved_stream
from passdown.core.sessions.secrets import redact
from passdown.core.sessions.session_facts import Account
from passdown.errors import FormatError, PassdownError, UsageError
from passdown.services.handover.snapshots import MANUAL, take_snapshot
from passdown.services.log.events import catch_up, name_event, stores_by_day, update_index
from passdown.services.log.local_view import mark_outdated
from passdown.services.sessions.document_news import find_news
from passdown.services.sessions.foreign_documents import list_streams, read_other_context, stream_path
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.publications import publish
from passdown.services.workspace.workspaces import Workspace

_SECOND: Final = timedelta(seconds=1)
"""The precision of times in documents."""


def find_stream(
    workspace: Workspace, account: Account | None, wanted: str = "", *, by_goal: bool = False
) -> str:
    """Return the path of the stream document that a session updates; empty if there is none (R57, R59).

    It is the one given by name or path, else that of the track, else the one with the last checkpoint, else
    the only one that can be updated, else, with `by_goal`, one named after the goal. Raises a UsageError for
    an invalid stream name.
    """
    name = _name_of(workspace, wanted) if wanted else _find_own_name(account) or _find_only(workspace)
    if not name and by_goal and account and account.goal:
        name = kebab(redact(account.goal.text).text)
    if not name:
        return ""
    if "/" in name:
        hint = "run `passdown handoff list` to see the documents"
        raise UsageError(f"{name} is not a stream document of this project", hint=hint)
    if not is_stream_name(name):
        hint = f"use lower-case words joined by `-`, like {kebab(name)}"
        raise UsageError(f"{name} is not a valid stream name", hint=hint)
    paths = workspace.settings.paths
    if f"{paths.handoffs}/{name}" in {paths.events, paths.event_archive}:
        raise UsageError(f"{name} is already used as a folder for something else", hint="choose another name")
    return stream_path(paths, name)


def _name_of(workspace: Workspace, wanted: str) -> str:
    """Return the name of a stream that was given by name, or by the path of its document (R94)."""
    folder, _, last = wanted.rpartition("/")
    start, _, name = folder.rpartition("/")
    is_path = last == layout.CURRENT and start == workspace.settings.paths.handoffs
    return name if is_path else wanted


def _find_own_name(account: Account | None) -> str:
    """Return the name of the stream that a session works on, or that has its checkpoints."""
    if account is None:
        return ""
    return kebab(account.track) if account.track else find_saved_stream(account)


def _find_only(workspace: Workspace) -> str:
    """Return the name of the only stream with a valid document; empty if there are none or several."""
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

    Raises a PassdownError if it must be repaired first.
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
    """Write a snapshot into the Ledger section of a new or existing document (R57, R58, R74)."""
    documents = workspace.documents
    known = check_stream(workspace, path)
    data = render_stream(to_stream(handoff, path.split("/")[-2], known)).encode()
    if known is not None:
        documents.replace(path, data)
    elif not documents.create(path, data):
        write_stream(workspace, path, handoff)  # it was created by somebody else just now


def find_own_stream(workspace: Workspace, account: Account, wanted: str = "") -> str:
    """Return the path of the document to update with a session; empty if there is none (R76).

    A document is only created for a track, or if it is named. Raises a PassdownError if it must be repaired
    first.
    """
    path = find_stream(workspace, account, wanted)
    is_there = bool(path) and check_stream(workspace, path) is not None
    return path if is_there or account.track or wanted else ""


def preview_stream(workspace: Workspace, account: Account, path: str) -> Stream:
    """Return what the document of a session would contain now; nothing is written.

    Raises a PassdownError if it must be repaired first.
    """
    known = check_stream(workspace, path) if path else None
    name = path.split("/")[-2] if path else ""
    return to_stream(take_snapshot(workspace, account, MANUAL), name, known)


def update_stream(workspace: Workspace, account: Account, path: str) -> None:
    """Update a stream document with what a session knows, after importing what others wrote into it."""
    account = import_own(workspace, account, path)
    write_stream(workspace, path, take_snapshot(workspace, account, MANUAL))


def refresh_stream(workspace: Workspace, account: Account) -> str:
    """Update the document of the session's track, if there is one; return what went wrong."""
    try:
        path = find_stream(workspace, account) if account.track else ""
        if path and workspace.documents.exists(path):
            update_stream(workspace, account, path)
    except PassdownError as found:
        return found.message
    return ""


# --- importing --------------------------------------------------------------------------------------


def import_own(workspace: Workspace, account: Account, path: str) -> Account:
    """Import a document that is about to be written; raise a PassdownError if that fails."""
    known = check_stream(workspace, path)
    return import_stream(workspace, account, path.split("/")[-2], known) if known is not None else account


def import_documents(workspace: Workspace, account: Account) -> Account:
    """Import other tools' stream documents, and edits of the one that the session updates (C147).

    Failures are ignored: a start never fails because of a document, and the brief reads it anyway.
    """
    own = ""
    with suppress(PassdownError):
        own = find_stream(workspace, account)
    for name, path in list_streams(workspace):
        with suppress(PassdownError):
            stream = read_stream(workspace, path)
            account = import_stream(workspace, account, name, stream, is_own=path == own)
    return _take_in_context(workspace, account)


def _take_in_context(workspace: Workspace, account: Account) -> Account:
    """Import the anchored context, if no other session or event knows more (R235)."""
    found = None if account.start.is_fresh else read_other_context(workspace, account)
    if found is None:
        return account
    said = [
        NewFact(FactKind(one.kind), one.text, one.key, one.because, origin=one)
        for one in facts_of(found.author, found.lines)
    ]
    said = [one for one in said if fits_a_line(one)]
    return update_ledger(workspace, account, said, provenance=Provenance.OBSERVED).account


def import_stream(
    workspace: Workspace, account: Account, name: str, stream: Stream, *, is_own: bool = True
) -> Account:
    """Import the facts of a stream document that are new here, so that nothing in it is lost (C147).

    1. An unknown document is imported whole, as events of its own. Clones that import the same document write
       the same files.
    2. New facts in a known document are stated by the session that updates it. If the session itself has
       stated goal, now or next since the document was saved, its own facts win: those of the document are
       published first.

    Returns the updated account. Raises a PassdownError if a fact cannot be recorded: then the document must
    not be written.
    """
    content = read_stream_content(stream, name)
    news = find_news(workspace, content.facts, name)
    if not news:
        return account
    if is_foreign(workspace, content, news, name):  # 1
        write_content(workspace, content)
        return account
    return _state_news(workspace, account, news, content.at) if is_own else account  # 2


def is_foreign(workspace: Workspace, content: StreamContent, news: Sequence[Fact], stream: str) -> bool:
    """Return whether a document was written by nobody here.

    That is: no event belongs to its stream, and its author is not one of our agents or most of it is unknown.
    """
    if workspace.index.places_of(stream, 1):
        return False
    return not is_agent(content.author) or 2 * len(news) > len(content.facts)


def write_content(workspace: Workspace, content: StreamContent) -> None:
    """Write the content of a document as events, unless they exist already (1).

    Raises a StorageError if an event cannot be written, and a FormatError if a text is too long for one.
    """
    files = [(event, render_event(name_event(event)).encode()) for event in split_content(content)]
    if any(len(data) > MOST_BYTES for _, data in files):
        hint = "shorten it; nothing was changed"
        raise FormatError(f"a text in the document of {content.author} is too long for one event", hint=hint)
    mark_outdated(workspace)
    update_index(workspace.log, workspace.index)
    with workspace.index.changing():
        by_day = stores_by_day(workspace.index, workspace.settings.events.layout)
        for event, data in files:
            folder = (event.ts or NO_TIME).date().isoformat() if by_day else ""
            workspace.log.create(folder, name_document_file(event, data), data)
        catch_up(workspace.log, workspace.index)


def _state_news(workspace: Workspace, account: Account, news: Sequence[Fact], saved: datetime) -> Account:
    """Let a session state what somebody wrote into its document since it was saved (2)."""
    if account.ended_at is not None:
        return account
    said = [NewFact(FactKind(one.kind), one.text, one.key, one.because) for one in news]
    own = [one for kind in {fact.kind for fact in said} for one in _said_since(account, kind, saved)]
    account = update_ledger(workspace, account, said).account
    if not own:
        return account
    publish(workspace, account.session, kind="checkpoint", reason="edited")
    return update_ledger(workspace, account, own).account


def _said_since(account: Account, kind: FactKind, saved: datetime) -> Sequence[NewFact]:
    """Return what a session stated about its work since a document was saved, to state it again."""
    known = account.of(kind) if kind is FactKind.NEXT else (account.goal, account.now)
    found = [one for one in known if one is not None and one.kind == kind and one.at > saved + _SECOND]
    if not found or any(one.provenance is not Provenance.STATED for one in found):
        return ()
    return [NewFact(kind, "\n".join(one.text for one in found))]
