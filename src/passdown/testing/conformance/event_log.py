"""What every `EventLog` implementation must do."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

import pytest

from passdown.ports.event_log import EventLog

_DAY = "2026-01-10"


class EventLogConformance(ABC):
    """The promises of the port; subclass it, say how to make an empty one, and name it `Test…`."""

    @abstractmethod
    def make(self, folder: Path) -> EventLog:
        """Make an empty log; the folder is empty and may be used."""

    @abstractmethod
    def archived(self, folder: Path, log: EventLog, day: str) -> Mapping[str, bytes]:
        """Return the files in the archive of a day."""

    @pytest.fixture
    def log(self, tmp_path: Path) -> EventLog:
        """Return an empty log."""
        return self.make(tmp_path)

    def test_an_empty_log_has_no_folders_and_no_files(self, log: EventLog) -> None:
        """Folders need not be created first."""
        assert log.folders({}) == {}
        assert log.files("") == log.files(_DAY) == {}
        assert log.read("", "a.md") is None

    @pytest.mark.parametrize("folder", ["", _DAY])
    @pytest.mark.parametrize("data", [b"", b"text\n", b"\r\n\x00\xff", b"x" * 200_000])
    def test_what_was_created_is_listed_and_read_to_the_byte(
        self, log: EventLog, folder: str, data: bytes
    ) -> None:
        """A file holds exactly what was created, and its mark has its size."""
        assert log.create(folder, "a.md", data)

        assert log.read(folder, "a.md") == data
        assert [*log.files(folder)] == ["a.md"]
        assert log.files(folder)["a.md"].size == len(data)
        assert {"", folder} == set(log.folders({}))

    def test_events_may_be_read_as_long_as_few_were(self, log: EventLog) -> None:
        """A caller that reads few events may continue, however often it asks."""
        assert log.may_read()
        assert log.may_read(10)
        assert log.may_read()

    def test_a_name_is_created_once(self, log: EventLog) -> None:
        """The second call returns False, and changes nothing."""
        assert log.create("", "a.md", b"one")

        assert not log.create("", "a.md", b"two")
        assert log.read("", "a.md") == b"one"

    def test_only_what_can_be_an_event_or_rollup_is_listed(self, log: EventLog) -> None:
        """There may be other files next to events."""
        names = ("a.md", "rollup-0.jsonl", "é.md")
        for name in (*names, ".hidden.md", "a.txt", "b.jsonl", "rollup-0.json", "README"):
            log.create("", name, b"")

        assert sorted(log.files("")) == sorted(names)

    def test_only_folders_named_by_a_day_hold_events(self, log: EventLog) -> None:
        """The archive, drafts and other folders are not read."""
        for folder in (_DAY, "2026-01-11", "archive", "2026", "2026-01-10x"):
            log.create(folder, "a.md", b"")

        assert set(log.folders({})) == {"", _DAY, "2026-01-11"}
        assert set(log.folders(log.folders({}))) == {"", _DAY, "2026-01-11"}

    def test_a_change_is_seen_by_the_mark_of_its_folder_or_the_mark_is_0(self, log: EventLog) -> None:
        """A caller that knows the marks notices every change."""
        log.create("", "a.md", b"")
        for folder, name in (("", "b.md"), (_DAY, "a.md"), (_DAY, "b.md"), ("2026-01-11", "a.md")):
            known = log.folders({})
            log.create(folder, name, b"")
            marks = log.folders(known)
            assert marks[folder] == 0 or marks[folder] != known.get(folder)

        known = log.folders({})
        assert log.archive(_DAY, ["a.md"], _DAY) == 1
        marks = log.folders(known)
        assert marks[_DAY] == 0 or marks[_DAY] != known[_DAY]

    def test_files_that_differ_have_marks_that_differ(self, log: EventLog) -> None:
        """A file that replaced another one is not mistaken for it."""
        log.create("", "a.md", b"one")
        log.create("", "b.md", b"two")

        assert log.files("")["a.md"] == log.files("")["a.md"]
        assert log.files("")["a.md"] != log.files("")["b.md"]

    @pytest.mark.parametrize("folder", ["", _DAY])
    def test_archived_files_are_gone_here_and_whole_there(
        self, log: EventLog, tmp_path: Path, folder: str
    ) -> None:
        """Moving keeps names and bytes; all other files stay."""
        for name in ("a.md", "b.md", "c.md"):
            log.create(folder, name, name.encode())

        moved = log.archive(folder, ["a.md", "c.md", "missing.md"], "2026-01-09")

        assert [*log.files(folder)] == ["b.md"]
        there = self.archived(tmp_path, log, "2026-01-09")
        assert there == {"a.md": b"a.md", "c.md": b"c.md"}
        assert moved == len(there)

    def test_nothing_in_the_archive_is_overwritten(self, log: EventLog, tmp_path: Path) -> None:
        """The same content is only removed here; other content stays here."""
        for folder, data in (("", b"same"), (_DAY, b"same"), ("2026-01-11", b"other")):
            log.create(folder, "a.md", data)

        moved = [log.archive(folder, ["a.md"], _DAY) for folder in ("", _DAY, "2026-01-11")]

        assert moved == [1, 1, 0]
        assert log.read("2026-01-11", "a.md") == b"other"
        assert self.archived(tmp_path, log, _DAY) == {"a.md": b"same"}

    def test_an_archived_name_can_be_created_again(self, log: EventLog) -> None:
        """The archive is a separate place."""
        log.create("", "a.md", b"one")
        log.archive("", ["a.md"], _DAY)

        assert log.create("", "a.md", b"two")
        assert log.read("", "a.md") == b"two"
