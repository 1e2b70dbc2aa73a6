"""Patterns that are compiled when they are first used: a command loads a hundred of them and uses a few."""

import re
from typing import AnyStr, cast


class _Late:
    """A pattern of which only the text is known until it is asked for something."""

    __slots__ = ("__dict__", "_flags", "_text")

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        """Compile the pattern, and keep what was asked for where the next one finds it at once."""
        found: object = getattr(re.compile(self._text, self._flags), name)
        self.__dict__[name] = found
        return found


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Give a pattern as `re.compile` does, but compile it when it is first used."""
    return cast("re.Pattern[AnyStr]", _Late(text, flags))
