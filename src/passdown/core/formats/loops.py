"""Loop ledgers: `changes/<name>/loops/*.md`, turns with a slot for a person's feedback after each (S3, C105).

1. A turn of ours starts with a comment that has its number, time and author: `<!-- turn 2 … -->`. That line
   always counts, whatever fences or comments were left open before it.
2. Otherwise a turn ends at a `---` line that follows a `## User Feedback` heading, both outside code and
   comments (C33). Turns need no numbers (C41).
3. A person's feedback is between that heading and that line. A further feedback section belongs to the turn
   before it, and so does text below the line that does not start with a heading.
4. A known placeholder, blank lines and comments are not feedback (C39).
5. A file is never rewritten: each turn is appended with one write.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Final, NamedTuple

from passdown.core.documents.conflicts import conflict_problems
from passdown.core.documents.documents import heading_line, refuse_unreadable
from passdown.core.documents.markdown import (
    LineState,
    fold_title,
    is_heading,
    is_placeholder,
    line_end,
    mark_lines,
    opens_block,
    read_heading,
    unescape_lines,
    write_heading,
)
from passdown.core.documents.places import is_comment
from passdown.core.ids import fold_id
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Problem, Unknown, warning
from passdown.core.times import parse_instant, render_millis
from passdown.errors import FormatError
from passdown.records import field, record, replace

VERSION: Final = 1
MAX_CHARS: Final = 33_554_432
"""The maximum size of a ledger; the number of turns is not limited (R150)."""
MAX_LINES: Final = 1_000_000
"""The maximum number of lines: ten million empty lines take seconds and a gigabyte."""
MAX_BYTES: Final = MAX_CHARS
"""The maximum number of bytes after something is added; larger files are not read."""

FEEDBACK: Final = "User Feedback"
PLACEHOLDER: Final = "(Leave blank to continue. Write notes here to guide the next iteration.)"
PLACEHOLDERS: Final = frozenset(
    {
        PLACEHOLDER,
        "(Leave blank if approved. If you want changes, write notes here and rerun the command.)",
        "(Leave blank if approved. Write notes here and rerun the command to request changes.)",
    }
)
"""The texts of a slot in which nobody has written yet."""

_SLOT_LEVEL: Final = 2
_MARK: Final = pattern(
    r"<!-- (?:feedback|turn ([0-9]{1,9})(?: ([0-9T:.-]{1,40}Z))?(?: by ([A-Za-z0-9._-]{1,120}))?)"
    r"(?: v([0-9]{1,9}))? -->[ \t]*"
)
_MARK_START: Final = "<!-- "
_HIDDEN_MARK: Final = pattern(r"\\*<!-- (?:turn [0-9]|feedback )")
_AGENT: Final = pattern(r"[A-Za-z0-9._-]{1,120}")
_TURN: Final = pattern(r"##[ \t]+Turn[ \t]+([0-9]{1,9})[ \t]*", re.IGNORECASE)
_RULE: Final = pattern(r"---[ \t]*")
_STRUCTURE: Final = ("##", "---")
"""The starts of lines that open a slot or end a turn."""
_SLOT: Final = fold_title(FEEDBACK)
_FOLDED: Final = frozenset(" ".join(one.split()).casefold() for one in PLACEHOLDERS)


@record
class Turn:
    """One turn of a loop."""

    number: Annotated[int, "Its number; without one, its position in the ledger."]
    at: Annotated[datetime | None, "When it was added; unknown for a turn that was written by hand."] = None
    agent: Annotated[str, "Who added it."] = ""
    text: Annotated[str, "The text, without the feedback."] = ""
    feedback: Annotated[str, "A person's feedback; empty if there is none."] = ""


@record
class Loop:
    """The ledger of a loop."""

    title: Annotated[str, "The document's title."] = ""
    turns: Annotated[tuple[Turn, ...], "The turns, in their order."] = ()
    unknown: Annotated[tuple[Unknown, ...], "Text that no field holds; always empty."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


class _Piece(NamedTuple):
    """A part of a ledger that ends where a turn may end."""

    line: int
    mark: "re.Match[str] | None"
    body: list[str]
    slot: list[str] | None
    is_closed: bool


# --- reading --------------------------------------------------------------------------------------


def parse_loop(text: str) -> Loop:
    """Read a ledger; every text is one. Raises `FormatError` if it is too large or newer than this reader."""
    too_long = f"{MAX_CHARS} characters" if len(text) > MAX_CHARS else ""
    if text.count("\n") >= MAX_LINES:
        too_long = f"{MAX_LINES} lines"
    if too_long:
        raise FormatError(f"loop is over {too_long}, so it is not read", hint="open a new loop")
    lines = [line.rstrip("\r") for line in text.removeprefix("\ufeff").split("\n")]
    title, first = _read_title(lines)
    turns: list[Turn] = []
    problems = conflict_problems(text)
    for piece in _pieces(lines, first):
        if turns and _is_feedback(piece):  # 3
            said = _clean(piece.body if piece.slot is None else piece.slot)
            both = "\n\n".join(filter(None, (turns[-1].feedback, said)))
            turns[-1] = replace(turns[-1], feedback="" if is_comment(both) else both)
        elif piece.mark is not None or piece.slot is not None or any(map(str.strip, piece.body)):
            problems += _judge_end(piece)
            turns.append(_make_turn(piece, len(turns) + 1))
    problems += _judge_results(text, title, turns)
    problems.sort(key=lambda one: one.line)
    return Loop(title=title, turns=tuple(turns), problems=tuple(problems), source=text)


def _read_title(lines: Sequence[str]) -> tuple[str, int]:
    """Return the title and the line after it; the title is optional."""
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    if first < len(lines) and is_heading(lines[first]):
        level, title = read_heading(lines[first])
        if level == 1:
            return title, first + 1
    return "", 0


def _pieces(lines: Sequence[str], first: int) -> Iterator[_Piece]:
    marks = [number for number in range(first, len(lines)) if _read_mark(lines[number])]
    yield from _split(lines, first, marks[0] if marks else len(lines), None)
    for start, end in pairwise([*marks, len(lines)]):
        yield from _split(lines, start + 1, end, _read_mark(lines[start]))


def _read_mark(line: str) -> "re.Match[str] | None":
    return _MARK.fullmatch(line) if line.startswith(_MARK_START) else None


def _split(lines: Sequence[str], start: int, end: int, mark: "re.Match[str] | None") -> Iterator[_Piece]:
    """Split what follows a mark at the lines that end a turn (2)."""
    if mark is not None:
        refuse_unreadable("", int(mark[4] or VERSION), VERSION, "loop", line=start)
    states, _ = mark_lines(lines[start:end])
    begin, slot = start, -1
    for number in range(start, end):
        line = lines[number]
        if not line.startswith(_STRUCTURE) or states[number - start] is not LineState.TEXT:
            continue
        if slot < 0 and _is_slot(line):
            slot = number
        elif slot >= 0 and _RULE.fullmatch(line):
            yield _Piece(begin + 1, mark, [*lines[begin:slot]], [*lines[slot + 1 : number]], is_closed=True)
            begin, slot, mark = number + 1, -1, None
    body = [*lines[begin : end if slot < 0 else slot]]
    yield _Piece(begin + 1, mark, body, None if slot < 0 else [*lines[slot + 1 : end]], is_closed=False)


def _is_slot(line: str) -> bool:
    if not line.startswith("##") or not is_heading(line):
        return False
    level, title = read_heading(line)
    return level == _SLOT_LEVEL and fold_title(title) == _SLOT


def _is_feedback(piece: _Piece) -> bool:
    """Return whether a piece is only more of the feedback before it (3)."""
    if piece.mark is not None:
        return piece.mark[1] is None
    said = [line for line in piece.body if line.strip()]
    return not said if piece.slot is not None else bool(said) and not is_heading(said[0])


def _make_turn(piece: _Piece, position: int) -> Turn:
    mark, body = piece.mark, piece.body
    first = next((number for number, line in enumerate(body) if line.strip()), len(body))
    heading = _TURN.fullmatch(body[first]) if first < len(body) else None
    number = int(mark[1]) if mark and mark[1] else int(heading[1]) if heading else position
    if heading and int(heading[1]) == number:
        body = body[first + 1 :]
    return Turn(
        number=number,
        at=parse_instant(mark[2]) if mark and mark[2] else None,
        agent=(mark[3] or "") if mark else "",
        text=_unescape(_trim(body)),
        feedback=_clean(piece.slot or ()),
    )


def _clean(lines: Sequence[str]) -> str:
    """Return what a person wrote into a slot (4)."""
    kept = [line for line in lines if " ".join(line.split()).casefold() not in _FOLDED]
    text = _trim(kept)
    if is_placeholder(text) or is_comment(text):
        return ""
    return _unescape(text)


def _trim(lines: Sequence[str]) -> str:
    """Join lines without the blank ones around them."""
    said = [number for number, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[said[0] : said[-1] + 1]) if said else ""


# --- problems -------------------------------------------------------------------------------------

IMPLEMENTATION: Final = "Implementation"
RESULT: Final = "Result"
SECTIONS: Final = ("Changes Made", "Validation Results", "Deviations from Plan", RESULT)
"""The sections of each turn in an implementation ledger, in this order (R156)."""
SUCCESS: Final = "SUCCESS"
RESULTS: Final = (SUCCESS, "PARTIAL", "FAILED")
"""The possible results of an implementation (R157)."""


def _judge_end(piece: _Piece) -> Iterator[Problem]:
    """Find turns without a slot or a separator (R145); adding the next turn adds the separator."""
    last = piece.line + len(piece.body) + len(piece.slot or ())
    if piece.slot is None:
        yield warning(max(last - 1, 1), FEEDBACK, "section is missing", f"end each turn with `## {FEEDBACK}`")
    elif not piece.is_closed:
        yield warning(last, FEEDBACK, "section does not end with a `---` line", "add the line")


def _judge_results(text: str, title: str, turns: Sequence[Turn]) -> Iterator[Problem]:
    """Find missing sections and results in an implementation ledger (R156, R157)."""
    if not title.casefold().startswith(IMPLEMENTATION.casefold()):
        return
    found = {fold_title(read_heading(line)[1]) for line in text.split("\n") if is_heading(line)}
    for name in SECTIONS:
        if fold_title(name) not in found:
            yield warning(1, name, "section is missing", f"add `## {name}`")
    if fold_title(RESULT) in found and not all(map(read_result, turns)):
        hint = "write one of " + ", ".join(RESULTS)
        yield warning(heading_line(text, RESULT), RESULT, "does not give the result of each turn", hint)


def read_result(turn: Turn) -> str:
    """Return the result of a turn under `## Result`; an empty string if there is no valid one."""
    lines = turn.text.split("\n")
    states, _ = mark_lines(lines)
    for number, line in enumerate(lines):
        is_title = states[number] is LineState.TEXT and is_heading(line)
        if is_title and fold_title(read_heading(line)[1]) == fold_title(RESULT):
            said = next((one.strip() for one in lines[number + 1 :] if one.strip()), "")
            return said.upper() if said.upper() in RESULTS else ""
    return ""


# --- writing --------------------------------------------------------------------------------------


def render_loop(loop: Loop) -> str:
    """Write a ledger; one that was read keeps every byte, and new turns follow.

    1. A ledger that was read and not changed is returned unchanged.
    2. New turns are appended to its text.
    3. Anything else is written in full.
    """
    if loop.source is not None:
        known = parse_loop(loop.source)
        if loop == known:  # 1
            return loop.source
        count = len(known.turns)
        if loop.title == known.title and loop.turns[:count] == known.turns:  # 2
            text = loop.source
            for turn in loop.turns[count:]:
                text += render_turn(text, turn)
            return text
    text = f"{write_heading(1, loop.title)}\n" if loop.title else ""  # 3
    for turn in loop.turns:
        text += ("\n" if text else "") + _write_turn(turn)
    return text


def render_turn(text: str, turn: Turn) -> str:
    """Return the text to append to a ledger to add a turn (5)."""
    return _added(text, _write_turn(turn))


def has_room(ledger: bytes, added: bytes) -> bool:
    """Return whether a ledger can still be read after something is added to it."""
    lines = ledger.count(b"\n") + added.count(b"\n") + 1  # one more where its last line does not end
    return len(ledger) + len(added) < MAX_BYTES and lines < MAX_LINES


def render_feedback(text: str, feedback: str) -> str:
    """Return the text to append to a ledger to add feedback to its last turn."""
    return _added(text, f"{_MARK_START}feedback -->\n{_write_slot(feedback)}")


def _added(text: str, written: str) -> str:
    """Close the turn before, if it is open, and use the line ends of the ledger."""
    if not text:
        return written
    *_, last = _pieces([line.rstrip("\r") for line in text.split("\n")], 0)
    rule = "" if last.slot is None or last.is_closed else "\n---\n"
    added = f"{'' if text.endswith(chr(10)) else chr(10)}{rule}\n{written}"
    return added.replace("\n", "\r\n") if line_end(text) == "\r\n" else added


def _write_turn(turn: Turn) -> str:
    at = f" {render_millis(turn.at)}" if turn.at else ""
    agent = turn.agent if _AGENT.fullmatch(turn.agent) else fold_id(turn.agent)
    by = f" by {agent}" if turn.agent else ""
    body = f"{_escape(turn.text)}\n\n" if turn.text else ""
    mark = f"<!-- turn {turn.number}{at}{by} -->"
    return f"{mark}\n## Turn {turn.number}\n\n{body}{_write_slot(turn.feedback)}"


def _write_slot(feedback: str) -> str:
    return f"## {FEEDBACK}\n\n{_escape(feedback) or PLACEHOLDER}\n\n---\n"


def _escape(text: str) -> str:
    """Put a backslash before each line that would be read as structure of the ledger.

    Marks come first, so that a mark cannot open a comment of several lines.
    """
    lines = text.split("\n")
    marks = frozenset(number for number, line in enumerate(lines) if _HIDDEN_MARK.match(line))
    lines = [f"\\{line}" if number in marks else line for number, line in enumerate(lines)]
    states, unclosed = mark_lines(lines)
    never_closed = frozenset(unclosed)
    for number, line in enumerate(lines):
        is_read = number in never_closed or (states[number] is LineState.TEXT and _is_structure(line))
        if is_read and number not in marks:
            lines[number] = f"\\{line}"
    escaped = "\n".join(lines)
    return f"\\{escaped}" if is_placeholder(escaped) else escaped


def _is_structure(line: str) -> bool:
    """Return whether a line, with or without its backslashes, is structure or a placeholder."""
    bare = line.lstrip("\\")
    is_ours = bool(_RULE.fullmatch(bare)) or _is_slot(bare) or " ".join(bare.split()).casefold() in _FOLDED
    return is_ours or (bare != line and opens_block(bare))


def _unescape(text: str) -> str:
    """Undo `_escape`."""
    return unescape_lines(text, _unescaped)


def _unescaped(line: str, state: LineState) -> str:
    if line[:1] == "\\" and (_HIDDEN_MARK.match(line) or (state is LineState.TEXT and _is_structure(line))):
        return line[1:]
    return line
