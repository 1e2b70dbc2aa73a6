"""Who calls a command in the process of a test: a person at a terminal, or an agent."""

from collections.abc import Iterable

import pytest

from passdown.core.hosts.persons import Ancestor
from passdown.engines.process import SystemProcesses
from passdown.faces.cli import output
from passdown.hosts import HOSTS


def sit_down(monkeypatch: pytest.MonkeyPatch, ancestors: Iterable[Ancestor] = ()) -> None:
    """Let whoever calls a command sit at a terminal, below these processes, without variables of an agent."""
    for name in HOSTS.agent_signs().variables:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(SystemProcesses, "list_ancestors", lambda _: iter(ancestors))
    monkeypatch.setattr(output, "has_person", lambda: True)


def stand_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody sit at a terminal any more."""
    monkeypatch.setattr(output, "has_person", lambda: False)
