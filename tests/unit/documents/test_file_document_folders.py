"""Shelves in folders: records as they are, and the one document of each stream."""

import os
import sys
from pathlib import Path

import pytest

from passdown.engines.files.document_folders import EndedJournalFiles, StreamDocuments, open_folder
from passdown.engines.system import SystemClock
from tests.support.projects import put


@pytest.fixture
def source(tmp_path: Path) -> StreamDocuments:
    return StreamDocuments(str(tmp_path / "handoffs"))


def test_the_documents_of_streams_are_listed_by_their_folder(tmp_path: Path, source: StreamDocuments) -> None:
    put(tmp_path, "handoffs/auth/current.md", "alpha")
    put(tmp_path, "handoffs/auth/other.md", "no document of a stream")
    put(tmp_path, "handoffs/empty/other.md", "no stream")
    put(tmp_path, "handoffs/current.md", "the view")
    (tmp_path / "handoffs" / "folder" / "current.md").mkdir(parents=True)

    assert list(source.files("")) == ["auth/current.md"]
    assert source.read("", "auth/current.md") == b"alpha"
    assert source.read("", "gone/current.md") is None


def test_a_changed_document_has_another_mark(tmp_path: Path, source: StreamDocuments) -> None:
    path = put(tmp_path, "handoffs/auth/current.md", "alpha")
    before = source.files("")
    path.write_text("alphabet", encoding="utf-8")
    assert source.files("") != before
    assert source.folders({"": 5}) == {"": 0}


def test_links_and_names_that_are_no_text_are_left_out(tmp_path: Path, source: StreamDocuments) -> None:
    put(tmp_path, "elsewhere/current.md", "secret")
    put(tmp_path, "handoffs/real/other.md", "")
    (tmp_path / "handoffs" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "handoffs" / "real" / "current.md").symlink_to(tmp_path / "elsewhere" / "current.md")
    if sys.platform == "linux":  # elsewhere names are texts
        odd = Path(os.fsdecode(os.fsencode(tmp_path / "handoffs") + b"/\xff"))
        odd.mkdir()
        (odd / "current.md").write_bytes(b"alpha")

    assert source.files("") == {}
    assert source.read("", "real/current.md") is None


def test_a_missing_folder_holds_nothing(source: StreamDocuments) -> None:
    assert source.files("") == {}


def test_records_are_listed_and_read(tmp_path: Path) -> None:
    put(tmp_path, "archive/2026-01-10-13-00-manual.md", "alpha")
    source = open_folder(str(tmp_path / "archive"), SystemClock())

    assert list(source.folders({})) == [""]
    assert list(source.files("")) == ["2026-01-10-13-00-manual.md"]
    assert source.read("", "2026-01-10-13-00-manual.md") == b"alpha"


def test_archived_journals_are_listed_by_month_and_nothing_else(tmp_path: Path) -> None:
    for name in (
        "2026-01/s-1.jsonl",
        "2026-02/s-2.jsonl",
        "2026-02/notes.md",
        "s-3.jsonl",
        "other/s-4.jsonl",
    ):
        put(tmp_path, f"ended/{name}", name)
    (tmp_path / "ended" / "2026-01" / "s-5.jsonl").symlink_to(tmp_path / "ended" / "s-3.jsonl")
    source = EndedJournalFiles(str(tmp_path / "ended"), SystemClock(), root=str(tmp_path))

    assert sorted(source.folders({})) == ["", "2026-01", "2026-02"]
    assert [sorted(source.files(folder)) for folder in ("", "2026-01", "2026-02", "2026-03")] == [
        [],
        ["s-1.jsonl"],
        ["s-2.jsonl"],
        [],
    ]
    assert source.read("2026-02", "s-2.jsonl") == b"2026-02/s-2.jsonl"
    assert source.read("2026-01", "s-5.jsonl") is None


def test_archived_journals_behind_a_link_are_not_read(tmp_path: Path) -> None:
    put(tmp_path, "elsewhere/2026-01/s-1.jsonl", "secret")
    (tmp_path / "ended").symlink_to(tmp_path / "elsewhere")
    source = EndedJournalFiles(str(tmp_path / "ended"), SystemClock(), root=str(tmp_path))

    assert source.folders({}) == {}
    assert source.files("2026-01") == {}
    assert source.read("2026-01", "s-1.jsonl") is None
