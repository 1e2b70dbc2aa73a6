"""Whether two patterns can match one file, against all files that could tell."""

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import chain, combinations_with_replacement, product
from random import Random

import pytest

from passdown.core.coordination import patterns
from passdown.core.coordination.patterns import PathPattern, matches, overlap, parse_pattern
from passdown.errors import UsageError
from passdown.records import record
from tests.proof import proof_count
from tests.proofs.conftest import Tell

PATTERNS = proof_count(fast=15, ci=60, long=2_010)
"""So many patterns of each space are compared, each with each."""


@record
class Space:
    """What patterns are made of, and the paths that can tell whether two of them overlap.

    A pattern has at most `segments` segments beside `**`, and each of them at most `tokens` characters beside
    `*`. They write all `letters` but the last, which stands for all other characters: no pattern of the space
    tells those apart. If any path fits two patterns, then one of `list_paths` does:

    1. Take the shortest name that fits a segment of each. A character that a `*` of both took in can be left
       out, unless what is left is no name: empty, `.` or `..`. So each character belongs to a character of
       one of the two, and there are at most twice `tokens`; or there are at most three.
    2. Take the shortest path that fits both. A name that a `**` of both took in can be left out, unless none
       is left. So there are at most twice `segments`, or there is one.
    3. A segment with a class also fits the name written like it. If a path needs such a name, because nothing
       else fits a segment of both, then the name alone tells, where a pattern has one segment beside `**`.
       Where it has more, a name that fits a class can stand for it, unless a `*` of the other needs it.
    """

    letters: str
    tokens: int
    segments: int
    has_stars: bool = True
    is_deep: bool = True
    ignores_case: bool = False
    has_classes: bool = True


@cache
def list_names(space: Space) -> list[str]:
    """List the names that can tell."""
    longest = max(2 * space.tokens, 3 if "." in space.letters else 1) if space.has_stars else space.tokens
    spelled = chain.from_iterable(product(space.letters, repeat=size) for size in range(1, longest + 1))
    return [name for name in map("".join, spelled) if name not in {".", ".."}]


def list_paths(space: Space) -> list[str]:
    """List the paths that can tell."""
    most = space.segments * (2 if space.is_deep else 1)
    sizes = range(1, most + 1)
    return ["/".join(path) for size in sizes for path in product(list_names(space), repeat=size)]


SPACES = {
    "names": Space(letters="ab.c", tokens=proof_count(fast=2, ci=3, long=3), segments=1, is_deep=False),
    "segments": Space(letters="abc", tokens=1, segments=3, has_stars=False),
    "both": Space(letters="ac", tokens=1, segments=2, has_classes=False),
    "dots": Space(letters="a.c", tokens=1, segments=1),
    "case": Space(letters="aAbc", tokens=2, segments=1, is_deep=False, ignores_case=True),
}


def make_text(random: Random, space: Space) -> str:
    """Write a pattern."""
    parts = [make_segment(random, space) for _ in range(random.randint(1, space.segments))]
    if not space.is_deep:
        return parts[0]
    for at in range(len(parts), -1, -1):
        if random.random() < 0.3:
            parts.insert(at, "**")
    return "/".join(parts) + random.choice(("", "", "/"))


def make_segment(random: Random, space: Space) -> str:
    """Write a segment that some name fits."""
    if not space.has_stars and random.random() < 0.2:
        return "*"
    while True:
        tokens = [make_token(random, space) for _ in range(random.randint(1, space.tokens))]
        gaps = [random.choice(("", "*")) if space.has_stars else "" for _ in range(len(tokens) + 1)]
        text = gaps[0] + "".join(token + gap for token, gap in zip(tokens, gaps[1:], strict=True))
        fits = make_naive(text, ignores_case=space.ignores_case)
        if text not in {".", ".."} and any(map(fits, list_names(space))):
            return text


def make_token(random: Random, space: Space) -> str:
    letters = space.letters[:-1]
    if random.random() < 0.5 or not space.has_classes:
        return random.choice(f"{letters}?")
    listed = "".join(random.sample(letters, random.randint(1, len(letters))))
    spans = ("a-b", "a-a") if "b" in letters else ("a-a",)
    return f"[{random.choice(('', '!', '^'))}{random.choice((listed, *spans))}]"


def make_naive(text: str, *, ignores_case: bool) -> Callable[[str], bool]:
    """Return what tells by a regular expression whether a path fits; it is given nothing but paths."""
    parts = (f"{text}**" if text.endswith("/") else text).split("/")
    if not any(special in text for special in "*?"):
        parts.append("**")
    spelled = "".join("(?:[^/]+/)*" if part == "**" else f"{spell(part)}/" for part in parts)
    regex = re.compile(spelled, re.IGNORECASE if ignores_case else 0)
    return lambda path: regex.fullmatch(f"{path}/") is not None


def spell(part: str) -> str:
    """Write a segment as a regular expression: what its characters mean, or these characters."""
    meant = re.sub(r"\[[^]]*\]|.", lambda found: spell_token(found[0]), part)
    return f"(?:{meant}|{re.escape(part)})" if "[" in part else meant


def spell_token(token: str) -> str:
    if token[0] == "[":
        return f"(?!/){token.replace('[!', '[^')}"
    return {"*": "[^/]*", "?": "[^/]"}.get(token, re.escape(token))


def as_bits(fits: Callable[[str], bool], paths: Sequence[str]) -> int:
    return int("".join("01"[fits(path)] for path in paths), 2)


def find_fault(space: Space, random: Random, count: int) -> str | None:
    """Compare so many patterns with all paths, and each with each; tell the first that is wrong."""
    texts = [make_text(random, space) for _ in range(count)]
    written = {part for text in texts for part in text.split("/") if "[" in part}
    paths = [*list_paths(space), *sorted(written)]
    made: list[tuple[PathPattern, int]] = []
    for text in texts:
        try:
            one = parse_pattern(text, ignores_case=space.ignores_case)
        except UsageError as refused:
            return refused.message
        found = as_bits(partial(matches, one), paths)
        if found != as_bits(make_naive(text, ignores_case=space.ignores_case), paths):
            return f"matches {text}"
        if space.is_deep and space.has_stars and one.is_everything != (found == (1 << len(paths)) - 1):
            return f"is_everything {text}"
        made.append((one, found))
    for (one, found), (other, also) in combinations_with_replacement(made, 2):
        if not overlap(one, other) == overlap(other, one) == (found & also != 0):
            return f"overlap {one.text} {other.text}"
    return None


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("C85", "C145")
@pytest.mark.parametrize("name", SPACES)
def test_patterns_overlap_if_and_only_if_a_path_matches_both(name: str, tell: Tell) -> None:
    fault = find_fault(SPACES[name], Random(name), PATTERNS)  # repeatable on purpose

    assert fault is None
    tell(PATTERNS * (PATTERNS + 1) // 2)


def forget_the_dots(one: str | patterns._Tokens, other: str | patterns._Tokens) -> bool:
    return patterns._can_tokens_meet(one, other)


def forget_that_many_may_be_none(reached: int, many: int) -> int:
    del many
    return reached


def forget_ranges(one: patterns._Character, other: patterns._Character) -> bool:
    """Compare only the ends of ranges."""
    return bool({*one} & {*other}) if isinstance(one, tuple) == isinstance(other, tuple) else one != other


def forget_other_cases(ranges: object) -> list[tuple[int, int]]:
    del ranges
    return []


def forget_names_like_classes(part: str, text: str, *, ignores_case: bool) -> patterns._Name:
    """Read a class as nothing but a class."""
    found = READ(part, text, ignores_case=ignores_case)
    return next(one for one in found if isinstance(one, tuple)) if isinstance(found, frozenset) else found


READ = patterns._parse_segment


@pytest.mark.proof
@pytest.mark.parametrize(
    ("where", "bug", "space"),
    [
        ("_can_names_meet", forget_the_dots, "dots"),
        ("_skip", forget_that_many_may_be_none, "both"),
        ("_can_characters_meet", forget_ranges, "segments"),
        ("_other_cases", forget_other_cases, "case"),
        ("_parse_segment", forget_names_like_classes, "names"),
    ],
)
def test_a_planted_bug_is_found(
    where: str, bug: Callable[..., object], space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, where, bug)

    assert find_fault(SPACES[space], Random(space), 15) is not None  # repeatable on purpose
