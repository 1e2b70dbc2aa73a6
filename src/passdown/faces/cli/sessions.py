"""Find the session that a command is about, and report on it."""

import os
from contextlib import suppress

from passdown.core.sessions.session_facts import Account
from passdown.errors import UnknownSessionError
from passdown.faces.cli import output
from passdown.faces.cli.project import open_here
from passdown.services.sessions.ledgers import LedgerUpdate
from passdown.services.sessions.liveness import find_session
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.projects import open_hosts


def open_sessions() -> Workspace:
    """Open the project of the current folder, and print warnings about its settings."""
    return open_here().workspace


def find_running(workspace: Workspace, wanted: str) -> Account | None:
    """Find the chosen session; return None if none is running."""
    return find_session(workspace, wanted, open_hosts().session_ids(os.environ))


def need_session(workspace: Workspace, wanted: str) -> Account:
    """Find the chosen session; start it if there is no such session, or if none is running (C51, C123)."""
    found = None
    with suppress(UnknownSessionError):  # it is started
        found = find_running(workspace, wanted)
    if found is not None:
        return found
    from passdown.services.sessions.sessions import StartRequest, start_session  # most calls find a session

    started = start_session(workspace, StartRequest(host_session=wanted, is_named=bool(wanted)))
    missing = f"there was no session {wanted}" if wanted else "no session was running here"
    output.note(f"{missing}; started {started.account.agent}")
    return started.account


def note_ledger_update(update: LedgerUpdate) -> None:
    """Report manual edits and problems found while updating the ledger."""
    if update.edits:
        plural = "" if update.edits == 1 else "s"
        output.note(f"took in {update.edits} manual edit{plural} of {update.account.start.ledger}")
    if update.is_elsewhere:
        place = update.account.start.checkout
        output.note(f"{update.account.agent} works in {place}; its ledger is updated there")
    for problem in update.problems:
        where = f"{update.account.start.ledger}:{problem.line}"
        output.note(f"{where}: {problem.field}: {problem.problem}; the ledger was not changed")
    if update.problems:
        output.note_hint("the fact is safe in the journal; fix the ledger, and it will show the fact too")


def note_committed(committed: object) -> None:
    """Report a commit that was made or refused."""
    from passdown.ports.repository import Committed, Skipped  # verbs do not commit

    if isinstance(committed, Committed):
        output.note(f"committed as {committed.commit[:12]}")
    elif isinstance(committed, Skipped) and not committed.is_quiet:
        output.note(f"not committed: {committed.reason}")
        if committed.hint:
            output.note_hint(committed.hint)


def describe(account: Account) -> dict[str, object]:
    """Return a session as data for JSON."""
    return {
        "session": account.session,
        "agent": account.agent,
        "host": account.start.host,
        "checkout": account.start.checkout,
        "branch": account.start.branch,
        "ledger": account.start.ledger,
        "continues": account.start.continues or None,
        "started_at": account.started_at and account.started_at.isoformat(),
        "touched_at": account.touched_at and account.touched_at.isoformat(),
        "ended_at": account.ended_at and account.ended_at.isoformat(),
        "goal": account.goal.text if account.goal else None,
        "now": account.now.text if account.now else None,
        "track": account.track or None,
        "task": account.task or None,
    }
