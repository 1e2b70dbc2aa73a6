"""Merge events into the view: preview it, write it, archive and commit; or merge other files."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

from passdown.actions.answers import HIDDEN, Form
from passdown.actions.callers import Caller
from passdown.actions.sessions.sessions import put_away_ended
from passdown.core.formats.view_footer import ViewOwner, find_view_owner
from passdown.core.safe_text import one_line
from passdown.core.schemas import to_data
from passdown.errors import PassdownError, StorageError, UsageError
from passdown.ports.index import EventLocation
from passdown.ports.repository import Committed, Skipped
from passdown.records import record
from passdown.services.log import synthesis
from passdown.services.log.archive_conflicts import describe_conflicts
from passdown.services.log.archive_writers import may_archive
from passdown.services.log.commits import NotDue
from passdown.services.log.events import update_index
from passdown.services.log.history import EventTexts, InputFile, index_files, label, parse_text
from passdown.services.log.rollups import ArchivedEvents, count_due
from passdown.services.log.synthesis import (
    SynthesisPreview,
    SynthesisResult,
    check_view,
    is_uncommitted,
    list_skipped,
)
from passdown.services.log.views import ViewState, WrittenView, make_text, read_view
from passdown.services.workspace.documents import Repair
from passdown.wiring.caches import open_memory_index
from passdown.wiring.workspaces import find_named, open_documents

_NEWEST: Final = 5
_PRINTED: Final = "-"


def _tell_archived(found: ArchivedEvents | None) -> dict[str, object] | None:
    return {"events": found.moved, "days": found.days} if found else None


def _tell_commit(committed: Committed | Skipped | NotDue | None) -> dict[str, object] | None:
    if isinstance(committed, Committed):
        return {"commit": committed.commit, "paths": list(committed.paths), "why": None, "reason": ""}
    if isinstance(committed, Skipped):
        return {"commit": None, "paths": [], "why": committed.why.value, "reason": committed.reason}
    return None


def _tell_places(places: Sequence[EventLocation]) -> list[dict[str, object]]:
    return [{"id": one.rank.id, "at": to_data(one.rank.at), "agent": one.rank.agent} for one in places]


@record
class NothingToMerge:
    """There are no events, so no view was made."""

    state: Annotated[str, "legacy if there is a document at the path of the view, empty if there is none."]
    view: Annotated[str, "The path of the view.", HIDDEN]
    folder: Annotated[str, "The folder of events.", HIDDEN]
    events: Annotated[int, "How many events there are: none."] = 0
    skipped: Annotated[int, "How many events could not be read."] = 0
    files: Annotated[tuple[str, ...], "The files that could not be read.", HIDDEN] = ()

    @property
    def is_legacy(self) -> bool:
        """Return whether there is a document to import."""
        return self.state == "legacy"


@record
class PreviewedView:
    """What synthesis would do."""

    preview: Annotated[SynthesisPreview, "The view that would be written."]
    newest: Annotated[tuple[tuple[EventLocation, str], ...], "The newest events with their labels."]
    difference: Annotated[tuple[str, ...], "The lines of a diff from the existing file to the view."]


@record
class SynthesisRequest:
    """What to do besides writing the view."""

    archive: Annotated[bool | None, "Whether to archive old events; None for what the settings say."] = None
    commit: Annotated[bool, "Whether to commit events and view."] = False
    asks_more: Annotated[bool, "Whether to return what could be archived and committed."] = False


@record
class ViewChange:
    """What happened to the file of the view."""

    path: Annotated[str, "The file."]
    before: Annotated[ViewState, "How it compared with the events."]
    kept: Annotated[str | None, "The copy of a file that was edited or merged."]
    offered: Annotated[tuple[str, ...], "The lines of the copy that are in no event."]
    is_tracked: Annotated[bool, "Whether the view is meant to be committed."]
    note: Annotated[str, "Why not; empty if it is."]


@record
class FurtherSteps:
    """What could be done after synthesis."""

    due: Annotated[int, "How many events could be archived."]
    days: Annotated[int, "The age in days from which they can be archived."]
    is_usual: Annotated[bool, "Whether the settings archive them."]
    is_uncommitted: Annotated[bool, "Whether there is something to commit."]


@record
class SynthesisOutcome:
    """What synthesis did."""

    state: Annotated[str, "Whether the view was current or was written."]
    events: Annotated[int, "How many events there are."]
    skipped: Annotated[int, "How many could not be read."]
    malformed: Annotated[int, "How many values of events could not be read."]
    view: Annotated[ViewChange, "What happened to the view."]
    ahead: Annotated[
        tuple[EventLocation, ...], "Events that are dated far in the future.", Form(_tell_places)
    ]
    archived: Annotated[
        ArchivedEvents | None, "What was archived; null if that was not requested.", Form(_tell_archived)
    ]
    not_archived: Annotated[str | None, "Why something was not archived although that was requested.", HIDDEN]
    commit: Annotated[
        Committed | Skipped | NotDue | None, "The commit, or why there is none.", Form(_tell_commit)
    ]
    files: Annotated[tuple[str, ...], "The files that could not be read.", HIDDEN]
    written: Annotated[WrittenView, "The view that was written.", HIDDEN]
    further: Annotated[FurtherSteps | None, "What could be done next, if requested.", HIDDEN]


@record
class FilesRequest:
    """Files to merge, from any place."""

    patterns: Annotated[tuple[str, ...], "Patterns of their names, from the folder of the caller."]
    output: Annotated[str | None, "The file to write the view to; None or - to only return it."]


@record
class MergedView:
    """A view that was made from other files or for another file."""

    state: Annotated[str, "What was done: merged."]
    events: Annotated[int, "How many events it was made from."]
    view: Annotated[Mapping[str, str], "Its text, or the path of the file that it was written to."]
    skipped: Annotated[int, "How many events could not be read.", HIDDEN]
    files: Annotated[tuple[str, ...], "The files that could not be read.", HIDDEN]


# --- the view of the project --------------------------------------------------------------------------


def preview_synthesis(caller: Caller, _: None) -> NothingToMerge | PreviewedView:
    """Return what synthesis would do; only the cache is written."""
    if nothing := find_legacy_view(caller) or _find_empty(caller):
        return nothing
    workspace = caller.workspace
    found = synthesis.preview_view(workspace)
    texts = EventTexts(workspace.log)
    newest = tuple((one, label(parse_text(texts.read(one)))) for one in found.newest[:_NEWEST])
    return PreviewedView(preview=found, newest=newest, difference=_compare(caller, found))


def synthesize(caller: Caller, request: SynthesisRequest) -> NothingToMerge | SynthesisOutcome:
    """Make the view of all events and write it; then archive and commit, if requested."""
    if nothing := find_legacy_view(caller) or _find_empty(caller):
        return nothing
    if conflicts := describe_conflicts(caller.workspace):
        caller.warn(*conflicts)
    found = synthesis.synthesize(
        caller.workspace, archive=request.archive, to_commit=request.commit, step=caller.around.progress
    )
    written, place = found.written, found.place
    caller.after.append(lambda: put_away_ended(caller))
    return SynthesisOutcome(
        state="current" if written.before is ViewState.CURRENT else "written",
        events=found.event_count,
        skipped=found.skipped,
        malformed=found.malformed,
        view=ViewChange(
            path=written.path,
            before=written.before,
            kept=written.kept or None,
            offered=written.offered,
            is_tracked=place.is_tracked,
            note=place.note,
        ),
        ahead=found.ahead,
        archived=found.archived,
        not_archived=found.not_archived or None,
        commit=found.committed,
        files=found.skipped_files,
        written=written,
        further=_find_further(caller, found) if request.asks_more else None,
    )


def find_legacy_view(caller: Caller) -> NothingToMerge | None:
    """Return a result if there is only a document from before Passdown."""
    if not synthesis.is_legacy(caller.workspace):
        return None
    paths = caller.workspace.settings.paths
    return NothingToMerge(state="legacy", events=0, skipped=0, files=(), view=paths.view, folder=paths.events)


def _find_empty(caller: Caller) -> NothingToMerge | None:
    """Return a result if there are no events and no view made by Passdown."""
    workspace, paths = caller.workspace, caller.workspace.settings.paths
    update_index(workspace.log, workspace.index, caller.around.progress)
    _, state = check_view(workspace)
    digest = workspace.index.digest(1)
    if digest.event_count or state not in {ViewState.MISSING, ViewState.FOREIGN}:
        return None
    return NothingToMerge(
        state="empty",
        view=paths.view,
        folder=paths.events,
        skipped=digest.skipped,
        files=list_skipped(workspace),
    )


def _compare(caller: Caller, found: SynthesisPreview) -> tuple[str, ...]:
    path = found.place.path
    there = read_view(caller.workspace.documents, path)
    if there is None or found.state is ViewState.FOREIGN:
        return ()
    repair = Repair(path=path, before=there.decode("utf-8", "replace"), after=found.text)
    return tuple(repair.difference(one_line(path)).splitlines())


def _find_further(caller: Caller, found: SynthesisResult) -> FurtherSteps:
    workspace, events = caller.workspace, caller.workspace.settings.events
    return FurtherSteps(
        due=count_due(workspace.log, workspace.clock, events.retention_days) if may_archive(workspace) else 0,
        days=events.retention_days,
        is_usual=events.archive,
        is_uncommitted=is_uncommitted(workspace, found.place),
    )


# --- other files in, another file out -----------------------------------------------------------------


def render_elsewhere(caller: Caller, output: str) -> NothingToMerge | MergedView:
    """Make the view of all events, and write it to another file; - only returns it."""
    if nothing := find_legacy_view(caller):
        return nothing
    found = synthesis.preview_view(caller.workspace, caller.around.progress)
    return MergedView(
        state="merged",
        events=found.event_count,
        view=_hand_out(caller, output, found.text),
        skipped=found.skipped,
        files=found.skipped_files,
    )


def merge_files(caller: Caller, request: FilesRequest) -> MergedView:
    """Make the view of exactly the files that match; the project does not matter."""
    index = open_memory_index()
    index_files(index, list(_read_files(caller, request.patterns)))
    digest = index.digest(1)
    return MergedView(
        state="merged",
        events=digest.event_count,
        view=_hand_out(caller, request.output, make_text(index)),
        skipped=digest.skipped,
        files=tuple(index.skipped_files()),
    )


def _find_files(folder: Path, patterns: Sequence[str]) -> list[str]:
    found: set[str] = set()
    for pattern in patterns:
        names = find_named(pattern, folder)
        if not names:
            hint = "the pattern is matched from the current folder; put it in quotes"
            raise UsageError(f"--input: no file matches {pattern or 'an empty name'}", hint=hint)
        found.update(map(os.path.normpath, names))  # resolve() would follow links
    return sorted(found)


def _read_files(caller: Caller, patterns: Sequence[str]) -> Iterator[InputFile]:
    here = caller.around.folder
    paths = _find_files(here, patterns)
    for number, path in enumerate(paths, 1):
        full = Path(path)
        root = here if full.is_relative_to(here) else full.parent
        try:
            data: bytes | None = open_documents(root).read(full.relative_to(root).as_posix())
        except StorageError as found:
            caller.warn(found.message)
            data = None
        yield InputFile(full.as_posix(), data)
        caller.around.progress(number, len(paths))


def _hand_out(caller: Caller, output: str | None, text: str) -> Mapping[str, str]:
    """Return a view, or write it to the named file; raise `PassdownError` if that holds something else."""
    if output is None or output == _PRINTED:
        return {"text": text}
    full = Path(os.path.normpath(caller.around.folder / output))  # resolve() would follow links
    documents = open_documents(full.parent)
    if find_view_owner(read_view(documents, full.name)) not in {ViewOwner.NOBODY, ViewOwner.OURS}:
        hint = "name a new file, or move this one away"
        raise PassdownError(f"{output} was edited or not made by Passdown; it was not overwritten", hint=hint)
    documents.replace(full.name, text.encode())
    return {"path": output}
