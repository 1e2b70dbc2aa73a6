"""Unused code: public names of core, ports and services without a caller, and settings nobody reads."""

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.house.tree import Finding, Function, Module, dotted, module_name, walk

ROOMS = frozenset({"core", "ports", "services"})
SUITES = "testing"
"""The suites are shipped for engines of others; what only they use counts as unused."""

SETTINGS = "settings.py"


def rule_called(modules: Sequence[Module]) -> Iterator[tuple[str, Finding]]:
    """Every public name of core, ports and services is used in the package: functions, classes, methods."""
    used = _used_names(modules)
    attributes = _used_attributes(modules)
    for module in modules:
        if module.parts[0] not in ROOMS:
            continue
        for name, line in _defined(module):
            if f"{module_name(module)}.{name}" not in used:
                yield module.path, Finding(line, f"nothing uses {name}")
        for name, line in _methods(module):
            if name.rpartition(".")[2] not in attributes:
                yield module.path, Finding(line, f"nothing calls {name}")


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _defined(module: Module) -> Iterator[tuple[str, int]]:
    """Yield the public names at the top of a module."""
    for node in module.tree.body:
        if isinstance(node, Function | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        else:
            continue
        yield from ((name, node.lineno) for name in names if _is_public(name))


def _methods(module: Module) -> Iterator[tuple[str, int]]:
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef):
            for child in node.body:
                if isinstance(child, Function) and _is_public(child.name):
                    yield f"{node.name}.{child.name}", child.lineno


def _used_names(modules: Sequence[Module]) -> frozenset[str]:
    """Return the full names that the package uses outside of their own definition."""
    passed_on = {
        f"{module_name(module)}.{name}": target
        for module in modules
        if module.path.endswith("__init__.py")
        for name, target in module.names.items()
    }
    used = {name for module in modules if module.parts[0] != SUITES for name in _names_of(module)}
    return frozenset(passed_on.get(name, name) for name in used)


def _names_of(module: Module) -> Iterator[str]:
    own = module_name(module)
    for top in module.tree.body:
        for node in _walk(top):
            match node:
                case ast.Name(id=name) if name in module.names:
                    yield module.names[name]
                case ast.Name(id=name, ctx=ast.Load()) if name != getattr(top, "name", ""):
                    yield f"{own}.{name}"
                case ast.Attribute():
                    yield dotted(module, node)


def _walk(top: ast.AST) -> Iterator[ast.AST]:
    """Yield every node, including those of annotations in quotes."""
    for node in walk(top):
        yield node
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
                yield from walk(ast.parse(annotation.value, mode="eval"))


def _used_attributes(modules: Sequence[Module]) -> frozenset[str]:
    """Return every attribute that is used, except by a method of the same name, which may only delegate."""
    return frozenset(
        name for module in modules if module.parts[0] != SUITES for name in _attributes(module.tree, "")
    )


def _attributes(node: ast.AST, method: str) -> Iterator[str]:
    if isinstance(node, ast.Attribute) and node.attr != method:
        yield node.attr
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.ClassDef) and isinstance(child, Function):
            yield from _attributes(child, child.name)
        else:
            yield from _attributes(child, method)


class Reading(NamedTuple):
    """How a module uses the settings."""

    fields: frozenset[tuple[str, str]]
    """Each attribute that is used, with the name of its owner."""
    holders: frozenset[tuple[str, str]]
    """Each name that is assigned from an attribute or annotated, with that attribute or annotation."""


def rule_settings_read(modules: Sequence[Module]) -> Iterator[tuple[str, Finding]]:
    """Every setting is read somewhere: as `settings.commit.start`, or from a name that holds its section."""
    sections = [one for module in modules if module.path == SETTINGS for one in _sections(module)]
    if not sections:
        return
    readings = [_read(module) for module in modules if module.path != SETTINGS]
    for section, table, fields in sections:
        for field, line in fields:
            if not any(_is_read(reading, section, table, field) for reading in readings):
                yield SETTINGS, Finding(line, f"nothing reads {section}.{field}")


def _sections(module: Module) -> Iterator[tuple[str, str, list[tuple[str, int]]]]:
    """Yield each section: its name in the settings, its class, and its fields with their lines."""
    classes = {node.name: node for node in module.tree.body if isinstance(node, ast.ClassDef)}
    if "Settings" in classes:
        for section, _, annotation in _fields(classes["Settings"]):
            named = [node.id for node in walk(annotation) if isinstance(node, ast.Name)]
            for table in (name for name in named if name in classes):
                yield section, table, [(field, line) for field, line, _ in _fields(classes[table])]


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, int, ast.expr]]:
    for child in node.body:
        if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
            yield child.target.id, child.lineno, child.annotation


def _read(module: Module) -> Reading:
    fields: set[tuple[str, str]] = set()
    holders: set[tuple[str, str]] = set()
    for node in walk(module.tree):
        match node:
            case ast.Attribute(attr=field, value=ast.Attribute(attr=of) | ast.Name(id=of)):
                fields.add((of, field))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr=of)):
                holders.add((name, of))
            case ast.arg(arg=name, annotation=ast.Name(id=of) | ast.Constant(value=of)):
                holders.add((name, str(of)))
    return Reading(frozenset(fields), frozenset(holders))


def _is_read(reading: Reading, section: str, table: str, field: str) -> bool:
    return (section, field) in reading.fields or any(
        (name, field) in reading.fields for name, of in reading.holders if of in {section, table}
    )
