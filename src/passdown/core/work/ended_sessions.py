"""Decide whether the journal of an ended session may be archived (C129)."""

from collections.abc import Sequence

from passdown.core.formats.journal import JournalLine
from passdown.core.sessions.session_facts import Account, is_final_end
from passdown.core.sessions.unpublished import own_lines
from passdown.core.work.operations import read_operations


def needs_nothing(account: Account, lines: Sequence[JournalLine], covered: int) -> bool:
    """Return whether nothing is left to do for a session of which events cover the lines up to one.

    1. Its last line is its end, after which everything is published.
    2. It holds nothing, and none of its operations and of its subagents' results is open.
    3. Events cover each of its own lines that may be published; what it carried on belongs to others (C163).
    """
    if not (lines and account.is_published and is_final_end(lines[-1].fact)):  # 1
        return False
    held = (account.claims, account.reservations, account.unreleased, account.unfinished, account.results)
    if any(held) or any(one.is_open for one in read_operations(account.session, lines)):  # 2
        return False
    return all(line.seq <= covered for line in own_lines(account.session, lines))  # 3
