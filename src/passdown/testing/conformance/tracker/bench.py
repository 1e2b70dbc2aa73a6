"""A tracker with sessions that use it, for the tests of the suite."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from passdown.core.coordination.leases import PATH, TASK, Fenced, Held, Resource
from passdown.core.coordination.members import Member
from passdown.core.coordination.operations import Operation, make_operation
from passdown.core.coordination.tasks import Claimed, Listing, NothingReady, Task, TaskState
from passdown.ports.coordination import Coordination
from passdown.ports.tracker import TaskSelection, Tracker, Worker

T = TypeVar("T")


class TrackerBench(ABC):
    """How the suite reaches a tracker; one for each test."""

    @property
    @abstractmethod
    def tracker(self) -> Tracker:
        """The tracker, without tasks at first."""

    @property
    @abstractmethod
    def coordination(self) -> Coordination:
        """The coordination of the sessions, which holds their leases."""

    @property
    @abstractmethod
    def now(self) -> datetime:
        """The instant at which operations are made."""

    def close(self) -> None:  # noqa: B027  # most have nothing to close
        """Release what the test used."""


class TrackedProject:
    """A project with sessions and tasks, with short methods for tests."""

    def __init__(self, bench: TrackerBench) -> None:
        """Begin without sessions."""
        self._bench = bench
        self._numbers = count(1)
        self.tracker = bench.tracker
        self.shared = bench.coordination

    def op(self) -> Operation:
        """Make an operation id."""
        random = next(self._numbers).to_bytes(3, "big") + b"\x00" * 4 + b"\x01\x00\x00"
        return Operation(make_operation(self._bench.now, random[::-1]))

    def join(self, name: str) -> Worker:
        """Make a session join."""
        worker = Worker(f"s-{name}", f"{name}-0000000{len(name) % 10}")
        self.shared.members.join(self.op().id, Member(session=worker.session, agent=worker.agent))
        return worker

    def add(self, title: str, *after: str, priority: int = 2, role: str = "", body: str = "") -> str:
        """Add a task; return its id."""
        name = "" if self.tracker.about.names_tasks else f"t-{next(self._numbers):04x}"
        task = Task(task=name, title=title, priority=priority, role=role, body=body)
        return self.tracker.create(self.op(), Worker(), task, after).task

    def claim(
        self, worker: Worker, *tasks: str, role: str = "", another: bool = False
    ) -> Claimed | Held | NothingReady:
        """Claim tasks."""
        return self.tracker.claim(self.op(), worker, TaskSelection(tasks, role, another))

    def claimed(self, worker: Worker, *tasks: str) -> Fenced:
        """Claim a task that is free; return its fence."""
        outcome = expect(Claimed, self.claim(worker, *tasks))
        return Fenced(Resource(TASK, outcome.grants[0].name), outcome.grants[0].fence)

    def find(self, task: str) -> TaskState:
        """Return a task, which must exist."""
        found = self.tracker.find(task)
        assert found is not None
        return found

    def listed(self, listing: Listing) -> list[str]:
        """Return the titles in a listing."""
        return [one.task.title for one in self.tracker.tasks(listing)]

    def reserve(self, worker: Worker, path: str) -> None:
        """Make a session reserve a file."""
        self.shared.leases.acquire(self.op().id, worker.session, [Resource(PATH, path)], 600.0)

    def held(self, worker: Worker) -> list[str]:
        """Return what a session holds."""
        return sorted(one.resource.name for one in self.shared.leases.leases(worker.session))


class TrackerCase(ABC):
    """Makes a tracker for each test; subclass the whole suite, not this."""

    @abstractmethod
    def make(self, folder: Path) -> TrackerBench:
        """Make a tracker without tasks; the folder is empty."""

    @pytest.fixture
    def project(self, tmp_path: Path) -> Iterator[TrackedProject]:
        """Yield a project with that tracker."""
        bench = self.make(tmp_path)
        yield TrackedProject(bench)
        bench.close()


def expect(kind: type[T], outcome: object) -> T:
    """Return an outcome that must be of a kind."""
    assert isinstance(outcome, kind), outcome
    return outcome
