"""Instants, always aware and in UTC: how they are read, written and ordered.

Only two tables of the ledger (S0) hold a local time of day (``HH:MM``); it never becomes an instant.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from passdown.core.lazy_regex import pattern

FOLLOW_LIMIT: Final = timedelta(hours=24)
"""How far ahead of its own clock a writer follows the clocks of others (C115)."""

_MILLISECOND: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LAST_INSTANT: Final = datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)

_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_HOUR: Final = r"(?:[01][0-9]|2[0-3])"
_SIXTY: Final = r"[0-5][0-9]"

# The hour is checked here because newer Pythons also read 24:00 as the next day.
_COMMON: Final = pattern(rf"{_DATE}T{_HOUR}:{_SIXTY}:{_SIXTY}(?:\.[0-9]{{3}})?Z")
_ISO: Final = pattern(
    rf"{_DATE}(?:[T ]{_HOUR}:{_SIXTY}(?::{_SIXTY}(?:[.,][0-9]{{1,9}})?)?(?:Z|[+-]{_HOUR}(?::?{_SIXTY})?)?)?"
)
_FILE_STAMP: Final = pattern(rf"({_DATE})T({_HOUR})-({_SIXTY})-({_SIXTY})(?:[.-]([0-9]{{1,9}}))?Z?")
_ARCHIVE_STAMP: Final = pattern(rf"({_DATE})-({_HOUR})-({_SIXTY})")
_UNIX_SECONDS: Final = pattern(r"[0-9]{10}")
_UNITS: Final = MappingProxyType({"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800})
_DURATION: Final = pattern(rf"([0-9]{{1,9}})({'|'.join(_UNITS)})")
_CLOCK: Final = pattern(rf"{_HOUR}:{_SIXTY}")


def parse_instant(text: str) -> datetime | None:
    """Read an instant in any supported form (C26); return None for anything else, even impossible dates.

    1. ISO 8601: a date, or a date and a time with ``T`` or a space; seconds and their fraction are optional;
       ``Z``, an offset, or nothing, which means UTC. Digits beyond microseconds are cut off.
    2. A file stamp: ``2026-01-10T13-03-52Z``, with a fraction after ``.`` or ``-``.
    3. An archive stamp: ``2026-01-10-13-03``.
    4. Unix seconds: exactly ten digits.
    """
    if _COMMON.fullmatch(text) or _ISO.fullmatch(text):  # 1
        return _read_iso(text)
    if found := _FILE_STAMP.fullmatch(text):  # 2
        date, hour, minute, second, fraction = found.groups(default="0")
        return _read_iso(f"{date}T{hour}:{minute}:{second}.{fraction}Z")
    if found := _ARCHIVE_STAMP.fullmatch(text):  # 3
        date, hour, minute = found.groups()
        return _read_iso(f"{date}T{hour}:{minute}Z")
    if _UNIX_SECONDS.fullmatch(text):  # 4
        return _EPOCH + timedelta(seconds=int(text))
    return None


def _read_iso(text: str) -> datetime | None:
    """Read text of the right form; return None if the day does not exist or the year is not 1 to 9999."""
    try:
        instant = datetime.fromisoformat(text)
        if instant.tzinfo is UTC:
            return instant
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def parse_clock(text: str) -> str | None:
    """Return a local time of day, ``HH:MM`` on a 24-hour clock, unchanged; None if it is not valid."""
    return text if _CLOCK.fullmatch(text) else None


def render_seconds(instant: datetime) -> str:
    """Write ``YYYY-MM-DDTHH:MM:SSZ``, cut to the second."""
    return _plain(instant).isoformat(timespec="seconds") + "Z"


def render_millis(instant: datetime) -> str:
    """Write ``YYYY-MM-DDTHH:MM:SS.mmmZ``, cut to the millisecond; `parse_instant` reads that instant back."""
    return _plain(instant).isoformat(timespec="milliseconds") + "Z"


def render_file_stamp(instant: datetime) -> str:
    """Write ``YYYY-MM-DDTHH-MM-SS.mmmZ``: milliseconds without colons; sorts as text in the order of time."""
    return render_millis(instant).replace(":", "-")


def render_archive_stamp(instant: datetime) -> str:
    """Write ``YYYY-MM-DD-HH-MM``, cut to the minute."""
    return _plain(instant).isoformat(timespec="minutes").replace("T", "-").replace(":", "-")


def _plain(instant: datetime) -> datetime:
    """Remove the zone, so that `isoformat` writes none."""
    if instant.tzinfo is None:
        raise ValueError("an instant must be aware")
    return instant.astimezone(UTC).replace(tzinfo=None)


def to_millis(instant: datetime) -> datetime:
    """Cut an instant to the millisecond, the precision of event times."""
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def to_micros(instant: datetime) -> int:
    """Return the microseconds since 1970."""
    since = instant - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def too_far_ahead(now: datetime, instant: datetime) -> bool:
    """Return whether an instant is more than 24 hours ahead of now: reported, but never followed."""
    return instant - now > FOLLOW_LIMIT


def next_instant(now: datetime, seen: Iterable[datetime]) -> datetime:
    """Return the time for a new event: now, or one millisecond after the newest seen if that is later.

    The result has whole milliseconds and is later than every instant seen. At the end of the year 9999 it
    stays on the last millisecond.
    """
    answer = to_millis(now)
    newest = max(seen, default=None)
    if newest is None or newest < answer:
        return answer
    newest = to_millis(newest)
    return newest + _MILLISECOND if newest < LAST_INSTANT else LAST_INSTANT


def is_older(instant: datetime, now: datetime, limit: timedelta) -> bool:
    """Return whether more than the limit has passed since the instant; exactly the limit is not older."""
    return now - instant > limit


def parse_duration(text: str) -> float | None:
    """Parse a span like ``90s``, ``10m``, ``10min``, ``2h``, ``1d`` or ``1w`` into seconds, else None."""
    found = _DURATION.fullmatch(text)
    return None if found is None else int(found[1]) * float(_UNITS[found[2]])


def age_words(age: timedelta) -> str:
    """Return an age in words, cut to its largest unit: ``40 s``, ``3 min``, ``2 h``, ``5 d``; at least 0."""
    return seconds_words(age // timedelta(seconds=1))


def seconds_words(count: float) -> str:
    """Return a span of seconds in words, as `age_words` does."""
    seconds = max(0, int(count))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
