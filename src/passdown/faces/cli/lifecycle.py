"""The commands of a session's lifecycle: start, heartbeat, end, publish, status."""

import os
from datetime import timedelta
from typing import TYPE_CHECKING

from passdown.core.formats.ledgers import PLATFORMS
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.core.times import age_words
from passdown.errors import PassdownError, StorageError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.sessions import (
    describe,
    find_running,
    need_session,
    note_committed,
    note_ledger_update,
    open_sessions,
)
from passdown.services.sessions.journals import read_accounts, read_open
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.liveness import is_live
from passdown.services.workspace.workspaces import Workspace

if TYPE_CHECKING:  # each command imports what it needs
    from passdown.services.log.events import WrittenEvent
    from passdown.services.sessions.owed_commits import UncommittedFiles
    from passdown.services.sessions.session_end import ClosedSession
    from passdown.services.sessions.sessions import StartedSession


def start_session(*, multi: bool, as_json: bool, **request: str | bool) -> int:
    """Start a session, or show the running one."""
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
    committed = _commit_ended(workspace)
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
            }
        )
    else:
        _say_started(workspace, started)
        if commit := _commit_id(committed):
            output.note(f"committed what an ended session left as {commit[:12]}")
    return 0


def _commit_ended(workspace: Workspace) -> object:
    """Commit what ended sessions left, if the settings say so; report only what the user must mend."""
    from passdown.services.sessions.owed_commits import AT_START, commit_waiting, find_trouble

    if _find_pause(workspace):
        return None
    try:
        committed = commit_waiting(workspace, AT_START)
        trouble = find_trouble(committed)
    except PassdownError as found:  # the session has started
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
    output.say(f"{account.agent} {word} on {account.start.branch} ({account.session})")
    output.say(f"ledger: {account.start.ledger}")
    if account.goal:
        output.say(f"goal: {account.goal.text}")
    for one in started.recovered:
        output.note(f"{one.account.agent} did not end properly: {_published(one.written)}")
    for archived in started.archived:
        if archived.path:
            output.note(f"archived an old ledger: {archived.path}")
    for other in started.others:
        doing = other.now.text if other.now else "it has not said what it is doing"
        output.note(f"{other.agent} is also working here (last seen {_ago(workspace, other)}): {doing}")


def _published(written: "WrittenEvent | None") -> str:
    return f"its facts are published as {written.event.id}" if written else "it had nothing to publish"


def _ago(workspace: Workspace, account: Account) -> str:
    age = workspace.now() - (account.touched_at or workspace.now())
    return f"{age_words(age)} ago" if age >= timedelta(seconds=1) else "just now"


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


def publish_open(*, session: str, checkpoint: str, state: str, as_json: bool) -> int:
    """Publish new facts, after saving a checkpoint if one is named."""
    from passdown.services.sessions.publications import publish

    workspace = open_sessions()
    account = need_session(workspace, session)
    saved = [NewFact(FactKind.CHECKPOINT, state, checkpoint)] if checkpoint else []
    note_ledger_update(update_ledger(workspace, account, saved))
    written = publish(workspace, account.session, kind="checkpoint", reason="asked")
    if as_json:
        output.say_json(
            {"event": written.event.id if written else None, "file": written.name if written else None}
        )
    else:
        output.say(f"published {written.event.id}: {written.name}" if written else "nothing to publish")
    return 0


def show_sessions(*, show_all: bool, as_json: bool) -> int:
    """List the sessions of the project, and what waits to be committed."""
    workspace = open_sessions()
    accounts = read_accounts(workspace) if show_all else read_open(workspace)
    rows = [(account, _state(workspace, account)) for account in accounts]
    rows = [row for row in rows if show_all or row[1] != "ended"]
    paused = _find_pause(workspace)
    uncommitted = _find_uncommitted(workspace)
    if as_json:
        sessions = [{**describe(account), "state": state} for account, state in rows]
        files = _describe_uncommitted(uncommitted) if uncommitted else None
        output.say_json({"sessions": sessions, "paused_by": paused or None, "uncommitted": files})
        return 0
    if paused:
        output.say(f"paused by {paused}: nothing runs automatically until `passdown unpause`")
    if not rows:
        output.say("no session is running in this project")
    for account, state in rows:
        output.say(
            f"{account.agent}  {state}, last seen {_ago(workspace, account)}, on {account.start.branch}"
        )
        for name, entry in (("goal", account.goal), ("now", account.now)):
            if entry:
                output.say(output.wrapped(f"{name}: {entry.text}", "    ", "      "))
    if uncommitted:
        _say_uncommitted(workspace, uncommitted)
    return 0


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


def _find_pause(workspace: Workspace) -> str:
    """Return what pauses Passdown here, or an empty string if it is not paused."""
    from passdown.services.project.pauses import find_pauses  # only this command needs it

    return ", ".join(pause.by for pause in find_pauses(workspace, os.environ))


def _state(workspace: Workspace, account: Account) -> str:
    if account.ended_at is not None:
        return "ended"
    return "live" if is_live(workspace, account) else "stale"
