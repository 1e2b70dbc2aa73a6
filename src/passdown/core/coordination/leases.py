"""Leases: what a session holds, for how long, and the outcomes of asking for it."""

from collections.abc import Callable
from typing import Annotated, Final, NamedTuple

from passdown.core.coordination.members import EngineTime, Member
from passdown.records import record

TASK: Final = "task"
TRACK: Final = "track"
PATH: Final = "path"
"""The kinds of resources; a path is a pattern (C85)."""

COPIED: Final = "copy"
"""The verb of the log entry that tells the age of a copy."""

GRACE: Final = 60.0
"""Extra seconds of silence that a session is allowed."""
KEPT: Final = 86_400.0
"""Seconds that an ended lease is kept, so that a late commit can be recognized."""


class Resource(NamedTuple):
    """Something that one session can hold at a time."""

    kind: str
    name: str


class Lifetimes(NamedTuple):
    """How long leases last, in seconds."""

    silent: float = 600.0
    """How long a session may be silent."""
    unused: float = 7_200.0
    """How long a path stays reserved after its last use, whatever else its session does."""
    orphaned: float = 1_800.0
    """How long a task waits for the session that lost it before anybody else can claim it."""
    grace: float = GRACE
    """How long a session may be silent beyond that."""
    quiet: float = 120.0
    """How long all sessions must be silent before that time counts against none of them."""


class Fenced(NamedTuple):
    """A resource, and the fence under which a session holds it."""

    resource: Resource
    fence: int


class KnownHolder(NamedTuple):
    """A session, and what it holds according to its own journal."""

    member: Member
    held: tuple[Fenced, ...] = ()
    position: int = 0
    """The highest position of its changes."""


@record
class Lease:
    """The hold of one session on one resource; kept for a while after it ends."""

    kind: Annotated[str, "The kind of resource."]
    name: Annotated[str, "The resource: the id of a task or track, or a path pattern."]
    session: Annotated[str, "The session that holds it."]
    fence: Annotated[int, "The position at which it was granted; a later grant has a greater one."]
    ttl: Annotated[float, "How many seconds the session may be silent before it ends."]
    used: Annotated[float, "When it was last used."]
    until: Annotated[
        float, "It cannot end before this, because a commit passed the guard or an offer is open."
    ] = 0.0
    offer: Annotated[str, "The open offer that it belongs to."] = ""
    ended: Annotated[float | None, "When it ended."] = None
    is_taken: Annotated[bool, "Whether it ended because another session got the resource."] = False

    @property
    def resource(self) -> Resource:
        """The held resource."""
        return Resource(self.kind, self.name)


@record
class Grant:
    """A granted resource, its fence, and the seconds until it expires if its session stays silent."""

    kind: str
    name: str
    fence: Annotated[int, "0 if coordination was unavailable and only the tracker granted it (C86)."]
    left: float


@record
class Granted:
    """Everything that was requested is granted."""

    grants: tuple[Grant, ...] = ()


@record
class Held:
    """Refused: another session holds it."""

    kind: Annotated[str, "The kind of resource."]
    name: Annotated[str, "The resource that was requested."]
    held: Annotated[str, "What the other session holds: the same resource, or an overlapping pattern."]
    session: Annotated[str, "The session that holds it."]
    agent: Annotated[str, "Its agent."]
    left: Annotated[float, "Seconds until it expires if that session stays silent."]


@record
class Lost:
    """Refused: the resource is no longer held under this fence."""

    kind: str
    name: str
    fence: Annotated[int, "The caller's fence; 0 if it never held the resource."]
    now: Annotated[int, "The newest fence of the resource; 0 if nobody holds it."] = 0


@record
class Released:
    """The resources that were released."""

    resources: tuple[Resource, ...] = ()


MINE: Final = "mine"
FREE: Final = "free"
HELD: Final = "held"
LOST: Final = "lost"


@record
class PathVerdict:
    """Whether a session may change one path."""

    path: str
    verdict: Annotated[
        str, "mine, free, held (by another session) or lost (another session took it in between)."
    ]
    session: Annotated[str, "The session that holds it, or took it in between."] = ""
    agent: Annotated[str, "Its agent."] = ""
    left: Annotated[float, "Seconds until it expires if that session stays silent."] = 0.0
    held: Annotated[str, "The pattern under which it is held."] = ""


@record
class Checked:
    """The verdicts for all paths; if all passed, the session's own paths are kept for a while."""

    verdicts: tuple[PathVerdict, ...] = ()

    @property
    def is_passed(self) -> bool:
        """Whether every path is the session's own or free."""
        return all(one.verdict in {MINE, FREE} for one in self.verdicts)


def time_left(
    lease: Lease,
    member: Member,
    time: EngineTime,
    lifetimes: Lifetimes,
    spared: Callable[[float], float] = lambda _: 0.0,
) -> float:
    """Return the seconds until a lease expires if its session stays silent; 0 or less if it is over.

    `spared` returns the seconds since an instant that do not count, because no session could be heard (C143).

    1. A lease that ended is over.
    2. A commit that passed the guard, or an open offer, keeps it whatever its session does.
    3. A session that ended holds nothing else.
    4. It lasts for its time to live after its session was last seen.
    5. A path that is not used expires, even if its session is alive.
    6. A session of an earlier boot is dead, whenever it was last seen.
    """
    if lease.ended is not None:  # 1
        return 0.0
    promised = lease.until - time.seconds  # 2
    if member.ended is not None:  # 3
        return promised
    left = member.seen + spared(member.seen) + lease.ttl + lifetimes.grace - time.seconds  # 4
    if lease.kind == PATH:
        left = min(left, lease.used + spared(lease.used) + lifetimes.unused - time.seconds)  # 5
    if member.boot != time.boot:
        left = min(left, 0.0)  # 6
    return max(left, promised)
