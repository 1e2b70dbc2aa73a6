"""Leases: what a session holds, how long it holds it, and what the answers about it are."""

from collections.abc import Callable
from typing import Annotated, Final, NamedTuple

from passdown.core.coordination.members import EngineTime, Member
from passdown.records import record

TASK: Final = "task"
TRACK: Final = "track"
PATH: Final = "path"
"""The kinds of resources; a path is a pattern (C85)."""

COPIED: Final = "copy"
"""The verb in the log of a copy, by which its age is known."""

GRACE: Final = 60.0
"""Seconds that a session may be late with its sign of life."""
KEPT: Final = 86_400.0
"""Seconds that an ended lease is kept, so that a late commit is known to be late."""


class Resource(NamedTuple):
    """Something that one session can hold at a time."""

    kind: str
    name: str


class Lifetimes(NamedTuple):
    """How long leases live, in seconds."""

    silent: float = 600.0
    """How long a session may give no sign of life."""
    unused: float = 7_200.0
    """How long a path is held after it was last used, whatever else its session does."""
    orphaned: float = 1_800.0
    """How long a task waits for the session that lost it, before anybody else is given it."""
    grace: float = GRACE
    """How long a session may be late with its sign of life."""
    quiet: float = 120.0
    """How long nobody must have been heard for that time not to count against anybody."""


class Fenced(NamedTuple):
    """A resource, and the fence under which a session holds it."""

    resource: Resource
    fence: int


class KnownHolder(NamedTuple):
    """A session, and what its own journal says that it holds."""

    member: Member
    held: tuple[Fenced, ...] = ()
    position: int = 0
    """The highest position at which one of its changes was made."""


@record
class Lease:
    """One session holds one resource, or held it until lately."""

    kind: Annotated[str, "The kind of resource."]
    name: Annotated[str, "The resource: the id of a task or track, or a path pattern."]
    session: Annotated[str, "The session that holds it."]
    fence: Annotated[int, "The position at which it was granted; a later grant has a greater one."]
    ttl: Annotated[float, "How many seconds the session may be silent."]
    used: Annotated[float, "When it was last used."]
    until: Annotated[float, "It does not end before: a commit that was let through, an open offer."] = 0.0
    offer: Annotated[str, "The open offer that it is part of."] = ""
    ended: Annotated[float | None, "When it ended."] = None
    is_taken: Annotated[bool, "Whether it ended because another session was given the resource."] = False

    @property
    def resource(self) -> Resource:
        """What is held."""
        return Resource(self.kind, self.name)


@record
class Grant:
    """A resource that was granted, its fence, and the seconds it is held without a further sign of life."""

    kind: str
    name: str
    fence: Annotated[int, "0 if no engine could be asked for the lease (C86)."]
    left: float


@record
class Granted:
    """All that was asked for was granted."""

    grants: tuple[Grant, ...] = ()


@record
class Held:
    """Refused: another session holds it."""

    kind: Annotated[str, "The kind of what was asked for."]
    name: Annotated[str, "What was asked for."]
    held: Annotated[str, "What the other session holds: the same, or a pattern that overlaps."]
    session: Annotated[str, "The session that holds it."]
    agent: Annotated[str, "Its agent."]
    left: Annotated[float, "Seconds until it ends without a further sign of life."]


@record
class Lost:
    """Refused: the fence is not the one under which the resource is held now."""

    kind: str
    name: str
    fence: Annotated[int, "The fence of the caller; 0 if it never held the resource."]
    now: Annotated[int, "The newest fence of the resource; 0 if nobody holds it."] = 0


@record
class Released:
    """What was released."""

    resources: tuple[Resource, ...] = ()


MINE: Final = "mine"
FREE: Final = "free"
HELD: Final = "held"
LOST: Final = "lost"


@record
class PathVerdict:
    """What a session may do with one path."""

    path: str
    verdict: Annotated[str, "mine, free, held (by another session) or lost (another session had it since)."]
    session: Annotated[str, "The session that holds it, or had it since."] = ""
    agent: Annotated[str, "Its agent."] = ""
    left: Annotated[float, "Seconds until it ends without a further sign of life."] = 0.0
    held: Annotated[str, "The pattern under which it is held."] = ""


@record
class Checked:
    """The verdicts for all paths; what was mine is held for a while."""

    verdicts: tuple[PathVerdict, ...] = ()

    @property
    def is_passed(self) -> bool:
        """Whether no path is held by another session, and none was lost."""
        return all(one.verdict in {MINE, FREE} for one in self.verdicts)


def time_left(
    lease: Lease,
    member: Member,
    time: EngineTime,
    lifetimes: Lifetimes,
    spared: Callable[[float], float] = lambda _: 0.0,
) -> float:
    """Return the seconds until a lease ends without a further sign of life; not positive if it is over.

    `spared` gives the seconds since an instant that do not count, because nobody could be heard (C143).

    1. A lease that ended is over.
    2. A commit that was let through, or an open offer, holds it whatever its session does.
    3. A session that ended holds nothing else.
    4. It lives as long after the last sign of life as was asked for.
    5. A path that nobody used is not held for ever.
    6. A session of an earlier boot is dead, whenever it gave its last sign of life.
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
