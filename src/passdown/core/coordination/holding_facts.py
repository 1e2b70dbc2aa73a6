"""The facts that a session records about its holds: each grant, its end, and the result of a closed task."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from passdown.core.coordination.leases import PATH, TASK, Grant, Resource
from passdown.core.coordination.tasks import BLOCKED, COMPLETED, Task, TaskClosed
from passdown.core.facts import CLAIMED, Provenance
from passdown.core.holds import CLOSED_BLOCKED, CLOSED_UNFENCED, FENCE, GRANTED, HELD_NOW, UNFENCED
from passdown.core.json_text import dump
from passdown.core.kinds import FactKind
from passdown.core.safe_text import one_line
from passdown.core.sessions import ledger_sync
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account

_TITLE: Final = 300
_BLOCKED: Final = "BLOCKED:"
_KINDS = ((TASK, FactKind.CLAIM), (PATH, FactKind.RESERVATION))


def make_granted(kind: FactKind, name: str, fence: int) -> NewFact:
    """Return the fact that a session holds something; without a fence, only the tracker granted it."""
    if not fence:
        return NewFact(kind, UNFENCED, name)
    others = ((HELD_NOW, dump(value=True)), (FENCE, dump(fence)))
    return NewFact(kind, f"{GRANTED}{fence}", name, others=others)


def make_lost(kind: FactKind, name: str) -> NewFact:
    """Return the fact that a session no longer holds something."""
    return NewFact(kind, "no longer held", name, others=((HELD_NOW, dump(value=False)),))


def find_changes(kind: FactKind, known: Mapping[str, int], held: Mapping[str, int]) -> Iterator[NewFact]:
    """Yield the facts that update a session from the holds it knows to the holds it has."""
    for name, fence in held.items():
        if known.get(name) != fence:
            yield make_granted(kind, name, fence)
    for name in known:
        if name not in held:
            yield make_lost(kind, name)


def rebind(account: Account, tasks: Mapping[str, int], first: str = "") -> Iterator[NewFact]:
    """Yield the facts that bind the session to a task it holds and unbind it from one it held (R34, R35).

    `first` is the task that it asked for first, by name: the session works on that one now. The title of a
    task is the goal only while the session is bound to the task.
    """
    is_other = first in tasks and first != account.task
    is_left = bool(account.task) and (is_other or account.task not in tasks)
    if account.goal and account.goal.key == CLAIMED and is_left:
        yield NewFact(FactKind.RETRACTION, account.goal.text, FactKind.GOAL.value)
    if tasks and (is_other or account.task not in tasks):
        yield NewFact(FactKind.BINDING, first if is_other else next(iter(tasks)), ledger_sync.TASK)
    elif account.task in account.claims and account.task not in tasks:
        yield NewFact(FactKind.BINDING, "", ledger_sync.TASK)


def list_granted(
    account: Account, grants: Iterable[Grant], tasks: Iterable[Task] = (), first: str = ""
) -> Sequence[NewFact]:
    """Return the facts for what a session was granted; without a fence, the tracker alone decided (C86).

    `first` is the task that it asked for first, by name. Until the session states a goal, its goal is the
    title of the task that it is bound to.
    """
    granted = {Resource(one.kind, one.name): one.fence for one in grants}
    known = {Resource(TASK, name) for name in account.claims}
    new = {one: fence for one, fence in granted.items() if fence or one not in known}
    facts = _list(account, new, (), first)
    bound = [one.text for one in facts if one.kind is FactKind.BINDING]
    titles = [_shorten(one.title) for one in tasks if one.task in bound and not _has_goal(account)]
    return [*facts, *(NewFact(FactKind.GOAL, title, CLAIMED) for title in titles if title)]


def _shorten(title: str) -> str:
    """Return a title as one line of limited length, whatever the tracker allows."""
    return one_line(" ".join(title.split()))[:_TITLE]


def _has_goal(account: Account) -> bool:
    """Return whether a session stated its own goal."""
    goal = account.goal
    return goal is not None and goal.session == account.session and goal.provenance is Provenance.STATED


def list_released(account: Account, resources: Iterable[Resource]) -> Sequence[NewFact]:
    """Return the facts for what a session released."""
    return _list(account, {}, [*resources])


def list_closed(account: Account, closed: TaskClosed, reason: str, note: str = "") -> Sequence[NewFact]:
    """Return the facts for a closed task: what is done or what blocks it, and what was released."""
    task = closed.task.task
    is_known = any(_tells_of(fact.text, task) for fact in account.of(FactKind.DONE))
    done: Sequence[NewFact] = ()
    if not (is_known and reason == COMPLETED):
        done = list_left(task, closed.task.title, reason, note)
    if closed.is_unfenced:
        return [*done, *list_closed_unfenced(account, task)]
    released = [Resource(TASK, task), *(Resource(PATH, name) for name in closed.released)]
    return [*done, *list_released(account, released)]


def _tells_of(text: str, task: str) -> bool:
    """Return whether a fact says that a task is done; its title is unknown if the tracker did not answer."""
    return text == task or text.endswith(f" ({task})")


def list_closed_unfenced(account: Account, task: str) -> Sequence[NewFact]:
    """Return the facts for a task that was closed while its lease and files could not be released."""
    claims = {name: fence for name, fence in account.claims.items() if name != task}
    return [NewFact(FactKind.CLAIM, CLOSED_UNFENCED, task), *rebind(account, claims)]


def list_left(task: str, title: str, reason: str, note: str) -> Sequence[NewFact]:
    """Return the fact about a closed task: that it is done, or what blocks it."""
    name = f"{title} ({task})" if title and title != task else task
    if reason == COMPLETED:
        return [NewFact(FactKind.DONE, name)]
    lines = [line.removeprefix(_BLOCKED).strip() for line in note.splitlines()]
    why = "; ".join(filter(None, map(one_line, lines)))
    blocked = NewFact(FactKind.CLAIM, CLOSED_BLOCKED, task, because=f"{name}: {why}" if why else name)
    return [blocked] if reason == BLOCKED else []


def _list(
    account: Account, granted: Mapping[Resource, int], released: Sequence[Resource], first: str = ""
) -> Sequence[NewFact]:
    """Return the facts that are new to an account."""
    facts: list[NewFact] = []
    tasks: Mapping[str, int] = account.claims
    for kind, fact_kind in _KINDS:
        known = account.claims if kind == TASK else account.reservations
        gone = {one.name for one in released if one.kind == kind}
        held = {name: fence for name, fence in known.items() if name not in gone}
        held |= {one.name: fence for one, fence in granted.items() if one.kind == kind}
        facts += find_changes(fact_kind, known, held)
        tasks = held if kind == TASK else tasks
    return [*facts, *rebind(account, tasks, first)]
