"""The search answers questions that are asked in other words than the answer's."""

from collections import Counter
from collections.abc import Iterator

import pytest

from passdown.core.project.ranking import WEAK, MatchRank
from passdown.core.project.search_query import DocumentKind, parse_query
from passdown.engines.sqlite.search_index import open_search
from passdown.ports.event_log import FileMark
from passdown.ports.search import Hit, SearchChange, SearchDocument, SearchFile, SearchFilter, SearchIndex
from tests.questions.corpus import (
    content_stems,
    is_kept_aside,
    make_sessions,
    read_questions,
    read_unrelated,
)
from tests.support.events import START


def test_no_question_repeats_its_answer() -> None:
    """At most half of a question's stems are in its answer, so the search has to find it by few words."""
    shared = {
        one.text: (content_stems(one.text) & content_stems(one.answer), content_stems(one.text))
        for one in read_questions()
    }

    assert [(text, both) for text, (both, all_of) in shared.items() if len(both) * 2 > len(all_of)] == []


def test_there_are_enough_questions_of_each_kind_and_half_are_kept_aside() -> None:
    kinds = Counter(one.kind for one in read_questions())

    assert set(kinds) == {"decision", "rule", "command", "error", "identifier", "path"}
    assert min(kinds.values()) >= 35
    assert len({one.text for one in read_questions()}) == len(make_sessions()) == 300
    assert len(set(read_unrelated())) == 150
    assert 130 <= sum(one.is_kept_aside for one in read_questions()) <= 170


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchIndex]:
    documents = [
        SearchDocument(f"{number:032x}", str(number), START, "toast", text)
        for number, text in enumerate(make_sessions())
    ]
    index = open_search(str(tmp_path_factory.mktemp("index") / "search.db"), shared_memory=True)
    files = [SearchFile("", f"{one.name}.md", FileMark(1, 2, 3), (one,)) for one in documents]
    with index.changing():
        index.apply(SearchChange(DocumentKind.ARCHIVE, {"": 1}, [], files))
    yield index
    index.close()


def ask(index: SearchIndex, text: str, limit: int = 5) -> tuple[Hit, ...]:
    return index.find(parse_query(text), SearchFilter(), limit).best


@pytest.mark.requirement("C133")
@pytest.mark.parametrize(("is_aside", "least"), [(False, 0.84), (True, 0.9)])
def test_the_answer_is_among_the_first_five(index: SearchIndex, *, is_aside: bool, least: float) -> None:
    """The figures are in docs/how-to/find-things.md."""
    asked = [one for one in read_questions() if one.is_kept_aside == is_aside]

    found = [str(one.session) in {hit.name for hit in ask(index, one.text)} for one in asked]

    assert sum(found) / len(found) >= least


@pytest.mark.requirement("C133")
def test_most_right_answers_are_strong_and_most_answers_to_unrelated_questions_weak(
    index: SearchIndex,
) -> None:
    right = [
        hit.share >= WEAK
        for one in read_questions()
        for hit in ask(index, one.text, 1)
        if hit.name == str(one.session)
    ]
    refused = {
        is_aside: [
            all(hit.rank is MatchRank.WEAK for hit in ask(index, text))
            for text in read_unrelated()
            if is_kept_aside(text) == is_aside
        ]
        for is_aside in (False, True)
    }

    assert sum(right) / len(right) >= 0.85
    assert sum(refused[False]) / len(refused[False]) >= 0.7
    assert sum(refused[True]) / len(refused[True]) >= 0.55
