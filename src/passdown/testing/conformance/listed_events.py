"""How every `Index` must list and count events, and the files that hold a single one (C128, C130)."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest

from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.ports.event_log import FileMark
from passdown.ports.index import EVERY, EventFile, EventFilter, Index, LiveEvents, LogChange, SingleFiles

_MARK = FileMark(1, 2, 3)
_AGENTS = ("ada", "ada-1f3a", "adam", "bob")
_BRANCHES = ("main", "docs")
_TYPES = ("session_end", "checkpoint")


class ListedEventsConformance(ABC):
    """The promises of the port about lists of events; subclass it beside `IndexConformance`."""

    @abstractmethod
    def make(self, folder: Path) -> Index:
        """Make an empty index; the folder is empty and may be used."""

    @abstractmethod
    def drop(self, index: Index) -> None:
        """Release what `make` returned."""

    @pytest.fixture
    def listed(self, tmp_path: Path) -> Iterator[Index]:
        """Return an index with events of several agents, branches, types and days."""
        index = self.make(tmp_path)
        rows = enumerate(product(_AGENTS, _BRANCHES, _TYPES))
        events = tuple(_event(number, *row) for number, row in rows)
        _apply(index, EventFile("", "rollup-0.jsonl", _MARK, events, 0))
        yield index
        self.drop(index)

    @pytest.mark.parametrize("limit", [0, 1, 3, EVERY])
    @pytest.mark.parametrize(
        "wanted",
        [
            EventFilter(),
            EventFilter(agent="ada"),
            EventFilter(agent="ada-1f3a"),
            EventFilter(agent="a_a"),
            EventFilter(branch="docs", type="checkpoint"),
            EventFilter(agent="bob", since=datetime(2026, 1, 11, tzinfo=UTC)),
            EventFilter(since=datetime(2026, 1, 10, tzinfo=UTC), until=datetime(2026, 1, 11, tzinfo=UTC)),
            EventFilter(until=datetime(2025, 1, 1, tzinfo=UTC)),
        ],
    )
    def test_a_filter_gives_the_newest_that_match_and_their_number(
        self, listed: Index, wanted: EventFilter, limit: int
    ) -> None:
        """It is the same as filtering the list of all events."""
        expected = [place for place in listed.places() if wanted.takes(place)]

        assert listed.matching(wanted, limit) == expected[:limit]
        assert listed.count(wanted) == len(expected)

    def test_a_day_has_the_same_hash_if_it_has_the_same_events(self, listed: Index) -> None:
        """Order and place do not matter; one more event changes its day alone."""
        before = listed.days()
        _apply(listed, EventFile("", "a.md", _MARK, (_event(0, "ada", "main", "session_end"),), 0))
        again = listed.days()
        _apply(listed, EventFile("", "b.md", _MARK, (_event(0, "eve", "main", "session_end"),), 0))
        more = listed.days()

        assert sorted(day.day for day in before) == [10, 11]
        assert again == before
        assert [day.day for day in more if more[day] != before[day]] == [10]

    def test_files_with_one_event_are_counted_up_to_a_limit(self, listed: Index) -> None:
        """The newest is that with the latest time in its name, in whichever folder it is."""
        assert listed.live(5) == LiveEvents()
        names = (("", "2026-01-10T13.md"), ("2026-01-11", "2026-01-11T13.md"), ("", "notes.md"))
        _apply(listed, *(EventFile(folder, name, _MARK, (), 1) for folder, name in names))

        assert listed.live(5) == LiveEvents(2, "2026-01-11")
        assert listed.live(1) == LiveEvents(1, "2026-01-11")
        _apply(listed, EventFile("", "2026-01-12T13.md", _MARK, (), 1))
        assert listed.live(5) == LiveEvents(3, "")

    def test_an_index_that_was_never_filled_has_no_single_files(self, tmp_path: Path) -> None:
        """A new project asks before its first event."""
        index = self.make(tmp_path)

        assert (index.single_files(), index.oldest_single(2)) == (SingleFiles(), [])
        self.drop(index)

    def test_the_oldest_single_files_are_those_with_the_first_names(self, listed: Index) -> None:
        """Files whose names do not start with a date do not count."""
        assert (listed.single_files(), listed.oldest_single(2)) == (SingleFiles(), [])
        days = ("2026-01-12", "2026-01-10", "2026-01-11")
        places = [
            *((day, f"{day}T13.md") for day in days),
            ("", "2026-01-11T12.md"),
            ("", "12.md"),
            ("", "a.md"),
        ]
        _apply(listed, *(EventFile(folder, name, _MARK, (), 1) for folder, name in places))

        assert listed.single_files() == SingleFiles(4, "2026-01-10T13.md")
        assert listed.oldest_single(2) == ["2026-01-10/2026-01-10T13.md", "2026-01-11T12.md"]
        assert len(listed.oldest_single(9)) == 4


def _event(number: int, agent: str, branch: str, kind: str) -> EventFacts:
    head = (
        f"ts: 2026-01-{10 + number // 8}T13:{number:02}:00Z\nagent: {agent}\nbranch: {branch}\ntype: {kind}"
    )
    source = parse_event_facts(f"---\n{head}\n---\n\nnow: {number}\n".encode(), "event.md")
    assert source is not None
    return source


def _apply(index: Index, *found: EventFile) -> None:
    with index.changing():
        index.apply(LogChange({}, (), found))
