"""Silences: stretches in which no session of a project was heard, because the engine was away (C143)."""

from collections.abc import Iterable
from typing import NamedTuple


class Silence(NamedTuple):
    """A stretch in which no session of the project gave a sign of life, by the engine's clock."""

    began: float
    ended: float


class HeardSigns(NamedTuple):
    """When somebody was heard: the project's newest sign, and the silences that are kept."""

    newest: float | None = None
    """None if nobody was ever heard."""
    silences: tuple[Silence, ...] = ()


def is_sign_due(newest: float | None, now: float, interval: float) -> bool:
    """Return whether a sign of life is to be written as the newest of the project: seldom, for all write it.

    One in the future was written by another clock, as after a failover.
    """
    return newest is None or newest > now or now - newest >= interval


def find_silence(newest: float | None, now: float, least: float) -> Silence | None:
    """Return the silence that a sign of life ends; one that is shorter than the least is none."""
    if newest is None or now - newest < least:
        return None
    return Silence(newest, now)


def longest_silence(heard: HeardSigns, since: float, now: float, least: float) -> float:
    """Return the seconds of the longest silence since an instant; 0 if there is none.

    The one that lasts until now counts, too: whoever asks may be the first to be heard again.
    """
    open_one = find_silence(heard.newest, now, least)
    silences: Iterable[Silence] = (*heard.silences, open_one) if open_one else heard.silences
    longest = max((min(one.ended, now) - max(one.began, since) for one in silences), default=0.0)
    return longest if longest >= least else 0.0
