"""The JSON Schemas of what the commands around set-up print with `--json`."""

from collections.abc import Mapping
from typing import Final

Schema = Mapping[str, object]

_TEXT: Final[Schema] = {"type": "string"}
_LINE: Final[Schema] = {"type": "string", "minLength": 1, "pattern": r"^[^\n]*$"}
_MAYBE: Final[Schema] = {"type": ["string", "null"]}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_NUMBER: Final[Schema] = {"type": "number", "minimum": 0}
_TRUTH: Final[Schema] = {"type": "boolean"}
_VERSION: Final[Schema] = {"const": 1}


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


INIT: Final = _object(
    version=_VERSION,
    root=_LINE,
    is_private=_TRUTH,
    written=_TRUTH,
    changes=_list(_object(path=_LINE, is_new=_TRUTH, difference=_TEXT)),
)
INSTALL: Final = _object(
    version=_VERSION,
    host={"enum": ["claude", "codex", "copilot"]},
    done=_TRUTH,
    line=_LINE,
    changes=_list(_object(path=_LINE, is_new=_TRUTH, difference=_TEXT)),
    edits=_TRUTH,
    files=_list(_LINE),
    commands=_list(_list(_LINE)),
    local=_list(_LINE),
    notes=_list(_LINE),
    step=_TEXT,
)
PAUSE: Final = _object(version=_VERSION, is_paused=_TRUTH, changed=_TRUTH, where=_list(_LINE))
_FINDING: Final = _object(
    code=_LINE,
    severity={"enum": ["error", "warning"]},
    what=_LINE,
    where=_MAYBE,
    hint=_LINE,
    fixable=_TRUTH,
)
DOCTOR: Final = _object(
    version=_VERSION, is_healthy=_TRUTH, findings=_list(_FINDING), mended=_list(_LINE), refused=_list(_LINE)
)
COST: Final = _object(
    version=_VERSION,
    skipped=_COUNT,
    costs=_list(
        _object(
            what=_LINE,
            count=_COUNT,
            p50_ms=_NUMBER,
            p95_ms=_NUMBER,
            p50_chars=_COUNT,
            p95_chars=_COUNT,
        )
    ),
)
