"""Everything that can be planted, at every component of every path that we read or write, through every call.

A file is replaced together with others that do not hide it; with `PASSDOWN_PROOF=long` each is alone.
"""

import sys

import pytest

from tests.attacks.stage import CALLS, FILES, FOLDERS, PLANTS, Stage, attack
from tests.proof import LEVEL, Level

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="links and FIFOs need rights there"),
    pytest.mark.timeout(900),
    pytest.mark.requirement("C118"),
]

_FOLDER_PLANTS = sorted(set(PLANTS) - {"folder", "8 GiB", "device", "link to a FIFO"})
_FILE_PLANTS = sorted(set(PLANTS) - {"file"})
_GROUPS = FILES if LEVEL is not Level.LONG else tuple((one,) for group in FILES for one in group)


@pytest.mark.parametrize("kind", _FOLDER_PLANTS)
@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_escapes_through_a_folder(stage: Stage, folder: str, kind: str) -> None:
    assert attack(stage, [folder], kind, CALLS) == []


@pytest.mark.parametrize("kind", _FILE_PLANTS)
@pytest.mark.parametrize("files", _GROUPS, ids=lambda files: files[0])
def test_nothing_escapes_through_a_file(stage: Stage, files: tuple[str, ...], kind: str) -> None:
    assert attack(stage, files, kind, CALLS) == []
