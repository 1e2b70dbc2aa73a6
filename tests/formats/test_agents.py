"""Documents as agents write them: nothing is lost, what is wrong is said, nothing changes unasked."""

import re

import pytest

from passdown.core.schemas import to_data
from tests.formats.strategies import BY_NAME
from tests.hostile.agents import DOCUMENTS, MUTATIONS, Mutation, Written
from tests.hostile.counter import bare_words, lost_lines, strings_of

each_document = pytest.mark.parametrize("written", DOCUMENTS, ids=lambda one: one.name)
each_mutation = pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.name)


def test_there_are_three_hundred_cases() -> None:
    changed = {(one.name, by.name) for one in DOCUMENTS for by in MUTATIONS if by.apply(one.text) != one.text}

    assert len(DOCUMENTS) == 25
    assert len(MUTATIONS) == 12
    assert len(changed) == 300


@each_document
def test_every_line_an_agent_wrote_is_in_the_model(written: Written) -> None:
    kind = BY_NAME[written.format]

    document = kind.parse(written.text)

    assert lost_lines(written.text, to_data(document)) == []
    assert kind.render(document) == written.text


@each_document
@each_mutation
def test_every_line_of_a_mutated_document_is_in_the_model(written: Written, mutation: Mutation) -> None:
    kind = BY_NAME[written.format]
    text = mutation.apply(written.text)

    document = kind.parse(text)

    assert lost_lines(text, to_data(document)) == []
    assert kind.render(document) == text
    report = mutation.report(written.format)
    before = {(one.field, one.problem) for one in kind.parse(written.text).problems}
    added = [one for one in document.problems if (one.field, one.problem) not in before]
    reported = [one.line for one in added if report and re.search(report, one.problem)]
    assert not report or reported
    if mutation.name == "unclosed-fence" and written.format != "event":
        assert text.split("\n").index("`````python") + 1 in reported


@each_document
def test_the_counter_misses_whatever_a_reader_would_drop(written: Written) -> None:
    document = BY_NAME[written.format].parse(written.text)
    data = to_data(document)
    assert isinstance(data, dict)

    kept = {**data, "unknown": [one.text for one in document.unknown]}
    said = [name for name, value in kept.items() if any(bare_words(one) for one in strings_of(value))]

    assert said
    for name in said:
        rest = {other: value for other, value in data.items() if other != name}
        assert lost_lines(written.text, rest), name
