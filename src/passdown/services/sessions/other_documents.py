"""What other tools wrote down here: ledgers, and the Ledger sections of stream documents (R43, R80, G14).

It is text of others, which no journal has: a brief shows it with its author and its age. A ledger that is
archived because nobody updates it any more is published first.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Final

from passdown import layout
from passdown.core.documents.conflicts import refuse_conflict
from passdown.core.facts import Fact
from passdown.core.formats.journal import JournalLine
from passdown.core.formats.ledgers import Ledger, parse_ledger
from passdown.core.ids import fold_id
from passdown.core.kinds import FactKind
from passdown.core.lazy_regex import pattern
from passdown.core.sessions.ledger_sync import NewFact, find_edits
from passdown.core.sessions.session_facts import Account, fold_journal
from passdown.core.times import parse_instant, render_archive_stamp
from passdown.errors import FormatError, StorageError
from passdown.ports.repository import UNKNOWN
from passdown.records import record, replace
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import Paths

_UPDATED: Final = pattern(r"^\*\*Updated:\*\*[ \t]*(\S+)", re.MULTILINE)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_HASH_SIZE: Final = 8


@record
class OtherDocument:
    """What a document of another tool says."""

    author: Annotated[str, "Who wrote it, or what it is called."]
    lines: Annotated[tuple[JournalLine, ...], "Its facts, as a journal would have them."]
    branch: Annotated[str, "The branch of its work; `unknown` if it does not say."] = UNKNOWN

    @property
    def account(self) -> Account:
        """What it says, as if a session had said it."""
        account = fold_journal(self.author, self.lines)
        return replace(account, start=replace(account.start, branch=self.branch))


def _make_document(author: str, at: datetime, said: Sequence[NewFact], branch: str) -> OtherDocument | None:
    facts = [Fact(one.kind.value, one.text, at, author, one.key, one.because) for one in said]
    lines = tuple(JournalLine(seq=seq, fact=fact) for seq, fact in enumerate(facts, 1))
    return OtherDocument(author=author, lines=lines, branch=branch or UNKNOWN) if lines else None


# --- ledgers --------------------------------------------------------------------------------------


def read_other_ledger(workspace: Workspace, sessions: Sequence[str]) -> OtherDocument | None:
    """Read the ledger that lies here; None if it says nothing, or it is that of one of these sessions."""
    ledger = _read_ledger(workspace)
    return None if ledger.session_id in sessions else document_of(workspace, ledger)


def document_of(workspace: Workspace, ledger: Ledger) -> OtherDocument | None:
    """Return what a ledger says that no journal made; None if that is nothing."""
    at = ledger.updated or ledger.heartbeat or workspace.now()
    said = find_edits(ledger, Account(), workspace.show_time)
    return _make_document(ledger.session_id or layout.LEDGER, at, said, ledger.branch)


def ledger_path(workspace: Workspace) -> str:
    """Return where the first session of a checkout has its ledger, and so do other tools (C4)."""
    return f"{workspace.settings.paths.ledgers}/{layout.LEDGER}"


def context_path(workspace: Workspace, account: Account | None) -> str:
    """Return where a session has its anchored context; that of the first one here has a plain name."""
    is_other = account is not None and account.start.ledger != ledger_path(workspace)
    agent = account.agent if account is not None and is_other else ""
    return layout.session_context(workspace.settings.paths.runtime, agent)


def _read_ledger(workspace: Workspace) -> Ledger:
    """Read the ledger of the first session here; one that cannot be read says nothing."""
    path = ledger_path(workspace)
    try:
        text = workspace.documents.read(path).decode("utf-8", "replace")
        refuse_conflict(path, text)
        return parse_ledger(text)
    except (FormatError, StorageError):
        return Ledger()


def publish_ledger(workspace: Workspace, ledger: Ledger, reason: str) -> None:
    """Publish what a ledger says that no journal made; the same ledger is published once.

    Its facts are as old as the ledger, so they replace nothing that was said since.
    """
    from passdown.core.sessions.publications import make_event
    from passdown.core.sessions.secrets import redact_lines
    from passdown.services.log.events import update_index, write_event
    from passdown.settings import EventLayout

    said = document_of(workspace, ledger)
    if said is None:
        return
    digest = hashlib.sha256((ledger.source or "").encode()).hexdigest()[:_HASH_SIZE]
    name = f"{said.author}-{digest}"
    lines, _ = redact_lines(said.lines)
    account = replace(said.account, session=name)
    event = make_event(account, lines, 0, kind="session_end", reason=reason)
    if event is None:
        return
    update_index(workspace.log, workspace.index)
    by_day = workspace.settings.events.layout is EventLayout.DAY
    write_event(workspace.log, workspace.index, workspace.clock, event, by_day=by_day)


# --- stream documents -----------------------------------------------------------------------------


def stream_path(paths: Paths, name: str) -> str:
    """Say where the document of a stream lies (R53)."""
    return f"{paths.handoffs}/{name}/{layout.CURRENT}"


def list_streams(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Name the streams, each with the path of its document: every folder that has one (R57)."""
    paths = workspace.settings.paths
    for name in workspace.documents.folders(paths.handoffs):
        path = stream_path(paths, name)
        if path != paths.view and workspace.documents.exists(path):
            yield name, path


def read_stream_section(workspace: Workspace) -> OtherDocument | None:
    """Read the newest Ledger section of a stream document; None if there is none that says anything new.

    What a handoff of ours wrote is in events, and they tell what became of it since.
    """
    texts = sorted(_read_streams(workspace), key=lambda found: (found[0], found[1]), reverse=True)
    documents = (_read_section(workspace, name, text) for _, name, text in texts)
    return next((one for one in documents if one is not None), None)


def _read_streams(workspace: Workspace) -> Iterator[tuple[datetime, str, str]]:
    """Yield when each document was updated, its stream and its text; what cannot be read says nothing."""
    for name, path in list_streams(workspace):
        with suppress(StorageError, FormatError):
            text = workspace.documents.read(path).decode("utf-8", "replace")
            refuse_conflict(path, text)
            match = _UPDATED.search(text)
            yield (parse_instant(match[1]) if match else None) or _NEVER, name, text


def _read_section(workspace: Workspace, name: str, text: str) -> OtherDocument | None:
    from passdown.core.formats.streams import parse_stream  # most projects have none
    from passdown.core.sessions.handoffs import facts_to_carry, from_stream

    try:
        handoff = from_stream(parse_stream(text))
    except FormatError:
        return None
    if handoff.agent and handoff.at and _is_recorded(workspace, handoff.agent, handoff.at):
        return None
    done = [NewFact(FactKind.DONE, one) for one in handoff.done]
    said = [*facts_to_carry(handoff), *done]
    return _make_document(handoff.agent or name, handoff.at or workspace.now(), said, handoff.branch)


def _is_recorded(workspace: Workspace, agent: str, at: datetime) -> bool:
    """Return whether a handoff of ours was written then: it also leaves a record in the archive."""
    stamp, author = render_archive_stamp(at), fold_id(agent)
    names = (path.rpartition("/")[2] for path in workspace.documents.list(workspace.settings.paths.archive))
    return any(name.startswith(f"{stamp}-") and f"-{author}" in name for name in names)


# --- anchored contexts ----------------------------------------------------------------------------


def read_other_context(workspace: Workspace) -> OtherDocument | None:
    """Read the anchored context that lies here; None if it says nothing or cannot be read (R235)."""
    path = context_path(workspace, None)
    if not workspace.documents.exists(path):
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
