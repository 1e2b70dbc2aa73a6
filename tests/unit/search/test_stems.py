"""Stems are those of Snowball's own library."""

import random
import re
from pathlib import Path

import pytest
import snowballstemmer  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.project.stems import STOP_WORDS, find_stem, stem

ROOT = Path(__file__).parents[3]
LIBRARY = snowballstemmer.stemmer("english")
ENDINGS = re.findall(
    "[a-z]+",
    "s es ed ing ly edly ingly eed eedly ies ied ization ational fulness ousness iveness tional"
    " biliti lessli entli ation alism aliti ousli iviti fulli ogist enci anci abli izer ator alli bli"
    " ogi li ative icate iciti alize ical ness ful ement ment ent ion al er ic ll e y ying tion gy ss"
    " us at bl iz tt gg",
)


def read_vocabulary() -> list[str]:
    """Return the words of our documents and code, with endings they do not have there."""
    files = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py"), *ROOT.glob("tests/questions/*.txt")]
    words = {
        word for one in files for word in re.findall("[a-z]{3,}", one.read_text(encoding="utf-8").lower())
    }
    source = random.Random(1)  # the same words in each run
    return sorted(words) + [word + source.choice(ENDINGS) for word in sorted(words)]


@pytest.mark.requirement("C133")
def test_the_stems_of_a_vocabulary_are_those_of_the_library() -> None:
    words = read_vocabulary()

    assert len(words) > 10_000
    assert [(word, find_stem(word)) for word in words if find_stem(word) != LIBRARY.stemWord(word)] == []


@given(
    st.text("aeiouybcdglmnrstvwxz", min_size=3, max_size=9),
    st.sampled_from([*ENDINGS, ""]),
    st.sampled_from([*ENDINGS, ""]),
)
def test_the_stem_of_any_letters_is_that_of_the_library(begun: str, middle: str, end: str) -> None:
    word = begun + middle + end

    assert find_stem(word) == LIBRARY.stemWord(word)


@pytest.mark.parametrize(
    "word", ["skis", "sky", "early", "proceed", "exceedingly", "evening", "inning", "dying"]
)
def test_exceptions_are_those_of_the_library(word: str) -> None:
    assert find_stem(word) == LIBRARY.stemWord(word)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("sessions", "session"),
        ("decided", "decid"),
        ("decides", "decid"),
        ("an", "an"),
        ("does", "does"),
        ("s3s", "s3s"),
        ("sitzungen", "sitzungen"),
        ("größen", "größen"),
        ("設", "設"),
    ],
)
def test_stop_words_short_words_and_other_letters_stay(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_a_stop_word_is_a_word() -> None:
    assert all(word == word.strip() and stem(word) == word for word in STOP_WORDS)
