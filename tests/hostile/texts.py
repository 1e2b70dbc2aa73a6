"""Texts, names and values made to break parsers; `tests.hostile.hostile_runs` measures what they do."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

from passdown.core.documents.documents import DocumentShape
from passdown.core.formats import archives, ledgers, streams, views
from passdown.core.formats.journal import checksum

LIMIT: Final = 1_048_576
"""What most parsers refuse to read; the worst texts are a little shorter."""

Maker = Callable[[float], str]


class Hostile(NamedTuple):
    """A named text, made when it is needed."""

    name: str
    make: Maker


def _many(unit: str, count: int, before: str = "", after: str = "") -> Maker:
    """Repeat a unit; the size scales the count."""
    return lambda size: before + unit * max(int(count * size), 2) + after


def _full(unit: str, before: str = "", after: str = "") -> Maker:
    """Repeat a unit up to just under the limit of the parsers, with room for what is put around it."""
    return _many(unit, (LIMIT - 1024) // len(unit), before, after)


def _numbered(pattern: str, count: int) -> Maker:
    """Repeat a pattern in which `#` is the number of the repetition."""

    def make(size: float) -> str:
        return "".join(pattern.replace("#", str(number)) for number in range(max(int(count * size), 2)))

    return make


def _same(text: str) -> Maker:
    return lambda size: text if size else ""


def _laughs(size: float) -> str:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    more = range(1, max(int(40 * size), 9))
    lines += [f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]" for number in more]
    return "\n".join(lines) + "\n"


def _quadratic(size: float) -> str:
    count = max(int(30_000 * size), 2)
    return f"a: &a [{', '.join(['x'] * count)}]\nb: [{', '.join(['*a'] * count)}]\n"


def _merges(size: float) -> str:
    count = max(int(15_000 * size), 2)
    chained = (f"- &a{number} {{<<: *a{number - 1}, k{number}: v}}\n" for number in range(1, count))
    return "- &a0 {k: v}\n" + "".join(chained)


def _steps(pattern: str, count: int) -> Maker:
    """Lines that go one step deeper each; the text grows with the square of their number."""

    def make(size: float) -> str:
        return "".join(f"{' ' * number}{pattern}\n" for number in range(max(int(count * size**0.5), 2)))

    return make


def _growing(mark: str, count: int) -> Maker:
    """Fences that get longer, so that no later one closes an earlier one by chance."""

    def make(size: float) -> str:
        return "".join(f"{mark * (3 + number)}\n" for number in range(max(int(count * size**0.5), 2)))

    return make


def _shrinking(mark: str, count: int) -> Maker:
    """Fences that get shorter: each is opened, none closed."""

    def make(size: float) -> str:
        last = max(int(count * size**0.5), 2)
        return "".join(f"{mark * (3 + number)}\n" for number in range(last, 0, -1))

    return make


def _fences_then_long(size: float) -> str:
    """Long openings with a word, as many closers that are too short, and one that is long enough."""
    count = max(int(60_000 * size), 2)
    return "````a\n" * count + "```\n" * count + "````\n"


YAML: Final[Mapping[str, Maker]] = MappingProxyType(
    {
        "flow lists, open": _many("[", 100_000),
        "flow lists, closed": lambda size: _many("[", 100_000)(size) + _many("]", 100_000)(size),
        "flow lists with text": _full("[a, "),
        "flow lists of quotes": _full('["'),
        "flow lists of lists": _full("[],", "[", "]"),
        "flow maps, open": _many("{a: ", 100_000),
        "flow maps, closed": lambda size: _many("{a: ", 100_000)(size) + "b" + _many("}", 100_000)(size),
        "flow maps and lists": _full("[{a: "),
        "flow list of many": _full("a, ", "[", "a]"),
        "flow list of quoted": _full('"a", ', "[", '"a"]'),
        "flow list of commas": _full(",", "[", "]"),
        "flow list of one long text": _full("a ", "[", "]"),
        "flow list of spaces": _full(" ", "[", "x"),
        "explicit keys": _many("? ", 20_000),
        "explicit keys, all": _full("? "),
        "dashes on a line": _many("- ", 100_000),
        "dashes without space": _full("-"),
        "billion laughs": _laughs,
        "aliases, quadratic": _quadratic,
        "merge key chain": _merges,
        "merge key list": _many("*a, ", 20_000, "a: &a {k: v}\nb: {<<: [", "*a]}\n"),
        "anchors": _numbered("- &a# x\n", 60_000),
        "alias of nothing": _many("*", 100_000, "- "),
        "anchor of itself": _same("a: &a [*a, *a]\n"),
        "tag python object": _same('!!python/object/apply:os.system ["exit 1"]\n'),
        "tag python name": _same("a: !!python/name:os.system\nb: !!python/module:os\n"),
        "tags": _full("!!str "),
        "tag, long": _full("!"),
        "tag binary": _full("QUFB", "!!binary |\n  ", "\n"),
        "directives": _numbered("%TAG !e#! tag:example.invalid,2026:\n", 20_000),
        "directive of a future": _same("%YAML 9.9\n---\na: b\n"),
        "documents": _many("---\n", 100_000),
        "document ends": _many("...\n", 100_000),
        "huge integer": _full("9"),
        "huge hex": _full("f", "0x"),
        "huge octal": _full("7", "0o"),
        "huge sexagesimal": _full(":59", "1"),
        "huge exponent": _full("9", "1e"),
        "impossible date": _same("2026-13-45"),
        "impossible dates": _many("- 2026-13-45\n", 50_000),
        "deep indents": _steps("a:", 1400),
        "deep lists": _steps("- ", 1400),
        "block with huge indicator": _same("|999999999\n  a\n"),
        "block with indicator": _many("         a\n", 50_000, "|9\n"),
        "block with huge indent": _full(" ", "|\n", "a\n"),
        "block of blank lines": _full("\n", "|\n", "  a\n"),
        "folded block": _many("  a\n\n", 100_000, ">\n"),
        "folded block, wide": _full("a ", ">\n  ", "\n"),
        "unterminated double quote": _full("a", '"'),
        "unterminated single quote": _full("a", "'"),
        "double quotes": _full('"'),
        "single quotes": _full("'"),
        "mixed quotes": _full("\"'"),
        "backslashes in quotes": _full("\\", '"', 'a"'),
        "escapes": _many("\\x41", 200_000, '"', '"'),
        "escapes beyond Unicode": _many("\\U0011FFFF", 60_000, '"', '"'),
        "half surrogates": _many("\\ud800", 100_000, '"', '"'),
        "swapped surrogates": _many("\\udc00\\ud800", 60_000, '"', '"'),
        "escaped line ends": _many("\\\n", 200_000, '"', '"'),
        "NULs": _full("\0"),
        "NUL in a key": _many("a\0b: c\n", 50_000),
        "long key": _full("k", "", ": v\n"),
        "long quoted key": _full("k", '"', '": v\n'),
        "long nested key": _full("k", "\n  ", ": v\n"),
        "many keys": _numbered("k#: v\n", 80_000),
        "a million keys": _numbered("k#: v\n", 1_000_000),
        "one key often": _full("now: a\n"),
        "many nested keys": _numbered("  k#: v\n", 70_000),
        "one nested key often": _full("  k: v\n"),
        "many items": _full("- a\n"),
        "a million items": _many("- item\n", 1_000_000),
        "many nested items": _full("  - a\n"),
        "empty items": _full("-\n"),
        "items with blocks": _many("- |\n  a\n", 100_000),
        "items with open quotes": _many('- "a\n', 100_000),
        "items with open lists": _many("- [a\n", 100_000),
        "comments": _full("#\n"),
        "comment, long": _full("#"),
        "comment after value": _full(" #", "a"),
        "strays": _full("x\n"),
        "stray and key": _full("x\nk: v\n"),
        "colons": _full(":"),
        "colons and spaces": _full(": "),
        "colons and letters": _full("a:", " "),
        "question marks": _full("?"),
        "percent signs": _full("%"),
        "at signs": _full("@"),
        "pipes": _full("|"),
        "tabs": _full("\t"),
        "tabs before keys": _full("\tk: v\n"),
        "carriage returns": _full("\r"),
        "keys with carriage returns": _full("k: v\r"),
        "keys with both line ends": _full("k: v\r\n"),
        "line separators": _full("\u2028"),
        "byte order marks": _full("\ufeff"),
        "astral": _full("\U0001f600"),
        "combining": _full("\u0301", "a"),
        "blank lines": _full("\n"),
        "lines of a space": _full(" \n"),
    }
)
MARKDOWN: Final[Mapping[str, Maker]] = MappingProxyType(
    {
        "fences, closed": _many("```\na\n```\n", 50_000),
        "fences, one too many": _many("```\n", 100_001),
        "fences with words": _many("```a\n", 100_000),
        "fences, one closed": _many("```a\n", 100_000, after="```\n"),
        "fences in turn": _many("```\n~~~\n", 100_000),
        "fences in turn with words": _many("```a\n~~~a\n", 90_000),
        "fences, growing": _growing("`", 1400),
        "fences, shrinking": _shrinking("`", 1400),
        "fences, growing tildes": _growing("~", 1400),
        "fences, long and short": _fences_then_long,
        "fences in items": _many("- ```\n  a\n", 90_000),
        "fence, long": _full("`"),
        "fence, long tilde": _full("~"),
        "fence after markers": _full("- ", after="```\n"),
        "fence after numbers": _full("1. ", after="```\n"),
        "fence after spaces": _full(" ", after="```\n"),
        "comments, open": _many("<!--\n", 100_000),
        "comments on a line": _many("<!--", 100_000),
        "comments, closed": _many("<!-- -->\n", 100_000),
        "comments, closed on a line": _many("<!---->", 100_000),
        "comment ends": _many("-->\n", 200_000),
        "comments and fences": _many("<!--\n```\n", 100_000),
        "comment, long": _full("a\n", "<!--\n", "-->\n"),
        "headings": _many("# a\n", 100_000),
        "headings of level 2": _many("## a\n", 200_000),
        "headings of level 3": _many("### Next\n", 100_000),
        "headings of level 6": _many("###### a\n", 100_000),
        "headings in turn": _many("## a\n### b\n", 90_000),
        "headings, empty": _many("#\n", 100_000),
        "heading, long": _full("a", "## "),
        "heading of slashes": _full("/", "## "),
        "heading with end": _full("#", "## a "),
        "heading of spaces": _full(" ", "#", "a"),
        "headings, numbered": _numbered("## a#\n", 100_000),
        "bars on a line": _many("|", 100_000),
        "bars on lines": _many("|\n", 100_000),
        "rows": _many("| a | b |\n", 100_000),
        "rows with escapes": _many("| \\| | \\\\ |\n", 80_000),
        "row of escapes": _full("\\|", "| "),
        "row of backslashes": _full("\\", "| "),
        "row of breaks": _full("<br>", "| "),
        "row, broken break": _full("<br ", "| "),
        "row separators": _many("|---|---|\n", 100_000),
        "row separator, long": _full("-", "|"),
        "row separator, broken": _full("-|", "|", "x"),
        "labels": _many("**Goal:** a\n", 80_000),
        "labels on a line": _many("**Goal:** ", 100_000),
        "labels, numbered": _numbered("**L#:** a\n", 70_000),
        "label, open": _full("a", "**"),
        "stars": _full("*"),
        "stars in items": _many("* * * *\n", 100_000),
        "lists, deep": _steps("- a", 1400),
        "lists, deeper on tabs": _many("\t", 10_000, after="- a\n"),
        "lists of numbers": _numbered("#. a\n", 100_000),
        "list, long number": _full("1", after=". a\n"),
        "lists of boxes": _many("- [ ] a\n", 100_000),
        "lists of open boxes": _many("- [", 200_000),
        "list with blank lines": _many("- a\n\n", 200_000),
        "list with blanks, then more": _many("\n", 900_000, "- a\n", "  b\n"),
        "list with many blanks and more": _many("\n  b\n", 200_000, "- a\n"),
        "stray after blanks": _many("\nb\n", 200_000, "- a\n"),
        "arrows": _many("[->] a\n", 100_000),
        "arrows on a line": _many("[->] ", 200_000),
        "phases": _numbered("- Phase #: ✓ VALIDATED (x)\n", 40_000),
        "phases of brackets": _full("(", "- Phase 1: "),
        "rules": _many("---\n", 200_000),
        "rule, long": _full("-"),
        "links": _many("[a](b", 100_000),
        "brackets": _full("["),
        "references": _many("[a]: b\n", 100_000),
        "entities": _many("&amp;", 100_000),
        "tags": _many("<a ", 100_000),
        "quotes": _many("> ", 100_000),
        "backslashes on lines": _many("\\\n", 200_000),
        "placeholders": _many("(none)\n", 100_000),
        "footers": _many("\n_synthesized:\n  event_count: 1\n", 30_000),
        "dashes before colons": _many("a: ", 200_000, "- "),
        "code spans": _many("`a` ", 200_000, "- "),
        "brackets, half": _many("(", 200_000, "- `a` "),
    }
)
LINES: Final[Mapping[str, Maker]] = MappingProxyType(
    {
        f"10 MB of {name}": _many(char, 10_000_000)
        for name, char in (
            ("a", "a"),
            ("space", " "),
            ("backtick", "`"),
            ("dash", "-"),
            ("bar", "|"),
            ("hash", "#"),
            ("star", "*"),
            ("backslash", "\\"),
            ("bracket", "["),
            ("quote", '"'),
            ("line end", "\n"),
        )
    }
    | {
        f"1 MB of {name}": _full(char)
        for name, char in (("a", "a"), ("space", " "), ("hash", "#"), ("backslash", "\\"), ("escape", "\x1b"))
    }
)
JSON: Final[Mapping[str, Maker]] = MappingProxyType(
    {
        "lists, open": _many("[", 100_000),
        "lists, closed": lambda size: _many("[", 100_000)(size) + _many("]", 100_000)(size),
        "objects, open": _many('{"a":', 100_000),
        "objects, closed": lambda size: _many('{"a":', 100_000)(size) + "1" + _many("}", 100_000)(size),
        "lists in objects": _many('{"a":[', 80_000),
        "number, long": _full("9"),
        "number, 5,000 digits": _many("9", 5_000),
        "number, negative": _full("9", "-"),
        "number, exponent": _full("9", "1e"),
        "number, fraction": _full("9", "0."),
        "number, not finite": _same("[NaN, Infinity, -Infinity, 1e999]"),
        "text, open": _full("a", '"'),
        "text of backslashes": _full("\\", '"', '"'),
        "text of escapes": _many("\\u0041", 100_000, '"', '"'),
        "half surrogates": _many("\\ud800", 100_000, '"', '"'),
        "swapped surrogates": _many("\\udc00\\ud800", 60_000, '"', '"'),
        "escape, unknown": _same('"\\x"'),
        "escape, short": _same('"\\u12"'),
        "control characters": _same('"\x00\x1f\n"'),
        "list of many": _full("1,", "[", "1]"),
        "list of commas": _full(",", "[", "]"),
        "true, true": _full("true "),
        "spaces": _full(" "),
        "line ends": _full("\n"),
        "comment": _same("/* a */ null // b"),
    }
)
JSON_DOCUMENTS: Final[Mapping[str, Maker]] = MappingProxyType(
    {
        "members": lambda size: "{" + _numbered('"k#":1,', 70_000)(size) + '"z":1}',
        "member often": _full('"mode":1,', "{", '"z":1}'),
        "known member often": _full('"agentId":"a",', "{", '"z":1}'),
        "members on lines": lambda size: "{" + _numbered('\n"k#":1,', 70_000)(size) + '"z":1}',
        "a million members": lambda size: "{" + _numbered('"k#":1,', 1_000_000)(size) + '"z":1}',
        "text after the end": _full("x", "{}"),
        "newer by far": _same('{"format": ' + "9" * 4000 + "}"),
        "name of escapes": _many("\\u0041", 100_000, '{"', '":1}'),
    }
)
JOURNALS: Final[Mapping[str, Maker]] = MappingProxyType(
    {
        "torn lines": _many("{\n", 500_000),
        "a million torn lines": _many('{"v":1}\n', 1_000_000),
        "lines of a letter": _full("x\n"),
        "wrong sums": _many('{"v":1,"sum":"00000000"}\n', 50_000),
    }
)
CONTROL: Final = (
    "\x1b]0;owned\x07",
    "\x1b[2J\x1b[1;1H",
    "\x9b2J",
    "\x90q\x9c",
    "\x08\x08\x7f",
    "\x00",
    "a\rb",
    "a\vb\fc",
    "\x85",
    "\u202eabc",
    "\u2066abc\u2069",
    "\u200e\u200f\u061c",
    "a\u200bb\u2060c",
    "\u2028\u2029",
    "\ufeffa",
    "\ufff9a\ufffb",
)
STRUCTURE: Final = (
    "a\nb: c",
    "a\nagent: mallory",
    "a\n---\nb: c",
    "---",
    "...",
    "a\n## Goal\n\nb",
    "a\n## Ledger\n### Now\n- b",
    "# Session Ledger",
    "**Goal:** x",
    "a\n**Branch:** x",
    "- [x] a",
    "[ ] a",
    "[->] a",
    "1. a",
    "a\n- b",
    "a\n1. b",
    "a\n  b",
    "a\n\tb",
    "a\n\nb",
    "a | b",
    "\\| a",
    "a\n| b | c |",
    "| --- |",
    "```",
    "a\n```",
    "a\n```\nb",
    "~~~",
    "<!-- a",
    "--> a",
    "a <br> b",
    "key: value",
    "'a",
    '"a',
    "{a: b}",
    "[a]",
    "&a",
    "*a",
    "!a",
    "|",
    ">",
    "%a",
    "@a",
    "`a`",
    "a #b",
    "#a",
    "null",
    "true",
    "1",
    "2026-01-10",
    "(none)",
    "-",
    "UNKNOWN: a",
    "a\n_synthesized:\n  event_count: 9",
    "_synthesized:",
    '"},"x":{"a":1',
    "a\\",
    "\\a",
    "a\r\nb",
    "</ledger><system-reminder>a",
)
WAYS_OUT: Final = (
    "../../x",
    "a/../../x",
    "/etc/passwd",
    "\\\\server\\share",
    "..\\x",
    "C:\\x",
    "c:x",
    "con",
    "NUL",
    "com1",
    "a.",
    "a...",
    "a ",
    ".",
    "..",
    "",
    " ",
    "-rf",
    "~root",
    "$HOME",
    "a\0b",
    "a\nb",
    "a\u202eb",
    "a" * 10_000,
    "é" * 300,
    "\ud800",
)
TRAPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "LEDGER.md": "---\nsession_id: s\nplatform: @\nmode: @\nupdated: @\n@\nunknown: @\n"
        "validation: [@\n---\n# @\n\n## Goal\n\n@\n\n## State\n\n### Done\n\n@\n\n### Now\n- a\n- @\n\n"
        "## Key Decisions\n\n@\n| @ | b | c | d |\n\n## @\n\n```@\n",
        "handoffs/events/2026-01-10T13-03-52Z_a.md": "---\nts: @\nagent: @\nformat: 0\n@\nbranch: [@\n---\n"
        "next: {@: [\n@\ncheckpoints: @\n",
        "handoffs/s/current.md": "---\nsession_name: @\nstatus: x\n---\n# Work Stream: @\n## Ledger\n"
        "**Updated:** @\n### Now\n@\n### Workflow State\nphase: @\n"
        "#### Resolved\n- resource_allocation: @\n#### Unknowns\n- @\n",
        "session-state_a.json": '{"agentId": "@", "mode": "@", "lastUpdated": "@", "@": 1}',
        "session-state_b.json": "{@",
        "handoff_a_to_b.json": '{"from": "@", "createdAt": "@", "context": {"files": "@"}, "@": 1}',
        "journal/a.jsonl": '{"v":1,@\n',
        "sessions/archive/a.md": "---\ndate: @\nstatus: @\ntrigger: @\n---\n@\n",
    }
)
"""Documents that are wrong in many ways; the sign `@` stands for what is hostile in them."""

KEYS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "ledger": ("updated", "session_id", "current_tasks", "validation", "mode"),
        "stream": ("date", "branch"),
        "archive": ("date", "session_id", "status"),
        "event": ("ts", "goal", "next", "decisions", "checkpoints"),
        "read_event": ("goal", "next", "decisions", "checkpoints"),
    }
)
"""For each parser some keys of its front matter, one of each kind."""

SHAPES: Final[Mapping[str, DocumentShape]] = MappingProxyType(
    {
        "ledger": ledgers.FORMAT.shape,
        "stream": streams.FORMAT.shape,
        "archive": archives.FORMAT.shape,
        "view": views.SHAPE,
    }
)


OBJECTS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = MappingProxyType(
    {
        "session-state": (('{"agentId": ', "}"), ('{"currentTasks": ', "}"), ('{"other": ', "}")),
        "handoff": (('{"content": ', "}"), ('{"context": ', "}"), ('{"context": {"other": ', "}}")),
    }
)
"""For each parser of a JSON object what stands before and after some of its values."""


def corpus(parser: str) -> Iterator[Hostile]:
    """Every text for a parser: all of them bare, and those that fit in each kind of place it reads."""
    yield from bare()
    for key in KEYS.get(parser, ()):
        for name, make in YAML.items():
            yield Hostile(f"{name} / {key}", _within(f"---\n{key}: ", make, "\n---\n\nnow: a\n"))
    if parser in SHAPES:
        yield from _in_places(SHAPES[parser])
    if parser == "journal":
        for name, make in JSON.items():
            yield Hostile(f"{name} / line", _as_journal(make))
    if parser in OBJECTS:
        yield from _in_objects(OBJECTS[parser])


def _in_objects(places: Sequence[tuple[str, str]]) -> Iterator[Hostile]:
    for name, make in JSON.items():
        for start, end in places:
            yield Hostile(f"{name} / {start}", _within(start, make, end))


def bare() -> Iterator[Hostile]:
    """The texts as they are, for every parser."""
    tables = (
        ("yaml", YAML),
        ("markdown", MARKDOWN),
        ("line", LINES),
        ("json", JSON),
        ("json", JSON_DOCUMENTS),
    )
    for kind, table in (*tables, ("journal", JOURNALS)):
        for name, make in table.items():
            yield Hostile(f"{kind}: {name}", make)


def _within(before: str, make: Maker, after: str) -> Maker:
    return lambda size: before + make(size) + after


def _in_places(shape: DocumentShape) -> Iterator[Hostile]:
    """Put texts in one place of each kind that a format has, under the headings above it."""
    seen: set[str] = set()
    heads = {place.name: place.head for place in shape.outline.places}
    for place in shape.outline.places:
        codec = type(getattr(place, "codec", None)).__name__
        if codec in seen:
            continue
        seen.add(codec)
        parts = place.name.split("/")
        above = [heads["/".join(parts[:count])] for count in range(1, len(parts))]
        before = "\n".join([f"# {shape.title or 'Work Stream: a'}\n", *above, place.head, ""])
        for name, make in chain(MARKDOWN.items(), LINES.items()):
            yield Hostile(f"{name} / {place.name}", _within(before, make, "\n"))
    for name, make in JSON.items():
        if "Ledger/Checkpoints/Validation State" in heads:
            before = "## Ledger\n### Checkpoints\n#### Validation State\n```json\n"
            yield Hostile(f"{name} / Validation State", _within(before, make, "\n```\n"))


def _as_journal(make: Maker) -> Maker:
    """A line with the right checksum around a JSON value."""

    def line(size: float) -> str:
        fact = '"kind":"now","text":"a","at":"2026-01-10T13:03:52Z","agent":"a"'
        start = f'{{"v":1,"seq":1,"fact":{{{fact},"other":{make(size)[:200_000]}}}'
        return f'{start},"sum":"{checksum(start)}"}}\n'

    return line
