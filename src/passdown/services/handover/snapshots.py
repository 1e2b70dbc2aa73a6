"""Take a snapshot: what a session would pass on now, including facts of the sessions before it."""

from collections.abc import Iterator
from typing import Final

from passdown.core.facts import identify
from passdown.core.kinds import INHERITED
from passdown.core.sessions.handoffs import Handoff, make_handoff
from passdown.core.sessions.session_facts import Account
from passdown.records import replace
from passdown.services.handover.briefs import read_brief_input
from passdown.services.log.events import update_index
from passdown.services.sessions.archives import read_checkout_state
from passdown.services.sessions.journals import only_of_track, read_before
from passdown.services.workspace.workspaces import Workspace

MANUAL: Final = "manual"


def take_snapshot(
    workspace: Workspace, account: Account, trigger: str, *, for_record: bool = False
) -> Handoff:
    """Return what a session would pass on now, without secrets; if it has a track, only facts of that track.

    Raises an UnreadError if not all events were read.
    """
    update_index(workspace.log, workspace.index)
    inherited = _with_inherited(workspace, only_of_track(workspace, account))
    return make_handoff(inherited, read_checkout_state(workspace, account, for_record=for_record), trigger)


def _with_inherited(workspace: Workspace, account: Account) -> Account:
    """Add the decisions, constraints and questions of the sessions before that are still in force."""
    agents = {one.agent for one in _before(workspace, account)}
    brief_input = read_brief_input(workspace, account)
    lists = dict(account.lists)
    for kind in INHERITED:
        own = account.of(kind)
        keys = set(map(identify, own))
        found = [one for one in brief_input.of(kind) if one.agent in agents and identify(one) not in keys]
        lists[kind.value] = (*reversed(found), *own)
    return replace(account, lists=lists)


def _before(workspace: Workspace, account: Account) -> Iterator[Account]:
    """Yield the sessions that one continues, up to one that started fresh."""
    if account.start.is_fresh:
        return
    for one in read_before(workspace, account.start.continues):
        yield one
        if one.start.is_fresh:
            return
