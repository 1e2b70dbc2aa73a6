"""The quick run leaves the longest tests to CI."""

import ast
from pathlib import Path

from tests.quick import choose_long, read_covering, read_long

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
