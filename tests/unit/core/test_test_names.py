"""A test has one name, however its command is spelled."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.facts import Fact
from passdown.core.fold import fold
from passdown.core.kinds import FactKind
from passdown.core.shell_commands import share_test
from passdown.core.test_names import NamedTest, name_of, name_test

_SPELLINGS = (
    "pytest",
    "pytest -q",
    "py.test --tb=short",
    "python -m pytest",
    "python3.12 -W error -m pytest -x",
    "uv run pytest",
    "uv run python -m pytest",
    "uvx pytest --maxfail 1",
    "poetry run pytest -n auto -p no:cacheprovider",
    "TOKEN=secret timeout 60 .venv/bin/pytest --color=no",
    "coverage run -m pytest",
)


@pytest.mark.requirement("C121")
@pytest.mark.parametrize("command", _SPELLINGS)
def test_ways_to_run_the_same_tests_have_one_name(command: str) -> None:
    assert name_test(command) == NamedTest("pytest")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("pytest tests/unit/ ./tests/e2e", "pytest tests/e2e tests/unit"),
        ("pytest ./tests/unit/test_a.py::TestA -v", "pytest tests/unit/test_a.py::TestA"),
        ("pytest -k slow", "pytest …"),
        ("pytest --tb=secret", "pytest …"),
        ("npm run test", "npm test"),
        ("npm t", "npm test"),
        ("yarn test:unit", "yarn test:unit"),
        ("npm run test-Secret9", "npm test- …"),
        ("cargo t --release", "cargo test"),
        ("cargo nextest run", "cargo nextest"),
        ("go test ./...", "go test"),
        ("go test ./pkg/...", "go test pkg"),
        ("make test", "make test"),
        ("gmake check", "make check"),
        ("node --test", "node --test"),
        ("vitest run", "vitest"),
        ("bash ./run_tests.sh", "run_tests.sh"),
        ("./run_tests.sh --all", "run_tests.sh"),
        ("python manage.py test", "manage.py test"),
        ("Deployed the test server", "Deployed the test server"),
        ("", ""),
    ],
)
def test_a_name_has_the_runner_and_which_tests_it_runs(command: str, name: str) -> None:
    assert name_of(command) == name


@pytest.mark.parametrize(
    ("one", "other", "covers"),
    [
        ("pytest", "pytest tests/unit", True),
        ("pytest", "pytest -k slow", True),
        ("pytest tests", "pytest tests/unit/test_a.py", True),
        ("pytest tests/test_a.py", "pytest tests/test_a.py::test_b", True),
        ("pytest tests/unit tests/e2e", "pytest tests/e2e", True),
        ("pytest tests/unit", "pytest", False),
        ("pytest tests/unit", "pytest tests/unit tests/e2e", False),
        ("pytest tests/un", "pytest tests/unit", False),
        ("pytest -k slow", "pytest tests/unit", False),
        ("pytest -k slow", "pytest -k fast", True),  # what was left out is the same to everybody
        ("cargo test", "pytest", False),
    ],
)
def test_a_run_covers_the_tests_that_it_has(one: str, other: str, *, covers: bool) -> None:
    first, second = name_test(one), name_test(other)

    assert first is not None
    assert second is not None
    assert first.covers(second) is covers


_WORDS = st.sampled_from(
    [
        *("pytest", "-q", "-k", "slow", "tests/unit", "./tests", "-m", "python", "uv", "run"),
        *("npm", "test", "go", "cargo", "t", "make", "…", "A=1", ""),
    ]
)


@given(st.lists(_WORDS, min_size=1, max_size=7).map(" ".join))
def test_a_command_and_what_others_see_of_it_have_one_name(command: str) -> None:
    name = name_test(command)

    if name is not None:
        assert name_test(share_test(command)) == name
        assert name.covers(name)


@pytest.mark.requirement("C121")
def test_a_run_whose_result_nobody_knows_clears_nothing() -> None:
    at = datetime(2026, 1, 11, 12, tzinfo=UTC)
    failed, unknown = (
        Fact(kind=FactKind.TEST.value, text=text, at=at, agent="amber", key=key)
        for text, key in (("pytest -q", "1"), ("python -m pytest", ""))
    )

    assert [*fold([failed, unknown]).tables[FactKind.TEST.value].values()] == [failed]
