"""Random histories of reservations and commits, and an account of them that knows nothing of the engine."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Final, NamedTuple

from passdown.core.coordination.leases import (
    HELD,
    LOST,
    MINE,
    PATH,
    Checked,
    Fenced,
    Granted,
    Released,
    Resource,
)
from passdown.core.coordination.members import EngineTime, Member
from passdown.core.coordination.operations import make_operation
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.coordination.transactions import Store
from passdown.ports.clock import BootTime

SESSIONS: Final = tuple(f"s-{number}" for number in range(50))
PATHS: Final = tuple(f"{folder}/{name}.txt" for folder in "ab" for name in "xyz")
PATTERNS: Final = {
    **{path: (path,) for path in PATHS},
    "a/": PATHS[:3],
    "*/x.txt": ("a/x.txt", "b/x.txt"),
    "b/[yz].*": ("b/y.txt", "b/z.txt"),
}
"""What sessions reserve, each with the paths it stands for, written by hand."""
HOLD: Final = 120.0
START: Final = 1_800_000_000.0


class MovedTime:
    """The clock of a history; it is the engine's, and that of a boot."""

    def __init__(self) -> None:
        """Begin long after the boot."""
        self.seconds = START

    def now(self) -> datetime:
        """Tell the wall clock's time."""
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        """Tell the seconds."""
        return self.seconds

    def read(self) -> BootTime:
        """Tell the time of the boot."""
        return BootTime("boot", self.seconds - START)

    def tell(self) -> EngineTime:
        """Tell the engine's time."""
        return EngineTime(self.seconds)


class OpenCommit(NamedTuple):
    """A commit that was let through and is not made yet."""

    session: str
    until: float
    mine: tuple[str, ...]
    grants: int
    """How many grants there were when it was let through."""


class LeaseHistory:
    """Fifty sessions that reserve, expire, take over, release and commit, one step at a time."""

    def __init__(self, store: Store, time: MovedTime, random: Random) -> None:
        """Let all of them take part."""
        self.coordination = Coordinator(store, "proof")
        self.time = time
        self.random = random
        self.grants: list[tuple[str, str]] = []
        """Every grant in order: the session, and a path."""
        self.own: dict[tuple[str, str], int] = {}
        """The last grant of a session on a path that it did not release."""
        self.open: list[OpenCommit] = []
        self.fences: dict[tuple[str, str], int] = {}
        self.accepted = self.held = self.lost = self.taken = 0
        self.faults: list[str] = []
        for session in SESSIONS:
            self.coordination.members.join(self.operation(), Member(session=session, agent=session))

    def operation(self) -> str:
        """Make the id of an operation."""
        return make_operation(self.time.now(), self.random.randbytes(10))

    def step(self) -> None:
        """Do one thing; few sessions act often, the others seldom, so that much expires."""
        self.time.seconds += self.random.choice((0.1, 1, 5, 20, 45, 90, 240))
        self._finish()
        session = self.random.choice(SESSIONS[:6] if self.random.random() < 0.7 else SESSIONS)
        act = self.random.choice((self._acquire, self._acquire, self._steal, self._release, self._beat))
        if self.random.random() < 0.45:
            self.commit(session, self.random.sample(PATHS, self.random.choice((1, 1, 2, 3))))
        else:
            act(session)

    def commit(self, session: str, paths: Sequence[str], about: str = "") -> bool:
        """Ask for a commit; note a fault if one is let through that must not be."""
        checked = self.coordination.leases.check(self.operation(), session, paths, HOLD, about)
        self.held += sum(one.verdict == HELD for one in checked.verdicts)
        self.lost += sum(one.verdict == LOST for one in checked.verdicts)
        if not checked.is_passed:
            return False
        self.accepted += 1
        for path in paths:
            if self._is_stale(session, path):
                self.faults.append(f"{session} committed {path}, which another session had since")
        self._begin(session, checked)
        return True

    def _begin(self, session: str, checked: Checked) -> None:
        mine = tuple(one.path for one in checked.verdicts if one.verdict == MINE)
        ends = self.time.seconds + self.random.uniform(0, HOLD - 1)
        self.open.append(OpenCommit(session, ends, mine, len(self.grants)))

    def _is_stale(self, session: str, path: str) -> bool:
        """Return whether somebody else was granted a path after the session, which never released it."""
        own = self.own.get((session, path))
        return own is not None and any(
            name == path and other != session for other, name in self.grants[own + 1 :]
        )

    def _finish(self) -> None:
        """Make the commits whose time is over: nobody was granted what was mine in the meantime."""
        for one in [one for one in self.open if one.until <= self.time.seconds]:
            self.open.remove(one)
            since = self.grants[one.grants :]
            if any(path in one.mine and other != one.session for other, path in since):
                self.faults.append(f"{one.session} was overtaken while it committed {one.mine}")

    def _acquire(self, session: str) -> None:
        wanted = [Resource(PATH, self.random.choice((*PATTERNS,)))]
        ttl = self.random.choice((30.0, 60.0, 300.0, 600.0))
        granted = self.coordination.leases.acquire(self.operation(), session, wanted, ttl)
        self._note(session, granted, is_stolen=False)

    def _steal(self, session: str) -> None:
        others = self.coordination.leases.leases()
        wanted = [one.resource for one in others if one.left <= 0 and one.session != session][:2]
        if wanted:
            taken = self.coordination.leases.take_over(self.operation(), session, wanted, force=False)
            self._note(session, taken, is_stolen=True)

    def _note(self, session: str, outcome: object, *, is_stolen: bool) -> None:
        if not isinstance(outcome, Granted):
            return
        self.taken += is_stolen
        for grant in outcome.grants:
            if self.fences.get((session, grant.name)) == grant.fence:
                continue  # it had this already
            self.fences[session, grant.name] = grant.fence
            for path in PATTERNS[grant.name]:
                self.own[session, path] = len(self.grants)
                self.grants.append((session, path))

    def _release(self, session: str) -> None:
        held = [Fenced(one.resource, one.fence) for one in self.coordination.leases.leases(session)]
        done = self.coordination.leases.release(self.operation(), session, held) if held else None
        if isinstance(done, Released):
            paths = {path for one in done.resources for path in PATTERNS[one.name]}
            for path in paths:
                self.own.pop((session, path), None)
            self._give_up(session, paths)

    def _give_up(self, session: str, paths: Collection[str]) -> None:
        """Expect nothing more for commits of a session that itself released what it commits."""
        self.open = [
            one._replace(mine=tuple(path for path in one.mine if path not in paths))
            if one.session == session
            else one
            for one in self.open
        ]

    def _beat(self, session: str) -> None:
        self.coordination.members.beat([session])
