"""Text from outside cannot move the cursor, hide, or turn around."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.safe_text import one_line, printable

UNSEEN = (
    "\x00\x07\x08\x0b\x0c\r\x1b\x7f\x85\x9b\xad\u061c\u200b\u200e\u202e\u2028\u2066\u206f\ufeff\U000e0041"
)


@pytest.mark.parametrize("character", UNSEEN)
def test_a_character_that_moves_the_cursor_or_hides_is_an_escape(character: str) -> None:
    assert printable(f"a{character}b") == f"a{character.encode('unicode_escape').decode()}b".replace(
        "\\x", "\\u00"
    ).replace("\\r", "\\u000d")


@pytest.mark.parametrize("text", ["é", "日本", "👩\u200d💻", "a\tb\nc", "\\u001b", "नि\u200cक"])
def test_text_that_can_be_seen_stays(text: str) -> None:
    assert printable(text) == text


def test_half_of_a_surrogate_pair_is_an_escape() -> None:
    assert printable("a\udcffb") == "a\\udcffb"


def test_one_line_has_no_line_feeds_and_tabs() -> None:
    assert one_line("a\nb\tc\r\n") == "a\\u000ab\\u0009c\\u000d\\u000a"


@given(st.text())
def test_whatever_is_shown_has_no_control_characters(text: str) -> None:
    shown = one_line(text)

    assert not any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in shown)
    assert one_line(shown) == shown
