"""One process passes a gate at a time, in the order in which they came, and nobody waits for ever."""

import errno
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from passdown.engines.files.locks import Gate
from passdown.engines.files.system_calls import lock_in_turn
from passdown.errors import StorageError


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The file of a gate."""
    return str(tmp_path / "gate.lock")


@contextmanager
def opened(path: str) -> Iterator[int]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        yield handle
    finally:
        os.close(handle)


def test_a_gate_is_open_again_after_an_error(path: str) -> None:
    gate = Gate(path)
    with pytest.raises(KeyError), gate.passed(0.0):
        raise KeyError

    with gate.passed(0.0):
        assert os.path.getsize(path) == 0


def test_whoever_comes_too_late_is_told_how_long_it_waited(path: str) -> None:
    with (
        Gate(path).passed(0.0),
        pytest.raises(StorageError, match=r"gate\.lock is locked: .* within 0\.02 s"),
        Gate(path).passed(0.02),
    ):
        pass


def test_whoever_waits_is_let_in_when_the_gate_opens(path: str) -> None:
    entered = threading.Event()

    def enter() -> None:
        with Gate(path).passed(30.0):
            entered.set()

    waiting = threading.Thread(target=enter)
    with Gate(path).passed(0.0):
        waiting.start()
        assert not entered.wait(0.02)

    waiting.join(30.0)
    assert entered.is_set()


def test_whoever_gave_up_does_not_keep_others_out(path: str) -> None:
    with opened(path) as first:
        assert lock_in_turn(first, 0.0)
        with opened(path) as second:
            assert not lock_in_turn(second, 0.01)

    with opened(path) as third:
        assert lock_in_turn(third, 30.0)


def test_where_there_is_no_queue_it_is_tried_again_and_again(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")

    with opened(path) as first, opened(path) as second:
        assert lock_in_turn(first, 0.0)
        assert not lock_in_turn(second, 0.01)


def test_where_files_cannot_be_locked_everybody_passes(path: str) -> None:
    def refuse(handle: int, wait: float) -> bool:
        raise OSError(errno.ENOLCK, f"no locks for {handle} in {wait} s")

    with Gate(path, lock=refuse).passed(1.0), Gate(path, lock=refuse).passed(1.0):
        assert os.path.exists(path)


def test_where_the_gate_cannot_be_made_everybody_passes(tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "missing" / "gate.lock"))

    with gate.passed(1.0), gate.passed(1.0):
        assert list(tmp_path.iterdir()) == []
