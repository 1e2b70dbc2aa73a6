"""Keep a session's ledger: take in what was edited by hand, write down what was said, and render it."""

from collections.abc import Sequence
from typing import Annotated, Final

from passdown.core.accounts import Account, fold_journal
from passdown.core.bookkeeping import MAX_CHARS, Said, fill_ledger, find_edits, fits, read_mode, show_ledger
from passdown.core.facts import FactKind, Provenance
from passdown.core.ids import is_id
from passdown.core.ledgers import Ledger, parse_ledger, render_ledger
from passdown.core.problems import Problem, Severity, error
from passdown.core.sessions import SessionState, parse_session_state, render_session_state
from passdown.errors import FormatError, StorageError
from passdown.records import record, replace
from passdown.services.journals import Project, read_account, say
from passdown.services.local_files import ignore_folder

ROUNDS: Final = 3
"""How often a ledger is taken in that somebody edits at the same moment."""

_LONG: Final = f"cut it to {MAX_CHARS} characters; what is longer belongs into a file"
_BUSY: Final = "it is left alone; `passdown status` lists the sessions"


@record
class Kept:
    """How the ledger stands after a touch."""

    account: Annotated[Account, "What the session knows now."]
    edits: Annotated[int, "How many facts were taken in from edits by hand."] = 0
    problems: Annotated[
        tuple[Problem, ...], "Why the ledger was left as it is; empty when it was written."
    ] = ()
    is_elsewhere: Annotated[bool, "Whether the ledger lies in another checkout, and catches up there."] = (
        False
    )


@record
class Reading:
    """The ledger as it is on disk."""

    ledger: Ledger
    text: str
    problems: tuple[Problem, ...] = ()


def keep_ledger(
    project: Project,
    account: Account,
    said: Sequence[Said] = (),
    *,
    provenance: Provenance = Provenance.STATED,
    rounds: int = ROUNDS,
) -> Kept:
    """Say something and bring the ledger up to date with the journal, and the journal with the ledger.

    1. What was edited by hand since the last rendering is journalled first.
    2. Then what is said; from here on it cannot be lost, whatever happens to the ledger.
    3. Then the ledger is rendered, changing only the lines that differ. A ledger that cannot be read is left
       as it is, and reported. One that was edited in between is taken in once more.
    4. The ledger of a session that works in another checkout is left alone: there it catches up.

    Raises a StorageError only when a fact could not be journalled, and a UsageError for one that is too long.
    """
    if account.start.checkout != project.root:  # 4
        _say_all(project, account, said, provenance)
        return Kept(account=read_account(project, account.session), is_elsewhere=True)
    reading = read_ledger(project, account)
    edits = () if reading.problems else _edits(project, account, reading.ledger)
    long = tuple(
        error(1, one.kind.value, "is too long to be taken in", _LONG) for one in edits if not fits(one)
    )
    if long:
        reading, edits = replace(reading, problems=long), ()
    _say_all(project, account, edits, Provenance.STATED)  # 1
    _say_all(project, account, said, provenance)  # 2
    account = read_account(project, account.session) if edits or said else account
    if reading.problems:
        return Kept(account=account, problems=reading.problems)
    if _text_of(project, account) == reading.text:  # 3
        return Kept(account=account, edits=len(edits), problems=_write(project, account, reading))
    if rounds == 1:
        return Kept(account=account, edits=len(edits), problems=(error(1, "file", "changes all the time"),))
    kept = keep_ledger(project, account, rounds=rounds - 1)
    return replace(kept, edits=kept.edits + len(edits))


def _say_all(project: Project, account: Account, said: Sequence[Said], provenance: Provenance) -> None:
    for one in said:
        say(project, account, one, provenance)


def _text_of(project: Project, account: Account) -> str | None:
    """Read the ledger once more; None when it can no longer be read."""
    documents, path = project.checkout.documents, account.start.ledger
    try:
        return documents.read(path).decode("utf-8") if documents.exists(path) else ""
    except (StorageError, UnicodeDecodeError):
        return None


def read_ledger(project: Project, account: Account) -> Reading:
    """Read the ledger of a session.

    1. One that is missing is empty.
    2. One that cannot be read, or not well enough to know what was edited, is reported.
    3. Another session's is empty if that one ended with all it knew published, and else is reported.
    """
    reading = _read(project, account.start.ledger)
    owner = reading.ledger.session_id
    if reading.problems or owner in {None, account.session}:  # 1, 2
        return reading
    if _account_of(project, owner).is_published:  # 3
        return Reading(ledger=Ledger(), text=reading.text)
    found = error(1, "session_id", f"is that of another session, {owner}", _BUSY)
    return replace(reading, problems=(found,))


def _read(project: Project, path: str) -> Reading:
    documents = project.checkout.documents
    try:
        text = documents.read(path).decode("utf-8") if documents.exists(path) else ""
        ledger = parse_ledger(text) if text.strip() else Ledger()
    except UnicodeDecodeError:
        return Reading(ledger=Ledger(), text="", problems=(error(1, "file", "is not UTF-8 text"),))
    except (FormatError, StorageError) as found:
        return Reading(ledger=Ledger(), text="", problems=(error(1, "file", found.message, found.hint),))
    broken = tuple(one for one in ledger.problems if one.severity is Severity.ERROR)
    return Reading(ledger=ledger, text=text, problems=broken)


def is_free(project: Project, path: str) -> bool:
    """Say whether a new session may keep its ledger here.

    Nothing is there, or the ledger of a session that ended and whose journal says all that it shows.
    """
    reading = _read(project, path)
    if reading.problems or not reading.text.strip():
        return not reading.problems
    account = _account_of(project, reading.ledger.session_id)
    if not account.is_published:
        return False
    base = _base(project, account, reading.ledger.journal_seq)
    return base is not None and show_ledger(base, project.show_time) == reading.ledger


def _account_of(project: Project, session: str | None) -> Account:
    """Add up the journal of whoever a ledger names; what is no id of ours has none."""
    return read_account(project, session) if session and is_id(session) else Account()


def _edits(project: Project, account: Account, ledger: Ledger) -> Sequence[Said]:
    """Find what was edited since the ledger was rendered.

    Where nothing tells what it showed then, as after somebody wrote all of it anew, what it lacks may be what
    they never saw: it is not taken back.
    """
    if ledger.session_id is None:
        return ()
    base = _base(project, account, ledger.journal_seq)
    if base is not None:
        return find_edits(ledger, base, project.show_time)
    found = find_edits(ledger, read_account(project, account.session), project.show_time)
    return [one for one in found if one.text and one.kind is not FactKind.RETRACTION]


def _base(project: Project, account: Account, shown: int | None) -> Account | None:
    """Give the account that a ledger was rendered from; None when it names no line of the journal."""
    if shown == account.last_seq:
        return account
    lines = project.journals.read(account.session)
    if shown is None or shown > max((line.seq for line in lines), default=0):
        return None
    return fold_journal(account.session, (line for line in lines if line.seq <= shown))


def _write(project: Project, account: Account, reading: Reading) -> tuple[Problem, ...]:
    filled = fill_ledger(reading.ledger, account, project.show_time)
    text = render_ledger(replace(filled, source=reading.ledger.source))
    documents, paths = project.checkout.documents, project.checkout.settings.paths
    try:
        if text != reading.text:
            ignore_folder(documents, paths.ledgers)
            documents.replace(account.start.ledger, text.encode(), local=True)
        ignore_folder(documents, paths.runtime)
        _write_state(project, account, f"{paths.runtime}/session-state_{account.agent}.json")
    except StorageError as found:
        return (error(1, "file", found.message, found.hint),)
    return ()


def _write_state(project: Project, account: Account, path: str) -> None:
    """Write what tools read that know JSON only; what it holds beside our members stays (C5)."""
    documents = project.checkout.documents
    before = documents.read(path).decode("utf-8", "replace") if documents.exists(path) else ""
    try:
        known = parse_session_state(before) if before else SessionState()
    except FormatError:
        known = SessionState()
    state = replace(
        known,
        agent_id=account.agent,
        mode=read_mode(account),
        mode_locked_at=account.started_at,
        track_id=account.track or None,
        current_task=account.task or None,
        last_updated=account.touched_at,
    )
    text = render_session_state(state)
    if text != before:
        documents.replace(path, text.encode(), local=True)
