"""Counts where the package folds facts by hand, and where it lists kinds of facts.

Functions, methods and constants are counted. Each that stays is in `tests/house/kept.toml` with its reason; a
place without an entry, or an entry without a place, is a finding.
"""

import ast
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.house.tree import Function, Module, walk

KINDS = "FactKind"
FEWEST_KINDS = 4
KEPT = Path(__file__).parent / "kept.toml"

_FACTS = frozenset({"Fact", "JournalLine"})
_KEYS = frozenset({"key", "text", "id", "fact"})


def find_folds(modules: Sequence[Module]) -> list[str]:
    """Find the functions that fold: they take facts, and change a table by key.

    1. It takes facts or lines of a journal, reads them from something else, or iterates over facts.
    2. It removes an entry (`pop`, `del`, `discard`, `clear`), replaces one (`table[key] = …`), leaves out
       entries with the key of a fact, or lets the last fact of each key win.
    """
    return [
        f"{module.path} {name}"
        for module in modules
        for name, part in _parts(module.tree)
        if isinstance(part, Function) and _takes_facts(part) and any(map(_changes, walk(part)))
    ]


def find_tables(modules: Sequence[Module]) -> list[str]:
    """Find the class of kinds, and every function or constant that names at least four kinds.

    They are named as members of the class, by a constant of the module that stands for one, or as texts. A
    comprehension over the class does not name any.
    """
    values = frozenset(value for module in modules for value in _values(module))
    return [
        f"{module.path} {name}"
        for module in modules
        for name, part in _parts(module.tree)
        if name == KINDS or _names_kinds(part, _stand_ins(module), values)
    ]


def read_kept(what: str) -> Mapping[str, str]:
    """Return the reasons for the `folds` or `tables` that are kept, by path and name."""
    kept: Mapping[str, str] = tomllib.loads(KEPT.read_text(encoding="utf-8"))[what]
    return kept


def compare_kept(found: Sequence[str], kept: Mapping[str, str]) -> list[str]:
    """Return what was found without a reason, and reasons for what was not found."""
    return [
        *(f"{one} has no reason in {KEPT.name}" for one in found if not kept.get(one)),
        *(f"{one} is in {KEPT.name} and does not count" for one in kept if one not in found),
    ]


def _parts(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield functions, methods and constants with their names; code inside a function belongs to it."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name != KINDS:
            yield from ((f"{node.name}.{name}", part) for line in node.body for name, part in _named(line))
        else:
            yield from _named(node)


def _named(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, node
        case (
            ast.Assign(targets=[target], value=value)
            | ast.AnnAssign(target=target, value=ast.expr() as value)
        ):
            yield ast.unparse(target), value


# --- folds ----------------------------------------------------------------------------------------


def _takes_facts(function: Function) -> bool:  # 1
    arguments = function.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    hints = [one.annotation for one in given if one.annotation is not None]
    if any(_is_fact(node) for hint in hints for node in walk(hint)):
        return True
    return any(map(_reads_facts, walk(function)))


def _is_fact(node: ast.AST) -> bool:
    return ast.unparse(node).strip("'\"") in _FACTS if isinstance(node, ast.Name | ast.Constant) else False


def _reads_facts(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="fact" | "facts"):
            return True
        case ast.For(target=ast.Name(id="fact")) | ast.comprehension(target=ast.Name(id="fact")):
            return True
        case _:
            return False


def _changes(node: ast.AST) -> bool:  # 2
    match node:
        case ast.Call(func=ast.Attribute(attr="pop"), args=[key, *_]):
            return not _is_fixed(key)
        case ast.Call(func=ast.Attribute(attr="discard" | "clear")):
            return True
        case ast.Delete(targets=[ast.Subscript(slice=key)]) | ast.Assign(targets=[ast.Subscript(slice=key)]):
            return not _is_fixed(key)
        case ast.DictComp(key=key, value=ast.Name(id=value), generators=[ast.comprehension(target=target)]):
            return isinstance(target, ast.Name) and target.id == value and _is_identity(key)
        case ast.comprehension(ifs=conditions):
            return any(_leaves_out(one) for condition in conditions for one in walk(condition))
        case _:
            return False


def _is_fixed(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant | ast.Slice | ast.UnaryOp | ast.BinOp)


def _is_identity(key: ast.expr) -> bool:
    return any(
        (isinstance(node, ast.Attribute) and node.attr in _KEYS)
        or (isinstance(node, ast.Name) and node.id == "identify")
        for node in walk(key)
    )


def _leaves_out(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[ast.NotEq()], comparators=[ast.Attribute(attr="key")]):
            return True
        case _:
            return False


# --- tables ---------------------------------------------------------------------------------------


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


def _stand_ins(module: Module) -> Mapping[str, str]:
    """Return the constants that stand for one kind, such as `_DECISION`, and its member."""
    found: dict[str, str] = {}
    for node in module.tree.body:
        for name, value in _named(node):
            members = [one for one in map(_member, walk(value)) if one]
            if isinstance(value, ast.Attribute) and len(members) == 1:
                found[name] = members[0]
    return found


def _member(node: ast.AST) -> str:
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=member) if name == KINDS and member.isupper():
            return member
        case _:
            return ""


def _names_kinds(part: ast.AST, stand_ins: Mapping[str, str], values: frozenset[str]) -> bool:
    members: set[str] = set()
    texts: set[str] = set()
    for node in walk(part):
        members.add(_member(node))
        match node:
            case ast.Name(id=name):
                members.add(stand_ins.get(name, ""))
            case ast.Constant(value=str(text)) if text in values:
                texts.add(text)
            case _:
                pass
    return len(members - {""}) >= FEWEST_KINDS or len(texts) >= FEWEST_KINDS
