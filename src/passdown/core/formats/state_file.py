"""The session state file `.conductor/session-state_<agent>.json`, in camelCase (S4, R217 to R219, C28)."""

import json
from datetime import datetime
from typing import Annotated, Final, cast

from passdown.core.documents.documents import JsonFormat
from passdown.core.documents.fields import in_member
from passdown.core.formats.ledgers import Mode, TddPhase
from passdown.core.problems import Problem, Unknown, warning
from passdown.records import field, record, replace

VERSION: Final = 1
MAX_CHARS: Final = 65_536
USUAL_MODE: Final = "SA"


@record
class SessionState:
    """The state of one session, for tools that read JSON."""

    agent_id: Annotated[
        str | None,
        "The agent that runs the session, or the id that `start --session` gave it.",
        in_member("agentId", required=True),
    ] = None
    mode: Annotated[
        Mode | None, "Single or multiple agents; locked at the start.", in_member(required=True)
    ] = None
    mode_locked_at: Annotated[datetime | None, "When the mode was locked.", in_member("modeLockedAt")] = None
    track_id: Annotated[str | None, "The track the session works on.", in_member("trackId")] = None
    current_task: Annotated[str | None, "The task the session has claimed.", in_member("currentTask")] = None
    current_tasks: Annotated[tuple[str, ...] | None, "Tasks claimed together.", in_member("currentTasks")] = (
        None
    )
    tdd_phase: Annotated[TddPhase | None, "Phase of the test-first cycle.", in_member("tddPhase")] = None
    last_updated: Annotated[datetime | None, "Last heartbeat.", in_member("lastUpdated", required=True)] = (
        None
    )
    unknown: Annotated[tuple[Unknown, ...], "Members that no field holds: name and JSON value."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


def read_preferred_mode(data: bytes) -> str:
    """Read the user's preferred mode from `preferences.json`; empty if there is no valid one."""
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    members = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    mode = members.get("preferredMode")
    return mode if isinstance(mode, str) and mode in set(Mode) else ""


def choose_mode(asked: str, preferred: str, *, is_shared: bool) -> str:
    """Choose the mode that a new session keeps until its end (C107).

    1. The requested mode.
    2. The user's preference in this checkout.
    3. Several agents, if the session shares the project with others, through a server or in this clone.
    4. One agent.
    """
    return asked or preferred or (Mode.MULTI.value if is_shared else USUAL_MODE)


FORMAT: Final = JsonFormat(SessionState, "session state", VERSION, MAX_CHARS)
render_session_state: Final = FORMAT.render


def parse_session_state(text: str) -> SessionState:
    """Read a session state file; unknown and invalid members are kept.

    Raises `FormatError` if it is not a JSON object, too large, or newer than this reader.
    """
    state = FORMAT.parse(text)
    if state.current_tasks and state.current_task is None:
        hint = "closing a task must clear both"
        found = warning(1, "currentTasks", "is set although currentTask is null", hint)
        problems = sorted((*state.problems, found), key=lambda problem: problem.line)
        return replace(state, problems=tuple(problems))
    return state
