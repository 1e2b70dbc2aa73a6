"""Scalars: whatever is written is read back, by us and by any YAML reader."""

from contextlib import suppress

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from passdown.core.documents.scalars import (
    can_be_block,
    quote,
    read_flow,
    read_scalar,
    unquote,
    write_flow,
    write_scalar,
)
from passdown.core.problems import Malformed
from tests.pace import works_within
from tests.support.texts import texts

LOADERS = (yaml.BaseLoader, yaml.SafeLoader)


def loaded(text: str) -> list[object]:
    """What PyYAML reads, as text only and with its own idea of types."""
    return [yaml.load(text, loader) for loader in LOADERS]  # noqa: S506 - both make plain values


@given(texts)
@example("")
@example("a:\xa0b")
@example("<<")
def test_a_written_text_is_read_back(text: str) -> None:
    assert read_scalar(write_scalar(text)) == text
    assert read_scalar(quote(text)) == text
    assert unquote(quote(text)) == text


@given(texts)
@example("2026-13-45")
@example("1:30")
@example("no")
@example("=")
def test_other_yaml_readers_read_the_same_text(text: str) -> None:
    for written in (write_scalar(text), quote(text)):
        assert loaded(f"k: {written}") == [{"k": text}] * 2
        assert loaded(f"- {written}") == [[text]] * 2


@given(st.lists(texts).map(tuple))
def test_a_written_flow_list_is_read_back_by_all(items: tuple[str, ...]) -> None:
    written = write_flow(items)

    assert tuple(read_flow(written)) == items
    assert loaded(f"k: {written}") == [{"k": list(items)}] * 2


@given(texts)
def test_nothing_invisible_is_left_in_quotes(text: str) -> None:
    written = quote(text)

    assert "\n" not in written
    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in written)


@pytest.mark.parametrize(
    "text", ["issue #12 fixed", "fix: the thing", "`cmd`", "[WIP] x", "{x}", "&a", "no", "1:30"]
)
def test_plain_text_is_literal(text: str) -> None:
    assert read_scalar(text) == text


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_null_is_none(text: str) -> None:
    assert read_scalar(text) is None


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("'it''s'", "it's"),
        (r'"a\tb\x41\u00e9\U0001f642\e"', "a\tbA\xe9🙂\x1b"),
        (r'"match \d+"', r"match \d+"),
        (r'"\xZZ"', r"\xZZ"),
        (r'"\U00ffffff"', r"\U00ffffff"),
        (r'"\ud83d\ude42"', "🙂"),
        (r'"\ud83d"', "\ufffd"),
    ],
)
def test_escapes_of_yaml_and_json_are_read(written: str, text: str) -> None:
    assert read_scalar(written) == text


@pytest.mark.parametrize("text", ['"half', "'half", '"one" and "two"', '"a" # b', "'"])
def test_what_is_not_one_quoted_text_is_literal(text: str) -> None:
    assert unquote(text) is None
    assert read_scalar(text) == text


@pytest.mark.parametrize("text", ["[a, [b]]", "[{a: b}]", '["a" b]', "[a, , b]"])
def test_nested_or_broken_flow_lists_are_refused(text: str) -> None:
    with pytest.raises(Malformed):
        read_flow(text)


def test_plain_items_of_a_flow_list_are_literal() -> None:
    assert read_flow("[fix: it, b #1, null, 'c, d' ,]") == ["fix: it", "b #1", "", "c, d"]


@given(texts)
def test_a_block_has_several_lines_and_no_hidden_ones(text: str) -> None:
    if can_be_block(text):
        inner = text.replace("\n", "\n  ")
        assert yaml.safe_load(f"k: |-\n  {inner}") == {"k": text}


@pytest.mark.parametrize(
    "text", ["[a" + " " * 50_000 + "[]", "[" + '"' * 100_001 + "]", "[" + "\\" * 100_000 + "]"]
)
def test_long_flow_lists_are_judged_in_linear_time(text: str) -> None:
    def act() -> None:
        with suppress(Malformed):
            read_flow(text)

    assert works_within(0.5, act)
