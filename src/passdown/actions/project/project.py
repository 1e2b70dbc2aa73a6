"""Pause and resume a project, and sum up its metrics."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

from passdown.actions.answers import HIDDEN, INLINE, SECONDS
from passdown.actions.callers import Caller
from passdown.core.project.pauses import OFF
from passdown.records import record
from passdown.services.project import pauses

if TYPE_CHECKING:  # a pause does not need it
    from passdown.core.project.metrics import MetricsSummary

USUAL_DAYS: Final = 7
_NO_MARK: Final = pauses.Pause(by="")


@record
class PauseResult:
    """Whether a project is paused."""

    is_paused: Annotated[bool, "Whether anything turns Passdown off here."]
    changed: Annotated[bool, "Whether that changed now."]
    where: Annotated[tuple[str, ...], "What turns it off: paths of marker files, or the name of a variable."]
    mark: Annotated[pauses.Pause, "The marker file that pauses the project.", HIDDEN] = _NO_MARK


@record
class MetricsResult:
    """The metrics of the last days."""

    days: Annotated[int, "How many days."]
    since: Annotated[datetime, "The start of that period.", SECONDS]
    summary: Annotated["MetricsSummary", "The metrics.", INLINE]


def pause(caller: Caller, _: None) -> PauseResult:
    """Pause the project; nothing changes if it is already paused."""
    paused = pauses.pause(caller.workspace, caller.workspace.now())
    found = pauses.find_pauses(caller.workspace, caller.around.variables)
    return PauseResult(
        is_paused=bool(found),
        changed=paused is not None,
        where=tuple(one.by for one in found),
        mark=paused or next((one for one in found if one.by != OFF), _NO_MARK),
    )


def unpause(caller: Caller, _: None) -> PauseResult:
    """Resume the project; a variable in the environment of the caller may still turn Passdown off."""
    gone = pauses.unpause(caller.workspace)
    found = pauses.find_pauses(caller.workspace, caller.around.variables)
    return PauseResult(is_paused=bool(found), changed=bool(gone), where=tuple(one.by for one in found))


def sum_up_events(caller: Caller, days: int) -> MetricsResult:
    """Sum up what hooks and commands recorded in the last days."""
    from passdown.services.project.metrics import read_metrics  # a pause does not need it

    since = caller.workspace.now() - timedelta(days=days)
    return MetricsResult(days=days, since=since, summary=read_metrics(caller.workspace, since))
