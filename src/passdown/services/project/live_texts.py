"""The ledgers and journals of this machine, as the search reads them."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

from passdown import layout
from passdown.core.formats.journal import Scope, parse_journal
from passdown.core.kinds import FactKind
from passdown.core.project.search_query import DocumentKind, read_head, shell_word
from passdown.core.sessions.session_facts import Account, fold_journal
from passdown.errors import FormatError, StorageError
from passdown.ports.search import SearchFilter
from passdown.services.sessions.journals import read_accounts, read_labelled
from passdown.services.workspace.workspaces import Workspace

JOURNAL_ENDING: Final = ".jsonl"
_ENDING: Final = ".md"
_PRIVATE: Final = (FactKind.NOTE, FactKind.PROMPT, FactKind.PLAN, FactKind.COMMAND, FactKind.WORDS)
"""What no ledger, event or archive shows."""
_STATED: Final = (
    *(FactKind.GOAL, FactKind.NOW, FactKind.NEXT, FactKind.DONE, FactKind.DECISION, FactKind.CONSTRAINT),
    *(FactKind.QUESTION, FactKind.ANSWER, FactKind.FEEDBACK),
)
"""What the ledger of a session shows, if it is in this checkout."""


class LiveText(NamedTuple):
    """A document that is read for each search."""

    kind: DocumentKind
    name: str
    path: str
    text: str
    at: datetime | None
    agent: str
    command: str


def read_live(workspace: Workspace, wanted: SearchFilter) -> Iterator[LiveText]:
    """Yield the wanted documents that keep changing.

    A journal has what its session's ledger does not show: notes, prompts, plans, commands and the agent's
    last words; all of it, if the ledger is in another checkout.
    """
    ledgers = dict(_read_ledgers(workspace))
    if not wanted.kinds or DocumentKind.LEDGER in wanted.kinds:
        yield from ledgers.values()
    if not wanted.kinds or DocumentKind.JOURNAL in wanted.kinds:
        yield from _read_journals(workspace, {session for _, session in ledgers})


def agent_of(workspace: Workspace, session: str) -> str:
    """Return the agent of a session, or the session if its journal is not here."""
    return read_labelled(workspace, session).agent or session


def _read_ledgers(workspace: Workspace) -> Iterator[tuple[tuple[str, str], LiveText]]:
    """Yield the live ledgers of this checkout by path and session; an unreadable one is empty."""
    documents, folder = workspace.documents, workspace.settings.paths.ledgers
    try:
        paths = [path for path in documents.list(folder) if path.endswith(_ENDING)]
    except StorageError:
        return
    for path in paths:
        try:
            data = documents.read(path)
        except StorageError:
            data = b""
        text = data.decode("utf-8", "replace")
        head = read_head(text)
        agent, command = agent_of(workspace, head.session), f"cat {shell_word(path)}"
        ledger = LiveText(DocumentKind.LEDGER, path, path, text, head.at, agent, command)
        yield (path, head.session), ledger


def _read_journals(workspace: Workspace, shown: set[str]) -> Iterator[LiveText]:
    """Yield what the live journals say, one document for each."""
    for account in read_accounts(workspace, Scope.LIVE):
        is_shown = account.is_published or account.label in shown
        if text := _render(account, _PRIVATE if is_shown else _PRIVATE + _STATED):
            path, command = place_journal(workspace, f"{account.session}{JOURNAL_ENDING}")
            yield LiveText(
                DocumentKind.JOURNAL, account.session, path, text, account.touched_at, account.agent, command
            )


def _render(account: Account, kinds: tuple[FactKind, ...]) -> str:
    """Render facts of a session, one on a line."""
    return "".join(
        f"{kind.value}: {' '.join(f'{fact.key} {fact.text}'.split())}\n"
        for kind in kinds
        for fact in account.of(kind)
    )


def place_journal(workspace: Workspace, below: str) -> tuple[str, str]:
    """Return where a file of the journals is, and the command that prints it from any checkout."""
    name = f"{layout.JOURNALS}/{below}"
    if workspace.git_documents is None:
        path = f"{workspace.settings.paths.runtime}/{name}"
        return path, f"cat {shell_word(path)}"
    folder = '"$(git rev-parse --git-common-dir)"'
    return layout.shown_in_git(layout.in_git(name)), f"cat {folder}/{layout.in_git(name)}"


def read_ended(name: str, data: bytes) -> Account:
    """Fold the archived journal of an ended session, from the name and content of its file."""
    try:
        lines = parse_journal(data.decode("utf-8", "replace")).lines
    except FormatError:
        lines = ()
    return fold_journal(name.removesuffix(JOURNAL_ENDING), lines)


def render_ended(account: Account) -> str:
    """Render what only the journal of an ended session has: the rest is in its events."""
    return _render(account, _PRIVATE)
