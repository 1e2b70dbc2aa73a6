"""Reads, writes, revises and repairs whole Markdown documents, as the fields of a record declare.

`render(parse(text)) == text` holds for every text, because a document remembers the text it was read from,
and a revision rewrites only the keys and places whose value changed. A new document is written in full.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, Generic, Protocol, TypeVar, cast

from passdown.core.documents.conflicts import conflict_problems
from passdown.core.documents.fields import DeclaredField, declared_fields
from passdown.core.documents.frontmatter import FrontMatterSplit, LineCounter, line_at, split_front_matter
from passdown.core.documents.keys import PLACE, Key, read_keys, revise_keys, write_keys
from passdown.core.documents.layouts import Layout
from passdown.core.documents.markdown import Region, cut_region, fold_title, with_line_ends, write_heading
from passdown.core.documents.outlines import (
    TITLE,
    Body,
    Outline,
    read_body,
    retitled,
    revise_body,
    write_body,
)
from passdown.core.documents.places import Place
from passdown.core.json_text import JsonMember, count_of, dump, read_members, revise_members
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Malformed, Problem, Unknown, error, warning
from passdown.errors import FormatError
from passdown.records import record, replace

T = TypeVar("T")
J = TypeVar("J")

MAX_CHARS: Final = 1_048_576
MAX_LINES: Final = 20_000
TAIL: Final = "ledger"
"""The place of the tail that a format cuts off: the whole ledger at the end of some archives."""

_RULE: Final = pattern(r"^---[ \t]*\r?$", re.MULTILINE)
_NO_PLACES: Final = Outline(())


class AnyDocument(Protocol):
    """What the documents of all formats have in common."""

    @property
    def unknown(self) -> tuple[Unknown, ...]:
        """Text that no field holds, verbatim."""
        ...

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the text it was read from."""
        ...


class SourcedDocument(AnyDocument, Protocol):
    """A document that remembers the text it was read from."""

    @property
    def title(self) -> str:
        """Its heading of level 1."""
        ...

    @property
    def source(self) -> str | None:
        """The text it was read from; None for a document made from scratch."""
        ...


D = TypeVar("D", bound=SourcedDocument)


@record(kw_only=False)
class DocumentShape:
    """The parts of a format's documents; `title` is the heading of level 1, if all of them have the same.

    `section` is the only section that is read; the text before and after it is never touched.
    """

    name: str
    keys: tuple[Key[object], ...]
    outline: Outline
    title: str
    section: str = ""
    needs_front: bool = True


@record(kw_only=False)
class DocumentContent:
    """What a document should contain; `after` follows the section that is read."""

    title: str
    values: Mapping[str, object]
    unknown: tuple[Unknown, ...]
    after: str = ""


@record(kw_only=False)
class ParsedDocument:
    """The values read from a document, and how the document was split."""

    values: Mapping[str, object]
    title: str
    unknown: tuple[Unknown, ...]
    problems: tuple[Problem, ...]
    split: FrontMatterSplit
    region: Region

    def place(self, place: Place[T]) -> T:
        """Return the value of a place in the body."""
        return cast("T", self.values[place.name])


def key_line(text: str, name: str) -> int:
    """Return the line number of a key, or 1 if it is missing."""
    at = text.find(f"\n{name}:")
    return line_at(text, at + 1) if at >= 0 else 1


def heading_line(text: str, title: str, value: str = "") -> int:
    """Return the line of the first heading with this title, or of `value` below it; 1 if it is missing."""
    heading = re.compile(rf"^#{{2,6}}[ \t]+{re.escape(title)}\b", re.IGNORECASE | re.MULTILINE)
    match = heading.search(text)
    if match is None:
        return 1
    return line_at(text, max(match.start(), text.find(value, match.start())))


def refuse_unreadable(text: str, version: int | None, newest: int, name: str, *, line: int = 1) -> None:
    """Raise `FormatError` for a text that is too large, or newer than this reader."""
    if len(text) > MAX_LINES and (len(text) > MAX_CHARS or text.count("\n") > MAX_LINES):
        raise FormatError(
            f"{name} is over {MAX_CHARS} characters or {MAX_LINES} lines, so it is not read",
            hint="split it; the file was not changed",
        )
    if version is not None and version > newest:
        raise FormatError(
            f"{name} has format {version}; this version of passdown reads up to {newest}",
            line=line,
            field="format",
            hint="upgrade passdown; the file was not changed",
        )


def read_document(text: str, shape: DocumentShape) -> ParsedDocument:
    """Read a document, with its unknown text and its problems. Raises only if it is too large."""
    refuse_unreadable(text, None, 0, shape.name)
    has_front = bool(shape.keys) or not shape.section
    split = split_front_matter(text) if has_front else FrontMatterSplit("", "", "", text)
    is_expected = has_front and (shape.needs_front or bool(split.opening))
    keys = read_keys(split.matter, shape.keys, 2)
    line = line_at(text, len(text) - len(split.body))
    region = cut_region(split.body, shape.section) if shape.section else Region("", split.body, "", "")
    before = read_body(region.before, _NO_PLACES, line)
    body = read_body(region.section, shape.outline, line + region.before.count("\n"))
    title = before.title if shape.section else body.title
    problems = [
        *(front_problems(text, split.opening, split.closing) if is_expected else ()),
        *keys.problems,
        *before.problems,
        *(_region_problems(region, body, shape, line) if shape.section else body.problems),
    ]
    if shape.title and not shape.section and fold_title(title) != fold_title(shape.title):
        shown = f"is {title[:60]!r}" if title else "is missing"
        problems.append(warning(line, TITLE, shown, f"add `# {shape.title}`", fixable=not title))
    problems.sort(key=lambda problem: (problem.line, problem.field))
    unknown = keys.unknown + before.unknown + body.unknown
    return ParsedDocument({**keys.values, **body.values}, title, unknown, tuple(problems), split, region)


def front_problems(text: str, opening: str, closing: str) -> list[Problem]:
    """Return the problems of a front matter as a whole."""
    if not opening.strip("\ufeff"):
        return [error(1, PLACE, "is missing", "start the file with `---` and its keys")]
    if not closing:
        return [error(1, PLACE, "is never closed", "end it with a `---` line", fixable=True)]
    if text.startswith("\ufeff"):
        return [warning(1, PLACE, "has a byte order mark before it", "save the file without one")]
    return []


def _region_problems(region: Region, body: Body, shape: DocumentShape, line: int) -> Sequence[Problem]:
    name = shape.section
    if not region.section:
        return [error(line, name, "section is missing", f"add `## {name}`", fixable=True)]
    if not region.rule:
        at = line + (region.before + region.section).count("\n")
        return [*body.problems, warning(at, name, "section does not end with a `---` line", fixable=True)]
    return body.problems


def write_document(shape: DocumentShape, content: DocumentContent) -> str:
    """Write a document in full."""
    unknown, section = content.unknown, shape.section
    inside = [one for one in unknown if not section or one.place.split("/")[0] == section]
    parts = [one.text for one in unknown if one.place == ""]
    parts += [write_heading(1, content.title)] if content.title else []
    parts += [one.text for one in unknown if one.place == TITLE]
    outside = [one for one in unknown if section and one.place.split("/")[0] != section]
    parts += [one.text for one in outside if one.place not in {"", TITLE, PLACE}]
    before = "".join(f"{part}\n\n" for part in parts)
    body = write_body(shape.outline, content.values, inside)
    written = write_keys(shape.keys, content.values, unknown)
    matter = f"---\n{written}---\n\n" if written or shape.needs_front else ""
    if not shape.section:
        return f"{matter}{before}{body}".rstrip("\n") + "\n"
    body = body.rstrip("\n")
    return f"{matter if shape.keys else ''}{before}{body}\n\n---\n{content.after}"


def revise_document(
    text: str,
    shape: DocumentShape,
    content: DocumentContent,
    found: ParsedDocument,
    fix: frozenset[str] = frozenset(),
) -> str:
    """Make a document contain `content`, changing only what differs; places in `fix` are rewritten."""
    split, region, name = found.split, found.region, shape.section
    matter = revise_keys(split.matter, shape.keys, content.values, found.values, fix)
    is_ruled = bool(name) and (content.after != region.after or name in fix)
    forced = fix | {name} if is_ruled and not region.section else fix
    section = revise_body(region.section, shape.outline, content.values, found.values, forced)
    before, rule = region.before, region.rule
    title = content.title or (shape.title if TITLE in fix else "")
    if name:
        before = retitled(before, _NO_PLACES, title, found.title)
    else:
        section = retitled(section, shape.outline, title, found.title)
    if section and before and not region.section:
        before = before.rstrip() + "\n\n"
    if is_ruled and not rule:
        section, rule = section.rstrip() + "\n\n", "---\n\n"
    return with_line_ends(framed(split, matter, before + section + rule + content.after, fix), text)


def framed(split: FrontMatterSplit, matter: str, body: str, fix: frozenset[str]) -> str:
    """Join the parts of a document, without an empty front matter that was not there before."""
    opening, closing = split.opening, split.closing
    if not opening.strip("\ufeff"):
        return f"{opening}---\n{matter}---\n\n{body}" if matter else opening + body
    if not closing and (PLACE in fix or _RULE.search(body)):  # else a rule in the body would close it
        closing = "---\n"
    whole = opening
    for part in (matter, closing, body):
        whole += part if whole.endswith("\n") or not part else f"\n{part}"
    return whole


class DocumentFormat(Generic[D]):
    """Reads, writes, revises and repairs the documents of one record class.

    `judge` finds problems in values that could be read; `cut` splits off a tail that is kept unread.
    The layout of the fields is derived from the record when the first document is read or written.
    """

    _needs_front = True

    def __init__(
        self,
        cls: type[D],
        name: str,
        version: int,
        judge: Callable[[str, D], Iterable[Problem]],
        *,
        title: str = "",
        cut: Callable[[str], tuple[str, str]] = lambda text: (text, ""),
    ) -> None:
        """Store what the record itself does not declare."""
        self._cls, self._name, self._version, self._title = cls, name, version, title
        self._judge, self._cut = judge, cut

    @cached_property
    def layout(self) -> Layout:
        """How the fields of the record are laid out in a document."""
        return Layout(self._cls)

    @cached_property
    def shape(self) -> DocumentShape:
        """The parts of the documents; text after their first section is a separate field, if declared."""
        section = self.layout.places[0].name if self.layout.rest else ""
        outline = Outline(tuple(self.layout.places))
        return DocumentShape(
            self._name, tuple(self.layout.keys), outline, self._title, section, self._needs_front
        )

    def parse(self, text: str) -> D:
        """Read a document without losing anything; `problems` lists what is wrong.

        Raises `FormatError` if the text is too large or newer than this reader.
        """
        refuse_unreadable(text, None, 0, self._name)
        own, tail = self._cut(text)
        found = read_document(own, self.shape)
        refuse_unreadable(text, cast("int | None", found.values["format"]), self._version, self._name)
        document = self._made(found, text, tail)
        problems = [*conflict_problems(text), *found.problems]
        for name, other in self.layout.spilling:
            if len(cast("tuple[object, ...]", found.values[name])) > 1:
                hint = f"keep one; the others belong under {other.capitalize()}"
                line = heading_line(text, name.rpartition("/")[2])
                problems.append(warning(line, name, "has more than one item", hint, fixable=True))
        problems += self._judge(text, document)
        if not problems:
            return document
        return replace(document, problems=tuple(sorted(problems, key=lambda one: one.line)))

    def _made(self, found: ParsedDocument, text: str, tail: str) -> D:
        values = self.layout.read(found.values)
        if self.layout.rest:
            values[self.layout.rest] = _read_after(found.region)
        front = tuple(one for one in found.unknown if one.place == PLACE)
        unknown = (*front, *self.layout.inner(found.values), *found.unknown[len(front) :])
        if tail:
            unknown = (*unknown, Unknown(place=TAIL, text=tail.rstrip()))
        return cast("Callable[..., D]", self._cls)(**values, title=found.title, unknown=unknown, source=text)

    def _content(self, document: D) -> DocumentContent:
        values, unknown = self.layout.with_inner(self.layout.values(document), document.unknown)
        after = getattr(document, self.layout.rest) if self.layout.rest else ""
        return DocumentContent(document.title, values, unknown, f"\n{after}\n" if after else "")

    def render(self, document: D) -> str:
        """Write a document; one that was read keeps every byte outside the places whose value changed."""
        if document.source is None:
            return write_document(self.shape, self._content(document))
        own, tail = self._cut(document.source)
        found = read_document(own, self.shape)
        if document == self._made(found, document.source, tail):
            return document.source
        return self._revised(document, found, own, frozenset()) + tail

    def fix(self, document: D) -> str:
        """Write a document that was read, repairing what is safe to repair."""
        names = frozenset(problem.field for problem in document.problems if problem.fixable)
        own, tail = self._cut(document.source or "")
        return (self._revised(document, read_document(own, self.shape), own, names) if names else own) + tail

    def _revised(self, document: D, found: ParsedDocument, own: str, fix: frozenset[str]) -> str:
        content, rest = self._content(document), self.layout.rest
        if rest and getattr(document, rest) == _read_after(found.region):
            content = replace(content, after=found.region.after)
        elif rest and not found.region.rule:  # an added rule brings its own blank line
            content = replace(content, after=content.after.lstrip("\n"))
        return revise_document(own, self.shape, content, found, fix)


def _read_after(region: Region) -> str:
    return region.after.replace("\r\n", "\n").strip("\r\n")


class BareDocumentFormat(DocumentFormat[D]):
    """A format whose documents need no front matter."""

    _needs_front = False


class JsonFormat(Generic[J]):
    """A format that is one JSON object, whose members are the fields of a record.

    The record also has the fields `unknown`, `problems` and `source`.
    """

    def __init__(self, kind: Callable[..., J], name: str, version: int, most: int) -> None:
        """Store the record class, the format's name, the newest version, and the maximum size."""
        self._kind, self._name, self._version, self._most = kind, name, version, most

    @cached_property
    def _fields(self) -> Mapping[str, DeclaredField]:
        return {one.name: one for one in declared_fields(cast("type", self._kind))}

    def parse(self, text: str) -> J:
        """Read a text; unknown and invalid members are kept.

        Raises `FormatError` if it is not a JSON object, too large, or newer than this reader.
        """
        if len(text) > self._most:
            raise FormatError(f"{self._name} is over {self._most} characters, so it is not read")
        try:
            members = read_members(text)
        except Malformed as found:
            raise FormatError(
                f"{self._name} {found.problem}", hint=found.hint or "fix the JSON by hand"
            ) from None
        values: dict[str, object] = {}
        unknown: list[Unknown] = []
        problems: list[Problem] = []
        lines = LineCounter(text)
        for member in members:
            try:
                self._take(member, values)
            except Malformed as found:
                raw = text[member.value_start : member.value_end]
                unknown.append(Unknown(place=member.name, text=raw))
                if found.problem:
                    line = lines.at(member.start)
                    problems.append(error(line, member.name, found.problem, found.hint))
        given = {member.name for member in members if member.value is not None}
        required = [one.name for one in self._fields.values() if one.spec.required]
        problems += [error(1, name, "is missing") for name in required if name not in given]
        problems.sort(key=lambda problem: problem.line)
        return self._kind(**values, unknown=tuple(unknown), problems=tuple(problems), source=text)

    def _take(self, member: JsonMember, values: dict[str, object]) -> None:
        if member.name == "format":
            refuse_unreadable("", count_of(member.value, "format"), self._version, self._name)
        one = self._fields.get(member.name)
        if one is None:
            raise Malformed("")
        if one.field in values:
            raise Malformed("appears twice; the first one counts", "keep one of them")
        values[one.field] = one.from_json(member.value)

    def _members(self, value: J) -> dict[str, object]:
        return {name: one.to_json(getattr(value, one.field)) for name, one in self._fields.items()}

    def render(self, value: J) -> str:
        """Write a text; one that was read keeps every byte outside the members whose value changed."""
        source: str | None = getattr(value, "source", None)
        if source is None:
            unknown: tuple[Unknown, ...] = getattr(value, "unknown", ())
            lines = [f"  {dump(name)}: {dump(one)}" for name, one in self._members(value).items()]
            lines += [f"  {dump(one.place)}: {one.text}" for one in unknown]
            return "{\n" + ",\n".join(lines) + "\n}\n"
        was = self._members(self.parse(source))
        changes = {name: one for name, one in self._members(value).items() if one != was[name]}
        return revise_members(source, changes)
