"""The author of what a command says or holds: at their own terminal a person, else the session (C122)."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from passdown.actions.answers import NoticeKind
from passdown.actions.callers import Caller, find_running, is_person, make_ready, need_session
from passdown.errors import SeveralSessionsError
from passdown.services.sessions.liveness import find_above, find_person_session
from passdown.wiring.projects import list_ancestors

if TYPE_CHECKING:
    from passdown.core.sessions.session_facts import Account


def find_author(caller: Caller) -> "Account | None":
    """Return the session that says something, if it is running; None also if several sessions are.

    1. Of a person: the session that this terminal started, else the person's own.
    2. Of anybody else: the session that the command means (C51).
    """
    try:
        return find_speaker(caller)
    except SeveralSessionsError:  # the caller need not choose one of them
        return None


def find_speaker(caller: Caller) -> "Account | None":
    """Return the session that says something, ready for it; None if it must be started first.

    Raises a SeveralSessionsError if an agent or program must choose one.
    """
    return make_ready(caller, _find_of_person(caller) if is_person(caller) else find_running(caller))


def _find_of_person(caller: Caller) -> "Account | None":
    above = find_above(caller.workspace, (one.pid for one in list_ancestors()))
    return above or find_person_session(caller.workspace)


def need_author(caller: Caller, check: Callable[[], object] = lambda: None) -> "Account":
    """Find the session that says something; start one if there is none and `check` raises no error.

    What a person says is published once the answer is written: no end of a turn would do it.
    """
    if not is_person(caller):
        return need_session(caller, check)
    found = find_speaker(caller)
    if found is None:
        check()
        from passdown.services.sessions.sessions import start_person_session  # usually it is running

        found = start_person_session(caller.workspace)
        caller.note(NoticeKind.PERSON_SESSION_STARTED, agent=found.agent)
    if found.start.is_person:
        from passdown.actions.sessions.publications import publish_said  # few callers are persons

        caller.after.append(partial(publish_said, caller, found))
    return found
