"""`scripts/mutate` in a checkout with one module: what it tries, and what it tells."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.commands import environment

ROOT: Final = Path(__file__).resolve().parents[3]
MODULE: Final = '''"""A module."""

def is_old(age: int) -> bool:
    """Say so."""
    return age > 7


def unused(age: int) -> int:
    return age + 1
'''
TESTS: Final = "from passdown.core.ages import is_old\n\n\ndef test_old():\n    assert is_old(8)\n"
BETTER: Final = f"{TESTS}    assert not is_old(7)\n"


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


def test_those_that_survived_can_be_tried_again(checkout: Path) -> None:
    before = checkout / "before.txt"
    before.write_text("\n".join(mutate(checkout, "ages")[1]))
    (checkout / "tests/unit/test_ages.py").write_text(BETTER)
    _, out = mutate(checkout, "ages", "--again", str(before))

    assert out[-1] == "ages: 1 of 4 noticed, 25.0 %, at least 90 %  MISSED"


def test_tests_that_fail_without_a_fault_are_refused(checkout: Path) -> None:
    (checkout / "tests/unit/test_ages.py").write_text(TESTS.replace("is_old(8)", "is_old(1)"))
    code, out = mutate(checkout, "ages")

    assert code == 1
    assert out[-1].startswith("mutate: the tests of src/passdown/core/ages.py fail without a fault")


def test_when_the_time_is_over_what_is_left_is_told(checkout: Path) -> None:
    code, out = mutate(checkout, "ages", "--seconds", "0")

    assert "mutate: 6 of 6 were not tried" in out
    assert code == 0


def test_modules_that_changed_are_sampled_and_what_is_left_out_is_told(checkout: Path) -> None:
    git = ["git", "-C", str(checkout)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    for number in (1, 2):
        subprocess.run([*git, "add", "--all"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", str(number)], check=True)
        assert mutate(checkout, "--changed", "--sample", "2")[1] == (
            ["mutate: not compared, there is no commit before this one", "mutate: no module changed"]
            if number == 1
            else [
                "mutate: not tried, they have no tests of their own: src/passdown/core/other.py",
                "mutate: 1 of 1 modules that changed: src/passdown/core/ages.py",
                "what changed: 2 of 2 noticed, 100.0 %, too few to be judged",
            ]
        )
        (checkout / "src/passdown/core/ages.py").write_text(MODULE[: MODULE.index("def unused")])
        (checkout / "src/passdown/core/other.py").write_text("X = 1\n")
        (checkout / "tests/unit/test_ages.py").write_text(BETTER)


def test_a_module_that_no_test_imports_is_told(checkout: Path) -> None:
    (checkout / "tests/unit/test_ages.py").unlink()
    _, out = mutate(checkout, "ages")

    assert "mutate: not tried, no test imports it: src/passdown/core/ages.py" in out
