"""What git tracks of a folder, told from the paths in its index."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.project.tracked_paths import NOTHING_TRACKED, UNKNOWN_TRACKED, find_tracked

pytestmark = pytest.mark.requirement("C119")


def test_what_is_in_the_folder_is_held_and_nothing_else() -> None:
    tracked = find_tracked(["README.md", ".conductor/paused", ".conductor2/paused"], ".conductor")

    assert tracked.paths == (".conductor/paused",)
    assert tracked.holds(".conductor/paused")
    assert not tracked.holds(".conductor/paused2")
    assert not tracked.holds(".conductor/journal/s-1.jsonl")


@pytest.mark.parametrize("entry", [".conductor", ".conductor/", "work/.conductor"])
def test_everything_below_a_link_or_a_submodule_is_held(entry: str) -> None:
    start = entry.partition(".")[0]
    tracked = find_tracked([entry], ".conductor", start)

    assert tracked.holds(".conductor/journal/s-1.jsonl")


def test_a_root_below_the_top_asks_for_its_own_folder() -> None:
    tracked = find_tracked([".conductor/a", "web/.conductor/b"], ".conductor", "web/")

    assert tracked.paths == (".conductor/b",)
    assert (tracked.holds(".conductor/a"), tracked.holds(".conductor/b")) == (False, True)


def test_names_in_another_case_are_held() -> None:
    assert find_tracked([".CONDUCTOR/Paused"], ".conductor").holds(".conductor/paused")


@pytest.mark.parametrize("entry", ["CONDUC~1/paused", ".conductor/JOURNA~1/s-1.jsonl", "CO12AB~3/a.txt"])
def test_a_second_name_of_windows_leaves_it_open_what_is_tracked(entry: str) -> None:
    assert not find_tracked([entry], ".conductor", has_short_names=True).is_known
    assert find_tracked([entry], ".conductor").is_known


def test_what_is_unknown_is_held() -> None:
    assert UNKNOWN_TRACKED.holds("anything")
    assert not NOTHING_TRACKED.holds("anything")


@given(st.lists(st.text(alphabet="ab/.", min_size=1, max_size=6)), st.text(alphabet="ab", min_size=1))
def test_every_path_that_is_found_is_held(paths: list[str], folder: str) -> None:
    tracked = find_tracked(paths, folder)

    assert all(tracked.holds(path.rstrip("/")) for path in tracked.paths)
