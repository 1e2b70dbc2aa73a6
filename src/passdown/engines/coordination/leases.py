"""The `Leases` of a project: grant, renew, release, check and take over."""

from collections.abc import Iterable, Sequence

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
    Lifetimes,
    Lost,
    PathVerdict,
    Released,
    Resource,
)
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
from passdown.engines.coordination.transactions import Reading, Store, Transaction
from passdown.errors import UsageError
from passdown.ports.coordination import HeldResource
from passdown.records import replace


class StoredLeases:
    """Keeps the promises of `Leases` over a store of rows."""

    def __init__(self, store: Store, lifetimes: Lifetimes, *, ignores_case: bool = False) -> None:
        """Keep the leases of a store."""
        self._store = store
        self._lifetimes = lifetimes
        self._ignores_case = ignores_case

    def _judge(self, reading: Reading) -> Judge:
        return Judge(reading, self._store, self._lifetimes, ignores_case=self._ignores_case)

    def acquire(self, op: str, session: str, wanted: Sequence[Resource], ttl: float) -> Granted | Held:
        """Grant all that is wanted, or nothing."""

        def act(change: Transaction) -> Granted:
            require_member(change, session)
            judge = self._judge(change)
            made = [grant(change, judge, one, session, ttl=ttl) for one in dict.fromkeys(wanted)]
            for lease in made:
                _hold_task(change, lease)
            return Granted(grants=tuple(judge.make_grant(lease) for lease in made))

        return run_change(self._store, op, ChangeSubject("acquire", session, _words(wanted)), act)

    def renew(self, op: str, session: str, held: Sequence[Fenced]) -> Granted | Lost:
        """Use leases again under their fences."""

        def act(change: Transaction) -> Granted:
            require_member(change, session)
            judge = self._judge(change)
            used = [
                replace(one, used=change.time.seconds) for one in require_fences(change, judge, session, held)
            ]
            for lease in used:
                change.put_lease(lease)
            return Granted(grants=tuple(judge.make_grant(lease) for lease in used))

        return run_change(self._store, op, ChangeSubject("renew", session, _words(_resources(held))), act)

    def release(self, op: str, session: str, held: Sequence[Fenced]) -> Released | Lost:
        """Release leases under their fences; a task goes back to the board."""

        def act(change: Transaction) -> Released:
            require_member(change, session)
            judge = self._judge(change)
            leases = require_fences(change, judge, session, held)
            for lease in leases:
                if lease.kind == TASK:
                    withdraw_offers(change, lease.name)
            end_leases(change, leases)
            free_tasks(change, leases)
            return Released(resources=tuple(one.resource for one in leases))

        return run_change(self._store, op, ChangeSubject("release", session, _words(_resources(held))), act)

    def check(self, op: str, session: str, paths: Sequence[str], seconds: float, about: str) -> Checked:
        """Judge paths, and hold for a while what passed."""

        def act(change: Transaction) -> Checked:
            judge = self._judge(change)
            leases = change.leases(PATH, ended=True)
            verdicts = tuple(_judge_path(path, session, leases, judge) for path in paths)
            checked = Checked(verdicts=verdicts)
            if not checked.is_passed:
                raise RefusedError(checked)
            now = change.time.seconds
            for lease in leases:
                is_used = lease.session == session and lease.ended is None
                if is_used and any(judge.covers(lease, path) for path in paths):
                    change.put_lease(replace(lease, used=now, until=max(lease.until, now + seconds)))
            return checked

        return run_change(self._store, op, ChangeSubject("check", session, about), act)

    def take_over(self, op: str, session: str, wanted: Sequence[Resource], *, force: bool) -> Granted | Held:
        """Take resources from sessions without signs of life, or from any."""

        def act(change: Transaction) -> Granted:
            require_member(change, session)
            judge = self._judge(change)
            ttl = self._lifetimes.silent
            made = [grant(change, judge, one, session, ttl=ttl, force=force) for one in dict.fromkeys(wanted)]
            for lease in made:
                _hold_task(change, lease)
            return Granted(grants=tuple(judge.make_grant(lease) for lease in made))

        return run_change(self._store, op, ChangeSubject("take-over", session, _words(wanted)), act)

    def leases(self, session: str = "") -> Sequence[HeldResource]:
        """Return what has not ended, also of sessions that give no sign of life."""
        with self._store.looking() as reading:
            judge = self._judge(reading)
            found = reading.leases_of(session) if session else _all_leases(reading)
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


def grant(
    change: Transaction, judge: Judge, wanted: Resource, session: str, *, ttl: float, force: bool = False
) -> Lease:
    """Give a resource to a session, or refuse it.

    1. A live lease of another session that conflicts with it is a refusal. Force takes it all the same, but
       not what is promised: a commit that was let through, or an open offer.
    2. Conflicting leases that are over end here: whoever comes back to one of them is told that it is lost.
    3. What the session holds already keeps its fence.
    """
    others = [lease for lease in _conflicting(change, judge, wanted) if lease.session != session]
    for lease in others:
        if judge.is_promised(lease) if force else judge.is_live(lease):  # 1
            raise RefusedError(judge.make_held(wanted, lease))
    end_leases(change, others, taken=True)  # 2
    now = change.time.seconds
    own = _find_own(change, session, wanted)
    if own is None:
        made = Lease(
            kind=wanted.kind, name=wanted.name, session=session, fence=change.fence, ttl=ttl, used=now
        )
    else:
        made = replace(own, ttl=ttl, used=now)  # 3
    change.put_lease(made)
    return made


def require_fences(change: Transaction, judge: Judge, session: str, held: Sequence[Fenced]) -> list[Lease]:
    """Return the leases of a session under these fences; refuse if one is not held under its fence."""
    found: list[Lease] = []
    for resource, fence in held:
        own = _find_own(change, session, resource)
        if own is None or own.fence != fence:
            newest = max((one.fence for one in _conflicting(change, judge, resource)), default=0)
            raise RefusedError(Lost(kind=resource.kind, name=resource.name, fence=fence, now=newest))
        found.append(own)
    return found


def _find_own(change: Reading, session: str, resource: Resource) -> Lease | None:
    leases = change.leases_on(*resource)
    return next((one for one in leases if one.session == session and one.ended is None), None)


def _conflicting(change: Reading, judge: Judge, wanted: Resource) -> list[Lease]:
    """Return the leases that have not ended and cannot be held beside the wanted one."""
    if wanted.kind != PATH:
        return [lease for lease in change.leases_on(*wanted) if lease.ended is None]
    return judge.find_overlapping(wanted.name, change.leases(PATH))


def _judge_path(path: str, session: str, leases: Sequence[Lease], judge: Judge) -> PathVerdict:
    """Judge one path for a session.

    1. Another session holds it.
    2. The session holds it.
    3. It was taken from the session, and another session was given it after the session last was: what was
       edited before is outdated.
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


def _all_leases(reading: Reading) -> list[Lease]:
    return [lease for kind in (TASK, TRACK, PATH) for lease in reading.leases(kind)]


def _resources(held: Iterable[Fenced]) -> list[Resource]:
    return [one.resource for one in held]


def _words(resources: Iterable[Resource]) -> str:
    return " ".join(f"{kind}/{name}" for kind, name in resources)
