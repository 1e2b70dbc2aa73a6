"""JSON objects: any is read, a change keeps every other byte, and what is none is refused."""

import json
from collections.abc import Mapping
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from passdown.core.json_text import (
    count_of,
    dump,
    list_at,
    load_object,
    member_at,
    number_at,
    object_at,
    read_members,
    revise_members,
    text_at,
    text_of,
    texts_of,
)
from passdown.core.problems import Malformed
from tests.support.texts import texts

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(st.text(), values, max_size=5)
layouts = st.sampled_from([None, 0, 2, "\t"])


@given(objects, layouts)
def test_any_object_is_read(value: dict[str, object], indent: int | str | None) -> None:
    text = f"\ufeff {json.dumps(value, indent=indent)}\n"

    members = read_members(text)

    assert {member.name: member.value for member in members} == value
    for member in members:
        assert json.loads(text[member.value_start : member.value_end]) == member.value
        assert text.startswith('"', member.start)


@given(objects, layouts, objects)
@example({"a": 1, "b": 2}, None, {"c": 3})
def test_a_change_keeps_every_other_byte(
    value: dict[str, object], indent: int | str | None, changes: Mapping[str, object]
) -> None:
    text = json.dumps(value, indent=indent)

    revised = revise_members(text, changes)

    assert json.loads(revised) == {**value, **changes}
    at = 0
    for member in read_members(text):
        kept = text[member.start : member.value_start if member.name in changes else member.value_end]
        assert kept in revised[at:]
        at = revised.index(kept, at) + len(kept)


def test_nothing_changed_is_nothing_changed() -> None:
    text = ' {"a":1 ,\n"b" : [ 2 ] }\n\n'

    assert revise_members(text, {}) == text


@pytest.mark.parametrize(
    ("text", "changes", "revised"),
    [
        ('{"a": 1, "a": 2}', {"a": 3}, '{"a": 3, "a": 2}'),
        ("{}", {"a": 1}, '{\n  "a": 1\n}'),
        ("\ufeff{ }\n", {"a": 1, "b": 2}, '\ufeff{\n  "a": 1,\n  "b": 2\n}\n'),
        ('{\n  "a": 1, "b": 2\n}', {"c": 3}, '{\n  "a": 1, "b": 2, "c": 3\n}'),
        ('{\n\t"a": 1\n}', {"c": 3}, '{\n\t"a": 1,\n\t"c": 3\n}'),
        ('{"a":1}', {"c": 3}, '{"a":1, "c": 3}'),
        ('{"a": 1.50, "b": 1e400}', {"a": 2}, '{"a": 2, "b": 1e400}'),
    ],
)
def test_new_members_are_laid_out_like_the_last(
    text: str, changes: Mapping[str, object], revised: str
) -> None:
    assert revise_members(text, changes) == revised


@given(
    texts | objects.map(json.dumps).map(lambda text: text[:-1]) | texts.map(lambda text: f'{{"a": {text}}}')
)
@example("[" * 100_000)
@example('{"a": ' * 100_000)
@example('{"a": ' + "[" * 100_000)
@example('{"a": 1' + "0" * 5000 + "}")
def test_what_is_no_object_is_refused_and_nothing_else_is_raised(text: str) -> None:
    with suppress(Malformed):
        names = {member.name for member in read_members(text)}
        assert names == set(json.loads(text.removeprefix("\ufeff")))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not a JSON object"),
        ("[]", "is not a JSON object"),
        ("{1: 2}", "has a member without a name at line 1"),
        ('{"a" 1}', "is not valid JSON: `:` expected at line 1"),
        ('{"a": 1\n"b": 2}', "is not valid JSON: `,` expected at line 2"),
        ('{"a": 1,\n}', "is not valid JSON at line 2"),
        ('{"a": 1}\n\n{}', "has text after the end of the object at line 1"),
        ("{", "is not valid JSON at line 1"),
    ],
)
def test_a_refusal_says_where(text: str, problem: str) -> None:
    with pytest.raises(Malformed) as refused:
        read_members(text)

    assert refused.value.problem == problem


@given(values)
def test_a_dumped_value_is_one_line_that_can_be_stored(value: object) -> None:
    text = dump(value)

    assert "\n" not in text
    assert json.loads(text.encode().decode()) == value


def test_half_an_emoji_is_escaped_when_written_and_marked_when_read() -> None:
    half = json.loads(r'"\ud83d"')

    assert dump(half) == r'"\ud83d"'
    assert text_of(half, "a") == "\ufffd"
    assert texts_of([half, "b"], "a") == ("\ufffd", "b")


def test_values_are_read_by_type() -> None:
    assert text_of(None, "a") is None
    assert text_of("b", "a") == "b"
    assert texts_of(None, "a") == ()
    assert count_of(None, "a") is None
    assert count_of(3, "a") == 3


@pytest.mark.parametrize("value", [1, True, [], {}, 1.5])
def test_what_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(Malformed, match="`a` is not a string"):
        text_of(value, "a")


@pytest.mark.parametrize("value", ["b", ["b", 1], {}, 1])
def test_what_is_no_list_of_texts_is_refused(value: object) -> None:
    with pytest.raises(Malformed, match="`a` is not a list of strings"):
        texts_of(value, "a")


@pytest.mark.parametrize("value", ["1", True, 1.0, []])
def test_what_is_no_count_is_refused(value: object) -> None:
    with pytest.raises(Malformed, match="`a` is not a whole number"):
        count_of(value, "a")


@pytest.mark.parametrize(
    ("text", "found"), [('{"a": 1}', {"a": 1}), ("[1]", None), ("{", None), ("[" * 100_000, None)]
)
def test_only_an_object_is_loaded(text: str, found: object) -> None:
    assert load_object(text) == found
    assert load_object(text.encode()) == found


def test_a_member_is_found_by_nested_names_and_has_the_type_that_is_asked_for() -> None:
    value = {"a": {"b": [1], "c": "d", "e": 2, "f": True}}

    assert (object_at(value, "a"), object_at(value, "a", "b")) == (value["a"], {})
    assert (list_at(value, "a", "b"), list_at(value, "a", "c")) == ([1], [])
    assert (text_at(value, "a", "c"), text_at(value, "a", "c", "d")) == ("d", "")
    assert (number_at(value, "a", "e"), number_at(value, "a", "f"), number_at(None)) == (2, None, None)
    assert (member_at(value, "a", "f"), member_at(value, "x", "f")) == (True, None)
