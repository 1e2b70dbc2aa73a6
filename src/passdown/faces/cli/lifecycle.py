"""The commands of a session's lifecycle: start, heartbeat, end, publish, status."""

from contextlib import suppress
from typing import TYPE_CHECKING

from passdown.core.formats.ledgers import PLATFORMS
from passdown.core.kinds import FactKind
from passdown.core.problems import Malformed
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.errors import PassdownError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.sessions import (
    describe,
    find_pause,
    find_running,
    need_session,
    note_committed,
    note_ledger_update,
    open_sessions,
    say_age,
    update_view,
)
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.workspace.workspaces import Workspace

if TYPE_CHECKING:  # each command imports what it needs
    from collections.abc import Sequence

    from passdown.faces.hooks.handoff_news import HandoffReport
    from passdown.services.log.commits import CommitTrigger
    from passdown.services.log.events import WrittenEvent
    from passdown.services.sessions.session_end import ClosedSession
    from passdown.services.sessions.sessions import RecoveredSession, StartedSession


def start_session(*, multi: bool, as_json: bool, **request: str | bool) -> int:
    """Start a session, or show the running one."""
    from passdown.services.sessions.owed_commits import AT_START
    from passdown.services.sessions.sessions import StartRequest, start_session

    workspace = open_sessions()
    asked = StartRequest(
        host=str(request["host"]),
        host_session=str(request["host_session"]),
        is_named=bool(request["host_session"]),
        nickname=str(request["nickname"]),
        track=str(request["track"]),
        mode="MA" if multi else "",
        is_new=bool(request["is_new"]),
        is_fresh=bool(request["is_fresh"]),
    )
    if asked.host not in PLATFORMS:
        output.note(f"unknown host {asked.host}; it is recorded as given")
    started = start_session(workspace, asked)
    handoffs = _take_handoffs(workspace, started.account)
    if started.is_recorded:
        _record(workspace, started)
    told = _join(workspace, started)
    update_view(workspace)
    committed = _commit(workspace, AT_START)
    if asked.mode and started.account.start.mode != asked.mode:
        output.note(
            f"{started.account.agent} stays in the mode it started with: {started.account.start.mode}"
        )
    if as_json:
        output.say_json(
            {
                **describe(started.account),
                "is_new": started.is_new,
                "recovered": [one.account.session for one in started.recovered],
                "archived": [one.path for one in started.archived if one.path],
                "others": [describe(one) for one in started.others],
                "commit": _commit_id(committed),
                "handoffs": [*handoffs.data] if handoffs else [],
            }
        )
    else:
        for line in handoffs.lines if handoffs else ():
            output.say(line)
        _say_started(workspace, started)
        for line in told:
            output.note(line)
        if commit := _commit_id(committed):
            output.note(f"committed what an ended session left as {commit[:12]}")
    return 0


def _take_handoffs(workspace: Workspace, account: Account) -> "HandoffReport | None":
    """Take what others handed to a session; usually there is nothing. Say what went wrong."""
    from passdown.wiring.workspaces import open_with_handoffs

    # The join says that the engine does not answer; what could not be told is told by the next start.
    with suppress(PassdownError):
        checkouts = open_with_handoffs(workspace)
        if checkouts or workspace.find_coordination() is not None:
            from passdown.faces.hooks.handoff_news import read_news  # few starts have something to say

            report = read_news(workspace, account, checkouts)
            for trouble in report.troubles:
                output.note(trouble)
            return report
    return None


def _join(workspace: Workspace, started: "StartedSession") -> "Sequence[str]":
    """Let the session take part, if sessions coordinate here; return what its user should know."""
    try:
        coordination = workspace.find_coordination()
        if coordination is None:
            return ()
        from passdown.services.coordination.arrivals import arrive, name_orphans  # few sessions coordinate

        arrival = arrive(workspace, started, coordination)
    except PassdownError as found:  # the session has started
        return (f"the session does not take part in coordination: {found.message}",)
    count = len(arrival.team.messages)
    mail = f"{count} unread message{'' if count == 1 else 's'}: run `passdown inbox`"
    inherited = arrival.inherited.resources if arrival.inherited else ()
    held = [f"the session goes on with {name}, which a dead session held" for _, name in inherited]
    return (*held, *([mail] if count else []), *name_orphans(arrival.team))


def _leave(workspace: Workspace, account: Account) -> None:
    """Release what a session holds that ended."""
    try:
        coordination = workspace.find_coordination()
        if coordination is not None:
            from passdown.services.coordination.membership import leave_project  # few sessions coordinate

            leave_project(workspace, account.session, coordination)
    except PassdownError as found:  # the session has ended; what it holds expires
        output.note(f"what {account.agent} holds is not released yet: {found.message}")
        output.note_hint(found.hint)


def _record(workspace: Workspace, started: "StartedSession") -> None:
    from passdown.faces.hooks.hook_log import log_metrics  # few starts have something to record
    from passdown.services.project.metrics import find_start_metrics

    log_metrics(workspace.root, find_start_metrics(workspace, started))


def _commit(workspace: Workspace, triggers: "Sequence[CommitTrigger]") -> object:
    """Commit what sessions published, if the settings say so; report only what the user must mend."""
    from passdown.services.sessions.owed_commits import commit_waiting, find_trouble

    if find_pause(workspace):
        return None
    try:
        committed = commit_waiting(workspace, triggers)
        trouble = find_trouble(committed)
    except PassdownError as found:  # the session has started, or the event is written
        committed, trouble = None, found.message
    if trouble:
        output.note(f"not committed: {trouble}")
    return committed


def _commit_id(committed: object) -> str | None:
    from passdown.ports.repository import Committed  # most commands do not commit

    return committed.commit if isinstance(committed, Committed) else None


def _say_started(workspace: Workspace, started: "StartedSession") -> None:
    account = started.account
    word = "started" if started.is_new else "is already running"
    output.say(f"{account.agent} {word} on {account.branch} ({account.session})")
    output.say(f"ledger: {account.start.ledger}")
    if account.goal:
        output.say(f"goal: {account.goal.text}")
    from passdown.services.log.legacy_view import find_legacy

    if path := find_legacy(workspace):
        output.note(f"{path} was not made by Passdown")
        output.note_hint("run `passdown migrate` to import it")
    for one in started.recovered:
        _say_recovered(workspace, started, one)
    for archived in started.archived:
        if archived.path:
            output.note(f"archived an old ledger: {archived.path}")
    for other in started.others:
        doing = other.now.text if other.now else "it has not said what it is doing"
        output.note(f"{other.agent} is also working here (last seen {say_age(workspace, other)}): {doing}")


def _say_recovered(workspace: Workspace, started: "StartedSession", one: "RecoveredSession") -> None:
    """Say what became of a session that died, or ended without us, and how not to take it over."""
    agent = one.account.agent
    if one.account.ended_at is not None:
        output.note(f"{agent} ended: {_published(one.written)}")
        return
    seen = say_age(workspace, one.account)
    output.note(f"{agent} did not end properly (last seen {seen}): {_published(one.written)}")
    if started.takes_over(one.account):
        output.note_hint(
            f"this session took over from it; to begin anew: `passdown end --session "
            f"{started.account.session}`, then `passdown start --fresh`"
        )


def _published(written: "WrittenEvent | None") -> str:
    return f"its facts are published as {written.event.id}" if written else "it had nothing to publish"


def send_heartbeat(*, session: str, as_json: bool) -> int:
    """Send a heartbeat, and update the ledger."""
    from passdown.services.sessions.sessions import touch

    workspace = open_sessions()
    account = touch(workspace, need_session(workspace, session))
    if as_json:
        output.say_json(describe(account))
    else:
        output.say(f"{account.agent} is alive")
    return 0


def end_session(*, session: str, reason: str, keep: bool, as_json: bool) -> int:
    """End a session: publish, archive and commit as configured."""
    from passdown.faces.cli.kept_views import note_kept_view
    from passdown.services.sessions.session_end import close_session

    workspace = open_sessions()
    account = find_running(workspace, session)
    if account is None:
        raise UsageError("no session is running here", hint="`passdown status` lists the sessions")
    closed = close_session(workspace, account, reason, keep=keep)
    _leave(workspace, account)
    for trouble in closed.troubles:
        output.note(trouble.message)
        output.note_hint(trouble.hint)
    if as_json:
        output.say_json(_describe_closed(closed))
    else:
        output.say(f"{account.agent} ended; {_ended(closed.written)}")
        if closed.archived and closed.archived.path:
            output.say(f"ledger archived: {closed.archived.path}")
        note_committed(closed.committed)
    note_kept_view(closed.view)
    return 0


def _ended(written: "WrittenEvent | None") -> str:
    return f"published {written.event.id}" if written else "there was nothing left to publish"


def _describe_closed(closed: "ClosedSession") -> dict[str, object]:
    return {
        **describe(closed.account),
        "event": closed.written.event.id if closed.written else None,
        "record": (closed.archived.path if closed.archived else "") or None,
        "commit": _commit_id(closed.committed),
        "troubles": [trouble.message for trouble in closed.troubles],
    }


def publish_open(*, session: str, checkpoint: str, state: str, name: str, as_json: bool) -> int:
    """Publish new facts, after saving a checkpoint if one is named."""
    from passdown.services.sessions.owed_commits import AFTER_EVENT, AT_CHECKPOINT
    from passdown.services.sessions.publications import publish

    saved = [_make_checkpoint(checkpoint, state, name)] if checkpoint else []
    workspace = open_sessions()
    account = need_session(workspace, session)
    note_ledger_update(update_ledger(workspace, account, saved))
    written = publish(workspace, account.session, kind="checkpoint", reason="asked")
    update_view(workspace)
    committed = _commit(workspace, AT_CHECKPOINT if checkpoint else AFTER_EVENT)
    if as_json:
        output.say_json(
            {
                "event": written.event.id if written else None,
                "file": written.name if written else None,
                "commit": _commit_id(committed),
            }
        )
        return 0
    output.say(f"published {written.event.id}: {written.name}" if written else "nothing to publish")
    if commit := _commit_id(committed):
        output.note(f"committed as {commit[:12]}")
    return 0


def _make_checkpoint(phase: str, state: str, name: str) -> NewFact:
    """Make the fact of a checkpoint; raise a UsageError for a state that a phase does not have."""
    from passdown.core.phases import PhaseState, read_state  # few calls save a checkpoint

    try:
        known = read_state(state)
    except Malformed:
        hint = "use one of " + ", ".join(one.value for one in PhaseState)
        raise UsageError(f"a phase has no state {state[:60]!r}", hint=hint) from None
    return NewFact(FactKind.CHECKPOINT, known.value, phase, name.strip())


def show_sessions(*, show_all: bool, as_json: bool) -> int:
    """Show the sessions of the project, handoffs, index, and what waits to be committed."""
    from passdown.faces.cli.status import show_status  # only this command needs it

    return show_status(show_all=show_all, as_json=as_json)
