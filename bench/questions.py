"""How well the search answers questions: our own about a project's history, and those of LoCoMo.

`PASSDOWN_LOCOMO` names the file `data/locomo10.json` of GitHub's snap-research/locomo, which is not shipped.
`python -m bench.questions` prints both errors of the threshold for weak results, at many thresholds.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.budgets import BUDGETS
from bench.rows import Row
from passdown.core.project.ranking import WEAK
from passdown.core.project.search_query import DocumentKind
from passdown.engines.memory.search import MemorySearch
from passdown.ports.event_log import FileMark
from passdown.services.project.search import SearchMatch, SearchRequest, SearchScope, search
from tests.questions.corpus import Question, is_kept_aside, make_sessions, read_questions, read_unrelated
from tests.support.sessions import make_place

LOCOMO: Final = "PASSDOWN_LOCOMO"
THRESHOLDS: Final = (0.1, 0.15, 0.2, 0.22, 0.24, 0.25, 0.26, 0.28, 0.3, 0.35, 0.4, 0.5, 0.6)
_ALL: Final = 1_000
_FEW: Final = 5

Ask = Callable[[str], Sequence[SearchMatch]]


class Found(NamedTuple):
    """How often the right document came first, how often it was among five, and how early on average."""

    first: float
    among_five: float
    reciprocal: float


class Texts:
    """Texts as a source of archived sessions, by number."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Keep the texts."""
        self._texts = {f"{number:04}.md": text.encode() for number, text in enumerate(texts)}

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Give the only folder."""
        del known
        return {"": 1}

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Give all texts."""
        del folder
        return {name: FileMark(len(data), 1, 1) for name, data in self._texts.items()}

    def read(self, folder: str, name: str) -> bytes | None:
        """Give a text."""
        del folder
        return self._texts[name]


def open_texts(texts: Sequence[str]) -> Ask:
    """Give what searches texts as the command does."""
    project = make_place().project
    scope = SearchScope(index=MemorySearch(), sources={DocumentKind.ARCHIVE: Texts(texts)})
    return lambda text: search(project, scope, SearchRequest(text=text, limit=_ALL)).matches


def measure_questions() -> list[Row]:
    """Measure our own questions, and those of LoCoMo if its file is here."""
    return [*_measure_own(), *_measure_locomo()]


def _measure_own() -> Iterator[Row]:
    ask = open_texts(make_sessions())
    for is_aside, name in ((False, "seen half"), (True, "half kept aside")):
        yield from _rows(name, find_answers(ask, choose(is_aside=is_aside)))
        unrelated, right = measure_shares(ask, is_aside=is_aside)
        yield _row(f"{name}, unrelated refused", count_below(unrelated, WEAK))
        yield _row(f"{name}, right called weak", count_below(right, WEAK))


def choose(*, is_aside: bool) -> list[Question]:
    """Give the questions of one half."""
    return [one for one in read_questions() if one.is_kept_aside == is_aside]


def find_answers(ask: Ask, questions: Sequence[Question]) -> Found:
    """Search for each question's session."""
    return _sum_up([_place(ask(one.text), {one.session}) for one in questions])


def _place(found: Sequence[SearchMatch], right: set[int]) -> int:
    """Give the place of the first right one, from 1; 0 if there is none."""
    return next((place for place, match in enumerate(found, 1) if int(match.name) in right), 0)


def _sum_up(places: Sequence[int]) -> Found:
    count = len(places)
    return Found(
        sum(place == 1 for place in places) / count,
        sum(0 < place <= _FEW for place in places) / count,
        sum(1 / place for place in places if place) / count,
    )


def measure_shares(ask: Ask, *, is_aside: bool) -> tuple[list[float], list[float]]:
    """Give the largest share of a question's weight in results of unrelated questions, and in right ones."""
    unrelated = [text for text in read_unrelated() if is_kept_aside(text) == is_aside]
    best = [max((match.share for match in ask(text)), default=0.0) for text in unrelated]
    firsts = [(one, ask(one.text)[:1]) for one in choose(is_aside=is_aside)]
    right = [match.share for one, found in firsts for match in found if int(match.name) == one.session]
    return best, right


def count_below(shares: Sequence[float], threshold: float) -> float:
    """Give the part of the shares that is below a threshold."""
    return sum(share < threshold for share in shares) / len(shares)


def _measure_locomo() -> Iterator[Row]:
    path = os.environ.get(LOCOMO, "")
    if path:
        places = [place for talk in json.loads(Path(path).read_text("utf-8")) for place in _ask_talk(talk)]
        yield from _rows(f"LoCoMo, {len(places):,} questions", _sum_up(places))


def _ask_talk(talk: Mapping[str, Any]) -> Iterator[int]:
    """Ask all questions about one conversation that name their evidence, each session a document."""
    sessions = talk["conversation"]
    count = sum(re.fullmatch(r"session_\d+", name) is not None for name in sessions)
    ask = open_texts([_render_session(sessions, number) for number in range(1, count + 1)])
    for one in talk["qa"]:
        names = " ".join(one.get("evidence", []))
        right = {int(number) - 1 for number in re.findall(r"D(\d+):", names)}
        if right:
            yield _place(ask(one["question"]), right)


def _render_session(sessions: Mapping[str, Any], number: int) -> str:
    """Render a session: when it was, who said what, and what their pictures show."""
    lines = [
        f"{one['speaker']}: {one['text']} {one.get('blip_caption', '')}"
        for one in sessions[f"session_{number}"]
    ]
    return "\n".join([sessions.get(f"session_{number}_date_time", ""), *lines])


def _rows(name: str, found: Found) -> Iterator[Row]:
    for what, value in zip(("hit@1", "hit@5", "MRR"), found, strict=True):
        yield _row(f"{name.partition(',')[0]}, {what}", value)


def _row(name: str, value: float) -> Row:
    budget = BUDGETS["questions"].get(name)
    return Row(part="questions", name=name, value=value * 100, unit="%", ratio=value, budget=budget)


def main() -> None:
    """Print both errors at many thresholds, for each half."""
    ask = open_texts(make_sessions())
    for is_aside in (False, True):
        unrelated, right = measure_shares(ask, is_aside=is_aside)
        print("half kept aside" if is_aside else "seen half")
        for threshold in THRESHOLDS:
            refused, called_weak = count_below(unrelated, threshold), count_below(right, threshold)
            print(f"| {threshold:.2f} | {refused:.0%} | {called_weak:.0%} |")


if __name__ == "__main__":
    main()
