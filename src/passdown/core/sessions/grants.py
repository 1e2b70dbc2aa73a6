"""What the lines about claims and reservations say that a session holds."""

import json
from collections.abc import Mapping
from typing import Final

from passdown.core.facts import Fact

GRANTED: Final = "fence "
"""How the text of a claim or reservation that was granted starts; any other text but `UNFENCED` ends it."""
HELD_NOW: Final = "held"
FENCE: Final = "fence"
"""Further members of a claim or reservation: whether it is held, and its fence; the text says the same."""
UNFENCED: Final = "unfenced"
CLOSED_UNFENCED: Final = "closed unfenced"
"""The texts of claims that the tracker gave or closed while no engine could be asked (C86)."""
CLOSED_BLOCKED: Final = "closed as blocked"
"""The text of a line that says what blocks a task that was closed; another line ends the claim."""


def take_grant(held: Mapping[str, int], fact: Fact) -> Mapping[str, int]:
    """Add what was granted, or remove what is held no longer."""
    if fact.text == CLOSED_BLOCKED:
        return held
    fence = _read_fence(fact)
    others = {name: one for name, one in held.items() if name != fact.key}
    return others if fence is None else {**others, fact.key: fence}


def take_blocker(blocked: tuple[tuple[str, str], ...], fact: Fact) -> tuple[tuple[str, str], ...]:
    """Add what blocks a task, or remove it when the task is claimed again."""
    others = tuple(one for one in blocked if one[0] != fact.key)
    if fact.text == CLOSED_BLOCKED:
        return (*others, (fact.key, fact.because))
    return blocked if _read_fence(fact) is None else others


def _read_fence(fact: Fact) -> int | None:
    """Return the fence of a grant, by its members or else by its text; None if it says that it is over."""
    members = {name: json.loads(text) for name, text in fact.others}
    fence = members.get(FENCE)
    if HELD_NOW in members and (members[HELD_NOW] is False or isinstance(fence, int)):
        return fence if members[HELD_NOW] is True and isinstance(fence, int) else None
    text = fact.text.removeprefix(GRANTED)
    return int(text) if text != fact.text and text.isdecimal() else None
