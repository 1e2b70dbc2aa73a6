"""The `Leases` of a project: grant, renew, release, check and take over."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from passdown.core.coordination.leases import (
    FREE,
    HELD,
    LOST,
    MINE,
    PATH,
    TASK,
    TRACK,
    Checked,
    Fenced,
    Granted,
    Held,
    Lease,
    Lost,
    PathVerdict,
    Released,
    Resource,
)
from passdown.core.coordination.members import Member
from passdown.core.coordination.tasks import OPEN
from passdown.engines.coordination.changes import (
    ChangeSubject,
    Judge,
    RefusedError,
    end_leases,
    free_tasks,
    require_member,
    run_change,
)
from passdown.engines.coordination.offers import withdraw_offers
from passdown.engines.coordination.transactions import Reading, TimedStore, Transaction
from passdown.errors import UsageError
from passdown.ports.coordination import HeldResource
from passdown.records import replace


class StoredLeases:
    """Implements `Leases` over a store of rows."""

    def __init__(self, store: TimedStore, *, ignores_case: bool = False) -> None:
        self._store = store
        self._ignores_case = ignores_case

    def _judge(self, reading: Reading, caller: Member | None = None) -> Judge:
        ignores_case = self._ignores_case
        return Judge(reading, self._store, self._store.lifetimes, caller=caller, ignores_case=ignores_case)

    def acquire(self, op: str, session: str, wanted: Sequence[Resource], ttl: float) -> Granted | Held:
        def act(change: Transaction) -> Granted:
            judge = self._judge(change, require_member(change, session))
            made, _ = grant(change, judge, wanted, GrantRequest(session, ttl))
            for lease in made:
                _hold_task(change, lease)
            return Granted(grants=tuple(judge.make_grant(lease) for lease in made))

        return run_change(self._store, op, ChangeSubject("acquire", session, _words(wanted)), act)

    def renew(self, op: str, session: str, held: Sequence[Fenced]) -> Granted | Lost:
        def act(change: Transaction) -> Granted:
            judge = self._judge(change, require_member(change, session))
            found = require_fences(change, judge, change.leases_of(session), held)
            used = [replace(one, used=change.time.seconds) for one in found]
            change.put_leases(used)
            return Granted(grants=tuple(judge.make_grant(lease) for lease in used))

        return run_change(self._store, op, ChangeSubject("renew", session, _words(_resources(held))), act)

    def release(self, op: str, session: str, held: Sequence[Fenced]) -> Released | Lost:
        """Release leases under their fences; a task goes back to the board."""

        def act(change: Transaction) -> Released:
            judge = self._judge(change, require_member(change, session))
            leases = require_fences(change, judge, change.leases_of(session), held)
            for lease in leases:
                if lease.kind == TASK:
                    withdraw_offers(change, lease.name)
            end_leases(change, leases)
            free_tasks(change, leases)
            return Released(resources=tuple(one.resource for one in leases))

        return run_change(self._store, op, ChangeSubject("release", session, _words(_resources(held))), act)

    def check(self, op: str, session: str, paths: Sequence[str], seconds: float, about: str) -> Checked:
        def act(change: Transaction) -> Checked:
            judge = self._judge(change)
            leases = change.leases(PATH, ended=True)
            checked = Checked(verdicts=_judge_paths(paths, session, leases, judge))
            if not checked.is_passed:
                raise RefusedError(checked)
            now = change.time.seconds
            own = [one for one in leases if one.session == session and one.ended is None]
            used = [one for one in own if any(judge.covers(one, path) for path in paths)]
            until = now + seconds
            change.put_leases([replace(one, used=now, until=max(one.until, until)) for one in used])
            return checked

        return run_change(self._store, op, ChangeSubject("check", session, about), act)

    def judge(self, session: str, paths: Sequence[str]) -> Sequence[PathVerdict]:
        with self._store.looking() as reading:
            leases = reading.leases(PATH, ended=True)
            return _judge_paths(paths, session, leases, self._judge(reading))

    def take_over(self, op: str, session: str, wanted: Sequence[Resource], *, force: bool) -> Granted | Held:
        def act(change: Transaction) -> Granted:
            judge = self._judge(change, require_member(change, session))
            made, _ = grant(change, judge, wanted, GrantRequest(session, self._store.lifetimes.silent, force))
            for lease in made:
                _hold_task(change, lease)
            return Granted(grants=tuple(judge.make_grant(lease) for lease in made))

        return run_change(self._store, op, ChangeSubject("take-over", session, _words(wanted)), act)

    def leases(self, session: str = "") -> Sequence[HeldResource]:
        with self._store.looking() as reading:
            judge = self._judge(reading)
            every = (lease for kind in (TASK, TRACK, PATH) for lease in reading.leases(kind))
            found = reading.leases_of(session) if session else every
            return [
                HeldResource(
                    lease.resource,
                    lease.session,
                    judge.member(lease.session).agent,
                    lease.fence,
                    judge.left(lease),
                )
                for lease in found
            ]


class GrantRequest(NamedTuple):
    """The session that asks, after how many silent seconds its leases expire, and whether it uses force."""

    session: str
    ttl: float
    force: bool = False


class Grants(NamedTuple):
    """The leases that were granted, in the order requested, and those that other sessions lost."""

    made: list[Lease]
    taken: list[Lease]


def grant(change: Transaction, judge: Judge, wanted: Iterable[Resource], request: GrantRequest) -> Grants:
    """Grant resources to a session, or refuse all of them.

    1. A conflicting live lease of another session is a refusal. Force takes it anyway, unless it is promised:
       by a commit that was allowed, or by an open offer.
    2. Conflicting leases that have expired end here, so that a session that comes back learns that it lost
       them.
    3. What the session already holds keeps its fence.
    """
    session, ttl, force = request
    now = change.time.seconds
    names = list(dict.fromkeys(wanted))
    running = _find_running(change, names)
    own = {lease.resource: lease for lease in running if lease.session == session}
    others = [lease for lease in running if lease.session != session]
    taken: dict[Lease, None] = {}
    for one in names:
        for lease in judge.find_conflicting(one, others):
            if judge.is_promised(lease) if force else judge.is_live(lease):  # 1
                raise RefusedError(judge.make_held(one, lease))
            taken[lease] = None
    end_leases(change, taken, taken=True)  # 2
    made = [
        replace(own[one], ttl=ttl, used=now)  # 3
        if one in own
        else Lease(kind=one.kind, name=one.name, session=session, fence=change.fence, ttl=ttl, used=now)
        for one in names
    ]
    change.put_leases(made)
    return Grants(made, list(taken))


def require_fences(
    change: Transaction, judge: Judge, own: Sequence[Lease], held: Sequence[Fenced]
) -> list[Lease]:
    """Return those of a session's own leases that have these fences; refuse if one has another fence."""
    known = {lease.resource: lease for lease in own}
    for resource, fence in held:
        if resource not in known or known[resource].fence != fence:
            running = judge.find_conflicting(resource, _find_running(change, [resource]))
            newest = max((one.fence for one in running), default=0)
            raise RefusedError(Lost(kind=resource.kind, name=resource.name, fence=fence, now=newest))
    return [known[resource] for resource, _ in held]


def _find_running(change: Reading, wanted: Iterable[Resource]) -> list[Lease]:
    """Return the leases that have not ended and may conflict; paths are read together."""
    named = [one for one in wanted if one.kind != PATH]
    found = [lease for one in named for lease in change.leases_on(*one) if lease.ended is None]
    return [*found, *change.leases(PATH)] if any(one.kind == PATH for one in wanted) else found


def _judge_paths(
    paths: Sequence[str], session: str, leases: Sequence[Lease], judge: Judge
) -> tuple[PathVerdict, ...]:
    return tuple(_judge_path(path, session, leases, judge) for path in paths)


def _judge_path(path: str, session: str, leases: Sequence[Lease], judge: Judge) -> PathVerdict:
    """Judge one path for a session.

    1. Another session holds it.
    2. The session holds it.
    3. It was taken from the session and later granted to another one, so the session's edits are outdated.
    """
    found = [lease for lease in leases if judge.covers(lease, path)]
    others = [lease for lease in found if lease.session != session]
    for lease in others:
        if judge.is_live(lease):  # 1
            return _verdict(path, HELD, lease, judge)
    mine = [lease for lease in found if lease.session == session and session]
    for lease in mine:
        if lease.ended is None:  # 2
            return PathVerdict(path=path, verdict=MINE, held=lease.name)
    newest = max((lease.fence for lease in mine), default=0)
    is_taken = any(lease.is_taken for lease in mine)
    for lease in others:
        if is_taken and lease.fence > newest:  # 3
            return _verdict(path, LOST, lease, judge)
    return PathVerdict(path=path, verdict=FREE)


def _verdict(path: str, verdict: str, lease: Lease, judge: Judge) -> PathVerdict:
    return PathVerdict(
        path=path,
        verdict=verdict,
        session=lease.session,
        agent=judge.member(lease.session).agent,
        left=max(judge.left(lease), 0.0),
        held=lease.name,
    )


def _hold_task(change: Transaction, lease: Lease) -> None:
    """Mark a task of the board as held."""
    if lease.kind == TASK and (task := change.find_task(lease.name)) is not None:
        if task.state != OPEN:
            raise UsageError(f"task {task.task} is {task.state}", hint="Run `passdown task ready`.")
        change.put_task(replace(task, is_held=True))


def _resources(held: Iterable[Fenced]) -> list[Resource]:
    return [one.resource for one in held]


def _words(resources: Iterable[Resource]) -> str:
    return " ".join(f"{kind}/{name}" for kind, name in resources)
