"""CI skips no test but those that are listed with a reason."""

import ast
import subprocess
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, cast

import pytest

from tests.skips import begin_elsewhere, read_skips
from tests.support.commands import environment

ROOT: Final = Path(__file__).resolve().parents[3]
GUARDED: Final = (
    "from tests.conftest import pytest_make_collect_report, pytest_runtest_makereport, pytest_runtest_setup\n"
)
SKIPS: Final = {
    "mark": "@pytest.mark.skip(reason='too hard')\ndef test_it(): pass\n",
    "condition": "@pytest.mark.skipif(True, reason='too hard')\ndef test_it(): pass\n",
    "test": "def test_it(): pytest.skip('too hard')\n",
    "fixture": "@pytest.fixture\ndef it(): pytest.skip('too hard')\ndef test_it(it): pass\n",
    "file": "pytest.skip('too hard', allow_module_level=True)\n",
}
EXPECTED_TO_FAIL: Final = "@pytest.mark.xfail(reason='known')\ndef test_it(): raise ValueError\n"


def run_pytest(folder: Path, files: Mapping[str, str], **variables: str) -> tuple[int, str]:
    """Run files of tests under the guards of ours."""
    (folder / "conftest.py").write_text(GUARDED)
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(f"import pytest\n{text}")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rN",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(folder),
    ]
    done = subprocess.run(
        [*command, "--continue-on-collection-errors", str(folder)],
        cwd=folder,
        env=environment(PYTHONPATH=str(ROOT), **variables),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_a_skip_that_nobody_listed_fails_in_ci_however_it_is_made(tmp_path: Path) -> None:
    code, out = run_pytest(tmp_path, SKIPS, PASSDOWN_CI="1")

    assert code == 1
    assert out.count("skipped in CI and not listed in tests/skips.toml: Skipped: too hard") == len(SKIPS)
    assert " skipped" not in out.splitlines()[-1]


def test_at_the_desk_a_skip_is_a_skip(tmp_path: Path) -> None:
    code, out = run_pytest(tmp_path, SKIPS)

    assert code == 0
    assert f"{len(SKIPS)} skipped" in out


def test_what_is_expected_to_fail_is_not_a_skip(tmp_path: Path) -> None:
    code, out = run_pytest(tmp_path, {"known": EXPECTED_TO_FAIL}, PASSDOWN_CI="1")

    assert code == 0
    assert "1 xfailed" in out


@pytest.mark.parametrize(("until", "expected"), [("1", "5 skipped"), ("9999999999", "5 passed")])
def test_no_test_begins_once_the_time_of_ci_is_over(tmp_path: Path, until: str, expected: str) -> None:
    tests = dict.fromkeys("abcde", "def test_it(): pass\n")

    code, out = run_pytest(tmp_path, tests, PASSDOWN_CI="1", PASSDOWN_UNTIL=until)

    assert code == 0
    assert out.splitlines()[-1].startswith(expected)


class Item:
    """A test of a file."""

    def __init__(self, name: str) -> None:
        """Take `file/test`."""
        self.name = name
        self.path = name.partition("/")[0]


@pytest.mark.parametrize(
    ("until", "expected"),
    [(0, "a/1 a/2 b/1 c/1 c/2"), (1, "b/1 c/1 c/2 a/1 a/2"), (5, "c/1 c/2 a/1 a/2 b/1")],
)
def test_a_slow_run_begins_with_another_file_each_time(until: int, expected: str) -> None:
    items = [Item(name) for name in ("a/1", "a/2", "b/1", "c/1", "c/2")]

    begin_elsewhere(cast("list[pytest.Item]", items), until)

    assert " ".join(item.name for item in items) == expected


def test_a_listed_skip_without_a_reason_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "skips.toml"
    path.write_text('[[skip]]\ntests = "tests/unit/test_x.py::test_it"\nreason = " "\n')

    with pytest.raises(ValueError, match=r"gives no reason for: tests/unit/test_x\.py::test_it"):
        read_skips(path)


def test_every_listed_skip_names_a_test_that_there_is() -> None:
    for skip in read_skips():
        path, _, pattern = skip.tests.partition("::")
        names = [
            node.name
            for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef)
        ]

        assert [name for name in names if fnmatchcase(name, pattern)], skip.tests
