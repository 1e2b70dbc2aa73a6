"""Files that go to the archive are there before they are gone here, and nothing is overwritten."""

import errno
import os
from pathlib import Path

import pytest

from passdown.engines.files.archive import move_files
from passdown.errors import StorageError


def make(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def listing(folder: Path) -> dict[str, str]:
    return {one.name: one.read_text(encoding="utf-8") for one in folder.iterdir()} if folder.exists() else {}


def test_files_are_moved_with_their_bytes(tmp_path: Path) -> None:
    here, there = make(tmp_path / "here", a="1", b="2", c="3"), tmp_path / "archive" / "2026-01-10"

    assert move_files(str(here), ["a", "b"], str(there)) == 2

    assert (listing(here), listing(there)) == ({"c": "3"}, {"a": "1", "b": "2"})


def test_case_1_what_is_there_with_the_same_content_is_only_removed_here(tmp_path: Path) -> None:
    here, there = make(tmp_path / "here", a="1"), make(tmp_path / "there", a="1")

    assert move_files(str(here), ["a"], str(there)) == 1

    assert (listing(here), listing(there)) == ({}, {"a": "1"})


def test_case_2_what_is_there_with_other_content_stays_in_both_places(tmp_path: Path) -> None:
    here, there = make(tmp_path / "here", a="1", b="2"), make(tmp_path / "there", a="other")

    assert move_files(str(here), ["a", "b"], str(there)) == 1

    assert (listing(here), listing(there)) == ({"a": "1"}, {"a": "other", "b": "2"})


def test_case_3_what_is_gone_meanwhile_was_moved_by_somebody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = make(tmp_path / "here", a="1", b="2"), tmp_path / "there"
    remove = os.unlink

    def gone_before(path: str, **options: int) -> None:
        remove(path, **options)
        if path.endswith("a"):
            raise FileNotFoundError

    monkeypatch.setattr(os, "unlink", gone_before)

    assert move_files(str(here), ["a", "b", "missing"], str(there)) == 1
    assert (listing(here), listing(there)) == ({}, {"a": "1", "b": "2"})


def test_when_the_archive_cannot_be_written_nothing_is_removed(tmp_path: Path) -> None:
    here = make(tmp_path / "here", a="1", b="2")
    make(tmp_path, file="in the way")

    with pytest.raises(StorageError) as refused:
        move_files(str(here), ["a", "b"], str(tmp_path / "file"))

    assert refused.value.hint
    assert listing(here) == {"a": "1", "b": "2"}


def test_a_file_that_cannot_be_removed_is_reported_and_is_in_both_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = make(tmp_path / "here", a="1"), tmp_path / "there"
    remove = os.unlink

    def refuse(path: str, **options: int) -> None:
        if path != "a":
            return remove(path, dir_fd=options["dir_fd"])
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "unlink", refuse)

    with pytest.raises(StorageError, match="could not remove") as refused:
        move_files(str(here), ["a"], str(there))

    assert "both places" in refused.value.hint
    assert (listing(here), listing(there)) == ({"a": "1"}, {"a": "1"})
