"""Who is there: which sessions of the project run, and which one a command means."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from passdown.core.accounts import Account
from passdown.core.times import is_older
from passdown.errors import UsageError
from passdown.services.journals import Project, read_accounts, read_open

STALE_AFTER: Final = timedelta(minutes=10)
"""How long after its last sign of life a session is taken for dead, if nobody knows its process."""

HOST_VARIABLES: Final = (
    "PASSDOWN_SESSION",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
    "AGENT_ID",
    "THREAD_ID",
)
"""What may name a session, the first that does counts; the last two are what older tools set."""


def is_live(project: Project, account: Account) -> bool:
    """Say whether a session still runs (C62).

    1. One that ended does not.
    2. One whose process is known to live does, however long it was silent.
    3. One whose process is known to be gone does not.
    4. Otherwise the last sign of life decides.
    """
    if account.ended_at is not None or account.touched_at is None:  # 1
        return False
    alive = project.processes.is_alive(account.start.process)
    if alive is not None:  # 2, 3
        return alive
    return not is_older(account.touched_at, project.now(), STALE_AFTER)  # 4


def list_live(project: Project) -> Sequence[Account]:
    """List the sessions of the project that run, the oldest first."""
    return [account for account in read_open(project) if is_live(project, account)]


def find_session(project: Project, wanted: str, variables: Mapping[str, str]) -> Account | None:
    """Find the session that a command means (C51); None when none runs here.

    1. The one that was named, by its id or its agent.
    2. The one that the environment names, by ours or the host's id.
    3. The only one that runs in this checkout. Several: a UsageError that lists them.
    """
    accounts = read_open(project)
    if wanted:  # 1
        return _find_named(project, accounts, wanted)
    for name in HOST_VARIABLES:  # 2
        named = variables.get(name, "")
        for account in reversed(accounts):
            if named and account.ended_at is None and _is_called(account, named):
                return account
    here = [one for one in accounts if one.start.checkout == project.root and is_live(project, one)]
    if len(here) > 1:  # 3
        names = ", ".join(f"{one.session} ({one.agent})" for one in here)
        raise UsageError(f"several sessions run here: {names}", hint="name one with --session")
    return here[0] if here else None


def _find_named(project: Project, accounts: Sequence[Account], wanted: str) -> Account:
    """Find a session by its id, its agent or an id of its host; one that ended is not opened again."""
    for account in reversed(accounts):
        if account.ended_at is None and _is_called(account, wanted):
            return account
    if any(_is_called(account, wanted) for account in read_accounts(project)):
        raise UsageError(f"session {wanted} has ended", hint="`passdown start` starts another")
    raise UsageError(f"there is no session {wanted}", hint="`passdown status` lists them")


def _is_called(account: Account, name: str) -> bool:
    return name in {account.session, account.agent, *account.host_sessions}
