"""Worlds of clones, each with the command in this process and a folder in memory."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.proofs.clones.world import World, Writers
from tests.support.commands import Caller

Make = Callable[[type[World], Writers, int], World]


@pytest.fixture
def make(in_memory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Make:
    """Give a way to make a world."""
    command = Caller(monkeypatch, capsys, in_memory)
    return lambda kind, writers, seed: kind(in_memory, writers, seed, monkeypatch, command)
