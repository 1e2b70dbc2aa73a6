"""A Markdown document as a whole: front matter, title and outline, read, written and revised.

`render(parse(text)) == text` holds for every text, because a value remembers the text it was read from and
a revision rewrites only the places whose value changed. A value made from nothing is written in full.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar, cast

from passdown.core.frontmatter import Split, line_at, split_front_matter
from passdown.core.keys import PLACE, AnyKey, HeldKey, Key, Keys, read_keys, revise_keys, write_keys
from passdown.core.markdown import fold_title, with_line_ends, write_heading
from passdown.core.outlines import TITLE, Body, Outline, read_body, retitled, revise_body, write_body
from passdown.core.patterns import pattern
from passdown.core.places import Held, Place
from passdown.core.problems import Problem, Unknown, error, warning
from passdown.errors import FormatError
from passdown.records import record

T = TypeVar("T")

MAX_CHARS: Final = 1_048_576

_RULE: Final = pattern(r"^---[ \t]*\r?$", re.MULTILINE)
MAX_LINES: Final = 20_000


class Sourced(Protocol):
    """A document that remembers the text it was read from."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with that text."""
        ...

    @property
    def source(self) -> str | None:
        """That text; None for a document made from nothing."""
        ...


D = TypeVar("D", bound=Sourced)

Revise = Callable[[D, str, frozenset[str]], str]
"""Makes a text say what a document says, and writes the places that are named anew."""


@record(kw_only=False)
class Shape:
    """What a format's documents are made of; `title` is the heading of level 1."""

    name: str
    keys: tuple[AnyKey, ...]
    outline: Outline
    title: str


@record(kw_only=False)
class Content:
    """What shall stand in a document."""

    title: str
    keys: Sequence[HeldKey]
    places: Sequence[Held]
    unknown: tuple[Unknown, ...]


@record(kw_only=False)
class Found:
    """What was read from a document."""

    keys: Keys
    body: Body
    unknown: tuple[Unknown, ...]
    problems: tuple[Problem, ...]

    def key(self, key: Key[T]) -> T:
        """Return the value of a key of the front matter."""
        return key.of(self.keys.values)

    def place(self, place: Place[T]) -> T:
        """Return the value of a place of the body."""
        return cast("T", self.body.values[place.name])

    def line_of(self, text: str, name: str) -> int:
        """Return the line on which a key stands, or 1."""
        at = text.find(f"\n{name}:")
        return line_at(text, at + 1) if at >= 0 else 1


def refuse_unreadable(text: str, version: int | None, newest: int, name: str) -> None:
    """Raise `FormatError` for a text that is too large, or newer than this reader."""
    if len(text) > MAX_LINES and (len(text) > MAX_CHARS or text.count("\n") > MAX_LINES):
        raise FormatError(
            f"{name} is over {MAX_CHARS} characters or {MAX_LINES} lines and is not read",
            hint="split it; the file was left as it is",
        )
    if version is not None and version > newest:
        raise FormatError(
            f"{name} has format {version}; this passdown reads up to {newest}",
            field="format",
            hint="upgrade passdown; the file was left as it is",
        )


def read_document(text: str, shape: Shape) -> Found:
    """Read a document; keep what no field holds, and say what is wrong. Raise only when it is too large."""
    refuse_unreadable(text, None, 0, shape.name)
    split = split_front_matter(text)
    keys = read_keys(split.matter, shape.keys, 2)
    line = line_at(text, len(text) - len(split.body))
    body = read_body(split.body, shape.outline, line)
    problems = [*front_problems(text, split.opening, split.closing), *keys.problems, *body.problems]
    if shape.title and fold_title(body.title) != fold_title(shape.title):
        hint = f"add `# {shape.title}`"
        shown = f"is {body.title[:60]!r}" if body.title else "is missing"
        problems.append(warning(line, TITLE, shown, hint, fixable=not body.title))
    problems.sort(key=lambda problem: (problem.line, problem.field))
    return Found(keys, body, keys.unknown + body.unknown, tuple(problems))


def front_problems(text: str, opening: str, closing: str) -> list[Problem]:
    """Say what is wrong with a front matter as a whole."""
    if not opening.strip("\ufeff"):
        return [error(1, PLACE, "is missing", "start the file with `---` and its keys")]
    if not closing:
        return [error(1, PLACE, "is never closed", "end it with a line `---`", fixable=True)]
    if text.startswith("\ufeff"):
        return [warning(1, PLACE, "has a byte order mark before it", "save the file without")]
    return []


def write_document(shape: Shape, content: Content) -> str:
    """Write a document in full."""
    before = "".join(f"{one.text}\n\n" for one in content.unknown if one.place == "")
    under = "".join(f"{one.text}\n\n" for one in content.unknown if one.place == TITLE)
    title = f"{write_heading(1, content.title)}\n\n" if content.title else ""
    body = write_body(shape.outline, content.places, content.unknown)
    matter = write_keys(content.keys, content.unknown)
    return f"---\n{matter}---\n\n{before}{title}{under}{body}".rstrip("\n") + "\n"


def revise_document(text: str, shape: Shape, content: Content, fix: frozenset[str] = frozenset()) -> str:
    """Make a document say `content`, changing only what differs; places named in `fix` are written anew."""
    split = split_front_matter(text)
    found = read_document(text, shape)
    matter = revise_keys(split.matter, content.keys, found.keys.values, fix)
    body = revise_body(split.body, shape.outline, content.places, found.body.values, fix)
    title = content.title or (shape.title if TITLE in fix else "")
    body = retitled(body, shape.outline, title, found.body.title)
    return with_line_ends(framed(split, matter, body, fix), text)


def render_document(
    document: D, parse: Callable[[str], D], write: Callable[[D], str], revise: Revise[D]
) -> str:
    """Write a document, in full if it was made from nothing; else keep every byte that no value changed."""
    if document.source is None:
        return write(document)
    if document == parse(document.source):
        return document.source
    return revise(document, document.source, frozenset())


def fix_document(document: D, revise: Revise[D]) -> str:
    """Write a document that was read, with what is safe to repair repaired."""
    names = frozenset(problem.field for problem in document.problems if problem.fixable)
    source = document.source or ""
    return revise(document, source, names) if names else source


def framed(split: Split, matter: str, body: str, fix: frozenset[str]) -> str:
    """Put a document together; a front matter that was not there and holds nothing is left out."""
    opening, closing = split.opening, split.closing
    if not opening.strip("\ufeff"):
        return f"{opening}---\n{matter}---\n\n{body}" if matter else opening + body
    if not closing and (PLACE in fix or _RULE.search(body)):  # else a rule in the body would close it
        closing = "---\n"
    whole = opening
    for part in (matter, closing, body):
        whole += part if whole.endswith("\n") or not part else f"\n{part}"
    return whole
