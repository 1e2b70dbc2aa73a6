"""Markdown by lines: what is text, code or comment, where sections begin, and how text stays text.

A line opens a section only when it is a heading at the left edge, outside code fences and HTML comments. A
fence or comment that is never closed counts as text, so a forgotten fence cannot swallow the sections after
it. Cutting loses nothing: the parts, joined, are the text.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from enum import Enum, auto
from itertools import accumulate
from typing import Final, NamedTuple

from passdown.core.patterns import pattern

_MAY_OPEN: Final = pattern(r"```|~~~|<!--")
_FENCES: Final = pattern(r"```|~~~")
_MARKERS: Final = r"[ \t]*(?:(?:[-*+•→]|[0-9]{1,9}[.)]|\[(?:[ xX~-]|->|→)\])[ \t]+)*"
_FENCE: Final = pattern(_MARKERS + r"(`{3,}(?=[^`\r\n]*\r?$)|~{3,})")
_CLOSING: Final = pattern(r"[ \t]*(`{3,}|~{3,})[ \t]*\r?$")
_COMMENT: Final = pattern(_MARKERS + r"<!--")
_HEADING: Final = pattern(r"#{1,6}[ \t]+(?=[^\s])")
_RULE: Final = pattern(r"---[ \t]*\r?$")
_LOOKS_STRUCTURAL: Final = pattern(r"[ \t]*(?:\\|#{1,6}(?:[ \t\r]|$)|---[ \t]*\r?$|\*\*[^*\n]{1,41}\*\*)")
_BACKSLASH: Final = pattern(r"([ \t]*)\\(.*)", re.DOTALL)

PLACEHOLDERS: Final = frozenset({"(none)", "(none yet)", "none", "n/a", "-"})
_LONGEST_PLACEHOLDER: Final = max(map(len, PLACEHOLDERS))


class State(Enum):
    """What a line is part of; the line that opens code or a comment is told apart."""

    TEXT = auto()
    OPENING = auto()
    CODE = auto()
    COMMENT = auto()


class Section(NamedTuple):
    """A heading with the text up to the next one; level 0 is what stands before the first."""

    level: int
    title: str
    head: str
    body: str
    line: int


def fold_title(title: str) -> str:
    """Return what two spellings of the same heading share."""
    return " ".join(title.strip().rstrip(":").casefold().split())


def is_placeholder(text: str) -> bool:
    """Tell whether a text only says that there is nothing."""
    bare = text.strip()
    return len(bare) <= _LONGEST_PLACEHOLDER and bare.casefold() in PLACEHOLDERS


def mark_lines(lines: Sequence[str]) -> tuple[list[State], list[int]]:
    """Tell for each line whether it is text, code or comment, and which openings are never closed."""
    states = [State.TEXT] * len(lines)
    unclosed: list[int] = []
    if not _MAY_OPEN.search("\n".join(lines)):
        return states, unclosed
    closers = _Closers(lines)
    behind = 0
    for at in [number for number, line in enumerate(lines) if _MAY_OPEN.search(line)]:
        if at < behind:
            continue
        state, behind = _extent(lines[at], at, closers)
        if behind == at:
            unclosed.append(at)
        elif state is not State.TEXT:
            states[at:behind] = [State.OPENING] + [state] * (behind - at - 1)
    return states, unclosed


def _extent(line: str, at: int, closers: "_Closers") -> tuple[State, int]:
    """Return what begins on a line and the line after its end; the same line when it never ends."""
    fence = _FENCE.match(line)
    if fence:
        return State.CODE, closers.after(at, fence[1])
    comment = _COMMENT.match(line)
    if comment:
        return State.COMMENT, closers.after_comment(at, comment.end())
    return State.TEXT, at + 1


class _Closers:
    """The lines that may close a fence or comment, so that an opening need not search to the end."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._comment_ends = [number for number, line in enumerate(lines) if "-->" in line]
        marked = [(number, _CLOSING.match(line)) for number, line in enumerate(lines) if _FENCES.search(line)]
        self._at = [number for number, match in marked if match]
        self._marks = [match[1] for _, match in marked if match]
        self._longest = {mark: _longest_from(self._marks, mark) for mark in "`~"}

    def after(self, opening: int, mark: str) -> int:
        """Return the line after the one that closes a fence, or `opening` when none does."""
        first = bisect_right(self._at, opening)
        if self._longest[mark[0]][first] < len(mark):
            return opening
        while not self._marks[first].startswith(mark):
            first += 1
        return self._at[first] + 1

    def after_comment(self, opening: int, start: int) -> int:
        """Return the line after the one that closes a comment, or `opening` when none does."""
        if "-->" in self._lines[opening][start:]:
            return opening + 1
        following = bisect_right(self._comment_ends, opening)
        return self._comment_ends[following] + 1 if following < len(self._comment_ends) else opening


def _longest_from(marks: Sequence[str], char: str) -> list[int]:
    """For each position, the length of the longest closing mark of this kind from there on."""
    lengths = (len(mark) if mark[0] == char else 0 for mark in reversed(marks))
    return [*accumulate(lengths, max, initial=0)][::-1]


def split_sections(text: str, line: int = 1) -> list[Section]:
    """Cut a text at its headings; the first section is what stands before them, and may be empty."""
    lines = text.split("\n")
    states, _ = mark_lines(lines)
    marked = [number for number, one in enumerate(lines) if one[:1] == "#" and _HEADING.match(one)]
    starts = [number for number in marked if states[number] is State.TEXT]
    sections = [Section(0, "", "", _joined(lines, 0, starts[0] if starts else len(lines)), line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        level, title = read_heading(lines[start])
        head = _joined(lines, start, start + 1)
        sections.append(Section(level, title, head, _joined(lines, start + 1, end), line + start))
    return sections


def _joined(lines: list[str], start: int, end: int) -> str:
    """Join lines of a cut text again; only the very last has no line end of its own."""
    text = "\n".join(lines[start:end])
    return text + "\n" if start < end < len(lines) else text


def read_heading(line: str) -> tuple[int, str]:
    """Return a heading's level and title, its words parted by one space, without closing marks."""
    level = len(line) - len(line.lstrip("#"))
    title = line[level:].strip()
    bare = title.rstrip("#")
    return level, " ".join((bare if bare[-1:].isspace() else title).split())


def write_heading(level: int, title: str) -> str:
    """Write a heading that reads back as `title`, on one line."""
    line = " ".join(title.split())
    return f"{'#' * level} {line}{' #' if line.endswith('#') else ''}"


def is_heading(text: str) -> bool:
    """Tell whether a text begins with a heading at the left edge."""
    return _HEADING.match(text) is not None


def line_end(text: str) -> str:
    """Return the line end that a text uses, by its first one."""
    return "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"


def with_line_ends(text: str, was: str) -> str:
    """Give the lines of a document that were not in it before the line end that it uses."""
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
    first = next((number for number in rules if states[number] is State.TEXT), None)
    return -1 if first is None else sum(map(len, lines[:first])) + first


def escape_text(text: str) -> str:
    """Put a backslash before each line of a text that a reader would take for structure."""
    lines = text.split("\n")
    states, unclosed = mark_lines(lines)
    never_closed = frozenset(unclosed)
    for number, (line, state) in enumerate(zip(lines, states, strict=True)):
        if number in never_closed or (state is State.TEXT and _LOOKS_STRUCTURAL.match(line)):
            indent = len(line) - len(line.lstrip(" \t"))
            lines[number] = f"{line[:indent]}\\{line[indent:]}"
    escaped = "\n".join(lines)
    return f"\\{escaped}" if is_placeholder(escaped) else escaped


def unescape_text(text: str) -> str:
    """Undo `escape_text`; a backslash that guards no structure is text, and so is one in code."""
    if "\\" not in text:
        return text
    if text[0] == "\\" and is_placeholder(text[1:]):
        return text[1:]
    lines = text.split("\n")
    states, _ = mark_lines(lines)
    pairs = zip(lines, states, strict=True)
    return "\n".join(_unescaped(line) if state is State.TEXT else line for line, state in pairs)


def _unescaped(line: str) -> str:
    match = _BACKSLASH.match(line)
    if match and (_LOOKS_STRUCTURAL.match(match[2]) or _FENCE.match(match[2]) or _COMMENT.match(match[2])):
        return match[1] + match[2]
    return line
