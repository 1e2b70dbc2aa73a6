"""A marked block comes and goes in a user's file, and no other byte of it changes."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.project.git_rules import (
    PathClasses,
    attribute_lines,
    exclude_lines,
    has_block,
    ignore_lines,
    put_block,
    remove_block,
    render_project_file,
)
from passdown.settings import CommitSettings, Settings, SettingsSource, parse_settings

BEGIN = b"# >>> passdown >>>"
END = b"# <<< passdown <<<"
PIECES = (b"a", b"\n", b"\r\n", b"\r", b"# >>> passdown sub >>>", b"\xff", b"\xef\xbb\xbf", b" ", BEGIN, END)
ANY_FILE = st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)
LABELS = st.sampled_from(["", "sub", "a b", "zeile\n2"])
LINES = st.lists(st.sampled_from(["/a", "/b c", "*.tmp", "/\udcff"]), max_size=3)


@given(data=ANY_FILE, lines=LINES, label=LABELS)
def test_a_block_that_is_taken_out_leaves_the_file_as_it_was(
    data: bytes, lines: list[str], label: str
) -> None:
    before = remove_block(data, label)

    after = put_block(before, lines, label)

    assert has_block(after, label)
    assert not has_block(before, label)
    assert remove_block(after, label) == before


@given(data=ANY_FILE, lines=LINES, other=LINES, label=LABELS)
def test_a_block_that_is_put_in_again_takes_its_own_place(
    data: bytes, lines: list[str], other: list[str], label: str
) -> None:
    once = put_block(data, lines, label)

    assert put_block(once, lines, label) == once
    assert put_block(put_block(once, other, label), lines, label) == once


@given(data=ANY_FILE, lines=LINES)
def test_blocks_of_two_projects_do_not_touch_each_other(data: bytes, lines: list[str]) -> None:
    clean = remove_block(remove_block(data), "sub")

    both = put_block(put_block(clean, lines), lines, "sub")

    assert remove_block(remove_block(both), "sub") == clean
    assert has_block(remove_block(both), "sub")
    assert has_block(remove_block(both, "sub"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"%s\n/a\n%s\n"),
        (b"x\n", b"x\n%s\n/a\n%s\n"),
        (b"x", b"x\n%s\n/a\n%s"),
        (b"x\r\ny\r\n", b"x\r\ny\r\n%s\r\n/a\r\n%s\r\n"),
        (b"x\r\ny", b"x\r\ny\r\n%s\r\n/a\r\n%s"),
        (b"x\r\ny\n", b"x\r\ny\n%s\n/a\n%s\n"),
        (b"\xff\n", b"\xff\n%s\n/a\n%s\n"),
    ],
)
def test_lines_of_a_block_end_as_those_of_the_file(before: bytes, after: bytes) -> None:
    assert put_block(before, ["/a"]) == after % (BEGIN, END)


def test_a_block_between_lines_of_the_user_is_replaced_where_it_stands() -> None:
    there = put_block(b"x\n", ["/old", "/older"]) + b"y\n"

    assert put_block(there, ["/new"]) == b"x\n%s\n/new\n%s\ny\n" % (BEGIN, END)
    assert remove_block(there) == b"x\ny\n"


def test_of_two_blocks_that_a_merge_left_one_stays() -> None:
    block = put_block(b"", ["/a"])

    assert put_block(b"x\n" + block + b"y\n" + block, ["/a"]) == b"x\n" + block + b"y\n"
    assert remove_block(block + b"y\n" + block) == b"y\n"


@pytest.mark.parametrize("alone", [BEGIN + b"\nmine\n", END + b"\nmine\n", END + b"\nmine\n" + BEGIN + b"\n"])
def test_half_a_block_is_the_users_own_text(alone: bytes) -> None:
    assert remove_block(alone) == alone
    assert remove_block(put_block(alone, ["/a"])) == alone


AREAS = PathClasses(
    local=(".state", "docs/log/live"),
    shared=("docs/log", "docs/log/events", "docs/log"),
    files=("docs/log/current.md", "VIEW.md"),
    loops="changes",
    generated=("docs/log/events", "docs/log/events/old", "docs/a b"),
)


def test_rules_name_each_path_once_and_leave_out_what_lies_in_another() -> None:
    assert ignore_lines(AREAS) == ("/.state", "/docs/log/live", ".passdown-*.tmp")
    assert attribute_lines(AREAS) == (
        "/docs/log/** -text",
        "/VIEW.md -text",
        "/changes/*/loops/** -text",
        "/docs/log/events/** linguist-generated",
        '"/docs/a b/**" linguist-generated',
    )
    assert exclude_lines(AREAS, "") == (
        "/.state",
        "/docs/log",
        "/VIEW.md",
        "/changes/*/loops",
        ".passdown-*.tmp",
    )
    assert exclude_lines(AREAS, "apps/web")[:2] == ("/apps/web/.state", "/apps/web/docs/log")


def test_without_loops_there_is_no_rule_for_them() -> None:
    areas = PathClasses(local=("a",), shared=("b",))

    assert attribute_lines(areas) == ("/b/** -text",)
    assert exclude_lines(areas, "") == ("/a", "/b", ".passdown-*.tmp")


def test_what_is_special_in_a_rule_is_escaped() -> None:
    areas = PathClasses(local=("a*b?[c", "two words  ", "li\nne"), shared=('sa"y', "a b*"))

    assert ignore_lines(areas)[:3] == ("/a\\*b\\?\\[c", "/two words\\ \\ ", "/li?ne")
    assert attribute_lines(areas) == ('"/sa\\"y/**" -text', '"/a b\\\\*/**" -text')


@pytest.mark.parametrize("commits", [True, False])
def test_the_projects_file_says_what_the_settings_are(*, commits: bool) -> None:
    text = render_project_file(commits=commits)

    settings, warnings = parse_settings([SettingsSource("passdown.toml", tomllib.loads(text))])

    off = CommitSettings(session_end=False, handoff=False, checkpoint=False)
    assert (settings, warnings) == (Settings(commit=CommitSettings() if commits else off), ())
    assert max(map(len, text.splitlines())) < 79


def test_what_is_commented_out_in_the_projects_file_are_the_defaults() -> None:
    text = render_project_file(commits=True)
    _, _, rest = text.partition("take the # away to change one.\n")

    settings, warnings = parse_settings(
        [SettingsSource("passdown.toml", tomllib.loads(rest.replace("\n# ", "\n")))]
    )

    assert (settings, warnings) == (Settings(), ())
