"""Whether calls of several processes could have been made one after the other, in the order of the log.

The log has a position for each change and no gaps, so that it is the order in question. What is checked:

1. Positions are dense, and each operation has one.
2. What was acknowledged is in the log, with the outcome that was told; what was refused is not. A session
   that takes part already may join again without a change.
3. A call that ended before another began comes before it.
4. At each position a resource has one holder: it is granted only if nobody else holds anything that conflicts
   with it, or if whoever does gave no sign of life for as long as the lease was to live.
5. Whatever is used, released or closed was held by that session under that fence.
6. A refusal is true of some position between the begin and the end of its call.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Final, NamedTuple

from passdown.core.coordination.leases import PATH, TASK, Granted, Held, Lifetimes, Lost, Released
from passdown.core.coordination.outcomes import load_outcome
from passdown.core.coordination.patterns import overlap, parse_pattern
from passdown.core.coordination.tasks import Claimed, TaskClosed
from passdown.engines.coordination.transactions import LogRow
from tests.proofs.coordination.shared_calls import LOSING, UNKNOWN, Asked, Call

SETUP: Final = "setup"
JOIN: Final = "join"
NOTHING_READY: Final = "NothingReady"

Name = tuple[str, str]
Rows = Sequence[LogRow]


class Holding(NamedTuple):
    """Who holds a resource after some position."""

    session: str
    fence: int
    used: float
    ttl: float


State = Mapping[Name, Holding]


def check_calls(log: Rows, calls: Sequence[Call], tasks: Sequence[str], limits: Lifetimes) -> list[str]:
    """Return what cannot be; `tasks` were on the board at the beginning."""
    wrong = [*_check_positions(log)]  # 1
    rows, known = {row.op: row for row in log}, {call.op: call for call in calls}
    wrong += [f"nobody asked for {row}" for row in log if row.verb != SETUP and row.op not in known]
    members = {row.session for row in log if row.verb == JOIN}
    for call in calls:
        if call.verb != JOIN or call.op in rows or call.session not in members:
            wrong += _check_answer(call, rows.get(call.op))  # 2
    wrong += _check_order([known[row.op] for row in log if row.op in known])  # 3
    replay = Replay(tasks, limits)
    for row in log:
        wrong += replay.apply(row, known.get(row.op))  # 4, 5
    wrong += _check_refusals(log, calls, known, replay)  # 6
    return wrong


def _check_positions(log: Rows) -> Iterator[str]:
    if [row.position for row in log] != [*range(1, len(log) + 1)]:
        yield f"positions: {[row.position for row in log]}"
    if len({row.op for row in log}) != len(log):
        yield "an operation was made twice"


def _check_answer(call: Call, row: LogRow | None) -> Iterator[str]:
    if call.answer.startswith("StorageError"):
        yield f"error: {call}"
    elif call.answer in LOSING and row is not None:
        yield f"refused, and made: {call} {row}"
    elif call.answer not in LOSING and call.answer != UNKNOWN:
        if row is None:
            yield f"lost: {call}"
        elif call.granted != _granted(load_outcome(row.data)):
            yield f"told otherwise: {call} {row}"


def _granted(outcome: object) -> tuple[Asked, ...]:
    found = outcome.grants if isinstance(outcome, Granted | Claimed) else ()
    return tuple((one.kind, one.name, one.fence) for one in found)


def _check_order(made: Sequence[Call]) -> Iterator[str]:
    latest = accumulate((call.began for call in made), max)
    for call, began in zip(made, latest, strict=True):
        if call.ended < began:
            yield f"before a call that ended earlier: {call}"


class Replay:
    """Makes the changes of a log once more, and keeps the state after each."""

    def __init__(self, tasks: Sequence[str], limits: Lifetimes) -> None:
        """Begin with tasks that nobody holds."""
        self._limits = limits
        self._held: dict[Name, Holding] = {}
        self._open = {*tasks}
        self._seen: dict[str, float] = {}
        self.states: list[State] = [{}]
        self.free: list[int] = [len(tasks)]
        """How many tasks are open and not held after each position."""

    def apply(self, row: LogRow, call: Call | None) -> list[str]:
        """Make a change; return what forbids it."""
        wrong: list[str] = []
        if call is not None:
            wrong = [f"{why}: {row} {call}" for why in self._change(row, call)]
            self._seen[row.session] = row.at
        self.states.append(dict(self._held))
        self.free.append(len(self._open) - sum(kind == TASK for kind, _ in self._held))
        return wrong

    def _change(self, row: LogRow, call: Call) -> Iterator[str]:
        outcome = None if row.verb == JOIN else load_outcome(row.data)
        if isinstance(outcome, Granted | Claimed):
            for kind, name, fence in _granted(outcome):
                yield from self._grant(row, (kind, name), fence)
        if isinstance(outcome, Released | TaskClosed):
            for kind, name, fence in call.asked:
                yield from self._end(row.session, (kind, name), fence)
        if isinstance(outcome, TaskClosed):
            yield from self._close(row, outcome)

    def _grant(self, row: LogRow, name: Name, fence: int) -> Iterator[str]:
        if fence != row.position:  # what is held keeps its fence
            held = self._held.get(name)
            if held is None or (held.session, held.fence) != (row.session, fence):
                yield f"a stale holder of {name} was let in, {held} holds it"
            else:
                self._held[name] = held._replace(used=row.at)
            return
        if row.verb == "renew":
            yield "renewed under a new fence"
        if name[0] == TASK and name[1] not in self._open:
            yield f"{name} is closed"
        for other in [one for one in self._held if conflict(one, name)]:
            held = self._held.pop(other)
            if held.session == row.session and other != name:
                self._held[other] = held
            elif not self._is_over(row, other, held):
                yield f"two holders of {name}: {held}"
        self._held[name] = Holding(row.session, fence, row.at, self._limits.silent)

    def _is_over(self, row: LogRow, name: Name, held: Holding) -> bool:
        late = self._limits.orphaned if row.verb == "claim" else 0.0
        silent = row.at - self._seen[held.session] >= held.ttl + late
        return silent or (name[0] == PATH and row.at - held.used >= self._limits.unused)

    def _end(self, session: str, name: Name, fence: int) -> Iterator[str]:
        held = self._held.get(name)
        if held is None or (held.session, held.fence) != (session, fence):
            yield f"a stale holder of {name} was let in, {held} holds it"
        else:
            del self._held[name]

    def _close(self, row: LogRow, closed: TaskClosed) -> Iterator[str]:
        self._open.discard(closed.task.task)
        paths = [one for one, held in self._held.items() if one[0] == PATH and held.session == row.session]
        if sorted(closed.released) != sorted(name for _, name in paths):
            yield f"released {closed.released}, but held {paths}"
        for one in paths:
            del self._held[one]


def conflict(one: Name, other: Name) -> bool:
    """Return whether two sessions can hold only one of two resources."""
    if one[0] != other[0] or one[0] != PATH:
        return one == other
    return _overlap(one[1], other[1])


@cache
def _overlap(one: str, other: str) -> bool:
    return overlap(parse_pattern(one), parse_pattern(other))


def _check_refusals(
    log: Rows, calls: Sequence[Call], known: Mapping[str, Call], replay: Replay
) -> Iterator[str]:
    made = [(row.position, known[row.op]) for row in log if row.op in known]
    by_end = sorted((call.ended, position) for position, call in made)
    by_begin = sorted((call.began, position) for position, call in made)
    first = [0, *accumulate((position for _, position in by_end), max)]
    last = [len(log) + 1, *accumulate((position for _, position in reversed(by_begin)), min)][::-1]
    for call in calls:
        if call.answer not in {Held.__name__, Lost.__name__, NOTHING_READY}:
            continue
        begin = first[bisect_left(by_end, (call.began, 0))]
        end = last[bisect_left(by_begin, (call.ended, 0))]
        if not any(_is_true(call, replay, position) for position in range(begin, end)):
            yield f"refused without a reason: {call}, positions {begin} to {end - 1}"


def _is_true(call: Call, replay: Replay, position: int) -> bool:
    state = replay.states[position]
    if call.answer == Held.__name__:
        return call.holder != call.session and any(
            held.session == call.holder and conflict(name, (kind, wanted))
            for name, held in state.items()
            for kind, wanted, _ in call.asked
        )
    if call.answer == Lost.__name__:
        return any(
            (held := state.get((kind, name))) is None or (held.session, held.fence) != (call.session, fence)
            for kind, name, fence in call.asked
        )
    return bool(call.asked) or not replay.free[position]
