"""A source file as the rules see it: its imports, full names, functions and calls."""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

PACKAGE = "passdown"

Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NAMES = (ast.Attribute, ast.Name)


class Finding(NamedTuple):
    """One place where a rule is broken."""

    line: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One source file: its path within the package, its lines and its syntax tree."""

    path: str
    line_count: int
    tree: ast.Module
    names: MappingProxyType[str, str]

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the path: `("core", "ids")`, or `("core", "__init__")` for a package's own file."""
        return tuple(self.path.removesuffix(".py").split("/"))


class Import(NamedTuple):
    """One import: the module named in the statement, and the full name of what is imported."""

    line: int
    module: str
    name: str
    in_function: bool


Rule = Callable[[Module], Iterator[Finding]]
WholeRule = Callable[[Sequence[Module]], Iterator[tuple[str, Finding]]]


def parse_module(path: str, text: str) -> Module:
    """Parse one file of the package; raises SyntaxError."""
    tree = ast.parse(text)
    names = MappingProxyType(dict(_bindings(tree)))
    return Module(path=path, line_count=len(text.splitlines()), tree=tree, names=names)


def _bindings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield what each imported name refers to: `dt` to `datetime.datetime`."""
    for node in walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (top, top)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def dotted(module: Module, node: ast.AST) -> str:
    """Return the full name of an expression such as `dt.now`; unknown parts start with `?`."""
    if isinstance(node, ast.Name):
        return module.names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return f"{dotted(module, node.value)}.{node.attr}"
    if isinstance(node, ast.Subscript):
        return dotted(module, node.value)
    return "?"


def walk(tree: ast.AST) -> Sequence[ast.AST]:
    """Return every node of a tree; the tree caches them, because every rule asks."""
    found: Sequence[ast.AST] | None = getattr(tree, "_every_node", None)
    if found is None:
        nodes = [tree]
        for node in nodes:  # `ast.walk` looks at the names of all fields first, and takes twice as long
            for value in vars(node).values():
                if isinstance(value, ast.AST):
                    nodes.append(value)
                elif isinstance(value, list):
                    nodes += [one for one in value if isinstance(one, ast.AST)]
        found = tuple(nodes)
        tree._every_node = found  # type: ignore[attr-defined]  # nodes hold what they are given
    return found


def imports(module: Module) -> Sequence[Import]:
    """Return every import, anywhere: in functions, under TYPE_CHECKING, by `import_module("…")`."""
    found: Sequence[Import] | None = getattr(module.tree, "_every_import", None)
    if found is None:
        found = tuple(_find_imports(module))
        module.tree._every_import = found  # type: ignore[attr-defined]  # the same
    return found


def _find_imports(module: Module) -> Iterator[Import]:
    inner = {id(node) for function in functions(module.tree) for node in walk(function)}
    for node in walk(module.tree):
        for source, name in _imported(module, node):
            yield Import(getattr(node, "lineno", 1), source, name, id(node) in inner)


def _imported(module: Module, node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        yield from ((alias.name, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        source = _absolute(module, node)
        yield from ((source, f"{source}.{alias.name}") for alias in node.names)
    elif isinstance(node, ast.Call) and dotted(module, node.func).endswith("import_module"):
        match node.args:
            case [ast.Constant(value=str(name)), *_]:
                yield name, name


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    """Return the absolute name of a relative import."""
    if not node.level:
        return node.module or ""
    package = (PACKAGE, *module.parts)[: -node.level]
    return ".".join((*package, node.module) if node.module else package)


def inside(imported: Import) -> tuple[str, ...]:
    """Return the path within our package, `("core", "ids", "parse_id")`; empty for anything else."""
    top, *rest = imported.name.split(".")
    return tuple(rest) if top == PACKAGE else ()


def module_name(module: Module) -> str:
    """Return the full name of a module: `passdown.core.ids`, or `passdown.core` for a package's own file."""
    return ".".join((PACKAGE, *module.parts)).removesuffix(".__init__")


def functions(tree: ast.AST) -> Iterator[Function]:
    for node in walk(tree):
        if isinstance(node, _FUNCTIONS):
            yield node


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in walk(tree):
        if isinstance(node, ast.Call):
            yield node


def references(module: Module, wanted: frozenset[str]) -> Iterator[Finding]:
    """Yield every mention of the wanted full names, called or not (a default factory is not called)."""
    for node in walk(module.tree):
        if isinstance(node, _NAMES) and (name := dotted(module, node)) in wanted:
            yield Finding(node.lineno, name)


def words(text: str) -> frozenset[str]:
    """Return the set of names in a line of text."""
    return frozenset(text.split())
