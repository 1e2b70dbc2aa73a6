"""What a session holds or has begun, by its journal: claims, reservations, operations and subagents' results.

Each has a key, and a line begins it, ends it, or says neither.

1. A claim or reservation says in its members whether it is held, and under which fence; lines of older
   versions say it in their text, and any text but a grant's ends it. A claim that the tracker gave while no
   engine could be asked has the fence 0 (C86).
2. A task that was closed while no engine could release it stays unreleased until the next line about it. What
   blocks a task that was closed as blocked is told until the task is granted again.
3. An operation begins when a command wants it, and ends with an outcome. What a hook leaves to the next
   command that calls the tracker was not begun.
4. A result waits until it was applied or dropped.
"""

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

from passdown.core.facts import Fact
from passdown.core.kinds import FactKind

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

VERB: Final = "verb"
ACTION: Final = "action"
OUTCOME: Final = "outcome"
"""The members of a line about an operation: the command that wants it, what is wanted, what came of it."""

RESULT_WAITS: Final = frozenset({"taken", "malformed"})
RESULT_ENDS: Final = frozenset({"applied", "dropped"})
"""The texts of lines about a subagent's result: it is to be applied, or no longer is."""

UNRELEASED: Final = "unreleased"
BLOCKED: Final = "blocked"
"""The tables of what a session remembers of tasks beside its claims (2); the others are called like kinds."""

LET_GO: Final = (FactKind.CLAIM.value, UNRELEASED, FactKind.RESERVATION.value)
"""What a session that has ended, with everything published, holds no longer."""

PUBLISHED: Final = "published"
"""The key of an end that leaves nothing to do: without it, the next start publishes what is open."""


class HoldChange(NamedTuple):
    """That the key of a line is in a table from now on, or no longer is."""

    table: str
    is_held: bool


def read_changes(fact: Fact) -> Iterator[HoldChange]:
    """Yield what a line about a claim, a reservation, an operation or a result changes."""
    if fact.kind == FactKind.OPERATION:  # 3
        members = dict(fact.others)
        if ACTION in members and VERB in members:
            yield HoldChange(fact.kind, is_held=True)
        elif OUTCOME in members:
            yield HoldChange(fact.kind, is_held=False)
    elif fact.kind == FactKind.RESULT:  # 4
        if fact.text in RESULT_WAITS or fact.text in RESULT_ENDS:
            yield HoldChange(fact.kind, is_held=fact.text in RESULT_WAITS)
    elif fact.kind == FactKind.CLAIM and fact.text == CLOSED_BLOCKED:  # 2
        yield HoldChange(BLOCKED, is_held=True)
        yield HoldChange(UNRELEASED, is_held=False)
    else:  # 1
        is_granted = read_fence(fact) is not None
        yield HoldChange(fact.kind, is_held=is_granted)
        if fact.kind == FactKind.CLAIM:
            yield HoldChange(UNRELEASED, is_held=fact.text == CLOSED_UNFENCED)
            if is_granted:
                yield HoldChange(BLOCKED, is_held=False)


def read_fence(fact: Fact) -> int | None:
    """Return the fence of a claim or reservation that is granted; None for any other line about one (1)."""
    members = {name: json.loads(text) for name, text in fact.others}
    fence = members.get(FENCE)
    if HELD_NOW in members and (members[HELD_NOW] is False or isinstance(fence, int)):
        return fence if members[HELD_NOW] is True and isinstance(fence, int) else None
    if fact.text == UNFENCED and fact.kind == FactKind.CLAIM:
        return 0
    text = fact.text.removeprefix(GRANTED)
    return int(text) if text != fact.text and text.isdecimal() else None
