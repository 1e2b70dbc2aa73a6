"""Which statements of a fact are in force, in the SQLite index (C162).

For most facts the last statement and the last retraction decide. A decision replaces the statements that it
names, so all its statements count since the last one that replaced everything before it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from passdown.core.facts import Fact
from passdown.core.fold import fold
from passdown.core.kinds import FactKind
from passdown.core.statements import REPLACES
from passdown.core.times import to_micros
from passdown.engines.sqlite.event_ranks import RankedDatabase
from passdown.engines.sqlite.event_rows import (
    DECISIONS,
    KIND_OF,
    MORE,
    ORDER,
    ROW_ID,
    TEXT,
    make_bucket,
    make_fact,
    make_void,
)

END: Final = 2**63 - 1
NONE: Final = -(2**63)
_KEY: Final = 9
_NAMING: Final = f'"{REPLACES}"'
"""The text in `facts.more` of a statement that names what it replaces."""


def _order_of(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return row[:ORDER]


class FactKey(NamedTuple):
    """What competing facts have in common."""

    section: int
    key: str


class StatedDatabase(RankedDatabase):
    """The part of the index that finds the statements in force."""

    def _save_contested(self, fact: FactKey, in_force: Sequence[tuple[Any, ...]]) -> None:
        self._run("drop_contested", fact.section, fact.key)
        for row in in_force if len(in_force) > 1 else ():
            self._run("add_contested", row[ROW_ID], fact.section, fact.key)

    def _find_in_force(self, fact: FactKey, until: datetime | None = None) -> list[tuple[Any, ...]]:
        """Return the rows that `fold` leaves of a fact: the one that holds, then what contradicts it.

        Only decisions contradict each other: for other facts, the last statement and retraction suffice.
        """
        if fact.section == DECISIONS:
            rows = self._said_since_cleared(fact, until)
        else:
            rows = [row for void in (False, True) if (row := self._newest_of(fact, until, void=void))]
        rows.sort(key=lambda row: row[:ORDER])
        kind = KIND_OF[fact.section]
        facts = [make_fact(kind, row) if row[TEXT] is not None else make_void(kind, row) for row in rows]
        folded = fold(facts)
        contested = [one for some in folded.list_contested() for one in some]
        places = {id(one): place for place, one in enumerate(facts)}
        return [rows[places[id(one)]] for one in contested or folded.of(kind)]

    def _said_since_cleared(self, fact: FactKey, until: datetime | None) -> list[tuple[Any, ...]]:
        """Return the statements of a decision since one replaced all before it, and possibly older ones."""
        last = END if until is None else to_micros(until)
        rows: list[tuple[Any, ...]] = []
        for void in (False, True):
            bucket = make_bucket(fact.section, fact.key, void=void)
            values = {"bucket": bucket, "section": fact.section, "key": fact.key, "until": last}
            cleared = NONE
            for row in self._connection.execute(self._queries["said_of_key_until"], values):
                if row[0] < cleared:
                    break
                rows.append(row)
                if _NAMING not in (row[MORE] or ""):
                    cleared = row[0]
        return rows

    def _newest_of(self, fact: FactKey, until: datetime | None, *, void: bool) -> tuple[Any, ...] | None:
        bucket = make_bucket(fact.section, fact.key, void=void)
        values: dict[str, object] = {"bucket": bucket, "section": fact.section, "key": fact.key}
        query = "newest_of_key"
        if until is not None:
            query, values["until"] = "newest_of_key_until", to_micros(until)
        rows = self._select(query, values)
        return max(rows, key=lambda row: row[:ORDER], default=None)

    def _list_contested(self, until: datetime | None) -> tuple[tuple[Fact, ...], ...]:
        """Return the decisions that contradict each other; for later events they are looked up."""
        by_key: dict[str, list[tuple[Any, ...]]] = {}
        for row in self._all("contested"):
            by_key.setdefault(row[_KEY], []).append(row)
        if until is not None:
            for (key,) in self._all("keys_beyond", to_micros(until), DECISIONS):
                found = self._find_in_force(FactKey(DECISIONS, key), until)
                by_key[key] = found if len(found) > 1 else []
        several = [sorted(rows, key=_order_of, reverse=True) for rows in by_key.values() if rows]
        several.sort(key=lambda rows: _order_of(rows[0]), reverse=True)
        kind = FactKind.DECISION.value
        return tuple(tuple([make_fact(kind, row) for row in rows]) for rows in several)

    def _select(self, query: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        with self._reporting():
            return self._connection.execute(self._queries[query], values).fetchall()
