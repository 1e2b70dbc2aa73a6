"""Repeatable output: values that differ from run to run are replaced with made-up ones.

An id or hash that is shown twice gets the same made-up value, so that a reader can follow it through a page.
All times become one time, all ages one age and all remaining times one span, because a run takes seconds and
a reader takes minutes.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

HOME: Final = "/home/ann"
MOMENT: Final = "2026-03-02T09:30:00.000"
SECOND: Final = "1772443800"
AGE: Final = "2 min"
LEFT: Final = "10 min"
WAIT: Final = "30 s"

_SHORT: Final = 8
_SHORT_UUID: Final = 18
_FIXED: Final = {
    "age": AGE,
    "left": LEFT,
    "wait": WAIT,
    "second": SECOND,
    "hour": MOMENT[11:16],
    "number": "",
}
"""Always the same; a number is that of another file in the same minute."""
_VALUE: Final = re.compile(
    r"""
      (?<=\bev-)(?P<event>[0-9a-f]{16}|[0-9a-f]{8})\b
    | (?<=\bs-)(?P<session>[0-9a-f]{12})\b
    | \b(?P<uuid>[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}(?:-[0-9a-f]{4}-[0-9a-f]{12})?)\b
    | (?:(?<=[a-z]-)|(?<=-\d-)|(?<=\d\d-))(?!20260302)(?P<agent>[0-9a-f]{8})(?=\b|_)
    | (?<=[0-9a-f]{8})(?P<number>-\d)(?=\.md\b)
    | (?<=\bp-)(?P<key>[0-9a-f]{32})\b
    | (?<=_)(?P<second>\d{10})(?=_)
    | \b(?P<sum>[0-9a-f]{64})\b
    | \b(?P<whole>[0-9a-f]{40})\b
    | \b(?P<nonce>[0-9a-f]{12})\b
    | ^(?P<commit>[0-9a-f]{7})(?=\ )
    | \b(?P<moment>\d{4}-\d\d-\d\d[T\ -]\d\d[:-]\d\d(?:[:-]\d\d(?:\.\d{3})?)?)(?=Z|-|$)
    | (?<=\ )(?P<day>\d{4}-\d\d-\d\d)(?=\ \|)
    | (?<=\ )(?P<hour>\d\d:\d\d)(?=\ |Z$)
    | \b(?P<left>\d+\ min)(?=\s+(?:more|left|if)\b)
    | (?<=\bin\ )(?P<wait>\d+\ s)(?=[.,;)]|$)
    | \b(?P<age>\d+\ (?:s|min|h|d))(?=\ ago|\ old|\)|,\ (?:observed|verified|on|not)\b|$)
    """,
    re.VERBOSE | re.MULTILINE,
)


def steady(texts: Sequence[str], home: str = "") -> list[str]:
    """Return texts, in order, with made-up values; the path of the home folder is made up too."""
    known: dict[tuple[str, str], str] = {}

    def make_up(found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        real = found[0]
        if kind in _FIXED:
            return _FIXED[kind]
        if kind in {"moment", "day"}:
            return "".join(new if old.isdigit() else old for old, new in zip(real, MOMENT, strict=False))
        # An id may be shown in full and shortened: its start is enough to recognize it.
        name = (kind, real[: _SHORT_UUID if kind == "uuid" else _SHORT])
        count = sum(other == kind for other, _ in known)
        made = known.setdefault(name, sha256(f"{kind} {count}".encode()).hexdigest())
        digits = iter(made)
        return "".join(one if one == "-" else next(digits) for one in real)

    texts = [text.replace("just now", "0 s ago") for text in texts]
    return [_VALUE.sub(make_up, text.replace(home, HOME) if home else text) for text in texts]
