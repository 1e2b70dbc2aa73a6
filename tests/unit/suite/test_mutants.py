"""Mutants: which faults are put into a module, what notices them, and what is told."""

import ast
import math
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest

from passdown.records import replace
from tests.mutants.changes import Mutant, find_mutants
from tests.mutants.command import (
    find_changed,
    find_tests,
    leave_out_equivalents,
    read_equivalents,
    read_named,
)
from tests.mutants.runs import NONE_RAN, TOO_LONG, Reach, Trial, fork, is_noticed, try_mutants
from tests.support.gits import Project, make_project

ROOT: Final = Path(__file__).resolve().parents[3]


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


def test_a_fault_that_names_its_tests_is_noticed_by_no_other() -> None:
    seconds = {"a.py::test_b": 0.1, "a.py::test_b[1]": 0.3, "a.py::test_bc": 0.2, "b.py::C::test_b": 0.4}
    reach = Reach(seconds=seconds, by_line={1: frozenset(seconds)}, at_import=frozenset())

    def chosen(*names: str) -> list[str]:
        (mutant,) = find_mutants("m.py", b"x = a < b\n")
        return reach.tests_of(replace(mutant, tests=names))

    assert chosen("a.py::test_b") == ["a.py::test_b", "a.py::test_b[1]"]
    assert chosen("b.py::C", "a.py::test_bc") == ["a.py::test_bc", "b.py::C::test_b"]
    assert chosen("a.py::test_x") == []
    assert chosen() == sorted(seconds, key=seconds.__getitem__)


@pytest.mark.parametrize("name", ["named.toml", "planted.toml"])
def test_every_fault_that_must_be_noticed_can_be_put_in(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    suites = "".join(file.read_text() for file in (ROOT / "src/passdown/testing").rglob("*.py"))

    for fault in read_named(name):
        data = (ROOT / fault.path).read_bytes()
        assert ast.dump(ast.parse(fault.apply(data))) != ast.dump(ast.parse(data)), fault
        for test in fault.tests:
            known = (ROOT / test.partition("::")[0]).read_text() + suites
            assert f"def {test.partition('[')[0].rpartition('::')[2]}(" in known, test


def test_the_tests_of_a_module_are_those_that_import_it_its_own_first() -> None:
    found = find_tests("src/passdown/core/merge/merge.py")

    assert found[0] == "tests/unit/merge/test_merge.py"
    assert "tests/unit/merge/test_certificates.py" in found
    assert "tests/unit/briefs/test_budgets.py" not in found


def test_every_listed_equivalent_is_a_mutant_of_today_and_has_a_reason() -> None:
    entries = read_equivalents()
    known = {
        module: Counter(
            (one.source, one.change) for one in find_mutants(module, (ROOT / module).read_bytes())
        )
        for module in {entry["module"] for entry in entries}
    }
    for entry in entries:
        count = known[entry["module"]][entry["line"], entry["change"]]

        assert count >= max(entry.get("places", [1])), entry
        assert len(entry["reason"]) > 20, entry


@pytest.mark.parametrize(("places", "left"), [({}, []), ({"places": [1, 3]}, [2]), ({"places": [2]}, [1, 3])])
def test_of_equal_changes_in_a_line_those_at_the_listed_places_are_equivalent(
    places: dict[str, list[int]], left: list[int]
) -> None:
    mutants = find_mutants("a.py", b"x = (0, 0, 0)\n")
    entry = {"module": "a.py", "line": "x = (0, 0, 0)", "change": "1 for 0", **places}

    kept = leave_out_equivalents(mutants, [entry])

    assert kept == [mutants[place - 1] for place in left]
    assert leave_out_equivalents(mutants, [entry | {"module": "b.py"}]) == mutants


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Give a repository in which each of twelve commits adds a module, and be in it."""
    made = make_project(tmp_path)
    for number in range(12):
        made.git("add", made.write(f"src/m{number:02}.py"))
        made.git("commit", "-q", "-m", str(number))
    monkeypatch.chdir(tmp_path)
    return made


def test_without_a_main_branch_elsewhere_the_modules_of_the_last_ten_commits_changed(
    project: Project,
) -> None:
    found = find_changed()

    assert found == [f"src/m{number:02}.py" for number in range(2, 12)]
    project.git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert find_changed() == found


def test_what_changed_on_a_branch_is_what_differs_from_where_it_left_main(project: Project) -> None:
    project.git("checkout", "-q", "-b", "elsewhere", "HEAD~2")
    project.git("add", project.write("src/main.py"))
    project.git("commit", "-q", "-m", "on main")
    project.git("update-ref", "refs/remotes/origin/main", "HEAD")
    project.git("checkout", "-q", "main")

    assert find_changed() == ["src/m10.py", "src/m11.py"]


def test_in_a_young_repository_everything_since_its_first_commit_changed(project: Project) -> None:
    project.git("checkout", "-q", "HEAD~9")

    assert find_changed() == ["src/m01.py", "src/m02.py"]


@pytest.mark.parametrize(
    ("codes", "expected", "noticed"),
    [
        ([0], 0, False),
        ([1], 1, True),
        ([2], 2, True),
        ([NONE_RAN], NONE_RAN, False),
        ([TOO_LONG, 0], 0, False),
        ([TOO_LONG, 1], 1, True),
        ([TOO_LONG, TOO_LONG], TOO_LONG, True),
        ([-9, 0], 0, False),
    ],
)
def test_tests_that_did_not_end_are_run_once_more_before_they_count(
    codes: list[int], expected: int, *, noticed: bool, tmp_path: Path
) -> None:
    (mutant,) = find_mutants("a.py", b"x = a < b\n")
    reach = Reach(seconds={"test": 0.0}, by_line={1: frozenset({"test"})}, at_import=frozenset())
    left = list(codes)

    def start(mutant: Mutant, _tests: Sequence[str], _seconds: Sequence[float]) -> Trial:
        code = left.pop(0)
        process, end = fork(lambda tell: _end_with(code, tell))
        seconds = 0.0 if code == TOO_LONG else 60.0
        deadline = time.monotonic() + seconds
        folder = str(tmp_path / "trial")
        return Trial(
            mutant=mutant, process=process, end=end, seconds=[seconds], deadline=deadline, folder=folder
        )

    tried = list(try_mutants([mutant], {"a.py": reach}, 1, math.inf, start))

    assert (tried, left) == ([(mutant, expected)], [])
    assert is_noticed(expected) == noticed


def _end_with(code: int, tell: Callable[[], object]) -> int:
    tell()
    if code == TOO_LONG:
        signal.pause()
    if code < 0:
        os.kill(os.getpid(), -code)
    return code
