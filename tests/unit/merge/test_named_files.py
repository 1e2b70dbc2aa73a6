"""A fact names a file by its path, the last two parts of it, or a name that only one file has."""

import pytest

from passdown.core.merge.named_files import list_named, name_files, read_name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "keep src/core/store.py:12 and `lib/a.py`, not Makefile.",
            ["core/store.py", "lib/a.py", "Makefile"],
        ),
        ("see ./x.md, /y.md; src\\core\\z.py (a_b)", ["x.md", "y.md", "core/z.py", "a_b"]),
        ("run the lock at 1,500 ... // - Do it", []),
        ("a.py a.py A.py", ["a.py", "A.py"]),
        ("", []),
    ],
)
@pytest.mark.requirement("C132")
def test_words_that_look_like_paths_are_known_by_their_last_two_parts(text: str, names: list[str]) -> None:
    assert list_named(text) == names


def test_of_a_long_text_the_first_names_count() -> None:
    assert list_named(" ".join(f"{number}.py" for number in range(100))) == [f"{n}.py" for n in range(20)]


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("src/core/store.py is slow", True),
        ("core/store.py is slow", True),
        ("store.py is slow", True),
        ("other/core/store.py is slow", True),
        ("lib/store.py is slow", False),
        ("restore.py is slow", False),
        ("the store is slow", False),
    ],
)
@pytest.mark.requirement("C132")
def test_a_file_is_named_by_its_path_or_its_end(text: str, is_named: bool) -> None:
    assert name_files(["./src/core/store.py"], lambda _: True).are_in(text) is is_named


@pytest.mark.requirement("C132")
def test_a_name_that_several_files_have_names_none_of_them() -> None:
    text = "store.py is slow"

    assert not name_files(["src/store.py"], lambda _: False).are_in(text)
    assert not name_files(["src/store.py", "lib/store.py"], lambda _: True).are_in(text)
    assert name_files(["store.py", "lib/store.py"], lambda _: False).are_in(text)  # it is a whole path


def test_a_path_with_spaces_is_named_as_a_whole() -> None:
    files = name_files(["my docs/a b.txt"], lambda _: True)

    assert files.are_in("keep my docs/a b.txt")
    assert files.are_in("keep 'a b.txt'")
    assert not files.are_in("keep b.txt")


def test_a_path_is_read_however_it_is_written() -> None:
    assert read_name("src\\a\\b.py") == ("src/a/b.py", "a/b.py", "b.py")
    assert not read_name("b.py").has_folder
