"""Names a test by its runner and the tests it runs, however its command was spelled (C121).

`python -m pytest`, `pytest -q` and `uv run pytest` are the same test. The name is built from the words that
may leave the machine, so a command and its shared form have the same name.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

from passdown.core.shell_commands import LEFT_OUT, VERBS, find_runner, is_manner, share_test

_ALIASES: Final = MappingProxyType({"py.test": "pytest", "gmake": "make", "gradlew": "gradle", "mvnw": "mvn"})
_RUNS: Final = frozenset({"run", "run-script", "exec"})
_SHORT: Final = MappingProxyType({"t": "test"})
_MOST: Final = 4_096


class NamedTest(NamedTuple):
    """The parts of a test's name."""

    runner: str
    targets: tuple[str, ...] = ()
    """The selected tests, sorted; none means all that the runner finds."""
    is_partial: bool = False
    """Whether words were left out that may select tests."""

    @property
    def text(self) -> str:
        """The name on one line."""
        return " ".join((self.runner, *self.targets, *((LEFT_OUT,) if self.is_partial else ())))

    def covers(self, other: "NamedTest") -> bool:
        """Return whether it runs all tests that another one runs."""
        if self == other:
            return True
        if self.runner != other.runner or self.is_partial:
            return False
        return not self.targets or bool(other.targets and all(map(self._has, other.targets)))

    def _has(self, target: str) -> bool:
        return any(target == one or target.startswith((f"{one}/", f"{one}::")) for one in self.targets)


@lru_cache(_MOST)
def name_test(command: str) -> NamedTest | None:
    """Return the name of a test from its command; None for a command that runs no tests."""
    shared = share_test(command)
    if shared == LEFT_OUT:
        return None
    runner, *rest = find_runner(shared)
    name = _ALIASES.get(runner, runner)
    is_partial = any(LEFT_OUT in word for word in (runner, *rest))
    if name in VERBS:
        at = next((at for at, word in enumerate(rest) if word not in _RUNS and word[:1] not in "-…"), 0)
        at = rest.index("--test") if name == "node" and "--test" in rest else at
        verb = rest[at].removesuffix(LEFT_OUT)
        name = f"{name} {_SHORT.get(verb, verb)}"
        rest = [*rest[:at], *rest[at + 1 :]]
    targets = tuple(sorted(set(_list_targets(rest))))
    return NamedTest(name, targets, is_partial)


def _list_targets(words: Sequence[str]) -> Iterator[str]:
    """Yield the words that select tests; a path is relative to the folder of the command."""
    for before, word in pairwise(("", *words)):
        if LEFT_OUT in word or word.startswith("-") or word in _RUNS or is_manner(word, before):
            continue
        target = word.removeprefix("./").removesuffix("...").rstrip("/")
        if target not in {"", "."}:
            yield target


def name_of(command: str) -> str:
    """Return the name of a test on one line; any other text is its own name."""
    found = name_test(command)
    return found.text if found else command
