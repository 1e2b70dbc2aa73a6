"""What every `Transcripts` implementation must do."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import UTC
from pathlib import Path

from passdown.ports.transcripts import Transcripts


class TranscriptsConformance(ABC):
    """The promises of the port; subclass it, say how to make one with files, and name it `Test…`."""

    @abstractmethod
    def make(self, folder: Path, files: Mapping[str, bytes]) -> tuple[Transcripts, str]:
        """Make transcripts with these files; also return the folder that contains them."""

    def test_a_file_is_read_from_an_offset_to_its_end(self, tmp_path: Path) -> None:
        """Beyond the end, or without a file, the result is empty."""
        transcripts, top = self.make(tmp_path, {"a.jsonl": b"0123456789"})

        assert transcripts.size(f"{top}/a.jsonl") == 10
        assert transcripts.read(f"{top}/a.jsonl", 0) == b"0123456789"
        assert transcripts.read(f"{top}/a.jsonl", 7) == b"789"
        assert transcripts.read(f"{top}/a.jsonl", 10) == b""
        assert transcripts.read(f"{top}/a.jsonl", 99) == b""
        assert transcripts.size(f"{top}/b.jsonl") == 0
        assert transcripts.read(f"{top}/b.jsonl", 0) == b""

    def test_a_line_is_waited_for_no_longer_than_a_moment(self, tmp_path: Path) -> None:
        """An existing line is found at once; waiting does not make a missing one appear."""
        transcripts, top = self.make(tmp_path, {"a.jsonl": b"one\ntwo\n"})

        transcripts.await_line(f"{top}/a.jsonl", 4, b"two".__eq__)
        transcripts.await_line(f"{top}/a.jsonl", 4, b"one".__eq__)

        assert transcripts.read(f"{top}/a.jsonl", 0) == b"one\ntwo\n"

    def test_files_are_found_by_patterns(self, tmp_path: Path) -> None:
        """Each is returned once, sorted; a star stands for one name."""
        names = ("s/x/b.jsonl", "s/x/a.jsonl", "s/c.jsonl", "s/x/a.txt", "s/x/y/d.jsonl")
        transcripts, top = self.make(tmp_path, dict.fromkeys(names, b"x"))
        patterns = [f"{top}/s/*/*.jsonl", f"{top}/s/x/a.*", f"{top}/none/*"]

        found = transcripts.find(patterns)

        assert list(found) == [f"{top}/s/x/a.jsonl", f"{top}/s/x/a.txt", f"{top}/s/x/b.jsonl"]
        assert list(transcripts.find([])) == []

    def test_all_files_below_a_folder_are_listed_with_their_sizes(self, tmp_path: Path) -> None:
        """Paths are relative to the folder and sorted; a missing folder has none."""
        files = {"s/x/b.jsonl": b"12", "s/a.jsonl": b"1", "t/c.jsonl": b""}
        transcripts, top = self.make(tmp_path, files)

        found = transcripts.list(f"{top}/s")

        assert [(one.path, one.size) for one in found] == [("a.jsonl", 1), ("x/b.jsonl", 2)]
        assert {one.changed.tzinfo for one in found} == {UTC}
        assert list(transcripts.list(f"{top}/none")) == []
        assert transcripts.read(f"{top}/s/x/b.jsonl", 0, 1) == b"1"
