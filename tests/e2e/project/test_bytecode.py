"""Bytecode is written when the plugin is installed or a project is set up, if the installer left that out."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

import passdown

RUN: Final = (
    "import sys; sys.path[:0] = [sys.argv.pop(1), sys.argv.pop(1)]; "
    "from passdown.faces.cli.main import main; sys.exit(main())"
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Give a folder with the package as an installer leaves it that compiles nothing."""
    source = Path(passdown.__file__).parent
    shutil.copytree(source, tmp_path / "site" / "passdown", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "site"


def set_up(site: Path, variables: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    project = site.parent / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    kept = {"PATH": os.environ["PATH"], "HOME": str(site.parent), "USERPROFILE": str(site.parent)}
    words = [sys.executable, "-c", RUN, str(site), sysconfig.get_path("purelib"), "init", "--yes"]
    return subprocess.run(
        words, cwd=project, env={**kept, **variables}, capture_output=True, text=True, check=False
    )


def modules_without_bytecode(site: Path) -> list[str]:
    sources = (site / "passdown").rglob("*.py")
    cache = sys.implementation.cache_tag
    return [
        str(path)
        for path in sources
        if not (path.parent / "__pycache__" / f"{path.stem}.{cache}.pyc").exists()
    ]


def test_a_package_without_bytecode_gets_it_when_a_project_is_set_up(site: Path) -> None:
    done = set_up(site, {})

    assert done.returncode == 0, done.stderr
    assert modules_without_bytecode(site) == []


def test_a_place_that_cannot_be_written_changes_nothing(site: Path) -> None:
    blocked = site.parent / "file"
    blocked.touch()

    done = set_up(site, {"PYTHONPYCACHEPREFIX": str(blocked)})

    assert done.returncode == 0, done.stderr
    assert "passdown.toml" in done.stdout
    assert not [*(site / "passdown").rglob("*.pyc")]


def test_nothing_is_compiled_for_a_user_who_wants_no_bytecode(site: Path) -> None:
    done = set_up(site, {"PYTHONDONTWRITEBYTECODE": "1"})

    assert done.returncode == 0, done.stderr
    assert not [*(site / "passdown").rglob("*.pyc")]
