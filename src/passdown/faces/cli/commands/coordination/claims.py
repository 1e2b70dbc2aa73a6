"""`passdown claim`, `passdown close`: take a task that no other session has, and finish it."""

import click

from passdown.core.coordination.leases import Held, Lost
from passdown.core.coordination.tasks import COMPLETED, REASONS, Claimed, NothingReady, TaskClosed
from passdown.faces.cli import output
from passdown.faces.cli.coordination import (
    HELD_CODE,
    as_value,
    json_option,
    say_held,
    say_lost,
    say_mail,
    say_waiting,
    session_option,
)
from passdown.faces.cli.sessions import need_session, open_sessions
from passdown.services.coordination.claims import (
    ClaimResult,
    CloseRequest,
    CloseResult,
    claim_tasks,
    close_task,
)


@click.command(short_help="Claim a task: the named ones, or the first that is ready.")
@click.argument("tasks", nargs=-1, metavar="[ID]...")
@click.option("--role", default="", metavar="ROLE", help="Only tasks for this role, or for anybody.")
@click.option("--another", is_flag=True, help="Claim one more, though the session has one.")
@session_option
@json_option
def claim(tasks: tuple[str, ...], role: str, session: str, *, another: bool, as_json: bool) -> int:
    """Claim a task: the named ones, or the first that is ready.

    Of the named tasks you get all or none. No other session can have a task that yours has. A session that
    has a task and names none is given that one again. Exits with 3 if another session has a named task, and
    with 0 if there is nothing to claim.
    """
    workspace = open_sessions()
    found = claim_tasks(workspace, need_session(workspace, session), tasks, role=role, another=another)
    if as_json:
        output.say_json(_claim_data(found))
    else:
        _say_claim(found)
    return HELD_CODE if isinstance(found.outcome, Held) else 0


def _say_claim(found: ClaimResult) -> None:
    say_mail(found.mail)
    outcome = found.outcome
    if isinstance(outcome, Held):
        say_held(outcome)
    elif isinstance(outcome, NothingReady):
        output.say("Nothing is ready to be claimed.")
        say_waiting(outcome.waiting)
    else:
        for task, before in zip(outcome.tasks, outcome.orphaned_by, strict=True):
            output.say(f"Claimed: {task.task} {task.title}")
            if before:
                output.say(f"  {before} had it, and gave no sign of life for too long")


def _claim_data(found: ClaimResult) -> dict[str, object]:
    outcome = found.outcome
    claimed = outcome if isinstance(outcome, Claimed) else None
    return {
        "session": found.account.session,
        "claimed": [
            {"id": task.task, "title": task.title, "fence": grant.fence, "left": grant.left}
            for task, grant in zip(claimed.tasks, claimed.grants, strict=True)
        ]
        if claimed
        else [],
        "held": as_value(outcome) if isinstance(outcome, Held) else None,
        "waiting": as_value(outcome.waiting) if isinstance(outcome, NothingReady) else [],
        "mail": len(found.mail),
    }


@click.command(short_help="Close a task that the session has; its files are released.")
@click.argument("task", metavar="[ID]", default="")
@click.option("--reason", type=click.Choice(REASONS), default=COMPLETED, show_default=True, help="Why.")
@click.option("--note", "text", default="", metavar="TEXT", help="What was done, or what it waits for.")
@click.option("--msg", "message", default="", metavar="TEXT", help="Tell the team.")
@session_option
@json_option
def close(task: str, reason: str, text: str, message: str, session: str, *, as_json: bool) -> int:
    """Close a task that the session has; its files are released.

    Tasks that waited for it become ready. What was completed is published as done. Exits with 3 if the
    session does not have the task any more.
    """
    workspace = open_sessions()
    account = need_session(workspace, session)
    found = close_task(workspace, account, CloseRequest(task, reason, text, message))
    if as_json:
        output.say_json(_close_data(found))
    elif isinstance(found.outcome, Lost):
        say_lost(found.outcome)
    else:
        _say_closed(found.outcome)
    return HELD_CODE if isinstance(found.outcome, Lost) else 0


def _say_closed(closed: TaskClosed) -> None:
    output.say(f"Closed: {closed.task.task} {closed.task.title} ({closed.task.reason})")
    if closed.released:
        output.say(f"  released: {', '.join(closed.released)}")
    if closed.freed:
        output.say(f"  ready now: {', '.join(closed.freed)}")


def _close_data(found: CloseResult) -> dict[str, object]:
    outcome = found.outcome
    closed = outcome if isinstance(outcome, TaskClosed) else None
    return {
        "session": found.account.session,
        "closed": closed.task.task if closed else None,
        "reason": closed.task.reason if closed else None,
        "note": found.note if closed else None,
        "released": list(closed.released) if closed else [],
        "ready": list(closed.freed) if closed else [],
        "lost": as_value(outcome) if isinstance(outcome, Lost) else None,
    }
