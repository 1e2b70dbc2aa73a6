"""`passdown synthesize --check`: whether the view matches the events, here or in the last commit."""

from typing import TYPE_CHECKING, Final

from passdown.core.formats.view_location import ViewLocation
from passdown.core.safe_text import one_line
from passdown.errors import OutdatedError, PassdownError
from passdown.faces.cli import output
from passdown.faces.cli.progress import ReadingProgress
from passdown.faces.cli.project import CliProject
from passdown.services.log.committed_view import CommittedView, check_committed
from passdown.services.log.events import update_index
from passdown.services.log.synthesis import check_view
from passdown.services.log.views import ViewState
from passdown.wiring.caches import open_memory_index
from passdown.wiring.commits import open_committed_log

if TYPE_CHECKING:
    from passdown.services.sessions.owed_commits import UncommittedFiles

_RUN: Final = "run `passdown synthesize`"
_SHOWN: Final = 5


def check_working_tree(project: CliProject, *, as_json: bool) -> int:
    """Compare the view with the events; a commit of ours that is only waiting is no fault."""
    with ReadingProgress() as reading:
        project.call(lambda workspace: update_index(workspace.log, workspace.index, reading.step))
    place, state = project.call(check_view)
    count = project.call(lambda workspace: workspace.index.digest(1)).event_count
    is_kept = place.is_tracked and not (count == 0 and state is ViewState.MISSING)
    if is_kept and state is not ViewState.CURRENT:
        waiting = _find_waiting(project, state)
        if waiting is None:
            raise _complaint(place.path, state)
        return _say_waiting(place, count, waiting, as_json=as_json)
    if as_json:
        _say_data(place, state.value, count)
    elif not place.is_tracked:
        output.note(place.note)
    elif is_kept:
        output.note(f"{place.path} is current: {_events(count)}")
    else:
        output.note(f"there are no events in {project.workspace.settings.paths.events}, and no view")
    return 0


def check_last_commit(project: CliProject, *, as_json: bool) -> int:
    """Compare the view in the last commit with the events in it."""
    if not project.workspace.repository.is_there():
        raise PassdownError("the project is not in a git repository", hint="leave out --committed")
    committed = _read_committed(project)
    place, state, count = committed.place, committed.state, committed.event_count
    is_legacy = count == 0 and state is ViewState.FOREIGN
    if place.is_tracked and not committed.is_whole and not is_legacy:
        raise _complaint(f"{place.path} in the last commit", state)
    if as_json:
        _say_data(place, state.value, count)
    elif not place.is_tracked:
        output.note(place.note)
    elif count:
        output.note(f"{place.path} is current in the last commit: {_events(count)}")
    else:
        output.note("the last commit has no events")
    return 0


def _read_committed(project: CliProject) -> CommittedView:
    workspace = project.workspace
    return check_committed(workspace, open_committed_log(workspace), open_memory_index())


def _find_waiting(project: CliProject, state: ViewState) -> "UncommittedFiles | None":
    """Return what waits for a commit of ours, if nothing else is wrong.

    The view in the working tree is the one of the last commit, and that commit is consistent.
    """
    if state not in {ViewState.OUTDATED, ViewState.MISSING}:
        return None
    from passdown.services.sessions.owed_commits import find_uncommitted  # most views are current

    waiting = find_uncommitted(project.workspace)
    if waiting is None:
        return None
    committed = _read_committed(project)
    return waiting if committed.is_whole and committed.is_unchanged else None


def _say_waiting(place: ViewLocation, count: int, waiting: "UncommittedFiles", *, as_json: bool) -> int:
    if as_json:
        files = {"paths": list(waiting.paths), "reason": waiting.reason}
        _say_data(place, "waiting", count, uncommitted=files)
        return 0
    output.note(f"{place.path} is current in the last commit; the next one updates it, with:")
    for path in waiting.paths[:_SHOWN]:
        output.note(f"  {one_line(path)}")
    if len(waiting.paths) > _SHOWN:
        output.note(f"  and {len(waiting.paths) - _SHOWN} more")
    output.note(f"not committed yet: {waiting.reason}")
    return 0


def _say_data(place: ViewLocation, state: str, count: int, **more: object) -> None:
    shown = {"path": place.path, "is_tracked": place.is_tracked, "note": place.note}
    output.say_json({"state": state, "events": count, "view": shown, **more})


def _events(count: int) -> str:
    return "1 event" if count == 1 else f"{count} events"


def _complaint(path: str, state: ViewState) -> PassdownError:
    if state is ViewState.MISSING:
        return OutdatedError(f"{path} is missing", hint=_RUN)
    if state is ViewState.EDITED:
        hint = f"{_RUN}; it keeps a copy of the edited file"
        return OutdatedError(f"{path} was edited by hand; it is made from events", hint=hint)
    if state is ViewState.MERGED:
        return PassdownError(f"{path} is merged, not regenerated", hint=_RUN)
    if state is ViewState.OTHER_RENDERER:
        hint = f"{_RUN} with the version of Passdown that the project uses"
        return OutdatedError(f"{path} was made by another version of Passdown", hint=hint)
    if state is ViewState.FOREIGN:
        hint = "run `passdown migrate` to import it as an event; nothing in it is lost"
        return OutdatedError(f"{path} was not made by Passdown", hint=hint)
    return OutdatedError(f"{path} is outdated: it does not match the events", hint=_RUN)
