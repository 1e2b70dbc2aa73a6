"""Which documents answer a question, decided without an index."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pytest

from passdown.core.project import ranking
from passdown.core.project.ranking import (
    Candidate,
    MatchRank,
    QuestionWeights,
    rank_documents,
    rank_text,
)
from passdown.core.project.search_query import SearchTerm, count_term, join_words, parse_query
from passdown.core.project.stems import stem


class Texts:
    """Texts that are searched one by one."""

    def __init__(self, *texts: str, most: int = 5_000) -> None:
        """Keep the words of the texts."""
        self._joined = [join_words(text) for text in texts]
        self._most = most

    def size(self) -> tuple[int, int]:
        """Count texts and words."""
        return len(self._joined), sum(len(one.split()) for one in self._joined)

    def forms(self, stem_of: str) -> Sequence[str]:
        """Find the words with a stem."""
        words = {word for one in self._joined for word in one.split()}
        return sorted(word for word in words if word != stem_of and stem(word) == stem_of)

    def holding_all(self, terms: Sequence[SearchTerm]) -> Mapping[int, float]:
        """Find texts, the last first."""
        found = self.holding_groups([[term] for term in terms])
        return dict.fromkeys(found, 1.0)

    def holding_groups(self, groups: Sequence[Sequence[SearchTerm]]) -> list[int]:
        """Find texts, the last first."""
        found = [
            number
            for number, one in enumerate(self._joined)
            if all(any(count_term(term, one) for term in group) for group in groups)
        ]
        return found[::-1][: self._most]

    def occurrences(self, terms: Sequence[SearchTerm]) -> Mapping[int, int] | None:
        """Count terms in texts."""
        counts = {
            number: sum(count_term(term, one) for term in terms) for number, one in enumerate(self._joined)
        }
        found = {number: count for number, count in counts.items() if count}
        return None if len(found) > self._most else found

    def candidates(self, documents: Iterable[int]) -> Mapping[int, Candidate]:
        """Give the lengths."""
        return {one: Candidate(len(self._joined[one].split()), one) for one in documents}


def ranks(query: str, texts: Texts) -> list[tuple[int, MatchRank]]:
    return [(one.document, one.rank) for one in rank_documents(parse_query(query), texts).found]


def test_all_words_come_before_their_forms_and_these_before_some_words() -> None:
    texts = Texts("sessions redis", "redis", "in redis keep sessions", "session keeps redis", "cats", "dogs")

    assert ranks("keep sessions in redis", texts) == [
        (2, MatchRank.ALL),
        (3, MatchRank.FORMS),
        (0, MatchRank.SOME),
        (1, MatchRank.WEAK),
    ]


def test_what_a_result_lacks_is_named() -> None:
    (found,) = rank_documents(parse_query("redis kafka a_b mig*"), Texts("redis", "x")).found

    assert found.missing == ("kafka", "a b", "mig*")
    assert 0 < found.share < 1


def test_what_was_quoted_is_in_every_result() -> None:
    texts = Texts("no server of cats", "cats alone", "no server")

    assert ranks('"no server" cats', texts) == [(0, MatchRank.ALL), (2, MatchRank.SOME)]
    assert ranks('"no cat" server', texts) == []


def test_a_word_in_too_many_documents_finds_none_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says too little, and is only asked for together with the others."""
    monkeypatch.setattr(ranking, "RANKED", 2)
    texts = Texts("common rare", "common", "common", "rare words", most=2)

    assert ranks("commons rares", texts) == [(0, MatchRank.FORMS), (3, MatchRank.SOME)]
    assert ranks("commons cats", texts) == []
    found = rank_documents(parse_query("common"), texts)
    assert ([one.document for one in found.found], found.is_least) == ([2, 1], True)
    assert ranks('"common" rare', texts) == [(0, MatchRank.ALL)]


def test_a_text_in_no_index_is_ranked_by_the_same_weights() -> None:
    query = parse_query("keep sessions in redis")
    weights = rank_documents(query, Texts("redis", "sessions", "cats", "dogs")).weights

    def rank(text: str, asked: str = "keep sessions in redis") -> ranking.Ranked:
        joined = join_words(text)
        return rank_text(parse_query(asked), joined, Counter(map(stem, joined.split())), weights)

    assert rank("in redis keep sessions").rank is MatchRank.ALL
    assert rank("redis keeps a session").rank is MatchRank.FORMS
    assert rank("redis and sessions").rank is MatchRank.SOME
    assert rank("cats").score == 0
    assert rank("sessions keep redis", '"keep sessions" redis') == ranking.Ranked(0, MatchRank.WEAK, 0)


def test_without_documents_every_word_weighs_the_same() -> None:
    query = parse_query("a_b cats")
    weights = rank_documents(query, Texts()).weights
    found = rank_text(query, join_words("a b"), Counter(["a", "b"]), weights)

    assert len({term.weight for term in weights.terms}) == 1
    assert (found.rank, found.share) == (MatchRank.SOME, 0.5)
    assert QuestionWeights().total == 0
