"""What every `Index` implementation must do."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path

import pytest

from passdown.core.facts import Fact, Provenance
from passdown.core.kinds import FactKind
from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.merge import make_digest, merge_events
from passdown.ports.event_log import FileMark
from passdown.ports.index import EventFile, Index, LogChange, NewestEvents

_LIMIT = 3
_DAY = timedelta(hours=24)


class IndexConformance(ABC):
    """The promises of the port; subclass it, say how to make an empty one, and name it `Test…`."""

    @abstractmethod
    def make(self, folder: Path) -> Index:
        """Make an empty index; the folder is empty and may be used."""

    @abstractmethod
    def drop(self, index: Index) -> None:
        """Release what `make` returned."""

    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[Index]:
        """Return an empty index."""
        index = self.make(tmp_path)
        yield index
        self.drop(index)

    def test_an_empty_index_has_the_digest_of_nothing(self, index: Index) -> None:
        """It can be queried at once."""
        assert index.digest(_LIMIT) == make_digest(merge_events([]), 0, _LIMIT)
        assert (index.folders(), index.files("")) == ({}, {})
        assert (index.newest(_at(9)), [*index.places()]) == (NewestEvents(_at(9)), [])
        assert index.published("s") == (0, None, "")

    def test_folders_and_files_are_given_back_as_they_were(self, index: Index) -> None:
        """Marks are preserved exactly."""
        mark = FileMark(2**62, 2**63 - 1, 2**63 - 1)
        _apply(index, {"": 7, "2026-01-10": 2**62}, [_found("a.md", _event(1))._replace(mark=mark)])
        _apply(index, {"": 0}, [_found("b.md", folder="2026-01-10", skipped=1)])

        assert index.folders() == {"": 0, "2026-01-10": 2**62}
        assert index.files("") == {"a.md": mark}
        assert index.files("2026-01-10") == {"b.md": FileMark(1, 2, 3)}

    def test_files_with_entries_that_could_not_be_merged_are_named(self, index: Index) -> None:
        """Each file is listed once, sorted."""
        assert [*index.skipped_files()] == []
        _apply(index, {}, [_found("b.md", skipped=1), _found("a.md", folder="2026-01-10", skipped=2)])
        _apply(index, {}, [_found("c.md", _event(1))])

        assert [*index.skipped_files()] == ["2026-01-10/a.md", "b.md"]

    def test_the_events_of_a_track_are_found_by_its_name_as_a_stream(self, index: Index) -> None:
        """Events by any writer are found, also those of a stream."""
        events = [
            _event(1, "track: Auth_1\n"),
            _event(2, "stream: auth-1\n"),
            _event(3, "track: other\n"),
            _event(4),
        ]
        assert [*index.places_of("auth-1")] == []
        _apply(index, {}, [_found("a.md", *events)])

        assert [place.rank for place in index.places_of("auth-1")] == [events[1].rank, events[0].rank]
        assert [place.rank for place in index.places_of("auth-1", 1)] == [events[1].rank]
        assert [*index.places_of("")] == []

    def test_what_any_event_ever_stated_in_the_same_words_is_known(self, index: Index) -> None:
        """This holds even if it was replaced or retracted since."""
        old = _event(1, "goal: one\ndecisions:\n  key: a\nthis_session:\n- x\nnext:\n- p\n- q\n")
        known = [
            _fact(FactKind.GOAL, "one"),
            _fact(FactKind.DECISION, "a", "key"),
            _fact(FactKind.DONE, "x"),
            _fact(FactKind.NEXT, "p\nq"),
        ]
        new = [
            _fact(FactKind.GOAL, "x"),
            _fact(FactKind.DECISION, "c", "key"),
            _fact(FactKind.DECISION, "a", "other"),
            _fact(FactKind.NEXT, "p"),
        ]
        assert index.stated(known) == frozenset()
        _apply(index, {}, [_found("a.md", old)])
        _apply(index, {}, [_found("b.md", _event(2, "goal: two\nretracted_done:\n- x\n"))])

        assert index.stated([*known, *new]) == frozenset(known)

    def test_a_fact_is_shared_if_the_track_or_nobodys_event_states_it(self, index: Index) -> None:
        """A fact that only events of other tracks state is not shared."""
        shared, own, other = (
            _event(1, "this_session:\n- everybody\n"),
            _event(2, "track: a\nthis_session:\n- mine\n- both\ndecisions:\n  key: mine\n"),
            _event(3, "track: b\nthis_session:\n- theirs\n- both\ndecisions:\n  key: theirs\n"),
        )
        texts = ("everybody", "mine", "theirs", "both")
        facts = [*(_fact(FactKind.DONE, text) for text in texts), _fact(FactKind.DECISION, "theirs", "key")]
        _apply(index, {}, [_found("a.md", shared, own)])
        assert index.shared_with("a", facts) == frozenset(facts)

        _apply(index, {}, [_found("b.md", other)])

        assert index.shared_with("a", facts) == {*facts} - {facts[2]}
        assert index.shared_with("b", facts) == {*facts} - {facts[1]}

    def test_the_digest_is_that_of_all_events_in_all_files(self, index: Index) -> None:
        """It does not matter which file holds what, nor when it was added."""
        events = [
            _event(number, f"now: n{number}\nthis_session:\n- d{number}\n- all\n") for number in range(6)
        ]
        _apply(index, {}, [_found("b.md", *events[3:5])])
        _apply(index, {}, [_found("a.md", events[0], events[4]), _found("c.md", events[1], skipped=2)])
        _apply(index, {}, [_found("d.md", events[2], events[5])])

        digest = index.digest(_LIMIT)

        assert digest == make_digest(merge_events(events), 2, _LIMIT)
        assert [fact.text for fact in digest.kinds[FactKind.DONE].facts] == ["all", "d5", "d4"]

    def test_an_event_goes_when_no_file_holds_it_any_more(self, index: Index) -> None:
        """An event may be in several files, for example also in a rollup."""
        one, two = _event(1, "now: a\n"), _event(2, "now: b\n")
        _apply(index, {}, [_found("a.md", two), _found("r.md", one, two)])

        _apply(index, {}, gone=[("", "a.md")])
        assert _now(index) == "b"
        _apply(index, {}, gone=[("", "r.md"), ("", "never-there.md")])
        assert index.digest(_LIMIT) == make_digest(merge_events([]), 0, _LIMIT)

    def test_a_file_found_again_takes_the_place_of_what_it_held(self, index: Index) -> None:
        """Its earlier content no longer counts."""
        _apply(index, {}, [_found("a.md", _event(5, "now: a\nthis_session:\n- x\n"), skipped=1)])
        _apply(index, {}, [_found("a.md", _event(3, "now: b\n"))])

        assert index.digest(_LIMIT) == make_digest(merge_events([_event(3, "now: b\n")]), 0, _LIMIT)

    def test_a_folder_that_is_gone_takes_its_files_along(self, index: Index) -> None:
        """Its files need not be listed one by one."""
        _apply(index, {"": 1, "d": 2}, [_found("a.md", _event(1)), _found("a.md", _event(2), folder="d")])

        _apply(index, {"d": None})

        assert index.folders() == {"": 1}
        assert (len(index.files("")), len(index.files("d")), index.digest(_LIMIT).event_count) == (1, 0, 1)

    def test_a_retraction_counts_as_long_as_its_event_is_there(self, index: Index) -> None:
        """In any order of adding and removing, and with several retractions."""
        wrong = _event(1, "now: a\nthis_session:\n- x\n", name="wrong")
        again = _event(2, "this_session:\n- x\nretracted_events:\n- wrong\n")
        other = _event(3, "retracted_events:\n- wrong\n")
        _apply(index, {}, [_found("other.md", other)])
        _apply(index, {}, [_found("wrong.md", wrong)])
        assert _now(index) == ""
        _apply(index, {}, [_found("again.md", again)])
        _apply(index, {}, gone=[("", "other.md")])
        assert index.digest(_LIMIT) == make_digest(merge_events([wrong, again]), 0, _LIMIT)
        assert [place.is_retracted for place in index.places()] == [False, True]

        _apply(index, {}, gone=[("", "again.md")])
        assert index.digest(_LIMIT) == make_digest(merge_events([wrong]), 0, _LIMIT)

    def test_all_that_was_said_of_a_fact_is_told_in_order(self, index: Index) -> None:
        """Statements and retractions, without those of retracted events or of other keys or kinds."""
        assert [*index.said("decision", "db")] == []
        events = [
            _event(3, "retracted_decisions:\n- db\n- other\n"),
            _event(1, "decisions:\n  db: one\n  dc: three\n", session="s"),
            _event(4, "decisions:\n  db: four\nretracted_done:\n- db\n", name="wrong"),
            _event(2, "decisions:\n  db: two\nthis_session:\n- db\n"),
            _event(5, "retracted_events:\n- wrong\n"),
        ]
        for number, event in enumerate(events):
            _apply(index, {}, [_found(f"{number}.md", event)])

        told = [(fact.kind, fact.text, fact.session) for fact in index.said("decision", "db")]
        assert told == [("decision", "one", "s"), ("decision", "two", ""), ("retraction", "db", "")]

    @pytest.mark.parametrize("at_once", [True, False])
    def test_the_first_change_is_like_any_other(self, index: Index, *, at_once: bool) -> None:
        """The first load may work differently, but with the same result."""
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

        assert index.digest(_LIMIT) == make_digest(merge_events(events), 0, _LIMIT)

    def test_what_was_taken_back_holds_again_when_the_taking_back_is_gone(self, index: Index) -> None:
        """Facts are computed from all events that exist."""
        stated = _event(1, "this_session:\n- x\n- y\n")
        back = _event(2, "retracted_done:\n- x\nthis_session:\n- y\n")
        _apply(index, {}, [_found("a.md", stated), _found("b.md", back)])
        assert [fact.text for fact in index.digest(_LIMIT).kinds[FactKind.DONE].facts] == ["y"]

        _apply(index, {}, gone=[("", "b.md")])
        assert index.digest(_LIMIT) == make_digest(merge_events([stated]), 0, _LIMIT)

    @pytest.mark.parametrize("over", ["this_session", "retracted_now"])
    @pytest.mark.parametrize("at_once", [True, False])
    def test_what_is_done_or_left_is_not_done_now(self, index: Index, over: str, *, at_once: bool) -> None:
        """Other work does not matter; without the event that ends it, and before it, it is current."""
        events = [
            _event(1, "now: a\n"),
            _event(2, f"now: b\n{over}:\n- a\n"),
            _event(3, f"{over}:\n- b\n- c\n", name="over"),
            _event(4, f"{over}:\n- a\n"),
        ]
        found = [_found(f"{number}.md", event) for number, event in enumerate(events)]
        for part in [found] if at_once else [[one] for one in found]:
            _apply(index, {}, part)

        assert index.digest(_LIMIT).one(FactKind.NOW) is None
        assert index.digest(_LIMIT) == make_digest(merge_events(events), 0, _LIMIT)
        until = merge_events(events, _at(2))
        assert index.digest(_LIMIT, _at(2)).kinds == make_digest(until, 0, _LIMIT).kinds
        assert [fact.text for fact in index.digest(_LIMIT, _at(2)).kinds[FactKind.NOW].facts] == ["b"]
        void = _event(5, "retracted_events:\n- over\n", name="void")
        _apply(index, {}, [_found("void.md", void)])
        assert [fact.text for fact in index.digest(_LIMIT).kinds[FactKind.NOW].facts] == ["b"]
        _apply(index, {}, gone=[("", "void.md")])
        assert index.digest(_LIMIT) == make_digest(merge_events(events), 0, _LIMIT)
        _apply(index, {}, [_found("5.md", _event(6, "now: b\n"))])
        assert [fact.text for fact in index.digest(_LIMIT).kinds[FactKind.NOW].facts] == ["b"]

    def test_what_events_take_back_is_known_as_long_as_it_does_not_hold(self, index: Index) -> None:
        """An answer counts however old it is; an answer to an unknown question counts too."""
        asked = ("old", "again", "early", "open", "never")
        assert index.retracted(FactKind.FEEDBACK, asked) == frozenset()
        _apply(index, {}, [_found("a.md", _event(1, "feedback:\n- old\n- again\n- open\n"))])
        _apply(index, {}, [_found("b.md", _event(2, "answered_feedback:\n- old\n- again\n- early\n"))])
        _apply(index, {}, [_found("c.md", _event(3, "feedback:\n- again\n"))])

        assert index.retracted(FactKind.FEEDBACK, asked) == {"old", "early"}
        assert index.retracted(FactKind.QUESTION, asked) == frozenset()

    def test_a_change_that_fails_is_not_kept_in_part(self, index: Index) -> None:
        """All of it is kept, or nothing."""
        _apply(index, {"": 1}, [_found("a.md", _event(1, "now: a\n"))])
        before = index.digest(_LIMIT)

        with pytest.raises(ZeroDivisionError):
            _fail(index, LogChange({"": 2, "d": 1}, [("", "a.md")], [_found("b.md", _event(2))]))

        assert (index.folders(), [*index.files("")]) == ({"": 1}, ["a.md"])
        assert index.digest(_LIMIT) == before

    def test_the_newest_time_that_a_writer_follows_is_found(self, index: Index) -> None:
        """At most 24 hours ahead of its clock, including retracted events: their readers saw them."""
        _apply(index, {}, [_found("a.md", _event(1), _event(5, "retracted_events:\n- gone\n"))])
        _apply(index, {}, [_found("b.md", _event(3, name="gone"))])

        newest = [index.newest(_at(minute) - _DAY) for minute in (0, 1, 2, 3, 4, 5, 59)]

        assert [one.at for one in newest] == [None, _at(1), _at(1), _at(3), _at(3), _at(5), _at(5)]
        assert [one.present for one in newest[:2]] == [_at(0) - _DAY, _at(1) - _DAY]

    def test_three_sessions_tell_a_slow_clock_what_time_it_is(self, index: Index) -> None:
        """The median counts, so no single session can move it."""
        events = [_event(number, session=f"s-{number}") for number in (1, 2, 3)]
        _apply(index, {}, [_found("a.md", *events[:2], _dated("2999-01-01T00:00:00Z", session="s-2"))])
        assert index.newest(_at(0) - _DAY).present == _at(0) - _DAY

        _apply(index, {}, [_found("b.md", events[2])])

        assert index.newest(_at(0) - 9 * _DAY).present == _at(3)
        assert index.newest(_at(9)).present == _at(9)

    def test_the_last_events_are_those_that_no_other_comes_after(self, index: Index) -> None:
        """A writer names them as the events that it has read."""
        one, two = _event(1, name="one"), _event(2, name="two")
        three = _event(3, f"after:\n- {one.rank.hash[:16]}\n- long gone\n", name="three")
        _apply(index, {}, [_found("a.md", two, three), _found("b.md", one)])
        assert index.newest(_at(9)).heads == _names(three, two)

        _apply(index, {}, [_found("c.md", _event(4, f"after:\n- {two.rank.hash[:16]}\n", name="four"))])
        assert len(index.newest(_at(9)).heads) == 2

        _apply(index, {}, gone=[("", "c.md")])
        assert index.newest(_at(9)).heads == _names(three, two)
        _apply(index, {}, [_found("d.md", _event(5, "retracted_events:\n- three\n", name="five"))])
        assert index.newest(_at(9)).heads[1:] == _names(two, one)
        _apply(index, {}, gone=[("", "d.md")])
        assert index.newest(_at(9)).heads == _names(three, two)

    def test_what_is_dated_ahead_is_named_once_by_each_session(self, index: Index) -> None:
        """Only events dated ahead that no other event follows are named."""
        far = _dated("2999-01-01T00:00:00Z", session="far")
        further = _dated("2999-01-02T00:00:00Z", f"after:\n- {far.rank.hash[:16]}\n", session="far")
        _apply(index, {}, [_found("a.md", far, further, _event(1, session="s"))])
        assert index.newest(_at(2), "s").ahead == _names(further)
        assert index.newest(_at(2), "s").at == _at(1)

        named = "\n- ".join(("ahead:", *_names(further)))
        _apply(index, {}, [_found("b.md", _event(3, f"{named}\n", session="s"))])

        assert index.newest(_at(4), "s").ahead == ()
        assert index.newest(_at(4), "t").ahead == index.newest(_at(4)).ahead == _names(further)
        assert index.newest(_at(4)).at == _at(3)

    @pytest.mark.parametrize("order", [*permutations(range(4))])
    def test_events_rank_after_what_they_name_whatever_comes_first(
        self, index: Index, order: tuple[int, ...]
    ) -> None:
        """This holds even if the naming or the named event arrives last."""
        far = _dated("2999-01-01T00:00:00Z", "now: far\nthis_session:\n- x\n- far\n")
        named = f"\n- {far.rank.hash[:16]}\n"
        near = _event(2, f"after:{named}ahead:{named}now: near\nretracted_done:\n- x\n")
        slow = _event(1, f"after:\n- {near.rank.hash[:16]}\nnow: slow\nthis_session:\n- slow\n")
        events = [far, near, slow, _event(3, "now: last\nthis_session:\n- x\n")]
        for number in order:
            _apply(index, {}, [_found(f"{number}.md", events[number])])

        assert index.digest(_LIMIT) == make_digest(merge_events(events), 0, _LIMIT)
        assert [place.rank for place in index.places()] == [events[one].rank for one in (3, 2, 1, 0)]
        for number in order[:3]:
            _apply(index, {}, gone=[("", f"{number}.md")])
            left = [events[one] for one in order[order.index(number) + 1 :]]
            assert index.digest(_LIMIT) == make_digest(merge_events(left), 0, _LIMIT)

    def test_what_ranks_later_than_asked_for_says_nothing(self, index: Index) -> None:
        """What it replaced or retracted holds again."""
        early = _event(1, "now: a\nthis_session:\n- x\n- y\ndecisions:\n  k: one\nnext:\n- s\n")
        late = _event(9, "now: b\nretracted_done:\n- x\nthis_session:\n- z\ndecisions:\n  k: two\n")
        events = [early, late, _event(5, "this_session:\n- y\n")]
        _apply(index, {}, [_found("a.md", *events[:2])])
        _apply(index, {}, [_found("b.md", events[2])])

        for minute in (0, 1, 5, 8, 9):
            wanted = make_digest(merge_events(events, _at(minute)), 0, _LIMIT)
            assert index.digest(_LIMIT, _at(minute)) == wanted
            assert index.digest(1, _at(minute)) == make_digest(merge_events(events, _at(minute)), 0, 1)

    def test_how_far_events_go_is_kept_for_each_session(self, index: Index) -> None:
        """The last line and the newest event count, in any order; the last one in force gives the type."""
        last = _event(2, name="over", session="s", covers="1-9", type="session_end")
        _apply(index, {}, [_found("a.md", _event(1, session="s", covers="10-19", type="handoff"))])
        _apply(index, {}, [_found("b.md", last, _event(3, session="t"))])
        assert [index.published(session) for session in ("s", "t", "u")] == [
            (19, _at(2), "session_end"),
            (0, _at(3), "unknown"),
            (0, None, ""),
        ]

        _apply(index, {}, [_found("c.md", _event(5, "retracted_events:\n- over\n"))])
        assert index.published("s").last == "handoff"

    def test_events_are_listed_newest_first_with_one_file_that_holds_them(self, index: Index) -> None:
        """Of several files the first by name is returned, so that all engines agree."""
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
        """Wildcards have no special meaning."""
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
        """Events with the same time are ordered by agent, id and hash, as everywhere."""
        events = [_event(1, name=name) for name in ("é", "b", "\U0001f642")] + [_event(0), _event(2)]
        _apply(index, {}, [_found("a.md", *events)])

        listed = [place.rank for place in index.places(limit=limit)]

        assert listed == sorted((event.rank for event in events), reverse=True)[:limit]
        assert len(index.places("b", limit=1)) == min(1, len(index.places("b")))

    @pytest.mark.parametrize(
        "text", ["plain", "é e\u0301 🙂", "nul \0 in it", "'; DROP TABLE files; --", "j[1]"]
    )
    def test_any_text_is_kept(self, index: Index, text: str) -> None:
        """It is kept in every field of an event."""
        rank = _event(1).rank._replace(agent=text, id=text)
        facts: tuple[Fact, ...] = (
            Fact("done", text, rank.at, text),
            Fact("done", f"{text} too", rank.at, "another", text, text, Provenance.OBSERVED, text),
            Fact("decision", text, rank.at, text, text),
            Fact("next", text, rank.at, text),
            Fact("now", text, rank.at, text),
        )
        facts = tuple(
            fact._replace(event=rank.hash, event_id=rank.id, session=text, seq=seq)
            for seq, fact in enumerate(facts)
        )
        source = EventFacts(rank, facts, (), text, text, text, 5, (text,))

        _apply(index, {text: 1}, [_found("a.md", source, folder=text)])

        assert index.digest(_LIMIT) == make_digest(merge_events([source]), 0, _LIMIT)
        assert (index.published(text).line, [*index.files(text)]) == (5, ["a.md"])

    def test_what_is_remembered_lasts_at_most_until_the_next_change(self, index: Index) -> None:
        """It was made from the content of the index at that time."""
        _apply(index, {}, [_found("a.md", _event(1))])
        assert index.recall("view") is None

        index.digest(_LIMIT)
        index.remember("view", "one")
        index.remember("view", "two")
        assert index.recall("view") == "two"
        assert index.recall("other") is None

        _apply(index, {"": 5})
        assert index.recall("view") is None


def _now(index: Index) -> str:
    fact = index.digest(_LIMIT).one(FactKind.NOW)
    return fact.text if fact else ""


def _at(minute: int) -> datetime:
    return datetime(2026, 1, 10, 13, minute, tzinfo=UTC)


def _event(minute: int, body: str = "", *, name: str = "", **keys: str) -> EventFacts:
    """Make an event at a minute, with keys in its front matter."""
    front = "".join(f"{key}: {text!r}\n" for key, text in {"id": name, **keys}.items() if text)
    text = f"---\nts: {_at(minute).isoformat()}\nagent: a\n{front}---\n\n{body}"
    source = parse_event_facts(text.encode(), "event.md")
    assert source is not None
    return source


def _dated(ts: str, body: str = "", *, session: str = "") -> EventFacts:
    """Make an event of any date."""
    own = f"session: {session}\n" if session else ""
    source = parse_event_facts(f"---\nts: {ts}\nagent: a\n{own}---\n\n{body}".encode(), "event.md")
    assert source is not None
    return source


def _fact(kind: FactKind, text: str, key: str = "") -> Fact:
    return Fact(kind.value, text, _at(9), "somebody", key)


def _names(*events: EventFacts) -> tuple[str, ...]:
    return tuple(event.rank.hash[:16] for event in events)


def _found(name: str, *sources: EventFacts, folder: str = "", skipped: int = 0) -> EventFile:
    return EventFile(folder, name, FileMark(1, 2, 3), sources, skipped)


def _fail(index: Index, change: LogChange) -> None:
    with index.changing():
        index.apply(change)
        raise ZeroDivisionError


def _apply(
    index: Index,
    folders: dict[str, int | None] | dict[str, int] | dict[str, None],
    found: Sequence[EventFile] = (),
    gone: Sequence[tuple[str, str]] = (),
) -> None:
    with index.changing():
        index.apply(LogChange(dict(folders), gone, found))
