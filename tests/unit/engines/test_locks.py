"""Locks by name: one holder at a time, also while a program that was started holds on to them."""

import subprocess
import sys
from pathlib import Path

import pytest

from passdown.engines.files import locks as module
from passdown.engines.files.locks import FileLocks
from passdown.engines.programs import SystemPrograms


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    first, second = FileLocks(str(tmp_path / "a/b")), FileLocks(str(tmp_path / "a/b"))

    with first.held("s-1", 0.0) as is_first:
        with second.held("s-1", 0.0) as is_second, second.held("s-2", 0.0) as is_other:
            assert (is_first, is_second, is_other) == (True, False, True)
            assert len(second.handles()) == 2
        assert len(first.handles()) == 1

    with second.held("s-1", 0.0) as is_second:
        assert is_second
    assert second.handles() == ()


@pytest.mark.skipif(sys.platform == "win32", reason="a program cannot be given an open file there")
def test_a_program_holds_the_lock_until_it_ends(tmp_path: Path) -> None:
    ours, others = FileLocks(str(tmp_path)), FileLocks(str(tmp_path))
    with ours.held("s-1", 0.0):
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=ours.handles()) as orphan:
            ours_closed = ours.handles()
            assert ours_closed
            _leave(ours)
            with others.held("s-1", 0.0) as is_held:
                assert not is_held
            orphan.communicate()
        with others.held("s-1", 5.0) as is_held:
            assert is_held


def _leave(locks: FileLocks) -> None:
    """Close what a killed process had open."""
    import os

    for handle in locks.handles():
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, handle)
        os.close(null)


@pytest.mark.skipif(sys.platform == "win32", reason="a program cannot be given an open file there")
def test_programs_are_given_what_is_held(tmp_path: Path) -> None:
    locks = FileLocks(str(tmp_path))
    programs = SystemPrograms(str(tmp_path), handles=locks.handles)

    with locks.held("s-1", 0.0):
        (handle,) = locks.handles()
        done = programs.run([sys.executable, "-c", f"import os; os.fstat({handle}); print('open')"])

    assert done.text == "open\n"


def test_where_nothing_can_be_locked_everybody_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    with FileLocks(str(tmp_path / "file")).held("s-1", 0.0) as is_held:
        assert is_held

    def refuse(handle: int, wait: float) -> bool:
        raise OSError(handle, f"no locks, {wait}")

    monkeypatch.setattr(module, "lock_in_turn", refuse)
    with FileLocks(str(tmp_path / "folder")).held("s-1", 0.0) as is_held:
        assert is_held
