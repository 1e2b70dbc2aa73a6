"""What every `Documents` implementation must do."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

import pytest

from passdown.errors import StorageError
from passdown.ports.documents import Documents

_MOST_FILES = 100_000
_OUTSIDE = ("../x", "a/../../x", "/x", "a\0b", "..")


class DocumentsConformance(ABC):
    """The promises of the port; subclass it, say how to make an empty one, and name it `Test…`."""

    @abstractmethod
    def make(self, folder: Path) -> Documents:
        """Make documents below an empty root; the folder is empty and may be used."""

    @pytest.fixture
    def documents(self, tmp_path: Path) -> Documents:
        """Return empty documents."""
        return self.make(tmp_path / "root")

    @pytest.mark.parametrize("data", [b"", b"text\n", b"\r\n\x00\xff\xfe", b"x" * 100_000])
    def test_what_was_replaced_is_read_to_the_byte(self, documents: Documents, data: bytes) -> None:
        """A file holds exactly what was last written."""
        documents.replace("a/b.md", b"before")
        documents.replace("a/b.md", data)

        assert documents.read("a/b.md") == data
        assert documents.size("a/b.md") == len(data)

    def test_a_file_and_its_folders_are_there_once_it_is_written(self, documents: Documents) -> None:
        """Folders are created on demand."""
        assert not documents.exists("a/b/c.md")
        assert not documents.is_folder("a")

        documents.replace("a/b/c.md", b"")

        assert all(documents.exists(path) for path in ("", "a", "a/b", "a/b/c.md"))
        assert all(documents.is_folder(path) for path in ("", "a", "a/b", "a/b/"))
        assert not documents.is_folder("a/b/c.md")
        assert not documents.exists("a/b/d.md")

    def test_files_are_listed_at_any_depth_in_the_order_of_their_paths(self, documents: Documents) -> None:
        """Paths are sorted as text, so the order is the same everywhere."""
        for name in ("b.md", "a/z.md", "a-b/x.md", "a.md", "a/b/c.md", "A.md"):
            documents.replace(name, b"")

        assert [*documents.list("")] == ["A.md", "a-b/x.md", "a.md", "a/b/c.md", "a/z.md", "b.md"]
        assert [*documents.list("a")] == [*documents.list("./a/")] == ["a/b/c.md", "a/z.md"]

    @pytest.mark.parametrize("names", [("a", "a-", "a.", "a0"), ("-", ".a", "0", "A b"), ("ä", "z", "日本")])
    def test_any_names_are_listed_in_order_and_can_be_read(
        self, documents: Documents, names: tuple[str, ...]
    ) -> None:
        """The list is sorted and complete, even if a folder's name starts like a file's."""
        written = [f"{name}{end}" for name in names for end in ("/f", "/g/h", "_", "_.md")]
        for name in written:
            documents.replace(name, name.encode())

        assert [*documents.list("")] == sorted(written)
        assert all(documents.read(name) == name.encode() for name in documents.list(""))

    def test_folders_of_other_tools_are_not_listed(self, documents: Documents) -> None:
        """They are not ours and can be huge."""
        for name in (".git/a", "x/node_modules/a", "x/.venv/b/a", "x/.git", "x/.gitignore"):
            documents.replace(name, b"")

        assert [*documents.list("")] == ["x/.gitignore"]

    def test_folders_that_are_left_out_are_not_entered(self, documents: Documents) -> None:
        """Others whose names begin or end like theirs are, and so is one that is listed itself."""
        for name in ("a/b/c.md", "a/b/d/e.md", "a/bc.md", "a/c/b/f.md", "b/g.md"):
            documents.replace(name, b"")

        assert [*documents.list("", apart_from=["a/b"])] == ["a/bc.md", "a/c/b/f.md", "b/g.md"]
        assert [*documents.list("a", apart_from=["a/b/d", "b", "none"])] == [
            "a/b/c.md",
            "a/bc.md",
            "a/c/b/f.md",
        ]
        assert [*documents.list("b", apart_from=["b"])] == ["b/g.md"]

    def test_a_folder_of_another_tool_is_listed_when_it_is_named(self, documents: Documents) -> None:
        """A caller that names it wants it listed."""
        documents.replace(".git/passdown/a.jsonl", b"")

        assert [*documents.list(".git/passdown")] == [".git/passdown/a.jsonl"]

    def test_a_missing_folder_holds_nothing(self, documents: Documents) -> None:
        """Folders need not be created before they are listed."""
        assert [*documents.list("")] == []
        assert [*documents.list("none/at/all")] == []

    def test_a_file_cannot_be_listed(self, documents: Documents) -> None:
        """A file where a folder is expected is reported."""
        documents.replace("file", b"")

        with pytest.raises(StorageError) as refused:
            list(documents.list("file"))

        assert refused.value.hint

    def test_a_missing_file_is_reported_by_name(self, documents: Documents) -> None:
        """The message starts with the path, so that it makes sense on its own."""
        for ask in (documents.read, documents.size):
            with pytest.raises(StorageError, match=r"^a/b\.md: no such file$") as refused:
                ask("a/b.md")
            assert refused.value.hint

    def test_a_folder_is_neither_read_nor_replaced(self, documents: Documents) -> None:
        """Only regular files have content."""
        documents.replace("a/b.md", b"kept")

        for path in ("a", ""):
            with pytest.raises(StorageError):
                documents.read(path)
            with pytest.raises(StorageError):
                documents.replace(path, b"x")
        assert documents.read("a/b.md") == b"kept"

    def test_nothing_is_written_below_a_file(self, documents: Documents) -> None:
        """A file is not a folder."""
        documents.replace("file", b"kept")

        with pytest.raises(StorageError) as refused:
            documents.replace("file/below/it", b"x")

        assert refused.value.hint
        assert documents.read("file") == b"kept"

    def test_what_was_expected_is_not_displaced(self, documents: Documents) -> None:
        """The usual case: nobody edited the file."""
        documents.replace("a/b.md", b"one", local=True, expected=b"")
        documents.replace("a/b.md", b"two", local=True, expected=b"one")

        assert documents.read("a/b.md", settled=True) == b"two"
        assert [*documents.displaced("a/b.md")] == [*documents.displaced("none/c.md")] == []
        assert [*documents.list("")] == ["a/b.md"]

    def test_an_edit_that_was_not_expected_is_returned_until_it_was_seen(self, documents: Documents) -> None:
        """The first caller may be killed before it has processed the edit."""
        documents.replace("a/b.md", b"edited")

        documents.replace("a/b.md", b"ours", expected=b"before")
        documents.replace("a/b.md", b"edited again")
        documents.replace("a/b.md", b"ours, too", expected=b"ours")

        assert documents.read("a/b.md") == b"ours, too"
        for _ in range(2):
            assert {*documents.displaced("a/b.md")} == {b"edited", b"edited again"}
        assert [*documents.displaced("a/b.md", [b"edited"])] == [b"edited again"]
        assert [*documents.displaced("a/b.md", [b"edited again"])] == []
        assert [*documents.displaced("a/b.md")] == []
        assert [*documents.list("")] == ["a/b.md"]

    def test_a_file_is_created_once(self, documents: Documents) -> None:
        """The second call returns False, and nothing is overwritten."""
        assert documents.create("a/b.md", b"first")
        assert not documents.create("a/b.md", b"second")
        assert not documents.create("a", b"in the place of a folder")

        assert documents.read("a/b.md") == b"first"

    @pytest.mark.parametrize("kept", [False, True])
    def test_a_file_is_removed_only_with_what_it_was_known_to_hold(
        self, documents: Documents, *, kept: bool
    ) -> None:
        """What was written in the meantime is kept."""
        documents.replace("a/b.md", b"newer")
        documents.replace("a/c.md", b"kept")

        assert not documents.remove("a/b.md", b"older", kept=kept)
        assert not documents.remove("a/none.md", b"", kept=kept)
        assert documents.remove("a/b.md", b"newer", kept=kept)
        assert not documents.remove("a/b.md", b"newer", kept=kept)

        assert [*documents.list("")] == ["a/c.md"]
        assert [*documents.displaced("a/b.md")] == []

    def test_folders_are_named_one_level_deep(self, documents: Documents) -> None:
        """Finding one folder does not need to read everything below the others."""
        for name in ("b/x.md", "a/c/d.md", "file.md", "a-b/x.md"):
            documents.replace(name, b"")

        assert [*documents.folders("")] == ["a", "a-b", "b"]
        assert [*documents.folders("a")] == ["c"]
        assert [*documents.folders("none")] == [*documents.folders("b")] == []

    def test_the_mark_of_a_folder_changes_with_the_names_in_it(self, documents: Documents) -> None:
        """A folder with the same mark need not be listed again."""
        documents.replace("a/b/one.md", b"one")
        documents.replace("a/c/one.md", b"one")
        before = documents.folders("a")

        _wait_for_a_new_mark(documents, before)
        after = documents.folders("a")

        assert after["c"] == before["c"]
        assert after["b"] != before["b"]

    @pytest.mark.parametrize("path", _OUTSIDE)
    def test_a_path_out_of_the_root_is_refused(self, documents: Documents, path: str) -> None:
        """Every method refuses it, and nothing is written."""
        for ask in (documents.read, documents.exists, documents.is_folder, documents.size):
            with pytest.raises(StorageError, match="outside"):
                ask(path)
        with pytest.raises(StorageError, match="outside"):
            list(documents.list(path))
        for expected in (None, b""):
            with pytest.raises(StorageError, match="outside"):
                documents.replace(path, b"x", expected=expected)
        with pytest.raises(StorageError, match="outside"):
            documents.displaced(path)
        for change in (documents.create, documents.remove):
            with pytest.raises(StorageError, match="outside"):
                change(path, b"x")
        with pytest.raises(StorageError, match="outside"):
            documents.folders(path)
        assert [*documents.list("")] == []

    def test_one_file_can_be_named_in_several_ways(self, documents: Documents) -> None:
        """A path may contain `..`, as long as it stays inside the root."""
        documents.replace("a/./b/../c.md", b"one")

        assert documents.read("a/c.md") == documents.read("./a//c.md") == b"one"
        assert [*documents.list("")] == ["a/c.md"]


def _wait_for_a_new_mark(documents: Documents, before: Mapping[str, int]) -> None:
    """Add files until the mark of their folder has changed: time stamps can be coarse."""
    for number in range(_MOST_FILES):
        documents.replace(f"a/b/{number}.md", b"more")
        if documents.folders("a") != before:
            break
