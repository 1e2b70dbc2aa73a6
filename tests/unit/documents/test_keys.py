"""Keys: known ones are typed, the others are kept, and a change touches its own entry only."""

from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from passdown.core.documents.fields import count_key, text_key
from passdown.core.documents.keys import Keys, read_keys, revise_keys, write_keys
from passdown.core.problems import Problem, Severity, Unknown
from tests.support.texts import texts

GOAL = text_key("goal", required=True)
NOW = text_key("now", keep_empty=True)
COUNT = count_key("count")
KNOWN = (GOAL, NOW, COUNT)
ENTRIES = (
    "goal: a",
    "now: |\n  b\n  c",
    "count: 1",
    "count: x",
    "other: d",
    "# e",
    "f",
    "",
    "- g",
    "  h",
    "now: i",
)
matters = st.lists(st.sampled_from(ENTRIES)).map(lambda lines: "".join(f"{line}\n" for line in lines))


def read(matter: str) -> Keys:
    """What the three keys hold."""
    return read_keys(matter, KNOWN, 2)


def revised(matter: str, **changes: object) -> str:
    """The front matter after some changes."""
    was = read(matter).values
    return revise_keys(matter, KNOWN, {**was, **changes}, was, frozenset())


@given(matters | texts)
def test_nothing_changed_is_nothing_changed(matter: str) -> None:
    assert revised(matter) == matter


@given(matters | texts, st.none() | texts, st.none() | st.integers(0, 9))
@example("now: a\nnow: b\n", None, None)
@example("- a\n", "b", None)
@example("other: a", "b", 1)
def test_what_is_changed_is_read_back_and_the_rest_is_kept(
    matter: str, goal: str | None, count: int | None
) -> None:
    was = read(matter)
    wanted = {**was.values, "goal": goal, "count": count}

    again = read(revised(matter, goal=goal, count=count))

    assert again.values == wanted
    mine = tuple(f"{name}:" for name in ("goal", "count"))
    kept = [one.text for one in was.unknown if not one.text.startswith(mine)]
    assert [text for text in kept if text not in "\n".join(one.text for one in again.unknown)] == []


@pytest.mark.parametrize(
    ("matter", "changes", "result"),
    [
        ("goal: a\nother: b\n", {"goal": "c"}, "goal: c\nother: b\n"),
        ("goal: a\n\n# c\nother: b\n", {"goal": None}, "\n# c\nother: b\n"),
        ("goal: a\n\n# c\nother: b\n", {"goal": "d"}, "goal: d\n\n# c\nother: b\n"),
        ("goal: |\n  a\n\nother: b\n", {"goal": "c"}, "goal: c\n\nother: b\n"),
        ("goal: |\n  a\n# d\n  b\n\n\nother: b\n", {"goal": "c"}, "goal: c\n# d\n\n\nother: b\n"),
        ("goal: a\r\n\r\nother: b\r\n", {"goal": "c"}, "goal: c\n\r\nother: b\r\n"),
        ("other: b\ngoal: a\n", {"now": "c"}, "other: b\ngoal: a\nnow: c\n"),
        ("other: b", {"goal": "c", "now": "d"}, "goal: c\nnow: d\nother: b\n"),
        ("goal: a", {"count": 3}, "goal: a\ncount: 3\n"),
        ("goal: a", {"goal": "b"}, "goal: b\n"),
        ("", {"goal": "a", "now": "b", "count": 0}, "goal: a\nnow: b\ncount: 0\n"),
        ("now: a\n", {"now": None}, "now: null\n"),
        ("count: 1\ncount: 2\n", {"count": None}, "count: null\ncount: 2\n"),
    ],
)
def test_an_entry_keeps_its_place_and_a_new_one_follows_its_neighbour(
    matter: str, changes: Mapping[str, object], result: str
) -> None:
    assert revised(matter, **changes) == result


def test_a_forced_key_is_written_anew() -> None:
    values = read("goal:   a\n").values

    assert revise_keys("goal:   a\n", KNOWN, values, values, frozenset({"goal"})) == "goal: a\n"


def test_what_is_wrong_is_told_with_its_line() -> None:
    found = read("# c\nnow: a\nnow: b\nstray\n# d\nother: e\ncount: x\n")

    assert found.problems == (
        Problem(line=4, field="now", problem="appears twice; the first one counts", hint="keep one of them"),
        Problem(
            line=5,
            field="front matter",
            problem="has a line that is not `key: value`: stray",
            severity=Severity.WARNING,
        ),
        Problem(line=8, field="count", problem="is not a whole number: x", hint="write digits only"),
        Problem(line=2, field="goal", problem="is missing"),
    )
    assert [one.text for one in found.unknown] == ["# c", "now: b", "stray\n# d", "other: e", "count: x"]
    assert found.values == {"goal": None, "now": "a", "count": None}


@pytest.mark.parametrize(
    ("matter", "missing"), [("", True), ("goal:\n", True), ("goal: a\n", False), ("goal: [\n- a\n", False)]
)
def test_a_required_key_must_say_something(matter: str, missing: bool) -> None:
    assert ("is missing" in [one.problem for one in read(matter).problems]) is missing


def test_a_required_key_that_does_not_fit_is_not_missing_too() -> None:
    assert [one.problem for one in read("goal:\n- a\n").problems] == ["is a list, but one text is expected"]


def test_a_front_matter_written_anew_has_the_keys_and_what_was_kept() -> None:
    kept = [Unknown(place="front matter", text="other: a"), Unknown(place="Goal", text="b")]

    written = write_keys(KNOWN, {"goal": "c", "now": None, "count": None}, kept)

    assert written == "goal: c\nnow: null\nother: a\n"
