"""The YAML library: small values are read as text, hostile ones are refused in no time."""

from itertools import pairwise

import pytest

from passdown.core.documents.yaml_library import MAX_DEPTH, load
from passdown.core.problems import Malformed
from tests.pace import works_within

LAUGHS = "a: &a [lol, lol]\n" + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefgh"))
HOSTILE = {
    "brackets": "[" * 100_000,
    "fewer brackets": "[" * 60_000,
    "braces": "{a: " * 16_000,
    "closers in quotes": '["]",\n' * 10_000,
    "question marks": "? " * 30_000,
    "dashes": "- " * 30_000,
    "dashes and question marks": "- ? " * 15_000,
    "indents": "\n".join(" " * n + "a:" for n in range(300)),
    "billion laughs": LAUGHS,
    "alias": "[*a]",
    "anchor": "&a b",
    "merge of an alias": "{<<: *a, b: c}",
    "tag": "!!python/object/apply:os.system [ls]",
    "own tag": "!x y",
    "two documents": "a\n---\nb",
    "a name twice": "{a: 1, a: 2}",
    "a list as name": "{[a]: b}",
    "never closed": "[a, b",
    "half a quote": '"a',
    "control characters": "a\x00b",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_values_are_refused_at_once(text: str) -> None:
    def act() -> None:
        with pytest.raises(Malformed) as refused:
            load(text)
        assert refused.value.hint

    assert works_within(0.2, act)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[a, {b: c, d: [e]}]", ["a", {"b": "c", "d": ["e"]}]),
        ("{a: no, b: 1:30, c: 2026-13-45, d: }", {"a": "no", "b": "1:30", "c": "2026-13-45", "d": ""}),
        ("[\n  a,  # one\n  'b, c',\n]", ["a", "b, c"]),
        (">-\n one\n two\n\n three", "one two\nthree"),
        ('"*not an alias* &nor an anchor !nor a tag"', "*not an alias* &nor an anchor !nor a tag"),
        ("{<<: {a: b}}", {"<<": {"a": "b"}}),
        ("[1" + "0" * 60_000 + "]", ["1" + "0" * 60_000]),
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, [[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]),
        ("", None),
    ],
)
def test_small_values_are_read_as_text(text: str, value: object) -> None:
    assert load(text) == value


def test_it_works_without_the_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("yaml.CBaseLoader")

    assert load("{a: [no]}") == {"a": ["no"]}
    for text in HOSTILE.values():
        with pytest.raises(Malformed):
            load(text)
