"""What every `Journals` implementation must do."""

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from passdown.core.facts import Fact
from passdown.core.formats.journal import JournalLine, Scope
from passdown.core.sessions.session_facts import SessionStart, make_start
from passdown.ports.journals import Journals

_AT = datetime(2026, 1, 10, 13, 3, 52, 123_000, tzinfo=UTC)
_ONE, _TWO = "s-000000000001", "s-000000000002"
_WRITERS, _EACH = 4, 25


def _line(seq: int, text: str = "a fact") -> JournalLine:
    return JournalLine(seq=seq, fact=Fact(kind="done", text=text, at=_AT, agent="toast-00000001"))


def _start(seq: int) -> JournalLine:
    return JournalLine(seq=seq, fact=make_start(SessionStart(host_session="host-1"), _AT, "toast-00000001"))


class JournalsConformance(ABC):
    """The promises of the port; subclass it, say how to make an empty one, and name it `Test…`."""

    puts_away = True
    """Whether journals can be archived; where nothing can be renamed, they stay."""

    @abstractmethod
    def make(self, folder: Path) -> Journals:
        """Make empty journals; the folder is empty and may be used."""

    @pytest.fixture
    def journals(self, tmp_path: Path) -> Journals:
        """Return empty journals."""
        return self.make(tmp_path)

    def test_nobody_has_a_journal_at_first(self, journals: Journals) -> None:
        """Folders need not be created first."""
        assert list(journals.sessions(Scope.ALL)) == []
        assert list(journals.read(_ONE)) == []
        assert journals.changed(_ONE) == 0

    def test_lines_are_counted_from_one_and_read_in_their_order(self, journals: Journals) -> None:
        """Each line is made for its number, and is returned."""
        made = [journals.append(_ONE, lambda seq: _line(seq, f"fact {seq}")) for _ in range(3)]

        assert [line.seq for line in made] == [1, 2, 3]
        assert list(journals.read(_ONE)) == made

    def test_a_journal_that_mentions_something_is_named(self, journals: Journals) -> None:
        """One of the texts is enough, and each journal is listed once."""
        for session, texts in ((_ONE, ["alpha", "beta alpha"]), (_TWO, ["gamma"])):
            for text in texts:
                journals.append(session, partial(_line, text=text))

        assert list(journals.mentioning(Scope.ALL, "alpha")) == [_ONE]
        assert list(journals.mentioning(Scope.ALL, "gamma", "beta", "delta")) == [_ONE, _TWO]
        assert list(journals.mentioning(Scope.ALL, "delta")) == list(journals.mentioning(Scope.ALL)) == []

    def test_an_ended_journal_is_put_away_and_stays_findable(self, journals: Journals) -> None:
        """It is no longer live; by name and by its keys it is found as before."""
        for session in (_ONE, _TWO):
            journals.append(session, _start)
            journals.append(session, partial(_line, text="alpha"))
        lines, changed = journals.read(_ONE), journals.changed(_ONE)

        if not journals.put_away(_ONE, 2):
            assert not self.puts_away
            return

        assert list(journals.sessions(Scope.LIVE)) == [_TWO]
        assert list(journals.sessions(Scope.ALL)) == [_ONE, _TWO]
        assert (journals.read(_ONE), journals.last(_ONE)) == (lines, lines[-1])
        assert journals.changed(_ONE) == changed
        assert list(journals.mentioning(Scope.LIVE, "host-1", "alpha")) == [_TWO]
        assert list(journals.mentioning(Scope.ALL, "host-1")) == [_ONE, _TWO]
        assert list(journals.mentioning(Scope.ALL, "alpha", keys=[_ONE])) == [_ONE, _TWO]
        assert list(journals.mentioning(Scope.ALL, "nothing", keys=["nothing"])) == []

    def test_a_journal_that_was_put_away_is_live_again_before_it_grows(self, journals: Journals) -> None:
        """Its numbers go on, however often it is archived."""
        journals.append(_ONE, _start)
        for seq in (1, 2, 3):
            assert journals.put_away(_ONE, seq) == self.puts_away
            assert journals.append(_ONE, _line).seq == seq + 1
            assert list(journals.sessions(Scope.LIVE)) == [_ONE]
            assert [line.seq for line in journals.read(_ONE)] == [*range(1, seq + 2)]

    def test_a_journal_that_has_grown_is_not_put_away(self, journals: Journals) -> None:
        """The caller names the last line it knows; a journal that is missing or archived is not archived."""
        journals.append(_ONE, _start)
        journals.append(_ONE, _line)

        assert not journals.put_away(_ONE, 1)
        assert not journals.put_away(_TWO, 1)
        assert list(journals.sessions(Scope.LIVE)) == [_ONE]
        assert journals.put_away(_ONE, 2) == self.puts_away
        assert not journals.put_away(_ONE, 2)

    def test_several_lines_are_added_at_once_or_none(self, journals: Journals) -> None:
        """They are made for the next free number; if no line is made, nothing is written."""
        first = journals.append(_ONE, _line)
        made = journals.extend(_ONE, lambda seq: [_line(seq, "two"), _line(seq + 1, "three")])
        changed = journals.changed(_ONE)

        assert journals.extend(_ONE, lambda _: []) == []
        assert [line.seq for line in made] == [2, 3]
        assert list(journals.read(_ONE)) == [first, *made]
        assert journals.changed(_ONE) == changed

    def test_the_last_line_is_found_without_the_others(self, journals: Journals) -> None:
        """This works for lines of any length."""
        assert journals.last(_ONE) is None
        for text in ("one", "two " * 3000, "three"):
            made = journals.append(_ONE, partial(_line, text=text))
            assert journals.last(_ONE) == made
        assert journals.last(_TWO) is None

    def test_every_session_has_lines_of_its_own(self, journals: Journals) -> None:
        """Sessions are sorted by name."""
        journals.append(_TWO, _line)
        journals.append(_ONE, _line)
        journals.append(_TWO, _line)

        assert list(journals.sessions(Scope.ALL)) == [_ONE, _TWO]
        assert [line.seq for line in journals.read(_ONE)] == [1]
        assert [line.seq for line in journals.read(_TWO)] == [1, 2]

    @pytest.mark.parametrize("text", ["", "two\nlines", '"\\ \t', "é 你好 🙂", "x" * 40_000])
    def test_what_was_appended_is_read_as_it_was(self, journals: Journals, text: str) -> None:
        """A fact may contain any text."""
        line = journals.append(_ONE, lambda seq: _line(seq, text))

        assert list(journals.read(_ONE)) == [line]
        assert line.fact.text == text

    def test_what_make_raises_is_raised_and_nothing_is_written(self, journals: Journals) -> None:
        """The caller's function may decide against adding a line."""
        journals.append(_ONE, _line)

        def refuse(seq: int) -> JournalLine:
            raise KeyError(seq)

        with pytest.raises(KeyError, match="2"):
            journals.append(_ONE, refuse)
        assert [line.seq for line in journals.read(_ONE)] == [1]
        assert journals.append(_ONE, _line).seq == 2  # the number is free again

    def test_a_journal_can_be_read_while_its_next_line_is_made(self, journals: Journals) -> None:
        """The function that makes a line may read those before it."""
        journals.append(_ONE, _line)
        seen: list[int] = []

        def look(seq: int) -> JournalLine:
            seen.extend(line.seq for line in journals.read(_ONE))
            return _line(seq)

        journals.append(_ONE, look)
        assert seen == [1]

    def test_a_journal_that_grew_has_changed(self, journals: Journals) -> None:
        """The time of a change never goes back."""
        journals.append(_ONE, _line)
        before = journals.changed(_ONE)
        journals.append(_ONE, _line)

        assert 0 < before <= journals.changed(_ONE)
        assert journals.changed(_TWO) == 0

    def test_of_several_writers_at_once_each_gets_its_own_numbers(self, journals: Journals) -> None:
        """No number is assigned twice, and no line is lost."""

        def write(writer: int) -> list[int]:
            numbers = range(_EACH)
            return [journals.append(_ONE, lambda seq: _line(seq, f"{writer}")).seq for _ in numbers]

        with ThreadPoolExecutor(_WRITERS) as pool:
            given = [seq for seqs in pool.map(write, range(_WRITERS)) for seq in seqs]
        assert sorted(given) == list(range(1, _WRITERS * _EACH + 1))
        assert [line.seq for line in journals.read(_ONE)] == sorted(given)
