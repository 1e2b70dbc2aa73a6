"""The life of a session, told by hand or by a hook: start, heartbeat, end, publish, status."""

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from passdown import wiring
from passdown.core.accounts import Account
from passdown.core.bookkeeping import Said
from passdown.core.facts import FactKind
from passdown.core.ledgers import PLATFORMS
from passdown.core.times import age_words
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.sessions import (
    describe,
    find_running,
    need_session,
    note_committed,
    note_kept,
    open_sessions,
)
from passdown.ports.repository import Committed
from passdown.services.events import Written
from passdown.services.journals import Project, read_accounts, read_open
from passdown.services.ledgers import keep_ledger
from passdown.services.presence import is_live
from passdown.services.sessions import Started, Wish, start_session, touch

if TYPE_CHECKING:  # only an end needs what ends
    from passdown.services.closings import Closed

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_session_option = click.option("--session", default="", metavar="ID", help="The session that is meant.")


@click.command()
@click.option("--host", default="generic", metavar="NAME", help="The program you run in.")
@click.option("--session", "host_session", default="", metavar="ID", help="The id the host gave the session.")
@click.option("--nickname", default="", metavar="NAME", help="What you want to be called.")
@click.option("--track", default="", metavar="TRACK", help="The track to work on.")
@click.option("--multi", is_flag=True, help="Several agents work together.")
@click.option("--new", "is_new", is_flag=True, help="Start another session, whatever runs.")
@click.option("--fresh", "is_fresh", is_flag=True, help="Do not carry on the goal of the last session.")
@_json_option
def start(*, multi: bool, as_json: bool, **wish: str | bool) -> int:
    """Start a session, or show the one that runs; what never ended is recovered first."""
    project = open_sessions()
    asked = Wish(
        host=str(wish["host"]),
        host_session=str(wish["host_session"]),
        nickname=str(wish["nickname"]),
        track=str(wish["track"]),
        mode="MA" if multi else "",
        is_new=bool(wish["is_new"]),
        is_fresh=bool(wish["is_fresh"]),
    )
    if asked.host not in PLATFORMS:
        output.note(f"{asked.host} is no host that Passdown knows; it is kept as it is")
    started = start_session(project, asked)
    if asked.mode and started.account.start.mode != asked.mode:
        output.note(f"{started.account.agent} keeps the mode it began with: {started.account.start.mode}")
    if as_json:
        output.say_json(
            {
                **describe(started.account),
                "is_new": started.is_new,
                "recovered": [one.account.session for one in started.recovered],
                "archived": [one.path for one in started.archived if one.path],
                "others": [describe(one) for one in started.others],
            }
        )
    else:
        _say_started(project, started)
    return 0


def _say_started(project: Project, started: Started) -> None:
    account = started.account
    word = "started" if started.is_new else "is at work"
    output.say(f"{account.agent} {word} on {account.start.branch} ({account.session})")
    output.say(f"ledger: {account.start.ledger}")
    if account.goal:
        output.say(f"goal: {account.goal.text}")
    for one in started.recovered:
        output.note(f"{one.account.agent} never ended: {_published(one.written)}")
    for archived in started.archived:
        if archived.path:
            output.note(f"an old ledger is archived: {archived.path}")
    for other in started.others:
        doing = other.now.text if other.now else "it has not said on what"
        output.note(f"{other.agent} is at work too, {_age(project, other)} ago: {doing}")


def _published(written: Written | None) -> str:
    return f"what it knew is published as {written.event.id}" if written else "it had nothing to publish"


def _age(project: Project, account: Account) -> str:
    return age_words(project.now() - (account.touched_at or project.now()))


@click.command()
@_session_option
@_json_option
def heartbeat(session: str, *, as_json: bool) -> int:
    """Give a sign of life, and bring the ledger up to date."""
    project = open_sessions()
    account = touch(project, need_session(project, session))
    if as_json:
        output.say_json(describe(account))
    else:
        output.say(f"{account.agent} is alive")
    return 0


@click.command()
@_session_option
@click.option("--reason", default="session-end", metavar="WORD", help="Why: clear, logout, done, …")
@click.option("--keep", is_flag=True, help="Leave the ledger where it is.")
@_json_option
def end(session: str, reason: str, *, keep: bool, as_json: bool) -> int:
    """End a session: publish what is open, archive its ledger, commit where agreed."""
    from passdown.services.closings import close_session  # noqa: PLC0415 - see above

    project = open_sessions()
    account = find_running(project, session)
    if account is None:
        raise UsageError("no session runs here", hint="`passdown status` lists the sessions")
    closed = close_session(project, account, reason, keep=keep)
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
    return 0


def _ended(written: Written | None) -> str:
    return f"published {written.event.id}" if written else "everything was published already"


def _describe_closed(closed: "Closed") -> dict[str, object]:
    committed = closed.committed
    return {
        **describe(closed.account),
        "event": closed.written.event.id if closed.written else None,
        "record": (closed.archived.path if closed.archived else "") or None,
        "commit": committed.commit if isinstance(committed, Committed) else None,
        "troubles": [trouble.message for trouble in closed.troubles],
    }


@click.command()
@_session_option
@click.option("--checkpoint", default="", metavar="PHASE", help="Save a checkpoint of this phase first.")
@click.option("--state", default="validated", metavar="STATE", help="How far the phase is.")
@_json_option
def publish(session: str, checkpoint: str, state: str, *, as_json: bool) -> int:
    """Publish what is open as an event that every checkout can merge."""
    from passdown.services.publications import publish as publish_session  # noqa: PLC0415 - as above

    project = open_sessions()
    account = need_session(project, session)
    said = [Said(FactKind.CHECKPOINT, state, checkpoint)] if checkpoint else []
    kept = keep_ledger(project, account, said)
    note_kept(kept)
    written = publish_session(project, account.session, kind="checkpoint", reason="asked")
    if as_json:
        output.say_json(
            {"event": written.event.id if written else None, "file": written.name if written else None}
        )
    else:
        output.say(f"published {written.event.id}: {written.name}" if written else "nothing is open")
    return 0


@click.command()
@click.option("--all", "show_all", is_flag=True, help="Show sessions that ended, too.")
@_json_option
def status(*, show_all: bool, as_json: bool) -> int:
    """List the sessions of the project, what each does, and which are stale."""
    project = open_sessions()
    accounts = read_accounts(project) if show_all else read_open(project)
    rows = [(account, _state(project, account)) for account in accounts]
    rows = [row for row in rows if show_all or row[1] != "ended"]
    paused = _find_pause(project)
    if as_json:
        sessions = [{**describe(account), "state": state} for account, state in rows]
        output.say_json({"sessions": sessions, "paused_by": paused or None})
        return 0
    if paused:
        output.say(f"paused by {paused}: nothing runs by itself until `passdown unpause`")
    if not rows:
        output.say("no session runs in this project")
    for account, state in rows:
        output.say(f"{account.agent}  {state}, {_age(project, account)} ago, on {account.start.branch}")
        for name, entry in (("goal", account.goal), ("now", account.now)):
            if entry:
                output.say(output.wrapped(f"{name}: {entry.text}", "    ", "      "))
    return 0


def _find_pause(project: Project) -> str:
    """Name what turns Passdown off here; empty when nothing does."""
    from passdown.services.pauses import find_pauses  # noqa: PLC0415 - no other command here asks

    site = wiring.open_site(Path(project.root), project.checkout.settings)
    return ", ".join(pause.by for pause in find_pauses(site, os.environ))


def _state(project: Project, account: Account) -> str:
    if account.ended_at is not None:
        return "ended"
    return "live" if is_live(project, account) else "stale"


LIFE: Final = MappingProxyType(
    {"start": start, "heartbeat": heartbeat, "end": end, "publish": publish, "status": status}
)
