"""Silences: periods in which no session of a project was seen, because the engine was unavailable (C143)."""

from collections.abc import Iterable
from typing import NamedTuple


class Silence(NamedTuple):
    """A period in which no session of the project was seen, by the engine's clock."""

    began: float
    ended: float


class HeardSigns(NamedTuple):
    """When sessions of the project were last seen, and the silences that are kept."""

    newest: float | None = None
    """None if no session was ever seen."""
    silences: tuple[Silence, ...] = ()


def is_sign_due(newest: float | None, now: float, interval: float) -> bool:
    """Return whether to store when the project was last seen; rarely, since all sessions write it.

    A time in the future was written by another clock, as after a failover.
    """
    return newest is None or newest > now or now - newest >= interval


def find_silence(newest: float | None, now: float, least: float) -> Silence | None:
    """Return the silence that ends now; None if it was shorter than `least`."""
    if newest is None or now - newest < least:
        return None
    return Silence(newest, now)


def longest_silence(heard: HeardSigns, since: float, now: float, least: float) -> float:
    """Return the seconds of the longest silence since an instant; 0 if there is none.

    A silence that lasts until now counts too: the caller may be the first session that is seen again.
    """
    open_one = find_silence(heard.newest, now, least)
    silences: Iterable[Silence] = (*heard.silences, open_one) if open_one else heard.silences
    longest = max((min(one.ended, now) - max(one.began, since) for one in silences), default=0.0)
    return longest if longest >= least else 0.0
