"""Which tests start a process of ours is read from them."""

from pathlib import Path

import pytest

from tests import starters

STARTS = """
import sys
from tests.support.commands import run

PROGRAM = [sys.executable, "-m", "passdown"]
LIMIT = 3

def fixture_of_a_process(): return PROGRAM
def start_one(): return start_two()
def start_two(): return run("status")
def test_by_a_constant(): assert PROGRAM
def test_by_a_fixture(fixture_of_a_process): pass
def test_by_a_function(): assert start_one()
def test_none(): assert LIMIT
class TestForks:
    def test_it(self): os.fork()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a place of tests, with a helper that starts a process and one that does not."""
    tests = tmp_path / "tests"
    (tests / "unit").mkdir(parents=True)
    (tests / "support").mkdir()
    (tests / "support" / "commands.py").write_text(
        "def run(*words): return [sys.executable]\ndef call(): return 1\n"
    )
    (tests / "unit" / "test_it.py").write_text(STARTS)
    return tests


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("test_by_a_constant", True),
        ("test_by_a_fixture", True),
        ("test_by_a_function", True),
        ("TestForks", True),
        ("test_none", False),
    ],
)
def test_what_names_the_interpreter_however_far_away_starts_a_process(
    folder: Path, name: str, expected: bool
) -> None:
    assert starters.starts_process(folder / "unit" / "test_it.py", name, folder.parent) is expected


@pytest.mark.parametrize("name", sorted(starters.FOLDERS))
def test_whole_folders_start_processes(folder: Path, name: str) -> None:
    assert starters.starts_process(folder / name / "test_it.py", "test_none", folder.parent)


def test_definitions_that_use_each_other_come_to_an_end(folder: Path) -> None:
    (folder / "unit" / "test_it.py").write_text("def a(): return b()\ndef b(): return a()\n")

    assert not starters.starts_process(folder / "unit" / "test_it.py", "a", folder.parent)


def test_the_tests_of_today_are_told_apart() -> None:
    unit = starters.ROOT / "tests" / "unit"

    assert starters.starts_process(unit / "suite" / "test_skips.py", "test_at_the_desk_a_skip_is_a_skip")
    assert not starters.starts_process(unit / "merge" / "test_merge.py", "test_view_of_no_events_is_empty")
