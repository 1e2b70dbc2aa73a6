"""The session state file `.conductor/session-state_<agent>.json`, in camelCase (S4, R217 to R219, C28)."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Final, cast

from passdown.core.documents.documents import refuse_unreadable
from passdown.core.documents.fields import DeclaredField, declared_fields, in_member
from passdown.core.documents.frontmatter import LineCounter
from passdown.core.formats.ledgers import Mode, TddPhase
from passdown.core.json_text import JsonMember, count_of, dump, read_members, revise_members
from passdown.core.problems import Malformed, Problem, Unknown, error, warning
from passdown.errors import FormatError
from passdown.records import field, record

VERSION: Final = 1
MAX_CHARS: Final = 65_536
USUAL_MODE: Final = "SA"


@record
class SessionState:
    """The state of one session, for tools that read JSON."""

    agent_id: Annotated[
        str | None, "The agent that runs the session.", in_member("agentId", required=True)
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
    last_updated: Annotated[
        datetime | None, "Last sign of life.", in_member("lastUpdated", required=True)
    ] = None
    unknown: Annotated[tuple[Unknown, ...], "Members that no field holds: name and JSON value."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


def read_preferred_mode(data: bytes) -> str:
    """Read the user's preferred mode from `preferences.json`, or the usual mode if it is not valid."""
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError):
        return USUAL_MODE
    members = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    mode = members.get("preferredMode")
    return mode if isinstance(mode, str) and mode in set(Mode) else USUAL_MODE


_make_state: Final = cast("Callable[..., SessionState]", SessionState)


def parse_session_state(text: str) -> SessionState:
    """Read a session state file; unknown members, and those that do not fit, are kept.

    Raises `FormatError` if it is not a JSON object, too large, or newer than this reader.
    """
    if len(text) > MAX_CHARS:
        raise FormatError(f"session state is over {MAX_CHARS} characters, so it is not read")
    try:
        members = read_members(text)
    except Malformed as found:
        raise FormatError(
            f"session state {found.problem}", hint=found.hint or "fix the JSON by hand"
        ) from None
    fields = {one.name: one for one in declared_fields(SessionState)}
    values: dict[str, object] = {}
    unknown: list[Unknown] = []
    problems: list[Problem] = []
    lines = LineCounter(text)
    for member in members:
        try:
            _take(member, fields, values)
        except Malformed as found:
            raw = text[member.value_start : member.value_end]
            unknown.append(Unknown(place=member.name, text=raw))
            if found.problem:
                line = lines.at(member.start)
                problems.append(error(line, member.name, found.problem, found.hint))
    given = {member.name for member in members if member.value is not None}
    required = [one.name for one in fields.values() if one.spec.required]
    problems += [error(1, name, "is missing") for name in required if name not in given]
    if values.get("current_tasks") and values.get("current_task") is None:
        hint = "closing a task must clear both"
        problems.append(warning(1, "currentTasks", "is set although currentTask is null", hint))
    problems.sort(key=lambda problem: problem.line)
    return _make_state(**values, unknown=tuple(unknown), problems=tuple(problems), source=text)


def _take(member: JsonMember, fields: Mapping[str, DeclaredField], values: dict[str, object]) -> None:
    if member.name == "format":
        refuse_unreadable("", count_of(member.value, "format"), VERSION, "session state")
    one = fields.get(member.name)
    if one is None:
        raise Malformed("")
    if one.field in values:
        raise Malformed("appears twice; the first one counts", "keep one of them")
    values[one.field] = one.from_json(member.value)


def _members(state: SessionState) -> dict[str, object]:
    return {one.name: one.to_json(getattr(state, one.field)) for one in declared_fields(SessionState)}


def render_session_state(state: SessionState) -> str:
    """Write a session state file; one that was read keeps every byte that its values did not change."""
    if state.source is None:
        lines = [f"  {dump(name)}: {dump(value)}" for name, value in _members(state).items()]
        lines += [f"  {dump(one.place)}: {one.text}" for one in state.unknown]
        return "{\n" + ",\n".join(lines) + "\n}\n"
    was = _members(parse_session_state(state.source))
    changes = {name: value for name, value in _members(state).items() if value != was[name]}
    return revise_members(state.source, changes)
