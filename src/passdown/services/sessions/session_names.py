"""Find the session that a user names by an id, an agent, a nickname, or the start of one (C161)."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Final

from passdown.core.formats.journal import Scope
from passdown.core.ids import fold_nickname
from passdown.core.sessions.session_facts import Account
from passdown.errors import SeveralSessionsError, UnknownSessionError, UsageError
from passdown.services.sessions.journals import read_accounts, read_open
from passdown.services.sessions.liveness import find_called, is_called
from passdown.services.workspace.workspaces import Workspace

_NAMED: Final = 5
"""How many sessions an error names."""


def find_by_name(workspace: Workspace, wanted: str, *, may_have_ended: bool = False) -> Account:
    """Return the session that a name means.

    1. The only session that has not ended and has the name: its id, an id of its host, its agent or nickname.
    2. If an ended session has this id or agent, it is meant and no other: it can be read, but not reopened.
    3. The only session that has not ended whose id or agent starts like this.
    4. If the session is only read, the only ended one that matches.

    Otherwise raises a UsageError that lists the matching sessions, or similar ones.
    """
    opened = [one for one in read_open(workspace) if one.ended_at is None]
    found = _choose(opened, wanted, _has_name)  # 1
    if found is None and (ended := find_called(workspace, wanted)) is not None:  # 2
        if not may_have_ended:
            raise UsageError(f"session {wanted} has ended", hint="run `passdown start` to start another")
        return ended
    found = found or _choose(opened, wanted, _begins)  # 3
    if found is not None:
        return found
    accounts = read_accounts(workspace, Scope.ALL)
    fitting = [one for one in accounts if _has_name(one, wanted) or _begins(one, wanted)]
    if len(fitting) == 1 and may_have_ended:  # 4
        return fitting[0]
    raise _unknown(accounts, fitting, wanted)


def _choose(accounts: Sequence[Account], wanted: str, fits: Callable[[Account, str], bool]) -> Account | None:
    found = [one for one in accounts if fits(one, wanted)]
    if len(found) > 1:
        raise SeveralSessionsError(
            f"{wanted} matches several sessions: {_list(found)}", hint="pass one of these ids to --session"
        )
    return found[0] if found else None


def _has_name(account: Account, wanted: str) -> bool:
    return is_called(account, wanted) or account.agent.rpartition("-")[0] == fold_nickname(wanted)


def _begins(account: Account, wanted: str) -> bool:
    names = (account.session, account.agent, *account.host_sessions)
    return any(name.casefold().startswith(wanted.casefold()) for name in names)


def _unknown(accounts: Sequence[Account], fitting: Sequence[Account], wanted: str) -> UsageError:
    """Make the error for a name without a session that could be continued."""
    if fitting:
        return UsageError(
            f"every session that matches {wanted} has ended: {_list(fitting)}",
            hint="run `passdown start` to start another",
        )
    by_name = {
        name.casefold(): one
        for one in accounts
        for name in (one.session, one.agent, one.agent.rpartition("-")[0], *one.host_sessions)
    }
    near = dict.fromkeys(by_name[name].session for name in get_close_matches(wanted.casefold(), by_name))
    nearest = [one for one in accounts if one.session in near]
    running = [one for one in accounts if one.ended_at is None]
    hints = [f"similar: {_list(nearest)}"] if nearest else [f"running: {_list(running)}"] if running else []
    hint = "; ".join([*hints, "`passdown start --session ID` starts one"])
    return UnknownSessionError(f"there is no session {wanted}", hint=hint)


def _list(accounts: Sequence[Account]) -> str:
    """List sessions in words; if there are many, only the newest."""
    shown = [f"{one.session} ({one.agent}{', ended' if one.ended_at else ''})" for one in accounts[-_NAMED:]]
    rest = len(accounts) - len(shown)
    return ", ".join([*shown, *([f"and {rest} more"] if rest else [])])
