"""Unused values: members of enumerations that are never made, fields of records never filled or read.

Values also come from files. A member that no code makes is allowed if its enumeration is read: if it is
called with a text (`Lane("bug")`), or is the type of a setting or of a field of a document. Optional fields
of a document (`required=False`) and settings are filled by others; a field of a document is read by the code
that writes the document.
"""

import ast
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tests.house.tree import Finding, Module, walk

SUITES = "testing"
"""The suites for engines of others may make and read anything."""

READ_FROM_FILES = ("settings.py", "core/formats/")
EXAMPLES = "core/formats/examples.py"
"""Filling a field in an example does not count."""

SETTINGS = "settings.py"

SEAMS = MappingProxyType(
    {
        "BriefFrame.delimiter": "an input of the renderer (C67), tests show that nothing depends on it",
        "FileOperations": "the calls of a system; tests pass calls that fail",
        "Lifetimes.grace": "tests do not wait a minute",
        "Lifetimes.quiet": "tests do not wait two minutes",
    }
)
"""Fields, or all fields of a record, that only tests fill, and why."""

_GROWING = frozenset({"add", "append", "extend", "insert", "setdefault", "update"})
_PLACES = frozenset({"in_key", "in_section", "in_label", "in_entry", "in_member", "in_rest"})
_RECORDS = frozenset({"record", "dataclass"})
_TUPLES = frozenset({"NamedTuple", "TypedDict"})


# --- members of enumerations ------------------------------------------------------------------------


def rule_members_made(modules: Sequence[Module]) -> Iterator[tuple[str, Finding]]:
    """Every member of an enumeration is made in the package, not only compared with, or read from files."""
    members = {
        node.name: (module, list(_members(node)))
        for module in modules
        for node in walk(module.tree)
        if isinstance(node, ast.ClassDef)
        and any(_last(base).endswith(("Enum", "Flag")) for base in node.bases)
    }
    ours = [module for module in modules if module.parts[0] != SUITES]
    made = {name for module in ours for name in _made(module.tree)}
    read = {name for module in ours for name in _read(module, frozenset(members))}
    for kind, (module, names) in members.items():
        for name, line in names if kind not in read else ():
            if (kind, name) not in made:
                yield module.path, Finding(line, f"nothing makes {kind}.{name}")


def _members(node: ast.ClassDef) -> Iterator[tuple[str, int]]:
    for child in node.body:
        match child:
            case ast.Assign(targets=[ast.Name(id=name)]) if not name.startswith("_"):
                yield name, child.lineno


def _made(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the members used as `Kind.MEMBER`, except in comparisons."""
    match node:
        case ast.Attribute(value=ast.Name(id=kind), attr=name):
            yield kind, name
        case ast.Compare() | ast.MatchValue():
            return
    for child in ast.iter_child_nodes(node):
        yield from _made(child)


def _read(module: Module, kinds: frozenset[str]) -> Iterator[str]:
    """Yield the enumerations that are read from texts."""
    for node in walk(module.tree):
        match node:
            case ast.Call(func=ast.Name(id=kind), args=[_, *_]) if kind in kinds:
                yield kind
            case ast.AnnAssign() if module.path.startswith(READ_FROM_FILES):
                yield from (one.id for one in walk(node.annotation) if isinstance(one, ast.Name))


# --- fields of records ------------------------------------------------------------------------------


class FieldPlace(NamedTuple):
    """A field of a record, and its position in its class."""

    path: str
    line: int
    record: str
    name: str
    at: int
    has_default: bool
    is_in_document: bool
    is_optional: bool


class FieldUse(NamedTuple):
    """The fields that a module fills and reads."""

    given: frozenset[tuple[str, str]]
    """The called name, and the keyword, or the number of the argument; `*` for all."""
    taken: frozenset[str]


def rule_fields_used(modules: Sequence[Module]) -> Iterator[tuple[str, Finding]]:
    """Every field of a record is filled with more than its default somewhere, and read somewhere."""
    fields = [one for module in modules if module.parts[0] != SUITES for one in _fields(module)]
    records = frozenset(one.record for one in fields)
    uses = [_use(module) for module in modules if module.parts[0] != SUITES and module.path != EXAMPLES]
    given = frozenset(pair for use in uses for pair in use.given)
    others = frozenset(name for called, name in given if called not in records)
    taken = frozenset(name for use in uses for name in use.taken)
    for one in fields:
        is_encoded = one.path.startswith("actions/")  # as JSON, whatever it is called
        if one.path != SETTINGS and one.name not in taken and not (one.is_in_document or is_encoded):
            yield one.path, Finding(one.line, f"nothing reads {one.record}.{one.name}")
        ways = {(one.record, one.name), (one.record, str(one.at)), (one.record, "*")}
        is_seam = not {one.record, f"{one.record}.{one.name}"}.isdisjoint(SEAMS)
        if (
            one.has_default
            and not (one.is_optional or is_seam)
            and not ways & given
            and one.name not in others
        ):
            yield one.path, Finding(one.line, f"nothing fills {one.record}.{one.name}")


def _fields(module: Module) -> Iterator[FieldPlace]:
    for node in walk(module.tree):
        if not isinstance(node, ast.ClassDef) or not _is_record(node):
            continue
        found = [child for child in node.body if isinstance(child, ast.AnnAssign)]
        for at, child in enumerate(found):
            places = [one for one in walk(child.annotation) if _last(one) in _PLACES]
            if isinstance(child.target, ast.Name) and not child.target.id.startswith("_"):
                yield FieldPlace(
                    path=module.path,
                    line=child.lineno,
                    record=node.name,
                    name=child.target.id,
                    at=at,
                    has_default=child.value is not None,
                    is_in_document=bool(places),
                    is_optional=module.path == SETTINGS or "required=False" in ast.unparse(child.annotation),
                )


def _is_record(node: ast.ClassDef) -> bool:
    return any(_last(one) in _RECORDS for one in node.decorator_list) or any(
        _last(one) in _TUPLES for one in node.bases
    )


def _last(node: ast.AST) -> str:
    match node:
        case ast.Call(func=called):
            return _last(called)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _use(module: Module) -> FieldUse:
    given: set[tuple[str, str]] = set()
    taken: set[str] = set()
    for node in walk(module.tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=method, value=ast.Attribute(attr=name))) if (
                method in _GROWING
            ):
                given.add(("", name))
            case ast.Call():
                given |= {(_last(node.func), name) for name in _arguments(node)}
            case ast.Attribute(attr=name, ctx=ast.Load()):
                taken.add(name)
            case ast.Attribute(attr=name):
                given.add(("", name))
            case ast.MatchClass(kwd_attrs=names):
                taken.update(names)
            case ast.Constant(value=str(name)):  # members of a JSON object, and keys of events, have names
                taken.add(name)
                given.add(("", name))
    return FieldUse(frozenset(given), frozenset(taken))


def _arguments(node: ast.Call) -> Iterator[str]:
    for at, one in enumerate(node.args):
        yield "*" if isinstance(one, ast.Starred) else str(at)
    for keyword in node.keywords:
        yield keyword.arg or "*"
