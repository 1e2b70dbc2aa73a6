"""One line about the project, above the help that `passdown` without a command prints."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from passdown.actions.sessions.status import SessionStatus, StatusRequest, StatusResult, status
from passdown.errors import PassdownError
from passdown.faces.cli import output
from passdown.faces.cli.calls import call, current_folder
from passdown.faces.cli.lines import cut
from passdown.faces.hooks.quick import find_root

_NOT_SET_UP: Final = "Not set up here. Run `passdown init`."
_MOST_NAMED: Final = 3
_MOST_DOING: Final = 40


def say_glance() -> None:
    """Print how things stand in this project, or that it is not set up; nothing is started or written."""
    try:
        root = find_root(str(current_folder()))
        line = describe_status(Path(root).name, _look()) if root else _NOT_SET_UP
    except PassdownError as found:
        output.report(found, as_json=False)
        line = ""
    output.draw(f"{output.wrapped(line, '', '  ')}\n\n" if line else "\n")


def _look() -> StatusResult:
    return call(status, StatusRequest(counts_questions=True)).result


def describe_status(name: str, found: StatusResult) -> str:
    """Return the line about a project."""
    waiting = list(_list_waiting(found))
    parts = [_describe_sessions([one for one in found.sessions if one.state == "live"])]
    if found.questions:
        parts.append(output.counted(found.questions, "open question"))
    parts += waiting or ["nothing waits for you"]
    more = " More: `passdown status`." if waiting else ""
    return f"{name}: {', '.join(parts)}.{more}"


def _describe_sessions(running: list[SessionStatus]) -> str:
    if not running:
        return "no session running"
    stems = [_stem(one) for one in running]
    named = "; ".join(
        _describe_session(one, _stem(one) if stems.count(_stem(one)) == 1 else one.account.agent)
        for one in running[:_MOST_NAMED]
    )
    more = f"; {len(running) - _MOST_NAMED} more" if len(running) > _MOST_NAMED else ""
    return f"{output.counted(len(running), 'session')} running ({named}{more})"


def _stem(one: SessionStatus) -> str:
    """Return the name of an agent without its random end."""
    return one.account.agent.rpartition("-")[0] or one.account.agent


def _describe_session(one: SessionStatus, name: str) -> str:
    doing = " ".join((one.now or "").split())
    return f"{name}: {cut(doing, _MOST_DOING)}" if doing else name


def _list_waiting(found: StatusResult) -> Iterator[str]:
    """Yield what a person has to decide or to do."""
    if found.paused_by:
        yield f"paused by {found.paused_by}"
    if stale := sum(one.state == "stale" for one in found.sessions):
        yield f"{output.counted(stale, 'session')} did not end"
    if contested := len(found.contested):
        yield f"{output.counted(contested, 'contradiction')} to settle"
    if queued := len(found.waiting):
        yield f"{output.counted(queued, 'change')} queued for the tracker"
