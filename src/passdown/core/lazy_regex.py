"""Patterns that are compiled on first use, because a command loads a hundred of them and uses a few."""

import re
from typing import AnyStr, cast


class _LazyPattern:
    """A pattern that is compiled on first use."""

    __slots__ = ("__dict__", "_flags", "_text")

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        """Compile the pattern, and cache the attribute for the next access."""
        found: object = getattr(re.compile(self._text, self._flags), name)
        self.__dict__[name] = found
        return found


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern like `re.compile`, but compile it on first use."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(text, flags))
