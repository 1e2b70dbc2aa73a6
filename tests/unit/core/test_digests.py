"""SHA-256 is the same whichever module of Python gives it."""

import importlib
import sys

import pytest

from passdown.core import digests

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize("absent", [(), ("_sha2",), ("_sha2", "_sha256")])
def test_the_digest_is_the_same_in_a_python_without_the_modules_of_cpython(
    absent: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails

    try:
        assert importlib.reload(digests).sha256(b"abc").hexdigest() == ABC
    finally:
        monkeypatch.undo()
        importlib.reload(digests)
