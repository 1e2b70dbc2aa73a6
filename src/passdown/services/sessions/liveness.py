"""Find the running sessions of the project, and the session that a command refers to."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

from passdown.core.formats.journal import Scope
from passdown.core.ids import is_id
from passdown.core.sessions.session_facts import Account
from passdown.core.times import is_older
from passdown.errors import SeveralSessionsError, UnknownSessionError, UsageError
from passdown.records import replace
from passdown.services.sessions.journals import read_account, read_open
from passdown.services.workspace.workspaces import Workspace, list_other_roots

STALE_AFTER: Final = timedelta(minutes=10)
"""The silence after which a session counts as crashed, if its process is unknown."""

HEARTBEAT_EVERY: Final = timedelta(minutes=5)
"""The interval at which hooks send heartbeats during work (R50)."""


def is_live(workspace: Workspace, account: Account) -> bool:
    """Return whether a session is still running (C62).

    1. A session that ended is not.
    2. A session whose process is known to be alive is, however long it was silent.
    3. A session whose process is known to be gone is not.
    4. Otherwise the time of its last activity decides.
    """
    if account.ended_at is not None or account.touched_at is None:  # 1
        return False
    alive = workspace.processes.is_alive(account.start.process)
    if alive is not None:  # 2, 3
        return alive
    return not is_older(account.touched_at, workspace.now(), STALE_AFTER)  # 4


def is_heartbeat_due(workspace: Workspace, account: Account) -> bool:
    """Return whether a working session should send a heartbeat."""
    return account.touched_at is None or workspace.now() - account.touched_at >= HEARTBEAT_EVERY


def show_place(workspace: Workspace, account: Account) -> Account:
    """Return a running session with the current branch of its checkout; other sessions are unchanged.

    The session may have switched branches since it last recorded anything.
    """
    if account.ended_at is not None:
        return account
    root, repository = account.start.checkout, workspace.repository
    known = {root: repository.branch()} if root == workspace.root else dict(list_other_roots(repository))
    branch = known.get(root, account.branch)
    is_switched = branch != account.branch and is_live(workspace, account)
    return replace(account, branch=branch) if is_switched else account


def list_live(workspace: Workspace) -> Sequence[Account]:
    """List the running sessions of the project, oldest first."""
    return [account for account in read_open(workspace) if is_live(workspace, account)]


def list_here(workspace: Workspace) -> Sequence[Account]:
    """List the sessions that run in this checkout, oldest first."""
    return _only_here(workspace, read_open(workspace))


def _only_here(workspace: Workspace, accounts: Sequence[Account]) -> Sequence[Account]:
    return [one for one in accounts if one.start.checkout == workspace.root and is_live(workspace, one)]


def find_session(
    workspace: Workspace, wanted: str, ids: Iterable[str] = (), *, has_own: bool = False
) -> Account | None:
    """Return the session that a command refers to (C51), or None if none runs here.

    1. The session that a host named, by its id, its agent or an id of its host. Names from users are handled
       in `session_names`.
    2. The session that the environment names, by our id or the host's; the first match counts.
    3. The only session that runs in this checkout, unless the command `has_own` new one. If there are
       several, raises a SeveralSessionsError that lists them.
    """
    accounts = read_open(workspace)
    if wanted:  # 1
        return _find_named(workspace, accounts, wanted)
    told = _find_told(accounts, ids)
    if told is not None or has_own:  # 2
        return told
    here = _only_here(workspace, accounts)
    if len(here) > 1:  # 3
        names = ", ".join(f"{one.session} ({one.agent})" for one in here)
        raise SeveralSessionsError(
            f"several sessions are running here: {names}", hint="choose one with --session ID"
        )
    return here[0] if here else None


def find_named_session(workspace: Workspace, ids: Sequence[str]) -> Account | None:
    """Return the first session that the environment names; never one that merely runs here."""
    return _find_told(read_open(workspace), ids) if ids else None


def _find_told(accounts: Sequence[Account], ids: Iterable[str]) -> Account | None:
    for named in ids:
        for account in reversed(accounts):
            if account.ended_at is None and is_called(account, named):
                return account
    return None


def _find_named(workspace: Workspace, accounts: Sequence[Account], wanted: str) -> Account:
    """Return a session by its id, its agent or an id of its host; an ended session is not reopened."""
    if found := _find_told(accounts, [wanted]):
        return found
    if is_known(workspace, wanted):
        raise UsageError(f"session {wanted} has ended", hint="run `passdown start` to start another")
    raise UnknownSessionError(
        f"there is no session {wanted}", hint="run `passdown status` to see the sessions"
    )


def is_known(workspace: Workspace, name: str) -> bool:
    """Return whether any session has or had a name; only journals that contain it are parsed."""
    is_own = is_id(name) and read_account(workspace, name).started_at is not None
    return is_own or find_called(workspace, name) is not None


def find_called(workspace: Workspace, name: str) -> Account | None:
    """Return the newest session that has a name; one that has not ended comes first."""
    known = [read_account(workspace, session) for session in workspace.journals.mentioning(Scope.ALL, name)]
    called = [one for one in known if is_called(one, name)]
    order = [(one.ended_at is None, one.started_at or workspace.now(), one.session) for one in called]
    return next((one for one in called if one.session == max(order)[-1]), None)


def is_called(account: Account, name: str) -> bool:
    """Return whether a name is the session's id, its agent or an id of its host."""
    return name in {account.session, account.agent, *account.host_sessions}
