"""Commands load little: a module that nobody needs costs every start."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

VERSION: Final = frozenset(
    {"gc", "passdown", "passdown.faces", "passdown.faces.cli", "passdown.faces.cli.main"}
)
"""All that `passdown --version` may load beyond what the interpreter has at its start."""

HEAVY: Final = (
    "asyncio",
    "decimal",
    "difflib",
    "email",
    "http",
    "importlib.metadata",
    "logging",
    "multiprocessing",
    "passdown.core.events",
    "passdown.core.formats",
    "passdown.engines",
    "passdown.services",
    "passdown.settings",
    "passdown.wiring",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "tomllib",
    "unittest",
    "urllib",
    "xml",
    "yaml",
    "zipfile",
)
VERB: Final = [
    "passdown.core.accounts",
    "passdown.core.bookkeeping",
    "passdown.core.documents",
    "passdown.core.facts",
    "passdown.core.fields",
    "passdown.core.frontmatter",
    "passdown.core.ids",
    "passdown.core.journal",
    "passdown.core.jsontext",
    "passdown.core.keys",
    "passdown.core.ledgers",
    "passdown.core.lists",
    "passdown.core.markdown",
    "passdown.core.outlines",
    "passdown.core.patterns",
    "passdown.core.pieces",
    "passdown.core.places",
    "passdown.core.problems",
    "passdown.core.scalars",
    "passdown.core.sessions",
    "passdown.core.tables",
    "passdown.core.texts",
    "passdown.core.times",
    "passdown.core.validations",
    "passdown.core.view_places",
    "passdown.core.yaml_library",
    "passdown.services.checkouts",
    "passdown.services.journals",
    "passdown.services.ledgers",
    "passdown.services.local_files",
    "passdown.services.presence",
]
"""All of core and services that a verb may load: journal, ledger, and what reads and writes them."""

_SCRIPT: Final = """
import sys
before = set(sys.modules)
sys.argv = ["passdown", *sys.argv[1:]]
code = 0
if sys.argv[1:]:
    from passdown.faces.cli.main import main
    code = main()
names = sorted(set(sys.modules) - before)
import json
sys.stderr.write(json.dumps({"code": code, "names": names}))
"""


def loaded(*arguments: str) -> list[str]:
    """The modules that a command loads, as a new process of nobody's making would."""
    environment = {
        name: text for name, text in os.environ.items() if not name.startswith(("COVERAGE", "PYTHON"))
    }
    command = [sys.executable, "-c", _SCRIPT, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stderr)
    assert found["code"] == 0
    names: list[str] = found["names"]
    return names


def heavy(names: Sequence[str]) -> list[str]:
    """Those of the names that are, or lie under, a heavy module."""
    return [name for name in names if any(f"{name}.".startswith(f"{one}.") for one in HEAVY)]


def test_version_loads_only_the_entry_point() -> None:
    assert set(loaded("--version")) <= VERSION


def test_help_loads_no_command_and_nothing_heavy() -> None:
    names = loaded("--help")

    assert heavy(names) == []
    assert not [name for name in names if name.startswith("passdown.faces.cli.commands")]


def test_formats_are_listed_without_yaml_and_engines() -> None:
    light = {"passdown.core.formats", "passdown.core.events"}

    assert not set(heavy(loaded("format"))) - light


def test_a_verb_loads_neither_parser_nor_log_nor_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    loaded("start")
    names = loaded("now", "writing a test")

    assert [name for name in names if name.startswith(("passdown.core.", "passdown.services."))] == VERB
    assert not {"click", "hashlib", "sqlite3", "subprocess", "tomllib", "yaml"} & set(names)


def test_unknown_heavy_module_would_be_seen() -> None:
    assert heavy(["yaml.loader", "yamlish", "passdown.core.formats"]) == [
        "yaml.loader",
        "passdown.core.formats",
    ]
