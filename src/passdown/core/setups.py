"""What a checkout needs: a marked block in files that are the user's, and the text of `passdown.toml`.

Blocks are cut and put in as bytes: whatever else such a file holds stays as it is, to the last byte.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

LEFTOVERS: Final = ".passdown-*.tmp"
"""What our own unfinished writes are called."""

_SPECIAL: Final = "*?[\\"


class Areas(NamedTuple):
    """The paths of a project by class: local ones stay on this machine, shared ones travel with git."""

    local: tuple[str, ...]
    shared: tuple[str, ...]
    files: tuple[str, ...] = ()
    """Shared files that lie in no shared folder."""
    loops: str = ""


class _Span(NamedTuple):
    """Where a block stands, without the line end behind it, and what its lines end with."""

    start: int
    stop: int
    end: bytes


def has_block(data: bytes, label: str = "", *, in_markdown: bool = False) -> bool:
    """Say whether a file holds our block of that label."""
    return bool(_find_blocks(data, _marks(label, in_markdown=in_markdown)))


def put_block(data: bytes, lines: Sequence[str], label: str = "", *, in_markdown: bool = False) -> bytes:
    """Give a file with a block that holds exactly these lines; the rest of it stays to the byte.

    Where several projects share a file, a label tells whose block it is. In Markdown the marks are comments
    that nobody sees.

    1. A block that is there is replaced in its place; of several the first stays.
    2. Else it stands at the end. A file that ends without a line end still does.
    3. Lines end as those of the file do.
    """
    crlf = data.count(b"\r\n")
    end = b"\r\n" if crlf and crlf == data.count(b"\n") else b"\n"  # 3
    marks = _marks(label, in_markdown=in_markdown)
    first, last = marks
    block = end.join([first, *(line.encode("utf-8", "surrogateescape") for line in lines), last])
    spans = _find_blocks(data, marks)
    if spans:  # 1
        for span in reversed(spans[1:]):
            data = _cut(data, span)
        return data[: spans[0].start] + block + data[spans[0].stop :]
    if not data or data.endswith(b"\n"):  # 2
        return data + block + end
    return data + end + block


def take_block(data: bytes, label: str = "", *, in_markdown: bool = False) -> bytes:
    """Give a file as it was before `put_block`; without a block it stays as it is."""
    for span in reversed(_find_blocks(data, _marks(label, in_markdown=in_markdown))):
        data = _cut(data, span)
    return data


def _marks(label: str, *, in_markdown: bool) -> tuple[bytes, bytes]:
    """Give the lines that a block begins and ends with."""
    name = f"passdown {label}".rstrip().encode("unicode_escape")
    if in_markdown:
        return b"<!-- >>> " + name + b" >>> -->", b"<!-- <<< " + name + b" <<< -->"
    return b"# >>> " + name + b" >>>", b"# <<< " + name + b" <<<"


def _find_blocks(data: bytes, marks: tuple[bytes, bytes]) -> list[_Span]:
    """Find the blocks: an end belongs to the last begin before it, and either of them alone is none."""
    first, last = marks
    found: list[_Span] = []
    begin, end, position = -1, b"", 0
    for line in data.split(b"\n"):
        text = line.removesuffix(b"\r")
        if text == first:
            begin, end = position, line.removeprefix(first) + b"\n"
        elif text == last and begin >= 0:
            found.append(_Span(begin, position + len(last), end))
            begin = -1
        position += len(line) + 1
    return found


def _cut(data: bytes, span: _Span) -> bytes:
    """Take a block out, with the line end behind it, or else the one before it."""
    before, behind = data[: span.start], data[span.stop :]
    if behind:
        return before + behind.removeprefix(b"\r").removeprefix(b"\n")
    return before.removesuffix(span.end)


# --- rules for git --------------------------------------------------------------------------------


def ignore_lines(areas: Areas) -> tuple[str, ...]:
    """Give the rules that keep local files out of git, for a `.gitignore` in the project's root."""
    return (*(_rule(path) for path in _outermost(areas.local)), LEFTOVERS)


def exclude_lines(areas: Areas, below: str) -> tuple[str, ...]:
    """Give the rules that keep every file of ours out of git, from the top of the checkout (C61)."""
    start = f"{below}/" if below else ""
    every = _outermost((*areas.local, *areas.shared, *areas.files))
    rules = [_rule(f"{start}{path}") for path in every]
    return (*rules, *([f"{_rule(start + areas.loops)}/*/loops"] if areas.loops else []), LEFTOVERS)


def attribute_lines(areas: Areas) -> tuple[str, ...]:
    """Give the rules by which git leaves line ends of shared files alone, for `.gitattributes` (C66)."""
    folders = _outermost(areas.shared)
    files = [path for path in areas.files if not _is_in(path, folders)]
    rules = [*(f"{_rule(path)}/**" for path in folders), *(_rule(path) for path in files)]
    rules += [f"{_rule(areas.loops)}/*/loops/**"] if areas.loops else []
    return tuple(f"{_quoted(rule)} -text" for rule in rules)


def _outermost(paths: Iterable[str]) -> list[str]:
    """Leave out paths that lie in another one, and repeated ones."""
    every = list(dict.fromkeys(paths))
    return [path for path in every if not _is_in(path, every)]


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def _rule(path: str) -> str:
    """Write a path as a rule of git that means this path alone; no rule can hold a line end."""
    text = "".join(f"\\{letter}" if letter in _SPECIAL else letter for letter in path)
    text = text.replace("\n", "?").replace("\r", "?")
    bare = text.rstrip(" ")
    return f"/{bare}" + "\\ " * (len(text) - len(bare))


def _quoted(rule: str) -> str:
    """Quote a rule that a space would end."""
    if " " not in rule and '"' not in rule:
        return rule
    return '"' + rule.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- the project's file ---------------------------------------------------------------------------

_HEAD: Final = """\
# This project uses Passdown, the pass-down log for coding agents.
# Because this file is here, hooks of Passdown may write in this project, and
# Passdown commits its own files as said below. `passdown pause` holds it off.

"""
_COMMIT: Final = """\
[commit] # Only files of Passdown are committed, and nothing is pushed.
session_end = {value}
handoff = {value}
checkpoint = {value} # at most once in checkpoint_minutes
checkpoint_minutes = 30
"""
_MORE: Final = """
# What follows are the defaults; take the # away to change one.

# [view]
# commit = "integration" # a tracked file on that branch; "always" or "never"

# [events]
# layout = "flat" # "day" makes a folder for each day
# retention_days = 7
"""


def render_project_file(*, commits: bool) -> str:
    """Write a `passdown.toml` for a project that has none."""
    return _HEAD + _COMMIT.format(value="true" if commits else "false") + _MORE
