"""The lock file agrees with pyproject.toml and can be installed from any index."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_ROOT = Path(__file__).parents[3]
_LOCK = (_ROOT / "requirements.lock").read_text(encoding="utf-8")
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _direct() -> list[str]:
    """Every requirement that pyproject.toml names: of the package, its extras and its groups."""
    project = _PROJECT["project"]
    lists = [project["dependencies"], *project.get("optional-dependencies", {}).values()]
    lists += _PROJECT["dependency-groups"].values()
    return sorted({line for lines in lists for line in lines if isinstance(line, str)})


def _locked() -> dict[str, set[str]]:
    """Each locked package with its versions; more than one where systems differ."""
    locked: dict[str, set[str]] = {}
    for line in re.findall(r"(?m)^([A-Za-z0-9][^\\\n]*)", _LOCK):
        requirement = Requirement(line)
        (pin,) = requirement.specifier
        assert pin.operator == "==", line
        locked.setdefault(canonicalize_name(requirement.name), set()).add(pin.version)
    return locked


@pytest.mark.parametrize("line", _direct())
def test_lock_pins_a_version_that_the_project_allows(line: str) -> None:
    requirement = Requirement(line)
    versions = _locked().get(canonicalize_name(requirement.name), set())

    assert versions, f"{line} is not locked; run scripts/lock"
    assert all(requirement.specifier.contains(version, prereleases=True) for version in versions)


def test_every_locked_package_has_a_hash() -> None:
    entries = re.split(r"(?m)^(?=[A-Za-z0-9])", _LOCK)[1:]

    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_lock_names_no_place_on_the_network() -> None:
    assert "://" not in _LOCK
    assert "--index" not in _LOCK
    assert "--find-links" not in _LOCK
