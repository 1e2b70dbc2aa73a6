"""What every `ChangeFiles` implementation must do."""

from abc import ABC, abstractmethod
from pathlib import Path

import pytest

from passdown.ports.change_files import NO_CHANGES, ChangeFiles

_LEDGER = "loops/ideation.md"


class ChangeFilesConformance(ABC):
    """The promises of the port; subclass it, say how to make an empty one, and name it `Test…`."""

    @abstractmethod
    def make(self, folder: Path) -> ChangeFiles:
        """Make changes that have none; the folder is empty and may be used."""

    @abstractmethod
    def put(self, files: ChangeFiles, change: str, name: str, data: bytes) -> None:
        """Write a file as a person would."""

    @pytest.fixture
    def files(self, tmp_path: Path) -> ChangeFiles:
        """Return changes that have none."""
        return self.make(tmp_path)

    def test_without_a_change_there_is_nothing(self, files: ChangeFiles) -> None:
        """No query is an error."""
        assert files.mark() == NO_CHANGES
        assert [*files.changes()] == []
        assert files.files("x") == {}
        assert files.read("x", _LEDGER) is None

    def test_states_and_ledgers_are_listed_and_nothing_else(self, files: ChangeFiles) -> None:
        """Other documents of a change are ignored."""
        for name in ("state.md", _LEDGER, "tasks.md", "loops/notes.txt", "specs/a.md"):
            self.put(files, "b", name, b"text")
        self.put(files, "a", "seed.md", b"text")

        assert [*files.changes()] == ["a", "b"]
        assert {*files.files("b")} == {"state.md", _LEDGER}
        assert files.files("a") == {}
        assert files.mark() != NO_CHANGES

    def test_a_file_that_changed_has_another_mark(self, files: ChangeFiles) -> None:
        """A later call sees the change."""
        self.put(files, "a", _LEDGER, b"one")
        before = files.files("a")[_LEDGER]
        assert files.files("a")[_LEDGER] == before

        self.put(files, "a", _LEDGER, b"one and more")

        assert files.files("a")[_LEDGER] != before

    def test_what_is_added_follows_what_was_there(self, files: ChangeFiles) -> None:
        """Every earlier byte stays, and the function gets all of them."""
        seen: list[bytes] = []
        before = b"first\r\n\r\n\xff\x00 last\n" + b"x" * 1_000_000 + b"\n"
        self.put(files, "a", _LEDGER, before)

        def add(content: bytes) -> bytes:
            seen.append(content)
            return b"\nmore\n\nand more\n"

        added = files.append("a", _LEDGER, add)

        assert seen == [before]
        assert files.read("a", _LEDGER) == before + added

    def test_a_file_begins_with_what_is_added(self, files: ChangeFiles) -> None:
        """The first turn creates the file; an empty one changes nothing."""
        files.append("a", _LEDGER, lambda content: b"# Title\n" if not content else b"")
        nothing = files.append("a", _LEDGER, lambda _: b"")

        assert nothing == b""
        assert files.read("a", _LEDGER) == b"# Title\n"
