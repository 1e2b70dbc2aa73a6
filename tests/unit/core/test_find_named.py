"""What a text may mean, of things that have several names: the laws of the choice."""

from hypothesis import given
from hypothesis import strategies as st

from passdown.core.facts import find_named, make_key

NAMES = st.lists(st.text("aAbB ß", min_size=1, max_size=4), unique=True, max_size=6)


def choose(text: str, names: list[str]) -> list[str]:
    """Choose among things that have one name each."""
    return find_named(text, [(name, (name,)) for name in names])


@given(NAMES)
def test_whoever_has_the_very_name_is_meant_alone(names: list[str]) -> None:
    assert all(choose(name, names) == [name] for name in names)


@given(st.text("aAbB ß", max_size=3), NAMES)
def test_what_is_meant_begins_so_and_nobody_else_fits_better(text: str, names: list[str]) -> None:
    found = choose(text, names)

    begin = [name for name in names if name.casefold().startswith(text.casefold())]
    assert set(found) <= set(begin)
    assert bool(found) == bool(begin)
    whole = [name for name in names if name.casefold() == text.casefold()]
    assert not whole or set(found) <= set(whole)


@given(st.text("aAbB ß", max_size=3), NAMES)
def test_the_order_of_things_does_not_matter_and_neither_does_a_second_name(
    text: str, names: list[str]
) -> None:
    found = set(choose(text, names))

    assert set(choose(text, names[::-1])) == found
    assert set(find_named(text, [(name, ("x", name)) for name in names])) == found


def test_forms_of_unicode_are_one() -> None:
    assert choose("Zu\u0308rich", ["Z\u00fcrich", "Zug"]) == ["Z\u00fcrich"]
    assert make_key("Zu\u0308") == "Z\u00fc"
