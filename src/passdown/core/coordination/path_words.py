"""The meaning of the file names that a user types (C145): names, wildcards and braces.

The service of the same name looks at the disk: which names exist, and where links lead.
"""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from passdown.core.coordination.patterns import (
    check_characters,
    escape_path,
    is_plain,
    matches,
    parse_pattern,
)
from passdown.core.safe_text import one_line
from passdown.errors import UsageError

MOST_WAYS: Final = 64
"""The most paths that a word with braces may stand for."""
MOST_NAMES: Final = 20_000
"""The most files to look at when counting what a pattern covers."""

_EVERYTHING: Final = "**"


class Coverage(NamedTuple):
    """How many files of the index a pattern covers now."""

    files: int
    is_bounded: bool = False
    """Whether there may be more, because not all files were checked."""


def check_word(text: str, *, is_literal: bool = False) -> None:
    """Refuse words that mean something else in other tools, or are more likely a typo than a name."""
    if not (text if is_literal else text.strip()):
        raise UsageError("the path is empty", hint="name a file or a folder, or `**` for every file")
    check_characters(text)
    if is_literal:
        return
    shown = one_line(text)
    if text.startswith("!"):
        raise UsageError(
            f"{shown} starts with `!`, but a path cannot be excluded",
            hint="name what to reserve; if the file name starts with `!`, add --literal",
        )
    if text != text.strip():
        raise UsageError(
            f"`{shown}` starts or ends with a space",
            hint="remove the space; if the file name has it, add --literal",
        )
    if "\\" in text:
        raise UsageError(
            f"{shown} contains a backslash",
            hint="write `/` between names; if the file name has a backslash, add --literal",
        )


def has_meaning(segment: str) -> bool:
    """Return whether a name has special characters: wildcards or braces."""
    return not is_plain(segment) or "{" in segment


def expand_braces(text: str) -> Sequence[str]:
    """Expand braces as a shell does; braces without a comma stay as they are."""
    done: list[str] = []
    waiting = [text]
    while waiting:
        word = waiting.pop()
        found = _find_choice(word)
        if found is None:
            done.append(word)
        else:
            before, choices, behind = found
            waiting += [f"{before}{choice}{behind}" for choice in reversed(choices)]
        if len(done) + len(waiting) > MOST_WAYS:
            raise UsageError(
                f"{one_line(text)} expands to more than {MOST_WAYS} paths",
                hint="reserve a folder above them, or use `*`",
            )
    return list(dict.fromkeys(done))


def _find_choice(text: str) -> tuple[str, Sequence[str], str] | None:
    """Return the text before, the choices in, and the text after the first braces that have a comma."""
    for start, character in enumerate(text):
        if character != "{":
            continue
        depth, commas = 0, [start]
        for at in range(start, len(text)):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if depth == 1 and text[at] == ",":
                commas.append(at)
            if depth == 0:
                if len(commas) > 1:
                    ends = [*commas[1:], at]
                    choices = [text[one + 1 : end] for one, end in zip(commas, ends, strict=True)]
                    return text[:start], choices, text[at + 1 :]
                break
    return None


def make_pattern(name: str, rest: Sequence[str], *, is_folder: bool) -> str:
    """Return the pattern for a path from the root, followed by segments that may have wildcards."""
    if not name and not rest:
        return _EVERYTHING
    start = [escape_path(name)] if name else []
    text = "/".join((*start, *rest))  # `//` is the same as `/`
    return parse_pattern(f"{text}/" if is_folder else text).text


def find_relative(name: str, roots: Iterable[str]) -> str | None:
    """Return the path of a file relative to its root; None if no root contains it.

    All paths are absolute, with `/`. Of nested roots the inner one counts: a worktree may be inside another.
    """
    for root in sorted(roots, key=len, reverse=True):
        if name == root:
            return ""
        if name.startswith(root.rstrip("/") + "/"):
            return name[len(root.rstrip("/")) + 1 :]
    return None


def find_held(patterns: Iterable[str], held: Iterable[str]) -> Sequence[str]:
    """Return the held patterns that are meant; a folder matches with or without the `/` at its end."""
    known = {name.rstrip("/"): name for name in held}
    return [known[text.rstrip("/")] for text in patterns if text.rstrip("/") in known]


def count_covered(text: str, names: Sequence[str]) -> Coverage:
    """Count the files that a pattern matches; names with another beginning are passed over quickly."""
    pattern = parse_pattern(text)
    start = _find_start(text)
    found = looked = 0
    for name in names:
        if name[: len(start)].lower() != start and name.isascii():
            continue
        if looked == MOST_NAMES:
            return Coverage(found, is_bounded=True)
        looked += 1
        found += matches(pattern, name)
    return Coverage(found)


def find_common_start(texts: Iterable[str]) -> str:
    """Return the lower-case beginning of all names that the patterns match, as far as it is known."""
    starts = sorted(map(_find_start, texts))
    pairs = zip(starts[0], starts[-1], strict=False) if starts else ()
    return "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _find_start(text: str) -> str:
    """Return the lower-case beginning that all names share which a pattern matches, as far as it is known."""
    start = text.rstrip("/")
    for at, character in enumerate(start):
        if not (is_plain(character) and character.isascii()):
            return start[:at].lower()
    return start.lower()
