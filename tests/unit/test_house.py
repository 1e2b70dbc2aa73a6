"""The package keeps the rules of the house."""

from pathlib import Path

import passdown
from tests.house import violations


def test_package_keeps_every_rule_of_the_house() -> None:
    root = Path(passdown.__file__).parent

    assert violations(root) == []
