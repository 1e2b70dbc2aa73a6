"""The SQL of coordination for psycopg: the same text as for SQLite, with other placeholders."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from passdown.core.lazy_regex import pattern
from passdown.engines.files.read import read_trusted

_NAME: Final = pattern(r"^-- name: (\w+)\n", re.MULTILINE)
_QUOTED: Final = r"'(?:[^']|'')*'" r'|"(?:[^"]|"")*"'
_COMMENT: Final = r"--[^\n]*"
_PART: Final = pattern(rf"({_QUOTED})|{_COMMENT}|(\?)|(%)")
_TEXT: Final = pattern(rf"({_QUOTED}|{_COMMENT})|\bTEXT\b")
_STATEMENT: Final = pattern(rf"((?:{_QUOTED}|{_COMMENT}|[^;])+);?")


@cache
def read_statements(path: Path) -> Mapping[str, bytes]:
    """Read the statements in a file, each under a line `-- name: …`, ready to be executed with values."""
    _, *parts = _NAME.split(read_script(path))
    return MappingProxyType(
        {
            name: mark_values(text).strip().removesuffix(";").encode()
            for name, text in zip(parts[::2], parts[1::2], strict=True)
        }
    )


def read_script(path: Path) -> str:
    """Read a file of this package."""
    return read_trusted(path).decode("utf-8")


def mark_values(statement: str) -> str:
    """Return a statement with `%s` for each `?`, and without comments.

    Question marks inside quotes stay; percent signs are doubled everywhere.
    """

    def mark(found: re.Match[str]) -> str:
        quoted, value, percent = found.groups()
        if quoted:
            return str(quoted).replace("%", "%%")
        return "%s" if value else "%%" if percent else ""

    return _PART.sub(mark, statement)


def sort_by_bytes(script: str) -> str:
    """Return a script whose text columns compare byte by byte, as in SQLite, in any database locale."""
    return _TEXT.sub(lambda found: found[0] if found[1] else 'TEXT COLLATE "C"', script)


def split_script(script: str) -> Iterator[bytes]:
    """Yield the statements of a script, as Citus wants them: one at a time.

    A semicolon inside quotes or a comment ends no statement. Bodies of functions in `$$` are not known.
    """
    texts = (found[1].strip() for found in _STATEMENT.finditer(script))
    yield from (text.encode() for text in texts if text)
