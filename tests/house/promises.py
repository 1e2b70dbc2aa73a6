"""Rules about core, ports and services: purity, size, types."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import passdown.ports
from tests.house.tree import (
    PACKAGE,
    Finding,
    Function,
    Module,
    calls,
    dotted,
    imports,
    references,
    walk,
    words,
)

PURE_MODULES = words(
    "__future__ re datetime enum typing collections collections.abc functools itertools "
    "hashlib _sha2 _sha256 json json.decoder unicodedata types textwrap string difflib "
    "zlib binascii math bisect operator tomllib"
)
MAX_PORT_METHODS = 10
_IMPURE_CALLS = words("open print input exec eval compile __import__ breakpoint")
_IMPURE_METHODS = frozenset({"now", "utcnow", "today", "getenv"})


def rule_core_purity(module: Module) -> Iterator[Finding]:
    """Core works on values only: no files, environment, clock, randomness or logging."""
    if module.parts[0] != "core":
        return
    for imported in imports(module):
        top = imported.module.partition(".")[0]
        if top == "yaml" and not imported.in_function:
            yield Finding(imported.line, "yaml is imported inside the function that needs it")
        elif top not in {PACKAGE, "yaml"} and imported.module not in PURE_MODULES:
            yield Finding(imported.line, f"core may not import {imported.module}")
    yield from _impure_calls(module)


def _impure_calls(module: Module) -> Iterator[Finding]:
    for call in calls(module.tree):
        match call:
            case ast.Call(func=ast.Name(id=name)) if name in _IMPURE_CALLS:
                yield Finding(call.lineno, f"call of {name}()")
            case ast.Call(func=ast.Attribute(attr=name)) if name in _IMPURE_METHODS:
                yield Finding(call.lineno, f"call of .{name}()")
            case ast.Call(func=ast.Attribute(attr="astimezone"), args=[], keywords=[]):
                yield Finding(call.lineno, "astimezone() without a zone reads this machine's")
    for node in walk(module.tree):
        if isinstance(node, ast.Attribute) and node.attr == "environ":
            yield Finding(node.lineno, "the environment")


def rule_ports(module: Module) -> Iterator[Finding]:
    """A port is a Protocol of at most ten methods, each with a docstring."""
    if module.parts[0] != "ports":
        return
    for node in walk(module.tree):
        if isinstance(node, ast.ClassDef) and any(_is_protocol(base) for base in node.bases):
            methods = [child for child in node.body if isinstance(child, Function)]
            count = len({method.name for method in methods})
            if count > MAX_PORT_METHODS:
                yield Finding(node.lineno, f"{node.name} has {count} methods, at most {MAX_PORT_METHODS}")
            for method in methods:
                if not ast.get_docstring(method):
                    yield Finding(method.lineno, f"{node.name}.{method.name} promises nothing: no docstring")


def _is_protocol(base: ast.expr) -> bool:
    match base:
        case ast.Name(id="Protocol") | ast.Attribute(attr="Protocol"):
            return True
        case ast.Subscript(value=value):
            return _is_protocol(value)
        case _:
            return False


def rule_no_second_port(module: Module) -> Iterator[Finding]:
    """No code checks at run time whether a port is also another port: services get the ports they need."""
    checked = frozenset({"typing.runtime_checkable", "typing_extensions.runtime_checkable"})
    for line, name in references(module, checked):
        yield Finding(line, f"use of {name}")
    for call in calls(module.tree):
        match call:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass" as asked), args=[_, kinds]):
                found = {dotted(module, node) for node in walk(kinds)} & list_ports()
                yield from (Finding(call.lineno, f"{asked} of the port {name}") for name in found)


@cache
def list_ports() -> frozenset[str]:
    """Return the full name of every protocol in `ports/`."""
    found: set[str] = set()
    for file in Path(passdown.ports.__file__).parent.glob("*.py"):
        for node in walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any(_is_protocol(base) for base in node.bases):
                found.add(f"{PACKAGE}.ports.{file.stem}.{node.name}")
    return frozenset(found)


def rule_no_any(module: Module) -> Iterator[Finding]:
    """No Any in core, ports and services: outside data is `object` until parsed."""
    if module.parts[0] not in {"core", "ports", "services"}:
        return
    forbidden = frozenset({"typing.Any", "typing_extensions.Any"})
    for imported in imports(module):
        if imported.name in forbidden:
            yield Finding(imported.line, f"import of {imported.name}")
    for line, name in references(module, forbidden):
        yield Finding(line, f"use of {name}")
