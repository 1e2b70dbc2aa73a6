"""Commit our own files when the settings say so, and say where the view lies."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from passdown.core.times import parse_instant, render_millis
from passdown.errors import StorageError
from passdown.ports.clock import Clock
from passdown.ports.documents import Documents
from passdown.ports.repository import Committed, Repository, Skipped
from passdown.records import record
from passdown.services.view_homes import view_place
from passdown.settings import FILE_NAME, CommitSettings, Paths, Settings

LAST_CHECKPOINT: Final = "last-checkpoint-commit.txt"
"""The local file that holds the instant of the last commit for a checkpoint."""

_MOST_BYTES: Final = 64


class Trigger(StrEnum):
    """After what a commit may be due."""

    SESSION_END = "session_end"
    HANDOFF = "handoff"
    CHECKPOINT = "checkpoint"
    START = "start"
    EVENT = "event"
    ASKED = "asked"


@record
class NotDue:
    """No commit was tried: the settings say no, or not yet."""

    reason: Annotated[str, "Which setting says so."]
    until: Annotated[datetime | None, "When a commit is due again; None if time does not change it."] = None


def commit(
    repository: Repository,
    documents: Documents,
    clock: Clock,
    settings: Settings,
    trigger: Trigger,
    paths: Sequence[str],
) -> Committed | Skipped | NotDue:
    """Commit these files of ours if the trigger calls for it; never pushes, never takes anything else along.

    The tracked view takes part only where it is kept in its tracked place (C43).
    """
    if (not_due := find_not_due(documents, clock, settings, trigger)) is not None:
        return not_due
    view = settings.paths.view
    is_view_left = view in paths and not view_place(repository, settings).is_tracked
    own = [path for path in paths if not (is_view_left and path == view)]
    outcome = repository.commit(own, message_for(settings.paths, own))
    if trigger is Trigger.CHECKPOINT and isinstance(outcome, Committed):
        # The commit stands; if its time cannot be kept, the next one comes too early, and no harm is done.
        with suppress(StorageError):
            documents.replace(_stamp_path(settings), f"{render_millis(clock.now())}\n".encode())
    return outcome


def find_not_due(documents: Documents, clock: Clock, settings: Settings, trigger: Trigger) -> NotDue | None:
    """Say why no commit is to be made now; None when one is.

    1. Whoever asks for a commit gets it.
    2. By itself nothing is committed where nobody agreed to it: agreement is the file of settings (C42).
    3. Every other trigger is a setting of ``[commit]``.
    4. For checkpoints at most one commit is made in `checkpoint_minutes`, counted across processes; two that
       start in the same moment may both commit.
    """
    if trigger is Trigger.ASKED:  # 1
        return None
    if not documents.exists(FILE_NAME):  # 2
        return NotDue(reason=f"there is no {FILE_NAME}; `passdown init` makes it")
    if not _is_wanted(settings.commit, trigger):  # 3
        return NotDue(reason=f"[commit] {trigger.value} is false")
    until = _wait_until(documents, clock.now(), settings) if trigger is Trigger.CHECKPOINT else None
    if until is not None:  # 4
        reason = f"[commit] checkpoint_minutes is {settings.commit.checkpoint_minutes}"
        return NotDue(reason=reason, until=until)
    return None


def _is_wanted(settings: CommitSettings, trigger: Trigger) -> bool:
    table = {
        Trigger.SESSION_END: settings.session_end,
        Trigger.HANDOFF: settings.handoff,
        Trigger.CHECKPOINT: settings.checkpoint,
        Trigger.START: settings.start,
        Trigger.EVENT: settings.event,
    }
    return table[trigger]


def _wait_until(documents: Documents, now: datetime, settings: Settings) -> datetime | None:
    """Say when the next commit for a checkpoint is due, or None if it is due now.

    An instant further ahead than the time to wait comes from a clock that was wrong: it does not count.
    """
    wait = timedelta(minutes=settings.commit.checkpoint_minutes)
    last = _read_last(documents, _stamp_path(settings))
    if last is None or now - last >= wait or last - now > wait:
        return None
    return last + wait


def _read_last(documents: Documents, path: str) -> datetime | None:
    """Read the instant of the last commit for a checkpoint; None if there is none that can be read."""
    try:
        data = documents.read(path) if documents.size(path) <= _MOST_BYTES else b""
    except StorageError:
        return None
    return parse_instant(data.decode("ascii", "replace").strip())


def _stamp_path(settings: Settings) -> str:
    return f"{settings.paths.runtime}/{LAST_CHECKPOINT}"


def message_for(paths: Paths, committed: Sequence[str]) -> str:
    """Return the message of a commit: for how many files of which kind it is made."""
    archived = sum(path.startswith(f"{paths.event_archive}/") for path in committed)
    events = sum(path.startswith(f"{paths.events}/") for path in committed)
    views = committed.count(paths.view)
    parts = (
        _count(events, "event"),
        _count(archived, "archive file"),
        "view" if views else "",
        _count(len(committed) - archived - events - views, "document"),
    )
    return "passdown: " + (", ".join(part for part in parts if part) or "no files")


def _count(number: int, noun: str) -> str:
    if number == 0:
        return ""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
