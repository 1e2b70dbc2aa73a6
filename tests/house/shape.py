"""Rules about size, names, docstrings, and what a module does on import."""

import ast
from collections.abc import Iterator

from tests.house.tree import Finding, Function, Module, dotted, functions, walk, words

BANNED_NAMES = frozenset({"utils", "helpers", "common", "manager", "base", "app"})
MAX_MODULE_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_NESTING = 4
MAX_BRANCHES = 12
MAX_PARAMETERS = 6
_MUTABLE_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_MUTABLE_CALLS = words(
    "list dict set bytearray collections.defaultdict collections.deque collections.OrderedDict "
    "collections.Counter"
)
_BLOCKS = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
    ast.Match,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)


def rule_module_size(module: Module) -> Iterator[Finding]:
    """A module has at most 600 lines."""
    if module.line_count > MAX_MODULE_LINES:
        yield Finding(1, f"{module.line_count} lines, at most {MAX_MODULE_LINES}")


def rule_function_size(module: Module) -> Iterator[Finding]:
    """A function has at most 60 lines, 4 levels, 12 branches and 6 parameters."""
    for function in functions(module.tree):
        measures = (
            ("lines", (function.end_lineno or 0) - function.lineno + 1, MAX_FUNCTION_LINES),
            ("levels", _nesting(function.body), MAX_NESTING),
            ("branches", sum(_branches(node) for node in walk(function)), MAX_BRANCHES),
            ("parameters", _parameters(function), MAX_PARAMETERS),
        )
        for what, count, most in measures:
            if count > most:
                yield Finding(function.lineno, f"{function.name} has {count} {what}, at most {most}")


def _nesting(body: list[ast.stmt]) -> int:
    return max((_depth(statement) for statement in body), default=0)


def _depth(statement: ast.stmt) -> int:
    """Return how many blocks deep a statement goes; an elif is no deeper than its if."""
    if not isinstance(statement, _BLOCKS):
        return 0
    match statement:
        case ast.If(body=body, orelse=[ast.If() as other]):
            return max(1 + _nesting(body), _depth(other))
        case ast.Match(cases=cases):
            return 1 + max(_nesting(case.body) for case in cases)
    handlers = [line for handler in getattr(statement, "handlers", ()) for line in handler.body]
    rest = [line for field in ("body", "orelse", "finalbody") for line in getattr(statement, field, ())]
    return 1 + _nesting(rest + handlers)


def _branches(node: ast.AST) -> int:
    match node:
        case ast.If() | ast.IfExp() | ast.For() | ast.AsyncFor() | ast.While() | ast.ExceptHandler():
            return 1
        case ast.BoolOp(values=values):
            return len(values) - 1
        case ast.match_case(pattern=ast.MatchAs(pattern=None), guard=None):
            return 0  # `case _` and `case name` are the else of a match
        case ast.match_case():
            return 1
        case ast.comprehension(ifs=ifs):
            return len(ifs)
        case _:
            return 0


def _parameters(function: Function) -> int:
    spec = function.args
    named = [*spec.posonlyargs, *spec.args]
    if named and named[0].arg in {"self", "cls"}:
        named = named[1:]
    return len(named) + len(spec.kwonlyargs) + bool(spec.vararg) + bool(spec.kwarg)


def rule_names(module: Module) -> Iterator[Finding]:
    """No module or package is named utils, helpers, common, manager, base or app."""
    for part in module.parts:
        if part in BANNED_NAMES:
            yield Finding(1, f"a module named {part} says nothing about what is in it")


_BEHIND_PORTS = frozenset({"engines", "trackers"})


def rule_docstrings(module: Module) -> Iterator[Finding]:
    """Every module, public class and public function has a docstring; engines may rely on their port's."""
    if not ast.get_docstring(module.tree):
        yield Finding(1, "module without a docstring")
    yield from _undocumented(module.tree.body, with_methods=module.parts[0] not in _BEHIND_PORTS)


def _undocumented(body: list[ast.stmt], *, with_methods: bool = True) -> Iterator[Finding]:
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("_") or any(map(_excuses, node.decorator_list)):
            continue
        if not ast.get_docstring(node):
            yield Finding(node.lineno, f"{node.name} without a docstring")
        if isinstance(node, ast.ClassDef) and with_methods:
            yield from _undocumented(node.body)


def _excuses(decorator: ast.expr) -> bool:
    """Return whether a function is an overload or setter, which is documented at the function or property."""
    match decorator:
        case ast.Name(id="overload") | ast.Attribute(attr="overload" | "setter" | "deleter"):
            return True
        case _:
            return False


def rule_mutable_globals(module: Module) -> Iterator[Finding]:
    """No module has a mutable global: use tuple, frozenset or MappingProxyType instead."""
    for node in _top_level(module.tree.body):
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                continue
            case ast.Assign(value=ast.expr() as value) | ast.AnnAssign(value=ast.expr() as value):
                if _is_mutable(module, value):
                    yield Finding(node.lineno, "a mutable global")
    for statement in walk(module.tree):
        if isinstance(statement, ast.Global):
            yield Finding(statement.lineno, f"global {', '.join(statement.names)}")


def _is_mutable(module: Module, value: ast.expr) -> bool:
    match value:
        case ast.Tuple(elts=parts):
            return any(_is_mutable(module, part) for part in parts)
        case ast.Call(func=function, args=arguments):
            name = dotted(module, function)
            frozen = name == "types.MappingProxyType" and len(arguments) == 1
            if frozen and isinstance(arguments[0], ast.Dict):
                pairs = zip(arguments[0].keys, arguments[0].values, strict=True)  # what is unpacked is copied
                return any(_is_mutable(module, part) for key, part in pairs if key is not None)
            return name in _MUTABLE_CALLS
        case _:
            return isinstance(value, _MUTABLE_DISPLAYS)


def rule_import_work(module: Module) -> Iterator[Finding]:
    """Importing a module only defines things: no bare calls and no loops at the top level."""
    for node in _top_level(module.tree.body):
        match node:
            case ast.Expr(value=ast.Call()):
                yield Finding(node.lineno, "a call at import")
            case ast.For() | ast.While() | ast.With():
                yield Finding(node.lineno, "a loop or context at import")


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run on import, also those under if and try, except the main block."""
    for node in body:
        if isinstance(node, ast.If) and "__name__" in ast.dump(node.test):
            continue
        yield node
        if isinstance(node, ast.If | ast.Try | ast.TryStar | ast.For | ast.While | ast.With):
            for field in ("body", "orelse", "finalbody"):
                yield from _top_level(getattr(node, field, []))
            for handler in getattr(node, "handlers", []):
                yield from _top_level(handler.body)
