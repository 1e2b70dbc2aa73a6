"""Stores a field in a Markdown body, in a section or after a bold label, with a codec for its content.

A codec reads the content of a place and separates the text that is not part of the value, its strays. A place
whose value changes is rewritten together with its strays.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, Generic, NamedTuple, Protocol, TypeVar, cast

from passdown.core.documents.keys import Key, read_keys, write_keys
from passdown.core.documents.lists import Kind, Piece, cut_list, split_tick, write_item
from passdown.core.documents.markdown import escape_text, is_placeholder, unescape_text
from passdown.core.documents.tables import cut_table, read_row, write_header, write_row
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Malformed, Problem, error, warning
from passdown.records import names_of, record, replace

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

NONE: Final = "(none)"
_COMMENT_START: Final = pattern(r"\s*<!--")
_SHORT: Final = 60
_MOST_READ: Final = 200_000


class PlacePosition(NamedTuple):
    """The position of a content: its first line and the name of its field."""

    line: int
    field: str


class PlaceReading(NamedTuple, Generic[T_co]):
    """The value that a codec read; strays are text in the place that is not part of the value."""

    value: T_co
    strays: Sequence[str] = ()
    problems: Sequence[Problem] = ()


class Codec(Protocol[T]):
    """How values of one type are written in a document."""

    def read(self, content: str, at: PlacePosition, /) -> PlaceReading[T]:
        """Read a content without the blank lines around it; never raise."""
        ...

    def write(self, value: T, /) -> str:
        """Write a value; return an empty string if there is nothing to write."""
        ...


def rewrite(codec: Codec[T], content: str, value: T) -> str:
    """Rewrite a content so that it holds `value`, together with its strays."""
    return composed(codec.read, codec.write(value), codec.read(content, PlacePosition(1, "")).strays)


def composed(
    read: Callable[[str, PlacePosition], PlaceReading[object]], content: str, strays: Sequence[str]
) -> str:
    """Join a content and its strays, in an order in which they can be told apart.

    1. Strays go before the content, or after it, or each where it does not change the value. Testing many
       strays against a large content would take too long; then those that have a value themselves go after
       it.
    2. If there is no content, a word for "nothing" may keep strays from being read as one.
    """
    if not strays:
        return content

    def value_of(text: str) -> object:
        return read(text, PlacePosition(1, "")).value

    wanted = value_of(content)

    def orders() -> Iterator[Sequence[str]]:
        if content:  # 1
            yield [*strays, content]
            yield [content, *strays]
            beside = content if len(strays) * len(content) < _MOST_READ else ""
            alone = value_of(beside)
            harmless = {text: value_of(f"{text}\n\n{beside}") == alone for text in strays}
            before = [text for text in strays if harmless[text]]
            yield [*before, content, *(text for text in strays if not harmless[text])]
        else:  # 2
            yield strays
            yield [NONE, *strays]
            yield [f"- {NONE}", *strays]

    joined = ""
    for order in orders():
        joined = "\n\n".join(order)
        if value_of(joined) == wanted:
            break
    return joined


@record(kw_only=False)
class Paragraph:
    """Free text; all of it is the value."""

    nothing: str = ""

    def read(self, content: str, _at: PlacePosition) -> PlaceReading[str]:
        """Read the whole content."""
        text = content.replace("\r\n", "\n").strip()
        return PlaceReading("" if is_placeholder(text) else unescape_text(text))

    def write(self, value: str) -> str:
        """Write the text, or the word for nothing."""
        return escape_text(value) if value else self.nothing


def _sift(
    pieces: Sequence[Piece], read: Callable[[Piece], T], problems: list[Problem], wrong: Problem
) -> PlaceReading[tuple[T, ...]]:
    """Read the items; invalid ones become strays. `wrong` is the problem for stray text."""
    values: list[T] = []
    strays: list[str] = []
    for piece in pieces:
        if piece.kind is Kind.ITEM:
            try:
                values.append(read(piece))
            except Malformed as found:
                problems.append(error(piece.line, wrong.field, found.problem, found.hint))
                said = "\n".join(line.rstrip("\r") for line in piece.lines)
                strays.append(said.strip("\n"))
        elif piece.kind is Kind.STRAY:
            strays.append("\n".join(piece.said).strip("\n"))
            if not is_comment(piece.text):
                first = piece.text.split("\n", 1)[0]
                short = first if len(first) <= _SHORT else f"{first[: _SHORT - 1]}…"
                problems.append(warning(piece.line, wrong.field, f"{wrong.problem}: {short}", wrong.hint))
    return PlaceReading(tuple(values), strays, problems)


@record(kw_only=False)
class ListOf(Generic[T]):
    """A list with one value per item; if `bare`, plain text counts as the item if there is no other."""

    read_one: Callable[[str], T]
    write_one: Callable[[T], str]
    mark: str = "- "
    tick: str = ""
    nothing: str = ""
    bare: bool = False

    def read(self, content: str, at: PlacePosition) -> PlaceReading[tuple[T, ...]]:
        """Read the items; text between them and invalid items are strays."""
        problems: list[Problem] = []
        pieces = cut_list(content, at.line)
        if self.bare and all(piece.kind in {Kind.STRAY, Kind.FRAME} for piece in pieces):
            pieces = [_as_item(piece, at, problems) for piece in pieces]
        wrong = warning(at.line, at.field, "has text that is not a list item", "start it with `- `")
        return _sift(pieces, lambda piece: self._read_one(piece, at, problems), problems, wrong)

    def _read_one(self, piece: Piece, at: PlacePosition, problems: list[Problem]) -> T:
        text = piece.text
        if self.tick:
            found, text = split_tick(text)
            if found.lower() != self.tick.strip("[]"):
                shown = f"has [{found}] instead of {self.tick}" if found else f"has no check box {self.tick}"
                problems.append(warning(piece.line, at.field, shown, fixable=not found))
        return self.read_one(unescape_text(text))

    def write(self, value: tuple[T, ...]) -> str:
        """Write one item per line, or the word for nothing."""
        mark = f"{self.mark}{self.tick} " if self.tick else self.mark
        return "\n".join(write_item(mark, self.write_one(one)) for one in value) or self.nothing


def _as_item(piece: Piece, at: PlacePosition, problems: list[Problem]) -> Piece:
    """Treat plain text as an item, because agents forget the marker where a list holds one item."""
    if piece.kind is not Kind.STRAY or is_comment(piece.text):
        return piece
    problems.append(warning(piece.line, at.field, "is not a list item", fixable=True))
    return piece._replace(kind=Kind.ITEM)


@record(kw_only=False)
class TableOf(Generic[T]):
    """A table with one value per row."""

    header: tuple[str, ...]
    read_one: Callable[[list[str]], T]
    write_one: Callable[[T], Sequence[str]]

    def read(self, content: str, at: PlacePosition) -> PlaceReading[tuple[T, ...]]:
        """Read the rows; text between them and invalid rows are strays."""
        problems: list[Problem] = []
        wrong = warning(at.line, at.field, "has text that is not a table row", "write `| … | … |`")
        pieces = cut_table(content, self.header, at.line)
        return _sift(pieces, lambda piece: self.read_one(self._cells(piece, at, problems)), problems, wrong)

    def _cells(self, piece: Piece, at: PlacePosition, problems: list[Problem]) -> list[str]:
        cells = read_row(piece.text)
        wanted = len(self.header)
        if len(cells) > wanted:
            hint = r"write \| for a bar inside a cell"
            problems.append(
                warning(
                    piece.line, at.field, f"has {len(cells)} cells instead of {wanted}", hint, fixable=True
                )
            )
        first, last = cells[: wanted - 1], cells[wanted - 1 :]
        return [*first, *[""] * (wanted - 1 - len(first)), " | ".join(last).strip()]

    def write(self, value: tuple[T, ...]) -> str:
        """Write the header and one line per row."""
        return "\n".join([write_header(self.header), *(write_row(self.write_one(one)) for one in value)])


def rows_of(cls: type[T], *header: str) -> TableOf[T]:
    """Return a codec for a table of records of texts, with one column per field."""
    names = names_of(cls)
    make = cast("Callable[..., T]", cls)
    return TableOf(header, lambda cells: make(**dict(zip(names, cells, strict=True))), attrgetter(*names))


@record(kw_only=False)
class Omittable(Generic[T]):
    """A value that is not written at all if it is empty, neither as a word for nothing nor as a header."""

    codec: Codec[T]

    def read(self, content: str, at: PlacePosition) -> PlaceReading[T]:
        """Read the value."""
        return self.codec.read(content, at)

    def write(self, value: T) -> str:
        """Write the value, or nothing."""
        return self.codec.write(value) if value else ""


def is_comment(text: str) -> bool:
    """Return whether a text consists only of HTML comments."""
    at = 0
    while match := _COMMENT_START.match(text, at):
        closing = text.find("-->", match.end())
        if closing < 0:
            return False
        at = closing + len("-->")
    return not text[at:].strip()


@record(kw_only=False)
class SingleLine(Generic[T]):
    """One line; anything after it is a stray."""

    read_one: Callable[[str], T]
    write_one: Callable[[T], str]
    empty: T

    def read(self, content: str, at: PlacePosition) -> PlaceReading[T]:
        """Read the first line."""
        first, _, more = content.partition("\n")
        strays = [more.strip("\r\n")] if more.strip() else []
        problems = [warning(at.line + 1, at.field, "has more than one line")] if strays else []
        text = first.strip()
        if not text or is_placeholder(text):
            return PlaceReading(self.empty, strays, problems)
        try:
            return PlaceReading(self.read_one(unescape_text(text)), strays, problems)
        except Malformed as found:
            problem = error(at.line, at.field, found.problem, found.hint)
            return PlaceReading(self.empty, [text, *strays], [problem, *problems])

    def write(self, value: T) -> str:
        """Write the value on one line, or nothing."""
        if value == self.empty:
            return ""
        return escape_text(" ".join(self.write_one(value).split("\n")).strip())


@record(kw_only=False)
class Entries:
    """Several `key: value` lines; the value maps each key to its value."""

    keys: tuple[Key[object], ...]

    def read(self, content: str, at: PlacePosition) -> PlaceReading[Mapping[str, object]]:
        """Read the known keys; other lines are strays."""
        found = read_keys(content, self.keys, at.line)
        strays = [one.text for one in found.unknown]
        problems = [replace(one, field=f"{at.field}/{one.field}") for one in found.problems]
        return PlaceReading(found.values, strays, problems)

    def write(self, value: Mapping[str, object]) -> str:
        """Write the keys."""
        return write_keys(self.keys, value, ()).rstrip("\n")


@record(kw_only=False)
class Heading:
    """A section that only holds other places."""

    def read(self, content: str, _at: PlacePosition) -> PlaceReading[None]:
        """Keep all content as a stray."""
        return PlaceReading(None, [content] if content else ())

    def write(self, _value: None) -> str:
        """Write nothing."""
        return ""


@record(kw_only=False)
class Place(Generic[T_co]):
    """A section or bold label that holds one field.

    `name` is the path of titles; `lead` and `trail` are written before and after its content when it is first
    added.
    """

    name: str
    codec: Codec[T_co]
    head: str
    lead: str = "\n"
    trail: str = "\n\n"
    required: bool = True

    @property
    def is_label(self) -> bool:
        """Return whether the place is a bold label inside a section."""
        return self.head.startswith("**")
