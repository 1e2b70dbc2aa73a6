"""What coordination deletes when a session joins: what ended so long ago that nobody asks for it."""

from passdown.core.coordination.leases import KEPT, PATH
from passdown.core.coordination.members import KEPT_ENDED, MOST_DELETED
from passdown.core.coordination.operations import REMEMBERED
from passdown.engines.coordination.changes import Judge, end_leases
from passdown.engines.coordination.transactions import Transaction
from passdown.records import replace


def delete_old(change: Transaction, judge: Judge) -> None:
    """Delete what is no longer needed; fences and positions go on from where they are.

    1. Leases that ended are kept for a day, and the outcomes of operations for two.
    2. A session that died and holds no work counts as ended when it has been silent for as long as ended
       sessions are kept.
    3. Settled offers, and ended sessions that nothing names, are kept for 30 days.
    """
    now = change.time.seconds
    change.drop_old(now - KEPT, now - REMEMBERED)  # 1
    _end_silent(change, judge)  # 2
    change.drop_unused(now - KEPT_ENDED, MOST_DELETED)  # 3


def _end_silent(change: Transaction, judge: Judge) -> None:
    """End the sessions that nobody has heard for long; a claim, a track or an offer keeps its session."""
    now = change.time.seconds
    silent = [one for one in change.members() if judge.is_forgotten(one)]
    for member in silent[:MOST_DELETED]:
        leases = change.leases_of(member.session)
        if all(one.kind == PATH and not one.offer for one in leases):
            end_leases(change, leases)
            change.put_member(replace(member, ended=now))
