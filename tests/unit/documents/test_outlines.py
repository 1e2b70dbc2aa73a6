"""Outlines: places are found in any order and layout, and a change leaves all else to the byte."""

from collections.abc import Mapping

import pytest
from hypothesis import given

from passdown.core.documents.outlines import Outline, cut_body, read_body, retitled, revise_body, write_body
from passdown.core.documents.places import Heading, ListOf, Paragraph, Place, SingleLine
from passdown.core.problems import Unknown
from tests.support.mangled import documents
from tests.support.texts import said_line, texts

GOAL: Place[str] = Place("Goal", Paragraph(), "## Goal", "\n\n")
STATE: Place[None] = Place("State", Heading(), "## State")
BRANCH: Place[str] = Place("State/Branch", SingleLine(str, str, ""), "**Branch:**", " ", "\n")
TEST: Place[str] = Place("State/Test", SingleLine(str, str, ""), "**Test:**", " ", "\n\n")
DONE: Place[tuple[str, ...]] = Place("State/Done", ListOf(str, str), "### Done")
NEXT: Place[tuple[str, ...]] = Place("State/Next", ListOf(str, str), "### Next")
NOTES: Place[str] = Place("Notes", Paragraph(), "## Notes", required=False)
OUTLINE = Outline((GOAL, STATE, BRANCH, TEST, DONE, NEXT, NOTES))
EMPTY: Mapping[str, object] = {
    "Goal": "",
    "State": None,
    "State/Branch": "",
    "State/Test": "",
    "State/Done": (),
    "State/Next": (),
    "Notes": "",
}
TITLES = ("## Goal", "## State", "### Done", "### Next", "## Notes")


Held = tuple[str, object]


def held(*values: Held) -> Mapping[str, object]:
    """All places; those not given are empty."""
    return {**EMPTY, **dict(values)}


def revised(text: str, *changes: Held, forced: frozenset[str] = frozenset()) -> str:
    """A body after some changes."""
    was = read_body(text, OUTLINE).values
    return revise_body(text, OUTLINE, {**was, **dict(changes)}, was, forced)


def names(text: str) -> list[str]:
    """What the segments of a body are called."""
    return [segment.name for segment in cut_body(text, OUTLINE)]


@given(documents(TITLES) | texts)
def test_the_segments_of_a_body_are_the_body(text: str) -> None:
    segments = cut_body(text, OUTLINE, 5)

    assert "".join(segment.text for segment in segments) == text
    offset = 0
    for segment in segments:
        assert segment.line == 5 + text[:offset].count("\n")
        offset += len(segment.text)


@given(documents(TITLES) | texts)
def test_nothing_changed_is_nothing_changed(text: str) -> None:
    assert revised(text) == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a\n# T\n## goal:\n### x\n", ["", "title", "Goal", "?goal:/x"]),
        ("# T\n# U\n## Goal\n## Goal\n", ["title", "?title", "Goal", "?Goal"]),
        (
            "## State\n**Branch:** a\n**branch**: b\n**Other:** c\n### Done\n",
            ["State", "State/Branch", "State/Done"],
        ),
        ("## State\n```\n**Branch:** a\n```\n<!--\n**Test:** b\n-->\n", ["State"]),
        ("## State/Done\n## State\\Done\n", ["?State\\Done", "?State\\Done"]),
        ("## title\n## front matter\n", ["?Title", "?Front matter"]),
        ("### State\n#### Done\n", ["State", "State/Done"]),
        ("## Goal\n### Done\n", ["Goal", "?Goal/Done"]),
        ("## Goal\n**Branch:** a\n", ["Goal"]),
        ("## State\n### Branch\n", ["State", "?State/Branch"]),
    ],
)
def test_segments_are_named_after_their_titles(text: str, found: list[str]) -> None:
    assert names(text) == found


def test_places_are_read_and_the_rest_is_kept() -> None:
    body = read_body(
        "a\n# T #\nb\n## Goal\ng\n## X\nc\n## State\nd\n**Branch:** main\ne\n### Done\n- f\n\ng\n", OUTLINE, 3
    )

    assert body.title == "T"
    assert body.values == {**EMPTY, "Goal": "g", "State/Branch": "main", "State/Done": ("f",)}
    assert [(one.place, one.text) for one in body.unknown] == [
        ("", "a"),
        ("title", "b"),
        ("X", "## X\nc"),
        ("State", "d"),
        ("State/Branch", "e"),
        ("State/Done", "g"),
    ]
    assert [(one.line, one.field, one.fixable) for one in body.problems] == [
        (13, "State/Branch", False),
        (17, "State/Done", False),
        (3, "State/Test", True),
        (3, "State/Next", True),
    ]


def test_what_is_never_closed_is_told() -> None:
    problems = read_body("```\na\n<!-- b\n", OUTLINE).problems

    assert [(one.line, one.problem) for one in problems[:2]] == [
        (1, "has a code fence that is never closed"),
        (3, "has a comment that is never closed"),
    ]


@pytest.mark.parametrize(
    ("text", "change", "result"),
    [
        # A place that is there keeps its layout.
        ("## Goal\na\n\n\n## X\n", (GOAL.name, "b"), "## Goal\nb\n\n\n## X\n"),
        ("## Goal\na", (GOAL.name, "b"), "## Goal\nb"),
        ("## Goal\na\n", (GOAL.name, ""), "## Goal\n"),
        ("## Goal", (GOAL.name, "b"), "## Goal\n\nb\n"),
        ("## Goal\n## X\n", (GOAL.name, "b"), "## Goal\n\nb\n## X\n"),
        (
            "## State\n**Branch:**  \n\n### Done\n",
            (BRANCH.name, "b"),
            "## State\n**Branch:** b\n\n### Done\n",
        ),
        ("## State\n**Branch:**", (BRANCH.name, "b"), "## State\n**Branch:** b\n"),
        # A missing one follows the place before it, and all that is under that.
        ("", (GOAL.name, "b"), "## Goal\n\nb\n"),
        ("# T", (GOAL.name, "b"), "# T\n\n## Goal\n\nb\n"),
        ("text\n\n## X\n", (GOAL.name, "b"), "text\n\n## Goal\n\nb\n\n## X\n"),
        ("## State\n### Done\n## X", (NOTES.name, "b"), "## State\n### Done\n\n## Notes\nb\n\n## X"),
        (
            "## State\n### Done\n### X\n",
            (NEXT.name, ("b",)),
            "## State\n### Done\n\n### Next\n- b\n\n### X\n",
        ),
        (
            "## State\n### Done\n#### X\n",
            (NEXT.name, ("b",)),
            "## State\n### Done\n#### X\n\n### Next\n- b\n",
        ),
        (
            "## State\n### Done\n## Goal\n",
            (NEXT.name, ("b",)),
            "## State\n### Done\n\n### Next\n- b\n\n## Goal\n",
        ),
        ("## Goal\n", (DONE.name, ("b",)), "## Goal\n\n## State\n\n### Done\n- b\n"),
        # A label stands before the sections under its parent.
        ("## State\na\n### Done\n", (BRANCH.name, "b"), "## State\na\n**Branch:** b\n### Done\n"),
        (
            "## State\n**Branch:** a\n### Done\n",
            (TEST.name, "b"),
            "## State\n**Branch:** a\n**Test:** b\n\n### Done\n",
        ),
        ("## State\n**Test:** a\n", (DONE.name, ("b",)), "## State\n**Test:** a\n\n### Done\n- b\n"),
        # A new section has the level of its neighbours.
        ("### State\n#### Done\n", (NEXT.name, ("b",)), "### State\n#### Done\n\n#### Next\n- b\n"),
        ("### State\n#### Next\n", (DONE.name, ("b",)), "### State\n\n#### Done\n- b\n\n#### Next\n"),
        ("# T\n### State\n#### Next\n", (GOAL.name, "b"), "# T\n\n### Goal\n\nb\n\n### State\n#### Next\n"),
        ("###### State\n", (DONE.name, ("b",)), "###### State\n\n###### Done\n- b\n"),
    ],
)
def test_a_changed_place_stands_where_it_belongs(text: str, change: Held, result: str) -> None:
    assert revised(text, change) == result


def test_a_forced_place_is_written_anew_with_its_strays() -> None:
    text = "## State\n### Done\n*   a\n\ntext\n"

    assert (
        revised(text, (DONE.name, ("a",)), forced=frozenset({"State/Done"}))
        == "## State\n### Done\ntext\n\n- a\n"
    )


def test_a_forced_place_that_says_nothing_stays_as_it_is() -> None:
    assert revised("## Goal\n\n\n## X\n", forced=frozenset({"Goal"})) == "## Goal\n\n\n## X\n"


def test_a_forced_place_that_is_missing_comes_with_what_is_required_under_it() -> None:
    assert revised("# T\n", forced=frozenset({"State"})) == (
        "# T\n\n## State\n**Branch:**\n**Test:**\n\n### Done\n\n### Next\n"
    )


def test_a_body_written_anew_has_all_that_is_required_and_all_that_was_kept() -> None:
    unknown = (
        Unknown(place="front matter", text="x: y"),
        Unknown(place="title", text="under"),
        Unknown(place="State/Branch", text="stray"),
        Unknown(place="State/Done", text="- bad"),
        Unknown(place="State/X", text="### X\nx"),
        Unknown(place="State/X/Y", text="#### Y"),
        Unknown(place="Goal", text="## Goal\nagain"),
        Unknown(place="Goal/Z", text="### Z"),
        Unknown(place="elsewhere", text="lost"),
    )

    assert write_body(OUTLINE, held((GOAL.name, "g"), (NEXT.name, ("n",))), unknown) == (
        "## Goal\n\ng\n\n"
        "## State\n\n**Branch:** (none)\n\nstray\n**Test:**\n\n"
        "### Done\n- (none)\n\n- bad\n\n### Next\n- n\n\n### X\nx\n\n#### Y\n\n"
        "## Goal\nagain\n\n### Z\n\nlost\n\n"
    )


def test_a_place_that_is_not_required_is_written_when_it_or_one_under_it_says_something() -> None:
    assert "## Notes" not in write_body(OUTLINE, held(), ())
    assert "## Notes\na" in write_body(OUTLINE, held((NOTES.name, "a")), ())
    assert "## Notes\n\n### X" in write_body(OUTLINE, held(), [Unknown(place="Notes/X", text="### X")])


@given(documents(TITLES) | texts, said_line)
def test_a_new_title_is_read_back_and_nothing_else_changes(text: str, title: str) -> None:
    was = read_body(text, OUTLINE)

    again = read_body(retitled(text, OUTLINE, title, was.title), OUTLINE)

    assert again.title == title
    assert again.values == was.values


@pytest.mark.parametrize(
    ("body", "title", "result"),
    [
        ("# T\n\na\n", "T", "# T\n\na\n"),
        ("a\n# T\nb\n", "U", "a\n# U\nb\n"),
        ("\n\n  a\n", "U", "# U\n\n  a\n"),
        ("", "U", "# U\n"),
        ("# T\na\n", "", "\na\n"),
    ],
)
def test_a_title_is_changed_added_or_removed(body: str, title: str, result: str) -> None:
    assert retitled(body, OUTLINE, title, read_body(body, OUTLINE).title) == result
