"""The package keeps the rules of the house."""

from pathlib import Path

import pytest

import passdown
from tests.house import violations


@pytest.mark.timeout(180)  # three times as long where coverage is counted
def test_package_keeps_every_rule_of_the_house() -> None:
    root = Path(passdown.__file__).parent

    assert violations(root) == []
