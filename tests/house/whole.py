"""Rules about the package as a whole: modules per folder, unique names, no circular imports."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from tests.house.tree import Finding, Module, imports, module_name

MAX_MODULES = 20


def rule_folder_size(modules: Sequence[Module]) -> Iterator[tuple[str, Finding]]:
    """A folder has at most 20 modules, including its own file."""
    for folder, count in count_by_folder(modules).items():
        if count > MAX_MODULES:
            yield f"{folder}/__init__.py", Finding(1, f"{count} modules in one folder, at most {MAX_MODULES}")


def count_by_folder(modules: Sequence[Module]) -> Mapping[str, int]:
    """Count the modules of each folder."""
    return Counter(PurePosixPath(module.path).parent.as_posix() for module in modules)


def rule_names_once(modules: Sequence[Module]) -> Iterator[tuple[str, Finding]]:
    """No two public classes of the package have the same name."""
    for name, places in find_classes(modules).items():
        for path, line in places[1:]:
            yield path, Finding(line, f"{name} is a class of {places[0][0]}, too")


def find_classes(modules: Sequence[Module]) -> Mapping[str, Sequence[tuple[str, int]]]:
    """Return the public classes at the top of modules: by name, the path and line of each."""
    found: dict[str, list[tuple[str, int]]] = {}
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append((module.path, node.lineno))
    return found


def rule_no_circles(modules: Sequence[Module]) -> Iterator[tuple[str, Finding]]:
    """There are no circular imports, not even indirect ones, in functions, or only for types."""
    paths = {module_name(module): module.path for module in modules}
    for circle in find_circles(modules):
        first, *others = circle
        yield paths[first], Finding(1, f"a circle of imports: {', '.join((first, *others))}")


def find_circles(modules: Sequence[Module]) -> Sequence[Sequence[str]]:
    """Return the circles: sets of modules that all import each other, directly or indirectly."""
    names = {module_name(module) for module in modules}
    graph = {module_name(module): _imported(module, names) for module in modules}
    while unused := {name for name, targets in graph.items() if not targets & graph.keys()}:
        graph = {name: targets for name, targets in graph.items() if name not in unused}
    reached = {name: _reach(graph, name) for name in graph}
    circles = {
        tuple(sorted(other for other in far if name in reached[other]))
        for name, far in reached.items()
        if name in far
    }
    return sorted(circles)


def _imported(module: Module, names: set[str]) -> frozenset[str]:
    """Return the modules that a module imports, wherever the import is."""
    found: set[str] = set()
    for imported in imports(module):
        target = imported.name
        while target and target not in names:
            target = target.rpartition(".")[0]
        found.add(target)
    return frozenset(found - {"", module_name(module)})


def _reach(graph: Mapping[str, frozenset[str]], start: str) -> frozenset[str]:
    reached: set[str] = set()
    todo = [start]
    while todo:
        new = (graph[todo.pop()] & graph.keys()) - reached
        reached |= new
        todo += new
    return frozenset(reached)
