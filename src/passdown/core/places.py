"""Where a field of a Markdown document lives and how it is written there.

A place is a key of the front matter, a section, or a bold label in a section. Its codec reads what stands
there, keeps apart what is no value of it, and can change the value without touching the rest.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from passdown.core.keys import AnyKey, HeldKey, read_keys, revise_keys, write_keys
from passdown.core.lists import cut_list, read_item, split_tick, write_item
from passdown.core.markdown import escape_text, is_placeholder, unescape_text
from passdown.core.patterns import pattern
from passdown.core.pieces import Kind, Piece, splice
from passdown.core.problems import Malformed, Problem, error, warning
from passdown.core.tables import cut_table, read_row, write_header, write_row
from passdown.records import record, replace

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

NONE: Final = "(none)"
_COMMENT_START: Final = pattern(r"\s*<!--")
_SHORT: Final = 60


class At(NamedTuple):
    """Where a content stands: its first line and the name of its field."""

    line: int
    field: str


class Stray(NamedTuple):
    """Text in a place that is no value of it."""

    line: int
    text: str


class Reading(NamedTuple, Generic[T_co]):
    """What a codec found."""

    value: T_co
    strays: Sequence[Stray] = ()
    problems: Sequence[Problem] = ()


class Codec(Protocol[T]):
    """How values of one type stand in a document."""

    def read(self, content: str, at: At, /) -> Reading[T]:
        """Read a content without the blank lines around it; never raise."""
        ...

    def write(self, value: T, /) -> str:
        """Write a value; empty when there is nothing to write."""
        ...

    def revise(self, content: str, value: T, /) -> str:
        """Make a content say `value`, keeping what is no value of it."""
        ...


@record(kw_only=False)
class Paragraph:
    """Free text, all of it the value."""

    nothing: str = ""

    def read(self, content: str, _at: At) -> Reading[str]:
        """Read the whole content."""
        text = content.replace("\r\n", "\n").strip()
        return Reading("" if is_placeholder(text) else unescape_text(text))

    def write(self, value: str) -> str:
        """Write the text, or the word for nothing."""
        return escape_text(value) if value else self.nothing

    def revise(self, _content: str, value: str) -> str:
        """Write the text anew."""
        return self.write(value)


class _Cut(NamedTuple, Generic[T]):
    """A list or table in pieces, with the values of its items."""

    pieces: list[Piece]
    values: list[T]
    problems: list[Problem]

    @property
    def strays(self) -> list[Stray]:
        """The pieces that are no items."""
        strays = [piece for piece in self.pieces if piece.kind is Kind.STRAY]
        return [Stray(piece.line, "\n".join(piece.said).strip("\n")) for piece in strays]

    def reading(self) -> Reading[tuple[T, ...]]:
        """What a codec answers."""
        return Reading(tuple(self.values), self.strays, self.problems)


def _sift(
    pieces: list[Piece], read: Callable[[Piece], T], problems: list[Problem], wrong: Problem
) -> _Cut[T]:
    """Read the items; those that do not fit become strays. `wrong` is the problem of text that is no item."""
    values: list[T] = []
    for index, piece in enumerate(pieces):
        if piece.kind is Kind.ITEM:
            try:
                values.append(read(piece))
            except Malformed as found:
                problems.append(error(piece.line, wrong.field, found.problem, found.hint))
                said = [line.rstrip("\r") for line in piece.lines]
                pieces[index] = piece._replace(kind=Kind.STRAY, said=said)
        elif piece.kind is Kind.STRAY and not is_comment(piece.text):
            shown = f"{wrong.problem}: {_short(piece.text)}"
            problems.append(warning(piece.line, wrong.field, shown, wrong.hint))
    return _Cut(pieces, values, problems)


def composed(read: Callable[[str, At], Reading[object]], content: str, strays: Sequence[str]) -> str:
    """Put a content and its strays together, in an order in which they are told apart.

    1. Strays stand before the content, or behind it, or each where it does no harm.
    2. Where there is no content, a word for "nothing" may keep strays from being taken for it.
    """
    wanted = read(content, At(1, "")).value

    def reads_well(text: str) -> bool:
        return read(text, At(1, "")).value == wanted

    def orders() -> Iterator[Sequence[str]]:
        if content:  # 1
            yield [*strays, content]
            yield [content, *strays]
            harmless = [reads_well(f"{text}\n\n{content}") for text in strays]
            before = [text for text, well in zip(strays, harmless, strict=True) if well]
            yield [*before, content, *(text for text, well in zip(strays, harmless, strict=True) if not well)]
        else:  # 2
            yield strays
            yield [NONE, *strays]
            yield [f"- {NONE}", *strays]

    joined = ""
    for order in orders():
        joined = "\n\n".join(order)
        if reads_well(joined):
            break
    return joined


def _checked(codec: Codec[tuple[T, ...]], revised: str, value: tuple[T, ...], strays: Sequence[Stray]) -> str:
    """Return a revised content if it reads as it should, else one laid out anew.

    An odd layout, such as items at several indents, can make new items part of old ones.
    """
    reading = codec.read(revised, At(1, ""))
    anew = codec.write(value)
    if reading.value == codec.read(anew, At(1, "")).value and _lines(reading.strays) == _lines(strays):
        return revised
    return composed(codec.read, anew, [stray.text for stray in strays])


def _lines(strays: Sequence[Stray]) -> list[str]:
    return [line for stray in strays for line in stray.text.split("\n") if line.strip()]


@record(kw_only=False)
class ListOf(Generic[T]):
    """A list with a value in each item; if `bare`, text that is no item is one where there is no other."""

    read_one: Callable[[str], T]
    write_one: Callable[[T], str]
    mark: str = "- "
    tick: str = ""
    nothing: str = ""
    bare: bool = False

    def read(self, content: str, at: At) -> Reading[tuple[T, ...]]:
        """Read the items; text between them and items that do not fit are strays."""
        return self._cut(content, at).reading()

    def _cut(self, content: str, at: At) -> _Cut[T]:
        problems: list[Problem] = []
        pieces = cut_list(content, at.line)
        if self.bare and all(piece.kind in {Kind.STRAY, Kind.FRAME} for piece in pieces):
            pieces = [_as_item(piece, at, problems) for piece in pieces]
        wrong = warning(at.line, at.field, "has text that is no list item", "start it with `- `")
        return _sift(pieces, lambda piece: self._read_one(piece, at, problems), problems, wrong)

    def _read_one(self, piece: Piece, at: At, problems: list[Problem]) -> T:
        text = piece.text
        if self.tick:
            found, text = split_tick(text)
            if found.lower() != self.tick.strip("[]"):
                shown = f"[{found}]" if found else "no check box"
                problems.append(
                    warning(piece.line, at.field, f"has {shown}, not {self.tick}", fixable=not found)
                )
        return self.read_one(read_item(text))

    def write(self, value: tuple[T, ...]) -> str:
        """Write one item a line, or the word for nothing."""
        return "\n".join(self._write_one(one) for one in value) or self.nothing

    def _write_one(self, one: T) -> str:
        return write_item(f"{self.mark}{self.tick} " if self.tick else self.mark, self.write_one(one))

    def revise(self, content: str, value: tuple[T, ...]) -> str:
        """Rewrite only the items that differ."""
        cut = self._cut(content, At(1, ""))
        spliced = splice(cut.pieces, cut.values, value, self._write_one) or self.nothing
        return _checked(self, spliced, value, cut.strays)


@record(kw_only=False)
class TableOf(Generic[T]):
    """A table with a value in each row."""

    header: tuple[str, ...]
    read_one: Callable[[list[str]], T]
    write_one: Callable[[T], Sequence[str]]

    def read(self, content: str, at: At) -> Reading[tuple[T, ...]]:
        """Read the rows; text between them and rows that do not fit are strays."""
        return self._cut(content, at).reading()

    def _cut(self, content: str, at: At) -> _Cut[T]:
        problems: list[Problem] = []
        wrong = warning(at.line, at.field, "has text that is no table row", "write `| … | … |`")
        pieces = cut_table(content, self.header, at.line)
        return _sift(pieces, lambda piece: self.read_one(self._cells(piece, at, problems)), problems, wrong)

    def _cells(self, piece: Piece, at: At, problems: list[Problem]) -> list[str]:
        cells = read_row(piece.text)
        wanted = len(self.header)
        if len(cells) > wanted:
            hint = r"write \| for a bar inside a cell"
            problems.append(
                warning(piece.line, at.field, f"has {len(cells)} cells, not {wanted}", hint, fixable=True)
            )
        first, last = cells[: wanted - 1], cells[wanted - 1 :]
        return [*first, *[""] * (wanted - 1 - len(first)), " | ".join(last).strip()]

    def write(self, value: tuple[T, ...]) -> str:
        """Write the header and a line for each row."""
        return "\n".join([write_header(self.header), *map(self._write_one, value)])

    def _write_one(self, one: T) -> str:
        return write_row(self.write_one(one))

    def revise(self, content: str, value: tuple[T, ...]) -> str:
        """Rewrite only the rows that differ; the first row of all gets a header."""
        cut = self._cut(content, At(1, ""))
        spliced = splice(cut.pieces, cut.values, value, self._write_one, write_header(self.header))
        return _checked(self, spliced, value, cut.strays)


def _as_item(piece: Piece, at: At, problems: list[Problem]) -> Piece:
    """Take plain text for an item, where a list holds one thing and agents forget its marker."""
    if piece.kind is not Kind.STRAY or is_comment(piece.text):
        return piece
    problems.append(warning(piece.line, at.field, "is not a list item", fixable=True))
    return piece._replace(kind=Kind.ITEM)


def is_comment(text: str) -> bool:
    """Tell whether a text is HTML comments only."""
    at = 0
    while match := _COMMENT_START.match(text, at):
        closing = text.find("-->", match.end())
        if closing < 0:
            return False
        at = closing + len("-->")
    return not text[at:].strip()


def _short(text: str) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}…"


class Held(NamedTuple):
    """A value on its way into its place."""

    name: str
    value: object
    write: Callable[[], str]
    revise: Callable[[str], str]


@record(kw_only=False)
class Place(Generic[T]):
    """A section or bold label that holds one field.

    `name` is the path of titles, `lead` and `trail` what stands before and after its content when it is
    written for the first time.
    """

    name: str
    codec: Codec[T]
    head: str
    lead: str = "\n"
    trail: str = "\n\n"
    required: bool = True

    @property
    def is_label(self) -> bool:
        """Tell whether the place is a bold label inside a section."""
        return self.head.startswith("**")

    def read(self, content: str, at: At) -> Reading[T]:
        """Read what stands in the place."""
        return self.codec.read(content, at)

    def holds(self, value: T) -> Held:
        """Say that the place shall hold `value`."""

        def revise(content: str) -> str:
            return self.codec.revise(content, value)

        return Held(self.name, value, partial(self.codec.write, value), revise)


class AnyPlace(Protocol):
    """A place, whatever the type of its field."""

    @property
    def name(self) -> str:
        """The path of titles."""
        ...

    @property
    def head(self) -> str:
        """The heading or label as it is written."""
        ...

    @property
    def lead(self) -> str:
        """What stands between head and content."""
        ...

    @property
    def trail(self) -> str:
        """What stands after the content."""
        ...

    @property
    def required(self) -> bool:
        """Whether it is written and asked for even when it holds nothing."""
        ...

    @property
    def is_label(self) -> bool:
        """Whether it is a bold label inside a section."""
        ...

    def read(self, content: str, at: At) -> Reading[object]:
        """Read what stands in the place."""
        ...


@record(kw_only=False)
class Heading:
    """A section that only holds other places."""

    def read(self, content: str, at: At) -> Reading[None]:
        """Keep whatever stands there as a stray."""
        return Reading(None, [Stray(at.line, content)] if content else ())

    def write(self, _value: None) -> str:
        """Write nothing."""
        return ""

    def revise(self, content: str, _value: None) -> str:
        """Change nothing."""
        return content


@record(kw_only=False)
class Line(Generic[T]):
    """One line; what follows it is stray."""

    read_one: Callable[[str], T]
    write_one: Callable[[T], str]
    empty: T

    def read(self, content: str, at: At) -> Reading[T]:
        """Read the first line."""
        first, _, more = content.partition("\n")
        strays = [Stray(at.line + 1, more.strip("\r\n"))] if more.strip() else []
        problems = [warning(at.line + 1, at.field, "is more than one line")] if strays else []
        text = first.strip()
        if not text or is_placeholder(text):
            return Reading(self.empty, strays, problems)
        try:
            return Reading(self.read_one(unescape_text(text)), strays, problems)
        except Malformed as found:
            problem = error(at.line, at.field, found.problem, found.hint)
            return Reading(self.empty, [Stray(at.line, text), *strays], [problem, *problems])

    def write(self, value: T) -> str:
        """Write the value on one line, or nothing."""
        if value == self.empty:
            return ""
        return escape_text(" ".join(self.write_one(value).split("\n")).strip())

    def revise(self, content: str, value: T) -> str:
        """Write the first line anew; where others follow, one that holds nothing says so."""
        _, newline, more = content.partition("\n")
        return (self.write(value) or (NONE if more.strip() else "")) + newline + more


@record(kw_only=False)
class Entries(Generic[T]):
    """Some `key: value` lines that together are one value."""

    keys: tuple[AnyKey, ...]
    make: Callable[[Mapping[str, object]], T]
    held: Callable[[T], Sequence[HeldKey]]

    def read(self, content: str, at: At) -> Reading[T]:
        """Read the known keys; other lines are strays."""
        found = read_keys(content, self.keys, at.line)
        strays = [Stray(at.line, one.text) for one in found.unknown]
        problems = [replace(one, field=f"{at.field}/{one.field}") for one in found.problems]
        return Reading(self.make(found.values), strays, problems)

    def write(self, value: T) -> str:
        """Write the keys."""
        return write_keys(self.held(value), ()).rstrip("\n")

    def revise(self, content: str, value: T) -> str:
        """Change the keys that differ."""
        was = read_keys(content, self.keys, 1).values
        return revise_keys(content + "\n", self.held(value), was, frozenset()).rstrip("\n")
