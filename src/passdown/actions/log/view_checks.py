"""Check whether the view matches the events, here or in the last commit; nothing is changed."""

from typing import TYPE_CHECKING, Annotated, Final

from passdown.actions.answers import HIDDEN, INLINE, Form
from passdown.actions.callers import Caller
from passdown.actions.log.syntheses import NothingToMerge, find_legacy_view
from passdown.core.formats.view_location import ViewLocation
from passdown.errors import OutdatedError, PassdownError
from passdown.records import record
from passdown.services.log.events import update_index
from passdown.services.log.synthesis import check_view
from passdown.services.log.verification import CommittedView, check_committed
from passdown.services.log.views import ViewState
from passdown.wiring.caches import open_memory_index
from passdown.wiring.commits import open_committed_log

if TYPE_CHECKING:
    from passdown.services.sessions.pending_commits import UncommittedFiles

WAITING: Final = "waiting"
"""The state of a view that Passdown's next commit updates."""
_RUN: Final = "run `passdown synthesize`"


@record
class CheckedView:
    """A view without problems."""

    state: Annotated[str, "How it compares with the events."]
    events: Annotated[int, "How many events there are."]
    view: Annotated[ViewLocation, "Where it is."]
    folder: Annotated[str, "The folder of events.", HIDDEN]


def _tell_uncommitted(found: "UncommittedFiles") -> dict[str, object]:
    return {"paths": list(found.paths), "reason": found.reason}


@record
class WaitingView:
    """A view that only waits for Passdown's next commit."""

    checked: Annotated[CheckedView, "The view.", INLINE]
    uncommitted: Annotated[
        "UncommittedFiles",
        "What will be committed with it, and why it is not committed yet.",
        Form(_tell_uncommitted),
    ]


def check_working_tree(caller: Caller, _: None) -> NothingToMerge | CheckedView | WaitingView:
    """Compare the view with the events; waiting for Passdown's next commit is not an error."""
    if nothing := find_legacy_view(caller):
        return nothing
    workspace = caller.workspace
    update_index(workspace.log, workspace.index, caller.around.progress)
    place, state = check_view(workspace)
    count = workspace.index.digest(1).event_count
    folder = workspace.settings.paths.events
    is_empty = count == 0 and state is ViewState.MISSING
    if not place.is_tracked or is_empty or state is ViewState.CURRENT:
        return CheckedView(state=state, events=count, view=place, folder=folder)
    waiting = _find_waiting(caller, state)
    if waiting is None:
        raise _complain(place.path, state)
    checked = CheckedView(state=WAITING, events=count, view=place, folder=folder)
    return WaitingView(checked=checked, uncommitted=waiting)


def check_last_commit(caller: Caller, _: None) -> CheckedView:
    """Compare the view in the last commit with the events in it."""
    if not caller.workspace.repository.is_there():
        raise PassdownError("the project is not in a git repository", hint="remove --committed")
    found = _read_committed(caller)
    place, state, count = found.place, found.state, found.event_count
    is_legacy = count == 0 and state is ViewState.FOREIGN
    if place.is_tracked and not found.is_whole and not is_legacy:
        raise _complain(f"{place.path} in the last commit", state)
    folder = caller.workspace.settings.paths.events
    return CheckedView(state=state, events=count, view=place, folder=folder)


def _read_committed(caller: Caller) -> CommittedView:
    workspace = caller.workspace
    return check_committed(workspace, open_committed_log(workspace), open_memory_index())


def _find_waiting(caller: Caller, state: ViewState) -> "UncommittedFiles | None":
    """Return what waits for Passdown's next commit, if nothing else is wrong.

    The view in the working tree is the one of the last commit, and that commit is consistent.
    """
    if state not in {ViewState.OUTDATED, ViewState.MISSING}:
        return None
    from passdown.services.sessions.pending_commits import find_uncommitted  # most views are current

    waiting = find_uncommitted(caller.workspace)
    if waiting is None:
        return None
    committed = _read_committed(caller)
    return waiting if committed.is_whole and committed.is_unchanged else None


def _complain(path: str, state: ViewState) -> PassdownError:
    if state is ViewState.MISSING:
        return OutdatedError(f"{path} is missing", hint=_RUN)
    if state is ViewState.EDITED:
        hint = f"{_RUN}; it keeps a copy of the edited file"
        return OutdatedError(f"{path} was edited by hand; it is made from events", hint=hint)
    if state is ViewState.MERGED:
        return PassdownError(f"{path} was merged by git and not regenerated", hint=_RUN)
    if state is ViewState.OTHER_RENDERER:
        hint = f"{_RUN} with the version of Passdown that the project uses"
        return OutdatedError(f"{path} was made by another version of Passdown", hint=hint)
    if state is ViewState.FOREIGN:
        hint = "run `passdown migrate` to import it as an event; nothing in it is lost"
        return OutdatedError(f"{path} was not made by Passdown", hint=hint)
    return OutdatedError(f"{path} is outdated: it does not match the events", hint=_RUN)
