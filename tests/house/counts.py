"""Figures beyond the rules: faces that bypass actions, silenced linters, inner imports."""

import re
from collections.abc import Sequence
from pathlib import Path

from tests.house.tree import Module, imports, inside

_NOQA = re.compile(r"#\s*(?:ruff:\s*)?noqa\b")


_BELOW_ACTIONS = frozenset({"services", "wiring", "engines", "trackers", "hosts"})
# They must load as little as possible, so they call what they need directly.
_QUICK_FACES = frozenset(
    {
        *(f"faces/hooks/{name}.py" for name in ("quick", "quick_edits", "hook_log", "opt_in_notice")),
        *(f"faces/cli/{name}.py" for name in ("quick", "status_line")),
    }
)


def find_bypasses(modules: Sequence[Module]) -> list[str]:
    """Find the faces that call anything other than actions, each with what it calls.

    Using a class does not count as a call: a face makes requests, and distinguishes results by their types.
    """
    found: list[str] = []
    for module in modules:
        if module.parts[0] != "faces" or module.path in _QUICK_FACES:
            continue
        names = sorted({".".join(way) for one in imports(module) if _bypasses(way := inside(one))})
        found += [f"{module.path}: {', '.join(names)}"] if names else []
    return found


def _bypasses(way: tuple[str, ...]) -> bool:
    return bool(way) and way[0] in _BELOW_ACTIONS and way[-1][0].islower()


def count_noqa(folder: Path) -> int:
    """Count the lines that silence a linter."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.suffix in {".py", ""}]
    return sum(
        bool(_NOQA.search(line)) for file in files for line in file.read_text(encoding="utf-8").splitlines()
    )


def count_inner_imports(modules: Sequence[Module]) -> int:
    """Count the import statements inside functions."""
    return len({(module.path, one.line) for module in modules for one in imports(module) if one.in_function})


def find_largest_folder(root: Path) -> tuple[str, int]:
    """Find the folder with the most Python files, and count them."""
    files = [file.relative_to(root).parent.as_posix() for file in root.rglob("*.py")]
    return max(((folder, files.count(folder)) for folder in set(files)), key=lambda one: (one[1], one[0]))
