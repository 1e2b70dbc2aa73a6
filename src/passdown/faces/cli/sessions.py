"""The session that a command means, and how it is shown."""

import os

from passdown import wiring
from passdown.core.accounts import Account
from passdown.faces.cli import output
from passdown.faces.cli.project import current_folder
from passdown.services.journals import Project
from passdown.services.ledgers import Kept
from passdown.services.presence import find_session


def open_sessions() -> Project:
    """Open the project around the current folder, and say what is wrong with its settings."""
    root = wiring.find_root(current_folder())
    settings, warnings = wiring.read_settings(root)
    for warning in warnings:
        output.note(warning)
    return wiring.open_project(root, settings)


def find_running(project: Project, wanted: str) -> Account | None:
    """Find the session that is meant; None where none runs."""
    return find_session(project, wanted, os.environ)


def need_session(project: Project, wanted: str) -> Account:
    """Find the session that is meant; where none runs, start one (C51)."""
    found = find_running(project, wanted)
    if found is not None:
        return found
    from passdown.services.sessions import Wish, start_session  # noqa: PLC0415 - most verbs find one

    started = start_session(project, Wish())
    output.note(f"no session was running here: {started.account.agent} begins")
    return started.account


def note_kept(kept: Kept) -> None:
    """Tell what came of keeping the ledger, beyond what was asked for."""
    if kept.edits:
        plural = "" if kept.edits == 1 else "s"
        output.note(f"{kept.edits} edit{plural} of {kept.account.start.ledger} by hand taken in")
    if kept.is_elsewhere:
        place = kept.account.start.checkout
        output.note(f"{kept.account.agent} works in {place}; its ledger catches up there")
    for problem in kept.problems:
        where = f"{kept.account.start.ledger}:{problem.line}"
        output.note(f"{where}: {problem.field}: {problem.problem}; the ledger is left as it is")
    if kept.problems:
        output.note_hint("what you said is safe in the journal; mend the ledger and it shows it too")


def note_committed(committed: object) -> None:
    """Tell of a commit that was made, or refused."""
    from passdown.ports.repository import Committed, Skipped  # noqa: PLC0415 - verbs make none

    if isinstance(committed, Committed):
        output.note(f"committed as {committed.commit[:12]}")
    elif isinstance(committed, Skipped) and not committed.is_quiet:
        output.note(f"not committed: {committed.reason}")
        if committed.hint:
            output.note_hint(committed.hint)


def describe(account: Account) -> dict[str, object]:
    """Describe a session for programs."""
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
