"""What is decided under a key, for a session that decides, and without a cache."""

from collections.abc import Mapping

import pytest

from passdown.core.kinds import FactKind
from passdown.core.sessions.decisions import KeyHistory
from passdown.core.sessions.session_facts import NewFact
from passdown.core.statements import list_replaced
from passdown.engines.memory.index import MemoryIndex
from passdown.errors import CacheError
from passdown.services.sessions.decisions import (
    find_contested_key,
    find_history,
    plan_decision,
    read_contested,
)
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.ledgers import update_ledger
from tests.support.sessions import make_place, with_parts


class DamagedIndex(MemoryIndex):
    """An index that cannot be used."""

    def folders(self) -> Mapping[str, int]:
        """Say that it is damaged."""
        raise CacheError("the cache is damaged")


def test_without_a_cache_a_row_that_was_edited_by_hand_is_taken_in_and_nothing_is_named() -> None:
    place = make_place()
    account = place.start()
    place.say(account, FactKind.DECISION, "SQLite", "db")
    place.edit("| db: SQLite |", "| db: Postgres |")
    damaged = with_parts(place, index=DamagedIndex())

    kept = update_ledger(damaged, account)

    assert [fact.text for fact in kept.account.of(FactKind.DECISION)] == ["Postgres"]
    assert find_history(damaged, account, "db") == KeyHistory()
    held, replaced, *_ = find_history(place.project, account, "db")
    assert held is not None
    assert (held.text, replaced) == ("Postgres", None)


@pytest.mark.requirement("C162")
def test_without_a_cache_a_decision_does_not_tell_what_it_replaces_and_nothing_is_contested() -> None:
    place = make_place()
    account = place.start()
    damaged = with_parts(place, index=DamagedIndex())

    update_ledger(damaged, account, [NewFact(FactKind.DECISION, "SQLite", "db")])

    (decided,) = read_account(damaged, account.session).of(FactKind.DECISION)
    assert list_replaced(decided) is None
    assert (read_contested(damaged), find_contested_key(damaged, "db")) == ((), "")


@pytest.mark.requirement("C162")
def test_a_row_that_was_edited_by_hand_names_what_it_replaces() -> None:
    place = make_place()
    account = place.start()
    place.say(account, FactKind.DECISION, "SQLite", "db")
    place.edit("| db: SQLite |", "| db: Postgres |")

    kept = update_ledger(place.project, account)

    (decided,) = kept.account.of(FactKind.DECISION)
    assert (decided.text, list_replaced(decided)) == ("Postgres", (f"{account.session}:2",))


@pytest.mark.requirement("C162")
def test_what_another_session_has_not_published_is_not_replaced_unless_it_was_shown() -> None:
    place = make_place()
    one, two = place.start(is_new=True), place.start(is_new=True)
    place.say(one, FactKind.DECISION, "SQLite", "db")

    place.say(two, FactKind.DECISION, "Postgres", "db")
    shown = plan_decision(place.project, two, NewFact(FactKind.DECISION, "Redis", "db"))

    (decided,) = read_account(place.project, two.session).of(FactKind.DECISION)
    assert list_replaced(decided) == ()
    assert [fact.text for fact in shown.replaces] == ["Postgres", "SQLite"]
    assert [[fact.text for fact in facts] for facts in read_contested(place.project)] == [
        ["Postgres", "SQLite"]
    ]
