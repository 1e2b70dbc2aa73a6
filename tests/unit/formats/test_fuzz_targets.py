"""The fuzz targets hold on their seeds, and on what fuzzing found before."""

import pytest

from fuzz.targets import TARGETS, seeds
from passdown.core.formats.registry import FORMATS

GATES = "## Validation History\n\n| Gate | Status | Time | Notes |\n|---|---|---|---|\n"
FOUND = {
    "new member is laid out without the comma before the last one": ("json", '{"a": 1\n, "b": 2}'),
    "first of too many cells is empty": ("ledger", GATES + "| a | PASS | 11:30 || b |\n"),
    "last of too many cells is empty": ("ledger", GATES + "| a | PASS | 11:30 | b | - |\n"),
    "title has two spaces": ("stream", "# a  b\n"),
    "title has a vertical tab": ("archive", "# a\vb\n"),
    "item in a block that no key holds": ("ledger", "---\nvalidation:\n  a\n- b\n---\n"),
}


def test_every_format_is_fuzzed() -> None:
    assert {found.name for found in FORMATS} <= TARGETS.keys()


@pytest.mark.parametrize("name", TARGETS)
def test_what_a_target_asserts_holds_for_the_seeds(name: str) -> None:
    for text in seeds().values():
        TARGETS[name](text)


@pytest.mark.parametrize(("name", "text"), FOUND.values(), ids=FOUND)
def test_what_fuzzing_found_holds_now(name: str, text: str) -> None:
    # Some promises are checked for one text in a few only: blank lines make others of the same kind.
    for blank in range(40):
        TARGETS[name](text + "\n" * blank)
