"""Bugs planted into coordination: the suite that every engine runs finds each of them."""

import pytest

from passdown.testing.conformance.coordination.suite import CoordinationConformance
from tests.proof import LEVEL, Level
from tests.stores.coordination_benches import MemoryBench
from tests.stores.coordination_bugs import BUGS, Patch, Plant
from tests.stores.suite_runs import name_tests, run_test


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_the_suite_of_coordination_finds_the_bug(bug: Plant, monkeypatch: Patch) -> None:
    make = bug(monkeypatch)

    assert run_test(BUGS[bug], make)


def test_no_test_of_the_suite_hides_another() -> None:
    parts = [
        vars(part) for part in CoordinationConformance.__mro__ if part.__module__.startswith("passdown.")
    ]
    names = [name for part in parts for name in part if name.startswith("test_")]

    assert sorted(names) == sorted(set(names)) == name_tests()


def test_the_tests_that_find_bugs_find_nothing_where_there_is_none() -> None:
    assert [found for name in set(BUGS.values()) for found in run_test(name, MemoryBench)] == []


if LEVEL is not Level.FAST:  # it runs the whole suite for each bug

    @pytest.mark.proof
    @pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
    def test_the_whole_suite_tells_how_often_it_finds_the_bug(bug: Plant, monkeypatch: Patch) -> None:
        make = bug(monkeypatch)

        found = [name for name in name_tests() if run_test(name, make)]

        print(bug.__name__, len(found), "tests of", len(name_tests()))
        assert BUGS[bug] in found
