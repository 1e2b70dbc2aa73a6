"""Results of subagents and a tracker that is outside: what it does not do now, the outbox does once."""

import json
from contextlib import suppress
from typing import Any

import pytest

from passdown.core.coordination.leases import TASK, Held
from passdown.core.hosts.kept_results import KeptResult, ResultState
from passdown.errors import TrackerRefusedError
from passdown.services.coordination.claims import CloseResult
from passdown.services.operations.waiting import find_waiting
from passdown.services.sessions.journals import read_account
from passdown.services.work import results
from passdown.services.work.results import AppliedResult, apply_result, list_results, take_result
from tests.unit.coordination.test_outbox import Desk


@pytest.fixture
def desk() -> Desk:
    """Give a session that holds a task of a tracker that is outside."""
    made = Desk()
    made.claim()
    return made


class Killed(BaseException):
    """Stands for the end of a process."""


def take(desk: Desk, *updates: dict[str, str]) -> KeptResult:
    text = json.dumps({"status": "success", "summary": "x", "beadUpdates": updates})
    kept = take_result(desk.workspace, desk.account, text)
    assert kept is not None
    return kept


def apply(desk: Desk) -> AppliedResult:
    (kept,) = list_results(desk.workspace, desk.account)
    return apply_result(desk.workspace, read_account(desk.workspace, desk.account.session), kept)


@pytest.mark.requirement("R210", "C99")
def test_what_the_tracker_does_not_do_now_is_done_once_by_the_outbox(desk: Desk) -> None:
    take(desk, {"id": desk.task, "action": "update", "notes": "one"})
    desk.faults.plan = ["before"] * 3

    assert apply(desk).kept.state is ResultState.APPLIED
    assert [one.note for one in find_waiting(desk.workspace)] == ["one"]
    desk.faults.plan = []
    assert apply(desk).tried == ()
    desk.note("two")

    assert desk.notes() == ["one", "two"]
    assert not find_waiting(desk.workspace)


@pytest.mark.requirement("R210", "C99")
@pytest.mark.parametrize("left", range(12))
def test_whenever_it_is_killed_everything_happens_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    take(
        desk,
        {"id": desk.task, "action": "update", "notes": "one"},
        {"id": desk.task, "action": "close", "notes": "two"},
    )
    journals = desk.workspace.journals
    count = 0

    def count_down(real: Any) -> Any:
        def write(*given: Any, **more: Any) -> object:
            nonlocal count
            count += 1
            if count > left:
                raise Killed
            return real(*given, **more)

        return write

    with monkeypatch.context() as patched, suppress(Killed):
        patched.setattr(journals, "extend", count_down(journals.extend))
        patched.setattr(journals, "append", count_down(journals.append))
        apply(desk)

    assert apply(desk).kept.state is ResultState.APPLIED
    assert desk.notes() == ["one", "two"]
    assert not find_waiting(desk.workspace)


def test_what_the_tracker_refused_is_tried_again_under_another_id(desk: Desk) -> None:
    take(desk, {"id": desk.task, "action": "update", "notes": "one"})
    desk.faults.error = TrackerRefusedError
    desk.faults.plan = ["before"]

    refused = apply(desk)
    assert (refused.kept.state, refused.kept.outcomes) == (ResultState.WAITING, {0: "the tracker died"})
    assert apply(desk).kept.state is ResultState.APPLIED

    assert desk.notes() == ["one"]
    ids = {one.id for one in desk.operations() if one.note == "one"}
    assert len(ids) == 2


def test_a_refusal_that_only_the_outbox_knows_is_said(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    take(desk, {"id": desk.task, "action": "update", "notes": "one"})
    desk.faults.error = TrackerRefusedError
    desk.faults.plan = ["before"]

    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patched, suppress(Killed):
        patched.setattr("passdown.services.work.results.members_of_try", die)
        apply(desk)

    assert apply(desk).kept.outcomes == {0: "the tracker died"}
    assert apply(desk).kept.state is ResultState.APPLIED
    assert desk.notes() == ["one"]


def test_a_task_that_another_session_has_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def hold(*_: object) -> CloseResult:
        held = Held(kind=TASK, name=desk.task, held=desk.task, session="s-2", agent="birch", left=60.0)
        return CloseResult(account=desk.account, outcome=held)

    monkeypatch.setattr("passdown.services.work.results.close", hold)
    take(desk, {"id": desk.task, "action": "close"})

    assert apply(desk).kept.outcomes == {0: f"birch holds {desk.task}"}


def test_a_result_that_another_process_kept_meanwhile_is_not_kept_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = {"id": desk.task, "action": "update", "notes": "one"}
    kept = take(desk, update)
    real = results._read_all
    stale: list[dict[str, KeptResult]] = [{}]
    monkeypatch.setattr(results, "_read_all", lambda *given: stale.pop() if stale else real(*given))
    before = read_account(desk.workspace, desk.account.session).last_seq

    assert take(desk, update) == kept
    assert read_account(desk.workspace, desk.account.session).last_seq == before
