"""Verify what is archived, archive what is due, and settle the conflicts that archiving made."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

from passdown.actions.answers import HIDDEN, SECONDS, Form, describe
from passdown.actions.callers import Caller
from passdown.actions.log.events import read_since
from passdown.actions.project.searches import INDEX_STATE
from passdown.core.safe_text import one_line
from passdown.errors import PassdownError, UsageError
from passdown.ports.repository import Committed, Skipped
from passdown.records import record
from passdown.services.log import archive_conflicts, archive_runs, event_archive
from passdown.services.log.archive_runs import Writing
from passdown.services.log.archive_writers import (
    ArchiveWriter,
    are_tracked,
    choose,
    find_branch_refusal,
    find_refusal,
    read_writer,
)
from passdown.services.log.commits import find_merged_view
from passdown.services.log.event_archive import ArchiveProblem, plan_cleaning, verify_archive
from passdown.services.log.events import update_index
from passdown.services.log.rollups import archive_events, count_due
from passdown.services.project.status import IndexState, find_index_state
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.searches import open_search_scope


def _list_problems(problems: Sequence[ArchiveProblem]) -> list[dict[str, str]]:
    return [{"path": one_line(one.path), "problem": one_line(one.problem)} for one in problems]


def _tell_commit(committed: Committed | Skipped | None) -> dict[str, object] | None:
    if isinstance(committed, Committed):
        return {"commit": committed.commit, "why": None, "reason": ""}
    return {"commit": None, "why": committed.why.value, "reason": committed.reason} if committed else None


_PROBLEMS: Final = Form(_list_problems)
_COMMIT: Final = Form(_tell_commit)


@record
class ArchiveReport:
    """What is in the archive, and what is wrong with it."""

    is_good: Annotated[bool, "Whether nothing is wrong."]
    copies: Annotated[int, "How many archived events also have a separate file."]
    rollups: Annotated[int, "How many rollups there are."]
    events: Annotated[int, "How many events the rollups hold."]
    records: Annotated[int, "How many session records there are."]
    index: Annotated[IndexState, "Whether the search index is current.", INDEX_STATE]
    problems: Annotated[tuple[ArchiveProblem, ...], "What is wrong.", _PROBLEMS]


@record
class ArchivingRequest:
    """What to archive."""

    is_dry_run: Annotated[bool, "Whether to change nothing."] = False
    always: Annotated[
        bool | None, "Whether sessions archive in this clone from now on; None to leave that as it is."
    ] = None


@record
class ArchiveRun:
    """What a run archived, or would archive."""

    is_dry_run: Annotated[bool, "Whether nothing was changed."]
    moved: Annotated[int, "How many event files moved to the archive, or would."]
    removed: Annotated[int, "How many event files and copies were removed, or would be: rollups hold them."]
    interrupted: Annotated[
        int, "How many files were committed that an interrupted run had removed, or would be."
    ]
    rollups: Annotated[int, "How many rollups were committed."]
    uncommitted: Annotated[
        int, "How many event files stay although they are due: the last commit lacks them."
    ]
    kept: Annotated[tuple[ArchiveProblem, ...], "Other files that stay although they are due.", _PROBLEMS]
    commit: Annotated[
        Committed | Skipped | None,
        "The commit, or why there is none; null if git does not track events.",
        _COMMIT,
    ]
    is_chosen: Annotated[bool, "Whether sessions archive in this clone because a person said so."]
    is_automatic: Annotated[bool, "Whether the settings let sessions archive.", HIDDEN]


@record
class CleaningRequest:
    """Which copies of archived events to remove."""

    older: Annotated[str, "The age or date that they must be older than."]
    is_confirmed: Annotated[bool, "Whether to remove them; otherwise they are only listed."] = False


@record
class CleanedArchive:
    """The old copies, and which of them were removed."""

    is_dry_run: Annotated[bool, "Whether they are only listed."]
    before: Annotated[datetime, "Copies from before this are old.", SECONDS]
    due: Annotated[tuple[str, ...], "The copies that can be removed, because a rollup holds each of them."]
    removed: Annotated[tuple[str, ...], "The copies that were removed."]
    kept: Annotated[tuple[ArchiveProblem, ...], "The old copies that stay, and why.", _PROBLEMS]
    commit: Annotated[
        Committed | Skipped | None,
        "The commit, or why there is none; null if git does not track copies.",
        _COMMIT,
    ]


@record
class Resolution:
    """Which conflicts were settled."""

    command: Annotated[str | None, "The unfinished command with conflicts in events; null if there is none."]
    proceed: Annotated[str | None, "The command that finishes it, once nothing conflicts."]
    settled: Annotated[tuple[str, ...], "The files whose conflict is settled."]
    left: Annotated[tuple[str, ...], "The files whose conflict only the user can settle."]
    others: Annotated[int, "How many files with conflicts are not files of events."]


def verify(caller: Caller, _: None) -> ArchiveReport:
    """Check rollups, copies of events, session records, and the search index."""
    found = verify_archive(caller.workspace)
    index = find_index_state(open_search_scope(caller.workspace))
    return describe(ArchiveReport, found, is_good=not found.problems, index=index)


# --- runs ---------------------------------------------------------------------------------------------


def run(caller: Caller, request: ArchivingRequest) -> ArchiveRun:
    """Archive everything that is due, in one commit; refuse where another clone may do the same.

    Where git does not track events, there is no commit and nobody else.
    """
    workspace = caller.workspace
    if request.always is not None and not request.is_dry_run:
        choose(workspace, is_wanted=request.always)
    update_index(workspace.log, workspace.index, caller.around.progress)
    if not are_tracked(workspace):
        return _run_untracked(workspace, is_dry_run=request.is_dry_run)
    writer = _require_writer(workspace)
    shown = {"is_chosen": writer.is_chosen, "is_automatic": workspace.settings.events.archive}
    if request.is_dry_run:
        plan = archive_runs.plan(workspace, writer, Writing())
        moved, removed = len(plan.moved), len(plan.removed)
        return describe(
            ArchiveRun,
            plan,
            is_dry_run=True,
            moved=moved,
            removed=removed,
            interrupted=archive_runs.count_interrupted(workspace, plan),
            rollups=0,
            kept=(),
            commit=None,
            **shown,
        )
    done = archive_runs.run(workspace, writer, Writing())
    return describe(ArchiveRun, done, is_dry_run=False, commit=done.committed, **shown)


def _require_writer(workspace: Workspace) -> ArchiveWriter:
    """Return what this clone may do; raise a PassdownError if it may not archive."""
    writer = read_writer(workspace)
    refused = find_branch_refusal(workspace) or find_refusal(writer) or find_merged_view(workspace)
    if refused is not None:
        raise PassdownError(f"nothing was archived: {refused.reason}", hint=refused.hint)
    return writer


def _run_untracked(workspace: Workspace, *, is_dry_run: bool) -> ArchiveRun:
    days = workspace.settings.events.retention_days
    if is_dry_run:
        moved = count_due(workspace.log, workspace.clock, days)
    else:
        moved = archive_events(workspace.log, workspace.clock, days).moved
        update_index(workspace.log, workspace.index)
    return ArchiveRun(
        is_dry_run=is_dry_run,
        moved=moved,
        removed=0,
        interrupted=0,
        rollups=0,
        uncommitted=0,
        kept=(),
        commit=None,
        is_chosen=False,
        is_automatic=workspace.settings.events.archive,
    )


def clean(caller: Caller, request: CleaningRequest) -> CleanedArchive:
    """Find the copies of archived events that can be removed; if confirmed, remove and commit them."""
    workspace, older = caller.workspace, request.older
    before = read_since(older, workspace.clock.now())
    if before is None:
        raise UsageError(f"--older: `{older}` is before the first date", hint="write an age, as in 30d")
    ignored = f"{workspace.settings.paths.event_archive}/any.md"
    if not are_tracked(workspace) or workspace.repository.is_ignored(ignored):
        plan = plan_cleaning(workspace, before)
        removed = tuple(event_archive.clean(workspace, plan)) if request.is_confirmed else ()
        is_dry_run = not request.is_confirmed
        return describe(CleanedArchive, plan, is_dry_run=is_dry_run, removed=removed, commit=None)
    update_index(workspace.log, workspace.index, caller.around.progress)
    writer, wanted = _require_writer(workspace), Writing(before=before.date())
    due = archive_runs.plan(workspace, writer, wanted).removed
    done = archive_runs.run(workspace, writer, wanted) if request.is_confirmed else None
    return CleanedArchive(
        is_dry_run=done is None,
        before=before,
        due=due,
        removed=done.gone if done else (),
        kept=done.kept if done else (),
        commit=done.committed if done else None,
    )


# --- conflicts ----------------------------------------------------------------------------------------


def resolve(caller: Caller, _: None) -> Resolution:
    """Settle the conflicts in files of events that archiving in several clones made."""
    found = archive_conflicts.resolve(caller.workspace)
    if found is None:
        return Resolution(command=None, proceed=None, settled=(), left=(), others=0)
    return describe(Resolution, found)
