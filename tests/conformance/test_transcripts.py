"""Every engine keeps the promises of `Transcripts`."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from passdown.engines.files.transcripts import FileTranscripts
from passdown.engines.memory.transcripts import MemoryTranscripts
from passdown.errors import StorageError
from passdown.ports.transcripts import Transcripts
from passdown.testing.conformance.transcripts import TranscriptsConformance


class TestFileTranscripts(TranscriptsConformance):
    """Files of this machine."""

    def make(self, folder: Path, files: Mapping[str, bytes]) -> tuple[Transcripts, str]:
        """Write the files."""
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        return FileTranscripts(), folder.as_posix()

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
