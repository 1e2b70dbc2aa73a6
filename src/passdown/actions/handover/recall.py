"""Measure how much of made-up histories briefs recall (C132). No project is needed for it."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

from passdown.actions.answers import HIDDEN, describe
from passdown.core.briefs.budgets import CHARACTERS, PREVIEW, Budget
from passdown.core.evidence import recall
from passdown.core.evidence.histories import make_history
from passdown.core.evidence.recall import RecallRow
from passdown.records import record
from passdown.services.handover.evaluations import evaluate
from passdown.wiring.evaluations import open_empty_project

_SEED: Final = 1


@record
class RecallRequest:
    """The histories and the budgets to measure."""

    sessions: Annotated[tuple[int, ...], "The lengths of the histories; empty for the usual ones."] = ()
    tokens: Annotated[tuple[int, ...], "The budgets in tokens; empty for the usual ones."] = ()
    characters: Annotated[int, "The most characters of each brief."] = CHARACTERS


@record
class MeasuredRecall:
    """What one brief recalled of a history."""

    sessions: Annotated[int, "How many sessions the history has."]
    kinds: Annotated[str, "Whether it has `all` kinds of facts, or `few`."]
    tokens: Annotated[int, "The most tokens the brief could take."]
    characters: Annotated[int, "The most characters it could take."]
    is_head_whole: Annotated[bool, "Whether goal, current work, next step and feedback are in it."]
    is_head_in_preview: Annotated[bool, "Whether they are in the part that every host shows."]
    decisions: Annotated[int, "How many decisions are in it."]
    questions: Annotated[int, "How many questions are in it."]
    rules: Annotated[int, "How many rules are in it."]
    naming_a_file: Annotated[int, "How many facts that name a file at hand are in it."]
    naming_a_file_in_all: Annotated[int, "How many such facts there are."]
    used_tokens: Annotated[int, "The tokens it takes."]
    used_characters: Annotated[int, "The characters it takes."]
    is_good: Annotated[bool, "Whether it contains all required facts."]


@record
class RecallResult:
    """What briefs recalled."""

    rows: Annotated[tuple[MeasuredRecall, ...], "Each brief."]
    is_good: Annotated[bool, "Whether every brief is good."]
    measured: Annotated[tuple[RecallRow, ...], "The raw measurements.", HIDDEN]


def measure_recall(request: RecallRequest) -> RecallResult:
    """Make histories, brief a session that would start there, and count what is recalled."""
    tokens = request.tokens or recall.TOKENS
    chosen = [Budget(tokens=number, characters=request.characters) for number in tokens]
    chosen.append(Budget(tokens=max(tokens), characters=PREVIEW))
    rows = [row for length in request.sessions or recall.SESSIONS for row in _measure(length, chosen)]
    broken = recall.find_broken(rows)
    return RecallResult(
        rows=tuple(_describe(row, is_good=row not in broken) for row in rows),
        is_good=not broken,
        measured=tuple(rows),
    )


def _measure(sessions: int, chosen: Sequence[Budget]) -> Iterator[RecallRow]:
    """Make histories of a length, and measure briefs of each; of one with few kinds at the largest budget."""
    largest = max(chosen, key=lambda budget: (budget.tokens, budget.characters))
    for is_plain in (False, True):
        history = make_history(_SEED, sessions, is_plain=is_plain)
        with open_empty_project(recall.NOW) as workspace:
            yield from evaluate(workspace, history, [largest] if is_plain else chosen, is_plain=is_plain)


def _describe(row: RecallRow, *, is_good: bool) -> MeasuredRecall:
    return describe(
        MeasuredRecall,
        row,
        kinds="few" if row.is_plain else "all",
        is_head_in_preview=row.is_head_first,
        naming_a_file=row.near,
        naming_a_file_in_all=row.all_near,
        used_tokens=row.used.tokens,
        used_characters=row.used.characters,
        is_good=is_good,
    )
