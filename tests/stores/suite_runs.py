"""Runs tests of the suite of coordination against an engine that may be broken, without pytest."""

import inspect
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from passdown.errors import PassdownError
from passdown.testing.conformance.coordination.bench import CoordinationBench, SharedProject
from passdown.testing.conformance.coordination.races import join_racers
from passdown.testing.conformance.coordination.suite import CoordinationConformance

_FOUND: Final = (AssertionError, PassdownError, pytest.fail.Exception, LookupError, ValueError)
"""What a test raises when it finds a bug."""


class _Suite(CoordinationConformance):
    """The suite, made by hand."""

    def make(self, folder: Path) -> CoordinationBench:
        """Refuse: each run makes a bench of its own."""
        raise NotImplementedError(folder)


def name_tests() -> list[str]:
    """Return the names of all tests of the suite."""
    return [name for name in dir(_Suite) if name.startswith("test_")]


def run_test(name: str, make: Callable[[], CoordinationBench]) -> list[str]:
    """Run a test with each of its parameters; return what it found."""
    test = getattr(_Suite(), name)
    wanted = inspect.signature(test).parameters
    found: list[str] = []
    for values in _parameters(test):
        project = SharedProject(make())
        if "racers" in wanted:
            values["racers"] = join_racers(project)
        try:
            test(project=project, **values)
        except _FOUND as error:
            found.append(f"{name}{[*values.values()] or ''}: {error!r:.100}")
    return found


def _parameters(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """Give the parameters of each run of a test."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    choices: list[list[dict[str, Any]]] = []
    for mark in marks:
        names, rows = mark.args
        if isinstance(names, str):
            choices.append([{names: row} for row in rows])
        else:
            choices.append([dict(zip(names, row, strict=True)) for row in rows])
    for parts in product(*choices):
        yield {name: value for part in parts for name, value in part.items()}
