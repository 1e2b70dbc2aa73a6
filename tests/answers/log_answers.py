"""The JSON Schemas of what the commands of the event log print with `--json`."""

from collections.abc import Mapping
from typing import Final

Schema = Mapping[str, object]

_TEXT: Final[Schema] = {"type": "string"}
_LINE: Final[Schema] = {"type": "string", "minLength": 1, "pattern": r"^[^\n]*$"}
_MAYBE: Final[Schema] = {"type": ["string", "null"]}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_TRUTH: Final[Schema] = {"type": "boolean"}
_VERSION: Final[Schema] = {"const": 1}
_HASH: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_AT: Final[Schema] = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$"}
_NULL: Final[Schema] = {"type": "null"}


def _object(**members: Schema) -> Schema:
    """Describe an object with exactly these members."""
    return {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _any(*choices: Schema) -> Schema:
    return {"anyOf": list(choices)}


_NAMES: Final = ("current", "outdated", "missing", "edited", "merged", "foreign", "other-renderer")
_STATES: Final[Schema] = {"enum": list(_NAMES)}

SYNTHESIZE: Final = _any(
    _object(version=_VERSION, state={"enum": ["empty", "legacy"]}, events=_COUNT, skipped=_COUNT),
    _object(
        version=_VERSION,
        state=_STATES,
        events=_COUNT,
        view=_object(path=_LINE, is_tracked=_TRUTH, note=_TEXT),
    ),
    _object(
        version=_VERSION,
        state={"const": "waiting"},
        events=_COUNT,
        view=_object(path=_LINE, is_tracked=_TRUTH, note=_TEXT),
        uncommitted=_object(paths=_list(_LINE), reason=_LINE),
    ),
    _object(
        version=_VERSION,
        state={"const": "merged"},
        events=_COUNT,
        view=_any(_object(text=_TEXT), _object(path=_LINE)),
    ),
    _object(
        version=_VERSION,
        state={"enum": ["current", "written"]},
        events=_COUNT,
        skipped=_COUNT,
        malformed=_COUNT,
        view=_object(
            path=_LINE, before=_STATES, kept=_MAYBE, offered=_list(_TEXT), is_tracked=_TRUTH, note=_TEXT
        ),
        ahead=_list(_object(id=_LINE, at=_AT, agent=_LINE)),
        archived=_any(_NULL, _object(events=_COUNT, days=_COUNT)),
        commit=_any(_NULL, _object(commit=_MAYBE, paths=_list(_LINE), why=_MAYBE, reason=_TEXT)),
    ),
)

_EVENT: Final = _object(
    id=_LINE,
    sha256=_HASH,
    at=_AT,
    ranked_at=_AT,
    agent=_LINE,
    branch=_LINE,
    type=_LINE,
    is_retracted=_TRUTH,
    checkout=_LINE,
    path=_LINE,
    data={"type": "object"},
)
LOG: Final = _object(version=_VERSION, events=_list(_EVENT), earlier=_COUNT)
EVENT_SHOW: Final = _object(version=_VERSION, event=_EVENT)
EVENT_RETRACT: Final = _object(
    version=_VERSION,
    retracted=_LINE,
    event=_any(_NULL, _object(id=_LINE, at=_AT, agent=_LINE, path=_LINE)),
)

VIEW_SHOW: Final = _object(version=_VERSION, path=_LINE, state={"enum": ["legacy", *_NAMES]}, text=_TEXT)
_ABOUT: Final = {"at": _AT, "agent": _LINE, "event": _LINE, "sha256": _HASH}
VIEW_LIST: Final = _object(
    version=_VERSION,
    facts=_list(
        _any(
            _object(text=_TEXT, **_ABOUT),
            _object(key=_TEXT, text=_TEXT, **_ABOUT),
            _object(task=_TEXT, phase=_TEXT, status=_TEXT, name=_TEXT, checkpoint_agent=_TEXT, **_ABOUT),
        )
    ),
    section=_LINE,
    count=_COUNT,
)
VIEW_VERIFY: Final = _object(
    version=_VERSION,
    is_good=_TRUTH,
    is_outdated=_TRUTH,
    path=_LINE,
    state=_STATES,
    events=_COUNT,
    recorded_events={"type": ["integer", "null"]},
    are_events_recorded=_TRUTH,
    findings=_list(_object(wrong={"enum": ["missing", "altered"]}, event=_MAYBE, path=_LINE, reason=_LINE)),
    skipped=_list(_object(path=_LINE, problem=_LINE)),
)
MIGRATE: Final = _object(
    version=_VERSION,
    path=_LINE,
    written=_TRUTH,
    event={"type": ["object", "null"]},
    left=_list(_LINE),
    kept=_MAYBE,
    view=_MAYBE,
)
