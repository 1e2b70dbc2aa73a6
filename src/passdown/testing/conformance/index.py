"""What everything that calls itself `Index` must do."""

# ruff: noqa: S101 (a suite asserts)

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from passdown.core.merge import make_digest, merge
from passdown.core.sources import DECISIONS, DONE, NEXT, NOW, Fact, Source, parse_source
from passdown.ports.event_log import FileMark
from passdown.ports.index import Change, Found, Index

_LIMIT = 3


class IndexConformance(ABC):
    """The promises of the port; a subclass says how to make an empty one and is named `Test…`."""

    @abstractmethod
    def make(self, folder: Path) -> Index:
        """Make an index that knows nothing; the folder is empty and may be used."""

    @abstractmethod
    def drop(self, index: Index) -> None:
        """Let go of what `make` gave."""

    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[Index]:
        """Give an index that knows nothing."""
        index = self.make(tmp_path)
        yield index
        self.drop(index)

    def test_an_empty_index_has_the_digest_of_nothing(self, index: Index) -> None:
        """It can be asked at once."""
        assert index.digest(_LIMIT) == make_digest(merge([]), 0, _LIMIT)
        assert (index.folders(), index.files("")) == ({}, {})
        assert (index.newest(_at(9)), [*index.places()]) == (None, [])
        assert index.published("s") == (0, None)

    def test_folders_and_files_are_given_back_as_they_were(self, index: Index) -> None:
        """Marks are kept to the bit."""
        mark = FileMark(2**62, 2**63 - 1, 2**63 - 1)
        _apply(index, {"": 7, "2026-01-10": 2**62}, [_found("a.md", _event(1))._replace(mark=mark)])
        _apply(index, {"": 0}, [_found("b.md", folder="2026-01-10", skipped=1)])

        assert index.folders() == {"": 0, "2026-01-10": 2**62}
        assert index.files("") == {"a.md": mark}
        assert index.files("2026-01-10") == {"b.md": FileMark(1, 2, 3)}

    def test_the_digest_is_that_of_all_events_in_all_files(self, index: Index) -> None:
        """It does not matter which file holds what, nor when it came."""
        events = [
            _event(number, f"now: n{number}\nthis_session:\n- d{number}\n- all\n") for number in range(6)
        ]
        _apply(index, {}, [_found("b.md", *events[3:5])])
        _apply(index, {}, [_found("a.md", events[0], events[4]), _found("c.md", events[1], skipped=2)])
        _apply(index, {}, [_found("d.md", events[2], events[5])])

        digest = index.digest(_LIMIT)

        assert digest == make_digest(merge(events), 2, _LIMIT)
        assert [held.value for held in digest.sections[DONE].held] == ["all", "d5", "d4"]

    def test_an_event_goes_when_no_file_holds_it_any_more(self, index: Index) -> None:
        """One event may lie in several files, as in a rollup and beside it."""
        one, two = _event(1, "now: a\n"), _event(2, "now: b\n")
        _apply(index, {}, [_found("a.md", two), _found("r.md", one, two)])

        _apply(index, {}, gone=[("", "a.md")])
        assert index.digest(_LIMIT).registers[NOW].value == "b"
        _apply(index, {}, gone=[("", "r.md"), ("", "never-there.md")])
        assert index.digest(_LIMIT) == make_digest(merge([]), 0, _LIMIT)

    def test_a_file_found_again_takes_the_place_of_what_it_held(self, index: Index) -> None:
        """What it said before counts no more."""
        _apply(index, {}, [_found("a.md", _event(5, "now: a\nthis_session:\n- x\n"), skipped=1)])
        _apply(index, {}, [_found("a.md", _event(3, "now: b\n"))])

        assert index.digest(_LIMIT) == make_digest(merge([_event(3, "now: b\n")]), 0, _LIMIT)

    def test_a_folder_that_is_gone_takes_its_files_along(self, index: Index) -> None:
        """Nobody has to name them one by one."""
        _apply(index, {"": 1, "d": 2}, [_found("a.md", _event(1)), _found("a.md", _event(2), folder="d")])

        _apply(index, {"d": None})

        assert index.folders() == {"": 1}
        assert (len(index.files("")), len(index.files("d")), index.digest(_LIMIT).event_count) == (1, 0, 1)

    def test_a_retraction_counts_as_long_as_its_event_is_there(self, index: Index) -> None:
        """In any order of coming and going, also of several."""
        wrong = _event(1, "now: a\nthis_session:\n- x\n", name="wrong")
        again = _event(2, "this_session:\n- x\nretracted_events:\n- wrong\n")
        other = _event(3, "retracted_events:\n- wrong\n")
        _apply(index, {}, [_found("other.md", other)])
        _apply(index, {}, [_found("wrong.md", wrong)])
        assert NOW not in index.digest(_LIMIT).registers
        _apply(index, {}, [_found("again.md", again)])
        _apply(index, {}, gone=[("", "other.md")])
        assert index.digest(_LIMIT) == make_digest(merge([wrong, again]), 0, _LIMIT)
        assert [place.is_retracted for place in index.places()] == [False, True]

        _apply(index, {}, gone=[("", "again.md")])
        assert index.digest(_LIMIT) == make_digest(merge([wrong]), 0, _LIMIT)

    @pytest.mark.parametrize("at_once", [True, False])
    def test_the_first_change_is_like_any_other(self, index: Index, *, at_once: bool) -> None:
        """An index may be loaded in another way than it is changed; that must not show."""
        phase = "now: a\ncheckpoints:\n- phase: 1\n  updated: 2026-01-{}\n"
        events = [
            _event(1, phase.format("09"), name="wrong"),
            _event(2, phase.format("08") + "this_session:\n- x\n"),
            _event(3, phase.format("07") + "retracted_done:\n- x\n- y\nthis_session:\n- z\n"),
            _event(4, "retracted_events:\n- wrong\n- own\n", name="own"),
        ]
        found = [_found(f"{number}.md", event) for number, event in enumerate(events)]

        for part in [found] if at_once else [[one] for one in found]:
            _apply(index, {}, part)

        assert index.digest(_LIMIT) == make_digest(merge(events), 0, _LIMIT)

    def test_what_was_taken_back_holds_again_when_the_taking_back_is_gone(self, index: Index) -> None:
        """Facts are worked out from all events that are there."""
        stated = _event(1, "this_session:\n- x\n- y\n")
        back = _event(2, "retracted_done:\n- x\nthis_session:\n- y\n")
        _apply(index, {}, [_found("a.md", stated), _found("b.md", back)])
        assert [held.value for held in index.digest(_LIMIT).sections[DONE].held] == ["y"]

        _apply(index, {}, gone=[("", "b.md")])
        assert index.digest(_LIMIT) == make_digest(merge([stated]), 0, _LIMIT)

    def test_a_change_that_fails_is_not_kept_in_part(self, index: Index) -> None:
        """All or nothing."""
        _apply(index, {"": 1}, [_found("a.md", _event(1, "now: a\n"))])
        before = index.digest(_LIMIT)

        with pytest.raises(ZeroDivisionError):
            _fail(index, Change({"": 2, "d": 1}, [("", "a.md")], [_found("b.md", _event(2))]))

        assert (index.folders(), [*index.files("")]) == ({"": 1}, ["a.md"])
        assert index.digest(_LIMIT) == before

    def test_the_newest_event_until_an_instant_is_found(self, index: Index) -> None:
        """Retracted ones too: their writers have seen them."""
        _apply(index, {}, [_found("a.md", _event(1), _event(5, "retracted_events:\n- gone\n"))])
        _apply(index, {}, [_found("b.md", _event(3, name="gone"))])

        newest = [index.newest(_at(minute)) for minute in (0, 1, 2, 3, 4, 5, 59)]

        assert newest == [None, _at(1), _at(1), _at(3), _at(3), _at(5), _at(5)]

    def test_how_far_events_go_is_kept_for_each_session(self, index: Index) -> None:
        """The last line and the newest event count, whatever the order."""
        _apply(index, {}, [_found("a.md", _event(1, session="s", covers="10-19"))])
        _apply(index, {}, [_found("b.md", _event(2, session="s", covers="1-9"), _event(3, session="t"))])

        assert [index.published(session) for session in ("s", "t", "u")] == [
            (19, _at(2)),
            (0, _at(3)),
            (0, None),
        ]

    def test_events_are_listed_newest_first_with_one_file_that_holds_them(self, index: Index) -> None:
        """Of several files the first by name is told, so that every engine tells the same."""
        one, two = _event(1, name="one"), _event(2, name="two")
        _apply(index, {}, [_found("b.md", one), _found("a.md", one, folder="2026-01-10")])
        _apply(index, {}, [_found("c.md", one, two)])

        places = index.places()

        assert [(place.rank, place.folder, place.name) for place in places] == [
            (two.rank, "", "c.md"),
            (one.rank, "", "b.md"),
        ]
        assert {(place.branch, place.type, place.is_retracted) for place in places} == {
            ("unknown", "unknown", False)
        }

    def test_events_are_found_by_the_start_of_their_id_or_hash(self, index: Index) -> None:
        """Wildcards are nothing special."""
        events = [_event(number, name=name) for number, name in enumerate(("ab%c", "ab_", "aé", "x"))]
        _apply(index, {}, [_found("a.md", *events)])

        def found(prefix: str) -> list[str]:
            return sorted(place.rank.id for place in index.places(prefix))

        assert (found("ab"), found("ab%"), found("a_"), found("aé")) == (
            ["ab%c", "ab_"],
            ["ab%c"],
            [],
            ["aé"],
        )
        assert all(event.rank.id in found(event.rank.hash[:8]) for event in events)
        assert found("") == sorted(event.rank.id for event in events)

    @pytest.mark.parametrize("limit", [0, 1, 3, 5, 9])
    def test_no_more_events_are_listed_than_asked_for(self, index: Index, limit: int) -> None:
        """Those of the same time are told apart by agent, id and hash, as everywhere."""
        events = [_event(1, name=name) for name in ("é", "b", "\U0001f642")] + [_event(0), _event(2)]
        _apply(index, {}, [_found("a.md", *events)])

        listed = [place.rank for place in index.places(limit=limit)]

        assert listed == sorted((event.rank for event in events), reverse=True)[:limit]
        assert len(index.places("b", limit=1)) == min(1, len(index.places("b")))

    @pytest.mark.parametrize(
        "text", ["plain", "é e\u0301 🙂", "nul \0 in it", "'; DROP TABLE files; --", "j[1]"]
    )
    def test_any_text_is_kept(self, index: Index, text: str) -> None:
        """In every place that an event has."""
        rank = _event(1).rank._replace(agent=text, id=text)
        facts: tuple[Fact, ...] = (
            (DONE, text, text, rank.at),
            (DECISIONS, text, (text, text), rank.at),
            (NEXT, "", (text,), rank.at),
            (NOW, "", text, rank.at),
        )
        source = Source(rank, facts, (), text, text, text, 5)

        _apply(index, {text: 1}, [_found("a.md", source, folder=text)])

        assert index.digest(_LIMIT) == make_digest(merge([source]), 0, _LIMIT)
        assert (index.published(text).line, [*index.files(text)]) == (5, ["a.md"])

    def test_what_is_remembered_lasts_at_most_until_the_next_change(self, index: Index) -> None:
        """It was made from what the index said."""
        _apply(index, {}, [_found("a.md", _event(1))])
        assert index.recall("view") is None

        index.digest(_LIMIT)
        index.remember("view", "one")
        index.remember("view", "two")
        assert index.recall("view") == "two"
        assert index.recall("other") is None

        _apply(index, {"": 5})
        assert index.recall("view") is None


def _at(minute: int) -> datetime:
    return datetime(2026, 1, 10, 13, minute, tzinfo=UTC)


def _event(minute: int, body: str = "", *, name: str = "", session: str = "", covers: str = "") -> Source:
    """Make an event of a minute."""
    keys = {"id": name, "session": session, "covers": covers}
    front = "".join(f"{key}: {text!r}\n" for key, text in keys.items() if text)
    text = f"---\nts: {_at(minute).isoformat()}\nagent: a\n{front}---\n\n{body}"
    source = parse_source(text.encode(), "event.md")
    assert source is not None
    return source


def _found(name: str, *sources: Source, folder: str = "", skipped: int = 0) -> Found:
    return Found(folder, name, FileMark(1, 2, 3), sources, skipped)


def _fail(index: Index, change: Change) -> None:
    with index.changing():
        index.apply(change)
        raise ZeroDivisionError


def _apply(
    index: Index,
    folders: dict[str, int | None] | dict[str, int] | dict[str, None],
    found: Sequence[Found] = (),
    gone: Sequence[tuple[str, str]] = (),
) -> None:
    with index.changing():
        index.apply(Change(dict(folders), gone, found))
