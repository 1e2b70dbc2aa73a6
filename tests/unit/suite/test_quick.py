"""The quick run leaves the longest tests to CI."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick import choose_long, read_covering, read_long
from tests.support.commands import environment

ROOT = Path(__file__).resolve().parents[3]


def test_the_longest_are_left_out_until_the_rest_takes_a_fifth_of_the_time() -> None:
    times = [("a", 0.5), ("b", 8.0), ("a", 0.5), ("c", 1.0)]

    assert [*choose_long(times)] == ["b"]
    assert [*choose_long([*times, ("d", 4.0)])] == ["b", "d"]
    assert [*choose_long([])] == []


def test_every_test_on_the_list_is_there() -> None:
    long = [name.split("::") for name in read_long()]

    assert [one for one in long if one[1] not in list_names(one[0])] == []
    assert len(long) > 100
    assert read_covering() < read_long()


def list_names(file: str) -> set[str]:
    """Give the names of the tests of a file, and of their classes: tests of a suite lie elsewhere."""
    body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize(
    ("size", "expected"),
    [("", "no tests collected"), ("fast", "tests/proofs/work/"), ("ci", "tests/proofs/work/")],
)
def test_a_run_whose_size_is_asked_for_leaves_nothing_out(size: str, expected: str) -> None:
    """CI asks for the small size on a slow machine, and names no folder."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-o", "testpaths=tests/proofs/work", "--collect-only"],
        cwd=ROOT,
        env=environment(PASSDOWN_PROOF=size),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )

    assert expected in done.stdout
