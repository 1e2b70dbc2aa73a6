"""What is counted besides what the rules forbid: folds, tables of kinds, silenced linters."""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.house.tree import Module, calls, imports, inside, walk, words

KINDS = "FactKind"
FEWEST_KINDS = 3
FEWEST_NAMES = 4

# What a module that works with facts imports.
_FACTS = words("Fact FactKind Section Source")
# Removes calls that wait for their result; these are not facts.
_NO_FOLDS = frozenset({"transcripts.py"})
# An example of a journal lists facts, and the table of verbs lists what each of them states.
# A history for a measurement is made of facts, and a host's table says what its tools leave behind.
# The permission rules list verbs that an agent may run; those that state a fact are called like its kind.
_NO_TABLES = frozenset(
    {"examples.py", "verbs.py", "histories.py", "recall.py", "transcripts.py", "permission_rules.py"}
)
_NOQA = re.compile(r"#\s*(?:ruff:\s*)?noqa\b")


def find_folds(modules: Sequence[Module]) -> list[str]:
    """Find the modules of core that fold: they work with facts, and remove what no longer holds from a table.

    This recognises `table.pop(key, …)` with a default value.
    """
    return [
        module.path
        for module in modules
        if module.parts[0] == "core" and module.path.split("/")[-1] not in _NO_FOLDS
        if any(imported.name.split(".")[-1] in _FACTS for imported in imports(module))
        or _defines_facts(module)
        if any(map(_takes_out, calls(module.tree)))
    ]


_BELOW_ACTIONS = frozenset({"services", "wiring", "engines", "trackers", "hosts"})
# They must load nothing more than they do, so they call what they need themselves.
_QUICK_FACES = frozenset(
    {
        *(f"faces/hooks/{name}.py" for name in ("quick", "quick_edits", "hook_log", "opt_in_notice")),
        *(f"faces/cli/{name}.py" for name in ("quick", "status_line")),
    }
)


def find_bypasses(modules: Sequence[Module]) -> list[str]:
    """Find the faces that call something else than actions, each with what it calls.

    A class is not called: a face makes requests, and tells results apart by their types.
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


def _defines_facts(module: Module) -> bool:
    return any(isinstance(node, ast.ClassDef) and node.name in _FACTS for node in module.tree.body)


def _takes_out(call: ast.Call) -> bool:
    match call:
        case ast.Call(func=ast.Attribute(attr="pop"), args=[_, _]):
            return True
        case _:
            return False


def find_tables(modules: Sequence[Module]) -> list[str]:
    """Find the tables of kinds: the class of kinds, and every constant of a module that lists some of them.

    A list has at least three members of the class, or four of their values as text. A comprehension over the
    class is derived, and not a table.
    """
    values = {value for module in modules for value in _values(module)}
    return [
        f"{module.path}:{line} {name}"
        for module in modules
        if module.path.split("/")[-1] not in _NO_TABLES
        for line, name in _tables(module, values)
    ]


def _values(module: Module) -> Iterator[str]:
    """Yield the values of the kinds, from the class that lists them."""
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef) and node.name == KINDS:
            for line in node.body:
                match line:
                    case ast.Assign(value=ast.Constant(value=str(text))):
                        yield text
                    case ast.Assign(value=ast.Tuple(elts=[ast.Constant(value=str(text)), *_])):
                        yield text


def _tables(module: Module, values: set[str]) -> Iterator[tuple[int, str]]:
    for node in module.tree.body:
        match node:
            case ast.ClassDef(name=name) if name == KINDS:
                yield node.lineno, name
            case (
                ast.Assign(targets=[target], value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ):
                if _lists_kinds(value, values):
                    yield node.lineno, ast.unparse(target)


def _lists_kinds(value: ast.expr, values: set[str]) -> bool:
    members: set[str] = set()
    texts: set[str] = set()
    for node in walk(value):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=member) if name == KINDS and member.isupper():
                members.add(member)
            case ast.Constant(value=str(text)) if text in values:
                texts.add(text)
    return len(members) >= FEWEST_KINDS or len(texts) >= FEWEST_NAMES


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
