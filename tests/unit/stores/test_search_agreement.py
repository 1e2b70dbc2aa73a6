"""The index in a file and the one in memory give the same list, and what was found before is found first."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from passdown.core.project.search_query import (
    DocumentKind,
    count_term,
    count_words,
    join_words,
    parse_query,
    score,
)
from passdown.engines.memory.search import MemorySearch
from passdown.engines.sqlite.search_index import open_search
from passdown.ports.event_log import FileMark
from passdown.ports.search import Hit, SearchChange, SearchDocument, SearchFile, SearchFilter, SearchIndex
from tests.proof import proof_count
from tests.questions.corpus import make_sessions, read_questions, read_unrelated

START = datetime(2026, 1, 10, tzinfo=UTC)
QUERIES = proof_count(fast=200, ci=1_000, long=10_000)
TEXTS = make_sessions()
ASKED = [*(one.text for one in read_questions()), *read_unrelated()]
WORDS = sorted({word for text in [*TEXTS, *ASKED] for word in text.split()})


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SearchIndex, SearchIndex]]:
    stored = open_search(str(tmp_path_factory.mktemp("index") / "search.db"), shared_memory=True)
    held = MemorySearch()
    for index in (stored, held):
        with index.changing():
            index.apply(SearchChange(DocumentKind.ARCHIVE, {"": 1}, [], list(make_files())))
    yield stored, held
    stored.close()


def make_files() -> Iterator[SearchFile]:
    for number, text in enumerate(TEXTS):
        key = sha256(text.encode()).hexdigest()
        at = START + timedelta(minutes=number // 3)
        document = SearchDocument(key, "", at, f"agent-{number % 5}", text)
        yield SearchFile("", f"{number:04}.md", FileMark(1, 2, 3), (document,))


def make_queries() -> Iterator[tuple[str, SearchFilter]]:
    """Make questions, cut and mixed questions, words of the texts, phrases, prefixes, and filters."""
    source = random.Random(20_260_110)
    for number in range(QUERIES):
        words = source.choice(ASKED).split() + source.sample(WORDS, source.randint(0, 3))
        chosen = source.sample(words, source.randint(1, len(words)))
        text = " ".join(chosen)
        if number % 5 == 0:
            line = source.choice(source.choice(TEXTS).splitlines()[8:]).split() or ["a"]
            at = source.randrange(len(line))
            text += f' "{" ".join(line[at : at + 2])}"'
        if number % 7 == 0:
            text += f" {source.choice(words)[:3]}*"
        wanted = SearchFilter(agent="agent-2") if number % 11 == 0 else SearchFilter()
        yield text, wanted


def tell(hits: Sequence[Hit]) -> list[tuple[object, ...]]:
    return [(hit.file, hit.rank, hit.score, hit.missing) for hit in hits]


@pytest.mark.requirement("C133")
def test_the_same_list_comes_from_a_file_and_from_memory(indexes: tuple[SearchIndex, SearchIndex]) -> None:
    stored, held = indexes

    for text, wanted in make_queries():
        one, other = (index.find(parse_query(text), wanted, 20) for index in (stored, held))
        assert tell(one.best) == tell(other.best), text
        assert one[1:] == other[1:], text


@pytest.mark.requirement("C133")
def test_the_ten_best_with_all_words_are_still_the_first(indexes: tuple[SearchIndex, SearchIndex]) -> None:
    """Before, a document had to hold all words exactly, and BM25 over these words was its place."""
    joined = [join_words(text) for text in TEXTS]
    average = sum(map(count_words, joined)) / len(joined)
    source = random.Random(7)
    found = 0
    for _ in range(QUERIES // 3):
        text = " ".join(source.sample(source.choice(TEXTS).split()[5:], source.randint(1, 3)))
        terms = parse_query(text).terms
        counts = [[count_term(term, one) for term in terms] for one in joined]
        holding = [sum(count[place] > 0 for count in counts) for place in range(len(terms))]
        ranked = sorted(
            (score(count, holding, len(TEXTS), count_words(one) / average), number // 3, number)
            for number, (count, one) in enumerate(zip(counts, joined, strict=True))
            if terms and all(count)
        )
        before = {f"{number:04}.md" for _, _, number in ranked[-10:]}
        found += len(before)
        assert before == {
            hit.file for hit in indexes[0].find(parse_query(text), SearchFilter(), 10).best[: len(before)]
        }
    assert found > QUERIES
