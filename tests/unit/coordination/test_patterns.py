"""Patterns of file reservations: how they are read, what they match, and which of them overlap."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.coordination import patterns
from passdown.core.coordination.patterns import escape_path, matches, may_meet, overlap, parse_pattern
from passdown.errors import UsageError
from tests.pace import works_within

pytestmark = pytest.mark.requirement("C85")

WHOLE_SECONDS = 5
"""A hostile pair takes a fifth of a second; it would take years if the time were not bounded."""


def do_overlap(one: str, other: str, *, ignores_case: bool = False) -> bool:
    first, second = (parse_pattern(text, ignores_case=ignores_case) for text in (one, other))
    found = overlap(first, second)
    assert overlap(second, first) is found
    return found


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("src/app.py", "src/app.py"),
        ("src/app.py", "src/app.py/a"),
        ("src", "src/core/ids.py"),
        ("src/[ab]", "src/a/b"),
        ("src/[*]", "src/*/b"),
        ("app/[slug]/page.tsx", "app/s/page.tsx"),
        ("app/[slug]/page.tsx", "app/[slug]/page.tsx"),
        ("**/[...all]/*", "a/[...all]/b"),
        ("app/[[]slug]", "app/[slug]/page.tsx"),
        ("[~]/a", "~/a/b"),
        ("c[:]/a", "c:/a"),
        ("src/", "src/app.py"),
        ("src/", "src/core/ids.py"),
        ("src/", "src"),
        ("src/**", "src"),
        ("src/**", "src/core/ids.py"),
        ("**/ids.py", "ids.py"),
        ("**/ids.py", "src/core/ids.py"),
        ("src/**/ids.py", "src/ids.py"),
        ("src/**/core/**/*.py", "src/a/core/b/c/d.py"),
        ("**", ".gitignore"),
        ("*", ".gitignore"),
        ("*.py", ".py"),
        ("*a*a*", "banana"),
        ("?", "é"),
        ("?", "\U0001f600"),
        ("a?c", "a\nc"),
        ("[a-c]", "b"),
        ("[!a-c]", "d"),
        ("[^a-c]", "-"),
        ("[a-]", "-"),
        ("[-a]", "-"),
        ("[]a]", "]"),
        ("[!]a]", "b"),
        ("[[]id]", "[id]"),
        ("a]", "a]"),
        ("[!.]", "a"),
        ("...", "..."),
        ("{a,b}", "{a,b}"),
        ("dir*/", "dir1/a"),
    ],
)
def test_a_pattern_matches_a_path(text: str, path: str) -> None:
    assert matches(parse_pattern(text), path)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("src/app.py", "src/app.pyc"),
        ("src", "srcs/app.py"),
        ("src", "lib/src"),
        ("src/?", "src/a/b"),
        ("app/[[]slug]", "app/s"),
        ("app/[slug]", "app/[gulg]"),
        ("src/", "srcs/app.py"),
        ("src/", "lib/src/app.py"),
        ("*.py", "src/app.py"),
        ("src/*", "src/core/ids.py"),
        ("src/*/ids.py", "src/ids.py"),
        ("?", "ab"),
        ("a?c", "a/c"),
        ("a[!b]c", "a/c"),
        ("a[.-0]c", "a/c"),
        ("[a-c]", "B"),
        ("[!]a]", "]"),
        ("[a-c]", "-"),
        ("Src/", "src/app.py"),
    ],
)
def test_a_pattern_does_not_match_a_path(text: str, path: str) -> None:
    assert not matches(parse_pattern(text), path)


@pytest.mark.parametrize("path", ["", ".", "..", "a/../b", "./a", "/a", "a/", "a//b"])
def test_what_is_no_path_is_not_matched(path: str) -> None:
    assert not matches(parse_pattern("**"), path)
    assert not matches(parse_pattern("*/**/?*"), path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src/", "src/core/ids.py"),
        ("src/", "src"),
        ("src", "src/core/ids.py"),
        ("app/[slug]", "app/[[]slug]/page.tsx"),
        ("*[slug]", "*g[]]"),
        ("[!a]", "*a*"),
        ("src/", "**/ids.py"),
        ("src/**/a.py", "src/core/*.py"),
        ("a/**", "**/b"),
        ("**/a/b", "c/d/**"),
        ("a*", "*b"),
        ("*a*", "b*"),
        ("[!a]", "[!b]"),
        ("[a-m]*", "*[k-z]"),
        ("[!\u0020-\U0010fffe]", "[!!-\U0010fffe]"),
        ("*.*", ".*"),
        ("*[.]*", "[.]*[.]"),
        ("[.a]", "[.a]"),
        ("[.a][.b]", "[.c][.b]"),
        ("[.a]", "*"),
        ("..?", "?.."),
    ],
)
def test_patterns_overlap(one: str, other: str) -> None:
    assert do_overlap(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src/", "tests/"),
        ("src/*.py", "src/*/*.py"),
        ("src/*.py", "src/*.md"),
        ("a*b", "b*a"),
        ("?", "??"),
        ("[a-m]", "[n-z]"),
        ("[a-m]", "[!a-z]"),
        ("[!a-\U0010ffff]", "[a-z]"),
        ("a/**/b", "a/**/c"),
        ("**/a", "**/b"),
        ("a[.-0]b", "a[!.0]b"),
        (".?", "?."),
        (".*", "?"),
        ("*.", "?"),
        ("*.", "[!.]"),
        ("[.a]", "[.b]"),
        ("[.a][.b]", "[.c][.d]"),
        (".[.a]", "[.b]."),
        ("Src/", "src/"),
    ],
)
def test_patterns_do_not_overlap(one: str, other: str) -> None:
    assert not do_overlap(one, other)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("./src/app.py", "src/app.py"),
        ("src/./app.py", "src/app.py"),
        ("src//core///", "src/core/"),
        ("src/.", "src/"),
        ("**/**/a/**/**", "**/a/**"),
        ("a/**/", "a/**"),
        ("e\u0301", "é"),
        ("[e\u0301]", "[é]"),
        ("Src/", "Src/"),
    ],
)
def test_a_pattern_is_normalised_and_read_again_as_itself(text: str, normal: str) -> None:
    for ignores_case in (False, True):
        parsed = parse_pattern(text, ignores_case=ignores_case)

        assert parsed.text == normal
        assert parse_pattern(normal, ignores_case=ignores_case) == parsed


@pytest.mark.parametrize("text", ["**", "**/", "**/**", "**/*", "*/**", "*/", "**/?*", "*?*/"])
def test_what_matches_every_path_is_everything(text: str) -> None:
    assert parse_pattern(text).is_everything


@pytest.mark.parametrize(
    "text", ["*", "a/", "**/a", "**/?", "**/??*", "*/*/", "**/.*", "**/*[!a]*", "*/**/*", "**/a/**"]
)
def test_what_leaves_a_path_out_is_not_everything(text: str) -> None:
    assert not parse_pattern(text).is_everything


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "the pattern is empty", "`**`"),
        (" ", "the pattern is empty", "`**`"),
        (".", ". is the project's root", "`**`"),
        ("./", "./ is the project's root", "`**`"),
        ("/src", "/src is outside the project", "from the project's root"),
        ("/", "/ is outside", "from the project's root"),
        ("~/src", "~/src is outside", "from the project's root"),
        (".//~", ".//~ is outside", "from the project's root"),
        ("./c:src", "./c:src is outside", "from the project's root"),
        ("./ ", "./  is the project's root", "`**`"),
        ("C:/src", "C:/src is outside", "from the project's root"),
        ("..", ".. contains `..`", "root"),
        ("a/../b", "a/../b contains `..`", "root"),
        ("src\\app.py", "src\\app.py contains a backslash", "`/`"),
        ("a\0b", "a\\u0000b has a control character", "`?`"),
        ("a\nb", "a\\u000ab has a control character", "`?`"),
        ("a\udcffb", "a\\udcffb has a control character or an invalid character", "`?`"),
        ("a**b", "a**b has `**` inside a name", "`*`"),
        ("a/***/b", "a/***/b has `**` inside a name", "`*`"),
        ("[ab", "[ab has an unclosed `[`", "`[[]`"),
        ("[a/b]", "[a/b] has an unclosed `[`", "`[[]`"),
        ("a[]", "a[] has an unclosed `[`", "`[[]`"),
        ("a[!]", "a[!] has an unclosed `[`", "`[[]`"),
        ("[z-a]", "[z-a] has the range `z-a`, which is backwards", "`a-z`"),
        ("[[:alpha:]]", "[[:alpha:]] has a named character class", "[a-z0-9]"),
        ("a/[.]", "a/[.] matches no file", "`..`"),
        (".[.]", ".[.] matches no file", "`..`"),
        ("a" * 1025, "the pattern is longer than 1,024 characters", "folder"),
        ("\u0958" * 1024, "the pattern is longer than 1,024 characters", "folder"),
        ("a/" * 65, "the pattern has more than 64 segments", "folder"),
    ],
)
def test_what_is_no_pattern_is_refused_with_a_way_out(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_pattern(text)

    assert refused.value.message.startswith(message)
    assert hint in refused.value.hint


def test_the_longest_patterns_are_read() -> None:
    assert len(parse_pattern("a" * 1024).text) == 1024
    assert len(parse_pattern("a/" * 64).segments) == 65


def test_a_letter_is_the_same_however_it_is_composed() -> None:
    assert matches(parse_pattern("caf\u00e9/"), "cafe\u0301/a")
    assert matches(parse_pattern("caf[e\u0301]"), "caf\u00e9")
    assert matches(parse_pattern("caf?"), "cafe\u0301")
    assert do_overlap("caf\u00e9/", "cafe\u0301/a")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("Src/APP.py", "sRC/app.PY"),
        ("[A-C]", "b"),
        ("[a-c]", "B"),
        ("[Z-_]", "z"),
        ("[À-Ö]*", "é"),
        ("ΣΑΣ", "σας"),
        ("ẞ", "ß"),
        ("J\u030c", "ǰ"),
        ("[s]", "\u017f"),
    ],
)
def test_case_does_not_matter_where_the_checkout_ignores_it(text: str, path: str) -> None:
    assert matches(parse_pattern(text, ignores_case=True), path)
    assert not matches(parse_pattern(text), path)


@pytest.mark.parametrize(("text", "path"), [("[A-z]", "_"), ("?", "İ"), ("[!S]", "t")])
def test_what_has_no_case_is_matched_as_ever(text: str, path: str) -> None:
    assert matches(parse_pattern(text, ignores_case=True), path)
    assert matches(parse_pattern(text), path)


@pytest.mark.parametrize(
    ("text", "path"), [("[!a]", "A"), ("[!A]", "a"), ("[!s]", "\u017f"), ("[^À-Ö]", "é")]
)
def test_a_class_leaves_out_both_cases(text: str, path: str) -> None:
    assert not matches(parse_pattern(text, ignores_case=True), path)


def test_classes_overlap_without_case() -> None:
    assert do_overlap("[A-C]", "[c-e]", ignores_case=True)
    assert not do_overlap("[A-C]", "[!a-c]", ignores_case=True)
    assert not do_overlap("[!s]", "[\u017f]", ignores_case=True)
    assert not do_overlap("[! -@B-\U0010ffff]", "[A]", ignores_case=True)


def test_case_is_ignored_if_one_of_two_checkouts_ignores_it() -> None:
    here, there = parse_pattern("Src/"), parse_pattern("src/app.py", ignores_case=True)

    assert overlap(here, there)
    assert overlap(there, here)


def test_folding_case_keeps_the_number_of_letters_and_is_done_at_once() -> None:
    folded = [patterns._fold_letter(chr(code)) for code in range(patterns._LAST_CASED + 1)]
    beyond = "".join(map(chr, range(patterns._LAST_CASED + 1, sys.maxunicode + 1)))

    assert all(len(letter) == 1 for letter in folded)
    assert all(folded[ord(letter)] == letter for letter in folded)
    assert beyond.casefold() == beyond.lower() == beyond


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("*a" * 512, "*?" * 511 + "b"),
        ("*a*b" * 256, "*b*a" * 255 + "*c"),
        ("[!a]*" * 204, "*[!b]" * 204),
        ("**/*a*a*a*b/" * 31, "**/*a*a*a*c/" * 31 + "d"),
        ("".join(map(chr, range(0x4E00, 0x5200))), "*" + "".join(map(chr, range(0x4F00, 0x52FF)))),
    ],
)
def test_hostile_patterns_are_compared_in_time(one: str, other: str) -> None:
    def act() -> None:
        for ignores_case in (False, True):
            do_overlap(one, other, ignores_case=ignores_case)
            matches(parse_pattern(one, ignores_case=ignores_case), "a" * 4000)

    assert works_within(WHOLE_SECONDS, act)


# Properties: of patterns and paths over few letters, so that they have to do with each other.

_LETTERS = "aAbéÉ.-]!^"
_NAMES = st.text(_LETTERS, min_size=1, max_size=4).filter(lambda name: name not in {".", ".."})
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)
_TOKENS = st.sampled_from(
    [*_LETTERS.replace(".", "x"), "?", "[!a]", "[^Aé]", "[a-z]", "[]a]", "[!É.]", "[x-é]"]
)


@st.composite
def _segments(draw: st.DrawFn) -> str:
    tokens = draw(st.lists(_TOKENS, min_size=1, max_size=3))
    return draw(st.sampled_from(["", "*"])).join(tokens) + draw(st.sampled_from(["", "*", ".py"]))


_PATTERNS = st.builds(
    lambda parts, end: "/".join(parts) + end,
    st.lists(st.one_of(st.just("**"), _segments()), min_size=1, max_size=4),
    st.sampled_from(["", "/"]),
)


@given(st.text("aC*?[]!^-./\\~: é\u0301", max_size=12), st.booleans())
def test_any_text_is_refused_or_read_as_itself(text: str, ignores_case: bool) -> None:
    try:
        parsed = parse_pattern(text, ignores_case=ignores_case)
    except UsageError:
        return

    assert parse_pattern(parsed.text, ignores_case=ignores_case) == parsed
    assert overlap(parsed, parsed)


@given(_PATTERNS, _PATTERNS, st.booleans(), st.booleans())
def test_overlap_is_symmetric_and_every_pattern_overlaps_itself(
    one: str, other: str, first_ignores: bool, second_ignores: bool
) -> None:
    first, second = (
        parse_pattern(one, ignores_case=first_ignores),
        parse_pattern(other, ignores_case=second_ignores),
    )

    assert overlap(first, second) == overlap(second, first)
    assert overlap(first, first)
    assert parse_pattern(first.text, ignores_case=first_ignores) == first


@given(_PATTERNS, _PATHS, st.booleans())
def test_a_path_or_one_below_it_is_matched_if_and_only_if_its_own_pattern_overlaps(
    text: str, path: str, ignores_case: bool
) -> None:
    escaped = escape_path(path)
    texts = (text, escaped, f"{escaped}/*/")
    one, own, below = (parse_pattern(each, ignores_case=ignores_case) for each in texts)

    assert matches(own, path)
    assert (matches(one, path) or overlap(one, below)) == overlap(one, own)


@given(_PATTERNS, _PATTERNS, _PATHS, st.booleans())
def test_patterns_that_match_one_path_overlap(one: str, other: str, path: str, ignores_case: bool) -> None:
    first, second = (parse_pattern(each, ignores_case=ignores_case) for each in (one, other))

    assert overlap(first, second) or not (matches(first, path) and matches(second, path))
    assert matches(first, path) == matches(first, unicodedata.normalize("NFD", path))
    assert not ignores_case or matches(first, path) == matches(first, path.swapcase())


@given(st.text("ab*?[]!-^~: /", max_size=8), st.text("ab*?[]!-^~: ", max_size=8))
def test_an_escaped_path_matches_itself_and_what_is_below(path: str, other: str) -> None:
    path = "/".join(filter(None, path.split("/"))) or "x"

    pattern = parse_pattern(escape_path(path))

    assert matches(pattern, path)
    assert matches(pattern, f"{path}/below/it")
    assert matches(pattern, other) is (other == path)


@pytest.mark.parametrize("path", ["a\\b", "a\nb/c", "\udce4", "~", "c:", " ", "\x7f\\"])
def test_the_path_of_any_file_can_be_written(path: str) -> None:
    pattern = parse_pattern(escape_path(path))

    assert matches(pattern, path)
    assert matches(pattern, f"{path}/below")
    assert not matches(pattern, f"{path}x")


@given(_PATTERNS, _PATTERNS, _PATHS, st.booleans())
def test_what_the_beginnings_rule_out_never_meets(
    one: str, other: str, path: str, ignores_case: bool
) -> None:
    first, second = (parse_pattern(each, ignores_case=ignores_case) for each in (one, other))

    assert may_meet(one, path) or not matches(first, path)
    assert may_meet(one, second.text) or not overlap(first, second)


def test_beginnings_that_differ_rule_out_a_thousand_patterns_without_parsing_them() -> None:
    assert not may_meet("part1/a.py", "part2/a.py")
    assert may_meet("src/", "SRC/a.py")
    assert may_meet("src/*.py", "src/[a]/b")
    assert may_meet("src//a.py", "src/a.py")
