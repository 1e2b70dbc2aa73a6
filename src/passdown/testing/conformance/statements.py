"""What every `Index` must do with decisions whose writers did not know of each other (C162)."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path

import pytest

from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.merge import make_digest, merge_events
from passdown.core.statements import list_replaced, name_statement
from passdown.ports.event_log import FileMark
from passdown.ports.index import EventFile, Index, LogChange

_LIMIT = 3


class StatementConformance(ABC):
    """The promises of the port about contradictions; subclass it beside `IndexConformance`."""

    @abstractmethod
    def make(self, folder: Path) -> Index:
        """Make an empty index; the folder is empty and may be used."""

    @abstractmethod
    def drop(self, index: Index) -> None:
        """Release what `make` returned."""

    @pytest.fixture
    def decided(self, tmp_path: Path) -> Iterator[Index]:
        """Return an empty index."""
        index = self.make(tmp_path)
        yield index
        self.drop(index)

    def test_what_nothing_replaces_is_contested_until_it_is_replaced(self, decided: Index) -> None:
        """The newest key comes first, and within each key the newest decision."""
        _apply(decided, [_decide(1, "one"), _decide(2, "two"), _decide(3, "other", key="port")])
        assert _contested(decided) == [["two", "one"]]
        _apply(decided, [_decide(4, "four"), _decide(5, "five", key="port")])
        assert _contested(decided) == [["five", "other"], ["four", "two", "one"]]
        assert [len(decided.digest(limit).contested) for limit in (1, 2)] == [1, 2]

        _apply(decided, [_decide(6, "six", "s-1:1", "s-2:2", "s-4:4")])
        assert _contested(decided) == [["five", "other"]]
        _apply(decided, [], gone=[6])
        assert _contested(decided) == [["five", "other"], ["four", "two", "one"]]

    def test_events_that_rank_later_than_asked_for_contradict_nothing(self, decided: Index) -> None:
        """They replace nothing either."""
        events = [
            _decide(1, "one"),
            _decide(2, "two"),
            _decide(3, "three", "s-1:1", "s-2:2"),
            _decide(4, "four"),
        ]
        _apply(decided, events)

        for hour in range(1, 5):
            until = _at(hour)
            expected = make_digest(merge_events(events, until), 0, _LIMIT)
            assert decided.digest(_LIMIT, until) == expected
        assert [len(decided.digest(_LIMIT, _at(hour)).contested) for hour in range(1, 5)] == [0, 1, 0, 1]

    def test_all_that_is_said_of_a_key_tells_what_it_replaces(self, decided: Index) -> None:
        """Retractions do too: the next session that decides needs the names."""
        origins = "origins:\n  retracted_decisions: 2 2026-01-10T02:00:00Z replaces s-1:1\n"
        _apply(decided, [_decide(1, "one"), _event(2, f"retracted_decisions:\n- store\n{origins}")])

        said = decided.said("decision", "store")

        assert [list_replaced(fact) for fact in said] == [(), ("s-1:1",)]
        assert name_statement(said[0]) == "s-1:1"
        assert decided.digest(_LIMIT).kinds["decision"].total == 0

    @pytest.mark.parametrize("order", [*permutations(range(4))][::5])
    def test_contradictions_do_not_depend_on_the_order_of_changes(
        self, decided: Index, order: Sequence[int]
    ) -> None:
        """An event that arrives late counts at its rank."""
        older = _event(3, "decisions:\n  store: three\n")
        events = [_decide(1, "one"), _decide(4, "four"), older, _decide(5, "five", "s-4:4")]
        for number in order:
            _apply(decided, [events[number]])

        assert decided.digest(_LIMIT) == make_digest(merge_events(events), 0, _LIMIT)
        assert _contested(decided) == [["five", "three"]]


def _at(hour: int) -> datetime:
    return datetime(2026, 1, 10, hour, tzinfo=UTC)


def _decide(hour: int, text: str, *replaces: str, key: str = "store") -> EventFacts:
    names = ";".join(replaces) or "-"
    origin = f"{hour} 2026-01-10T{hour:02}:00:00Z replaces {names}"
    return _event(hour, f"decisions:\n  {key}: {text}\norigins:\n  decisions: {origin}\n")


def _event(hour: int, body: str) -> EventFacts:
    head = f"ts: 2026-01-10T{hour:02}:00:00Z\nagent: a{hour}\nsession: s-{hour}\n"
    source = parse_event_facts(f"---\n{head}---\n{body}".encode(), "x.md")
    assert source is not None
    return source


def _apply(index: Index, events: Sequence[EventFacts], gone: Sequence[int] = ()) -> None:
    found = [EventFile("", f"{one.rank.agent}.md", FileMark(1, 2, 3), (one,), 0) for one in events]
    with index.changing():
        index.apply(LogChange({"": 1}, [("", f"a{number}.md") for number in gone], found))


def _contested(index: Index) -> list[list[str]]:
    return [[fact.text for fact in facts] for facts in index.digest(_LIMIT).contested]
