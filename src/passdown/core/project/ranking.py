"""Ranking: which documents answer a question, and how well.

An index says which documents hold which words; everything else is decided here, so that all engines give the
same list.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

from passdown.core.project.search_query import LooseTerm, SearchQuery, SearchTerm, count_term

RANKED: Final = 5_000
"""At most this many documents that hold a word are ranked; a word in more of them says too little."""
WEAK: Final = 0.22
"""A document is a weak result if the words it holds have less than this part of the weight of all words."""
EXACT: Final = 0.5
"""How much more an exact word counts than another form of it."""

# The same values as in SQLite.
_SATURATION: Final = 1.2
_LENGTH: Final = 0.75
_DIGITS: Final = 9


class MatchRank(IntEnum):
    """How much of a question a document holds; a higher rank comes first."""

    WEAK = 0
    SOME = 1
    FORMS = 2
    ALL = 3


class TermWeight(NamedTuple):
    """What a word of a question is worth: its inverse document frequency, 0 if it is in too many."""

    term: LooseTerm
    weight: float


class QuestionWeights(NamedTuple):
    """The worth of each word of a question, and the average length of a document."""

    terms: tuple[TermWeight, ...] = ()
    average: float = 1.0

    @property
    def total(self) -> float:
        """The worth of all words."""
        return sum(term.weight for term in self.terms)


class TermCounts(NamedTuple):
    """How often a document holds a word in any form, and exactly."""

    forms: int
    exact: int


class Ranked(NamedTuple):
    """A document with its rank, its score among those of the same rank, and the words that it lacks."""

    document: int
    rank: MatchRank
    score: float
    missing: tuple[str, ...] = ()
    share: float = 1.0
    """The part of the question's weight that it holds."""


class RankedList(NamedTuple):
    """All documents that were found, best first."""

    found: tuple[Ranked, ...]
    weights: QuestionWeights
    is_least: bool = False
    """Whether there may be more."""


class Candidate(NamedTuple):
    """What ranking needs to know about a document: its length in words, and when it was written."""

    length: int
    at: int


class WordIndex(Protocol):
    """Which documents hold which words."""

    def size(self) -> tuple[int, int]:
        """Return how many documents there are, and how many words they have together."""
        ...

    def forms(self, stem: str) -> Sequence[str]:
        """Return the words with a stem, except the stem itself."""
        ...

    def holding_all(self, terms: Sequence[SearchTerm]) -> Mapping[int, float]:
        """Return the documents that hold all terms with their BM25 score, the `RANKED` last added ones."""
        ...

    def holding_groups(self, groups: Sequence[Sequence[SearchTerm]]) -> Iterable[int]:
        """Return the `RANKED` last added documents that hold a term of each group."""
        ...

    def occurrences(self, terms: Sequence[SearchTerm]) -> Mapping[int, int] | None:
        """Return how often each document holds any of the terms; None if more than `RANKED` hold one.

        Words in a row, and the start of a word, count once in a document.
        """
        ...

    def candidates(self, documents: Iterable[int]) -> Mapping[int, Candidate]:
        """Return those of the documents that are searched."""
        ...


def rank_documents(query: SearchQuery, index: WordIndex) -> RankedList:
    """Rank the documents that hold at least one word of a question.

    1. Those that hold all of its terms exactly come first, by BM25 over these terms.
    2. Then those that hold all of its words in any form, and those that hold some, by BM25 over stems.
    3. A document that lacks a quoted term is not found.
    4. Those that hold too little of the question's weight come last, and are marked as weak.
    """
    exact = index.holding_all(query.terms)
    held = [_look_up(term, index) for term in query.loose]
    count, words = index.size()
    terms = tuple(_weigh(one, count) for one in held)
    weights = QuestionWeights(terms, max(words, 1) / max(count, 1))
    if len(exact) >= RANKED:
        held = []
    whole = _hold_all(held, index)
    found = whole.union(*(one.forms or () for one in held)) - exact.keys()
    for term in query.required:  # 3
        found.intersection_update(index.occurrences((term,)) or index.holding_groups([[term]]))
    known = index.candidates([*exact, *found])
    ranked = [Ranked(one, MatchRank.ALL, _round(score)) for one, score in exact.items() if one in known]  # 1
    for one in found & known.keys():  # 2
        counts = [each.counts_in(one) for each in held]
        ranked.append(rank_counts(one, counts, known[one].length, weights, is_whole=one in whole))
    ranked.sort(key=lambda one: (one.rank, one.score, known[one.document].at, one.document), reverse=True)
    return RankedList(tuple(ranked), weights, is_least=max(len(exact), len(whole)) >= RANKED)


def rank_counts(
    document: int, counts: Sequence[TermCounts], length: int, weights: QuestionWeights, *, is_whole: bool
) -> Ranked:
    """Rank a document by how often it holds each word of a question; `is_whole` if it holds all of them."""
    norm = _SATURATION * (1 - _LENGTH + _LENGTH * length / weights.average)
    score = part = 0.0
    missing: list[str] = []
    for count, (term, weight) in zip(counts, weights.terms, strict=True):
        score += weight * (_saturate(count.forms, norm) + EXACT * _saturate(count.exact, norm))
        part += weight if count.forms else 0
        if not count.forms and weight:
            missing.append(term.shown)
    if is_whole:
        return Ranked(document, MatchRank.FORMS, _round(score))
    share = _round(part / weights.total) if weights.total else 1.0
    rank = MatchRank.SOME if share >= WEAK else MatchRank.WEAK  # 4
    return Ranked(document, rank, _round(score), tuple(missing), share)


def rank_text(query: SearchQuery, joined: str, stems: Mapping[str, int], weights: QuestionWeights) -> Ranked:
    """Rank a text that is in no index by its joined words and the number of each of its stems.

    Its score is 0 if it holds no word, or lacks a quoted term.
    """
    counts = [_count_in(term, joined, stems) for term in query.loose]
    if not all(count_term(term, joined) for term in query.required):
        return Ranked(0, MatchRank.WEAK, 0)
    length = joined.count(" ") // 2
    ranked = rank_counts(0, counts, length, weights, is_whole=all(one.forms for one in counts))
    is_exact = all(count_term(term, joined) for term in query.terms)
    return ranked._replace(rank=MatchRank.ALL, missing=(), share=1.0) if is_exact else ranked


def _count_in(term: LooseTerm, joined: str, stems: Mapping[str, int]) -> TermCounts:
    exact = count_term(term.term, joined)
    if not term.stem:
        return TermCounts(min(exact, 1), min(exact, 1))
    return TermCounts(stems.get(term.stem, 0), exact)


class _Held(NamedTuple):
    """Which documents hold a word of a question; None if too many do."""

    term: LooseTerm
    group: tuple[SearchTerm, ...]
    forms: Mapping[int, int] | None
    exact: Mapping[int, int]

    def counts_in(self, document: int) -> TermCounts:
        """Count the word in a document; not if too many documents hold it."""
        return TermCounts((self.forms or {}).get(document, 0), self.exact.get(document, 0))


def _look_up(term: LooseTerm, index: WordIndex) -> _Held:
    others = index.forms(term.stem) if term.stem else ()
    words = dict.fromkeys([*term.term.words, term.stem, *others]) if term.stem else ()
    group = tuple(SearchTerm((word,)) for word in words) or (term.term,)
    forms = index.occurrences(group)
    if forms is None or len(group) == 1:
        return _Held(term, group, forms, forms or {})
    return _Held(term, group, forms, index.occurrences((term.term,)) or {})


def _hold_all(held: Sequence[_Held], index: WordIndex) -> set[int]:
    """Return the documents that hold every word in some form."""
    if any(one.forms is None for one in held):
        return set(index.holding_groups([one.group for one in held]))
    documents = [set(one.forms or ()) for one in held]
    return documents[0].intersection(*documents[1:]) if documents else set()


def _weigh(held: _Held, count: int) -> TermWeight:
    if held.forms is None:
        return TermWeight(held.term, 0)
    holding = len(held.forms)
    return TermWeight(held.term, math.log(1 + (count - holding + 0.5) / (holding + 0.5)))


def _saturate(count: int, norm: float) -> float:
    return count * (_SATURATION + 1) / (count + norm)


def _round(score: float) -> float:
    """Drop the digits in which two ways to add up the same numbers may differ."""
    return float(f"{score:.{_DIGITS}g}")
