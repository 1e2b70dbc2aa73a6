"""The commands of a session's lifecycle: start, heartbeat, end, publish, status."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from passdown.core.formats.ledgers import GENERIC, PLATFORMS
from passdown.core.problems import Malformed
from passdown.core.sessions.session_facts import Account
from passdown.errors import PassdownError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.sessions import (
    describe,
    find_new_id,
    find_pause,
    find_running,
    need_session,
    note_committed,
    note_ledger_update,
    open_sessions,
    say_age,
    update_view,
)
from passdown.records import replace
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.projects import open_hosts

if TYPE_CHECKING:  # each command imports what it needs
    from collections.abc import Collection, Mapping, Sequence

    from passdown.core.formats.checkpoints import Phase
    from passdown.core.sessions.progress import RanTest
    from passdown.faces.hooks.handoff_news import HandoffReport
    from passdown.services.log.commits import CommitTrigger
    from passdown.services.log.events import WrittenEvent
    from passdown.services.sessions.session_end import ClosedSession
    from passdown.services.sessions.sessions import RecoveredSession, StartedSession, StartRequest
    from passdown.services.work.checkpoints import SavedCheckpoint


def start_session(*, multi: bool, as_json: bool, **request: str | bool) -> int:
    """Start a session, or show the running one."""
    from passdown.faces.hooks.handoff_search import find_news
    from passdown.services.coordination.finishing import finish_dead
    from passdown.services.sessions.owed_commits import AT_START
    from passdown.services.sessions.sessions import start_session
    from passdown.wiring.workspaces import open_with_handoffs

    workspace = open_sessions()
    asked = _with_caller(workspace, _read_request(request, multi=multi))
    if asked.host not in PLATFORMS:
        output.note(f"unknown host {asked.host}; it is recorded as given")
    finish_dead(workspace)
    started = start_session(workspace, asked)
    started = _take_in(workspace, started)
    handoffs = find_news(workspace, started.account, open_with_handoffs(workspace))
    if started.is_recorded:
        _record(workspace, started)
    told = _join(workspace, started, handoffs.ids if handoffs else ())
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
                **{key: name or None for key, name in _list_given(started.account)},
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
        for line in (*told, *_say_commit(committed)):
            output.note(line)
    _settle(workspace, started.account, handoffs)
    return 0


def _read_request(request: "Mapping[str, str | bool]", *, multi: bool) -> "StartRequest":
    """Return what a start asks for, as it was typed."""
    from passdown.services.sessions.sessions import StartRequest
    from passdown.settings import check_name

    return StartRequest(
        host=str(request["host"]),
        host_session=str(request["host_session"]),
        is_named=bool(request["host_session"]),
        nickname=str(request["nickname"]),
        track=str(request["track"]),
        mode="MA" if multi else "",
        is_new=bool(request["is_new"]),
        is_fresh=bool(request["is_fresh"]),
        team=check_name(request["team"], "--team"),
        role=check_name(request["role"], "--role"),
    )


def _with_caller(workspace: Workspace, asked: "StartRequest") -> "StartRequest":
    """Return what a start asks for with the session that the environment of the command names, if it fits."""
    caller = open_hosts().find_caller(os.environ)
    is_other = asked.is_new or asked.host_session or (caller and asked.host not in {GENERIC, caller.host})
    if is_other:
        return asked
    if caller is not None:
        return replace(asked, host=caller.host, host_session=caller.session)
    given = find_new_id(workspace)
    return replace(asked, host_session=given, is_named=bool(given))


def _take_in(workspace: Workspace, started: "StartedSession") -> "StartedSession":
    """Take in documents of others, if there are any (C147)."""
    from passdown.services.sessions.other_documents import has_documents

    if not has_documents(workspace):
        return started
    from passdown.services.handover.briefed_documents import take_in_documents  # most projects have none

    return replace(started, account=take_in_documents(workspace, started.account))


def _say_commit(committed: object) -> "Sequence[str]":
    commit = _commit_id(committed)
    return [f"committed what an ended session left as {commit[:12]}"] if commit else []


def _settle(workspace: Workspace, account: Account, handoffs: "HandoffReport | None") -> None:
    """Mark handoffs as read that were printed; say what went wrong with them."""
    if handoffs is not None:
        from passdown.faces.hooks.handoff_search import settle_news

        for trouble in (*handoffs.troubles, *settle_news(workspace, account, handoffs)):
            output.note(trouble)


def _join(workspace: Workspace, started: "StartedSession", told: "Collection[str]") -> "Sequence[str]":
    """Let the session take part, if sessions coordinate here; return what its user should know.

    `told` are the ids of messages that it is told otherwise.
    """
    try:
        coordination = workspace.find_coordination()
        if coordination is None:
            return ()
        from passdown.core.coordination.messages import count_unread  # few sessions coordinate
        from passdown.services.coordination.arrivals import arrive, name_orphans

        arrival = arrive(workspace, started, coordination, told)
    except PassdownError as found:  # the session has started
        return (f"the session does not take part in coordination: {found.message}",)
    count = len(arrival.team.messages)
    mail = f"{count_unread(count)}: run `passdown inbox`"
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
        committed = commit_waiting(workspace, triggers, note=output.note)
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
    if given := [f"{key}: {name}" for key, name in _list_given(account) if name]:
        output.say(", ".join(given))
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


def _list_given(account: Account) -> "Sequence[tuple[str, str]]":
    return (("team", account.start.team), ("role", account.start.role))


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
    from passdown.services.work.session_contexts import save_if_complete

    workspace = open_sessions()
    account = find_running(workspace, session)
    if account is None:
        raise UsageError("no session is running here", hint="`passdown status` lists the sessions")
    if why := save_if_complete(workspace, account):
        output.note(why)
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
    """Publish new facts; with a checkpoint, save it as `passdown checkpoint` does (C104)."""
    from passdown.services.sessions.owed_commits import AFTER_EVENT
    from passdown.services.sessions.publications import publish

    phase = _make_phase(checkpoint, state, name) if checkpoint else None
    workspace = open_sessions()
    account = need_session(workspace, session)
    if phase is not None:
        saved, commit = save_phase(workspace, account, phase)
        written, stream = saved.written, saved.stream
    else:
        note_ledger_update(update_ledger(workspace, account))
        written, stream = publish(workspace, account.session, kind="checkpoint", reason="asked"), ""
        update_view(workspace)
        commit = _commit_id(_commit(workspace, AFTER_EVENT))
    if as_json:
        event, file = (written.event.id, written.name) if written else (None, None)
        output.say_json({"event": event, "file": file, "stream": stream or None, "commit": commit})
        return 0
    output.say(f"published {written.event.id}: {written.name}" if written else "nothing to publish")
    if stream:
        output.say(f"shown in {stream}")
    note_commit(commit)
    return 0


def _make_phase(number: str, state: str, name: str) -> "Phase":
    """Make a phase; raise a UsageError for a number or a state that a phase does not have."""
    from passdown.core.documents.fields import read_count  # few calls save a checkpoint
    from passdown.core.formats.checkpoints import Phase
    from passdown.core.phases import PhaseState, read_state

    try:
        known = read_state(state)
    except Malformed:
        hint = "use one of " + ", ".join(one.value for one in PhaseState)
        raise UsageError(f"a phase has no state {state[:60]!r}", hint=hint) from None
    with suppress(Malformed):  # the error below says so
        if count := read_count(number):
            return Phase(phase=count, name=name.strip(), state=known)
    raise UsageError(
        f"a phase has no number {number[:60]!r}", hint="number phases from 1, and name them with --name"
    )


def save_phase(
    workspace: Workspace,
    account: Account,
    phase: "Phase",
    *,
    tests: "Sequence[RanTest]" = (),
    stream: str = "",
) -> "tuple[SavedCheckpoint, str | None]":
    """Save a checkpoint, update the view, and commit if the settings say so; also return that commit."""
    from passdown.services.sessions.owed_commits import AT_CHECKPOINT
    from passdown.services.work.checkpoints import save_checkpoint

    saved = save_checkpoint(workspace, account, phase, tests=tests, stream=stream)
    note_ledger_update(saved.update)
    update_view(workspace)
    return saved, _commit_id(_commit(workspace, AT_CHECKPOINT))


def note_commit(commit: str | None) -> None:
    """Report a commit, if one was made."""
    if commit:
        output.note(f"committed as {commit[:12]}")


def show_sessions(*, show_all: bool, as_json: bool) -> int:
    """Show the sessions of the project, handoffs, index, and what waits to be committed."""
    from passdown.faces.cli.status import show_status  # only this command needs it

    return show_status(show_all=show_all, as_json=as_json)
