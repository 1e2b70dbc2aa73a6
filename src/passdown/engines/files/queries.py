"""SQL that lies beside an engine: each query under a line `-- name: …`."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from passdown.core.patterns import pattern

_NAME: Final = pattern(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def read_queries(path: Path) -> Mapping[str, str]:
    """Read the queries of a file by name."""
    _, *parts = _NAME.split(path.read_text(encoding="utf-8"))
    return MappingProxyType(
        {name: text.strip().removesuffix(";") for name, text in zip(parts[::2], parts[1::2], strict=True)}
    )
