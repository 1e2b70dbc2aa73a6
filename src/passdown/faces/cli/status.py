"""`passdown status`: who works here, who holds what, handoffs, index, and what waits for a commit."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from passdown import layout
from passdown.core.facts import Fact
from passdown.core.hosts.context_usage import ContextReading
from passdown.core.hosts.signals import NO_SIGNS, Degradation
from passdown.core.project.takeovers import TakeoverChoice, list_choices
from passdown.core.sessions.session_facts import Account
from passdown.core.times import age_words, render_seconds
from passdown.core.work.operations import SharedOperation, describe_operation
from passdown.errors import PassdownError, StorageError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.lines import contested_lines, describe_contested, minute, settling_hint
from passdown.faces.cli.sessions import describe, find_pause, open_sessions, say_age
from passdown.records import as_dict
from passdown.services.handover.context_usage import read_level
from passdown.services.handover.degradation import read_degradation
from passdown.services.operations.waiting import find_waiting
from passdown.services.project.status import (
    HandoffCount,
    IndexHealth,
    IndexState,
    count_handoffs,
    find_index_state,
)
from passdown.services.sessions.decisions import read_contested
from passdown.services.sessions.journals import name_now, read_accounts, read_open
from passdown.services.sessions.liveness import is_live, show_place
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.searches import open_search_scope

if TYPE_CHECKING:
    from passdown.services.coordination.overview import TaskOverview, TeamOverview
    from passdown.services.sessions.owed_commits import UncommittedFiles

Row = tuple[Account, str]
_LAST_WORK: Final = "last worked on"


def show_status(*, show_all: bool, as_json: bool) -> int:
    """Show the sessions of the project, handoffs, index, and what waits to be committed."""
    workspace = open_sessions()
    accounts = read_accounts(workspace) if show_all else read_open(workspace)
    rows = [(account, _state(workspace, account)) for account in accounts]
    rows = [(show_place(workspace, row[0]), row[1]) for row in rows if show_all or row[1] != "ended"]
    paused = find_pause(workspace)
    handoffs, index = count_handoffs(workspace), find_index_state(open_search_scope(workspace))
    uncommitted = _find_uncommitted(workspace)
    tasks = _find_tasks(workspace)
    team = _find_team(workspace, tasks)
    outbox = find_waiting(workspace)
    contested = read_contested(workspace)
    if as_json:
        output.say_json(
            {
                "sessions": [_describe(workspace, *row) for row in rows],
                "handoffs": {
                    "count": handoffs.count,
                    "last_at": handoffs.last_at and render_seconds(handoffs.last_at),
                },
                "index": {"state": index.health.value, "changes": index.changes},
                "paused_by": paused or None,
                "uncommitted": _describe_uncommitted(uncommitted) if uncommitted else None,
                **_describe_team(team),
                "tracker": _describe_tracker(tasks),
                "outbox": _describe_outbox(workspace, outbox),
                "contested": describe_contested(contested),
            }
        )
        return 0
    if paused:
        output.say(f"paused by {paused}: nothing runs automatically until `passdown unpause`")
    if not rows:
        output.say("no session is running in this project")
    for account, state in rows:
        _say_session(workspace, account, state)
    _say_shared(team, tasks)
    _say_outbox(workspace, outbox)
    _say_contested(workspace, contested)
    output.say(_say_handoffs(handoffs))
    output.say(say_index(index))
    if uncommitted:
        _say_uncommitted(workspace, uncommitted)
    return 0


def _say_shared(team: "TeamOverview | None", tasks: "TaskOverview | None") -> None:
    """Say who takes part, and what there is to do."""
    if team:
        from passdown.faces.cli.team_status import say_team  # few sessions coordinate

        say_team(team)
    if tasks:
        from passdown.faces.cli.team_status import say_tracker

        say_tracker(tasks)


def _say_contested(workspace: Workspace, contested: Sequence[Sequence[Fact]]) -> None:
    """Say which decisions did not know of each other, and how to settle them."""
    if contested:
        for line in contested_lines(contested, workspace.now()):
            output.say(output.wrapped(line, "", "  "))
        output.note_hint(settling_hint(contested))


def _describe_outbox(workspace: Workspace, outbox: Sequence[SharedOperation]) -> list[object]:
    return [describe_operation(one, workspace.now()) for one in outbox]


def _say_outbox(workspace: Workspace, outbox: Sequence[SharedOperation]) -> None:
    """Say what waits for the tracker, with its age."""
    if outbox:
        output.say("waiting for the tracker; the next command that reaches it does this:")
    for one in outbox:
        said = f"{one.action} {one.task}".rstrip()
        age = age_words(workspace.now() - one.at)
        by = f", by {one.agent}" if one.agent else ""
        why = f": {one.error}" if one.error else ""
        output.say(output.wrapped(f"{said}, {age} old{by}{why}", "  ", "    "))


def _state(workspace: Workspace, account: Account) -> str:
    if account.ended_at is not None:
        return "ended"
    return "live" if is_live(workspace, account) else "stale"


def _choices(workspace: Workspace, account: Account, state: str) -> Sequence[TakeoverChoice]:
    return list_choices(account.start.checkout, workspace.root) if state == "stale" else ()


def _describe(workspace: Workspace, account: Account, state: str) -> dict[str, object]:
    updated = account.said_at
    reading, signs = _read_context(workspace, account)
    return {
        **describe(account),
        **_describe_work(workspace, account),
        "state": state,
        "ledger_updated_at": updated and updated.isoformat(),
        "ledger_age_seconds": updated and int((workspace.now() - updated).total_seconds()),
        "context": reading and {"percent": reading.percent, "level": reading.level.value},
        "compactions": signs.compactions,
        "signals": [{"kind": one.kind.value, "text": one.text} for one in signs.signals],
        "choices": [as_dict(one) for one in _choices(workspace, account, state)],
    }


def _describe_work(workspace: Workspace, account: Account) -> dict[str, object]:
    """Return what a session does, or what it last worked on; a prompt is neither, once it ended."""
    text, name = account.now.text if account.now else None, name_now(workspace, account)
    return {
        "now": text if name == "now" else None,
        "last_worked_on": text if name == _LAST_WORK else None,
    }


def _say_session(workspace: Workspace, account: Account, state: str) -> None:
    output.say(
        f"{account.agent}  {state}, last seen {say_age(workspace, account)}, on {account.start.branch}"
    )
    doing = name_now(workspace, account)
    for name, entry in (("goal", account.goal), (doing, account.now)):
        if entry:
            author = f" ({entry.agent})" if name == _LAST_WORK and entry.agent != account.agent else ""
            output.say(output.wrapped(f"{name}: {entry.text}{author}", "    ", "      "))
    if state != "ended" and account.said_at:
        output.say(f"    ledger: {age_words(workspace.now() - account.said_at)} old")
    _say_context(workspace, account)
    for one in _choices(workspace, account, state):
        output.say(output.wrapped(f"to {one.choice}: `{one.command}`: {one.what}", "    ", "      "))


def _read_context(workspace: Workspace, account: Account) -> tuple[ContextReading | None, Degradation]:
    """Return how full the context of a session is, and what shows that it gets worse, as hooks saw it."""
    names = [layout.session_file(one) for one in reversed(account.host_sessions)]
    readings = [read_level(workspace, name) for name in names]
    signs = [read_degradation(workspace, name) for name in names]
    return next(filter(None, readings), None), next((one for one in signs if one != NO_SIGNS), NO_SIGNS)


def _say_context(workspace: Workspace, account: Account) -> None:
    reading, signs = _read_context(workspace, account)
    parts = [f"{reading.percent} % full"] if reading else []
    if signs.compactions:
        parts.append("compacted once" if signs.compactions == 1 else f"compacted {signs.compactions} times")
    if parts:
        output.say(f"    context: {', '.join(parts)}")
    for one in signs.signals:
        output.say(output.wrapped(f"{one.kind.value}: {one.text}", "    ", "      "))


def _say_handoffs(handoffs: HandoffCount) -> str:
    if not handoffs.count:
        return "handoffs: none"
    last = f", the last {minute(handoffs.last_at)}" if handoffs.last_at else ""
    return f"handoffs: {handoffs.count}{last}"


def say_index(index: IndexState) -> str:
    """Say how the search index stands."""
    if index.health is IndexHealth.CURRENT:
        return "search index: up to date"
    if index.health is IndexHealth.UNUSABLE:
        return "search index: cannot be used; searches read everything"
    files = "1 file" if index.changes == 1 else f"{index.changes} files"
    word = "not made yet" if index.health is IndexHealth.MISSING else "behind"
    return f"search index: {word}; the next search reads {files}"


def _find_tasks(workspace: Workspace) -> "TaskOverview | None":
    """Return the open tasks; None without a tracker, or if the engine behind it does not answer."""
    # Whoever looks for the sessions that coordinate says why.
    with suppress(StorageError, UsageError):
        from passdown.services.coordination.overview import read_tasks  # few sessions have tasks

        return read_tasks(workspace)
    return None


def _describe_tracker(tasks: "TaskOverview | None") -> dict[str, object] | None:
    if tasks is None:
        return None
    from passdown.faces.cli.team_status import describe_tracker  # few sessions have tasks

    return describe_tracker(tasks)


def _find_team(workspace: Workspace, tasks: "TaskOverview | None") -> "TeamOverview | None":
    """Return what sessions share; None if nobody coordinates here, or the engine does not answer."""
    try:
        coordination = workspace.find_coordination()
        if coordination is None:
            return None
        from passdown.services.coordination.overview import read_overview  # few sessions coordinate

        return read_overview(coordination, tasks.tasks if tasks else ())
    except PassdownError as found:  # the sessions are listed all the same
        output.note(found.message)
        output.note_hint(found.hint)
        return None


def _describe_team(team: "TeamOverview | None") -> dict[str, object]:
    if team is None:
        return {"engine": None, "members": [], "tasks": [], "reservations": {}, "offers": []}
    from passdown.faces.cli.team_status import describe_team  # few sessions coordinate

    return describe_team(team)


def _find_uncommitted(workspace: Workspace) -> "UncommittedFiles | None":
    from passdown.services.sessions.owed_commits import find_uncommitted

    try:
        return find_uncommitted(workspace)
    except StorageError as found:  # the sessions are listed all the same
        output.note(found.message)
        return None


def _say_uncommitted(workspace: Workspace, files: "UncommittedFiles") -> None:
    from passdown.services.log.commits import count_files

    count = count_files(workspace.settings.paths, files.paths)
    output.say(output.wrapped(f"not committed yet: {count}: {files.reason}", "", "  "))
    if files.hint:
        output.note_hint(files.hint)


def _describe_uncommitted(files: "UncommittedFiles") -> dict[str, object]:
    return {
        "paths": list(files.paths),
        "reason": files.reason,
        "hint": files.hint or None,
        "until": files.until and files.until.isoformat(),
    }
