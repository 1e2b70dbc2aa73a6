"""The facts near a session's work that every `Index` must find (C132)."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.named_files import NamedFiles
from passdown.core.times import LAST_INSTANT
from passdown.ports.event_log import FileMark
from passdown.ports.index import EventFile, Index, LogChange, NearFacts, Neighbourhood

_START = datetime(2026, 1, 10, 13, tzinfo=UTC)


class NearConformance(ABC):
    """The promises of the port about facts that are near; subclass it beside `IndexConformance`."""

    @abstractmethod
    def make(self, folder: Path) -> Index:
        """Make an empty index; the folder is empty and may be used."""

    @abstractmethod
    def drop(self, index: Index) -> None:
        """Release what `make` returned."""

    @pytest.fixture
    def near(self, tmp_path: Path) -> Iterator[Index]:
        """Return an empty index."""
        index = self.make(tmp_path)
        yield index
        self.drop(index)

    def test_nothing_is_near_in_an_empty_index(self, near: Index) -> None:
        """It can be queried at once."""
        found = near.near(Neighbourhood(("a.py",), "t", "main"), LAST_INSTANT)

        assert (found.facts, found.named, found.of_track) == ((), frozenset(), frozenset())
        assert [*near.files_of_last("t", "main", LAST_INSTANT)] == []

    def test_decisions_rules_and_questions_that_name_a_file_are_found(self, near: Index) -> None:
        """They name it by its path, its last two parts, or its name; the order of adding is irrelevant."""
        first = _event(1, "decisions:\n  a: keep src/core/store.py small\n  b: keep it\n")
        _apply(near, [first])
        _apply(near, [_event(2, "constraints:\n- no SQL in core/store.py\n- none in lib/store.py\n")])
        _apply(near, [_event(3, "open_questions:\n- is store.py fast?\nthis_session:\n- wrote store.py\n")])

        found = near.near(Neighbourhood(("src/core/store.py",)), LAST_INSTANT)

        assert [fact.text for fact in found.facts] == [
            "is store.py fast?",
            "no SQL in core/store.py",
            "keep src/core/store.py small",
        ]
        assert found.facts[2].key == "a"
        assert found.facts[2].event == first.rank.hash
        assert found.named == {(fact.kind, fact.text) for fact in found.facts}
        assert found.files == NamedFiles(frozenset({"core/store.py", "store.py"}))

    def test_a_name_that_two_files_have_names_neither(self, near: Index) -> None:
        """This counts the files in events, as long as the events exist."""
        said = _event(1, "open_questions:\n- is store.py fast?\n- is a/store.py fast?\n")
        _apply(near, [said, _event(2, "files_modified:\n- a/store.py\n- b/store.py\n- b/other.py\n")])

        def ask() -> list[str]:
            return [one.text for one in near.near(Neighbourhood(("a/store.py",)), LAST_INSTANT).facts]

        assert ask() == ["is a/store.py fast?"]
        _apply(near, [], gone=[2])
        assert sorted(ask()) == ["is a/store.py fast?", "is store.py fast?"]

    def test_what_does_not_hold_any_more_is_not_near(self, near: Index) -> None:
        """Neither are facts of events that are retracted or rank later."""
        _apply(near, [_event(1, "decisions:\n  a: use x.py\nconstraints:\n- not y.py\n- not z.py\n")])
        _apply(near, [_event(2, "decisions:\n  a: use nothing\nretracted_constraints:\n- not y.py\n")])
        _apply(near, [_event(9, "constraints:\n- also not x.py\n")])
        place = Neighbourhood(("x.py", "y.py", "z.py"))

        assert [fact.text for fact in near.near(place, _at(5)).facts] == ["not z.py"]
        assert [fact.text for fact in near.near(place, LAST_INSTANT).facts] == ["also not x.py", "not z.py"]

    def test_a_path_with_spaces_is_found(self, near: Index) -> None:
        """It is found only as a whole."""
        _apply(near, [_event(1, "constraints:\n- keep my docs/a b.txt\n- keep b.txt\n")])

        found = near.near(Neighbourhood(("my docs/a b.txt",)), LAST_INSTANT)

        assert [fact.text for fact in found.facts] == ["keep my docs/a b.txt"]

    def test_the_newest_of_the_track_and_of_the_branch_are_near(self, near: Index) -> None:
        """The facts in force, and the names of the tracks and branches."""
        events = [
            _event(1, "constraints:\n- one\n", branch="main"),
            _event(2, "constraints:\n- two\nthis_session:\n- x\n", branch="feat"),
            _event(3, "track: Auth\nconstraints:\n- three\n", branch="other"),
        ]
        _apply(near, events)

        found = near.near(Neighbourhood((), "auth", "feat"), LAST_INSTANT)

        assert [fact.text for fact in found.facts] == ["three", "two"]
        assert found.named == frozenset()
        assert found.of_track == {events[2].rank.hash}
        assert found.of_branch == {events[1].rank.hash}
        assert near.near(Neighbourhood(), LAST_INSTANT) == NearFacts()

    def test_the_files_of_the_last_three_sessions_are_given(self, near: Index) -> None:
        """The sessions of the track, if there is one; otherwise those of the branch."""
        for minute in range(1, 6):
            files = f"files_modified:\n- src/{minute}.py\n- all.py\n"
            _apply(near, [_event(minute, files, branch="main", session=f"s-{max(minute, 2)}")])
        _apply(near, [_event(6, "track: auth\nfiles_modified:\n- auth.py\n", branch="feat")])

        assert [*near.files_of_last("", "main", LAST_INSTANT)] == [
            "src/5.py",
            "all.py",
            "src/4.py",
            "src/3.py",
        ]
        assert [*near.files_of_last("", "main", _at(3))] == ["src/3.py", "all.py", "src/2.py", "src/1.py"]
        assert [*near.files_of_last("auth", "main", LAST_INSTANT)] == ["auth.py"]
        assert [*near.files_of_last("none", "feat", LAST_INSTANT)] == ["auth.py"]


def _at(minute: int) -> datetime:
    return _START + timedelta(minutes=minute)


def _event(minute: int, body: str, *, branch: str = "", session: str = "") -> EventFacts:
    keys = {"branch": branch, "session": session}
    front = "".join(f"{key}: {text}\n" for key, text in keys.items() if text)
    text = f"---\nts: {_at(minute).isoformat()}\nagent: a{minute}\n{front}---\n\n{body}"
    source = parse_event_facts(text.encode(), "event.md")
    assert source is not None
    return source


def _apply(index: Index, events: Sequence[EventFacts], gone: Sequence[int] = ()) -> None:
    """Add events, each in a file named by its minute, and remove files."""
    minutes = [int((event.rank.at - _START).total_seconds() // 60) for event in events]
    found = [
        EventFile("", f"{minute}.md", FileMark(1, 2, 3), (event,), 0)
        for minute, event in zip(minutes, events, strict=True)
    ]
    with index.changing():
        index.apply(LogChange({}, [("", f"{minute}.md") for minute in gone], found))
