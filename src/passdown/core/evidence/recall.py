"""Measure how many facts in force reach a brief, using generated histories (C132).

A fact is recalled if its whole text is in the brief. The promises apply to facts of at most 100 characters,
after any number of sessions.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from passdown.core.briefs.brief_frame import BriefFrame
from passdown.core.briefs.brief_input import BriefInput, HeldName, OtherSession, TeamInput, UnreadMessage
from passdown.core.briefs.briefs import Brief, pack_brief
from passdown.core.briefs.budgets import PREVIEW, Budget, Size
from passdown.core.briefs.budgets import TOKENS as USUAL
from passdown.core.evidence.histories import END, HeldFact, SessionHistory
from passdown.core.kinds import INHERITED, FactKind
from passdown.records import replace

SESSIONS: Final = (20, 100, 250, 1_000, 2_000)
TOKENS: Final = (500, 1_000, 1_500)
NOW: Final = END + timedelta(hours=1)
"""When the brief is made."""

_FEEDBACK: Final = 3
_NONCE: Final = "0123456789ab"
_CROWD: Final = 20
_CROWDED: Final = (5, 3, 5)
"""How many decisions, questions and rules must be recalled when every other part is full."""
_PLAIN: Final = (8, 6, 8)
"""How many must be recalled when there is nothing else but goal, now and next."""


class RecallRow(NamedTuple):
    """What one brief recalled from a history."""

    sessions: int
    is_plain: bool
    tokens: int
    characters: int
    is_head_whole: bool
    is_head_first: bool
    """Whether the head is within the first 2,000 characters."""
    decisions: int
    questions: int
    rules: int
    near: int
    """How many facts that name a file at hand are recalled, of `all_near`."""
    all_near: int
    is_near_first: bool
    """Whether these facts come before others of their kind."""
    used: Size

    @property
    def budget(self) -> Budget:
        """The budget of the brief."""
        return Budget(tokens=self.tokens, characters=self.characters)

    @property
    def recalled(self) -> tuple[int, int, int]:
        """How many decisions, questions and rules are recalled."""
        return self.decisions, self.questions, self.rules


def add_crowd(brief_input: BriefInput) -> BriefInput:
    """Fill the parts that do not come from events: messages, holdings and other sessions."""
    text = "text that others wrote and that takes room"
    team = TeamInput(
        holdings=tuple(HeldName("file", f"src/held_{number}.py") for number in range(_CROWD)),
        messages=tuple(UnreadMessage(number, "amber", text, END) for number in range(_CROWD)),
    )
    peers = tuple(OtherSession(f"peer-{number:08x}", "main", text, END) for number in range(_CROWD))
    return replace(brief_input, team=team, peers=peers)


def measure_brief(
    history: SessionHistory, brief_input: BriefInput, budget: Budget, *, is_plain: bool
) -> RecallRow:
    """Make a brief and count what is recalled."""
    brief = pack_brief(brief_input, budget, NOW, BriefFrame(nonce=_NONCE))
    files = history.last_files
    kinds = [[one for one in history.of(kind) if one.text in brief.text] for kind in INHERITED]
    near = [one for one in history.held if one.file in files and one.kind is not FactKind.FEEDBACK]
    return RecallRow(
        len(history.events),
        is_plain,
        budget.tokens,
        budget.characters,
        _has_head(history, brief.text),
        _has_head(history, brief.text[:PREVIEW]),
        len(kinds[0]),
        len(kinds[1]),
        len(kinds[2]),
        sum(one.text in brief.text for one in near),
        len(near),
        all(_is_near_first(history, found, near, brief) for found in kinds),
        brief.size,
    )


def _has_head(history: SessionHistory, text: str) -> bool:
    """Return whether a text has the whole head: goal, now, first next step, newest feedback and its count."""
    last = history.events[-1]
    feedback = [one.text for one in history.of(FactKind.FEEDBACK)]
    left = sum(one not in text for one in feedback)
    count = [f"and {left} more: `passdown view list feedback`"] if left else []
    wanted = [str(last.goal), str(last.now), *(last.next or ())[:1], *feedback[:_FEEDBACK], *count]
    return all(one in text for one in wanted)


def _is_near_first(
    history: SessionHistory, shown: Sequence[HeldFact], near: Sequence[HeldFact], brief: Brief
) -> bool:
    """Return whether facts that are not near are shown only if all near facts of the kind are shown.

    Contested decisions do not count: they are always shown first.
    """
    kinds = {one.kind for one in shown}
    others = [one for one in shown if one not in near and one.key not in history.contested]
    left = [one for one in near if one.kind in kinds and one.text not in brief.text]
    return not (others and left)


def find_broken(rows: Iterable[RecallRow]) -> Sequence[RecallRow]:
    """Return the rows that break a promise.

    1. No brief exceeds its budget.
    2. With the default budget, the head is whole and comes first, even if the host shows only 2,000
       characters.
    3. With the default budget, enough decisions, questions and rules are recalled.
    4. Facts that name a file at hand come first.
    """
    return [row for row in rows if not _is_kept(row)]


def _is_kept(row: RecallRow) -> bool:
    if not (row.budget.holds(row.used) and row.is_near_first):  # 1, 4
        return False
    if row.tokens < USUAL:
        return True
    wanted = _PLAIN if row.is_plain else _CROWDED
    has_room = row.characters > PREVIEW
    is_enough = all(found >= least for found, least in zip(row.recalled, wanted, strict=True))
    return row.is_head_whole and row.is_head_first and (is_enough or not has_room)  # 2, 3


# --- showing --------------------------------------------------------------------------------------


HEADER: Final = ("sessions", "kinds", "budget", "head", "decisions", "questions", "rules", "near", "tokens")


def list_cells(row: RecallRow) -> tuple[str, ...]:
    """Return the table cells of a row."""
    is_cut = row.characters <= PREVIEW
    return (
        f"{row.sessions:,}",
        "few" if row.is_plain else "all",
        f"{row.characters:,} ch" if is_cut else f"{row.tokens:,}",
        "whole" if row.is_head_whole and row.is_head_first else "cut",
        *map(str, row.recalled),
        f"{row.near} of {row.all_near}",
        f"{row.used.tokens:,}",
    )


def render_recall(rows: Sequence[RecallRow]) -> str:
    """Render recall as a table, at most 80 columns wide."""
    cells = [HEADER, *map(list_cells, rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADER))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in cells]
    return "\n".join(["facts in force that a brief shows in full", "", *lines])
