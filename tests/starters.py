"""Finds the tests that start a Passdown process, by reading them: CI runs these on the wheel, too.

A test starts one if it is in a folder where all tests do, or if its function, one of its fixtures, or
anything that these use from `tests/` names the interpreter or forks.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDERS: Final = frozenset({"attacks", "e2e", "faults", "proofs"})
ROOTS: Final = frozenset({"sys.executable", "os.fork", "os.posix_spawn", "multiprocessing"})


def starts_process(path: Path, name: str, root: Path = ROOT) -> bool:
    """Return whether a test, or a class of tests, starts a Passdown process."""
    if not path.is_relative_to(root):
        return False
    parts = path.relative_to(root).with_suffix("").parts
    return parts[1] in FOLDERS or _starts(root, (".".join(parts), name), frozenset())


def _starts(root: Path, place: tuple[str, str], seen: frozenset[tuple[str, str]]) -> bool:
    if place in seen:
        return False
    module, name = place
    definitions, imported = _read(root, module)
    used = definitions.get(name, frozenset())
    if used & ROOTS:
        return True
    return any(
        _starts(root, imported.get(one, (module, one)), seen | {place})
        for one in used
        if one in imported or one in definitions
    )


@cache
def _read(root: Path, module: str) -> tuple[Mapping[str, frozenset[str]], Mapping[str, tuple[str, str]]]:
    """Return what each definition of a module uses, and where its names from `tests/` come from."""
    path = root.joinpath(*module.split(".")).with_suffix(".py")
    if not path.is_file():
        return {}, {}
    definitions: dict[str, frozenset[str]] = {}
    imported: dict[str, tuple[str, str]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests"):
            for alias in node.names:
                imported[alias.asname or alias.name] = (node.module or "", alias.name)
        for name in _names(node):
            definitions[name] = definitions.get(name, frozenset()) | frozenset(_uses(node))
    return definitions, imported


def _names(node: ast.stmt) -> Iterator[str]:
    """Return the names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))


def _uses(node: ast.AST) -> Iterator[str]:
    """Return the names that a statement uses, including the fixtures that are its parameters."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.arg):
            yield one.arg
        elif isinstance(one, ast.Attribute):
            yield ast.unparse(one)
