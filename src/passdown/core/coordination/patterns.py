"""Patterns of file reservations (C85): which paths they match, and whether two overlap (ADR 0025).

A pattern is written from the root of the project, with `/` between segments:

1. `src/app.py` matches that path, and everything below it: it may be a folder, or become one. So does every
   pattern without `*` and `?`.
2. `src/` matches everything below the folder, and the path `src` itself: a file could replace the folder.
3. `*` matches any characters within a segment, `?` one, `[a-z]` one of those, `[!a-z]` or `[^a-z]` any other.
   In a class, `]` is a character if it comes first, and `-` if it comes first or last.
4. A segment with a class also matches the name that is written like it: `[slug]` may be a folder. A class of
   one character that is no letter, digit or dot, such as `[*]`, is that character without its meaning.
5. `**` as a whole segment matches any number of segments, also none; so `src/**` is the same as `src/`.

Patterns and paths are compared in NFC, and without case where the checkout ignores case. No segment of a path
is empty, `.` or `..`. A name that starts with a dot is a name like any other.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import Annotated, Final, TypeAlias, TypeVar

from passdown.core.lazy_regex import pattern
from passdown.core.safe_text import one_line
from passdown.errors import UsageError
from passdown.records import record

_MAX_LENGTH: Final = 1024
_MAX_SEGMENTS: Final = 64
_WILDCARDS: Final = "*?["

_Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""A set of characters: the first and the last code point of each range."""
_Character: TypeAlias = str | _Ranges
"""A character, one of several, or none of them for `*`."""
_Tokens: TypeAlias = tuple[_Character, ...]
_Name: TypeAlias = str | _Tokens | frozenset[str | _Tokens]
"""A name, the characters of one with wildcards, or none of them for `**`; or one of several of these."""

_T = TypeVar("_T")

_LAST: Final = 0x10FFFF
"""The last character of Unicode."""
_SLASH: Final = ord("/")
_DOT: Final = ord(".")
_ANY: Final[_Ranges] = ((1, _SLASH - 1), (_SLASH + 1, _LAST))
_MANY: Final = ()
"""Stands for any number of characters or names."""
_DOT_NAMES: Final = (".", "..")
_LAST_CASED: Final = 0x1FFFF
"""No character above this one has another case."""

_UNUSABLE: Final = pattern(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_ABSOLUTE: Final = pattern(r"~$|[A-Za-z]:")
"""Matches the first segment of a path that starts at a home folder or a drive."""
_TOKEN: Final = pattern(r"\*|\?|\[([!^]?)(\]?[^\]]*)\]|\[|[^*?\[]+")
_ESCAPED: Final = pattern(r"\[([^\w./\]!^])\]")
"""A class of one character, which is no letter, digit or dot."""
_NAMED_CLASS: Final = pattern(r"\[:\w+:$")


@record
class PathPattern:
    """A parsed pattern."""

    text: Annotated[str, "In NFC, without `.` segments, empty segments and repeated `**`."]
    ignores_case: Annotated[bool, "Whether it is compared without case."]
    segments: Annotated[tuple[_Name, ...], "What is compared."]

    @property
    def is_everything(self) -> bool:
        """Return whether it matches every path, as `**` does."""
        others = [segment for segment in self.segments if segment != _MANY]
        return _MANY in self.segments and len(others) <= 1 and all(map(_is_any_name, others))


def parse_pattern(text: str, *, ignores_case: bool = False) -> PathPattern:
    """Parse a pattern; raise `UsageError` if it is not one.

    The text of the result parses as the same pattern again.
    """
    normal = _compose(text[: _MAX_LENGTH + 1])
    if not text.strip():
        raise UsageError("the pattern is empty", hint="name a path, a folder with `/` at its end, or `**`")
    check_characters(text, normal)
    if "\\" in normal:
        raise UsageError(
            f"{one_line(text)} contains a backslash",
            hint="write `/` between segments; `[*]` is the character `*`, without its meaning",
        )
    parts: list[str] = []
    for part in normal.split("/"):
        is_repeated = part == "**" and parts[-1:] == ["**"]
        if part not in {"", "."} and not is_repeated:
            parts.append(part)
    _check_parts(text, parts, is_absolute=normal.startswith("/"))
    if normal.endswith(("/", "/.")) and parts[-1] != "**":
        parts.append("")
    segments = tuple(_parse_segment(part, text, ignores_case=ignores_case) for part in parts)
    tokens = (found[0] for part in parts for found in _TOKEN.finditer(part))
    if segments[-1] != _MANY and not any(token in {"*", "?"} for token in tokens):
        segments = (*segments, _MANY)
    return PathPattern(text="/".join(parts), ignores_case=ignores_case, segments=segments)


def escape_path(path: str) -> str:
    """Return the pattern that matches a path and everything below it, whatever characters the path has.

    Characters that no pattern may have are written as `?`, which matches others too.
    """
    text = ""
    for one in path:
        if one == "\\" or _UNUSABLE.match(one):
            text += "?"
        else:
            text += one if is_plain(one) else f"[{one}]"
    if _ABSOLUTE.match(text.partition("/")[0]) or not text.strip():
        at = text.startswith(":", 1)
        text = f"{text[:at]}[{text[at]}]{text[at + 1 :]}"
    has_gap = "\\" in path or _UNUSABLE.search(path)
    return f"{text}/" if has_gap else text


def is_plain(text: str) -> bool:
    """Return whether a text has no character with a special meaning in a pattern."""
    return not any(special in text for special in "*?[")


def matches(one: PathPattern, path: str) -> bool:
    """Return whether a pattern matches a path from the root, as git names it.

    A path with a segment that is empty, `.` or `..` never matches.
    """
    names = _fold(_compose(path), ignores_case=one.ignores_case).split("/")
    return not any(name in {"", *_DOT_NAMES} for name in names) and _can_meet(
        one.segments, names, _can_segments_meet
    )


def may_meet(name: str, other: str) -> bool:
    """Return whether two patterns, or a pattern and a path, may meet, by their beginnings alone.

    Texts that differ before the first wildcard do not, unless a character may be written in several ways.
    This decides about most of a thousand patterns; parsing them takes as long as a whole hook.
    """
    if name.startswith(".") or other.startswith(".") or any(odd in name + other for odd in ("//", "/.")):
        return True  # it may be written in another way
    for one, two in zip(name, other, strict=False):
        if not (one.isascii() and two.isascii()) or one in _WILDCARDS or two in _WILDCARDS:
            return True
        if one.lower() != two.lower():
            return False
    return True


def overlap(one: PathPattern, other: PathPattern) -> bool:
    """Return whether any path matches both patterns, ignoring case if either of them does.

    The time is at most the product of their lengths.
    """
    if one.ignores_case != other.ignores_case:
        one, other = (parse_pattern(each.text, ignores_case=True) for each in (one, other))
    # Most patterns differ in one of their first names; comparing those takes a fifth of the time.
    pairs = zip(one.segments, other.segments, strict=False)
    names = takewhile(lambda pair: isinstance(pair[0], str) and isinstance(pair[1], str), pairs)
    if any(name != other_name for name, other_name in names):
        return False
    return _can_meet(one.segments, other.segments, _can_segments_meet)


# --- reading ----------------------------------------------------------------------------------------


def check_characters(text: str, normal: str = "") -> None:
    """Refuse a text that is too long for a pattern, or has characters that no pattern may have."""
    if max(len(text), len(normal)) > _MAX_LENGTH:
        raise UsageError(
            f"the pattern is longer than {_MAX_LENGTH:,} characters",
            hint="reserve a folder above those files",
        )
    if _UNUSABLE.search(text):
        raise UsageError(
            f"{one_line(text)} has a control character or an invalid character",
            hint="write `?` in its place",
        )


def _check_parts(text: str, parts: Sequence[str], *, is_absolute: bool) -> None:
    shown = one_line(text)
    if is_absolute or _ABSOLUTE.match("".join(parts[:1])):
        raise UsageError(
            f"{shown} is outside the project", hint="write the path from the project's root, like `src/`"
        )
    if not "".join(parts).strip():
        raise UsageError(f"{shown} is the project's root", hint="write `**` for every file of the project")
    if len(parts) > _MAX_SEGMENTS:
        raise UsageError(
            f"the pattern has more than {_MAX_SEGMENTS} segments", hint="reserve a folder above those files"
        )
    if ".." in parts:
        raise UsageError(f"{shown} contains `..`", hint="write the path from the project's root")
    if any("**" in part and part != "**" for part in parts):
        raise UsageError(
            f"{shown} has `**` inside a name",
            hint="write `*` inside a name, and `**` alone between two `/`",
        )


def _parse_segment(part: str, text: str, *, ignores_case: bool) -> _Name:
    if part in {"", "**"}:
        return _MANY
    plain = _ESCAPED.sub("", part)
    if is_plain(plain):
        return _fold(_ESCAPED.sub(r"\1", part), ignores_case=ignores_case)
    tokens: list[_Character] = []
    for found in _TOKEN.finditer(part):
        match found[0]:
            case "*":
                tokens.append(_MANY)
            case "?":
                tokens.append(_ANY)
            case word if word[0] != "[":
                tokens += _fold(word, ignores_case=ignores_case)
            case _:
                ranges = _parse_ranges(found[2] or "", text)
                if ignores_case:
                    ranges = [*ranges, *_other_cases(ranges)]
                outside = _complement(ranges)
                tokens.append(outside if found[1] else _complement(outside))
    if not _can_names_meet(tuple(tokens), (_MANY,)):
        raise UsageError(f"{one_line(text)} matches no file", hint="no file is named `.` or `..`")
    if "[" not in plain:
        return tuple(tokens)
    return frozenset({tuple(tokens), _fold(part, ignores_case=ignores_case)})


def _parse_ranges(body: str, text: str) -> list[tuple[int, int]]:
    """Parse the content of a character class."""
    shown = one_line(text)
    if not body:
        raise UsageError(
            f"{shown} has an unclosed `[`",
            hint="close it, or write `[[]` for the character `[`",
        )
    if _NAMED_CLASS.search(body):
        raise UsageError(f"{shown} has a named character class", hint="list the characters, like `[a-z0-9]`")
    ranges: list[tuple[int, int]] = []
    at = 0
    while at < len(body):
        is_range = body[at + 1 : at + 2] == "-" and at + 2 < len(body)
        first, last = body[at], body[at + 2 if is_range else at]
        if last < first:
            raise UsageError(
                f"{shown} has the range `{first}-{last}`, which is backwards",
                hint=f"write `{last}-{first}`",
            )
        ranges.append((ord(first), ord(last)))
        at += 3 if is_range else 1
    return ranges


def _complement(ranges: Iterable[tuple[int, int]]) -> _Ranges:
    """Return all characters of names that are outside the ranges."""
    found: list[tuple[int, int]] = []
    start = 1
    for first, last in sorted([*ranges, (_SLASH, _SLASH)]):
        if start < first:
            found.append((start, first - 1))
        start = max(start, last + 1)
    return (*found, (start, _LAST)) if start <= _LAST else tuple(found)


# --- letters ----------------------------------------------------------------------------------------


def _compose(text: str) -> str:
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text)


def _fold(text: str, *, ignores_case: bool) -> str:
    """Return a text in NFC without differences of case, if case is ignored."""
    if not ignores_case:
        return text
    return text.lower() if text.isascii() else _compose("".join(map(_fold_letter, text)))


def _fold_letter(letter: str) -> str:
    """Fold one letter into one letter, as file systems do, so that `?` still matches it."""
    folded = (letter.casefold(), letter.lower(), letter)
    return next(one for one in folded if len(one) == 1)


def _other_cases(ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield all cases of each letter in the ranges."""
    for letters in _letters_with_cases():
        if any(first <= letter <= last for letter in letters for first, last in ranges):
            yield from ((letter, letter) for letter in letters)


@cache
def _letters_with_cases() -> tuple[tuple[int, ...], ...]:
    """Return the code points of each letter that has several cases."""
    cases: dict[str, list[int]] = {}
    for code in range(_LAST_CASED + 1):
        cases.setdefault(_fold_letter(chr(code)), []).append(code)
    return tuple(tuple(codes) for codes in cases.values() if len(codes) > 1)


# --- comparing --------------------------------------------------------------------------------------


def _can_meet(one: Sequence[_T], other: Sequence[_T], can_items_meet: Callable[[_T, _T], bool]) -> bool:
    """Return whether any sequence fits both: segments of a path, or characters of a name.

    An item stands for one element, and some element fits each item; `_MANY` stands for any number. Both sides
    are read at once: `reached` has a bit for each position of `other` from which the rest of `one` must fit.
    """
    end = 1 << len(other)
    many = sum(1 << at for at, met in enumerate(other) if met == _MANY)
    reached = _skip(1, many)
    compared: dict[_T, tuple[int, int]] = {}
    for item in one:
        if item == _MANY:
            reached = 2 * end - (reached & -reached)  # from the lowest position on
            continue
        known, meeting = compared.get(item, (many | end, 0))
        for at in _positions(reached & ~known):
            meeting |= can_items_meet(item, other[at]) << at
        compared[item] = (known | reached, meeting)
        reached = _skip((reached & meeting) << 1 | reached & many, many)
        if not reached:
            return False
    return reached >= end


def _positions(bits: int) -> Iterator[int]:
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1


def _skip(reached: int, many: int) -> int:
    """Add the positions after a `*` or `**`, which may stand for nothing; there are never two in a row."""
    return reached | (reached & many) << 1


def _can_segments_meet(one: _Name, other: _Name) -> bool:
    """Return whether any name fits both segments; one with a class also fits the name written like it."""
    choices, others = (each if isinstance(each, frozenset) else (each,) for each in (one, other))
    return any(_can_names_meet(each, name) for each in choices for name in others)


def _can_names_meet(one: str | _Tokens, other: str | _Tokens) -> bool:
    """Return whether any name fits both segments; `.` and `..` are not names.

    1. A segment without wildcards is a name.
    2. If neither `.` nor `..` fits both, neither has to be ruled out; nor has the empty name, which fits only
       `*`, as they do.
    3. If one of them fits both, and both have a `*`, then `...` fits both.
    4. If one of them fits both, and one has no `*`, then that has one or two characters: one is not a dot.
    """
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    if isinstance(one, str) or isinstance(other, str):
        return _can_tokens_meet(one, other)
    if not any(_can_tokens_meet(one, name) and _can_tokens_meet(other, name) for name in _DOT_NAMES):
        return _can_tokens_meet(one, other)
    if _MANY in one and _MANY in other:
        return True
    short, long = (other, one) if _MANY in one else (one, other)
    return any(_can_tokens_meet(without, long) for without in _without_a_dot(short))


def _can_tokens_meet(one: Sequence[_Character], other: Sequence[_Character]) -> bool:
    return _can_meet(one, other, _can_characters_meet)


def _without_a_dot(tokens: tuple[_Character, ...]) -> Iterator[tuple[_Character, ...]]:
    """Yield the tokens, each time with a different one that may not be a dot."""
    for at, token in enumerate(tokens):
        if isinstance(token, tuple):
            others = _complement([*_complement(token), (_DOT, _DOT)])
            if others:
                yield (*tokens[:at], others, *tokens[at + 1 :])


def _can_characters_meet(one: _Character, other: _Character) -> bool:
    """Return whether any character is in both."""
    if isinstance(one, str):
        return one == other if isinstance(other, str) else _has(other, one)
    if isinstance(other, str):
        return _has(one, other)
    return any(first <= end and start <= last for first, last in one for start, end in other)


def _has(ranges: _Ranges, character: str) -> bool:
    code = ord(character)
    return any(first <= code <= last for first, last in ranges)


def _is_any_name(segment: _Name) -> bool:
    if isinstance(segment, frozenset):
        return any(map(_is_any_name, segment))
    others = [token for token in segment if token != _MANY]
    return len(others) < len(segment) and all(token == _ANY for token in others) and len(others) <= 1
