"""Every engine keeps the promises of `Transcripts`."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from passdown.engines.files.transcripts import FileTranscripts
from passdown.errors import StorageError
from passdown.ports.transcripts import Transcripts
from passdown.testing.conformance.transcripts import TranscriptsConformance
from passdown.testing.memory.transcripts import MemoryTranscripts


def _no_wait(seconds: float) -> None:
    """Wait for nobody: nothing in a test sleeps."""
    del seconds


class TestFileTranscripts(TranscriptsConformance):
    """Files of this machine."""

    def make(self, folder: Path, files: Mapping[str, bytes]) -> tuple[Transcripts, str]:
        """Write the files."""
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        return FileTranscripts(wait=_no_wait), folder.as_posix()

    def test_what_a_host_writes_late_is_waited_for(self, tmp_path: Path) -> None:
        """It is looked again as soon as the wait is over."""
        path = tmp_path / "a.jsonl"
        waited: list[float] = []

        def wait(seconds: float) -> None:
            waited.append(seconds)
            path.write_bytes(b"late\n" * (len(waited) == 3))

        FileTranscripts(wait).await_line(str(path), 0, b"late".__eq__)

        assert len(waited) == 3

    def test_what_is_there_and_cannot_be_read_is_reported(self, tmp_path: Path) -> None:
        """A folder is no transcript."""
        with pytest.raises(StorageError, match="could not read"):
            FileTranscripts().read(str(tmp_path), 0)


class TestMemoryTranscripts(TranscriptsConformance):
    """The fake that other tests use."""

    def make(self, folder: Path, files: Mapping[str, bytes]) -> tuple[Transcripts, str]:
        """Keep the files."""
        del folder
        transcripts = MemoryTranscripts()
        transcripts.files = {f"/h/{name}": data for name, data in files.items()}
        return transcripts, "/h"
