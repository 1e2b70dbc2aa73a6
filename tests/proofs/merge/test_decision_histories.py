"""Decisions that did not know of each other stay side by side, in every history (C162)."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from passdown.core import fold as fold_module
from passdown.core.facts import Fact
from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.merge import Digest, make_digest, merge_events
from passdown.core.merge.projections import LIMIT
from passdown.core.merge.rollups import RollupMember, parse_rollup, render_rollup
from passdown.core.sessions import publications
from passdown.core.statements import write_replaced
from passdown.engines.sqlite.event_index import open_index
from passdown.ports.event_log import FileMark
from passdown.ports.index import EventFile, LogChange
from tests.proof import proof_count
from tests.proofs.conftest import Figures, Tell
from tests.proofs.merge import decision_histories
from tests.proofs.merge.decision_histories import (
    TODAY,
    History,
    expect,
    find_newest,
    make_history,
    without_names,
)

PARTS = 4
HISTORIES = int(os.environ.get("PASSDOWN_HISTORIES") or proof_count(fast=40, ci=600, long=10_000))
MOST_STEPS = 45


def histories(part: int, count: int) -> Iterator[tuple[int, History]]:
    for number in range(count):
        random = Random(f"decisions {part} {number}")  # repeatable on purpose
        yield number, make_history(random, random.randint(4, MOST_STEPS))


def read_shown(digest: Digest) -> Mapping[str, list[str]]:
    """Give what a digest shows of each key: the decision that holds, then what contradicts it."""
    held = {fact.key: [fact.text] for fact in digest.kinds["decision"].facts}
    contested = {facts[0].key: [fact.text for fact in facts] for facts in digest.contested}
    assert all(held[key] == words[:1] for key, words in contested.items())
    return held | contested


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("C162", "R109", "R116")
@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_left_of_every_history_is_what_nobody_replaced_who_knew_of_it(
    part: int, tmp_path: Path, tell: Tell, figures: Figures
) -> None:
    contested = 0
    for number, history in histories(part, HISTORIES // PARTS):
        sources = [*history.events.values()]
        digest = make_digest(merge_events(sources), 0, LIMIT)
        assert read_shown(digest) == expect(history, sources), (part, number)
        assert check_other_orders(history, sources) == digest, (part, number)
        check_todays_winner(sources, digest)
        check_index(history, tmp_path / f"{number}.db", digest)
        contested += bool(digest.contested)
    figures(f"histories of part {part} that end in a contradiction", {"count": contested})
    tell(HISTORIES // PARTS)


def check_other_orders(history: History, sources: Sequence[EventFacts]) -> Digest:
    """Merge the events in another order, some of them twice, some out of a rollup."""
    mixed = [*sources, *history.random.sample(sources, len(sources) // 3)]
    history.random.shuffle(mixed)
    split = len(mixed) // 2
    members = [
        (RollupMember(f"{one.rank.hash}.md", history.data[one.rank.hash]), one) for one in mixed[:split]
    ]
    rolled = parse_rollup(render_rollup(TODAY.date(), members).encode()).members if members else ()
    return make_digest(merge_events([*mixed[split:], *(one for _, one in rolled)]), 0, LIMIT)


def check_todays_winner(sources: Sequence[EventFacts], digest: Digest) -> None:
    """Without retractions the newest wins, as before; where nobody names anything, all is as before."""
    held = {fact.key: fact.text for fact in digest.kinds["decision"].facts}
    newest = find_newest(sources)
    assert newest.items() <= held.items()
    older = make_digest(merge_events(map(without_names, sources)), 0, LIMIT)
    assert older.contested == ()
    assert newest.items() <= {fact.key: fact.text for fact in older.kinds["decision"].facts}.items()


def check_index(history: History, path: Path, digest: Digest) -> None:
    """Add the events in any order, some late, and take some away and back: all is as if read at once."""
    random, names = history.random, [*history.events]
    random.shuffle(names)
    index = open_index(str(path), shared_memory=False)
    there: dict[str, EventFacts] = {}
    while names:
        new = [names.pop() for _ in range(min(len(names), random.choice((1, 1, 2, 5))))]
        gone = random.sample(sorted(there), min(len(there), random.choice((0, 0, 0, 1))))
        found = [EventFile("", f"{name}.md", FileMark(1, 1, 1), (history.events[name],), 0) for name in new]
        with index.changing():
            index.apply(LogChange({"": 1}, [("", f"{name}.md") for name in gone], found))
        there |= {name: history.events[name] for name in new}
        for name in gone:
            del there[name]
            names.insert(0, name) if random.random() < 0.5 else names.append(name)
        if random.random() < 0.2:
            now = make_digest(merge_events(there.values()), 0, LIMIT)
            assert index.digest(LIMIT) == now
            until = random.choice([one.rank.at for one in there.values()] or [TODAY])
            before = make_digest(merge_events(there.values(), until), 0, LIMIT)
            assert index.digest(LIMIT, until) == before
    assert index.digest(LIMIT) == digest
    index.close()
    path.unlink()


def test_a_rollup_member_is_the_event_it_holds() -> None:
    history = make_history(Random(1), 30)

    assert all(parse_event_facts(data, "x.md") == history.events[name] for name, data in history.data.items())


def keep_only_own_names(told: object, _wanted: object) -> object:
    """Publish a decision with what it replaces itself, and not what came before it."""
    return told


def carry_nothing(_fact: Fact) -> tuple[tuple[str, str], ...]:
    """Carry a decision on as if it were a new one that replaces nothing."""
    return write_replaced(())


def name_nothing(_fact: Fact) -> None:
    """Let every statement replace all before it, as older versions did."""


def know_no_session(_name: str) -> None:
    """Take no notice of what a session decided before."""


BUGS = (
    (publications, "_join_replaced", keep_only_own_names),
    (decision_histories, "carry", carry_nothing),
    (fold_module, "list_replaced", name_nothing),
    (fold_module, "read_name", know_no_session),
)


@pytest.mark.proof
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug[2].__name__)
def test_a_rule_that_is_wrong_is_found_out(
    bug: tuple[ModuleType, str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*bug)

    for _, history in histories(0, 2_000):
        sources = [*history.events.values()]
        if read_shown(make_digest(merge_events(sources), 0, LIMIT)) != expect(history, sources):
            return
    pytest.fail("no history tells the difference")
