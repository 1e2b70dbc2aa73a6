"""The JSON Schemas of what the command prints with `--json`: what scripts may rely on."""

from collections.abc import Mapping
from typing import Final

from passdown.core.formats.registry import FORMATS

Schema = Mapping[str, object]

_NAMES: Final = tuple(known.name for known in FORMATS)
_COUNTS: Final = ("checked", "with_errors", "with_warnings", "repaired", "not_repaired", "other_files")


def _object(**members: Schema) -> Schema:
    """Describe an object with exactly these members."""
    return {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }


_TEXT: Final[Schema] = {"type": "string"}
_LINE: Final[Schema] = {"type": "string", "minLength": 1, "pattern": r"^[^\n]*$"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_VERSION: Final[Schema] = {"const": 1}
_FORMAT_VERSION: Final[Schema] = {"type": "integer", "minimum": 1}

ERROR: Final = _object(
    version=_VERSION,
    error=_object(
        code={
            "enum": ["refused", "usage", "held", "outdated", "try-later", "bug", "interrupted"],
        },
        message=_LINE,
        hint=_TEXT,
    ),
)

PROBLEM: Final = _object(
    line={"type": "integer", "minimum": 1},
    field=_LINE,
    problem=_LINE,
    hint=_TEXT,
    severity={"enum": ["error", "warning"]},
    fixable={"type": "boolean"},
)

CHECK: Final = _object(
    version=_VERSION,
    files={
        "type": "array",
        "items": _object(
            path=_TEXT,
            format={"enum": [*_NAMES, None]},
            format_version={"anyOf": [_FORMAT_VERSION, {"type": "null"}]},
            problems={"type": "array", "items": PROBLEM},
            data={"type": ["object", "null"]},
            repair={
                "anyOf": [{"type": "null"}, _object(difference=_TEXT, written={"type": "boolean"})],
            },
        ),
    },
    summary=_object(**dict.fromkeys(_COUNTS, _COUNT)),
)

FORMAT_LIST: Final = _object(
    version=_VERSION,
    formats={
        "type": "array",
        "items": _object(
            name={"enum": list(_NAMES)},
            format_version=_FORMAT_VERSION,
            paths={"type": "array", "minItems": 1, "items": _LINE},
            description=_LINE,
        ),
    },
)

FORMAT_SCHEMA: Final = _object(
    version=_VERSION,
    name={"enum": list(_NAMES)},
    format_version=_FORMAT_VERSION,
    schema={"$ref": "https://json-schema.org/draft/2020-12/schema"},
)

FORMAT_EXAMPLE: Final = _object(
    version=_VERSION,
    name={"enum": list(_NAMES)},
    format_version=_FORMAT_VERSION,
    text=_TEXT,
)
