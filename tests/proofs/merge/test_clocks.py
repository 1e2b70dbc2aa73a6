"""Order survives clocks: in random histories cause comes before clock, and older rules are found out."""

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from random import Random

import pytest

from passdown.core.formats.views import render_view
from passdown.core.merge import merge as merge_module
from passdown.core.merge import ranks
from passdown.core.merge.event_facts import EventFacts
from passdown.core.merge.merge import make_digest, merge_events
from passdown.core.merge.projections import LIMIT, make_view
from passdown.core.merge.ranks import Ranking, RankPlace
from passdown.engines.sqlite.event_index import open_index
from passdown.errors import StorageError
from passdown.ports.event_log import FileMark
from passdown.ports.index import EventFile, LogChange
from tests.proof import proof_count
from tests.proofs.conftest import Tell
from tests.proofs.merge.clock_histories import History, count_pairs, find_fault, make_history

PARTS = 4
HISTORIES = int(os.environ.get("PASSDOWN_HISTORIES") or proof_count(fast=40, ci=150, long=10_000))
INDEXED = 10
"""Of so many histories one is also followed by the SQLite index, event by event."""
MOST_STEPS = 40


def histories(part: int, count: int) -> Iterator[tuple[int, History]]:
    for number in range(count):
        random = Random(f"{part} {number}")  # repeatable on purpose
        yield number, make_history(random, random.randint(4, MOST_STEPS))


@pytest.mark.proof
@pytest.mark.requirement("C115", "C120")
@pytest.mark.parametrize("part", range(PARTS))
def test_cause_comes_before_clock_in_every_history(part: int, tmp_path: Path, tell: Tell) -> None:
    for number, history in histories(part, HISTORIES // PARTS):
        assert find_fault(history) is None, (part, number)
        if number % INDEXED == 0:
            check_index(history, tmp_path / f"{number}.db")
    tell(HISTORIES // PARTS)


def check_index(history: History, path: Path) -> None:
    """Add the events in any order, some at once, and take some away: the digest is that of all at once."""
    random, names = history.random, [*history.events]
    random.shuffle(names)
    index = open_index(str(path), shared_memory=False)
    there: dict[str, EventFacts] = {}
    while names or random.random() < 0.7:
        new = [names.pop() for _ in range(min(len(names), random.choice((1, 1, 1, 2, 5))))]
        gone = random.sample(sorted(there), min(len(there), random.choice((0, 0, 0, 1, 2))))
        found = [EventFile("", f"{name}.md", FileMark(1, 1, 1), (history.events[name],), 0) for name in new]
        with index.changing():
            index.apply(LogChange({}, [("", f"{name}.md") for name in gone], found))
        for name in gone:
            del there[name]
        there |= {name: history.events[name] for name in new}
        names = [*names, *(name for name in gone if random.random() < 0.7)]
        check_digests(index.digest, [*there.values()], random)
    index.close()
    path.unlink()


def check_digests(digest: Callable[..., object], events: list[EventFacts], random: Random) -> None:
    wanted = make_digest(merge_events(events), 0, LIMIT)
    assert digest(LIMIT) == wanted
    assert render_view(make_view(wanted))
    if events:
        until: datetime = random.choice(events).rank.at
        assert digest(LIMIT, until) == make_digest(merge_events(events, until), 0, LIMIT)


@pytest.mark.proof
def test_the_stamp_decides_between_most_events_that_did_not_know_of_each_other() -> None:
    honest = (history for _, history in histories(7, HISTORIES) if not history.hostile)
    counts = [count_pairs(history) for history in honest]

    pairs, by_stamp = (sum(one) for one in zip(*counts, strict=True))
    print(f"{by_stamp:,} of {pairs:,} concurrent pairs of plausible dates are decided by their stamps")
    assert by_stamp >= pairs * 0.9


def rank_by_stamp_alone(events: object) -> Ranking:
    del events
    return Ranking({}, frozenset())


def name_nothing_ahead(self: object, stamps: object) -> dict[str, datetime]:
    del self, stamps
    return {}


def lift_nothing(at: datetime, place: RankPlace, *, is_own: bool) -> datetime:
    del is_own
    return min(at, place.at)


def let_facts_keep_their_dates(at: datetime, place: RankPlace, *, is_own: bool) -> datetime:
    del place, is_own
    return at


@pytest.mark.proof
@pytest.mark.parametrize(
    ("where", "name", "bug"),
    [
        (merge_module, "rank_events", rank_by_stamp_alone),
        (ranks._Graph, "_find_caps", name_nothing_ahead),
        (ranks, "said_at", lift_nothing),
        (ranks, "said_at", let_facts_keep_their_dates),
    ],
)
def test_a_planted_return_to_an_older_rule_is_found(
    where: object, name: str, bug: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, bug)

    assert is_found()


def is_found() -> bool:
    try:
        return any(find_fault(history) for _, history in histories(3, 400))
    except StorageError:  # time has come to its end
        return True
