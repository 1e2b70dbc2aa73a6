"""Paths that somebody else wrote: which of them are obeyed, and which mean the same file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.paths import fold_path, is_below, normal_path

pytestmark = pytest.mark.requirement("C119")

FOLDER = "conductor/sessions/active"
LONG_S, JOINER = "\N{LATIN SMALL LETTER LONG S}", "\N{ZERO WIDTH NON-JOINER}"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", "a"),
        ("./a//b/", "a/b"),
        ("a b/ü.md", "a b/ü.md"),
        (".gitignore", ".gitignore"),
        ("a.git", "a.git"),
    ],
)
def test_a_path_within_the_project_has_one_normal_form(text: str, path: str) -> None:
    assert normal_path(text) == path


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "/", "/etc/passwd", "~/x", "C:/x", "a\\b", "a\0b", "a\nb"),
        *("..", "../x", "a/../b", "a/..", "a/.. ", "a/...", "a/ /b"),
        *(".git", ".git/config", ".GIT/hooks/x", "a/.Git", ".git ", ".git.", "git~1/x", f".g{JOINER}it/x"),
    ],
)
def test_a_path_that_leads_out_or_into_git_has_none(text: str) -> None:
    assert normal_path(text) is None
    assert not is_below(text, FOLDER)


@pytest.mark.parametrize("text", ["", "..", "../LEDGER.md", "../../../.git/config", ".git/x", "a\\b", "a/"])
def test_a_path_that_leads_out_of_the_folder_is_not_below(text: str) -> None:
    assert not is_below(f"{FOLDER}/{text}", FOLDER)


@pytest.mark.parametrize("path", [FOLDER, f"{FOLDER}x/LEDGER.md", "README.md", f"./{FOLDER}/LEDGER.md"])
def test_a_path_elsewhere_is_not_below(path: str) -> None:
    assert not is_below(path, FOLDER)


def test_a_path_in_the_folder_is_below() -> None:
    assert is_below(f"{FOLDER}/LEDGER.md", FOLDER)
    assert is_below(f"{FOLDER}/claude-0a1b2c3d/LEDGER.md", FOLDER)


@pytest.mark.parametrize(
    "name",
    [".Conductor/PAUSED", ".conductor./paused ", f".conductor/pau{LONG_S}ed", f".con{JOINER}ductor/paused"],
)
def test_names_that_a_file_system_takes_for_each_other_are_folded(name: str) -> None:
    assert fold_path(name) == ".conductor/paused"


@given(st.text())
def test_folding_twice_is_folding_once_for_paths_as_they_are_written(text: str) -> None:
    assert fold_path(fold_path(text).lower()) == fold_path(fold_path(text))


@given(st.text(alphabet="./gGiItT~1 ab", max_size=12))
def test_a_normal_path_is_its_own_and_leads_nowhere_else(text: str) -> None:
    path = normal_path(text)

    assert path is None or normal_path(path) == path
    assert path is None or not {"..", "", ".git"} & set(path.lower().split("/"))
