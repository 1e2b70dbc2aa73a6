"""The requirement report says what is proven and what is missing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import requirements, specification

_ROOT = Path(requirements.__file__).parent.parent
_CONFTEST = "from tests.conftest import pytest_collection_modifyitems\n"
_PROOFS = """
import pytest

@pytest.mark.requirement("R2", "G1", "C59")
@pytest.mark.parametrize("x", [1, 2])
def test_two(x): ...

@pytest.mark.requirement("R2")
class TestMany:
    @pytest.mark.requirement("R1")
    def test_one(self): ...
"""


def _report(folder: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command over a folder with one planted test file."""
    (folder / "conftest.py").write_text(_CONFTEST, encoding="utf-8")
    (folder / "test_planted.py").write_text(source, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    requirement\n", encoding="utf-8")
    command = [sys.executable, "-m", "tests.requirements", str(folder), *options]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)


def test_report_names_proofs_and_ranges_of_what_is_missing(tmp_path: Path) -> None:
    done = _report(tmp_path, _PROOFS)

    assert done.stderr == ""
    assert done.stdout.splitlines()[:8] == [
        "R1: test_planted.py::TestMany::test_one",
        "R2: test_planted.py::test_two, test_planted.py::TestMany::test_one",
        "G1: test_planted.py::test_two",
        "C59: test_planted.py::test_two",
        "marked: 3 of 255 requirements have a test (R1-R2, G1)",
        "decisions: 1 of 163 have a test of their own (C59)",
        "missing: 252 (R3-R237, G2-G18)",
        "  R3: The ledger is ignored by git",
    ]
    assert len(done.stdout.splitlines()) == 7 + 252


def test_json_report_has_the_same_content(tmp_path: Path) -> None:
    report = json.loads(_report(tmp_path, _PROOFS, "--json").stdout)

    assert report["total"] == 255
    assert list(report["marked"]) == ["R1", "R2", "G1"]
    assert len(report["missing"]) == 252
    assert report["titles"]["R1"] == "The ledger survives clear and compaction"
    assert list(report["decisions"]) == ["C59"]


@pytest.mark.parametrize("name", ["R0", "R238", "G19", "C164", "r1", "R01", "X1", ""])
def test_name_of_no_requirement_is_unknown(name: str) -> None:
    assert requirements.unknown_ids(["R1", name, "G18"]) == [name]


def test_test_with_an_unknown_requirement_is_refused(tmp_path: Path) -> None:
    done = _report(tmp_path, "import pytest\n@pytest.mark.requirement('R238')\ndef test(): ...")

    assert done.returncode == 1
    assert "No such requirement: R238" in done.stderr
    assert done.stdout == ""


def test_test_with_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    done = _report(tmp_path, "import pytest\n@pytest.mark.requirement('R1', through='luck')\ndef test(): ...")

    assert done.returncode == 1
    assert "No such kind of proof: luck" in done.stderr


def test_tests_that_cannot_be_collected_are_reported(tmp_path: Path) -> None:
    done = _report(tmp_path, "import nothing_of_that_name")

    assert done.returncode == 1
    assert "nothing_of_that_name" in done.stderr


def test_folder_without_proofs_proves_nothing(tmp_path: Path) -> None:
    done = _report(tmp_path, "def test(): ...")

    assert done.stdout.splitlines()[:3] == [
        "marked: 0 of 255 requirements have a test (none)",
        "decisions: 0 of 163 have a test of their own (none)",
        "missing: 255 (R1-R237, G1-G18)",
    ]


@pytest.mark.parametrize(
    ("names", "ranges"),
    [([], ""), (["R1"], "R1"), (["R3", "R1", "R2", "R5"], "R1-R3, R5"), (["R237", "G18"], "R237, G18")],
)
def test_ranges_are_compact(names: list[str], ranges: str) -> None:
    assert requirements.render_ranges(names) == ranges


def test_pages_name_the_tests_that_pytest_collects() -> None:
    command = [sys.executable, "-m", "tests.requirements", "--json"]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    collected = {name: sorted(tests) for name, tests in (report["marked"] | report["decisions"]).items()}

    assert {name: sorted(tests) for name, tests in specification.find_proofs().items()} == collected
