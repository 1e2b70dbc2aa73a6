"""Find the session that a command is about, and who runs it, and report on the session."""

import os
from datetime import timedelta
from typing import TYPE_CHECKING

from passdown.core.sessions.session_facts import Account
from passdown.core.times import age_words
from passdown.errors import PassdownError, SeveralSessionsError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.project import open_here
from passdown.services.sessions.ledgers import LedgerUpdate
from passdown.services.sessions.liveness import find_called, find_named_session, find_session, list_here
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.projects import list_ancestors, open_hosts

if TYPE_CHECKING:
    from passdown.core.hosts.persons import CommandCaller


def open_sessions() -> Workspace:
    """Open the project of the current folder, and print warnings about its settings."""
    return open_here().workspace


def find_running(workspace: Workspace, wanted: str) -> Account | None:
    """Find the chosen session; return None if none is running.

    A host's own session that no hook has told of, as before its hooks are trusted, is not another one, and
    neither is one that the environment names and nobody knows.
    """
    if wanted:
        from passdown.services.sessions.session_names import find_by_name  # most calls name none

        return find_by_name(workspace, wanted)
    hosts = open_hosts()
    if told := find_named_session(workspace, hosts.session_ids(os.environ)):
        return told
    has_own = hosts.find_caller(os.environ) is not None or bool(find_new_id(workspace))
    return find_session(workspace, "", has_own=has_own)


def find_new_id(workspace: Workspace) -> str:
    """Return the id in PASSDOWN_SESSION that no session has, and none had; empty if there is none."""
    name = open_hosts().find_given(os.environ)
    return "" if not name or find_called(workspace, name) else name


def find_ready(workspace: Workspace, wanted: str) -> Account | None:
    """Find the chosen session, and let it be ready for a command; return None if none is running.

    What it claimed or closed while the engine was away is settled first (C86), and what a command began that
    was cut off is finished (C142).
    """
    found = find_running(workspace, wanted)
    if found is None:
        return None
    found = _finish(workspace, found) if found.unfinished else found
    return _settle(workspace, found) if found.unfenced else found


def need_session(workspace: Workspace, wanted: str) -> Account:
    """Find the chosen session; start one if none is running, or if the environment names a new one (C161)."""
    found = find_ready(workspace, wanted)
    if found is not None:
        return found
    from passdown.services.coordination.finishing import finish_dead  # most calls find a session
    from passdown.services.sessions.sessions import StartRequest, start_session

    finish_dead(workspace)
    request, missing = StartRequest(), "no session was running here"
    caller, given = open_hosts().find_caller(os.environ), find_new_id(workspace)
    if caller is not None:
        request = StartRequest(host=caller.host, host_session=caller.session)
        missing = f"this session of {caller.host} was not known yet"
    elif given:
        request = StartRequest(host_session=given, is_named=True)
        missing = f"there was no session {given}, which PASSDOWN_SESSION names"
    started = start_session(workspace, request)
    output.note(f"{missing}; started {started.account.agent}")
    return started.account


def find_or_begin(workspace: Workspace, wanted: str) -> Account | None:
    """Find the chosen session; one that the environment names and nobody knows is started (C161)."""
    is_named = wanted or find_new_id(workspace) or open_hosts().find_caller(os.environ)
    return need_session(workspace, wanted) if is_named else find_running(workspace, "")


def _finish(workspace: Workspace, account: Account) -> Account:
    from passdown.services.coordination.finishing import changing  # few calls need it
    from passdown.services.sessions.journals import read_account

    with changing(workspace, account):
        return read_account(workspace, account.session)


def _settle(workspace: Workspace, account: Account) -> Account:
    from passdown.services.coordination.unfenced import settle_unfenced  # few calls need it

    return settle_unfenced(workspace, account)


def find_caller(session: str = "") -> "CommandCaller":
    """Return whether a person runs this command, and why not; `session` is what `--session` names (C122).

    This is the one place that collects what `core.hosts.persons` decides from.
    """
    from passdown.core.hosts.persons import CallerSigns, decide_caller  # few commands ask who calls them

    variables = frozenset(name for name, value in os.environ.items() if value)
    signs = CallerSigns(session, variables, list_ancestors(), output.has_person())
    return decide_caller(signs, open_hosts().agent_signs())


def need_person(action: str, session: str = "", *, hint: str) -> None:
    """Raise a UsageError unless a person runs this command; `action` is what only a person may do."""
    caller = find_caller(session)
    if not caller.is_person:
        if session and find_caller().is_person:
            hint = "leave out --session: with it the session acts, and not you"
        raise UsageError(f"only a person at a terminal may {action}: {caller.because}", hint=hint)


def choose_ready(workspace: Workspace, wanted: str) -> Account | None:
    """Find the chosen session as `find_ready` does; a person is asked if several run here."""
    try:
        return find_ready(workspace, wanted)
    except SeveralSessionsError:
        if not find_caller(wanted).is_person:
            raise
        import click  # few have several sessions in one checkout

        agents = sorted(one.agent for one in list_here(workspace))
        asked = f"Which session takes it? ({', '.join(agents)})"
        chosen: str = click.prompt(asked, type=click.Choice(agents), show_choices=False, err=True)
        return find_ready(workspace, chosen)


def choose_session(workspace: Workspace, wanted: str) -> Account:
    """Find the chosen session as `need_session` does; a person is asked if several run here."""
    return choose_ready(workspace, wanted) or need_session(workspace, wanted)


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


def update_view(workspace: Workspace) -> None:
    """Update the local view after a start or an event; report what is in the way, and go on (R131, R132)."""
    from passdown.services.log.local_view import update_local_view  # verbs do not publish

    try:
        update_local_view(workspace)
    except PassdownError as found:
        output.note(f"the view was not updated: {found.message}")


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
        "branch": account.branch,
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


def say_age(workspace: Workspace, account: Account) -> str:
    """Say how long ago a session was last seen."""
    age = workspace.now() - (account.touched_at or workspace.now())
    return f"{age_words(age)} ago" if age >= timedelta(seconds=1) else "just now"


def find_pause(workspace: Workspace) -> str:
    """Return what pauses Passdown here, or an empty string if it is not paused."""
    from passdown.services.project.pauses import find_pauses  # only this command needs it

    return ", ".join(pause.by for pause in find_pauses(workspace, os.environ))
