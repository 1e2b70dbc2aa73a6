"""Find the running sessions of the project, and the session that a command refers to."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from enum import StrEnum
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
"""The silence after which nobody knows whether a session is running, if its process is unknown."""

GIVEN_UP_AFTER: Final = timedelta(hours=24)
"""The silence after which such a session counts as crashed, and the session of a person as over."""

HEARTBEAT_EVERY: Final = timedelta(minutes=5)
"""The interval at which hooks send heartbeats during work (R50)."""


class Liveness(StrEnum):
    """Whether a session is running, as far as this machine can tell."""

    LIVE = "live"
    UNKNOWN = "unknown"
    """It has been silent, and its process cannot be seen from here: it is neither a peer nor ended."""
    STALE = "stale"
    """It never ended and is not running; the next start recovers it."""
    ENDED = "ended"


def judge_liveness(workspace: Workspace, account: Account) -> Liveness:
    """Return whether a session is still running (C62, C122, C123).

    1. A session that ended is not.
    2. The session of a person lasts until a day of silence.
    3. If its process is known to be alive it is, however long it was silent; if it is known to be gone, not.
    4. Otherwise it is until ten minutes of silence. Then nobody knows, and after a day it counts as crashed.
    """
    if account.ended_at is not None or account.touched_at is None:  # 1
        return Liveness.ENDED
    now, person = workspace.now(), account.start.is_person
    alive = None if person else workspace.processes.is_alive(account.start.process)
    if alive is not None:  # 3
        return Liveness.LIVE if alive else Liveness.STALE
    if is_older(account.touched_at, now, GIVEN_UP_AFTER):  # 2, 4
        return Liveness.STALE
    is_silent = not person and is_older(account.touched_at, now, STALE_AFTER)
    return Liveness.UNKNOWN if is_silent else Liveness.LIVE


def is_live(workspace: Workspace, account: Account) -> bool:
    """Return whether a session is known to be running."""
    return judge_liveness(workspace, account) is Liveness.LIVE


def is_over(workspace: Workspace, account: Account) -> bool:
    """Return whether a session is known not to be running, so that it may be ended for it (C123)."""
    return judge_liveness(workspace, account) in {Liveness.STALE, Liveness.ENDED}


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


def list_kept(workspace: Workspace) -> Sequence[Account]:
    """List the sessions that are running or may be, oldest first: nobody else takes their ledger or id."""
    return [account for account in read_open(workspace) if not is_over(workspace, account)]


def list_here(workspace: Workspace) -> Sequence[Account]:
    """List the agents' sessions that run in this checkout, oldest first."""
    return _only_here(workspace, read_open(workspace))


def _only_here(workspace: Workspace, accounts: Sequence[Account]) -> Sequence[Account]:
    return [
        one
        for one in accounts
        if one.start.checkout == workspace.root and not one.start.is_person and is_live(workspace, one)
    ]


def find_above(workspace: Workspace, processes: Iterable[int]) -> Account | None:
    """Return the agents' session here that one of these processes is, or None; the first process counts.

    If several sessions have the same process, as when one terminal started them, it is none of them.
    """
    here = list_here(workspace)
    for pid in processes if here else ():
        found = [one for one in here if one.start.process.pid == pid]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def find_person_session(workspace: Workspace) -> Account | None:
    """Return the session of a person in this checkout, or None if there is none (C122)."""
    own = (one for one in read_open(workspace) if one.start.is_person)
    here = (one for one in own if one.start.checkout == workspace.root)
    return next((one for one in here if is_live(workspace, one)), None)


def find_session(
    workspace: Workspace, wanted: str, ids: Iterable[str] = (), *, has_own: bool = False
) -> Account | None:
    """Return the session that a command refers to (C51), or None if none runs here.

    1. The session that a host named, by its id, its agent or an id of its host. Names from users are handled
       in `session_names`.
    2. The session that the environment names, by our id or the host's; the first match counts.
    3. The only agent's session that runs in this checkout, unless the command `has_own` new one. If there
       are several, raises a SeveralSessionsError that lists them.
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
