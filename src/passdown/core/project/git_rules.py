"""The marked blocks that Passdown adds to the user's git files, and the text of a new `passdown.toml`.

Blocks are added and removed as bytes: the rest of a file stays the same to the last byte.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

LEFTOVERS: Final = ".passdown-*.tmp"
"""Matches the files of our own unfinished writes."""

UNION: Final = "merge=union"
"""The attribute that makes git keep the lines of both sides in a merge; it is built into git."""

GENERATED: Final = "linguist-generated"
"""The attribute that makes forges collapse files in the diff of a pull request."""

_SPECIAL: Final = "*?[\\"


class PathClasses(NamedTuple):
    """The paths of a project by class: local ones stay on this machine, shared ones travel with git."""

    local: tuple[str, ...]
    shared: tuple[str, ...]
    files: tuple[str, ...] = ()
    """Shared files outside the shared folders."""
    loops: str = ""
    view: str = ""
    """The shared file that is rebuilt anyway, so git may keep the lines of both sides in a merge."""
    generated: tuple[str, ...] = ()
    """Shared folders whose files only Passdown writes, so nobody reviews them line by line."""


class _Span(NamedTuple):
    """The position of a block, without the line end after it, and the line end that it uses."""

    start: int
    stop: int
    end: bytes


def has_block(data: bytes, label: str = "") -> bool:
    """Return whether a file contains our block with that label."""
    return bool(_find_blocks(data, _marks(label, in_markdown=False)))


def has_line(data: bytes, line: str) -> bool:
    """Return whether a file contains a line, in our block or outside."""
    return line.encode("utf-8", "surrogateescape") in data.replace(b"\r\n", b"\n").split(b"\n")


def put_block(data: bytes, lines: Sequence[str], label: str = "", *, in_markdown: bool = False) -> bytes:
    """Return a file with a block of exactly these lines; the rest stays the same to the byte.

    If several projects share a file, the label tells their blocks apart. In Markdown the marks are invisible
    comments.

    1. An existing block is replaced in place; of several, the first stays.
    2. Otherwise it is added at the end. A file without a final line end stays without one.
    3. Line ends are those of the file.
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


def remove_block(data: bytes, label: str = "", *, in_markdown: bool = False) -> bytes:
    """Return a file as it was before `put_block`; a file without a block is returned unchanged."""
    for span in reversed(_find_blocks(data, _marks(label, in_markdown=in_markdown))):
        data = _cut(data, span)
    return data


def _marks(label: str, *, in_markdown: bool) -> tuple[bytes, bytes]:
    """Return the first and last line of a block."""
    name = f"passdown {label}".rstrip().encode("unicode_escape")
    if in_markdown:
        return b"<!-- >>> " + name + b" >>> -->", b"<!-- <<< " + name + b" <<< -->"
    return b"# >>> " + name + b" >>>", b"# <<< " + name + b" <<<"


def _find_blocks(data: bytes, marks: tuple[bytes, bytes]) -> list[_Span]:
    """Find the blocks: an end mark closes the last begin mark before it; unpaired marks are ignored."""
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
    """Remove a block, with the line end after it, or else the one before it."""
    before, behind = data[: span.start], data[span.stop :]
    if behind:
        return before + behind.removeprefix(b"\r").removeprefix(b"\n")
    return before.removesuffix(span.end)


# --- rules for git --------------------------------------------------------------------------------


def ignore_lines(areas: PathClasses) -> tuple[str, ...]:
    """Return the rules that keep local files out of git, for a `.gitignore` in the project root."""
    return (*(_rule(path) for path in _outermost(areas.local)), LEFTOVERS)


def exclude_lines(areas: PathClasses, below: str) -> tuple[str, ...]:
    """Return the rules that keep all our files out of git, relative to the top of the checkout (C61)."""
    start = f"{below}/" if below else ""
    every = _outermost((*areas.local, *areas.shared, *areas.files))
    rules = [_rule(f"{start}{path}") for path in every]
    return (*rules, *([f"{_rule(start + areas.loops)}/*/loops"] if areas.loops else []), LEFTOVERS)


def attribute_lines(areas: PathClasses) -> tuple[str, ...]:
    """Return the rules for `.gitattributes`.

    Git must not change line ends of shared files (C66). It merges the view by `union`, which never conflicts;
    the view is regenerated afterwards (C116). Forges collapse the diffs of generated files; the view stays
    visible, because it is what a reviewer reads.
    """
    folders = _outermost(areas.shared)
    files = [path for path in areas.files if not _is_in(path, folders)]
    rules = [*(f"{_rule(path)}/**" for path in folders), *(_rule(path) for path in files)]
    rules += [f"{_rule(areas.loops)}/*/loops/**"] if areas.loops else []
    union = [f"{_quoted(_rule(areas.view))} {UNION}"] if areas.view else []
    made = [f"{_quoted(f'{_rule(path)}/**')} {GENERATED}" for path in _outermost(areas.generated)]
    return (*(f"{_quoted(rule)} -text" for rule in rules), *made, *union)


def _outermost(paths: Iterable[str]) -> list[str]:
    """Leave out duplicates, and paths that are inside another one."""
    every = list(dict.fromkeys(paths))
    return [path for path in every if not _is_in(path, every)]


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def _rule(path: str) -> str:
    """Write a path as a git rule that matches only this path; no rule can contain a line end."""
    text = "".join(f"\\{letter}" if letter in _SPECIAL else letter for letter in path)
    text = text.replace("\n", "?").replace("\r", "?")
    bare = text.rstrip(" ")
    return f"/{bare}" + "\\ " * (len(text) - len(bare))


def _quoted(rule: str) -> str:
    """Quote a rule that contains a space or a quote; an unquoted space would end the rule."""
    if " " not in rule and '"' not in rule:
        return rule
    return '"' + rule.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- the project's file ---------------------------------------------------------------------------

_HEAD: Final = """\
# This project uses Passdown, the pass-down log for coding agents.
# With this file, Passdown's hooks write in this project, and Passdown
# commits its own files as set below. To pause: `passdown pause`.

"""
_COMMIT: Final = """\
[commit] # Passdown commits only its own files, and never pushes.
session_end = {value}
handoff = {value}
checkpoint = {value} # at most once every checkpoint_minutes
checkpoint_minutes = 30
"""
_MORE: Final = """
# Defaults; remove the # and edit to change one.

# [view]
# commit = "integration" # tracked on that branch only; or "always", "never"

# [events]
# layout = "auto" # one folder per day above 1,000 events; or "flat", "day"
# retention_days = 7
"""


PROJECT_BLOCK: Final = "project"
"""The label of the block that holds the project's key, in its `passdown.toml`."""


def key_lines(key: str) -> tuple[str, ...]:
    """Return the lines that give a project its key (C74)."""
    return (
        "# All clones of this project share this key; a fork that is its own project needs another one.",
        "[project]",
        f'key = "{key}"',
    )


def render_project_file(*, commits: bool) -> str:
    """Write a `passdown.toml` for a project that has none."""
    return _HEAD + _COMMIT.format(value="true" if commits else "false") + _MORE
