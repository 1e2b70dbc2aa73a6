"""A folder that a sandbox may write is put into TOML settings and taken out again; all else stays."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.hosts.writable_roots import drop_roots, put_root, read_roots

ROOT = "/home/ada/my project/.git/passdown"
OTHER = '/home/"ada"/ä/.git/passdown'
SECTION = "[sandbox_workspace_write]\n"
BEFORE = [
    "",
    "model = 'x'\n",
    '# mine\nmodel = \'x\'  # best\n\n[projects."/x"]\ntrust_level = "trusted"\n',
    f"{SECTION}network_access = true\n\n[tools]\nx = 1\n",
    "  [ sandbox_workspace_write ]  # mine\nwritable_roots = []\n",
    f"{SECTION}writable_roots = ['/a']\n",
    f'{SECTION}writable_roots = ["/a", "/b"] # mine\nnetwork_access = true\n',
    f'{SECTION}writable_roots = [\n    "/a",  # one\n    "/b",\n    # more\n]\n[tools]\n',
    f'{SECTION}writable_roots = ["/a",]\n',
    f"{SECTION}",
]


@pytest.mark.requirement("C158")
@pytest.mark.parametrize("before", BEFORE)
def test_a_folder_is_added_and_taken_out_to_the_byte(before: str) -> None:
    there = read_roots(before)
    assert there is not None

    one = put_root(before, ROOT)
    two = put_root(one.text, OTHER)

    assert (one.note, two.note) == ("", "")
    assert read_roots(two.text) == (*there, ROOT, OTHER)
    assert put_root(two.text, ROOT).text == two.text
    assert drop_roots(two.text, [ROOT, OTHER], before) == before
    assert drop_roots(two.text, [OTHER, ROOT], before) == before
    assert read_roots(drop_roots(two.text, [ROOT], before)) == (*there, OTHER)


def test_what_the_file_looks_like() -> None:
    assert put_root("x = 1\n", "/a").text == f'x = 1\n\n{SECTION}writable_roots = [\n  "/a",\n]\n'
    assert put_root(f"{SECTION}writable_roots = ['/a']\n", "/b").text == (
        f"{SECTION}writable_roots = ['/a', \"/b\"]\n"
    )


@pytest.mark.parametrize("before", ["model = 'x'", SECTION.strip()])
def test_a_last_line_without_an_end_is_given_one(before: str) -> None:
    done = put_root(before, ROOT)

    assert read_roots(done.text) == (ROOT,)
    assert drop_roots(done.text, [ROOT], before).strip() == before


@pytest.mark.parametrize(
    "text",
    [
        'sandbox_workspace_write = {writable_roots = ["/a"]}\n',
        'sandbox_workspace_write.writable_roots = ["/a"]\n',
        f"{SECTION}writable_roots = 'all'\n",
        "sandbox_workspace_write = 1\n",
        f'{SECTION}"writable_roots" = ["/a"]\n',
    ],
)
def test_settings_of_another_form_are_left_and_the_user_is_told(text: str) -> None:
    assert put_root(text, "/x") == (
        text,
        'add "/x" to writable_roots under [sandbox_workspace_write] yourself; the settings were not changed',
    )
    assert drop_roots(text, ["/x"], text) == text


def test_what_was_there_before_or_came_later_stays() -> None:
    mine = f'{SECTION}writable_roots = ["{ROOT}"]\n'
    assert drop_roots(mine, [ROOT], mine) == mine
    later = put_root("", ROOT).text + "network_access = true\n"

    assert drop_roots(later, [ROOT], "") == f"{SECTION}network_access = true\n"
    assert drop_roots("x = 1\n", [ROOT], "") == "x = 1\n"
    theirs = f'{SECTION}writable_roots = ["/a"]\n'
    assert drop_roots(theirs, [ROOT], "") == theirs


PATH = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@given(st.lists(PATH, min_size=1, max_size=4, unique=True), st.sampled_from(BEFORE))
def test_any_folder_can_be_added(roots: list[str], before: str) -> None:
    text = before
    for root in roots:
        text = put_root(text, root).text

    assert set(read_roots(text) or ()) >= set(roots)
    new = [root for root in roots if root not in (read_roots(before) or ())]
    assert drop_roots(text, new, before) == before
    assert tomllib.loads(text)
