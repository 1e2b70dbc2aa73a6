"""Documents below a root: listed in one order, read without waiting, never written outside."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passdown.engines.files.documents import FileDocuments
from passdown.errors import StorageError
from passdown.ports.documents import Documents

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no FIFOs, and links need a privilege")


def documents(root: Path) -> Documents:
    """Open the documents below a root, as the port that services see."""
    return FileDocuments(root)


def fill(root: Path, *names: str) -> None:
    """Make files that hold their own name."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")


def names(folder: Path) -> list[str]:
    """Name what lies in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_what_was_replaced_is_read(tmp_path: Path) -> None:
    below = documents(tmp_path)

    below.replace("a/b.md", b"one")
    below.replace("a/b.md", b"two")

    assert below.read("a/b.md") == b"two"
    assert below.size("a/b.md") == 3
    assert below.exists("a/b.md")
    assert below.is_folder("a")
    assert not below.is_folder("a/b.md")
    assert not below.exists("a/c.md")


def test_files_are_listed_in_the_order_of_their_paths(tmp_path: Path) -> None:
    fill(tmp_path, "b.md", "a/z.md", "a-b/x.md", "a.md", "a/b/c.md", "A.md")

    assert list(documents(tmp_path).list("")) == ["A.md", "a-b/x.md", "a.md", "a/b/c.md", "a/z.md", "b.md"]


@given(st.sets(st.text("ab-.0", min_size=1, max_size=3).filter(lambda name: name.strip(".")), max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
def test_the_order_is_that_of_text_for_any_names(tmp_path: Path, names: set[str]) -> None:
    root = tmp_path / str(hash(frozenset(names)))
    fill(root, *(f"{name}/f" for name in names), *(f"{name}_" for name in names))

    found = list(documents(root).list(""))

    assert found == sorted(found)
    assert len(found) == 2 * len(names)


def test_a_folder_is_listed_by_names_that_can_be_read(tmp_path: Path) -> None:
    fill(tmp_path, "top.md", "a/b/one.md", "a/two.md")
    below = documents(tmp_path)

    assert (
        list(below.list("a"))
        == list(below.list("a/"))
        == list(below.list("./a"))
        == ["a/b/one.md", "a/two.md"]
    )
    assert [below.read(name).decode() for name in below.list("")] == list(below.list(""))


def test_folders_of_other_tools_and_unfinished_writes_are_left_out(tmp_path: Path) -> None:
    fill(
        tmp_path, ".git/a", "x/node_modules/a", ".venv/a", ".passdown-1-0123456789abcdef.tmp", "kept/.git.md"
    )

    assert list(documents(tmp_path).list("")) == ["kept/.git.md"]


def test_a_missing_folder_holds_nothing(tmp_path: Path) -> None:
    assert list(documents(tmp_path).list("none")) == []
    assert list(documents(tmp_path / "none").list("")) == []


def test_a_file_cannot_be_listed(tmp_path: Path) -> None:
    fill(tmp_path, "file")

    with pytest.raises(StorageError, match="could not read file") as refused:
        list(documents(tmp_path).list("file"))

    assert refused.value.hint


@posix
def test_links_are_neither_listed_nor_read(tmp_path: Path) -> None:
    fill(tmp_path, "outside/secret", "root/own")
    root = tmp_path / "root"
    (root / "linked").symlink_to(tmp_path / "outside" / "secret")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "circle").symlink_to(root)

    assert list(documents(root).list("")) == ["own"]
    for path in ("linked", "folder/secret", "circle/own"):
        for ask in (documents(root).read, documents(root).size):
            with pytest.raises(StorageError, match="is a symbolic link") as refused:
                ask(path)
            assert "put a real file or folder there" in refused.value.hint
        assert not documents(root).exists(path)
    for path in ("folder", "circle/folder"):
        with pytest.raises(StorageError, match="is a symbolic link"):
            list(documents(root).list(path))
        assert list(documents(root).folders(path)) == []
        assert not documents(root).is_folder(path)


@posix
def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    fill(tmp_path, "outside/secret", "root/own")
    root = tmp_path / "root"
    (root / "linked").symlink_to(tmp_path / "outside" / "secret")
    (root / "folder").symlink_to(tmp_path / "outside")

    for path in ("linked", "folder/new", "folder/deep/new"):
        with pytest.raises(StorageError):
            documents(root).replace(path, b"x")

    assert (tmp_path / "outside" / "secret").read_bytes() == b"outside/secret"
    assert names(tmp_path / "outside") == ["secret"]


def test_missing_files_are_reported_by_name(tmp_path: Path) -> None:
    for ask in (documents(tmp_path).read, documents(tmp_path).size):
        with pytest.raises(StorageError, match=r"^a/b\.md: no such file$") as refused:
            ask("a/b.md")
        assert refused.value.hint


@posix
@pytest.mark.timeout(10)
def test_odd_files_are_refused_without_waiting(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "device").symlink_to("/dev/zero")

    for name in ("folder", "fifo"):
        with pytest.raises(StorageError, match="not a regular file"):
            documents(tmp_path).read(name)
    with pytest.raises(StorageError, match="is a symbolic link"):
        documents(tmp_path).read("device")
    with pytest.raises(StorageError, match="not a regular file"):
        documents(Path("/dev")).read("zero")
    assert list(documents(tmp_path).list("")) == []


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/x", "a\0b", ".."])
def test_paths_out_of_the_root_are_refused(tmp_path: Path, path: str) -> None:
    below = documents(tmp_path / "root")

    for ask in (below.read, below.list, below.exists, below.is_folder, below.size):
        with pytest.raises(StorageError, match="outside the project"):
            ask(path)
    with pytest.raises(StorageError, match="outside the project"):
        below.replace(path, b"x")


def test_an_absolute_path_below_the_root_is_taken(tmp_path: Path) -> None:
    fill(tmp_path, "a.md")

    assert documents(tmp_path).read(str(tmp_path / "a.md")) == b"a.md"
    assert documents(Path(tmp_path.anchor)).exists(str(tmp_path / "a.md"))


@posix
def test_a_path_through_a_file_is_reported(tmp_path: Path) -> None:
    fill(tmp_path, "file")

    with pytest.raises(StorageError, match="could not read file/below: Not a directory"):
        documents(tmp_path).read("file/below")
