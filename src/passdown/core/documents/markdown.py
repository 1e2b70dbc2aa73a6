"""Reads Markdown line by line: which lines are text, code or comment, where sections start, escaping.

A line opens a section only if it is a heading at the left edge, outside code fences and HTML comments. A
fence or comment that is never closed counts as text, so a forgotten fence cannot swallow the sections after
it. Splitting loses nothing: the joined parts are the text.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from enum import Enum, auto
from itertools import accumulate
from typing import Final, NamedTuple

from passdown.core.lazy_regex import pattern

_MAY_OPEN: Final = pattern(r"```|~~~|<!--")
_MARKERS: Final = r"[ \t]*(?:(?:[-*+•→]|[0-9]{1,9}[.)]|\[(?:[ xX~-]|->|→)\])[ \t]+)*"
_FENCE: Final = pattern(_MARKERS + r"(`{3,}(?=[^`\r\n]*\r?$)|~{3,})")
_CLOSING: Final = pattern(r"[ \t]*(`{3,}|~{3,})[ \t]*\r?$")
_COMMENT: Final = pattern(_MARKERS + r"<!--")
_HEADING: Final = pattern(r"#{1,6}[ \t]+(?=[^\s])")
_RULE: Final = pattern(r"---[ \t]*\r?$")
_MARK: Final = pattern(r"[ \t]+\[[A-Z]+\]$")
_LOOKS_STRUCTURAL: Final = pattern(
    r"[ \t]*(?:\\|#{1,6}(?:[ \t\r]|$)|---[ \t]*\r?$|\*\*[^*\n]{1,41}\*\*|(?:<{7}|>{7}|\|{7})(?:[ \t\r]|$))"
)
_BACKSLASH: Final = pattern(r"([ \t]*)\\(.*)", re.DOTALL)

PLACEHOLDERS: Final = frozenset({"(none)", "(none yet)", "none", "n/a", "-"})
_REGION_LEVEL: Final = 2
_LONGEST_PLACEHOLDER: Final = max(map(len, PLACEHOLDERS))


class LineState(Enum):
    """What a line belongs to; the line that opens code or a comment has a separate state."""

    TEXT = auto()
    OPENING = auto()
    CODE = auto()
    COMMENT = auto()


class Section(NamedTuple):
    """A heading with the text up to the next one; level 0 is the text before the first heading."""

    level: int
    title: str
    head: str
    body: str
    line: int


def fold_title(title: str) -> str:
    """Return a title in a form that ignores case, spacing, a colon at the end and a `[MARK]`."""
    bare = _MARK.sub("", title) if title.endswith("]") else title
    return " ".join(bare.strip().rstrip(":").casefold().split())


def is_placeholder(text: str) -> bool:
    """Return whether a text only says that there is nothing."""
    bare = text.strip()
    return len(bare) <= _LONGEST_PLACEHOLDER and bare.casefold() in PLACEHOLDERS


def mark_lines(lines: Sequence[str]) -> tuple[list[LineState], list[int]]:
    """Return whether each line is text, code or comment, and which openings are never closed."""
    states = [LineState.TEXT] * len(lines)
    unclosed: list[int] = []
    if not _MAY_OPEN.search("\n".join(lines)):
        return states, unclosed
    closers = _Closers(lines)
    behind = 0
    for at in [number for number, line in enumerate(lines) if _MAY_OPEN.search(line)]:
        if at < behind:
            continue
        if fence := _FENCE.match(lines[at]):
            state, behind = LineState.CODE, closers.after(at, fence[1])
        elif comment := _COMMENT.match(lines[at]):
            state, behind = LineState.COMMENT, closers.after_comment(at, comment.end())
        else:
            continue
        if behind == at:
            unclosed.append(at)
        else:
            states[at:behind] = [LineState.OPENING] + [state] * (behind - at - 1)
    return states, unclosed


class _Closers:
    """The lines that may close a fence or comment, so that an opening need not search to the end."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._comment_ends = [number for number, line in enumerate(lines) if "-->" in line]
        self._at: list[int] = []
        self._marks: list[str] = []
        for number, line in enumerate(lines):
            closing = _CLOSING.match(line)
            if closing:
                self._at.append(number)
                self._marks.append(closing[1])
        self._longest: dict[str, list[int]] = {}
        """For each kind, the length of its longest closing mark from each position on."""
        for char in "`~":
            lengths = (len(mark) if mark[0] == char else 0 for mark in reversed(self._marks))
            self._longest[char] = [*accumulate(lengths, max, initial=0)][::-1]

    def after(self, opening: int, mark: str) -> int:
        """Return the line after the one that closes a fence, or `opening` if none does."""
        first = bisect_right(self._at, opening)
        if self._longest[mark[0]][first] < len(mark):
            return opening
        while not self._marks[first].startswith(mark):
            first += 1
        return self._at[first] + 1

    def after_comment(self, opening: int, start: int) -> int:
        """Return the line after the one that closes a comment, or `opening` if none does."""
        if "-->" in self._lines[opening][start:]:
            return opening + 1
        following = bisect_right(self._comment_ends, opening)
        return self._comment_ends[following] + 1 if following < len(self._comment_ends) else opening


def split_sections(text: str, line: int = 1) -> list[Section]:
    """Split a text at its headings; the first section is the text before them, and may be empty."""
    lines = text.split("\n")
    states, _ = mark_lines(lines)
    marked = [number for number, one in enumerate(lines) if one[:1] == "#" and _HEADING.match(one)]
    starts = [number for number in marked if states[number] is LineState.TEXT]
    sections = [Section(0, "", "", _joined(lines, 0, starts[0] if starts else len(lines)), line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        level, title = read_heading(lines[start])
        head = _joined(lines, start, start + 1)
        sections.append(Section(level, title, head, _joined(lines, start + 1, end), line + start))
    return sections


def _joined(lines: list[str], start: int, end: int) -> str:
    """Join split lines again; only the very last has no line end of its own."""
    text = "\n".join(lines[start:end])
    return text + "\n" if start < end < len(lines) else text


def read_heading(line: str) -> tuple[int, str]:
    """Return a heading's level and title, with single spaces between words and without closing marks."""
    level = len(line) - len(line.lstrip("#"))
    title = line[level:].strip()
    bare = title.rstrip("#")
    return level, " ".join((bare if bare[-1:].isspace() else title).split())


def write_heading(level: int, title: str) -> str:
    """Write a heading that reads back as `title`, on one line."""
    line = " ".join(title.split())
    return f"{'#' * level} {line}{' #' if line.endswith('#') else ''}"


def is_heading(text: str) -> bool:
    """Return whether a text begins with a heading at the left edge."""
    return _HEADING.match(text) is not None


def opens_block(line: str) -> bool:
    """Return whether a line opens code or a comment, provided that it is closed later."""
    return bool(_FENCE.match(line) or _COMMENT.match(line))


def line_end(text: str) -> str:
    """Return the line end of a text's first line."""
    return "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"


def with_line_ends(text: str, was: str) -> str:
    """Give new lines of a document the line end that the document uses."""
    if line_end(was) == "\n":
        return text
    old = frozenset(was.split("\n")[:-1])
    *lines, last = text.split("\n")
    ended = [line if line in old or line.endswith("\r") else f"{line}\r" for line in lines]
    return "\n".join([*ended, last])


def find_rule(text: str) -> int:
    """Return the offset of the first line that is exactly `---` outside code and comments, or -1."""
    lines = text.split("\n")
    rules = [number for number, line in enumerate(lines) if line[:3] == "---" and _RULE.match(line)]
    states = mark_lines(lines)[0] if rules else []
    first = next((number for number in rules if states[number] is LineState.TEXT), None)
    return -1 if first is None else sum(map(len, lines[:first])) + first


class Region(NamedTuple):
    """A body split at a section; the joined parts are the body. `rule` is the `---` line that ends it."""

    before: str
    section: str
    rule: str
    after: str


def cut_region(body: str, title: str) -> Region:
    """Split a body at the section called `title`; if there is none, all of it is `before`.

    The section runs from its heading to the first of: a line that is exactly `---`, a heading of its level or
    above, the end. Code fences and comments do not count (C33, G14).
    """
    sections = split_sections(body)
    names = [fold_title(one.title) if one.level == _REGION_LEVEL else "" for one in sections]
    if fold_title(title) not in names:
        return Region(body, "", "", "")
    first = names.index(fold_title(title))
    lengths = [len(one.head) + len(one.body) for one in sections]
    start = sum(lengths[:first])
    behind = next(
        (i for i in range(first + 1, len(sections)) if sections[i].level <= _REGION_LEVEL), len(sections)
    )
    section = body[start : sum(lengths[:behind])]
    at = find_rule(section)
    if at < 0:
        return Region(body[:start], section, "", body[start + len(section) :])
    end = section.find("\n", at) + 1 or len(section)
    return Region(body[:start], section[:at], section[at:end], body[start + end :])


def escape_text(text: str) -> str:
    """Put a backslash before each line of a text that would be read as structure."""
    lines = text.split("\n")
    states, unclosed = mark_lines(lines)
    never_closed = frozenset(unclosed)
    for number, (line, state) in enumerate(zip(lines, states, strict=True)):
        if number in never_closed or (state is LineState.TEXT and _LOOKS_STRUCTURAL.match(line)):
            indent = len(line) - len(line.lstrip(" \t"))
            lines[number] = f"{line[:indent]}\\{line[indent:]}"
    escaped = "\n".join(lines)
    return f"\\{escaped}" if is_placeholder(escaped) else escaped


def unescape_text(text: str) -> str:
    """Undo `escape_text`; a backslash that does not escape structure, or is inside code, is kept."""
    return unescape_lines(text, _unescaped)


def unescape_lines(text: str, unescaped: Callable[[str, LineState], str]) -> str:
    """Remove the backslash of a placeholder, or else apply a function to each line."""
    if "\\" not in text:
        return text
    if text[0] == "\\" and is_placeholder(text[1:]):
        return text[1:]
    lines = text.split("\n")
    states, _ = mark_lines(lines)
    return "\n".join(map(unescaped, lines, states))


def _unescaped(line: str, state: LineState) -> str:
    match = _BACKSLASH.match(line) if state is LineState.TEXT else None
    if match and (_LOOKS_STRUCTURAL.match(match[2]) or opens_block(match[2])):
        return match[1] + match[2]
    return line
