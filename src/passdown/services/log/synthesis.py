"""Synthesize: make the view from the events of a checkout; optionally archive and commit (S2)."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from passdown.core.formats.view_footer import ViewOwner, find_view_owner
from passdown.core.formats.view_location import ViewLocation
from passdown.core.git_hash import git_blob_id
from passdown.core.kinds import FactKind
from passdown.core.merge.ranks import limit_of
from passdown.errors import PassdownError
from passdown.ports.index import EventLocation, Index
from passdown.ports.repository import Committed, Skipped, SkipReason
from passdown.records import record, replace
from passdown.services.log.commits import (
    CommitTrigger,
    NotDue,
    commit_chosen,
    find_not_due,
    list_uncommitted,
)
from passdown.services.log.events import update_index
from passdown.services.log.indexing import Step
from passdown.services.log.local_view import mark_updated
from passdown.services.log.rollups import AT_ONCE, ArchivedEvents, archive_events
from passdown.services.log.views import (
    ViewState,
    WrittenView,
    has_merged_view,
    judge_view,
    local_view_path,
    make_text,
    read_view,
    view_place,
    write_view,
)
from passdown.services.workspace.workspaces import Workspace

_FIRST: Final = 20
_ARCHIVING: Final = frozenset(
    {CommitTrigger.SESSION_END, CommitTrigger.OWED, CommitTrigger.START, CommitTrigger.ASKED}
)
"""The commits that archive: at the end of a session, at the start that completes it, and if asked for."""


@record
class SynthesisPreview:
    """What a synthesis would do."""

    place: ViewLocation
    state: ViewState
    event_count: int
    skipped: int
    skipped_files: tuple[str, ...]
    newest: tuple[EventLocation, ...]
    text: str


@record
class SynthesisResult:
    """The result of a synthesis."""

    place: ViewLocation
    written: WrittenView
    event_count: int
    skipped: int
    skipped_files: tuple[str, ...]
    malformed: int
    ahead: tuple[EventLocation, ...]
    archived: ArchivedEvents | None
    not_archived: str
    """Why nothing was archived although that was asked for; empty otherwise."""
    committed: Committed | Skipped | NotDue | None


def is_legacy(workspace: Workspace) -> bool:
    """Return whether there is a `current.md` but no event folder; then nothing is synthesized."""
    paths = workspace.settings.paths
    return workspace.documents.exists(paths.view) and not workspace.documents.is_folder(paths.events)


def preview_view(workspace: Workspace, step: Step | None = None) -> SynthesisPreview:
    """Update the index and return what a synthesis would write."""
    update_index(workspace.log, workspace.index, step)
    place = view_place(workspace.repository, workspace.settings)
    state = judge_view(workspace.documents, place.path, workspace.index)
    digest = workspace.index.digest(1)
    newest = tuple(workspace.index.places(limit=_FIRST))
    return SynthesisPreview(
        place=place,
        state=state,
        event_count=digest.event_count,
        skipped=digest.skipped,
        skipped_files=list_skipped(workspace),
        newest=newest,
        text=make_text(workspace.index),
    )


def check_view(workspace: Workspace) -> tuple[ViewLocation, ViewState]:
    """Compare the view with the events; only the cache is written."""
    update_index(workspace.log, workspace.index)
    place = view_place(workspace.repository, workspace.settings)
    return place, judge_view(workspace.documents, place.path, workspace.index)


def synthesize(
    workspace: Workspace,
    *,
    archive: bool | None = None,
    trigger: CommitTrigger | None = CommitTrigger.ASKED,
    to_commit: bool = False,
    also: Sequence[str] = (),
    step: Step | None = None,
) -> SynthesisResult:
    """Make the view and write it; then archive and commit, if that is asked for or due.

    1. If the user asks for it, the view is written to its place. Otherwise the local view is written if no
       commit is due, because a tracked file with uncommitted changes would block the user's next `git
       checkout`; or if somebody else's document is in its place.
    2. Beside a tracked view, the local one is kept current, which sessions in this checkout read.
    3. `archive` decides whether to archive. None archives after a commit at the end of a session, or that the
       user asked for, if this clone is the only writer (C127); where git does not track events, always. Both
       only if the settings allow it.
    4. A tracked view that git merged is regenerated with every commit, also on a branch whose view is local.

    A commit includes the paths in `also`: our files that events do not mention.
    """
    settings = workspace.settings
    update_index(workspace.log, workspace.index, step)
    place = view_place(workspace.repository, settings)
    committed: Committed | Skipped | NotDue | None = None
    if to_commit and trigger is not None:
        committed = find_not_due(workspace.documents, workspace.clock, settings, trigger)
        to_commit = committed is None
    if trigger is not CommitTrigger.ASKED and _is_to_be_left(workspace, place, to_commit=to_commit):  # 1
        place = replace(place, path=local_view_path(settings), is_tracked=False)
    # Only one synthesis at a time per checkout: a slow one could overwrite a newer view.
    with workspace.index.changing():
        text = make_text(workspace.index)
        written = write_view(workspace.documents, place.path, text, settings.paths.runtime)
        _update_local(workspace, place, text, is_asked=trigger is CommitTrigger.ASKED)  # 2
        repaired = _repair_elsewhere(workspace, place, text) if to_commit else ()  # 4
    if written.kept:
        from passdown.services.log.migrations import find_offered  # few views are broken

        broken = workspace.documents.read(written.kept)
        written = written._replace(offered=find_offered(workspace, place.path, broken, text))
    if to_commit and trigger is not None:
        committed = _commit(workspace, place, trigger, (*also, *repaired))
    archived, not_archived = _archive(workspace, trigger, committed, is_wanted=archive)  # 3
    digest = workspace.index.digest(1)
    return SynthesisResult(
        place=place,
        written=written,
        event_count=digest.event_count,
        skipped=digest.skipped,
        skipped_files=list_skipped(workspace),
        malformed=digest.kinds[FactKind.MALFORMED].total,
        ahead=find_ahead(workspace.index, workspace.clock.now()),
        archived=archived,
        not_archived=not_archived,
        committed=committed,
    )


def list_skipped(workspace: Workspace) -> tuple[str, ...]:
    """Return the paths of event files that could not be merged, wholly or in part."""
    folder = workspace.settings.paths.events
    return tuple(f"{folder}/{path}" for path in workspace.index.skipped_files())


def _update_local(workspace: Workspace, place: ViewLocation, text: str, *, is_asked: bool) -> None:
    """Also write the local view, if another one was written; a synthesis by the user does not create it."""
    path = local_view_path(workspace.settings)
    if place.is_tracked and workspace.repository.is_there():
        if is_asked and not workspace.documents.exists(path):
            return
        # The next start reports the problem; the tracked view does not depend on it.
        with suppress(PassdownError):
            write_view(workspace.documents, path, text, workspace.settings.paths.runtime)
    mark_updated(workspace)


def _repair_elsewhere(workspace: Workspace, place: ViewLocation, text: str) -> tuple[str, ...]:
    """Regenerate a tracked view that git merged on a branch that does not use it; return its path."""
    view = workspace.settings.paths.view
    if place.path == view or not has_merged_view(workspace):
        return ()
    if view not in workspace.repository.listing(view.rpartition("/")[0]):
        return ()
    write_view(workspace.documents, view, text, workspace.settings.paths.runtime)
    return (view,)


def repair_view(workspace: Workspace) -> SynthesisResult | None:
    """Regenerate and commit a tracked view that git merged, if a start may commit (C116).

    Returns None if there is nothing to repair, or no commit may be made; the next end or handoff repairs it.
    """
    trigger = CommitTrigger.START
    if find_not_due(workspace.documents, workspace.clock, workspace.settings, trigger) is not None:
        return None
    place = view_place(workspace.repository, workspace.settings)
    if not (place.is_tracked and has_merged_view(workspace)):
        return None
    return synthesize(workspace, archive=False, trigger=trigger, to_commit=True)


def find_ahead(index: Index, now: datetime) -> tuple[EventLocation, ...]:
    """Return the events that rank so far ahead that no writer follows them (C115)."""
    limit = limit_of(index.newest(now).present)
    latest = index.digest(1).latest
    if latest is None or latest <= limit:
        return ()
    return tuple(place for place in index.places() if place.ranked_at > limit and not place.is_retracted)


def _is_to_be_left(workspace: Workspace, place: ViewLocation, *, to_commit: bool) -> bool:
    if not to_commit and workspace.repository.is_there():
        return True
    there = read_view(workspace.documents, place.path)
    return there is not None and find_view_owner(there) is ViewOwner.FOREIGN


def _archive(
    workspace: Workspace,
    trigger: CommitTrigger | None,
    committed: Committed | Skipped | NotDue | None,
    *,
    is_wanted: bool | None,
) -> tuple[ArchivedEvents | None, str]:
    """Archive if it is wanted, or due; return what was archived, and why nothing was if that was wanted."""
    if is_wanted is False or not (is_wanted or workspace.settings.events.archive):
        return None, ""
    if not workspace.repository.is_there():
        return _archive_untracked(workspace), ""
    from passdown.services.log.archive_runs import archive_all, archive_due  # few calls archive
    from passdown.services.log.archive_writers import are_tracked, is_due

    if not is_wanted and not (trigger in _ARCHIVING and _is_done(committed) and is_due(workspace)):
        return None, ""
    if not are_tracked(workspace):
        return _archive_untracked(workspace), ""
    return archive_all(workspace) if is_wanted else (archive_due(workspace), "")


def _is_done(committed: Committed | Skipped | NotDue | None) -> bool:
    """Return whether everything is committed, so that a commit of what is archived may follow."""
    return isinstance(committed, Committed) or (
        isinstance(committed, Skipped) and committed.why is SkipReason.NOTHING
    )


def _archive_untracked(workspace: Workspace) -> ArchivedEvents:
    """Archive where no commit follows; a hook has only seconds."""
    days, most = workspace.settings.events.retention_days, AT_ONCE if workspace.is_hook else None
    archived = archive_events(workspace.log, workspace.clock, days, most=most)
    update_index(workspace.log, workspace.index)
    return archived


def _commit(
    workspace: Workspace, place: ViewLocation, trigger: CommitTrigger, also: Sequence[str]
) -> Committed | Skipped | NotDue:
    own = [*list_uncommitted(workspace), *([place.path] if place.is_tracked else [])]
    paths = list(dict.fromkeys((*also, *own)))
    return commit_chosen(
        workspace.repository, workspace.documents, workspace.clock, workspace.settings, trigger, paths
    )


def is_uncommitted(workspace: Workspace, place: ViewLocation) -> bool:
    """Return whether there is anything to commit: events, archived files, or the tracked view."""
    if not workspace.repository.is_there():
        return False
    if list_uncommitted(workspace):
        return True
    there = read_view(workspace.documents, place.path) if place.is_tracked else None
    known = workspace.tracking.entries([place.path.rpartition("/")[0]]).get(place.path, "")
    return there is not None and git_blob_id(there, like=known) != known
