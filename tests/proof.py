"""The size of proofs: small locally, larger in CI, largest overnight.

PASSDOWN_PROOF is `fast`, `ci` or `long`. If it is unset, proofs are as small as with `fast`, and the run
without arguments leaves out what takes long (`conftest.py`). It is read once, before the guards of
`conftest.py` remove our variables.
"""

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from hypothesis import settings


class Level(StrEnum):
    """The size of proofs in this run."""

    FAST = "fast"
    CI = "ci"
    LONG = "long"


def parse_level(environment: Mapping[str, str]) -> Level:
    """Return the level that PASSDOWN_PROOF names; an empty value counts as unset."""
    value = environment.get("PASSDOWN_PROOF", "") or Level.FAST
    try:
        return Level(value)
    except ValueError:
        message = f"PASSDOWN_PROOF is {value!r}; use fast, ci or long, or leave it unset."
        raise ValueError(message) from None


LEVEL = parse_level(os.environ)
IS_CHOSEN: Final = bool(os.environ.get("PASSDOWN_PROOF"))
"""Whether the size was asked for: such a run leaves nothing out."""


def proof_count(*, fast: int, ci: int, long: int) -> int:
    """Return how many cases a proof makes in this run."""
    return {Level.FAST: fast, Level.CI: ci, Level.LONG: long}[LEVEL]


def load_hypothesis_profile() -> None:
    """Make fast and CI runs repeatable; a long run tries new cases each time."""
    settings.register_profile(Level.FAST, max_examples=10, deadline=None, derandomize=True, database=None)
    settings.register_profile(Level.CI, max_examples=100, deadline=None, derandomize=True, database=None)
    settings.register_profile(Level.LONG, max_examples=5000, deadline=None, print_blob=True)
    settings.load_profile(LEVEL)
