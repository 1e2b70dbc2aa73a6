"""Maintain a session's ledger: record manual edits and new facts, and render it."""

from collections.abc import Sequence
from contextlib import suppress
from functools import reduce
from typing import Annotated, Final

from passdown import layout
from passdown.core.facts import Fact, Provenance
from passdown.core.formats.journal import JournalLine
from passdown.core.formats.ledgers import Ledger, parse_ledger, render_ledger
from passdown.core.formats.state_file import SessionState, parse_session_state, render_session_state
from passdown.core.kinds import FactKind
from passdown.core.problems import Problem, Severity, error
from passdown.core.sessions.ledger_sync import (
    MAX_CHARS,
    NewFact,
    add_missing_lines,
    fill_ledger,
    find_edits,
    find_mode_edit,
    find_second_now,
    fits_a_line,
    rebase_edits,
    retract_begun_steps,
    show_ledger,
    split_decision,
)
from passdown.core.sessions.session_facts import Account, SessionStart, fold_journal
from passdown.core.sessions.state_sync import fill_state, find_state_edits
from passdown.errors import CacheError, FormatError, StorageError
from passdown.records import record, replace
from passdown.services.sessions.journals import (
    append_fact,
    append_facts,
    make_line,
    read_account,
    read_labelled,
)
from passdown.services.sessions.liveness import show_place
from passdown.services.workspace.local_files import ignore_folder
from passdown.services.workspace.workspaces import Workspace

ROUNDS: Final = 3
"""How often to retry while a ledger is being edited."""

_LONG: Final = f"shorten it to {MAX_CHARS} characters; put longer text in a file"
_STATE_HINT: Final = "restored the session's values; change them with `passdown track bind` or in the ledger"
_BUSY: Final = "not changed; run `passdown status` to see the sessions"


@record
class LedgerUpdate:
    """The result of updating a ledger."""

    account: Annotated[Account, "The updated account."]
    edits: Annotated[int, "How many facts came from manual edits."] = 0
    problems: Annotated[tuple[Problem, ...], "Why the ledger was not written; empty if it was."] = ()
    is_elsewhere: Annotated[bool, "Whether the ledger is in another checkout, and is updated there."] = False


@record
class LedgerReading:
    """A ledger as it is on disk."""

    ledger: Ledger
    text: str
    data: bytes = b""
    problems: tuple[Problem, ...] = ()
    late: tuple["LedgerReading", ...] = ()
    """Texts that were displaced from it and must be added again."""


@record
class OpenedLedger:
    """A ledger whose manual edits are in the journal."""

    session: Annotated[str, "The session."]
    reading: Annotated[LedgerReading, "The ledger that was read."]
    edits: Annotated[int, "How many facts were recorded."]


def update_ledger(
    workspace: Workspace,
    account: Account,
    new_facts: Sequence[NewFact] = (),
    *,
    provenance: Provenance = Provenance.STATED,
    rounds: int = ROUNDS,
) -> LedgerUpdate:
    """Record new facts, and bring ledger and journal in sync.

    1. Manual edits since the last rendering are journalled first.
    2. Then the new facts are journalled; from then on they cannot be lost, whatever happens to the ledger.
    3. Then the ledger is rendered, changing only lines that differ. An unreadable ledger is left unchanged
       and reported. If it was edited meanwhile, this starts again.
    4. The ledger of a session in another checkout is not touched: it is updated there.

    Raises a StorageError only if a fact could not be journalled, and a UsageError for a fact that is too
    long.
    """
    if account.start.checkout != workspace.root:  # 4
        _append_new(workspace, account, new_facts, provenance)
        return LedgerUpdate(account=read_account(workspace, account.session), is_elsewhere=True)
    opened = open_ledger(workspace, account)  # 1
    _append_new(workspace, account, new_facts, provenance)  # 2
    return write_back(workspace, opened, rounds=rounds)  # 3


def open_ledger(workspace: Workspace, account: Account) -> OpenedLedger:
    """Read the ledger of a session and journal manual edits; the file is not changed.

    If its checkout is on another branch now, that is journalled too.

    1. Texts that an earlier rendering displaced, because somebody edited the ledger at that moment, come
       first. The next rendering adds their lines that are not facts.
    2. If a displaced text cannot be read, it is put back for somebody to repair, and the ledger is displaced
       instead.
    3. Edits of an ended session's ledger belong in the journal of that session.
    """
    branch = show_place(workspace, account).branch
    if branch != account.branch:
        append_fact(workspace, account, NewFact(FactKind.BRANCH, branch), Provenance.OBSERVED)
    found = [_parse(data) for data in workspace.documents.displaced(account.start.ledger)]
    late = [_judge(workspace, account, one) for one in found]
    for one in found:  # 3
        _take_in_elsewhere(workspace, account, one.ledger)
    edits = sum(_take_in(workspace, account, one.ledger) for one in late if not one.problems)  # 1
    reading = read_ledger(workspace, account)
    if not reading.problems:
        long = [one for one in _edits(workspace, account, reading.ledger) if not fits_a_line(one)]
        problems = tuple(error(1, one.kind.value, "is too long to record", _LONG) for one in long)
        reading = replace(reading, problems=problems)
    if not reading.problems:
        edits += _take_in(workspace, account, reading.ledger)
        broken = next((one for one in late if one.problems), None)
        reading = replace(reading, late=tuple(late)) if broken is None else broken
        if broken is not None:  # 2
            path, data = account.start.ledger, broken.data
            workspace.documents.replace(path, data, local=True, expected=data)
            workspace.documents.displaced(path, [data])
    return OpenedLedger(session=account.session, reading=reading, edits=edits)


def _take_in(workspace: Workspace, account: Account, ledger: Ledger) -> int:
    """Journal manual edits that are not there yet; return the number of facts."""
    if not _edits(workspace, account, ledger):
        return 0

    def make(seq: int) -> Sequence[JournalLine]:
        found = [one for one in _edits(workspace, account, ledger) if fits_a_line(one)]
        edits = _name_replaced(workspace, account, found)
        return [
            make_line(workspace, account, one, Provenance.STATED, seq + number)
            for number, one in enumerate(edits)
        ]

    written = workspace.journals.extend(account.session, make)
    _tell_moved(workspace, account, ledger, [line.fact for line in written])
    return len(written)


def _tell_moved(workspace: Workspace, account: Account, ledger: Ledger, facts: Sequence[Fact]) -> None:
    """Warn about rows recorded under another key, because another session decided theirs (C151)."""
    if not any(fact.kind == FactKind.DECISION for fact in facts):
        return
    rows = {text: key for key, text in (split_decision(row.decision) for row in ledger.decisions)}
    for fact in facts:
        key = rows.get(fact.text, fact.key)
        if fact.kind == FactKind.DECISION and fact.key != key:
            workspace.warn(
                f"{account.start.ledger}: another session already decided {key}; "
                f"your row was recorded as {fact.key}"
            )


def _take_in_elsewhere(workspace: Workspace, account: Account, ledger: Ledger) -> bool:
    """Journal edits of another session's ledger with the same path; return whether that session is known."""
    owner = Account()
    if ledger.session_id not in {account.label, account.session}:
        owner = read_labelled(workspace, ledger.session_id)
    if (owner.start.checkout, owner.start.ledger) != (workspace.root, account.start.ledger):
        return False
    _take_in(workspace, owner, ledger)
    return True


def record_displaced(workspace: Workspace) -> None:
    """Record texts that were displaced from ledgers that may never be opened again.

    1. Edits go into the journal of the session that owned the ledger, even if it has ended.
    2. If there is no ledger any more, the text becomes one again, to be archived like any other.
    3. If the ledger belongs to another session now, nothing else is needed. Otherwise its next update adds
       the remaining lines.
    """
    documents, folder = workspace.documents, workspace.settings.paths.ledgers
    folders = [folder, *(f"{folder}/{name}" for name in documents.folders(folder))]
    for path in [f"{one}/{layout.LEDGER}" for one in folders]:
        for data in documents.displaced(path):
            ledger = _parse(data).ledger
            is_known = _take_in_elsewhere(workspace, Account(start=SessionStart(ledger=path)), ledger)  # 1
            is_there = documents.exists(path)
            is_others = is_there and _read(workspace, path).ledger.session_id != ledger.session_id
            if (is_known and is_others) or (not is_there and documents.create(path, data)):  # 2, 3
                documents.displaced(path, [data])


def write_back(workspace: Workspace, opened: OpenedLedger, *, rounds: int = ROUNDS) -> LedgerUpdate:
    """Render an opened ledger; if it was edited meanwhile, record the edits and render it again."""
    account, reading = read_account(workspace, opened.session), opened.reading
    if reading.problems:
        return LedgerUpdate(account=account, edits=opened.edits, problems=reading.problems)
    if _text_of(workspace, account) == reading.text:
        problems = _write(workspace, account, reading)
        seen = [one.data for one in reading.late]
        if problems or not workspace.documents.displaced(account.start.ledger, seen):
            return LedgerUpdate(account=account, edits=opened.edits, problems=problems)
    if rounds == 1:
        return LedgerUpdate(
            account=account, edits=opened.edits, problems=(error(1, "file", "keeps changing"),)
        )
    kept = update_ledger(workspace, account, rounds=rounds - 1)
    return replace(kept, edits=kept.edits + opened.edits)


def _append_new(
    workspace: Workspace, account: Account, new_facts: Sequence[NewFact], provenance: Provenance
) -> None:
    if new_facts:  # each write is a sync to disk
        known = read_account(workspace, account.session)
        said = _name_replaced(workspace, account, [*retract_begun_steps(new_facts, known)])
        append_facts(workspace, account, said, provenance)


def _text_of(workspace: Workspace, account: Account) -> str | None:
    """Read the ledger again; return None if it cannot be read any more."""
    documents, path = workspace.documents, account.start.ledger
    try:
        return documents.read(path).decode("utf-8") if documents.exists(path) else ""
    except (StorageError, UnicodeDecodeError):
        return None


def read_ledger(workspace: Workspace, account: Account) -> LedgerReading:
    """Read the ledger of a session.

    1. A missing ledger is empty.
    2. A ledger is reported if it cannot be read well enough to know what was edited, or if a program is
       writing to it.
    3. Another session's ledger counts as empty if that session has ended and is published; otherwise it is
       reported.
    """
    return _judge(workspace, account, _read(workspace, account.start.ledger))


def _judge(workspace: Workspace, account: Account, reading: LedgerReading) -> LedgerReading:
    owner = reading.ledger.session_id
    if reading.problems or owner in {None, account.label, account.session}:  # 1, 2
        return reading
    if read_labelled(workspace, owner).is_published:  # 3
        return LedgerReading(ledger=Ledger(), text=reading.text, data=reading.data)
    found = error(1, "session_id", f"belongs to another session, {owner}", _BUSY)
    return replace(reading, problems=(found,))


def _read(workspace: Workspace, path: str) -> LedgerReading:
    documents = workspace.documents
    try:
        return _parse(documents.read(path, settled=True) if documents.exists(path) else b"")
    except StorageError as found:
        return LedgerReading(
            ledger=Ledger(), text="", problems=(error(1, "file", found.message, found.hint),)
        )


def _parse(data: bytes) -> LedgerReading:
    try:
        text = data.decode("utf-8")
        ledger = parse_ledger(text) if text.strip() else Ledger()
    except UnicodeDecodeError:
        problems: tuple[Problem, ...] = (error(1, "file", "is not UTF-8 text"),)
        return LedgerReading(ledger=Ledger(), text="", data=data, problems=problems)
    except FormatError as found:
        problems = (error(1, "file", found.message, found.hint),)
        return LedgerReading(ledger=Ledger(), text="", data=data, problems=problems)
    broken = tuple(one for one in ledger.problems if one.severity is Severity.ERROR)
    return LedgerReading(ledger=ledger, text=text, data=data, problems=broken)


def is_free(workspace: Workspace, path: str, label: str = "") -> bool:
    """Return whether a new session may use this path for its ledger.

    It may if there is no file, or the ledger of an ended session whose journal has everything in it. It may
    not if git tracks the file, because a ledger is local, or if both sessions have the same label, because
    then its owner would be unclear.
    """
    reading = _read(workspace, path)
    if reading.problems or not workspace.documents.exists(path):
        return not reading.problems
    if workspace.tracking.tracked(workspace.settings.paths.ledgers).holds(path):
        return False
    if not reading.text.strip():
        return True
    account = read_labelled(workspace, reading.ledger.session_id)
    if not account.is_published or reading.ledger.session_id == label:
        return False
    base = _base(workspace, account, reading.ledger.journal_seq)
    return base is not None and show_ledger(base, workspace.show_time) == reading.ledger


def _edits(workspace: Workspace, account: Account, ledger: Ledger) -> Sequence[NewFact]:
    """Return the edits since the ledger was rendered that are not in the journal.

    If the rendered state is unknown, for example because the user rewrote the ledger, missing facts may never
    have been in it and are not retracted.
    """
    known = read_account(workspace, account.session)
    base = _shown_account(workspace, known, ledger.journal_seq)
    if base is None:
        found = _keep_apart(workspace, account, find_edits(ledger, known, workspace.show_time))
        return [one for one in found if one.text and one.kind is not FactKind.RETRACTION]
    edits = _keep_apart(workspace, account, find_edits(ledger, base, workspace.show_time))
    if not edits or known.last_seq == base.last_seq:
        return edits
    lines = workspace.journals.read(account.session)
    return rebase_edits(edits, base, known, [line.fact for line in lines if line.seq > base.last_seq])


def _keep_apart(workspace: Workspace, account: Account, edits: Sequence[NewFact]) -> Sequence[NewFact]:
    """Prevent manually edited rows from replacing another session's decision (C151)."""
    if not any(one.kind is FactKind.DECISION for one in edits):
        return edits
    from passdown.services.sessions.decisions import keep_apart  # few edits are decisions

    try:
        return keep_apart(workspace, account, edits)
    except CacheError:  # without the index, the edits are recorded as they are
        return edits


def _name_replaced(workspace: Workspace, account: Account, said: Sequence[NewFact]) -> Sequence[NewFact]:
    """Add to decisions, and retractions of them, the names of what they replace (C162)."""
    if not any(FactKind.DECISION in (one.kind, one.key) for one in said):
        return said
    from passdown.services.sessions.decisions import name_replaced  # few facts are decisions

    return name_replaced(workspace, account, said)


def _shown_account(workspace: Workspace, known: Account, shown: int | None) -> Account | None:
    """Return the account that a ledger shows, ignoring later lines about operations."""
    lines = workspace.journals.read(known.session)
    since = [line for line in lines if shown is not None and line.seq > shown]
    if since and all(line.fact.kind == FactKind.OPERATION for line in since):
        return known
    return _base(workspace, known, shown)


def _base(workspace: Workspace, account: Account, shown: int | None) -> Account | None:
    """Return the account that a ledger was rendered from, or None if it names no line of the journal."""
    if shown == account.last_seq:
        return account
    lines = workspace.journals.read(account.session)
    if shown is None or shown > max((line.seq for line in lines), default=0):
        return None
    return fold_journal(account.session, (line for line in lines if line.seq <= shown))


def render_filled(workspace: Workspace, account: Account, reading: LedgerReading) -> str:
    """Return the text of a ledger with what a session knows now; unchanged lines stay."""
    texts = [
        render_ledger(replace(fill_ledger(ledger, account, workspace.show_time), source=ledger.source))
        for ledger in (reading.ledger, *(one.ledger for one in reading.late if one.ledger.source))
    ]
    return reduce(add_missing_lines, texts)


def _write(workspace: Workspace, account: Account, reading: LedgerReading) -> tuple[Problem, ...]:
    text = render_filled(workspace, account, reading)
    documents, paths = workspace.documents, workspace.settings.paths
    try:
        if text != reading.text:
            ignore_folder(documents, paths.ledgers)
            # Nobody has written into a new one: it can be made again from the journal (ADR 0042).
            durable, before = bool(reading.text), reading.text.encode()
            documents.replace(
                account.start.ledger, text.encode(), local=True, expected=before, durable=durable
            )
            for edit in filter(
                None, (find_mode_edit(reading.ledger, account), find_second_now(reading.ledger))
            ):
                where = f"{account.start.ledger}:{edit.line}"
                workspace.warn(f"{where}: {edit.field} {edit.problem}; {edit.hint}")
        write_state(workspace, account)
    except StorageError as found:
        return (error(1, "file", found.message, found.hint),)
    return ()


def write_state(workspace: Workspace, account: Account) -> None:
    """Write the state file for tools that only read JSON; members of others are kept (C5).

    If git tracks the file, they are dropped, because they are not from this machine (C119). Without them, the
    file can be made again from the journal, so it is not synced (ADR 0042).
    """
    documents, folder = workspace.documents, workspace.settings.paths.runtime
    path = layout.session_state(folder, account.file_id)
    ignore_folder(documents, folder)
    before = documents.read(path).decode("utf-8", "replace") if documents.exists(path) else ""
    known = _read_state(workspace, path, before)
    if known.source is not None:
        edits = find_state_edits(known, account, workspace.journals.read(account.session))
        if edits:
            shown = " and ".join(f"{name} to {value}" for name, value in edits.items())
            workspace.warn(f"{path}: another program changed {shown}; {_STATE_HINT}")
    has_others = known.unknown or known.current_tasks
    if has_others and workspace.tracking.tracked(folder).holds(path):
        known = SessionState()
    text = render_session_state(fill_state(known, account))
    if text != before:
        durable = bool(known.unknown or known.current_tasks)
        documents.replace(path, text.encode(), local=True, durable=durable)


def remove_state(workspace: Workspace, account: Account) -> None:
    """Remove the state file of a session that gets another name."""
    documents = workspace.documents
    path = layout.session_state(workspace.settings.paths.runtime, account.file_id)
    with suppress(StorageError):  # a leftover file is only outdated
        if documents.exists(path):
            documents.remove(path, documents.read(path))


def _read_state(workspace: Workspace, path: str, text: str) -> SessionState:
    """Parse a state file; one that cannot be read is reported and rewritten."""
    try:
        return parse_session_state(text) if text else SessionState()
    except FormatError:
        workspace.warn(f"{path}: rewritten, because it was not valid JSON")
        return SessionState()
