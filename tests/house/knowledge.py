"""Rules about knowledge that belongs in one place: the names of files and of hosts."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from passdown.hosts import HOSTS
from tests.house.tree import Finding, Module, calls, dotted, walk, words

LAYOUT = "layout.py"

# Names that always mean the same file or folder.
_PATHS = (".conductor", "thoughts/", "conductor/sessions", ".git/", "passdown/journal", "passdown/cache")
_FILES = words(
    "passdown.toml settings.toml LEDGER.md current.md preferences.json last-checkpoint-commit.txt "
    "hooks.log metrics.jsonl rests.log info/exclude .gitignore .gitattributes"
)
# Modules that join names that are not ours: those of git, of a platform or of the system.
_FOREIGN = ("engines/git/", "engines/user_folders.py", "engines/process.py", "engines/sqlite/mounts.py")

_HOSTS = tuple(row.names[0] for row in HOSTS.rows)
# Words of released formats: the platforms that a ledger may name, and the example documents.
_FORMAT_WORDS = frozenset({"core/formats/ledgers.py", "core/formats/examples.py"})


def rule_hosts(module: Module) -> Iterator[Finding]:
    """Only hosts/ knows the name of a host."""
    if module.parts[0] in {"hosts", "testing"} or module.path in _FORMAT_WORDS:
        return
    for node in _texts(module):
        if any(name in node.value.lower() for name in _HOSTS):
            yield Finding(node.lineno, f"names a host: {node.value[:40]}; see hosts/")


def rule_paths(module: Module) -> Iterator[Finding]:
    """Only layout.py names Passdown's files and folders; no other module joins names of its own to a path."""
    if module.path == LAYOUT or module.parts[0] == "testing":
        return
    for node in _texts(module):
        if node.value in _FILES or any(name in node.value for name in _PATHS):
            yield Finding(node.lineno, f"names a path: {node.value[:40]}; see layout.py")
    if not module.path.startswith(_FOREIGN):
        yield from _joined(module)


def _joined(module: Module) -> Iterator[Finding]:
    """Yield texts that are joined to a folder, as in `os.path.join(folder, "name")` and `folder / "name"`."""
    for call in calls(module.tree):
        if dotted(module, call.func) == "os.path.join":
            for argument in call.args[1:]:
                if _is_name(argument):
                    yield Finding(argument.lineno, "joins a name to a path; see layout.py")
    for node in walk(module.tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _is_name(node.right):
            yield Finding(node.lineno, "joins a name to a path; see layout.py")


def _is_name(node: ast.expr) -> bool:
    """Return whether a text names a file, except one that comes with the package."""
    match node:
        case ast.Constant(value=str(name)):
            return bool(name) and not name.endswith(".sql")
        case _:
            return False


class _Text(NamedTuple):
    """A text and its line."""

    lineno: int
    value: str


def _texts(module: Module) -> Iterator[_Text]:
    """Yield every text of a module except docstrings, including the parts of f-strings."""
    docs = {
        id(node.value)
        for node in walk(module.tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield _Text(node.lineno, node.value)
