"""Verify what is archived, and remove old copies."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

from passdown.actions.answers import HIDDEN, SECONDS, Form, describe
from passdown.actions.callers import Caller
from passdown.actions.log.events import read_since
from passdown.actions.project.searches import INDEX_STATE
from passdown.core.safe_text import one_line
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.log import event_archive
from passdown.services.log.event_archive import ArchiveProblem, plan_cleaning, verify_archive
from passdown.services.project.status import IndexState, find_index_state
from passdown.wiring.searches import open_search_scope


def _list_problems(problems: Sequence[ArchiveProblem]) -> list[dict[str, str]]:
    return [{"path": one_line(one.path), "problem": one_line(one.problem)} for one in problems]


_PROBLEMS: Final = Form(_list_problems)


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
    folder: Annotated[str, "The folder of archived events.", HIDDEN]


def verify(caller: Caller, _: None) -> ArchiveReport:
    """Check rollups, copies of events, session records, and the search index."""
    found = verify_archive(caller.workspace)
    index = find_index_state(open_search_scope(caller.workspace))
    return describe(ArchiveReport, found, is_good=not found.problems, index=index)


def clean(caller: Caller, request: CleaningRequest) -> CleanedArchive:
    """Find the copies of archived events that can be removed, and remove them if confirmed."""
    workspace, older = caller.workspace, request.older
    before = read_since(older, workspace.clock.now())
    if before is None:
        raise UsageError(f"--older: `{older}` is before the first date", hint="write an age, as in 30d")
    plan = plan_cleaning(workspace, before)
    return describe(
        CleanedArchive,
        plan,
        is_dry_run=not request.is_confirmed,
        removed=tuple(event_archive.clean(workspace, plan)) if request.is_confirmed else (),
        folder=workspace.settings.paths.event_archive,
    )
