"""Costs are p50 and p95 by nearest rank; what is no measurement is counted and left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.project.costs import Cost, Measurement, parse_measures, sum_up
from passdown.errors import StorageError
from passdown.services.project.doctor import read_costs
from passdown.testing.memory.documents import MemoryDocuments
from tests.support.sessions import MemoryWorkspace


def test_lines_are_read_and_others_counted() -> None:
    text = (
        '{"at":"2026-01-11T12:00:00Z","what":"start","ms":3.5,"chars":12}\n'
        '{"what":"a\\u001b[2J\\nb","ms":1}\n\n'
        '{"what":"start","ms":-1}\n'
        '{"what":"start","ms":true}\n'
        '{"what":"start","ms":NaN}\n'
        '{"what":"start","ms":Infinity}\n'
        '{"what":"start","ms":1,"chars":"2"}\n'
        '{"what":"","ms":1}\n'
        '{"what":1,"ms":1}\n'
        "[1]\n"
        '{"event":"handoff_expired","file":"x","timestamp":"2026-01-11T12:00:00Z"}\n'
        '{"torn'
    )

    found, skipped = parse_measures(text)

    assert [(one.ms, one.chars) for one in found] == [(3.5, 12), (1, 0)]
    assert "\n" not in found[1].what
    assert skipped == 9


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    found, skipped = parse_measures(text)

    assert len(found) + skipped <= sum(bool(line.strip()) for line in text.split("\n"))


@pytest.mark.parametrize(("count", "p50", "p95"), [(1, 1, 1), (2, 1, 2), (20, 10, 19), (100, 50, 95)])
def test_half_cost_at_most_p50_and_95_of_100_at_most_p95(count: int, p50: int, p95: int) -> None:
    measures = [Measurement("x", number, number) for number in range(count, 0, -1)]

    assert sum_up(measures) == [
        Cost(what="x", count=count, p50_ms=p50, p95_ms=p95, p50_chars=p50, p95_chars=p95)
    ]
    assert [one.what for one in sum_up([*measures, Measurement("a", 1, 1)])] == ["a", "x"]


class HugeDocuments(MemoryDocuments):
    """Files that are larger than anybody wants to read."""

    def size(self, path: str) -> int:
        """Give a size out of bounds."""
        return super().size(path) + 2**30


@pytest.mark.parametrize("git", [MemoryDocuments(), None])
def test_measurements_are_read_with_git_and_without(git: MemoryDocuments | None) -> None:
    documents = MemoryDocuments({".conductor/metrics.jsonl": b'{"what":"x","ms":1}'})
    site = MemoryWorkspace(documents=documents, git_documents=git)

    assert [one.what for one in read_costs(site)[0]] == ["x"]


def test_a_huge_file_is_not_read() -> None:
    documents = HugeDocuments({".conductor/metrics.jsonl": b""})
    site = MemoryWorkspace(documents=documents, git_documents=None)

    with pytest.raises(StorageError, match="is not read"):
        read_costs(site)
