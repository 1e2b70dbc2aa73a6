"""Each changing call of coordination, once successful and once refused, from the same state."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from passdown.core.coordination.leases import PATH, Resource
from passdown.core.coordination.members import Member
from passdown.core.coordination.messages import NewMessage
from passdown.core.coordination.offers import NewOffer
from passdown.core.coordination.tasks import Task
from passdown.ports.coordination import Coordination
from passdown.records import as_dict, is_record
from passdown.testing.conformance.coordination.bench import SharedProject, agent_of

Call: TypeAlias = Callable[[Coordination, str], object]
"""Calls one method, with an operation id."""

_TTL: Final = 600.0


class KnownState:
    """A project with something for every call: held and waiting tasks, an offer, a dead session."""

    def __init__(self, project: SharedProject) -> None:
        """Create the state."""
        project.join("a", "b", "dead")
        project.add("held", "free", "other", "gift", "waits")
        project.wait_for("waits", "held")
        project.claimed("dead", "other")
        project.acquired("dead", "old/")
        project.send("a", "agent-dead", "late")
        project.send("a", "agent-b", "short", seconds=1.0)
        project.die("dead")
        project.send("a", "agent-b", "hello")
        project.claimed("a", "gift")
        self.offer = project.offer("a", "gift", "agent-b")
        self.task = project.claimed("a", "held")
        (self.path,) = project.acquired("a", "src/")
        self.old = self.path._replace(fence=1)
        self.unread = [one.position for one in project.of("b").messages.waiting("b")]


CHANGES: Final[Mapping[str, Callable[[KnownState], Call]]] = MappingProxyType(
    {
        "join": lambda _: lambda on, op: on.members.join(op, _member("new")),
        "join again": lambda _: lambda on, op: on.members.join(op, _member("a", name="amber")),
        "leave": lambda _: lambda on, op: on.members.leave(op, "a"),
        "inherit": lambda _: lambda on, op: on.members.inherit(op, "b", "dead"),
        "acquire": lambda _: lambda on, op: on.leases.acquire(op, "b", _paths("docs/", "a.md"), _TTL),
        "acquire again": lambda _: lambda on, op: on.leases.acquire(op, "a", _paths("src/"), _TTL),
        "renew": lambda state: lambda on, op: on.leases.renew(op, "a", [state.path]),
        "release": lambda state: lambda on, op: on.leases.release(op, "a", [state.path]),
        "check": lambda _: lambda on, op: on.leases.check(op, "a", ["src/a.py", "b.md"], 60.0, "commit"),
        "take over": lambda _: lambda on, op: on.leases.take_over(op, "b", _paths("old/"), force=False),
        "force": lambda _: lambda on, op: on.leases.take_over(op, "b", _paths("src/"), force=True),
        "add": lambda _: lambda on, op: on.tasks.add(op, "b", Task(task="new", title="New")),
        "claim": lambda _: lambda on, op: on.tasks.claim(op, "b", ["free"]),
        "claim any": lambda _: lambda on, op: on.tasks.claim(op, "b", []),
        "close": lambda state: lambda on, op: on.tasks.close(op, "a", state.task, "completed", ""),
        "give back": lambda state: lambda on, op: on.tasks.give_back(op, "a", state.task),
        "change": lambda _: lambda on, op: on.tasks.change(op, "b", Task(task="free", title="New")),
        "wait for": lambda _: lambda on, op: on.tasks.wait_for(op, "b", "free", "held"),
        "send": lambda _: lambda on, op: on.messages.send(op, NewMessage("b", "agent-a", "again")),
        "acknowledge": lambda state: lambda on, op: on.messages.acknowledge(op, "b", state.unread),
        "expire": lambda _: lambda on, op: on.messages.expire(op),
        "offer": lambda _: lambda on, op: on.offers.offer(op, NewOffer("a", "", "held")),
        "accept": lambda state: lambda on, op: on.offers.accept(op, "b", state.offer),
        "decline": lambda state: lambda on, op: on.offers.decline(op, "b", state.offer),
        "withdraw": lambda state: lambda on, op: on.offers.withdraw(op, "a", state.offer),
    }
)
"""Each of them changes something."""

REFUSALS: Final[Mapping[str, Callable[[KnownState], Call]]] = MappingProxyType(
    {
        "leave": lambda _: lambda on, op: on.members.leave(op, "nobody"),
        "inherit": lambda _: lambda on, op: on.members.inherit(op, "b", "a"),
        "acquire": lambda _: lambda on, op: on.leases.acquire(op, "b", _paths("docs/", "src/"), _TTL),
        "renew": lambda state: lambda on, op: on.leases.renew(op, "a", [state.path, state.old]),
        "release": lambda state: lambda on, op: on.leases.release(op, "a", [state.path, state.old]),
        "check": lambda _: lambda on, op: on.leases.check(op, "b", ["src/a.py", "b.md"], 60.0, "commit"),
        "take over": lambda _: (
            lambda on, op: on.leases.take_over(op, "b", _paths("old/", "src/"), force=False)
        ),
        "claim": lambda _: lambda on, op: on.tasks.claim(op, "b", ["free", "held"]),
        "claim waiting": lambda _: lambda on, op: on.tasks.claim(op, "b", ["free", "waits"]),
        "claim any": lambda _: lambda on, op: on.tasks.claim(op, "b", ["waits"], role="none"),
        "close": lambda state: lambda on, op: on.tasks.close(op, "b", state.task, "completed", ""),
        "give back": lambda state: lambda on, op: on.tasks.give_back(op, "b", state.task),
        "wait for": lambda _: lambda on, op: on.tasks.wait_for(op, "b", "held", "waits"),
        "send": lambda _: lambda on, op: on.messages.send(op, NewMessage("b", "role:none", "again")),
        "acknowledge": lambda _: lambda on, op: on.messages.acknowledge(op, "b", [999]),
        "offer": lambda _: lambda on, op: on.offers.offer(op, NewOffer("b", "", "held")),
        "accept": lambda state: lambda on, op: on.offers.accept(op, "a", state.offer),
        "decline": lambda state: lambda on, op: on.offers.decline(op, "a", state.offer),
        "withdraw": lambda state: lambda on, op: on.offers.withdraw(op, "b", state.offer),
    }
)
"""Each of them is refused."""


def describe(project: SharedProject) -> object:
    """Return everything that can be seen of a project, except times."""
    on = project.here
    sessions = ["a", "b", "dead", "new", "late"]
    return (
        on.history.position(),
        [(one.session, one.agent, one.name, one.team, one.role) for one in on.members.members()],
        [(one.resource, one.session, one.fence) for one in on.leases.leases()],
        [(one.task, one.holder, one.fence, one.waits_for) for one in on.tasks.tasks(closed=True)],
        [(one.offer.offer, one.offer.giver, one.offer.state) for one in on.offers.offers()],
        {
            session: [(one.position, one.message.content) for one in on.messages.waiting(session)]
            for session in sessions
        },
    )


def without_times(outcome: object) -> object:
    """Return the values of an outcome without the seconds left, because an engine's clock may run on."""
    if is_record(outcome):
        fields = as_dict(outcome).items()
        return type(outcome), [(name, without_times(one)) for name, one in fields if name != "left"]
    if isinstance(outcome, tuple):
        return [without_times(one) for one in cast("tuple[object, ...]", outcome)]
    return outcome


def _member(session: str, name: str = "") -> Member:
    return Member(session=session, agent=agent_of(session), name=name)


def _paths(*names: str) -> Sequence[Resource]:
    return [Resource(PATH, name) for name in names]
