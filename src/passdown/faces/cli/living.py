"""What the commands of a session's life do: start, heartbeat, end, publish, status."""

import os
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from passdown import wiring
from passdown.core.accounts import Account
from passdown.core.bookkeeping import Said
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
from passdown.services.journals import Project, read_accounts, read_open
from passdown.services.ledgers import keep_ledger
from passdown.services.presence import is_live

if TYPE_CHECKING:  # each command loads what it needs itself
    from passdown.services.closings import Closed
    from passdown.services.events import Written
    from passdown.services.sessions import Started, Wish

USUAL_REASON: Final = "session-end"


def start_session(wish: "Wish | None" = None, *, as_json: bool = False) -> int:
    """Start a session, or show the one that runs."""
    from passdown.services.sessions import Wish, start_session  # noqa: PLC0415 - see above

    project = open_sessions()
    asked = wish or Wish()
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


def _say_started(project: Project, started: "Started") -> None:
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


def _published(written: "Written | None") -> str:
    return f"what it knew is published as {written.event.id}" if written else "it had nothing to publish"


def _age(project: Project, account: Account) -> str:
    return age_words(project.now() - (account.touched_at or project.now()))


def give_sign(session: str = "", *, as_json: bool = False) -> int:
    """Give a sign of life, and bring the ledger up to date."""
    from passdown.services.sessions import touch  # noqa: PLC0415 - see above

    project = open_sessions()
    account = touch(project, need_session(project, session))
    if as_json:
        output.say_json(describe(account))
    else:
        output.say(f"{account.agent} is alive")
    return 0


def end_session(
    session: str = "", reason: str = USUAL_REASON, *, keep: bool = False, as_json: bool = False
) -> int:
    """End a session, and do what follows."""
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


def _ended(written: "Written | None") -> str:
    return f"published {written.event.id}" if written else "everything was published already"


def _describe_closed(closed: "Closed") -> dict[str, object]:
    from passdown.ports.repository import Committed  # noqa: PLC0415 - see above

    committed = closed.committed
    return {
        **describe(closed.account),
        "event": closed.written.event.id if closed.written else None,
        "record": (closed.archived.path if closed.archived else "") or None,
        "commit": committed.commit if isinstance(committed, Committed) else None,
        "troubles": [trouble.message for trouble in closed.troubles],
    }


def publish_open(session: str = "", checkpoint: Said | None = None, *, as_json: bool = False) -> int:
    """Publish what is open, after a checkpoint if there is one to save."""
    from passdown.services.publications import publish  # noqa: PLC0415 - see above

    project = open_sessions()
    account = need_session(project, session)
    note_kept(keep_ledger(project, account, [checkpoint] if checkpoint else []))
    written = publish(project, account.session, kind="checkpoint", reason="asked")
    if as_json:
        output.say_json(
            {"event": written.event.id if written else None, "file": written.name if written else None}
        )
    else:
        output.say(f"published {written.event.id}: {written.name}" if written else "nothing is open")
    return 0


def show_sessions(*, show_all: bool = False, as_json: bool = False) -> int:
    """List the sessions of the project."""
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


PLAIN: Final[MappingProxyType[str, Callable[[], int]]] = MappingProxyType(
    {
        "start": start_session,
        "heartbeat": give_sign,
        "end": end_session,
        "publish": publish_open,
        "status": show_sessions,
    }
)
"""Each as it is done when it is called without options: the parser takes longer to load than most of them."""
