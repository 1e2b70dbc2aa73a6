"""`passdown claim`, `passdown close`: take a task that no other session has, and finish it."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import click

from passdown.core.coordination.handoff_rules import QUOTED
from passdown.core.coordination.leases import Held, Lost
from passdown.core.coordination.messages import WaitingMessage
from passdown.core.coordination.tasks import COMPLETED, REASONS, Claimed, NothingReady, TaskClosed
from passdown.errors import StorageError
from passdown.faces.cli import output
from passdown.faces.cli.commands.work.preflight import prepare, skip_preflight_option
from passdown.faces.cli.commands.work.tdd import read_choice, tdd_options
from passdown.faces.cli.coordination import (
    HELD_CODE,
    again_option,
    as_value,
    json_option,
    mark_as_read,
    open_shared,
    say_held,
    say_lost,
    say_messages,
    say_waiting,
    session_option,
)
from passdown.faces.cli.sessions import need_session
from passdown.faces.hooks.hook_log import log_metrics
from passdown.ports.tracker import ClaimWish
from passdown.records import replace
from passdown.services.coordination.claims import ClaimResult, CloseRequest, CloseResult
from passdown.services.project.metrics import make_phase_metrics
from passdown.services.work import tracker_changes
from passdown.services.work.tdd import choose_cycle, end_cycle

_DONE: Final = "done"
"""Another word for completed."""
_MAIL: Final = 5
"""How many messages a claim shows (C150)."""
_UNFENCED: Final = "  no lease could be asked for; your next command does that when it can"


@click.command(short_help="Claim a task: the named ones, or the first that is ready.")
@click.argument("tasks", nargs=-1, metavar="[ID]...")
@click.option("--role", default="", metavar="ROLE", help="Only tasks for this role, or for anybody.")
@click.option("--another", is_flag=True, help="Claim one more, though the session has one.")
@tdd_options
@skip_preflight_option
@again_option
@session_option
@json_option
def claim(tasks: tuple[str, ...], role: str, session: str, *, another: bool, as_json: bool) -> int:
    """Claim a task: the named ones, or the first that is ready.

    Of the named tasks you get all or none, and the first is the current one. No other session can have a task
    that yours has. A session that has a task and names none is given that one again. The newest five messages
    that wait are printed first, and count as read. Exits with 3 if another session has a named task, and with
    0 if there is nothing to claim. The phases of the test-first cycle are followed unless --no-tdd or the
    settings say otherwise. While sessions cannot be coordinated, Beads alone decides, and the claim is marked
    unfenced; the session's next command asks for the lease.
    """
    workspace = open_shared()
    choice = read_choice()
    wish = ClaimWish(tasks, role, another)
    account = prepare(workspace, need_session(workspace, session))
    found = tracker_changes.claim(workspace, account, wish)
    if isinstance(found.outcome, Claimed):
        title = next((one.title for one in found.outcome.tasks if one.task == found.account.task), "")
        account, skipped = choose_cycle(workspace, found.account, choice=choice, title=title)
        found = replace(found, account=account)
        if skipped:
            output.note(skipped)
    if as_json:
        output.say_json(_claim_data(found))
    else:
        _say_claim(found)
    with suppress(StorageError):  # the task is claimed; what cannot be marked is shown again
        mark_as_read(workspace, account, found.mail[-_MAIL:])
    return HELD_CODE if isinstance(found.outcome, Held) else 0


def _say_claim(found: ClaimResult) -> None:
    _say_mail(found.mail)
    outcome = found.outcome
    if isinstance(outcome, Held):
        say_held(outcome)
    elif isinstance(outcome, NothingReady):
        output.say("Nothing is ready to be claimed.")
        say_waiting(outcome.waiting)
    else:
        is_unfenced = not all(one.fence for one in outcome.grants)
        for task, before in zip(outcome.tasks, outcome.orphaned_by, strict=True):
            output.say(f"Claimed: {task.task} {task.title}{' (unfenced)' * is_unfenced}")
            if before:
                output.say(f"  {before} had it, and gave no sign of life for too long")
        if is_unfenced:
            output.say(_UNFENCED)


def _say_mail(mail: Sequence[WaitingMessage]) -> None:
    """Print the newest messages that wait, and how many there are besides (R169)."""
    if mail:
        output.say(QUOTED)
        say_messages(mail[-_MAIL:])
    if len(mail) > _MAIL:
        output.say(f"{len(mail) - _MAIL} earlier: run `passdown inbox`")


def _claim_data(found: ClaimResult) -> dict[str, object]:
    outcome = found.outcome
    claimed = outcome if isinstance(outcome, Claimed) else None
    return {
        "session": found.account.session,
        "claimed": [
            {
                "id": task.task,
                "title": task.title,
                "fence": grant.fence,
                "left": grant.left,
                "unfenced": not grant.fence,
            }
            for task, grant in zip(claimed.tasks, claimed.grants, strict=True)
        ]
        if claimed
        else [],
        "held": as_value(outcome) if isinstance(outcome, Held) else None,
        "waiting": as_value(outcome.waiting) if isinstance(outcome, NothingReady) else [],
        "mail": len(found.mail),
        "messages": as_value(found.mail[-_MAIL:]),
    }


@click.command(short_help="Close a task that the session has; its files are released.")
@click.argument("task", metavar="[ID]", default="")
@click.option(
    "--reason",
    type=click.Choice([*REASONS, _DONE]),
    default=COMPLETED,
    show_default=True,
    help="Why; `done` means completed.",
)
@click.option("--note", "text", default="", metavar="TEXT", help="What was done, or why not.")
@click.option("--msg", "message", default="", metavar="TEXT", help="Tell the team.")
@again_option
@session_option
@json_option
def close(task: str, reason: str, text: str, message: str, session: str, *, as_json: bool) -> int:
    """Close a task that the session has; its files are released.

    Tasks that waited for it become ready. What was completed is published as done. The text of `--note` may
    have lines that begin with `KEY DECISION:`, `NEXT:`, `WAITING ON:` or `TRIED:`; those it does not have are
    taken from what the session stated while it held the task. Exits with 3 if the session does not have the
    task any more. If the tracker does not answer, the close waits for it and is
    done by the next command that reaches it.
    """
    reason = COMPLETED if reason == _DONE else reason
    workspace = open_shared()
    account = need_session(workspace, session)
    ended = end_cycle(workspace, account) if account.tdd else ()
    found = tracker_changes.close(workspace, account, CloseRequest(task, reason, text, message))
    if ended and not found.account.task:
        log_metrics(workspace.root, make_phase_metrics(ended))
    if as_json:
        output.say_json(_close_data(found))
    elif found.outcome is None:
        unfenced = ", unfenced" * found.is_unfenced
        output.say(f"Close queued: {found.task} {found.title} ({reason}{unfenced})")
        output.say("  the next command that reaches the tracker closes it")
        if found.is_unfenced:
            output.say(_UNFENCED)
    elif isinstance(found.outcome, TaskClosed):
        _say_closed(found.outcome, is_unfenced=found.is_unfenced)
    elif isinstance(found.outcome, Held):
        say_held(found.outcome)
    else:
        say_lost(found.outcome)
    return HELD_CODE if isinstance(found.outcome, Lost | Held) else 0


def _say_closed(closed: TaskClosed, *, is_unfenced: bool) -> None:
    unfenced = ", unfenced" * is_unfenced
    output.say(f"Closed: {closed.task.task} {closed.task.title} ({closed.task.reason}{unfenced})")
    if is_unfenced:
        output.say(_UNFENCED)
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
        "waiting": found.task if outcome is None else None,
        "note": found.note if closed or outcome is None else None,
        "released": list(closed.released) if closed else [],
        "ready": list(closed.freed) if closed else [],
        "unfenced": found.is_unfenced and (closed is not None or outcome is None),
        "lost": as_value(outcome) if isinstance(outcome, Lost) else None,
        "held": as_value(outcome) if isinstance(outcome, Held) else None,
    }
