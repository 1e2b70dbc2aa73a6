"""Commit our own files if the settings say so."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from passdown import layout
from passdown.core.times import parse_instant, render_millis
from passdown.errors import StorageError
from passdown.ports.clock import Clock
from passdown.ports.documents import Documents
from passdown.ports.repository import Committed, Repository, Skipped
from passdown.records import record
from passdown.services.log.views import view_place
from passdown.services.workspace.local_files import read_small
from passdown.settings import FILE_NAME, CommitSettings, Paths, Settings

LAST_CHECKPOINT: Final = layout.LAST_CHECKPOINT
"""The local file with the time of the last checkpoint commit."""


class CommitTrigger(StrEnum):
    """What may trigger a commit."""

    SESSION_END = "session_end"
    HANDOFF = "handoff"
    CHECKPOINT = "checkpoint"
    START = "start"
    EVENT = "event"
    OWED = "owed"
    """A session has ended, and its commit was not made then."""
    ASKED = "asked"


@record
class NotDue:
    """No commit was attempted: the settings say no, or not yet."""

    reason: Annotated[str, "Which setting says so."]
    until: Annotated[datetime | None, "When a commit is due again; None if time does not change it."] = None


def commit(
    repository: Repository,
    documents: Documents,
    clock: Clock,
    settings: Settings,
    trigger: CommitTrigger,
    paths: Sequence[str],
) -> Committed | Skipped | NotDue:
    """Commit these files of ours if the trigger calls for it; never pushes or includes other files.

    The view is only included if it is in its tracked place (C43).
    """
    if (not_due := find_not_due(documents, clock, settings, trigger)) is not None:
        return not_due
    view = settings.paths.view
    is_view_left = view in paths and not view_place(repository, settings).is_tracked
    own = [path for path in paths if not (is_view_left and path == view)]
    outcome = repository.commit(own, message_for(settings.paths, own))
    if trigger is CommitTrigger.CHECKPOINT and isinstance(outcome, Committed):
        # The commit is done; if its time cannot be stored, the next one merely comes too early.
        with suppress(StorageError):
            documents.replace(_stamp_path(settings), f"{render_millis(clock.now())}\n".encode())
    return outcome


def find_not_due(
    documents: Documents, clock: Clock, settings: Settings, trigger: CommitTrigger
) -> NotDue | None:
    """Return why no commit should be made now, or None if one should.

    1. A commit that the user asks for is always made.
    2. Automatic commits need the user's consent, which is the settings file (C42).
    3. Every other trigger is a setting in ``[commit]``.
    4. At most one checkpoint commit is made per `checkpoint_minutes`, counted across processes; two that
       start at the same moment may both commit.
    """
    if trigger is CommitTrigger.ASKED:  # 1
        return None
    if not documents.exists(FILE_NAME):  # 2
        return NotDue(reason=f"there is no {FILE_NAME}; run `passdown init`")
    if not _is_wanted(settings.commit, trigger):  # 3
        name = CommitTrigger.SESSION_END if trigger is CommitTrigger.OWED else trigger
        return NotDue(reason=f"[commit] {name.value} is false")
    until = _wait_until(documents, clock.now(), settings) if trigger is CommitTrigger.CHECKPOINT else None
    if until is not None:  # 4
        reason = f"[commit] checkpoint_minutes is {settings.commit.checkpoint_minutes}"
        return NotDue(reason=reason, until=until)
    return None


def _is_wanted(settings: CommitSettings, trigger: CommitTrigger) -> bool:
    table = {
        CommitTrigger.SESSION_END: settings.session_end,
        CommitTrigger.OWED: settings.session_end,
        CommitTrigger.HANDOFF: settings.handoff,
        CommitTrigger.CHECKPOINT: settings.checkpoint,
        CommitTrigger.START: settings.start,
        CommitTrigger.EVENT: settings.event,
    }
    return table[trigger]


def _wait_until(documents: Documents, now: datetime, settings: Settings) -> datetime | None:
    """Return when the next checkpoint commit is due, or None if it is due now.

    A time further ahead than the interval comes from a wrong clock, and does not count.
    """
    wait = timedelta(minutes=settings.commit.checkpoint_minutes)
    last = parse_instant(read_small(documents, _stamp_path(settings)))
    if last is None or now - last >= wait or last - now > wait:
        return None
    return last + wait


def _stamp_path(settings: Settings) -> str:
    return f"{settings.paths.runtime}/{LAST_CHECKPOINT}"


def message_for(paths: Paths, committed: Sequence[str]) -> str:
    """Return the commit message: how many files of each kind are included."""
    return f"passdown: {count_files(paths, committed)}"


def count_files(paths: Paths, committed: Sequence[str]) -> str:
    """Return in words how many files of each kind there are."""
    archived = sum(path.startswith(f"{paths.event_archive}/") for path in committed)
    events = sum(path.startswith(f"{paths.events}/") for path in committed)
    views = committed.count(paths.view)
    parts = (
        _count(events, "event"),
        _count(archived, "archive file"),
        "view" if views else "",
        _count(len(committed) - archived - events - views, "document"),
    )
    return ", ".join(part for part in parts if part) or "no files"


def _count(number: int, noun: str) -> str:
    if number == 0:
        return ""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
