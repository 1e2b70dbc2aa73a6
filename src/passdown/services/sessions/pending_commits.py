"""Commit automatically: for ended sessions at the next start, for running ones between turns (C117)."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final, NamedTuple

from passdown.core.formats.archives import parse_archive
from passdown.core.formats.events import parse_event
from passdown.core.times import age_words, render_millis
from passdown.errors import CacheError, FormatError, PassdownError, StorageError
from passdown.ports.repository import Committed, Skipped, SkipReason
from passdown.records import record
from passdown.services.log.commit_marks import (
    TO_COMMIT,
    TO_COMMIT_VIEW,
    describe_files,
    has_outdated_view,
    is_known_committed,
    remember_committed,
)
from passdown.services.log.commits import (
    CommitTrigger,
    NotDue,
    commit,
    find_merged_view,
    find_not_due,
    list_uncommitted,
)
from passdown.services.log.events import update_portion
from passdown.services.log.synthesis import synthesize
from passdown.services.log.views import view_place
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.liveness import is_live
from passdown.services.workspace.workspaces import Workspace

CommitOutcome = Committed | Skipped | NotDue | None
"""The outcome of a commit; None if there was nothing to commit."""
AT_START: Final = (CommitTrigger.START, CommitTrigger.OWED)
"""What a start may commit: files of ended sessions; those of running ones only if the settings allow it."""
AFTER_TURN: Final = (CommitTrigger.EVENT, CommitTrigger.CHECKPOINT, CommitTrigger.OWED)
"""What the end of a turn may commit."""
AT_CHECKPOINT: Final = (CommitTrigger.EVENT, CommitTrigger.CHECKPOINT)
"""What a checkpoint that the user saves may commit."""
AFTER_EVENT: Final = (CommitTrigger.EVENT,)
"""What may be committed after any other event."""
AMENDABLE: Final = timedelta(minutes=30)
"""How long the user may amend a commit before we commit on top of it."""

_PASSING: Final = frozenset(
    {SkipReason.UNFINISHED, SkipReason.LOCKED, SkipReason.DETACHED, SkipReason.AMENDABLE}
)
"""The obstacles that go away as the user works."""


@record
class UncommittedFiles:
    """Files of ours that wait for a commit."""

    paths: Annotated[tuple[str, ...], "The files."]
    reason: Annotated[str, "Why they wait."]
    waits: Annotated[str, "Until when they wait, in a few words."]
    hint: Annotated[str | None, "What the user can do about it; None if there is nothing to do."] = None
    until: Annotated[datetime | None, "When they will be committed; None if time does not change it."] = None


def commit_waiting(
    workspace: Workspace,
    triggers: Sequence[CommitTrigger],
    *,
    with_view: bool = True,
    note: Callable[[str], None] = lambda _: None,
) -> CommitOutcome:
    """Commit published files that are not committed yet, if one of the triggers allows it.

    The files are found by comparison with the last commit, so a commit that fails or is interrupted is made
    the next time.

    1. A setting may rule it out, or the last checkpoint commit may be too recent.
    2. Nothing is committed while the user is in the middle of something: see `GitHistory.find_obstacle`. This
       is checked before the view is written, so that no tracked file changes without its commit.
    3. An owed commit is only made if one of the files comes from an ended session, or if the view lacks
       committed events.
    4. While not all events are read, or if there is a problem with the cache or the view, events are
       committed without the view (C131), and a later call commits the view. `note` is called with the
       problem.

    Returns None if there is nothing to commit.
    """
    trigger = _choose(workspace, triggers)  # 1
    if isinstance(trigger, NotDue):
        return trigger
    if (obstacle := _find_obstacle(workspace, files_only=True)) is not None:  # 2
        return _postpone(workspace, obstacle)
    files = _find_waiting(workspace, note, with_view=with_view)
    if not (files.paths or files.has_outdated_view):
        return _settle(workspace, files.described, None)
    if trigger is CommitTrigger.OWED and not (
        files.has_outdated_view or _is_pending(workspace, files.paths)
    ):  # 3
        return None
    if (obstacle := _find_obstacle(workspace)) is not None:
        return _postpone(workspace, obstacle)
    described = files.described
    archive = None if CommitTrigger.START in triggers else False  # the end of a turn leaves it to a start
    done = _commit_with_view(workspace, trigger, note, archive=archive) if described else None
    if done is None:  # 4
        described, done = "", commit_events(workspace, trigger, files.paths)
    return _settle(workspace, described, done)


class _WaitingFiles(NamedTuple):
    """Files that may be committed."""

    paths: Sequence[str]
    described: str = ""
    """What identifies these files; empty to commit them without the view."""
    has_outdated_view: bool = False
    """Whether the view lacks committed events."""


def _find_waiting(workspace: Workspace, note: Callable[[str], None], *, with_view: bool) -> _WaitingFiles:
    """Find what the last commit lacks; without the view if not all events were read (4)."""
    unread = _read_new(workspace, note)
    if not with_view or unread != 0:
        return _WaitingFiles(list_uncommitted(workspace, is_indexed=unread is not None))
    paths = () if is_known_committed(workspace) else list_uncommitted(workspace)
    return _WaitingFiles(paths, describe_files(workspace), has_outdated_view(workspace))


def _read_new(workspace: Workspace, note: Callable[[str], None]) -> int | None:
    """Read new events; return how many files are unread, or None if another process uses the cache."""
    try:
        return update_portion(workspace.log, workspace.index)
    except CacheError as found:
        note(found.message)
        return None


def _commit_with_view(
    workspace: Workspace, trigger: CommitTrigger, note: Callable[[str], None], *, archive: bool | None
) -> CommitOutcome:
    """Make the view and commit it with the events; return None if the view cannot be made."""
    try:
        return synthesize(workspace, archive=archive, trigger=trigger, to_commit=True).committed
    except PassdownError as found:
        note(f"the view was not committed: {found.message}")
        return None


def commit_events(workspace: Workspace, trigger: CommitTrigger, paths: Sequence[str]) -> CommitOutcome:
    """Commit events and records without the view, and remember that it lacks them.

    Nothing is committed on top of a view that git merged: no commit of ours has such a view.
    """
    settings = workspace.settings
    if (merged := find_merged_view(workspace)) is not None:
        return merged
    done = commit(workspace.repository, workspace.documents, workspace.clock, settings, trigger, paths)
    if isinstance(done, Committed) and view_place(workspace.repository, settings).is_tracked:
        TO_COMMIT_VIEW.put(workspace)
    return done


def _postpone(workspace: Workspace, obstacle: Skipped) -> Skipped:
    """Retry at the end of the next turn if the obstacle may be gone by then, else at the next event."""
    if obstacle.why in _PASSING:
        TO_COMMIT.put(workspace)
    else:
        TO_COMMIT.remove(workspace)
    return obstacle


def _settle(workspace: Workspace, described: str, done: CommitOutcome) -> CommitOutcome:
    """Remember that the described files are committed, if they are.

    If nothing was described, events may be unread or the view may be missing, so the next turn looks again.
    """
    if isinstance(done, Skipped) and done.why is not SkipReason.NOTHING:
        return _postpone(workspace, done)
    if not described:
        TO_COMMIT.put(workspace)
    elif not isinstance(done, NotDue):
        TO_COMMIT.remove(workspace)
        remember_committed(workspace, described)
        if done is not None:
            TO_COMMIT_VIEW.remove(workspace)
    return done


def _choose(workspace: Workspace, triggers: Sequence[CommitTrigger]) -> CommitTrigger | NotDue:
    """Return the first trigger that the settings allow, or why none is; one may be due later."""
    found: NotDue | None = None
    for trigger in triggers:
        found = find_not_due(workspace.documents, workspace.clock, workspace.settings, trigger)
        if found is None:
            return trigger
        if found.until is not None:
            break
    return found or NotDue(reason="there is no trigger")


def _find_obstacle(workspace: Workspace, *, files_only: bool = False) -> Skipped | None:
    return workspace.history.find_obstacle(workspace.now(), AMENDABLE, files_only=files_only)


def _is_pending(workspace: Workspace, paths: Sequence[str]) -> bool:
    """Return whether one of the files belongs to a session that has ended."""
    sessions = filter(None, (_read_session(workspace, path) for path in paths))
    accounts = (read_account(workspace, session) for session in sessions)
    return any(one.started_at is not None and not is_live(workspace, one) for one in accounts)


def _read_session(workspace: Workspace, path: str) -> str:
    """Return the session that an event or a record names; empty for any other file."""
    paths = workspace.settings.paths
    try:
        text = workspace.documents.read(path).decode("utf-8", "replace")
        if path.startswith(f"{paths.events}/"):
            return parse_event(text).session or ""
        return parse_archive(text).session_id or "" if path.startswith(f"{paths.archive}/") else ""
    except (StorageError, FormatError):  # it was removed, or is not ours
        return ""


def find_trouble(outcome: CommitOutcome) -> str:
    """Return why a commit failed, if the user has to do something about it; else an empty string."""
    if isinstance(outcome, Skipped) and outcome.why in {SkipReason.NO_IDENTITY, SkipReason.REFUSED}:
        return f"{outcome.reason}; {outcome.hint}"
    return ""


def find_uncommitted(workspace: Workspace) -> UncommittedFiles | None:
    """Return what waits to be committed and why; None if nothing waits or nothing may be committed."""
    trigger = _choose(workspace, AFTER_TURN)
    is_wanted = not isinstance(trigger, NotDue) or trigger.until is not None
    if not is_wanted or not workspace.repository.is_there():
        return None
    left = list_uncommitted(workspace)
    paths = tuple(workspace.history.committable(left)) if left else ()
    if not paths:
        return None
    obstacle = _find_obstacle(workspace)
    if obstacle is None:
        return _describe_when(workspace, paths, trigger)
    waits = f"waits until you push, or {_show_clock(obstacle.until)}" if obstacle.until else obstacle.reason
    return UncommittedFiles(
        paths=paths,
        reason=obstacle.reason,
        waits=waits,
        hint=None if obstacle.until else obstacle.hint or None,
        until=obstacle.until,
    )


def _describe_when(
    workspace: Workspace, paths: tuple[str, ...], trigger: CommitTrigger | NotDue
) -> UncommittedFiles:
    """Describe when files without an obstacle are committed."""
    owed = _choose(workspace, (CommitTrigger.OWED,))
    if owed is CommitTrigger.OWED and _is_pending(workspace, paths):
        reason = "the next session start commits them"
        return UncommittedFiles(paths=paths, reason=reason, waits="waits until a session starts")
    if isinstance(trigger, NotDue):
        minutes = workspace.settings.commit.checkpoint_minutes
        until = trigger.until or workspace.now()
        age = age_words(max(workspace.now() - until + timedelta(minutes=minutes), timedelta(0)))
        reason = f"the last checkpoint commit was {age} ago, and they are at least {minutes} minutes apart"
        waits = f"waits until the session ends, or {_show_clock(until)}"
        return UncommittedFiles(paths=paths, reason=reason, waits=waits, until=trigger.until)
    if trigger is CommitTrigger.OWED:
        reason = "they are committed when their session ends"
        return UncommittedFiles(paths=paths, reason=reason, waits="waits until the session ends")
    reason = "they are committed at the end of the turn or session"
    return UncommittedFiles(paths=paths, reason=reason, waits="waits until the turn or the session ends")


def _show_clock(at: datetime) -> str:
    return f"{render_millis(at)[11:16]}Z"
