"""The session state file `.conductor/session-state_<agent>.json`, in camelCase (S4, R217 to R219, C28)."""

import json
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Final, cast

from passdown.core.documents import refuse_unreadable
from passdown.core.fields import read_choice, read_instant
from passdown.core.frontmatter import LineCounter
from passdown.core.jsontext import Member, count_of, dump, read_members, revise_members, text_of, texts_of
from passdown.core.ledgers import Mode, TddPhase
from passdown.core.problems import Malformed, Problem, Unknown, error, warning
from passdown.core.times import render_seconds
from passdown.errors import FormatError
from passdown.records import field, record

VERSION: Final = 1
MAX_CHARS: Final = 65_536
USUAL_MODE: Final = "SA"


@record
class SessionState:
    """Where one session stands, for tools that read JSON."""

    agent_id: Annotated[str | None, "The agent whose session it is."] = None
    mode: Annotated[Mode | None, "Single or multi agent; locked at start."] = None
    mode_locked_at: Annotated[datetime | None, "When the mode was locked."] = None
    track_id: Annotated[str | None, "The track the session works on."] = None
    current_task: Annotated[str | None, "The task the session has claimed."] = None
    current_tasks: Annotated[tuple[str, ...] | None, "Tasks claimed together."] = None
    tdd_phase: Annotated[TddPhase | None, "Phase of the test-first cycle."] = None
    last_updated: Annotated[datetime | None, "Last sign of life."] = None
    unknown: Annotated[tuple[Unknown, ...], "Members that no field holds: name and JSON value."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


def _text(value: object) -> str | None:
    return text_of(value, "it")


def _instant(value: object) -> datetime | None:
    text = _text(value)
    return None if text is None else read_instant(text)


def read_preferred_mode(data: bytes) -> str:
    """Read the mode that somebody prefers from `preferences.json`; what does not fit says nothing."""
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError):
        return USUAL_MODE
    members = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    mode = members.get("preferredMode")
    return mode if isinstance(mode, str) and mode in set(Mode) else USUAL_MODE


def _mode(value: object) -> Mode | None:
    text = _text(value)
    return None if text is None else read_choice(text, Mode)


def _phase(value: object) -> TddPhase | None:
    text = _text(value)
    return None if text is None else read_choice(text, TddPhase)


def _tasks(value: object) -> tuple[str, ...] | None:
    return None if value is None else texts_of(value, "it")


_MEMBERS: Final[Mapping[str, tuple[str, Callable[[object], object]]]] = MappingProxyType(
    {
        "agentId": ("agent_id", _text),
        "mode": ("mode", _mode),
        "modeLockedAt": ("mode_locked_at", _instant),
        "trackId": ("track_id", _text),
        "currentTask": ("current_task", _text),
        "currentTasks": ("current_tasks", _tasks),
        "tddPhase": ("tdd_phase", _phase),
        "lastUpdated": ("last_updated", _instant),
    }
)
_REQUIRED: Final = ("agentId", "mode", "lastUpdated")
_make_state: Final = cast("Callable[..., SessionState]", SessionState)


def parse_session_state(text: str) -> SessionState:
    """Read a session state file; members it does not know, or that do not fit, are kept.

    Raises `FormatError` when it is no JSON object, too large, or newer than this reader.
    """
    if len(text) > MAX_CHARS:
        raise FormatError(f"session state is over {MAX_CHARS} characters and is not read")
    try:
        members = read_members(text)
    except Malformed as found:
        raise FormatError(
            f"session state {found.problem}", hint=found.hint or "mend the JSON by hand"
        ) from None
    values: dict[str, object] = {}
    unknown: list[Unknown] = []
    problems: list[Problem] = []
    lines = LineCounter(text)
    for member in members:
        try:
            _take(member, values)
        except Malformed as found:
            raw = text[member.value_start : member.value_end]
            unknown.append(Unknown(place=member.name, text=raw))
            if found.problem:
                line = lines.at(member.start)
                problems.append(error(line, member.name, found.problem, found.hint))
    problems += _judge(values, {member.name for member in members if member.value is not None})
    problems.sort(key=lambda problem: problem.line)
    return _make_state(**values, unknown=tuple(unknown), problems=tuple(problems), source=text)


def _take(member: Member, values: dict[str, object]) -> None:
    if member.name == "format":
        refuse_unreadable("", count_of(member.value, "format"), VERSION, "session state")
    if member.name not in _MEMBERS:
        raise Malformed("")
    name, reader = _MEMBERS[member.name]
    if name in values:
        raise Malformed("comes twice; the first one counts", "keep one of them")
    values[name] = reader(member.value)


def _judge(values: Mapping[str, object], given: AbstractSet[str]) -> list[Problem]:
    problems = [error(1, name, "is missing") for name in _REQUIRED if name not in given]
    if values.get("current_tasks") and values.get("current_task") is None:
        hint = "closing a task must clear both"
        problems.append(warning(1, "currentTasks", "is set although currentTask is null", hint))
    return problems


def _members(state: SessionState) -> dict[str, object]:
    return {
        "agentId": state.agent_id,
        "mode": state.mode.value if state.mode else None,
        "modeLockedAt": render_seconds(state.mode_locked_at) if state.mode_locked_at else None,
        "trackId": state.track_id,
        "currentTask": state.current_task,
        "currentTasks": None if state.current_tasks is None else list(state.current_tasks),
        "tddPhase": state.tdd_phase.value if state.tdd_phase else None,
        "lastUpdated": render_seconds(state.last_updated) if state.last_updated else None,
    }


def render_session_state(state: SessionState) -> str:
    """Write a session state file; one that was read keeps every byte that its values did not change."""
    if state.source is None:
        lines = [f"  {dump(name)}: {dump(value)}" for name, value in _members(state).items()]
        lines += [f"  {dump(one.place)}: {one.text}" for one in state.unknown]
        return "{\n" + ",\n".join(lines) + "\n}\n"
    was = _members(parse_session_state(state.source))
    changes = {name: value for name, value in _members(state).items() if value != was[name]}
    return revise_members(state.source, changes)
