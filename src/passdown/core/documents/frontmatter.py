"""The YAML subset of our formats: entries at the left edge, read as their field expects.

An entry is `key: value` at the start of a line, with the indented lines or `- items` below it. The field that
reads a value decides what it means, so `- fix: the thing` can be an item in a list of texts. Text is literal;
there are no anchors, tags, booleans or dates. Lines that are not part of an entry are kept as stray text.
Rules:

1. text: null, quoted, a block under `|` or `>`, or literally the rest of the line and the lines below it.
2. texts: one `- item` per line, or `[a, b]`, or one text.
3. map: one `  key: text` per line; a list of `- key: text` is also read.
4. records: a list of maps.
5. anything else (maps and lists in brackets) goes to `yaml_library`, which rejects unsafe YAML.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, NamedTuple

from passdown.core.documents import yaml_library
from passdown.core.documents.scalars import (
    NULLS,
    can_be_block,
    quote,
    read_flow,
    read_scalar,
    unquote,
    write_scalar,
)
from passdown.core.ids import slug
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Malformed

# Both begin with the line end before the key, because searching for a single character is fastest.
_KEY: Final = pattern(r"\n([A-Za-z_][A-Za-z0-9_-]{0,63}):(?!\S)([^\n]*)")
_NESTED_KEY: Final = pattern(
    r"""\n("(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\n]|'')*'|[^\s#"'\-][^\n:]*(?::\S[^\n:]*)*):(?!\S)([^\n]*)"""
)
# Runs of lines: any non-blank lines, and lines after an entry that do not belong to it.
_LINES: Final = pattern(r"(?:^[^\n]*\S[^\n]*\n?)+", re.MULTILINE)
_STRAYS: Final = pattern(r"(?:^(?![ \t\r\n]|-[ \t\r\n]|-\Z|[\]}][ \t\r]*(?:\n|\Z))[^\n]+\n?)+", re.MULTILINE)
_MAYBE_STRAY: Final = pattern(r"\n(?![ \t\r\n]|-[ \t\r\n]|-?\Z)")
# The form in which we write maps and records, split in one step; anything else takes the slower path.
_PLAIN_PAIR: Final = pattern(
    r"""  ([A-Za-z_][A-Za-z0-9_-]*): (?:"([^"\\\n]*)"|([^\s"'|>{\[#][^\n]*))(?:\n|\Z)"""
)
_PLAIN_MEMBER: Final = pattern(r"""(- |  )([A-Za-z_][A-Za-z0-9_-]*): ([^\s"'|>{\[#][^\n]*)(?:\n|\Z)""")
_QUOTES: Final = frozenset("\"'")
_KEY_LIMIT: Final = 64
_PLAIN_KEY: Final = pattern(r"[A-Za-z_][A-Za-z0-9_-]*")
# How a line below a key can begin, and what can follow its dash.
_BELOW: Final = frozenset({"", " ", "\t", "\r", "-"})
_BLANKS: Final = frozenset({"", " ", "\t", "\r"})
_BLOCK: Final = pattern(r"[|>][+-]?([1-9]?)[+-]?")
_DASH: Final = pattern(r"([ \t]*)-(?:[ \t]+|$)")


class FrontMatterEntry(NamedTuple):
    """One key with its value as written, and its position in the text it was read from."""

    key: str
    head: str
    rest: str
    start: int
    end: int


# Making a named tuple the usual way takes twice as long.
make_entry: Final[Callable[[tuple[str, str, str, int, int]], FrontMatterEntry]] = partial(
    tuple.__new__,  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  # untyped stub
    FrontMatterEntry,
)


class FrontMatterStray(NamedTuple):
    """A run of text that belongs to no entry."""

    text: str
    start: int


class FrontMatterSplit(NamedTuple):
    """A document split at its front matter; the joined parts are the document."""

    opening: str
    matter: str
    closing: str
    body: str


def line_at(text: str, offset: int) -> int:
    """Return the line number, counted from 1, of an offset."""
    return text.count("\n", 0, offset) + 1


class LineCounter:
    """Returns line numbers for many offsets of one text; it searches for line ends only once."""

    def __init__(self, text: str) -> None:
        """Store the text; its line ends are found on first use."""
        self._text = text
        self._ends: list[int] | None = None

    def at(self, offset: int) -> int:
        """Return the line number, counted from 1, of an offset."""
        if self._ends is None:
            self._ends = [match.start() for match in re.finditer("\n", self._text)]
        return bisect_left(self._ends, offset) + 1


def split_front_matter(text: str) -> FrontMatterSplit:
    """Split a document at its front matter, which starts at byte 0 or is absent.

    1. No `---` on the first line: everything is body.
    2. Closed by the next line that is exactly `---`.
    3. Never closed: it ends at the first blank line, heading, or the end; `closing` is empty.
    """
    end = text.find("\n---", 3) + 1 if text.startswith("---\n") else 0
    if end and text.startswith("---\n", end):  # 2, in nearly every document
        return FrontMatterSplit("---\n", text[4:end], "---\n", text[end + 4 :])
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    first = re.compile(r"---[ \t]*\r?(?:\n|\Z)").match(text, len(bom))
    if not first:  # 1
        return FrontMatterSplit(bom, "", "", text[len(bom) :])
    start = first.end()
    close = re.compile(r"^---[ \t]*\r?(?:\n|\Z)", re.MULTILINE).search(text, start)
    if close:  # 2
        return FrontMatterSplit(text[:start], text[start : close.start()], close[0], text[close.end() :])
    stop = re.compile(r"^(?:[ \t]*\r?$|#{1,6} )", re.MULTILINE).search(text, start)  # 3
    end = stop.start() if stop else len(text)
    return FrontMatterSplit(text[:start], text[start:end], "", text[end:])


def split_entries(text: str) -> tuple[list[FrontMatterEntry], list[FrontMatterStray]]:
    """Split a text into entries and stray text; together they are all of it except blank lines."""
    return _split(text, _KEY)


def plain_parts(text: str) -> list[tuple[str, str, list[str]]] | None:
    """Split a text that holds only entries into (key, rest of the line, lines below).

    Return None if it holds anything else. A faster `split_entries` for the many texts without problems.
    """
    parts: list[tuple[str, str, list[str]]] = []
    below: list[str] | None = None
    for line in text.split("\n"):
        first = line[:1]
        if first in _BELOW:
            if below is not None:
                if first == "-" and line[1:2] not in _BLANKS:
                    return None
                below.append(line)
            elif line.strip():
                return None
        else:
            key, colon, head = line.partition(":")
            if not colon or not (head[:1] in _BLANKS or head[0].isspace()) or not _can_be_key(key):
                return None
            below = []
            parts.append((key, head, below))
    return parts


def _can_be_key(key: str) -> bool:
    """Return whether a word can be a key. Nearly all are identifiers, a faster check than a pattern."""
    if len(key) > _KEY_LIMIT:
        return False
    return (key.isidentifier() and key.isascii()) or _PLAIN_KEY.fullmatch(key) is not None


def read_plain_texts(lines: list[str]) -> tuple[str, ...] | None:
    """Read a list with one line per item; return None if it is more complex."""
    texts: list[str] = []
    for line in lines:
        if line[:2] == "- ":
            item = line[2:].strip()
            text = read_scalar(item) if item[:1] in _QUOTES else item
            if text:
                texts.append(text)
        elif line:
            return None
    return tuple(texts)


def _split(text: str, pattern: re.Pattern[str]) -> tuple[list[FrontMatterEntry], list[FrontMatterStray]]:
    parts = iter(pattern.split(f"\n{text}"))
    start = len(next(parts))
    strays = list(_strays(text, 0, start - 1, _LINES)) if start > 1 else []
    entries: list[FrontMatterEntry] = []
    for key, head, below in zip(parts, parts, parts, strict=True):
        value = start + len(key) + len(head) + 2
        end = value + len(below)
        rest = text[value:end] if below else ""
        if below and _MAYBE_STRAY.search(below):
            strays += _strays(text, value, end, _STRAYS)
            rest = _STRAYS.sub("", rest)
        entries.append(make_entry((key, head.strip(), rest, start, min(end, len(text)))))
        start = end
    return entries, strays


def raw_entry(text: str, entry: FrontMatterEntry) -> str:
    """Return an entry as written, without stray lines inside it."""
    newline = text.find("\n", entry.start, entry.end)
    return text[entry.start : newline + 1] + entry.rest if newline >= 0 else text[entry.start : entry.end]


def _strays(text: str, start: int, end: int, pattern: re.Pattern[str]) -> Iterator[FrontMatterStray]:
    for match in pattern.finditer(text, start, end):
        yield FrontMatterStray(match[0].rstrip("\r\n"), match.start())


def read_text(entry: FrontMatterEntry) -> str | None:
    """Read a text, or None for null; raise `Malformed` for a list."""
    head, rest = entry.head, entry.rest
    if not rest or rest.isspace():
        return read_scalar(head)
    if not head:
        return _read_below(rest)
    block = _BLOCK.fullmatch(head) if head[0] in "|>" else None
    if block:
        text = _dedent(rest, int(block[1] or 0))
        return _folded(text.split("\n")) if head[0] == ">" else text
    if head[0] in "\"'" and unquote(head) is None:
        quoted = _read_quoted(f"{head}\n{rest}")
        if quoted is not None:
            return quoted
    first = read_scalar(head)
    return f"{head if first is None else first}\n{_dedent(rest)}"


def _read_below(rest: str) -> str | None:
    """Read a text from the lines below its key."""
    below = _dedent(rest)
    if below.startswith("- "):
        raise Malformed("is a list, but one text is expected", "keep one line; move the others")
    return below if "\n" in below else read_scalar(below)


def _read_quoted(text: str) -> str | None:
    """Read a quoted text of several lines; return None if `text` is not one."""
    lines: list[str] = []
    joined = False
    for line in text.rstrip().split("\n"):
        bare = line.strip()
        before = lines.pop()[:-1] if joined else ""
        lines += [before + bare] if bare or not joined else [before, ""]
        # In double quotes, a backslash at the end of a line removes the line end.
        joined = text[0] == '"' and (len(bare) - len(bare.rstrip("\\"))) % 2 == 1
    return unquote(_folded(lines))


def _folded(lines: Iterable[str]) -> str:
    """Join lines as YAML folds them: a blank line is a line end, more indented lines keep theirs."""
    parts: list[str] = []
    breaks = 0
    before = ""
    for line in lines:
        if not line:
            breaks += 1
            continue
        if before:
            deeper = line[0] in " \t" or before[0] in " \t"
            parts.append("\n" * (breaks + 1) if deeper else "\n" * breaks or " ")
        parts.append(line)
        before, breaks = line, 0
    return "".join(parts)


def _dedent(text: str, cut: int = 0) -> str:
    """Remove the common indent, or `cut`, from lines, and the blank lines around them."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    common = min((_indent(line) for line in lines if line.strip()), default=0)
    cut = min(cut or common, common)
    return "\n".join(line[cut:] if line.strip() else "" for line in lines).strip("\n")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def read_texts(entry: FrontMatterEntry) -> tuple[str, ...]:
    """Read a list of texts; a single text is a list of one, and empty items are skipped."""
    if entry.head:
        return _read_texts_on_line(entry)
    below = f"\n{entry.rest.rstrip()}"
    first, *items = below.split("\n- ")
    if first.strip() or below.count("\n") != len(items) + first.count("\n"):
        return tuple(text for item in _items(entry.rest) if (text := _item_text(item)))
    bare = [item.strip() for item in items]
    texts = [read_scalar(item) if item[:1] in _QUOTES else item for item in bare]
    return tuple([text for text in texts if text])


def _read_texts_on_line(entry: FrontMatterEntry) -> tuple[str, ...]:
    head = entry.head
    whole = f"{head}\n{entry.rest}".rstrip()
    if not (head.startswith("[") and whole.endswith("]")):
        text = read_text(entry)
        return () if text is None else (text,)
    try:
        loaded: yaml_library.Value = list(read_flow(whole)) if whole == head else yaml_library.load(whole)
    except Malformed:
        loaded = yaml_library.load(whole)
    items = [item for item in loaded if isinstance(item, str)] if isinstance(loaded, list) else []
    if not isinstance(loaded, list) or len(items) < len(loaded):
        raise Malformed("is not a list of strings", "write one `- item` on each line")
    return tuple(items)


def _items(rest: str) -> list[str]:
    """Split a list into items, each without its dash and indent."""
    items: list[list[str]] = []
    edge = width = 0
    for line in rest.replace("\r\n", "\n").split("\n"):
        match = _DASH.match(line)
        if match and (not items or len(match[1]) <= edge):
            edge = edge if items else len(match[1])
            width = max(match.end(), edge + 2)
            items.append([line[match.end() :]])
        elif items:
            items[-1].append(line[min(width, _indent(line)) :])
        elif line.strip():
            raise Malformed("is not a list", "write one `- item` on each line")
    return ["\n".join(item).rstrip("\n") for item in items]


def _item_text(item: str) -> str:
    head, _, rest = item.partition("\n")
    head = head.strip()
    text = read_text(FrontMatterEntry("", head, rest, 0, 0))
    return head if text is None else text


def read_pairs(entry: FrontMatterEntry) -> tuple[tuple[str, str], ...]:
    """Read a map of texts in order; a text without a key gets a key made from its words."""
    if entry.head:
        return _read_pairs_on_line(entry)
    parts = _PLAIN_PAIR.split(entry.rest)
    if not "".join(parts[::4]).strip("\n"):
        found = zip(parts[1::4], parts[2::4], parts[3::4], strict=True)
        return tuple(
            [
                (key, read_scalar(text.strip()) or "" if quoted is None else quoted)
                for key, quoted, text in found
            ]
        )
    below = _dedent(entry.rest)
    if below.startswith("- "):
        return tuple(pair for item in _items(below) for pair in _pairs(item))
    return _pairs(below)


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    entries, strays = _split(text, _NESTED_KEY)
    pairs: list[tuple[int, int, str, str]] = []
    for one in entries:
        key = read_scalar(one.key)
        pairs.append((one.start, 0, one.key if key is None else key, read_text(one) or ""))
    for stray in strays:
        lines = enumerate(stray.text.split("\n"))
        pairs += [(stray.start, number, slug(line), line.strip()) for number, line in lines]
    return tuple((key, value) for _, _, key, value in sorted(pairs))


def _read_pairs_on_line(entry: FrontMatterEntry) -> tuple[tuple[str, str], ...]:
    if read_scalar(entry.head) is None and not entry.rest.strip():
        return ()
    loaded = yaml_library.load(entry.head + "\n" + entry.rest) if entry.head[0] == "{" else None
    if not isinstance(loaded, dict):
        raise Malformed("is not a map of strings", "write one `  key: text` on each line")
    return _loaded_pairs(loaded)


def _loaded_pairs(loaded: dict[str, yaml_library.Value]) -> tuple[tuple[str, str], ...]:
    pairs = [(key, value) for key, value in loaded.items() if isinstance(value, str)]
    if len(pairs) < len(loaded):
        raise Malformed("is not a map of strings", "write one `  key: text` on each line")
    return tuple(pairs)


def read_records(entry: FrontMatterEntry) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Read a list of maps."""
    if entry.head:
        return _read_records_on_line(entry)
    parts = _PLAIN_MEMBER.split(entry.rest)
    if parts[1:2] != ["- "] or "".join(parts[::4]).strip("\n"):
        return tuple(_read_record(item) for item in _items(entry.rest) if item.strip())
    records: list[list[tuple[str, str]]] = []
    for mark, key, text in zip(parts[1::4], parts[2::4], parts[3::4], strict=True):
        if mark == "- ":
            records.append([])
        bare = text.strip()
        records[-1].append((key, "" if bare in NULLS else bare))
    return tuple([tuple(record) for record in records])


def _read_record(item: str) -> tuple[tuple[str, str], ...]:
    head, _, rest = item.partition("\n")
    if head.startswith("{"):
        return _read_pairs_on_line(FrontMatterEntry("", head, rest, 0, 0))
    return _pairs(item if head.strip() else _dedent(rest))


def _read_records_on_line(entry: FrontMatterEntry) -> tuple[tuple[tuple[str, str], ...], ...]:
    if read_scalar(entry.head) is None and not entry.rest.strip():
        return ()
    loaded = yaml_library.load(entry.head + "\n" + entry.rest)
    maps = [one for one in loaded if isinstance(one, dict)] if isinstance(loaded, list) else []
    if not isinstance(loaded, list) or len(maps) < len(loaded):
        raise Malformed("is not a list of maps", "write `- key: value` lines")
    return tuple(_loaded_pairs(one) for one in maps)


def write_text(key: str, text: str | None) -> str:
    """Write an entry that holds one text; several lines become a readable block."""
    return f"{key}: {'null' if text is None else _write_block(text)}\n"


def _write_block(text: str) -> str:
    """Write a text as a block if it has several lines, else on its line."""
    if not can_be_block(text):
        return write_scalar(text)
    return "|-\n" + "\n".join(f"  {line}" if line else "" for line in text.split("\n"))


def write_texts(key: str, items: Iterable[str]) -> str:
    """Write an entry that holds a list, one item per line."""
    lines = [f"- {_write_block(item)}\n" for item in items]
    return f"{key}:\n{''.join(lines)}" if lines else f"{key}: []\n"


def write_map(key: str, pairs: Iterable[tuple[str, str]]) -> str:
    """Write an entry that holds a map of texts; the texts are always quoted."""
    lines = [f"  {write_scalar(name)}: {quote(text)}\n" for name, text in pairs]
    return f"{key}:\n{''.join(lines)}" if lines else f"{key}: {{}}\n"


def write_records(key: str, records: Iterable[Iterable[tuple[str, str]]]) -> str:
    """Write an entry that holds a list of maps; the values are written without quoting."""
    lines = ["  ".join(f"{name}: {value}\n" for name, value in record) for record in records]
    return f"{key}:\n{''.join(f'- {line}' for line in lines)}" if lines else f"{key}: []\n"
