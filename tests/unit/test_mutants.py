"""Mutants: which faults are put into a module, what notices them, and what is told."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.commands import environment
from tests.mutants.changes import find_mutants
from tests.mutants.command import find_tests, read_equivalents
from tests.mutants.runs import Reach

ROOT: Final = Path(__file__).resolve().parents[2]
MODULE: Final = '''"""A module."""

def is_old(age: int) -> bool:
    """Say so."""
    return age > 7


def unused(age: int) -> int:
    return age + 1
'''
TESTS: Final = "from passdown.core.ages import is_old\n\n\ndef test_old():\n    assert is_old(8)\n"
BETTER: Final = f"{TESTS}    assert not is_old(7)\n"


def changes(text: str) -> list[str]:
    """Give what the faults of a text change."""
    return [mutant.apply(text.encode()).decode() for mutant in find_mutants("a.py", text.encode())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", ["(a <= b)"]),
        ("a <= b < c", ["(a < b < c)", "(a <= b <= c)"]),
        ("a is not b", ["(a is b)"]),
        ("a in b", ["(a not in b)"]),
        ("a and b", ["(a or b)"]),
        ("not a", ["(a)"]),
        ("a + b", ["(a - b)"]),
        ("x = 7", ["x = (8)"]),
        ("x = True", ["x = (False)"]),
        ("x = 'word'", ["x = ('')"]),
        ("x = 'some prose'", []),
        ("x = ''", []),
        ("x = None", []),
        ("f(a)", ["pass"]),
        ("def f():\n    return a", ["def f():\n    return None"]),
        ("def f():\n    return None", []),
        ("if a: pass", ["if (not (a)): pass"]),
        ("x: 'text' = a", []),
        ("T = TypeVar('T')", []),
        ("x = cast('int', a)", []),
        ("x = f'{a < b}'", []),
        ("'a docstring'", []),
        ("é = 'é' < b", ["é = ('é' <= b)", "é = ('') < b"]),
    ],
)
def test_a_fault_changes_one_thing(text: str, expected: list[str]) -> None:
    assert changes(text) == expected


def test_a_fault_knows_where_it_stands() -> None:
    (mutant,) = find_mutants("a.py", b"x = (\n  a\n  < b\n)\n")

    assert (mutant.line, mutant.last_line, str(mutant)) == (2, 3, "a.py:2: <= for <: a")


def test_the_tests_that_reach_a_line_are_tried_the_quickest_first() -> None:
    (mutant,) = find_mutants("a.py", b"\nx = a < b\n")
    seconds = {"slow": 2.0, "quick": 0.1, "other": 0.0}
    reached = Reach(seconds=seconds, by_line={2: frozenset({"slow", "quick"})}, at_import=frozenset())
    at_import = Reach(seconds=seconds, by_line={}, at_import=frozenset({2}))
    never = Reach(seconds=seconds, by_line={}, at_import=frozenset())

    assert reached.tests_of(mutant) == ["quick", "slow"]
    assert at_import.tests_of(mutant) == ["other", "quick", "slow"]
    assert never.tests_of(mutant) == []


def test_the_tests_of_a_module_are_those_that_import_it_its_own_first() -> None:
    found = find_tests("src/passdown/core/merge/merge.py")

    assert found[0] == "tests/unit/test_merge.py"
    assert "tests/unit/test_certificates.py" in found
    assert "tests/unit/test_budgets.py" not in found


def test_every_listed_equivalent_is_a_mutant_of_today_and_has_a_reason() -> None:
    for entry in read_equivalents():
        path = ROOT / entry["module"]
        known = {(one.source, one.change) for one in find_mutants(entry["module"], path.read_bytes())}

        assert (entry["line"], entry["change"]) in known, entry
        assert len(entry["reason"]) > 20, entry


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Give a checkout with one module, the tool, and what it needs of the tests."""
    for name in ("tests/mutants", "tests/unit", "src/passdown/core", "scripts"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("__init__.py", "changes.py", "command.py", "runs.py"):
        (tmp_path / "tests/mutants" / name).write_bytes((ROOT / "tests/mutants" / name).read_bytes())
    (tmp_path / "scripts/mutate").write_bytes((ROOT / "scripts/mutate").read_bytes())
    (tmp_path / "tests/mutants/equivalents.toml").write_text("")
    (tmp_path / "tests/mutants/modules.toml").write_text(
        '[ages]\nleast = 90\npaths = ["src/passdown/core/ages.py"]\n'
    )
    (tmp_path / "src/passdown/core/ages.py").write_text(MODULE)
    (tmp_path / "conftest.py").write_text(
        "import passdown.core\npassdown.core.__path__.append('src/passdown/core')\n"
    )
    (tmp_path / "tests/unit/test_ages.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def mutate(checkout: Path, *arguments: str) -> tuple[int, list[str]]:
    """Run the command."""
    done = subprocess.run(
        [sys.executable, "scripts/mutate", *arguments],
        cwd=checkout,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


def test_what_no_test_notices_is_named_and_fails(checkout: Path) -> None:
    code, out = mutate(checkout, "ages")

    path = "src/passdown/core/ages.py"
    assert code == 1
    assert out[-1] == "ages: 2 of 6 noticed, 33.3 %, at least 90 %  MISSED"
    assert sorted(out[:-1]) == [
        f"survived: {path}:5: >= for >: return age > 7",
        f"survived: {path}:9: - for +: return age + 1",
        f"survived: {path}:9: 2 for 1: return age + 1",
        f"survived: {path}:9: None returned: return age + 1",
    ]


def test_better_tests_leave_no_survivor_but_what_is_never_run(checkout: Path) -> None:
    (checkout / "tests/unit/test_ages.py").write_text(BETTER)
    code, out = mutate(checkout, "ages")

    assert code == 1
    assert [line for line in out if ":5:" in line] == []
    assert out[-1] == "ages: 3 of 6 noticed, 50.0 %, at least 90 %  MISSED"


def test_tests_that_fail_without_a_fault_are_refused(checkout: Path) -> None:
    (checkout / "tests/unit/test_ages.py").write_text(TESTS.replace("is_old(8)", "is_old(1)"))
    code, out = mutate(checkout, "ages")

    assert code == 1
    assert out[-1].startswith("mutate: the tests of src/passdown/core/ages.py fail without a fault")


def test_when_the_time_is_over_what_is_left_is_told(checkout: Path) -> None:
    code, out = mutate(checkout, "ages", "--seconds", "0")

    assert "mutate: 6 of 6 were not tried" in out
    assert code == 0


def test_a_module_that_no_test_imports_is_told(checkout: Path) -> None:
    (checkout / "tests/unit/test_ages.py").unlink()
    _, out = mutate(checkout, "ages")

    assert "mutate: not tried, no test imports it: src/passdown/core/ages.py" in out
