"""Read other tools' documents: ledgers, and the Ledger sections of stream documents (R43, R80, G14).

Their text is in no journal: a brief shows it with its author and age. A ledger that is archived because
nobody updates it any more is published first.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Final

from passdown import layout
from passdown.core.digests import sha256
from passdown.core.documents.conflicts import refuse_conflict
from passdown.core.facts import Fact
from passdown.core.formats.journal import NOT_PUBLISHED, SESSION_END, JournalLine, Scope
from passdown.core.formats.ledgers import Ledger, parse_ledger
from passdown.core.ids import kebab
from passdown.core.kinds import FactKind
from passdown.core.lazy_regex import pattern
from passdown.core.sessions.ledger_sync import NewFact, find_edits
from passdown.core.sessions.session_facts import Account, fold_journal, only_shared
from passdown.core.times import parse_instant
from passdown.errors import FormatError, StorageError, UnreadError
from passdown.ports.repository import UNKNOWN
from passdown.records import record, replace
from passdown.services.log.events import update_index, write_event
from passdown.services.sessions.journals import read_account, read_labelled
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import Paths

_UPDATED: Final = pattern(r"^\*\*Updated:\*\*[ \t]*(\S+)", re.MULTILINE)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_HASH_SIZE: Final = 8


@record
class ForeignDocument:
    """The content of another tool's document."""

    author: Annotated[str, "Its author, or else its name."]
    lines: Annotated[tuple[JournalLine, ...], "Its facts, as journal lines."]
    branch: Annotated[str, "The branch of its work; `unknown` if it has none."] = UNKNOWN
    stream: Annotated[str, "The stream whose document it is; empty for another document."] = ""

    @property
    def account(self) -> Account:
        """Its content as the account of a session."""
        account = fold_journal(self.author, self.lines)
        return replace(account, start=replace(account.start, branch=self.branch))


def _make_document(author: str, at: datetime, said: Sequence[NewFact], branch: str) -> ForeignDocument | None:
    facts = [Fact(one.kind.value, one.text, at, author, one.key, one.because) for one in said]
    lines = tuple(JournalLine(seq=seq, fact=fact) for seq, fact in enumerate(facts, 1))
    return ForeignDocument(author=author, lines=lines, branch=branch or UNKNOWN) if lines else None


# --- ledgers --------------------------------------------------------------------------------------


def read_other_ledger(workspace: Workspace) -> ForeignDocument | None:
    """Read the ledger here; return None if it is empty, or a session of ours has a journal for it."""
    ledger = _read_ledger(workspace)
    is_ours = read_labelled(workspace, ledger.session_id).started_at is not None
    return None if is_ours else document_of(workspace, ledger)


def document_of(workspace: Workspace, ledger: Ledger) -> ForeignDocument | None:
    """Return the content of a ledger without a journal; None if it is empty."""
    at = ledger.updated or ledger.heartbeat or workspace.now()
    said = find_edits(ledger, Account(), workspace.show_time)
    return _make_document(ledger.session_id or layout.LEDGER, at, said, ledger.branch)


def ledger_path(workspace: Workspace) -> str:
    """Return the path used for the ledger by the first session of a checkout and by other tools (C4)."""
    return f"{workspace.settings.paths.ledgers}/{layout.LEDGER}"


def context_path(workspace: Workspace, account: Account | None) -> str:
    """Return the path of a session's anchored context; that of the first one here has a plain name."""
    is_other = account is not None and account.start.ledger != ledger_path(workspace)
    agent = account.agent if account is not None and is_other else ""
    return layout.session_context(workspace.settings.paths.runtime, agent)


def _read_ledger(workspace: Workspace) -> Ledger:
    """Read the ledger of the first session here; an unreadable one counts as empty."""
    path = ledger_path(workspace)
    try:
        text = workspace.documents.read(path).decode("utf-8", "replace")
        refuse_conflict(path, text)
        return parse_ledger(text)
    except (FormatError, StorageError):
        return Ledger()


def publish_ledger(workspace: Workspace, ledger: Ledger, reason: str) -> None:
    """Publish the content of a ledger without a journal; the same ledger is only published once.

    Its facts have the time of the ledger, so they replace nothing that was said since.
    """
    from passdown.core.sessions.publications import make_event
    from passdown.core.sessions.secrets import redact_lines

    said = document_of(workspace, ledger)
    if said is None:
        return
    digest = sha256((ledger.source or "").encode()).hexdigest()[:_HASH_SIZE]
    name = f"{said.author}-{digest}"
    lines, _ = redact_lines(said.lines)
    account = replace(said.account, session=name)
    event = make_event(account, lines, NOT_PUBLISHED, kind=SESSION_END, reason=reason)
    if event is None:
        return
    update_index(workspace.log, workspace.index)
    write_event(
        workspace.log, workspace.index, workspace.clock, event, layout=workspace.settings.events.layout
    )


# --- stream documents -----------------------------------------------------------------------------


def stream_path(paths: Paths, name: str) -> str:
    """Return the path of a stream's document (R53)."""
    return f"{paths.handoffs}/{name}/{layout.CURRENT}"


def list_streams(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Yield the streams and the paths of their documents: every folder that has one (R57)."""
    paths = workspace.settings.paths
    for name in workspace.documents.folders(paths.handoffs):
        path = stream_path(paths, name)
        if path != paths.view and workspace.documents.exists(path):
            yield name, path


def read_stream_section(workspace: Workspace, track: str = "") -> ForeignDocument | None:
    """Read the newest Ledger section of a stream document with new facts; return None if there is none.

    Facts in events and journals are not new: these also have what happened to them since. For a session that
    is bound to a track, only the document of that track counts.
    """
    texts = sorted(_read_streams(workspace), key=lambda found: (found[0], found[1]), reverse=True)
    wanted = kebab(track) if track else ""
    found = (read_new_section(workspace, name, text) for _, name, text in texts if wanted in {"", name})
    return next((one for one in found if one is not None), None)


def _read_streams(workspace: Workspace) -> Iterator[tuple[datetime, str, str]]:
    """Yield the time, stream and text of each document that can be read."""
    for name, path in list_streams(workspace):
        with suppress(StorageError, FormatError):
            text = workspace.documents.read(path).decode("utf-8", "replace")
            refuse_conflict(path, text)
            match = _UPDATED.search(text)
            yield (parse_instant(match[1]) if match else None) or _NEVER, name, text


def read_new_section(workspace: Workspace, name: str, text: str) -> ForeignDocument | None:
    """Return the new facts of a stream document; None if there are none.

    While not all events are read, new facts cannot be told from known ones, so there are none (C131).
    """
    from passdown.core.formats.streams import parse_stream  # most projects have none
    from passdown.core.sessions.document_events import read_stream_content
    from passdown.services.sessions.document_news import find_news

    try:
        content = read_stream_content(parse_stream(text), name)
        news = find_news(workspace, content.facts, name)
    except (FormatError, UnreadError):
        return None
    said = [NewFact(FactKind(one.kind), one.text, one.key, one.because) for one in news]
    found = _make_document(content.author, content.at, said, content.event.branch or UNKNOWN)
    return found and replace(found, stream=name)


def has_documents(workspace: Workspace) -> bool:
    """Return whether there may be a document to import at a start: a stream document or a context."""
    context = context_path(workspace, None)
    return workspace.documents.exists(context) or next(list_streams(workspace), None) is not None


# --- anchored contexts ----------------------------------------------------------------------------


def _knows_somebody(workspace: Workspace, account: Account | None) -> bool:
    """Return whether there is an event, or another session with facts to share (C106)."""
    if workspace.index.newest(workspace.now()).at is not None:
        return True
    others = {*workspace.journals.sessions(Scope.LIVE)} - {account.session if account else ""}
    told = (only_shared(read_account(workspace, name)) for name in others)
    return any(one.goal or one.now or any(one.lists.values()) for one in told)


def read_other_context(workspace: Workspace, account: Account | None) -> ForeignDocument | None:
    """Read the anchored context if no session or event knows more (R235); return None if it is empty."""
    path = context_path(workspace, None)
    if not workspace.documents.exists(path) or _knows_somebody(workspace, account):
        return None
    from passdown.core.formats.session_contexts import parse_session_context  # most projects have none
    from passdown.core.sessions.handoffs import facts_to_carry
    from passdown.core.work.session_contexts import to_handoff

    try:
        text = workspace.documents.read(path).decode("utf-8", "replace")
        refuse_conflict(path, text)
        said = facts_to_carry(to_handoff(parse_session_context(text)))
    except (FormatError, StorageError):
        return None
    return _make_document(path, workspace.now(), said, "")
