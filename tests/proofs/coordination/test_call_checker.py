"""The checker of calls finds each kind of history that cannot be."""

from typing import Final

import pytest

from passdown.core.coordination.leases import PATH, Grant, Granted, Lifetimes, Released, Resource
from passdown.core.coordination.members import Joined
from passdown.core.coordination.outcomes import dump_outcome
from passdown.engines.coordination.transactions import LogRow
from tests.proofs.coordination.call_checker import check_calls
from tests.proofs.coordination.shared_calls import Asked, Call

LIMITS: Final = Lifetimes(silent=10.0, unused=60.0)
WANTED: Final = (PATH, "src/", 0)


def grant(session: str, fence: int, began: float, ended: float) -> Call:
    """Let a session be granted a path."""
    granted: tuple[Asked, ...] = ((PATH, "src/", fence),)
    return Call(f"op-{fence}", session, "acquire", (WANTED,), began, ended, "Granted", granted)


def release(session: str, fence: int, under: int, began: float, ended: float) -> Call:
    """Let a session release a path."""
    return Call(f"op-{fence}", session, "release", ((PATH, "src/", under),), began, ended, "Released")


def refuse(answer: str, began: float, ended: float, fence: int = 0) -> Call:
    """Let a session be refused."""
    return Call(f"op-{began}", "c", "acquire", ((PATH, "src/", fence),), began, ended, answer, holder="a")


def make_row(call: Call, position: int, at: float) -> LogRow:
    """Log a call."""
    outcome: object = Released(resources=(Resource(PATH, "src/"),))
    if call.granted:
        grants = tuple(
            Grant(kind=kind, name=name, fence=fence, left=1.0) for kind, name, fence in call.granted
        )
        outcome = Granted(grants=grants)
    return LogRow(position, call.op, at, call.session, call.verb, "", dump_outcome(outcome))


def check(*calls: Call, more: tuple[Call, ...] = (), apart: float = 1.0) -> str:
    """Check calls that are logged in this order, and others that are not logged."""
    log = [make_row(call, number, number * apart) for number, call in enumerate(calls, start=1)]
    return "\n".join(check_calls(log, [*calls, *more], (), LIMITS))


FIRST: Final = grant("a", 1, 0.0, 1.0)
FREED: Final = release("a", 2, 1, 2.0, 3.0)


def test_what_can_be_is_not_reported() -> None:
    refused = (refuse("Held", 1.5, 1.8), refuse("Lost", 3.5, 4.0, fence=1), refuse("Held", 2.5, 9.0))

    assert check(FIRST, FREED, grant("b", 3, 4.0, 5.0), more=refused) == ""
    assert check(FIRST, grant("b", 2, 20.0, 21.0), apart=10.0) == ""


@pytest.mark.parametrize(
    ("calls", "more", "found"),
    [
        ((FIRST, grant("b", 2, 2.0, 3.0)), (), "two holders"),
        ((FIRST, release("b", 2, 1, 2.0, 3.0)), (), "a stale holder"),
        ((FIRST, release("a", 2, 7, 2.0, 3.0)), (), "a stale holder"),
        ((FIRST, FREED, release("a", 3, 1, 4.0, 5.0)), (), "a stale holder"),
        ((grant("a", 1, 5.0, 6.0), grant("a", 2, 1.0, 2.0)), (), "ended earlier"),
        ((FIRST,), (FREED,), "lost"),
        ((FIRST._replace(answer="Held"),), (), "refused, and made"),
        ((FIRST._replace(answer="StorageError: x"),), (), "error"),
        ((FIRST,), (refuse("Held", -2.0, -1.0),), "refused without a reason"),
        ((FIRST, FREED), (refuse("Held", 4.0, 5.0),), "refused without a reason"),
        ((FIRST, FREED), (refuse("Lost", 1.5, 1.9, fence=1)._replace(session="a"),), "without a reason"),
    ],
)
def test_what_cannot_be_is_found(calls: tuple[Call, ...], more: tuple[Call, ...], found: str) -> None:
    assert found in check(*calls, more=more)


def test_a_gap_and_a_change_that_nobody_asked_for_are_found() -> None:
    log = [make_row(FIRST, 2, 1.0)]

    assert "positions" in "".join(check_calls(log, [FIRST], (), LIMITS))
    assert "nobody asked" in "".join(check_calls([make_row(FIRST, 1, 1.0)], [], (), LIMITS))


def test_who_takes_part_already_joins_again_without_a_change() -> None:
    first, again = (
        Call(f"op-{name}", "a", "join", (), began, began + 1, "Joined")
        for name, began in (("first", 0.0), ("again", 2.0))
    )
    outcome = dump_outcome(Joined(session="a", is_new=True))
    log = [LogRow(1, first.op, 1.0, "a", "join", "", outcome)]

    assert check_calls(log, [first, again], (), LIMITS) == []
    assert "lost" in "".join(check_calls([], [first], (), LIMITS))
    assert "lost" in "".join(check_calls(log, [first, again._replace(session="b")], (), LIMITS))
