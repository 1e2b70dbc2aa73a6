"""Content has the name that git gives it."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.git_hash import git_blob_id


@pytest.mark.parametrize("data", [b"", b"text\n", b"\0\r\n\xff" * 1000])
@pytest.mark.parametrize("name", ["sha1", "sha256"])
def test_the_id_is_the_one_git_gives(tmp_path: Path, data: bytes, name: str) -> None:
    subprocess.run(["git", "init", "--quiet", f"--object-format={name}"], cwd=tmp_path, check=True)
    command = ["git", "hash-object", "--stdin", "--no-filters"]
    told = subprocess.run(command, cwd=tmp_path, input=data, check=True, capture_output=True)
    expected = told.stdout.decode().strip()

    assert git_blob_id(data, like=expected) == expected
    assert (git_blob_id(data) == expected) is (name == "sha1")


@given(st.binary(), st.binary())
def test_different_content_has_different_ids(one: bytes, two: bytes) -> None:
    assert (git_blob_id(one) == git_blob_id(two)) is (one == two)
