"""Feedback that people wrote into loop ledgers, as facts: `<change>/<loop> turn N: text` (C105).

Feedback waits until a later turn of its loop has its id, somebody answers it, or a person dismisses it. The
id depends on the text: feedback that a person edits is new feedback, which waits again.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from passdown.core.digests import sha256
from passdown.core.formats.loops import Loop, Turn
from passdown.core.ids import fact_id
from passdown.core.kinds import FactKind
from passdown.core.lazy_regex import pattern

MOST: Final = 8_000
"""The most characters of a feedback in the fact; the ledger has the full text."""
_HASH: Final = 12
_START: Final = pattern(r"([^\s/]+/[^\s/]+ turn [0-9]+): ")


class LoopFeedback(NamedTuple):
    """Feedback that a person wrote after a turn."""

    loop: str
    """The change and the loop, like `habits/ideation`."""
    turn: int
    text: str
    """The text of the fact."""
    is_named: bool = False
    """Whether a later turn answers it."""
    at: datetime | None = None
    """When the turn was added, if that is known."""

    @property
    def id(self) -> str:
        """The id of the fact; turns refer to it."""
        return fact_id(FactKind.FEEDBACK.value, self.text)

    @property
    def place(self) -> str:
        """The turn that the feedback is about."""
        return f"{self.loop} turn {self.turn}"


def find_feedback(loop: str, ledger: Loop) -> Iterator[LoopFeedback]:
    """Yield the feedback in a ledger, the oldest turn first."""
    for position, turn in enumerate(ledger.turns):
        if turn.feedback:
            found = LoopFeedback(
                loop, turn.number, f"{loop} turn {turn.number}: {shorten(turn.feedback)}", at=turn.at
            )
            later = ledger.turns[position + 1 :]
            yield found._replace(is_named=any(found.id in one.text for one in later))


def shorten(text: str) -> str:
    """Return a text cut to the length of a fact; a hash distinguishes texts that were cut."""
    if len(text) <= MOST:
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{text[:MOST]}… (all of it is in the ledger; {digest})"


def name_feedback(answered: Iterable[LoopFeedback]) -> str:
    """Return the lines of a turn that name the feedback it answers."""
    return "\n".join(f"Answers the feedback of turn {one.turn} ({one.id})." for one in answered)


def place_of(text: str) -> str:
    """Return the turn that a feedback is about, from the text of its fact; empty if it is from no loop."""
    match = _START.match(text)
    return match[1] if match else ""


def next_number(turns: Iterable[Turn]) -> int:
    """Return the number of the next turn (C41)."""
    return max((turn.number for turn in turns), default=0) + 1
