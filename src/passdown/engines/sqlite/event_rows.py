"""How events become rows of the index, and rows become facts again."""

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from passdown.core.facts import Fact, Provenance, identify, identify_retracted, make_key
from passdown.core.kinds import INHERITED, MERGED, FactKind, Merging
from passdown.core.merge.event_facts import EventFacts
from passdown.core.merge.named_files import list_named, read_name
from passdown.core.times import to_micros

PLAIN, HOLDS, VOID = 0, 1, 2
ORDER: Final = 8
"""How many columns of a row of facts determine its place in the order; the last of them is its id."""
ROW_ID: Final = 7
TEXT: Final = 8
MORE: Final = 10
DAY: Final = 86_400_000_000
_BUCKETS: Final = 0x3FFF_FFFF
"""A bucket fits into four bytes."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBERS: Final = MappingProxyType({kind.value: number for number, kind in enumerate(MERGED, 1)})
DECISIONS: Final = _NUMBERS[FactKind.DECISION]
KIND_OF: Final = MappingProxyType({number: kind for kind, number in _NUMBERS.items()})
_NEWEST_ONLY: Final = frozenset({Merging.REGISTER, Merging.STEPS})
_REGISTER_NUMBERS: Final = frozenset(_NUMBERS[kind] for kind in MERGED if kind.row.merging in _NEWEST_ONLY)
REGISTERS: Final = tuple(kind for kind in MERGED if kind.row.merging in _NEWEST_ONLY)
TABLE: Final = zlib.crc32("\n".join(f"{kind} {kind.row[:3]}" for kind in FactKind).encode()) & 0xFFFFFF
"""Changes with the table of kinds: an index built with another table lacks facts."""


class FactRow(NamedTuple):
    """A row of `facts`, without its state."""

    id: int
    source: int
    section: int
    bucket: int
    key: str
    value: str | None
    more: str | None
    ts: int


def section_number(kind: str) -> int:
    """Return the number of a kind."""
    return _NUMBERS[kind]


def is_register(section: int) -> bool:
    """Return whether only the newest fact of a kind counts; all statements of it are stored as holding."""
    return section in _REGISTER_NUMBERS


def states_register(row: "FactRow") -> bool:
    """Return whether a row states a fact of such a kind."""
    return row.value is not None and is_register(row.section)


def to_instant(micros: int) -> datetime:
    """Return the instant of a number of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)


def make_bucket(section: int, key: str, *, void: bool) -> int:
    """Return the bucket of the statements, or of the retractions, of a key."""
    return (zlib.crc32(key.encode(), section) & _BUCKETS) * 2 + void


def fact_rows(source: EventFacts, number: int, first: int) -> list[FactRow]:
    """Return the rows of an event in the order of its statements; `first` is the id of the first row."""
    at, at_micros = source.rank.at, to_micros(source.rank.at)
    rows: list[FactRow] = []
    for row_id, fact in enumerate(source.facts, first):
        is_void = fact.kind == _RETRACTION
        kind = _NUMBERS[fact.key if is_void else fact.kind]
        # A retraction of a register names a text.
        key = identify_retracted(fact) or make_key(fact.text) if is_void else identify(fact)
        bucket = make_bucket(kind, key, void=is_void)
        micros = at_micros if fact.at is at else to_micros(fact.at)
        value = None if is_void else fact.text
        more = _write_more(fact, key, source.rank.agent) if not is_void or fact.others else None
        rows.append(FactRow(row_id, number, kind, bucket, key, value, more, micros))
    return rows


LASTING: Final = frozenset(_NUMBERS[kind] for kind in INHERITED)
"""The kinds whose facts are found by the files that they name."""
FILES: Final = _NUMBERS[FactKind.FILE]


def name_rows(rows: Iterable[FactRow]) -> Iterator[tuple[int, int]]:
    """Yield the rows of `named` for statements: which file a fact names, and which name a file has."""
    for row in rows:
        if row.value is None:
            continue
        if row.section in LASTING:
            yield from ((hash_name(name), row.bucket) for name in list_named(row.value))
        elif row.section == FILES:
            yield hash_file_name(read_name(row.value).name), row.bucket


def hash_name(name: str) -> int:
    """Return the short hash of the name with which a fact refers to a file."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass"))


def hash_file_name(name: str) -> int:
    """Return the short hash of the name that a file has."""
    return hash_name(f"/{name}")


_RETRACTION: Final = FactKind.RETRACTION.value
_DECISION: Final = FactKind.DECISION.value


def _write_more(fact: Fact, identity: str, agent: str) -> str | None:
    """Encode the parts of a fact other than its text that its identity and event do not already contain."""
    usual = identity if fact.kind == _DECISION else ""
    is_plain = fact.key == usual and fact.agent == agent and fact.provenance is Provenance.STATED
    if is_plain and not (fact.seq or fact.because or fact.commit or fact.others):
        return None
    values = (fact.key, fact.because, fact.provenance.value, fact.commit, fact.others, fact.agent, fact.seq)
    return json.dumps(values, ensure_ascii=False)


def make_void(kind: str, row: Sequence[Any]) -> Fact:
    """Return a retraction from a row of `newest_of_key`."""
    fact = Fact(_RETRACTION, row[9], to_instant(row[0]), row[4], event=row[6])
    return _add_more(fact, row[MORE])._replace(key=kind)


def make_fact(kind: str, row: Sequence[Any]) -> Fact:
    """Return a fact that holds from a row of `newest_facts`."""
    ts, _, _, _, agent, name, digest, _, text, identity, more, session = row
    fact = Fact(kind, text, to_instant(ts), agent, session=session, event=digest, event_id=name)
    if more is None:
        return fact._replace(key=identity) if kind == _DECISION else fact
    return _add_more(fact, more)


def _add_more(fact: Fact, more: str | None) -> Fact:
    if more is None:
        return fact
    key, because, provenance, commit, others, author, seq = json.loads(more)
    return fact._replace(
        agent=author,
        key=key,
        because=because,
        provenance=Provenance(provenance),
        commit=commit,
        others=tuple((name, value) for name, value in others),
        seq=seq,
    )
