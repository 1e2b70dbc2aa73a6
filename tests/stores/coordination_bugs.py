"""Bugs that are planted into coordination, each with a test of the suite that is there for it."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from threading import Barrier, local
from typing import Final

import pytest

from passdown.core.coordination.leases import Fenced, Lease, Lifetimes
from passdown.core.coordination.members import KEPT_ENDED, EngineTime, Member
from passdown.core.coordination.messages import WaitingMessage
from passdown.core.coordination.offers import NewOffer, Offer
from passdown.core.coordination.patterns import PathPattern
from passdown.core.coordination.silences import HeardSigns
from passdown.engines.coordination import changes, leases, members, messages, offers, retention, tasks
from passdown.engines.coordination.changes import Judge
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.coordination.messages import StoredMessages
from passdown.engines.coordination.transactions import Store, Transaction
from passdown.errors import UsageError
from passdown.ports.coordination import Coordination
from passdown.records import replace
from passdown.testing.conformance.coordination.bench import (
    LIFETIMES,
    CoordinationBench,
    Racer,
)
from passdown.testing.memory.coordination import MemoryStore, MemoryTransaction
from tests.stores.coordination_benches import MemoryBench

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch], Callable[[], CoordinationBench]]
"""Breaks coordination for as long as a test lasts, and returns how to make a project there."""


# --- fences and holders -----------------------------------------------------------------------------


def _any_fence(
    change: Transaction, judge: Judge, own: Sequence[Lease], held: Sequence[Fenced]
) -> list[Lease]:
    del judge, own
    found = [one for resource, _ in held for one in change.leases_on(*resource) if one.ended is None]
    if not found:
        raise UsageError("nobody holds that", hint="Claim it.")
    return found


def ignore_the_fence_when_closing(patch: Patch) -> Callable[[], CoordinationBench]:
    patch.setattr(tasks, "require_fences", _any_fence)
    return MemoryBench


def release_without_a_fence(patch: Patch) -> Callable[[], CoordinationBench]:
    patch.setattr(leases, "require_fences", _any_fence)
    return MemoryBench


def keep_the_fence_of_what_moves(patch: Patch) -> Callable[[], CoordinationBench]:
    def move(change: Transaction, moving: Sequence[Lease], heir: str, *, offer: bool) -> list[Lease]:
        made = changes.move_leases(change, moving, heir, offer=offer)
        kept = [replace(new, fence=old.fence) for new, old in zip(made, moving, strict=True)]
        for one in kept:
            change.put_lease(one)
        return kept

    for module in (members, offers):
        patch.setattr(module, "move_leases", move)
    return MemoryBench


def do_not_see_overlap(patch: Patch) -> Callable[[], CoordinationBench]:
    def overlap(one: PathPattern, other: PathPattern) -> bool:
        return one == other

    patch.setattr(changes, "overlap", overlap)
    return MemoryBench


def forget_what_was_taken(patch: Patch) -> Callable[[], CoordinationBench]:
    def end(change: Transaction, ending: Sequence[Lease], *, taken: bool = False) -> None:
        del taken
        changes.end_leases(change, ending)

    patch.setattr(leases, "end_leases", end)
    return MemoryBench


def let_force_take_what_is_promised(patch: Patch) -> Callable[[], CoordinationBench]:
    patch.setattr(Judge, "is_promised", lambda *_: False)
    return MemoryBench


# --- the store ---------------------------------------------------------------------------------------


class LateLockStore(MemoryStore):
    """Looks first, then takes the lock: like a statement that does both."""

    start: Barrier | None = None
    seen = local()

    @contextmanager
    def changing(self) -> Generator[MemoryTransaction, None, None]:
        """Change what was there before the lock was taken."""
        rows = self._rows.copy()
        rows.position += 1
        if self.start is not None and getattr(self.seen, "start", None) is not self.start:
            self.seen.start = self.start
            self.start.wait(10)
        with self._lock:
            yield MemoryTransaction(rows, self._clock(), rows.position)
            self._rows = rows


class LateLockBench(MemoryBench):
    """Lets all racers look before the first one locks."""

    def __init__(self) -> None:
        """Use the broken store."""
        super().__init__(LateLockStore)

    def race(self, racers: Sequence[Racer]) -> Sequence[object]:
        """Let threads act at once."""
        assert isinstance(self.store, LateLockStore)
        self.store.start = Barrier(len(racers))
        outcomes = super().race(racers)
        self.store.start = None
        return outcomes


def look_before_the_lock_is_taken(patch: Patch) -> Callable[[], CoordinationBench]:
    del patch
    return LateLockBench


class KeepingStore(MemoryStore):
    """Keeps what a change did before it was refused."""

    @contextmanager
    def changing(self) -> Generator[MemoryTransaction, None, None]:
        """Change the rows themselves."""
        with self._lock:
            self._rows.position += 1
            yield MemoryTransaction(self._rows, self._clock(), self._rows.position)


def keep_half_of_a_refused_change(patch: Patch) -> Callable[[], CoordinationBench]:
    del patch
    return partial(MemoryBench, KeepingStore)


class SkewedStore:
    """Judges by the clock of its caller, which is not that of others."""

    def __init__(self, store: Store, skew: float) -> None:
        """Be that many seconds ahead."""
        self._store = store
        self._skew = skew
        self.beat, self.is_running, self.pause = store.beat, store.is_running, store.pause
        self.wall_time, self.confirm = store.wall_time, store.confirm

    @contextmanager
    def changing(self) -> Generator[MemoryTransaction, None, None]:
        """Change by the caller's clock."""
        with self._store.changing() as change:
            assert isinstance(change, MemoryTransaction)
            change.time = EngineTime(change.time.seconds + self._skew, change.time.boot)
            yield change

    @contextmanager
    def looking(self) -> Generator[MemoryTransaction, None, None]:
        """Look by the caller's clock."""
        with self._store.looking() as reading:
            assert isinstance(reading, MemoryTransaction)
            reading.time = EngineTime(reading.time.seconds + self._skew, reading.time.boot)
            yield reading


def use_the_callers_clock(patch: Patch) -> Callable[[], CoordinationBench]:
    del patch

    def make() -> CoordinationBench:
        callers = count()

        def coordinate(store: Store) -> Coordination:
            return Coordinator(SkewedStore(store, 700.0 * next(callers)), "skewed", LIFETIMES)

        return MemoryBench(coordinate=coordinate)

    return make


# --- repeats, mail and time --------------------------------------------------------------------------


def act_again_when_repeated(patch: Patch) -> Callable[[], CoordinationBench]:
    patch.setattr(changes, "_refuse_repeat", lambda *_: None)
    return MemoryBench


def read_mail_before_it_is_shown(patch: Patch) -> Callable[[], CoordinationBench]:
    wait = StoredMessages.waiting

    def waiting(self: StoredMessages, session: str) -> Sequence[WaitingMessage]:
        found = wait(self, session)
        with self._store.changing() as change:
            change.mark_read(session, [one.position for one in found])
        return found

    patch.setattr(StoredMessages, "waiting", waiting)
    return MemoryBench


def send_to_everybody(patch: Patch) -> Callable[[], CoordinationBench]:
    def find(change: Transaction, *_: object) -> dict[str, str]:
        return {one.session: one.agent for one in change.members()}

    patch.setattr(messages, "_find_recipients", find)
    return MemoryBench


def let_no_boot_end_a_session(patch: Patch) -> Callable[[], CoordinationBench]:
    del patch

    def make() -> CoordinationBench:
        return MemoryBench(
            lambda clock, is_running: MemoryStore(lambda: EngineTime(clock.seconds), is_running)
        )

    return make


def ask_no_process(patch: Patch) -> Callable[[], CoordinationBench]:
    del patch
    return partial(MemoryBench, lambda clock, _: MemoryStore(clock, lambda _: None))


def hand_orphans_out_at_once(patch: Patch) -> Callable[[], CoordinationBench]:
    del patch
    lifetimes = LIFETIMES._replace(orphaned=0.0)
    return lambda: MemoryBench(coordinate=lambda store: Coordinator(store, "hasty", lifetimes))


def keep_unused_paths_for_ever(patch: Patch) -> Callable[[], CoordinationBench]:
    del patch
    lifetimes = LIFETIMES._replace(unused=1e9)
    return lambda: MemoryBench(coordinate=lambda store: Coordinator(store, "greedy", lifetimes))


def count_time_in_which_nobody_was_heard(patch: Patch) -> Callable[[], CoordinationBench]:
    patch.setattr(Judge, "_spared", lambda *_: 0.0)
    return MemoryBench


def forget_a_silence_when_it_ends(patch: Patch) -> Callable[[], CoordinationBench]:
    patch.setattr(changes, "find_silence", lambda *_: None)
    return MemoryBench


def spare_all_silences(patch: Patch) -> Callable[[], CoordinationBench]:
    def spare(heard: HeardSigns, since: float, now: float, least: float) -> float:
        del now, least
        return sum(one.ended - one.began for one in heard.silences if one.began >= since)

    patch.setattr(changes, "longest_silence", spare)
    return MemoryBench


def spare_short_silences(patch: Patch) -> Callable[[], CoordinationBench]:
    patch.setattr(MemoryStore, "beat", _beat_hastily)
    return lambda: MemoryBench(
        coordinate=lambda store: Coordinator(store, "hasty", LIFETIMES._replace(quiet=60.0))
    )


_beat = MemoryStore.beat


def _beat_hastily(self: MemoryStore, sessions: Sequence[str], lifetimes: Lifetimes = LIFETIMES) -> None:
    _beat(self, sessions, lifetimes._replace(quiet=60.0))


# --- tasks and offers --------------------------------------------------------------------------------


def free_nobody_who_waits(patch: Patch) -> Callable[[], CoordinationBench]:
    patch.setattr(tasks, "_free_waiting", lambda *_: ())
    return MemoryBench


def see_no_circle(patch: Patch) -> Callable[[], CoordinationBench]:
    patch.setattr(tasks, "_find_circle", lambda *_: ())
    return MemoryBench


def free_what_is_offered(patch: Patch) -> Callable[[], CoordinationBench]:
    offer = offers.StoredOffers.offer

    def offer_and_free(self: offers.StoredOffers, op: str, new: NewOffer) -> object:
        outcome = offer(self, op, new)
        with self._store.changing() as change:
            for lease in change.leases_of(new.giver):
                if lease.offer:
                    change.put_lease(replace(lease, until=0.0))
        return outcome

    patch.setattr(offers.StoredOffers, "offer", offer_and_free)
    return MemoryBench


def give_a_declined_offer_to_the_board(patch: Patch) -> Callable[[], CoordinationBench]:
    def end(change: Transaction, offer: Offer, state: str) -> Offer:
        ending = [one for one in change.leases_of(offer.giver) if one.offer == offer.offer]
        changes.end_leases(change, ending)
        changes.free_tasks(change, ending)
        ended = replace(offer, state=state)
        change.put_offer(ended)
        return ended

    patch.setattr(offers, "_end", end)
    return MemoryBench


def keep_offers_that_are_over(patch: Patch) -> Callable[[], CoordinationBench]:
    for module in (offers, tasks, members, messages):
        patch.setattr(module, "settle_offers", lambda _: None)
    return MemoryBench


# --- what is deleted ---------------------------------------------------------------------------------


def delete_no_session(patch: Patch) -> Callable[[], CoordinationBench]:
    patch.setattr(MemoryTransaction, "drop_unused", lambda *_: None)
    return MemoryBench


def delete_sessions_too_early(patch: Patch) -> Callable[[], CoordinationBench]:
    patch.setattr(retention, "KEPT_ENDED", 28 * 86_400.0)
    return MemoryBench


def delete_whom_something_names(patch: Patch) -> Callable[[], CoordinationBench]:
    def drop(self: MemoryTransaction, before: float, most: int) -> None:
        del most
        known = self._rows.members
        for session in [one.session for one in known.values() if (one.ended or before) < before]:
            del known[session]

    patch.setattr(MemoryTransaction, "drop_unused", drop)
    return MemoryBench


def delete_open_offers(patch: Patch) -> Callable[[], CoordinationBench]:
    def drop(self: MemoryTransaction, before: float, most: int) -> None:
        del before, most
        self._rows.offers.clear()

    patch.setattr(MemoryTransaction, "drop_unused", drop)
    return MemoryBench


def forget_when_an_offer_was_settled(patch: Patch) -> Callable[[], CoordinationBench]:
    def settle(change: Transaction, offer: Offer, state: str) -> Offer:
        settled = replace(offer, state=state)
        change.put_offer(settled)
        return settled

    patch.setattr(offers, "_settle", settle)
    return MemoryBench


def begin_fences_again(patch: Patch) -> Callable[[], CoordinationBench]:
    def drop(self: MemoryTransaction, ended: float, logged: float) -> None:
        del ended
        log = self._rows.log
        self._rows.log = {key: one for key, one in log.items() if one.at >= logged}
        self.fence = self._rows.position = len(self._rows.log) + 1

    patch.setattr(MemoryTransaction, "drop_old", drop)
    return MemoryBench


def let_the_deleted_act(patch: Patch) -> Callable[[], CoordinationBench]:
    def require(change: Transaction, session: str) -> Member:
        return change.find_member(session) or Member(session=session, agent=session)

    for module in (leases, messages, tasks):
        patch.setattr(module, "require_member", require)
    return MemoryBench


def end_sessions_that_hold_work(patch: Patch) -> Callable[[], CoordinationBench]:
    def end(change: Transaction, judge: Judge) -> None:
        for one in change.members():
            if judge.is_forgotten(one):
                ending = change.leases_of(one.session)
                changes.end_leases(change, ending)
                changes.free_tasks(change, ending)
                change.put_member(replace(one, ended=change.time.seconds))

    patch.setattr(retention, "_end_silent", end)
    return MemoryBench


def end_nobody_who_died(patch: Patch) -> Callable[[], CoordinationBench]:
    patch.setattr(retention, "_end_silent", lambda *_: None)
    return MemoryBench


def end_everybody_after_an_outage(patch: Patch) -> Callable[[], CoordinationBench]:
    def is_forgotten(self: Judge, member: Member) -> bool:
        return self._reading.time.seconds - member.seen > KEPT_ENDED

    patch.setattr(Judge, "is_forgotten", is_forgotten)
    return MemoryBench


BUGS: Final[dict[Plant, str]] = {
    delete_no_session: "test_an_ended_session_is_kept_for_thirty_days",
    delete_sessions_too_early: "test_an_offer_is_kept_for_thirty_days_after_it_was_settled",
    delete_whom_something_names: "test_unread_mail_keeps_its_addressee_and_its_sender",
    delete_open_offers: "test_an_open_offer_keeps_itself_its_giver_and_what_is_offered",
    forget_when_an_offer_was_settled: "test_an_offer_is_kept_for_thirty_days_after_it_was_settled",
    begin_fences_again: "test_fences_go_on_after_their_sessions_were_deleted",
    let_the_deleted_act: "test_a_deleted_session_is_granted_nothing_before_it_joins",
    end_sessions_that_hold_work: "test_work_of_a_session_that_died_waits_for_somebody_however_long",
    end_nobody_who_died: "test_a_session_that_died_counts_as_ended_after_thirty_days",
    end_everybody_after_an_outage: "test_nobody_ends_because_nobody_could_be_heard_for_long",
    count_time_in_which_nobody_was_heard: "test_who_looks_before_anybody_is_heard_finds_all_alive",
    forget_a_silence_when_it_ends: (
        "test_nothing_is_taken_from_anybody_after_a_time_in_which_nobody_was_heard"
    ),
    spare_all_silences: "test_only_the_longest_silence_is_spared",
    spare_short_silences: "test_a_short_silence_is_none",
    ignore_the_fence_when_closing: "test_an_old_fence_closes_nothing_and_gives_nothing_back",
    release_without_a_fence: "test_the_fence_of_another_session_is_worth_nothing",
    keep_the_fence_of_what_moves: "test_an_heir_goes_on_with_all_of_the_dead_under_new_fences",
    do_not_see_overlap: "test_patterns_that_overlap_are_not_held_by_two",
    forget_what_was_taken: "test_an_edit_from_before_a_theft_is_lost",
    let_force_take_what_is_promised: "test_nobody_takes_what_a_living_giver_offers",
    look_before_the_lock_is_taken: "test_of_all_that_claim_a_task_one_has_it",
    keep_half_of_a_refused_change: "test_nothing_stays_of_what_was_granted_before_an_error",
    use_the_callers_clock: "test_nothing_is_taken_over_from_the_living",
    act_again_when_repeated: "test_a_repeated_change_acts_once_and_has_the_same_outcome",
    read_mail_before_it_is_shown: "test_waiting_changes_nothing",
    send_to_everybody: "test_all_are_the_live_sessions_of_the_team",
    let_no_boot_end_a_session: "test_another_boot_means_dead",
    ask_no_process: "test_a_process_that_runs_is_a_sign_of_life_when_the_time_is_over",
    hand_orphans_out_at_once: "test_an_orphan_is_passed_over_for_half_an_hour",
    keep_unused_paths_for_ever: ("test_a_path_ends_two_hours_after_its_last_use_whatever_its_session_does"),
    free_nobody_who_waits: "test_closing_frees_who_waited_in_the_same_change",
    see_no_circle: "test_a_circle_is_refused",
    free_what_is_offered: "test_the_end_of_the_giver_frees_nothing_that_is_offered",
    give_a_declined_offer_to_the_board: "test_what_nobody_accepted_stays_with_the_giver",
    keep_offers_that_are_over: "test_an_offer_is_over_when_its_time_is",
}
"""Each bug, and a test that is there for it."""
