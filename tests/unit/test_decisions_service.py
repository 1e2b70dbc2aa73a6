"""What is decided under a key, for a session that decides, and without a cache."""

from collections.abc import Mapping

from passdown.core.kinds import FactKind
from passdown.core.sessions.decisions import KeyHistory
from passdown.engines.memory.index import MemoryIndex
from passdown.errors import CacheError
from passdown.services.sessions.decisions import find_history
from passdown.services.sessions.ledgers import update_ledger
from tests.sessions import make_place, with_parts


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
