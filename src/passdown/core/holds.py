"""What a session holds or has started, by its journal: claims, reservations, operations, subagents' results.

Each has a key; a journal line starts it, ends it, or does neither.

1. A claim or reservation has members that say whether it is held, and with which fence. Lines of older
   versions say so in their text, and any text except a grant ends it. A claim that only the tracker granted,
   because the engine was away, has the fence 0 (C86).
2. A task that was closed while the engine was away stays unreleased until the next line about it. A task that
   was closed as blocked is listed with its blocker until it is granted again.
3. An operation starts when a command requests it, and ends with an outcome. An operation that a hook leaves
   to the next command has not started.
4. A result waits until it is applied or dropped.
"""

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

from passdown.core.facts import Fact
from passdown.core.kinds import FactKind

GRANTED: Final = "fence "
"""How the text of a granted claim or reservation starts; any other text except `UNFENCED` ends it."""
HELD_NOW: Final = "held"
FENCE: Final = "fence"
"""Further members of a claim or reservation: whether it is held, and its fence, as in the text."""
UNFENCED: Final = "unfenced"
CLOSED_UNFENCED: Final = "closed unfenced"
"""The texts of claims granted or closed by the tracker alone while the engine was away (C86)."""
CLOSED_BLOCKED: Final = "closed as blocked"
"""The text of a line that names the blocker of a closed task; another line ends the claim."""

VERB: Final = "verb"
ACTION: Final = "action"
OUTCOME: Final = "outcome"
"""The members of a line about an operation: the command, the requested action, the outcome."""

RESULT_WAITS: Final = frozenset({"taken", "malformed"})
RESULT_ENDS: Final = frozenset({"applied", "dropped"})
"""The texts of lines about a subagent's result: waiting, or no longer waiting."""

UNRELEASED: Final = "unreleased"
BLOCKED: Final = "blocked"
"""The tables of tasks that a session remembers beside its claims (2); the others are named like kinds."""

LET_GO: Final = (FactKind.CLAIM.value, UNRELEASED, FactKind.RESERVATION.value)
"""The tables that are empty once a session has ended and published everything."""

PUBLISHED: Final = "published"
"""The key of an end after which nothing is left to publish; without it, the next start publishes the rest."""


class HoldChange(NamedTuple):
    """The change of a line to a table: its key enters the table or leaves it."""

    table: str
    is_held: bool


def read_changes(fact: Fact) -> Iterator[HoldChange]:
    """Yield the changes by a line about a claim, a reservation, an operation or a result."""
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
    """Return the fence of a granted claim or reservation; None for any other line about one (1)."""
    members = {name: json.loads(text) for name, text in fact.others}
    fence = members.get(FENCE)
    if HELD_NOW in members and (members[HELD_NOW] is False or isinstance(fence, int)):
        return fence if members[HELD_NOW] is True and isinstance(fence, int) else None
    if fact.text == UNFENCED and fact.kind == FactKind.CLAIM:
        return 0
    text = fact.text.removeprefix(GRANTED)
    return int(text) if text != fact.text and text.isdecimal() else None
