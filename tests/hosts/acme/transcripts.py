"""The transcripts of Acme: what was said, and the files that were written."""

from collections.abc import Collection, Sequence
from typing import Final

from passdown.core.hosts.transcripts import Object, TranscriptCollector, TranscriptMark, TranscriptReader
from passdown.core.json_text import text_at
from passdown.core.kinds import FactKind


def _wants(line: bytes, waiting: Collection[str]) -> bool:
    del waiting
    return b'"no"' in line


def _take(book: TranscriptCollector, line: Object) -> None:
    book.see(FactKind.PROMPT, text_at(line, "said"), text_at(line, "no"))
    if path := text_at(line, "wrote"):
        book.see_files(FactKind.FILE, [path], text_at(line, "no"))


def _parts(path: str, mark: TranscriptMark) -> Sequence[str]:
    del path, mark
    return ()


READER: Final = TranscriptReader("acme", _wants, _take, _parts)
