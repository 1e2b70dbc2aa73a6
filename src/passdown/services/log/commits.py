"""Commit our own files if the settings allow it, and find those that are not committed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final, cast

from passdown import layout
from passdown.core.formats.events import Event, parse_event
from passdown.core.formats.view_footer import ViewOwner, find_view_owner
from passdown.core.json_text import dump
from passdown.core.sessions.commit_subjects import describe_events
from passdown.core.times import parse_instant, render_millis
from passdown.errors import FormatError, StorageError
from passdown.ports.clock import Clock
from passdown.ports.documents import Documents
from passdown.ports.repository import Committed, Repository, Skipped, SkipReason
from passdown.records import record
from passdown.services.log.views import REGENERATE, has_merged_view, view_place
from passdown.services.workspace.local_files import Mark, ignore_folder, read_if_there, read_small
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import FILE_NAME, CommitSettings, Paths, Settings

ARCHIVING: Final = Mark(layout.ARCHIVING, b"Events are being archived; the next run commits what is left.\n")

LAST_CHECKPOINT: Final = layout.LAST_CHECKPOINT
"""The local file with the time of the last checkpoint commit."""

_MOST_READ: Final = 50
"""How many events are read to say in the subject of their commit what they state."""
_SETTLED: Final = 2.0
"""The time stamps of folders can be this coarse: a folder that has just changed may change unnoticed."""
_BILLION: Final = 1_000_000_000


class CommitTrigger(StrEnum):
    """What may trigger a commit."""

    SESSION_END = "session_end"
    HANDOFF = "handoff"
    CHECKPOINT = "checkpoint"
    START = "start"
    EVENT = "event"
    OWED = "owed"
    """A session has ended, but its commit was not made then."""
    ASKED = "asked"


@record
class NotDue:
    """No commit was attempted: the settings rule it out, or it is too early."""

    reason: Annotated[str, "The setting that decided this."]
    until: Annotated[datetime | None, "When a commit is due again; None if time does not change it."] = None


def commit(
    repository: Repository,
    documents: Documents,
    clock: Clock,
    settings: Settings,
    trigger: CommitTrigger,
    paths: Sequence[str],
) -> Committed | Skipped | NotDue:
    """Commit these files of ours if the trigger allows it; never push or include other files.

    The view is only included if it is in its tracked place (C43).
    """
    view = settings.paths.view
    is_view_left = view in paths and not view_place(repository, settings).is_tracked
    own = [path for path in paths if not (is_view_left and path == view)]
    return commit_chosen(repository, documents, clock, settings, trigger, own)


def commit_chosen(
    repository: Repository,
    documents: Documents,
    clock: Clock,
    settings: Settings,
    trigger: CommitTrigger,
    own: Sequence[str],
) -> Committed | Skipped | NotDue:
    """Commit as `commit` does, with the view if it is among the files, wherever it is tracked."""
    if (not_due := find_not_due(documents, clock, settings, trigger)) is not None:
        return not_due
    stated = describe_events(_read_events(documents, settings.paths, own))
    outcome = repository.commit(own, message_for(settings.paths, own, stated))
    if trigger is CommitTrigger.CHECKPOINT and isinstance(outcome, Committed):
        # If the time cannot be stored, the next commit merely comes too early.
        with suppress(StorageError):
            documents.replace(_stamp_path(settings), f"{render_millis(clock.now())}\n".encode())
    return outcome


def find_merged_view(workspace: Workspace) -> Skipped | None:
    """Return why nothing can be committed without the view: git merged it, here or in the last commit."""
    path = workspace.settings.paths.view
    committed = next(iter(workspace.history.texts_of(path)), None)
    if not has_merged_view(workspace) and find_view_owner(committed) is not ViewOwner.MERGED:
        return None
    reason, hint = f"{path} was merged by git and not regenerated", f"run `{REGENERATE}`"
    return Skipped(why=SkipReason.UNFINISHED, reason=reason, hint=hint)


def find_not_due(
    documents: Documents, clock: Clock, settings: Settings, trigger: CommitTrigger
) -> NotDue | None:
    """Return why no commit should be made now, or None if one should.

    1. A commit that the user asks for is always made.
    2. Automatic commits need the user's consent, which is the existence of the settings file (C42).
    3. Every other trigger has a setting in ``[commit]``.
    4. At most one checkpoint commit is made per `checkpoint_minutes`, across all processes; two that start at
       the same moment may both commit.
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

    A stored time further ahead than the interval comes from a wrong clock, and is ignored.
    """
    wait = timedelta(minutes=settings.commit.checkpoint_minutes)
    last = parse_instant(read_small(documents, _stamp_path(settings)))
    if last is None or now - last >= wait or last - now > wait:
        return None
    return last + wait


def _stamp_path(settings: Settings) -> str:
    return f"{settings.paths.runtime}/{LAST_CHECKPOINT}"


def message_for(paths: Paths, committed: Sequence[str], stated: str = "") -> str:
    """Return the commit message: how many files of each kind are included, and what the events state.

    Our own commits are recognized by the beginning of the message, so the counts come first.
    """
    counts = count_files(paths, committed)
    return f"passdown: {counts} ({stated})" if stated else f"passdown: {counts}"


def _read_events(documents: Documents, paths: Paths, committed: Sequence[str]) -> Sequence[Event]:
    """Read the newest events among the files, the newest last; leave out what cannot be read."""
    names = [path for path in committed if path.startswith(f"{paths.events}/") and path.endswith(".md")]
    newest = sorted(names, key=lambda path: path.rpartition("/")[2])[-_MOST_READ:]
    return [event for path in newest if (event := _read_event(documents, path))]


def _read_event(documents: Documents, path: str) -> Event | None:
    with suppress(StorageError, FormatError):  # it is gone, or is no event: the commit only says less
        return parse_event(documents.read(path).decode("utf-8", "replace"))
    return None


def count_files(paths: Paths, committed: Sequence[str]) -> str:
    """Describe how many files of each kind there are."""
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


# --- our files that are not committed -----------------------------------------------------------------
#
# A command lists our folders and compares them with the last commit. A folder that held nothing new is not
# listed again, and git is not asked about its files, until it changes on disk or in the last commit. A hook
# has no time for more (C131): the index knows which files of the log it has read and not yet found in a
# commit, and git is asked only about these. Files of this clone are always among them: an event enters the
# index as it is written.


def list_uncommitted(workspace: Workspace, *, is_indexed: bool = True) -> Sequence[str]:
    """Return the events, rollups, archived files and records that were added since the last commit.

    A file that is gone is never among them: only an archive run commits that (C127), or the user. A hook
    checks all files only if the index could not be updated.
    """
    ours = workspace.settings.paths
    if workspace.is_hook and is_indexed:
        return sorted({*_list_events(workspace), *_list_added(workspace, (ours.archive,))})
    return _list_added(workspace, (ours.events, ours.event_archive, ours.archive))


def _list_events(workspace: Workspace) -> Sequence[str]:
    """Return the indexed events that the last commit lacks."""
    events, index = workspace.settings.paths.events, workspace.index
    paths = {f"{events}/{path}": path for path in index.uncommitted()}
    if not paths:
        return ()
    committed = workspace.tracking.committed_among([*paths])
    index.note_committed([path for full, path in paths.items() if full in committed])
    return sorted(paths.keys() - committed)


def _list_added(workspace: Workspace, tops: Sequence[str]) -> Sequence[str]:
    """Return the files below some folders that the last commit lacks."""
    tops = [one for one in tops if workspace.documents.is_folder(one)]
    if not tops:
        return ()
    head = workspace.repository.last_commit()
    entries = workspace.tracking.entries(tops)
    states = {path: state for top in tops for path, state in _find_states(workspace, top, entries)}
    known = _read_known(workspace)
    same = {path for path, state in states.items() if state and known.get(path) == state}
    there = [path for top in tops for path in workspace.documents.list(top, apart_from=same)]
    unclear = [path for path in there if path not in entries]
    added = {*unclear} - workspace.tracking.committed_among(unclear) if unclear else set[str]()
    if head and workspace.repository.last_commit() == head:
        kept = {path: state for path, state in known.items() if path.rpartition("/")[0] not in tops}
        changed = [path for path, state in states.items() if state and path not in same]
        found = same.union(_choose_complete(workspace, changed, added))
        _remember(workspace, known, {**kept, **{path: states[path] for path in sorted(found)}})
    return sorted(added)


def _find_states(workspace: Workspace, top: str, entries: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the folders in one of ours, each with a text that changes with it, on disk or in the last commit.

    The text is empty if the last commit lacks the folder, or if its next change may go unnoticed.
    """
    settled = int((workspace.clock.now().timestamp() - _SETTLED) * _BILLION)
    for name, mark in workspace.documents.folders(top).items():
        path = f"{top}/{name}"
        tree = entries.get(f"{path}/", "")
        yield path, f"{mark} {tree}" if tree and mark < settled else ""


def _choose_complete(workspace: Workspace, folders: Sequence[str], added: set[str]) -> Iterator[str]:
    """Yield the folders without added files; a change in a folder further below would go unnoticed."""
    lacking = {path.rpartition("/")[0] for path in added}
    for folder in folders:
        if folder not in lacking and not workspace.documents.folders(folder):
            yield folder


def _read_known(workspace: Workspace) -> Mapping[str, str]:
    """Return the folders that held nothing new, with their texts from that time; it may be lost."""
    try:
        known: object = json.loads(read_if_there(workspace.documents, _place(workspace)) or b"{}")
    except (StorageError, ValueError):
        return {}
    found = cast("dict[str, object]", known) if isinstance(known, dict) else {}
    return {path: f"{state}" for path, state in found.items()}


def _remember(workspace: Workspace, known: Mapping[str, str], found: Mapping[str, str]) -> None:
    if found == known:
        return
    # If it cannot be stored, the folders are listed again.
    with suppress(StorageError):
        ignore_folder(workspace.documents, workspace.settings.paths.runtime)
        workspace.documents.replace(_place(workspace), dump(found).encode(), local=True, durable=False)


def _place(workspace: Workspace) -> str:
    return f"{workspace.settings.paths.runtime}/{layout.COMMITTED_FOLDERS}"
