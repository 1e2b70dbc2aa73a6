"""How events become rows of the index, and rows facts again."""

import json
import zlib
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final, NamedTuple

from passdown.core.merge import REGISTERS, Held
from passdown.core.sources import SECTIONS, Rank, Section, Source, Value

PLAIN, HOLDS, VOID = 0, 1, 2
DAY: Final = 86_400_000_000

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBERS: Final = MappingProxyType({section: number for number, section in enumerate(SECTIONS)})
_REGISTER_NUMBERS: Final = frozenset(_NUMBERS[section] for section in REGISTERS)
_MILLION: Final = 1_000_000


class FactRow(NamedTuple):
    """A row of `facts`, but for its state."""

    id: int
    source: int
    section: int
    bucket: int
    key: str
    value: str | None
    ts: int


def section_number(section: Section) -> int:
    """Give the number that stands for a section."""
    return _NUMBERS[section]


def is_register(section: int) -> bool:
    """Say whether only the newest value of a section counts; each row of it holds."""
    return section in _REGISTER_NUMBERS


def to_micros(instant: datetime) -> int:
    """Give the microseconds since 1970."""
    since = instant - _EPOCH
    return (since.days * 86_400 + since.seconds) * _MILLION + since.microseconds


def to_instant(micros: int) -> datetime:
    """Give the instant that `to_micros` was given."""
    return _EPOCH + timedelta(microseconds=micros)


def make_bucket(section: int, key: str, *, void: bool) -> int:
    """Give the bucket of what is stated under a key, or of what takes it back."""
    return zlib.crc32(key.encode(), section) * 2 + void


def fact_rows(source: Source, number: int, first: int) -> list[FactRow]:
    """Make the rows of an event; the first gets the id given, in the order in which the event says things."""
    at, at_micros = source.rank.at, to_micros(source.rank.at)
    rows: list[FactRow] = []
    for fact_id, (section, key, value, since) in enumerate(source.facts, first):
        kind = _NUMBERS[section]
        micros = at_micros if since is at else to_micros(since)
        bucket = make_bucket(kind, key, void=value is None)
        rows.append(FactRow(fact_id, number, kind, bucket, key, _write_value(value), micros))
    return rows


def _write_value(value: Value | None) -> str | None:
    if isinstance(value, str):
        return f"s{value}"
    return None if value is None else "j" + json.dumps(value, ensure_ascii=False)


def _read_value(text: str) -> Value:
    return text[1:] if text[0] == "s" else tuple(json.loads(text[1:]))


def make_held(row: tuple[int, int, str, str, str, int, str]) -> Held:
    """Make a fact that holds from a row of `newest_facts`."""
    ts, at, agent, name, digest, _, value = row
    return Held(to_instant(ts), Rank(to_instant(at), agent, name, digest), _read_value(value))
