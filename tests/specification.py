"""The specification as data: the content of `docs/spec/*.toml`, which tests prove it, and where it is cited.

An id is R, G or C with a number. A test proves the ids in its `@pytest.mark.requirement("R107", "C59")`; they
are read from the syntax trees of the test files, so nothing is imported or run.
"""

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "spec"
SOURCES = ("requirements.toml", "decisions.toml")
CITING = ("src", "tests", "docs", "fuzz", "bench", "scripts", "changelog.d")
"""The folders in which every code must exist."""

ID = re.compile(r"[RGC][1-9][0-9]{0,2}")
CODE = re.compile(r"\b(?:[RGC][0-9]{1,3}|S[0-4])\b")
"""The pattern of a code: an id, or one of the documents S0 to S4."""

_NOQA = re.compile(r"noqa:[^#\n]*")
_DATA = frozenset({"golden", "recordings", "corpus", "results", "spec", "assets"})
_TOPIC_KEYS = frozenset({"page", "title", "from"})
_ENTRY_KEYS = frozenset({"title", "text", "positions", "about", "amends", "planned"})


class Entry(NamedTuple):
    """One requirement or decision."""

    name: str
    title: str
    text: str
    positions: str
    about: tuple[str, ...]
    amends: tuple[str, ...]
    is_planned: bool = False
    """Decided, and not built yet."""


class Topic(NamedTuple):
    """Entries that belong together, and the documents they come from."""

    page: str
    title: str
    documents: tuple[str, ...]
    entries: tuple[Entry, ...]


class Specification(NamedTuple):
    """The content of all source files, in order."""

    pages: Mapping[str, str]
    documents: tuple[Entry, ...]
    topics: tuple[Topic, ...]
    plans: str = ""
    """What is planned and not decided in detail, in Markdown."""

    @property
    def entries(self) -> dict[str, Entry]:
        """Every requirement and decision by its id."""
        return {entry.name: entry for topic in self.topics for entry in topic.entries}


class SpecificationError(Exception):
    """A source file or a test marker is invalid."""


@cache
def load_specification() -> Specification:
    """Read the source files; raises SpecificationError."""
    return parse_specification([(FOLDER / name).read_text(encoding="utf-8") for name in SOURCES])


def parse_specification(texts: Iterable[str]) -> Specification:
    """Read source files from their texts; raises SpecificationError."""
    pages: dict[str, str] = {}
    documents: list[Entry] = []
    topics: list[Topic] = []
    plans = ""
    for text in texts:
        data: dict[str, object] = tomllib.loads(text)
        plans += str(data.get("plans", ""))
        pages |= {name: str(title) for name, title in _table(data, "pages").items()}
        documents += [_parse_entry(name, value) for name, value in _table(data, "sources").items()]
        topics += [_parse_topic(value) for value in _array(data, "topic")]
    names = [entry.name for topic in topics for entry in topic.entries]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SpecificationError("defined twice: " + ", ".join(twice))
    if lost := sorted({topic.page for topic in topics} ^ pages.keys()):
        raise SpecificationError("pages without a title or a topic: " + ", ".join(lost))
    return Specification(pages, tuple(documents), tuple(topics), plans)


def _parse_topic(value: object) -> Topic:
    data = _as_table(value, "topic")
    title = str(data.get("title", ""))
    entries = [_parse_entry(name, one) for name, one in data.items() if name not in _TOPIC_KEYS]
    if wrong := [entry.name for entry in entries if not ID.fullmatch(entry.name)]:
        raise SpecificationError(f"topic {title!r}: {', '.join(wrong)} is no id")
    documents = tuple(str(one) for one in _array(data, "from"))
    return Topic(str(data.get("page", "")), title, documents, tuple(entries))


def _parse_entry(name: str, value: object) -> Entry:
    data = _as_table(value, name)
    if unknown := sorted(data.keys() - _ENTRY_KEYS):
        raise SpecificationError(f"{name}: unknown keys {', '.join(unknown)}")
    title, text, positions = (str(data.get(key, "")).strip() for key in ("title", "text", "positions"))
    if not title or not text:
        raise SpecificationError(f"{name}: needs a title and a text")
    about, amends = (tuple(str(one) for one in _array(data, key)) for key in ("about", "amends"))
    return Entry(name, title, text, positions, about, amends, data.get("planned") is True)


def _table(data: Mapping[str, object], key: str) -> Mapping[str, object]:
    return _as_table(data.get(key, {}), key)


def _as_table(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise SpecificationError(f"{name} is no table")
    return value


def _array(data: Mapping[str, object], key: str) -> Sequence[object]:
    value = data.get(key, [])
    if not isinstance(value, list):
        raise SpecificationError(f"{key} is no array")
    return value


# --- proofs -----------------------------------------------------------------------------------------


def find_proofs(folder: Path = ROOT / "tests") -> dict[str, list[str]]:
    """Return for each id in a marker the tests that carry it, by file and in the order of the file."""
    proofs: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        file = path.relative_to(folder.parent).as_posix()
        for test, names in read_proofs(path.read_text(encoding="utf-8")):
            for name in names:
                tests = proofs.setdefault(name, [])
                if f"{file}::{test}" not in tests:
                    tests.append(f"{file}::{test}")
    return proofs


def read_proofs(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the tests of a file with the ids in their own markers, or those of their class or file."""
    body = ast.parse(text).body
    yield from _tests(body, (), _marked(_module_marks(body)))


def _module_marks(body: Iterable[ast.stmt]) -> Iterator[ast.expr]:
    """Yield the markers that a file gives to all of its tests in `pytestmark`."""
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            yield from node.value.elts if isinstance(node.value, ast.List) else [node.value]


def _tests(
    body: Iterable[ast.stmt], above: tuple[str, ...], inherited: list[str]
) -> Iterator[tuple[str, list[str]]]:
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from _tests(node.body, (*above, node.name), inherited + _marked(node.decorator_list))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test"):
            yield "::".join((*above, node.name)), inherited + _marked(node.decorator_list)


def _marked(decorators: Iterable[ast.expr]) -> list[str]:
    return [str(argument.value) for argument in _arguments(decorators) if isinstance(argument, ast.Constant)]


def _arguments(decorators: Iterable[ast.AST]) -> Iterator[ast.expr]:
    for one in decorators:
        if (
            isinstance(one, ast.Call)
            and isinstance(one.func, ast.Attribute)
            and one.func.attr == "requirement"
        ):
            yield from one.args


# --- citations --------------------------------------------------------------------------------------


class Citation(NamedTuple):
    """A place where a code is written."""

    path: str
    line: int
    code: str


def find_citations() -> Iterator[Citation]:
    """Yield every code in comments, docstrings and markers of Python files, and in the text of pages."""
    for path in _citing_files():
        text = path.read_text(encoding="utf-8")
        if not CODE.search(text):
            continue
        lines = _python_lines(text) if _is_python(path, text) else enumerate(text.splitlines(), 1)
        for number, line in lines:
            for code in CODE.findall(_NOQA.sub("", line)):
                yield Citation(path.relative_to(ROOT).as_posix(), number, code)


def _citing_files() -> Iterator[Path]:
    yield from sorted(ROOT.glob("*.md"))
    for folder in CITING:
        for path in sorted((ROOT / folder).rglob("*")):
            if (
                path.suffix in {".py", ".md", ""}
                and path.is_file()
                and _DATA.isdisjoint(path.relative_to(ROOT).parts)
            ):
                yield path


def _is_python(path: Path, text: str) -> bool:
    return path.suffix == ".py" or text.startswith("#!/usr/bin/env python3")


def _python_lines(text: str) -> Iterator[tuple[int, str]]:
    if any("#" in line and CODE.search(line) for line in text.splitlines()):  # tokens take long
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0].lineno if node.body else 1
            yield from enumerate((ast.get_docstring(node, clean=False) or "").splitlines(), first)
        for argument in _arguments([node]):
            yield argument.lineno, ast.unparse(argument)
