"""Locks by name: one holder at a time, also while a program that was started holds on to them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from passdown.engines.files import locks as module
from passdown.engines.files import system_calls
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


def test_a_lock_that_nobody_holds_is_deleted_when_it_is_old(tmp_path: Path) -> None:
    locks, others = FileLocks(str(tmp_path)), FileLocks(str(tmp_path))
    for name in ("s-1", "s-2", "s-3"):
        with locks.held(name, 0.0):
            pass
    (tmp_path / "note.txt").touch()
    os.utime(tmp_path / "s-3.lock", (2_000_000_000, 2_000_000_000))

    with locks.held("s-2", 0.0):
        assert others.delete_unused(1_900_000_000) == 1

    assert sorted(os.listdir(tmp_path)) == ["note.txt", "s-2.lock", "s-3.lock"]
    assert FileLocks(str(tmp_path / "missing")).delete_unused(1_900_000_000) == 0


def test_whoever_waits_for_a_deleted_lock_gets_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks, others = FileLocks(str(tmp_path)), FileLocks(str(tmp_path))
    lock_in_turn = system_calls.lock_in_turn

    def delete_first(handle: int, wait: float) -> bool:
        monkeypatch.setattr(module, "lock_in_turn", lock_in_turn)
        assert others.delete_unused(4_000_000_000) == 1
        return lock_in_turn(handle, wait)

    monkeypatch.setattr(module, "lock_in_turn", delete_first)

    with locks.held("s-1", 0.0) as is_first, others.held("s-1", 0.0) as is_second:
        assert (is_first, is_second) == (True, False)


_COUNT = """
import sys
from pathlib import Path
from passdown.engines.files.locks import FileLocks
from passdown.engines.files import locks as module
from passdown.engines.files import system_calls
folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
if sys.argv[3:]:
    FileLocks._is_kept = lambda *_: True
locks = FileLocks(str(folder / "locks"))
for _ in range(rounds):
    with locks.held("s-1", 60.0) as is_held:
        assert is_held
        number = int((folder / "count").read_text())
        (folder / "next").write_text(str(number + 1))
        (folder / "next").replace(folder / "count")
    locks.delete_unused(4_000_000_000)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="an open file is not deleted there")
def test_a_lock_that_processes_delete_all_the_time_has_one_holder(tmp_path: Path) -> None:
    assert count_in_turn(tmp_path) == 4 * 100


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="an open file is not deleted there")
def test_two_hold_a_lock_where_its_name_is_not_looked_at_again(tmp_path: Path) -> None:
    assert any(count_in_turn(tmp_path, "--planted") < 4 * 100 for _ in range(20))


def count_in_turn(folder: Path, *planted: str) -> int:
    """Let processes count up under a lock that each of them deletes."""
    (folder / "count").write_text("0")
    command = [sys.executable, "-c", _COUNT, str(folder), "100", *planted]
    counting = [subprocess.Popen(command) for _ in range(4)]
    codes = [one.wait() for one in counting]
    assert planted or codes == [0] * 4
    return int((folder / "count").read_text())
