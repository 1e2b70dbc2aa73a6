"""What the package claims about itself is what CI tests."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_classifiers_claim_only_the_systems_and_pythons_that_are_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tried = re.search(r"^readonly PYTHONS=\((.*)\)$", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    claimed = [one.split(" :: ") for one in project["classifiers"]]

    assert tried
    assert [words[-1] for words in claimed if words[0] == "Operating System"] == ["Linux"]
    assert {words[-1] for words in claimed if len(words) == 3 and words[1] == "Python"} - {"3"} <= set(
        tried[1].split()
    )
