"""Take in documents of others: what no event holds becomes events, so that nothing in them is lost (C147).

1. A document that nobody knows is taken in whole, as events of its own: at the first start that briefs it, or
   before the first write to it. Clones that take in the same document write the same files.
2. What somebody wrote into a known document is stated by the session that finds it, and nothing else of it.
   If the session itself has said since what to achieve, what it does, or what is next, that holds; what the
   document says is published before.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from passdown.core.facts import Fact, Provenance
from passdown.core.formats.events import render_event
from passdown.core.formats.streams import Stream
from passdown.core.ids import is_agent
from passdown.core.kinds import FactKind
from passdown.core.sessions.document_events import (
    MOST_BYTES,
    NO_TIME,
    StreamContent,
    name_document_file,
    read_stream_content,
    split_content,
)
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.errors import FormatError
from passdown.services.log.events import catch_up, name_event, update_index
from passdown.services.log.local_view import mark_outdated
from passdown.services.sessions.document_news import find_news
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.publications import publish
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import EventLayout

_SECOND: Final = timedelta(seconds=1)
"""Documents store their time in seconds."""


def take_in_stream(
    workspace: Workspace, account: Account, name: str, stream: Stream, *, is_own: bool = True
) -> Account:
    """Take in what a stream document says and nobody tells; return what the session knows then.

    Edits by hand are only stated if the session keeps the document. Raises a PassdownError if something
    cannot be kept: then the document must not be written.
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
    """Return whether a document is one that nobody here wrote.

    No event belongs to its stream, and its author is none of our agents or hardly anything in it is known.
    """
    if workspace.index.places_of(stream, 1):
        return False
    return not is_agent(content.author) or 2 * len(news) > len(content.facts)


def write_content(workspace: Workspace, content: StreamContent) -> None:
    """Write what a document says as events, unless they are there already (1).

    Raises a StorageError if an event cannot be written, and a FormatError if a text is too long for one.
    """
    files = [(event, render_event(name_event(event)).encode()) for event in split_content(content)]
    if any(len(data) > MOST_BYTES for _, data in files):
        hint = "shorten it; nothing was changed"
        raise FormatError(f"a text in the document of {content.author} is longer than an event", hint=hint)
    mark_outdated(workspace)
    update_index(workspace.log, workspace.index)
    by_day = workspace.settings.events.layout is EventLayout.DAY
    with workspace.index.changing():
        for event, data in files:
            folder = (event.ts or NO_TIME).date().isoformat() if by_day else ""
            workspace.log.create(folder, name_document_file(event, data), data)
        catch_up(workspace.log, workspace.index)


# --- edits by hand --------------------------------------------------------------------------------


def _state_news(workspace: Workspace, account: Account, news: Sequence[Fact], saved: datetime) -> Account:
    """Let a session state what somebody wrote into its document since that was saved (2)."""
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
    """Return what a session has stated of its work since a document was saved, to be stated again."""
    known = account.of(kind) if kind is FactKind.NEXT else (account.goal, account.now)
    found = [one for one in known if one is not None and one.kind == kind and one.at > saved + _SECOND]
    if not found or any(one.provenance is not Provenance.STATED for one in found):
        return ()
    return [NewFact(kind, "\n".join(one.text for one in found))]
