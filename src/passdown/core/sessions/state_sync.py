"""Render the state file of a session, and find what another program changed in it, to warn about it.

The ledger wins where the two differ (C5). A file is ours if it shows the session as it was after some line of
its journal: a command may have been killed before it wrote the file.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final, cast

from passdown.core.formats.journal import JournalLine
from passdown.core.formats.state_file import SessionState, render_session_state
from passdown.core.json_text import dump
from passdown.core.sessions.ledger_sync import read_mode, read_tdd, tasks_together
from passdown.core.sessions.session_facts import Account, fold_journal
from passdown.core.times import parse_instant, render_seconds
from passdown.records import replace

_TIME: Final = "lastUpdated"
_OURS: Final = (
    "agentId",
    "mode",
    "modeLockedAt",
    "trackId",
    "currentTask",
    "currentTasks",
    "tddPhase",
    _TIME,
)


def fill_state(known: SessionState, account: Account) -> SessionState:
    """Fill a state file from an account; everything else in it stays."""
    return replace(
        known,
        agent_id=account.handle,
        mode=read_mode(account),
        mode_locked_at=account.started_at,
        track_id=account.track or None,
        current_task=account.task or None,
        current_tasks=tasks_together(account, known.current_tasks or ()) or None,
        tdd_phase=read_tdd(account),
        last_updated=account.touched_at,
    )


def find_state_edits(
    known: SessionState, account: Account, lines: Sequence[JournalLine]
) -> Mapping[str, str]:
    """Return the members of a state file that another program changed and we change back, with its values.

    1. A file from before the session started belongs to an earlier session.
    2. A difference may only mean that we wrote the file earlier. Usually the time is the only difference, and
       nothing needs to be folded again.
    3. An invalid value is kept if we have no value of our own, so it is not changed back.
    """
    there, new = _members(known.source or ""), _members(render_session_state(fill_state(known, account)))
    undone = {name: there.get(name) for name in _OURS if there.get(name) != new.get(name)}  # 3
    time, start = there.get(_TIME), account.started_at
    at = parse_instant(time) if isinstance(time, str) else None
    is_earlier = at is not None and start is not None and at < start.replace(microsecond=0)
    if is_earlier or not undone:  # 1
        return {}
    then = [end for end, line in enumerate(lines, 1) if render_seconds(line.written_at) == time]
    if then and undone.keys() == {_TIME}:  # 2
        return {}
    before = [
        _members(render_session_state(fill_state(known, fold_journal(account.session, lines[:end]))))
        for end in then
    ]
    ours = min(before, key=lambda one: sum(there.get(name) != one.get(name) for name in undone), default=new)
    edited = {name: value for name, value in undone.items() if value != ours.get(name)}  # 2
    return {name: value if isinstance(value, str) else dump(value) for name, value in edited.items()}


def _members(text: str) -> dict[str, object]:
    return cast("dict[str, object]", json.loads(text))
