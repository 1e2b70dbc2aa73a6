"""What an engine provides to the coordination suite, and a project for the tests to act in."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import pytest

from passdown.core.coordination.leases import (
    GRACE,
    PATH,
    TASK,
    Checked,
    Fenced,
    Granted,
    Held,
    Lifetimes,
    Resource,
)
from passdown.core.coordination.members import ANY_ROLE, DEFAULT_TEAM, Member
from passdown.core.coordination.messages import NewMessage, NoRecipient, Sent
from passdown.core.coordination.offers import NewOffer, Offered
from passdown.core.coordination.operations import RANDOM_BYTES, make_operation
from passdown.core.coordination.tasks import Claimed, NothingReady, Task, TaskState
from passdown.ports.coordination import Coordination

T = TypeVar("T")

LIFETIMES: Final = Lifetimes()
"""The lifetimes with which a bench opens the engine."""
DEATH: Final = LIFETIMES.silent + GRACE
"""Seconds without a heartbeat after which a session counts as dead."""
MARGIN: Final = 10.0
"""Seconds by which a test stays away from a limit, and by which a clock that cannot be stopped may go on."""

Racer: TypeAlias = Callable[[Coordination], object]
"""What one of several processes does; it can be pickled, and so can its outcome."""


class CoordinationBench(ABC):
    """One project in the engine under test, the engine's clock, and the processes of hosts."""

    @abstractmethod
    def connect(self) -> Coordination:
        """Open the project again, as another process would, with `LIFETIMES`."""

    @abstractmethod
    def now(self) -> float:
        """Return the time by the engine's clock, in seconds since 1970."""

    @abstractmethod
    def advance(self, seconds: float, *, quiet: bool = False) -> None:
        """Let time pass by the engine's clock, in which some session is heard, unless it is quiet.

        If that clock cannot be set, move all stored instants into the past instead. The heartbeat is
        written where the engine keeps the newest one of the project.
        """

    @abstractmethod
    def race(self, racers: Sequence[Racer]) -> Sequence[object]:
        """Let all act at once, each on a handle of its own, and return their outcomes.

        An engine that processes share gives each racer a process.
        """

    def run(self, process: str) -> bool:
        """Start a host's process on this machine; False if the engine cannot know processes."""
        del process
        return False

    def kill(self, process: str) -> None:
        """End a host's process."""
        del process

    def reboot(self) -> bool:
        """Reboot the machine; False if the engine does not know boots."""
        return False

    def close(self) -> None:
        """Close everything that was opened."""
        return


class SharedProject:
    """A project in which sessions act, each with its own handle."""

    def __init__(self, bench: CoordinationBench) -> None:
        """Act on a bench."""
        self.bench = bench
        self._handles: dict[str, Coordination] = {}
        self._made = 0

    def of(self, session: str) -> Coordination:
        """Return the handle of a session."""
        if session not in self._handles:
            self._handles[session] = self.bench.connect()
        return self._handles[session]

    @property
    def here(self) -> Coordination:
        """The handle of an observer that is no session."""
        return self.of("")

    def op(self, age: float = 0.0) -> str:
        """Make an operation id, as if it was made that many seconds ago."""
        self._made += 1
        at = datetime.fromtimestamp(self.bench.now() - age, UTC)
        return make_operation(at, self._made.to_bytes(RANDOM_BYTES, "big"))

    # --- sessions -----------------------------------------------------------------------------

    def join(
        self,
        *sessions: str,
        name: str = "",
        team: str = DEFAULT_TEAM,
        role: str = ANY_ROLE,
        process: str = "",
    ) -> None:
        """Make sessions join; the agent of `a` is `agent-a`."""
        for session in sessions:
            agent = agent_of(session)
            member = Member(session=session, agent=agent, name=name, team=team, role=role, process=process)
            self.of(session).members.join(self.op(), member)

    def leave(self, session: str) -> None:
        """Make a session leave."""
        self.of(session).members.leave(self.op(), session)

    def die(self, *dead: str) -> None:
        """Let enough time pass without heartbeats of these sessions that they die; the others beat."""
        self.bench.advance(DEATH + MARGIN)
        self.beat(*(one.session for one in self.here.members.members() if one.session not in dead))

    def beat(self, *sessions: str) -> None:
        """Record a heartbeat of sessions."""
        self.here.members.beat(sessions)

    def live(self) -> list[str]:
        """Return the sessions that count as live."""
        return [one.session for one in self.here.members.members() if one.is_live]

    # --- leases -------------------------------------------------------------------------------

    def acquire(self, session: str, *paths: str, ttl: float = LIFETIMES.silent) -> Granted | Held:
        """Make a session reserve paths."""
        wanted = [Resource(PATH, path) for path in paths]
        return self.of(session).leases.acquire(self.op(), session, wanted, ttl)

    def acquired(self, session: str, *paths: str, ttl: float = LIFETIMES.silent) -> list[Fenced]:
        """Make a session reserve free paths; return them with their fences."""
        return fenced(self.acquire(session, *paths, ttl=ttl))

    def use(self, verb: str, session: str, held: Sequence[Fenced]) -> object:
        """Make a session renew or release what it holds."""
        leases = self.of(session).leases
        return (leases.renew if verb == "renew" else leases.release)(self.op(), session, held)

    def take(self, session: str, *paths: str, force: bool = False) -> Granted | Held:
        """Make a session take over paths."""
        wanted = [Resource(PATH, path) for path in paths]
        return self.of(session).leases.take_over(self.op(), session, wanted, force=force)

    def take_task(self, session: str, task: str, *, force: bool = False) -> Granted | Held:
        """Make a session take over a task."""
        wanted = [Resource(TASK, task)]
        return self.of(session).leases.take_over(self.op(), session, wanted, force=force)

    def check(self, session: str, *paths: str, seconds: float = 60.0) -> Checked:
        """Ask the guard about paths for a session."""
        return self.of(session).leases.check(self.op(), session, paths, seconds, "commit")

    def verdicts(self, session: str, *paths: str) -> list[str]:
        """Return what the guard says about each path."""
        return [one.verdict for one in self.check(session, *paths).verdicts]

    def held(self, session: str = "") -> list[str]:
        """Return the names of what live sessions hold."""
        return sorted(one.resource.name for one in self.here.leases.leases(session) if one.left > 0)

    # --- tasks --------------------------------------------------------------------------------

    def add(self, *tasks: str, priority: int = 2, role: str = "") -> None:
        """Add tasks to the board."""
        for task in tasks:
            made = Task(task=task, title=f"Do {task}.", priority=priority, role=role)
            self.here.tasks.add(self.op(), "", made)

    def claim(
        self, session: str, *tasks: str, role: str = "", another: bool = False
    ) -> Claimed | Held | NothingReady:
        """Make a session claim tasks."""
        return self.of(session).tasks.claim(self.op(), session, tasks, role=role, another=another)

    def claimed(self, session: str, task: str) -> Fenced:
        """Make a session claim a free task; return it with its fence."""
        claim = expect(Claimed, self.claim(session, task))
        return Fenced(Resource(TASK, task), claim.grants[0].fence)

    def next_task(self, session: str, role: str = "") -> str:
        """Make a session claim the next ready task; return its id, or an empty text."""
        outcome = self.claim(session, role=role, another=True)
        return outcome.tasks[0].task if isinstance(outcome, Claimed) else ""

    def wait_for(self, task: str, other: str) -> object:
        """Make a task wait for another."""
        return self.here.tasks.wait_for(self.op(), "", task, other)

    def find(self, task: str) -> TaskState:
        """Return a task, which must exist."""
        return expect(TaskState, self.here.tasks.find(task))

    def close(self, session: str, held: Fenced, reason: str = "completed") -> object:
        """Make a session close a task."""
        return self.of(session).tasks.close(self.op(), session, held, reason, "")

    # --- mail and offers ----------------------------------------------------------------------

    def send(
        self, sender: str, to: str, content: str = "hello", seconds: float = 86_400.0
    ) -> Sent | NoRecipient:
        """Make a session send a message."""
        message = NewMessage(sender, to, content, seconds=seconds)
        return self.of(sender).messages.send(self.op(), message)

    def mail(self, session: str) -> list[str]:
        """Return the unread messages of a session."""
        return [one.message.content for one in self.of(session).messages.waiting(session)]

    def read(self, session: str) -> None:
        """Mark all messages of a session as read."""
        messages = self.of(session).messages
        messages.acknowledge(self.op(), session, [one.position for one in messages.waiting(session)])

    def offer(self, giver: str, task: str, taker: str = "", seconds: float = 86_400.0) -> str:
        """Make a session offer a task that it holds; return the offer's id."""
        offer = NewOffer(giver, taker, task, seconds=seconds)
        return expect(Offered, self.of(giver).offers.offer(self.op(), offer)).offer.offer

    def accept(self, session: str, offer: str) -> object:
        """Make a session accept an offer."""
        return self.of(session).offers.accept(self.op(), session, offer)

    def decline(self, session: str, offer: str) -> object:
        """Make a session decline an offer."""
        return self.of(session).offers.decline(self.op(), session, offer)

    def withdraw(self, session: str, offer: str) -> object:
        """Make a session withdraw its offer."""
        return self.of(session).offers.withdraw(self.op(), session, offer)


class CoordinationCase(ABC):
    """Makes a project for each test; subclass the whole suite, not this."""

    @abstractmethod
    def make(self, folder: Path) -> CoordinationBench:
        """Make a project without sessions; the folder is empty and may be used."""

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[CoordinationBench]:
        """Return the engine under test."""
        made = self.make(tmp_path)
        yield made
        made.close()

    @pytest.fixture
    def project(self, bench: CoordinationBench) -> SharedProject:
        """Return a project without sessions."""
        return SharedProject(bench)


def agent_of(session: str) -> str:
    """Return the agent of a session."""
    return f"agent-{session}"


def expect(kind: type[T], outcome: object) -> T:
    """Return an outcome that is of a kind."""
    assert isinstance(outcome, kind), outcome
    return outcome


def fenced(outcome: object) -> list[Fenced]:
    """Return the granted resources with their fences."""
    return [Fenced(Resource(one.kind, one.name), one.fence) for one in expect(Granted, outcome).grants]


def about(seconds: float) -> object:
    """Equal that many seconds, plus or minus the time that a test takes."""
    return pytest.approx(seconds, abs=MARGIN / 2)
