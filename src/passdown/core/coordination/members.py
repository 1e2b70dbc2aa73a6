"""Members: the sessions that take part in a project, and when each was last seen."""

from typing import Annotated, Final, NamedTuple

from passdown.records import record

DEFAULT_TEAM: Final = "default"
ANY_ROLE: Final = "any"

KEPT_ENDED: Final = 30 * 86_400.0
"""Seconds that a session is kept after it ended, and an offer after it was settled."""
MOST_DELETED: Final = 500
"""How many of them one change deletes, so that nobody waits long for it."""


class EngineTime(NamedTuple):
    """The time by the engine's clock: seconds, and the number of the boot. Callers cannot set it.

    Within a boot it never goes back. Sessions of another boot are dead.
    """

    seconds: float
    boot: int = 0


@record
class Member:
    """A session that takes part in coordination."""

    session: Annotated[str, "The session's id."]
    agent: Annotated[str, "Its agent."]
    name: Annotated[str, "Its nickname."] = ""
    team: Annotated[str, "Its team."] = DEFAULT_TEAM
    role: Annotated[str, "What it works on."] = ANY_ROLE
    process: Annotated[str, "The host's process on this machine."] = ""
    boot: Annotated[int, "The boot in which it was last seen."] = 0
    seen: Annotated[float, "When it was last seen."] = 0.0
    ended: Annotated[float | None, "When it ended."] = None
    continues: Annotated[str, "The session that it inherited from."] = ""


@record
class MemberState:
    """A member as others see it: with durations, since the engine's instants mean nothing elsewhere."""

    session: str
    agent: str
    name: str
    team: str
    role: str
    silent: Annotated[float, "Seconds since it was last seen."]
    is_live: bool


@record
class Joined:
    """The session takes part."""

    session: str
    is_new: bool


@record
class Left:
    """The session ended; what it held is free, except what it has offered."""

    session: str
    released: tuple[tuple[str, str], ...] = ()


@record
class Inherited:
    """The session took over what a dead session held, under new fences."""

    session: str
    fence: int
    resources: tuple[tuple[str, str], ...] = ()
    messages: Annotated[int, "How many unread messages it took over."] = 0


@record
class StillAlive:
    """Refused: the session to inherit from is still alive."""

    session: str
    agent: str
    left: Annotated[float, "Seconds until it counts as dead if it stays silent."]
