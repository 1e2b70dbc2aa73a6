"""How every change is made: once per operation id, in one transaction, by the engine's clock."""

from collections.abc import Callable, Iterable
from functools import cache, cached_property
from typing import Final, NamedTuple, TypeVar, cast

from passdown.core.coordination.leases import (
    GRACE,
    PATH,
    TASK,
    Grant,
    Held,
    Lease,
    Lifetimes,
    Resource,
    time_left,
)
from passdown.core.coordination.members import KEPT_ENDED, Member
from passdown.core.coordination.operations import REMEMBERED, operation_time
from passdown.core.coordination.outcomes import dump_outcome, load_outcome
from passdown.core.coordination.patterns import PathPattern, matches, may_meet, overlap, parse_pattern
from passdown.core.coordination.silences import HeardSigns, find_silence, is_sign_due, longest_silence
from passdown.engines.coordination.transactions import LogRow, Reading, Store, TimedStore, Transaction
from passdown.errors import UsageError
from passdown.records import replace

T = TypeVar("T")

CANCELLED: Final = "cancelled"
"""The verb in the log of an operation that was cancelled: it was not made, and never will be."""


class RefusedError(Exception):
    """Ends a transaction without changing anything; its outcome is the answer."""

    def __init__(self, outcome: object) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class RepeatedError(RefusedError):
    """Ends the transaction of an operation that the log has; the outcome of the first is the answer."""


class ChangeSubject(NamedTuple):
    """How the log describes a change."""

    verb: str
    session: str
    subject: str = ""


def run_change(store: TimedStore, op: str, about: ChangeSubject, act: Callable[[Transaction], T]) -> T:
    """Make a change once; a repeated operation returns the outcome of the first.

    1. The log has the operation: it was made before.
    2. The log has the id under another verb: its outcome would not be an answer.
    3. The operation's id is older than the log, so it is unknown whether it was made.
    4. A refusal is not logged, so it can be tried again with the same id.
    """
    made_at = operation_time(op)
    try:
        with store.changing() as change:
            _refuse_repeat(change, op, store.wall_time(change) - made_at, about.verb)
            outcome = act(change)
            said = (about.session, about.verb, about.subject)
            change.add_log(LogRow(change.fence, op, change.time.seconds, *said, dump_outcome(outcome)))
            if change.is_sign:
                note_sign(change, store.lifetimes)
            return outcome
    except RepeatedError as repeated:
        store.confirm()
        return cast("T", repeated.outcome)
    except RefusedError as refused:
        return cast("T", refused.outcome)  # 4


def cancel_change(store: Store, op: str) -> object | None:
    """Return the outcome of a change, or log it as cancelled, so that it is never made.

    Nothing is logged twice, so that positions have no gaps.
    """
    try:
        with store.changing() as change:
            known = change.find_log(op)
            if known is not None:
                raise RepeatedError(None if known.verb == CANCELLED else load_outcome(known.data))  # noqa: TRY301
            change.add_log(LogRow(change.fence, op, change.time.seconds, "", CANCELLED, "", "null"))
    except RepeatedError as repeated:
        store.confirm()
        return repeated.outcome
    return None


def _refuse_repeat(change: Transaction, op: str, age: float, verb: str) -> None:
    known = change.find_log(op)
    if known is not None and known.verb == verb:
        raise RepeatedError(load_outcome(known.data))  # 1
    if known is not None:  # 2
        raise UsageError(
            f"operation id {op} was already used for: {known.verb}",
            hint="Run the command again without the id.",
        )
    if age > REMEMBERED:  # 3
        raise UsageError(
            f"operation id {op} is too old to be repeated", hint="Run the command again without the id."
        )


def require_member(change: Transaction, session: str) -> Member:
    """Return a session that has joined, and record its heartbeat; raise a UsageError if it has not."""
    member = change.find_member(session)
    if member is None or member.ended is not None:
        raise UsageError(
            f"session {session} has not joined coordination", hint="Run `passdown start` in its checkout."
        )
    time = change.time
    if member.boot != time.boot or time.seconds - member.seen > GRACE:
        member = replace(member, seen=time.seconds, boot=time.boot)
        change.put_member(member)
    return member


def note_sign(change: Transaction, lifetimes: Lifetimes) -> None:
    """Store the project's newest heartbeat, and the silence before it, if there was one (C143).

    This comes last in a change, so that a change that waits for this row holds nothing that others wait for.
    """
    newest, now = change.heard().newest, change.time.seconds
    if is_sign_due(newest, now, lifetimes.grace):
        change.put_sign(find_silence(newest, now, lifetimes.quiet), now - lifetimes.grace)


class Judge:
    """Decides which leases are live at one instant, and which of them conflict with others."""

    def __init__(
        self,
        reading: Reading,
        store: Store,
        lifetimes: Lifetimes,
        *,
        caller: Member | None = None,
        ignores_case: bool = False,
    ) -> None:
        """Judge by what a transaction reads; for a caller's own leases no other session needs to be read."""
        self._ignores_case = ignores_case
        self._reading = reading
        self._store = store
        self._lifetimes = lifetimes
        self._known: dict[str, Member] = {caller.session: caller} if caller else {}
        self._silences: dict[float, float] = {}
        self.orphaned = lifetimes.orphaned

    @cached_property
    def _members(self) -> dict[str, Member]:
        return {one.session: one for one in self._reading.members()}

    def member(self, session: str) -> Member:
        """Return a session; an unknown one counts as ended."""
        found = self._known.get(session) or self._members.get(session)
        if found is None:
            found = self._reading.find_member(session) or Member(session=session, agent=session, ended=0.0)
            self._known[session] = found
        return found

    def left(self, lease: Lease) -> float:
        """Return the seconds until a lease expires; zero or negative if it has expired.

        A lease does not expire while the session's process still runs on this machine (C80).
        """
        member, time = self.member(lease.session), self._reading.time
        left = time_left(lease, member, time, self._lifetimes, self._spared)
        if left > 0 or lease.ended is not None or not self._is_running(member):
            return left
        return time_left(lease, replace(member, seen=time.seconds), time, self._lifetimes, self._spared)

    def _spared(self, since: float) -> float:
        """Return the seconds since an instant in which no session could be heard, as in an outage (C143).

        If too little time has passed for an outage, the store is not asked.
        """
        now, quiet = self._reading.time.seconds, self._lifetimes.quiet
        if now - since < quiet:
            return 0.0
        if since not in self._silences:  # many leases of a session have the same instants
            self._silences[since] = longest_silence(self._heard, since, now, quiet)
        return self._silences[since]

    @cached_property
    def _heard(self) -> HeardSigns:
        return self._reading.heard()

    def is_live(self, lease: Lease) -> bool:
        """Return whether a lease keeps others out."""
        return self.left(lease) > 0

    def is_promised(self, lease: Lease) -> bool:
        """Return whether a lease withstands force, because of a commit that was allowed or an open offer."""
        return lease.ended is None and lease.until > self._reading.time.seconds

    def is_alive(self, member: Member) -> bool:
        """Return whether a session gives heartbeats."""
        return self.silence_left(member) > 0 or self._is_running(member)

    def has_died(self, member: Member) -> bool:
        """Return whether a session's process is known to have ended, however recent its last heartbeat."""
        return member.process != "" and self._store.is_running(member.process) is False

    def is_forgotten(self, member: Member) -> bool:
        """Return whether a session has been silent for so long that it counts as ended.

        Time in which no session could be heard does not count; in another boot it cannot run any more.
        """
        silent = self._reading.time.seconds - member.seen
        if silent <= KEPT_ENDED or silent - self._spared(member.seen) <= KEPT_ENDED:
            return False
        return not self._is_running(member)

    def silence_left(self, member: Member) -> float:
        """Return how many seconds a session still counts as alive without another heartbeat."""
        time = self._reading.time
        if member.ended is not None or member.boot != time.boot:
            return 0.0
        spared = self._spared(member.seen)
        return member.seen + spared + self._lifetimes.silent + self._lifetimes.grace - time.seconds

    def _is_running(self, member: Member) -> bool:
        is_here = member.ended is None and member.boot == self._reading.time.boot and member.process != ""
        return is_here and self._store.is_running(member.process) is True

    def find_conflicting(self, wanted: Resource, leases: Iterable[Lease]) -> list[Lease]:
        """Return the leases on the same resource, or whose path pattern can match the same path."""
        if wanted.kind != PATH:
            return [lease for lease in leases if lease.resource == wanted]
        pattern = self._parse(wanted.name)
        paths = (lease for lease in leases if lease.kind == PATH and may_meet(lease.name, pattern.text))
        return [lease for lease in paths if overlap(pattern, self._parse(lease.name))]

    def covers(self, lease: Lease, path: str) -> bool:
        """Return whether the pattern of a lease matches a path."""
        return may_meet(lease.name, path) and matches(self._parse(lease.name), path)

    def _parse(self, name: str) -> PathPattern:
        return _parse(name, self._ignores_case)

    def make_grant(self, lease: Lease) -> Grant:
        """Describe a lease to its holder."""
        return Grant(kind=lease.kind, name=lease.name, fence=lease.fence, left=self.left(lease))

    def make_held(self, wanted: Resource, lease: Lease) -> Held:
        """Describe the lease that conflicts."""
        return Held(
            kind=wanted.kind,
            name=wanted.name,
            held=lease.name,
            session=lease.session,
            agent=self.member(lease.session).agent,
            left=max(self.left(lease), 0.0),
        )


@cache
def _parse(name: str, ignores_case: bool) -> PathPattern:  # noqa: FBT001 - a key of the cache
    return parse_pattern(name, ignores_case=ignores_case)


def end_leases(change: Transaction, leases: Iterable[Lease], *, taken: bool = False) -> None:
    """End leases: released, or taken by another session."""
    now = change.time.seconds
    change.put_leases([replace(lease, ended=now, is_taken=taken, offer="", until=0.0) for lease in leases])


def free_tasks(change: Transaction, leases: Iterable[Lease]) -> None:
    """Put the tasks of ended leases back on the board."""
    for lease in leases:
        task = change.find_task(lease.name) if lease.kind == TASK else None
        if task is not None and task.is_held:
            change.put_task(replace(task, is_held=False))


def move_leases(change: Transaction, leases: Iterable[Lease], heir: str, *, offer: bool) -> list[Lease]:
    """Give leases to another session under the fence of this change; mark the old ones as taken.

    With `offer`, leases that are part of an offer stay part of it.
    """
    moving = list(leases)
    end_leases(change, moving, taken=True)
    kept = {} if offer else {"offer": "", "until": 0.0}
    now = change.time.seconds
    moved = [replace(lease, session=heir, fence=change.fence, used=now, **kept) for lease in moving]
    change.put_leases(moved)
    return moved
