"""Everything that can be planted, at every component of every path that we read or write, through every call.

A file is replaced together with others that do not hide it, and every tenth pair of a place and a thing is
tried: a place meets one or none of the things, and the place after it others. With `PASSDOWN_PROOF=long` each
file is alone and every pair is tried.
"""

import sys
from collections.abc import Sequence

import pytest
from _pytest.mark.structures import ParameterSet

from tests.attacks.stage import CALLS, FILES, FOLDERS, PLANTS, Stage, attack
from tests.proof import LEVEL, Level

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="links and FIFOs need rights there"),
    pytest.mark.proof,
    pytest.mark.timeout(900),
    pytest.mark.requirement("C118"),
]

_FOLDER_PLANTS = sorted(set(PLANTS) - {"folder", "8 GiB", "device", "link to a FIFO"})
_FILE_PLANTS = sorted(set(PLANTS) - {"file"})
_GROUPS = FILES if LEVEL is not Level.LONG else tuple((one,) for group in FILES for one in group)


def pairs(places: Sequence[str | tuple[str, ...]], kinds: Sequence[str]) -> list[ParameterSet]:
    """Give every tenth pair, or every pair in the long run."""
    return [
        pytest.param(place, kind, id=f"{place if isinstance(place, str) else place[0]}-{kind}")
        for row, place in enumerate(places)
        for column, kind in enumerate(kinds)
        if LEVEL is Level.LONG or (row + column) % 10 == 0
    ]


@pytest.mark.parametrize(("folder", "kind"), pairs(FOLDERS, _FOLDER_PLANTS))
def test_nothing_escapes_through_a_folder(stage: Stage, folder: str, kind: str) -> None:
    assert attack(stage, [folder], kind, CALLS) == []


@pytest.mark.parametrize(("files", "kind"), pairs(_GROUPS, _FILE_PLANTS))
def test_nothing_escapes_through_a_file(stage: Stage, files: tuple[str, ...], kind: str) -> None:
    assert attack(stage, files, kind, CALLS) == []
