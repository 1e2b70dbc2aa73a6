"""The faults that can be put into a module: each changes one expression or statement of its text.

1. A comparison: `<` and `<=`, `>` and `>=`, `==` and `!=`, `is` and `is not`, `in` and `not in` swap.
2. A condition: `and` and `or` change places, `not` is left out, and a plain condition is turned round.
3. A constant: numbers grow by one, true and false change places, words are emptied.
4. A sum: `+` and `-` change places.
5. A return gives nothing.
6. A call whose answer nobody takes is left out.

Left alone is what has no behaviour: annotations, decorators, docstrings, and texts with a space in them,
which are prose.
"""

import ast
from collections.abc import Iterator
from typing import Final

from passdown.records import record

_COMPARED: Final[dict[type[ast.cmpop], tuple[str, ast.cmpop]]] = {
    ast.Lt: ("<= for <", ast.LtE()),
    ast.LtE: ("< for <=", ast.Lt()),
    ast.Gt: (">= for >", ast.GtE()),
    ast.GtE: ("> for >=", ast.Gt()),
    ast.Eq: ("!= for ==", ast.NotEq()),
    ast.NotEq: ("== for !=", ast.Eq()),
    ast.Is: ("is not for is", ast.IsNot()),
    ast.IsNot: ("is for is not", ast.Is()),
    ast.In: ("not in for in", ast.NotIn()),
    ast.NotIn: ("in for not in", ast.In()),
}
_PLAIN: Final = ast.Name | ast.Call | ast.Attribute | ast.NamedExpr | ast.Subscript


@record
class Mutant:
    """One fault: which bytes of a module become which, and how that is told."""

    path: str
    line: int
    last_line: int
    start: int
    end: int
    text: str
    change: str
    source: str
    tests: tuple[str, ...] = ()
    """The tests that must notice it; without any, whatever reaches it may."""

    def __str__(self) -> str:
        """Tell where and what it is."""
        return f"{self.path}:{self.line}: {self.change}: {self.source}"

    def apply(self, data: bytes) -> bytes:
        """Put the fault into the module."""
        return data[: self.start] + self.text.encode() + data[self.end :]


def find_mutants(path: str, data: bytes) -> list[Mutant]:
    """Give every fault of a module that is still Python."""
    lines = data.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found: list[Mutant] = []
    for node, change, text in _visit(ast.parse(data)):
        last = node.end_lineno or node.lineno
        mutant = Mutant(
            path=path,
            line=node.lineno,
            last_line=last,
            start=starts[node.lineno - 1] + node.col_offset,
            end=starts[last - 1] + (node.end_col_offset or 0),
            text=text,
            change=change,
            source=lines[node.lineno - 1].decode().strip(),
        )
        if _is_python(mutant.apply(data)):
            found.append(mutant)
    return found


def _is_python(data: bytes) -> bool:
    try:
        ast.parse(data)
    except SyntaxError:
        return False
    return True


def _visit(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """Go through what has behaviour."""
    if isinstance(node, ast.expr):
        yield from ((node, change, f"({text})") for change, text in _of_expression(node))
    elif isinstance(node, ast.stmt):
        yield from ((node, change, text) for change, text in _of_statement(node))
    if isinstance(node, ast.If | ast.IfExp | ast.While) and isinstance(node.test, _PLAIN):
        yield node.test, "not added", f"(not ({ast.unparse(node.test)}))"
    for child in _children(node):
        yield from _visit(child)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Give the parts of a node that have behaviour; Python 3.11 knows no places inside an f-string."""
    if isinstance(node, ast.JoinedStr) or _is_type(node):
        return
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "cast":
        yield from node.args[1:]
        return
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params", "type_comment"}:
            continue
        children = value if isinstance(value, list) else [value]
        for child in children:
            if isinstance(child, ast.AST) and not _is_docstring(child):
                yield child


def _is_type(node: ast.AST) -> bool:
    """Say whether a node only tells type checkers something."""
    match node:
        case ast.Subscript(value=ast.Name(id="Annotated" | "Literal")):
            return True
        case ast.Call(func=ast.Name(id="TypeVar" | "NewType")):
            return True
        case _:
            return False


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _of_statement(node: ast.stmt) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":  # 5
            yield "None returned", "return None"
        case ast.Expr(value=ast.Call()):  # 6
            yield "call left out", "pass"
        case _:
            pass


def _of_expression(node: ast.expr) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):  # 1
            for place, operator in enumerate(ops):
                change, other = _COMPARED[type(operator)]
                new = [*ops[:place], other, *ops[place + 1 :]]
                yield change, ast.unparse(ast.Compare(left, new, others))
        case ast.BoolOp(op=ast.And(), values=values):  # 2
            yield "or for and", ast.unparse(ast.BoolOp(ast.Or(), values))
        case ast.BoolOp(op=ast.Or(), values=values):
            yield "and for or", ast.unparse(ast.BoolOp(ast.And(), values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not left out", ast.unparse(operand)
        case ast.Constant(value=value):  # 3
            yield from _of_constant(value)
        case ast.BinOp(left=left, op=ast.Add(), right=right):  # 4
            yield "- for +", ast.unparse(ast.BinOp(left, ast.Sub(), right))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            yield "+ for -", ast.unparse(ast.BinOp(left, ast.Add(), right))
        case _:
            pass


def _of_constant(value: object) -> Iterator[tuple[str, str]]:
    match value:
        case bool():
            yield f"{not value} for {value}", str(not value)
        case int() | float():
            yield f"{value + 1} for {value}", str(value + 1)
        case str() if value and not any(one.isspace() for one in value.strip()):
            yield f"'' for {value!r}", "''"
        case _:
            pass
