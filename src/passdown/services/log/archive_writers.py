"""Who archives the events of a project: one clone, so that git never meets two of its runs (C127).

Git knows no renames: it guesses them from removed and added files. If two clones remove the same event, it
may pair that event with a different new one in each of them, and report a conflict.
"""

import tomllib
from datetime import date, timedelta
from typing import Annotated, Final, NamedTuple, cast

from passdown import layout
from passdown.core.formats.journal import Scope
from passdown.core.ids import parse_event_file_name
from passdown.core.merge.archive_runs import COPY_DAYS, MANY_FILES
from passdown.core.times import parse_instant
from passdown.ports.repository import Skipped, SkipReason
from passdown.records import record
from passdown.services.log.commits import ARCHIVING
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import FILE_NAME, Archiver

_CHOSEN: Final = b"A person chose this clone to archive the project's events.\n"
_RUN: Final = "run `passdown archive run`"
_DECIDE: Final = (
    f'set `archiver = "job"` or `archive = false` below [events] in {FILE_NAME}, commit it, '
    "and let one job or clone run `passdown archive run`"
)


class ArchiveWriter(NamedTuple):
    """Whether this clone may archive."""

    has_remote: bool
    is_alone: bool
    """Whether no other clone writes events, as far as this one can know."""
    is_chosen: bool
    """Whether a person made this clone the one that archives."""
    is_agreed: bool
    """Whether the committed settings keep sessions of other clones from archiving."""

    @property
    def may_remove(self) -> bool:
        """Whether files may be removed."""
        return self.is_alone or self.is_agreed

    @property
    def only_own(self) -> bool:
        """Whether only files of this clone's own sessions may be removed."""
        return self.has_remote and not self.is_agreed


@record
class DueRun:
    """Files that wait to be archived, and who archives them."""

    what: Annotated[str, "What waits."]
    who: Annotated[str, "Who archives it."]
    hint: Annotated[str | None, "What the user can do; None if there is nothing to do."]


def read_writer(workspace: Workspace) -> ArchiveWriter:
    """Find out whether this clone may archive; starts git.

    A clone is alone if it has no remote, or if it has the journal of every session whose event is in a single
    file. An event without a session may come from anywhere.
    """
    has_remote = workspace.archive_branch.has_remote()
    return ArchiveWriter(
        has_remote=has_remote,
        is_alone=not has_remote or workspace.index.single_sessions() <= find_own_sessions(workspace),
        is_chosen=is_chosen(workspace),
        is_agreed=_is_agreed(workspace),
    )


def find_own_sessions(workspace: Workspace) -> frozenset[str]:
    """Return all sessions with a journal in this clone, ended ones too."""
    return frozenset(workspace.journals.sessions(Scope.ALL))


def is_chosen(workspace: Workspace) -> bool:
    """Return whether a person made this clone the one that archives."""
    documents = workspace.git_documents
    return documents is not None and documents.exists(layout.in_git(layout.ARCHIVER))


def choose(workspace: Workspace, *, is_wanted: bool) -> None:
    """Make this clone the one that archives, or let it be so no more; raises a StorageError if that fails."""
    documents, path = workspace.git_documents, layout.in_git(layout.ARCHIVER)
    if documents is None or documents.exists(path) == is_wanted:
        return
    if is_wanted:
        documents.replace(path, _CHOSEN, local=True)
    else:
        documents.remove(path, documents.read(path))


def _is_agreed(workspace: Workspace) -> bool:
    text = workspace.archive_branch.committed_text(FILE_NAME)
    try:
        table: object = tomllib.loads((text or b"").decode()).get("events", {})
    except ValueError:  # it is not TOML, or not text
        return False
    events = cast("dict[str, object]", table) if isinstance(table, dict) else {}
    return events.get("archive") is False or events.get("archiver") == Archiver.JOB


def are_tracked(workspace: Workspace) -> bool:
    """Return whether git tracks events, so that a run has to commit what it does."""
    path = f"{workspace.settings.paths.events}/any.md"
    return workspace.repository.is_there() and not workspace.repository.is_ignored(path)


def find_branch_refusal(workspace: Workspace) -> Skipped | None:
    """Return why nothing may be archived on this branch, even if a person asks."""
    if not is_integration(workspace):
        name = workspace.repository.integration_branch(workspace.settings.view.branch)
        reason = (
            f"events are archived on {name or 'the integration branch'}, and another branch is checked out"
        )
        hint = f"check out {name}" if name else f"name it as `branch` below [view] in {FILE_NAME}"
        return Skipped(why=SkipReason.REFUSED, reason=reason, hint=hint)
    if (refused := workspace.archive_branch.find_refusal()) is not None:
        return refused
    if (obstacle := workspace.history.find_obstacle(workspace.now(), timedelta(0))) is not None:
        return obstacle
    rollup = f"{workspace.settings.paths.events}/{workspace.now().date()}/rollup-0.jsonl"
    if workspace.repository.is_ignored(rollup):
        reason = f"git ignores rollups such as {rollup}, so they could not be committed"
        return Skipped(why=SkipReason.REFUSED, reason=reason, hint="remove that rule from .gitignore")
    return None


def find_refusal(writer: ArchiveWriter) -> Skipped | None:
    """Return why a person may not archive in this clone, or None."""
    if writer.may_remove:
        return None
    reason = "other clones write events, too, and their sessions may archive the same ones"
    return Skipped(why=SkipReason.REFUSED, reason=reason, hint=_DECIDE)


def find_unasked_refusal(writer: ArchiveWriter) -> Skipped | None:
    """Return why this clone does not archive unless somebody runs `passdown archive run`, or None."""
    if writer.is_alone or writer.is_chosen:
        return find_refusal(writer)
    reason = "this is not the clone that archives"
    hint = f"{_RUN} in one clone; `--always` makes it the one that archives"
    return Skipped(why=SkipReason.REFUSED, reason=reason, hint=hint)


def may_archive(workspace: Workspace) -> bool:
    """Return whether `passdown synthesize --archive` would archive here, if anything is due."""
    if not are_tracked(workspace):
        return True
    refused = find_branch_refusal(workspace) or find_unasked_refusal(read_writer(workspace))
    # A branch without commits gets one with the events.
    return refused is None or refused.why is SkipReason.NO_COMMIT


def is_automatic(workspace: Workspace) -> bool:
    """Return whether the end of a session archives in this checkout, if anything is due (C127)."""
    events = workspace.settings.events
    if not events.archive or not is_integration(workspace):
        return False
    if not workspace.archive_branch.is_main_checkout():
        return False
    writer = read_writer(workspace)
    is_writer = writer.is_chosen or (writer.is_alone and events.archiver is Archiver.NOBODY)
    return is_writer and writer.may_remove


def is_integration(workspace: Workspace) -> bool:
    """Return whether the integration branch is checked out."""
    repository = workspace.repository
    return repository.branch() == repository.integration_branch(workspace.settings.view.branch)


# --- what is due --------------------------------------------------------------------------------------


def is_due(workspace: Workspace) -> bool:
    """Return whether there may be something to archive; cheap, and the index need not be complete."""
    return bool(_describe(workspace)) or ARCHIVING.is_put(workspace)


def _describe(workspace: Workspace) -> str:
    """Return what waits to be archived; empty if nothing does.

    1. Single files of days longer ago than the retention.
    2. More than 2,000 single files, some of a day that is over, if a job archives.
    3. Copies of days longer ago than the archive keeps them.
    """
    events, today = workspace.settings.events, workspace.now().date()
    single = workspace.index.single_files()
    named = parse_event_file_name(single.oldest)
    if named and named.at.date() < today - timedelta(days=events.retention_days):  # 1
        return f"events older than {events.retention_days} days"
    is_many = events.archiver is Archiver.JOB and single.number > MANY_FILES
    if is_many and named and named.at.date() < today:  # 2
        return f"{single.number:,} single event files"
    day = min(filter(None, map(_read_day, _list_days(workspace))), default=None)
    if day and day < today - timedelta(days=COPY_DAYS):  # 3
        return f"copies of archived events older than {COPY_DAYS} days"
    return ""


def _list_days(workspace: Workspace) -> list[str]:
    return list(workspace.documents.folders(workspace.settings.paths.event_archive))


def _read_day(name: str) -> date | None:
    at = parse_instant(name)
    return at.date() if at else None


def find_due(workspace: Workspace) -> DueRun | None:
    """Return what waits to be archived on the integration branch and who archives it, or None."""
    if not workspace.repository.is_there() or not is_integration(workspace):
        return None
    what = _describe(workspace)
    if not what or not are_tracked(workspace):
        return None
    writer, events = read_writer(workspace), workspace.settings.events
    if is_automatic(workspace):
        who = "the next end or start of a session in this checkout archives some of them"
        return DueRun(what=what, who=who, hint=None)
    if events.archiver is Archiver.JOB and not writer.is_chosen:
        hint = "check that it runs, or run `passdown archive run` here and push"
        return DueRun(what=what, who="the job on this branch archives them", hint=hint)
    if writer.may_remove:
        return DueRun(what=what, who="one person archives them", hint=f"{_RUN}, then push")
    return DueRun(what=what, who="nobody archives them, because other clones write events, too", hint=_DECIDE)
