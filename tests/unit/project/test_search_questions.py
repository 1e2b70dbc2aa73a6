"""The search answers questions that are asked in other words than the answer's."""

from collections import Counter

from tests.support.questions import content_stems, make_sessions, read_questions, read_unrelated


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
