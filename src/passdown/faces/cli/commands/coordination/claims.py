"""`passdown claim`, `passdown close`: take a task that no other session has, and finish it."""

from typing import Final

import click

from passdown.actions.coordination import claims as actions
from passdown.core.coordination.handoff_rules import QUOTED
from passdown.core.coordination.tasks import COMPLETED, REASONS
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import show
from passdown.faces.cli.commands.work.preflight import is_preflight_skipped, skip_preflight_option
from passdown.faces.cli.commands.work.tdd import read_choice, tdd_options
from passdown.faces.cli.coordination import (
    HELD_CODE,
    call_shared,
    say_held,
    say_lost,
    say_messages,
    say_waiting,
)

_DONE: Final = "done"
"""Another word for completed."""
_UNFENCED: Final = "  no lease could be asked for; your next command does that when it can"


@click.command(short_help="Claim a task: the named ones, or the first that is ready.")
@click.argument("tasks", nargs=-1, metavar="[ID]...")
@click.option("--role", default="", metavar="ROLE", help="Only tasks for this role, or for anybody.")
@click.option("--another", is_flag=True, help="Claim one more, though the session has one.")
@tdd_options
@skip_preflight_option
@options.changing
def claim(tasks: tuple[str, ...], role: str, session: str, *, another: bool, as_json: bool) -> int:
    """Claim a task: the named ones, or the first that is ready.

    Of the named tasks you get all or none, and the first is the current one. No other session can have a task
    that yours has. A session that has a task and names none is given that one again. The newest five messages
    that wait are printed first, and count as read. Exits with 3 if another session has a named task, and with
    0 if there is nothing to claim. The phases of the test-first cycle are followed unless --no-tdd or the
    settings say otherwise. While sessions cannot be coordinated, Beads alone decides, and the claim is marked
    unfenced; the session's next command asks for the lease.
    """
    request = actions.ClaimRequest(
        tasks=tasks,
        role=role,
        is_another=another,
        follows_tdd=read_choice(),
        skips_preflight=is_preflight_skipped(),
    )
    answer = call_shared(actions.claim, request, session)
    return HELD_CODE if show(answer, _say_claim, as_json=as_json).held else 0


def _say_claim(found: actions.ClaimAnswer) -> None:
    _say_mail(found)
    for task in found.claimed:
        output.say(f"Claimed: {task.id} {task.title}{' (unfenced)' * task.unfenced}")
        if task.orphaned_by:
            output.say(f"  {task.orphaned_by} had it, and gave no sign of life for too long")
    if any(task.unfenced for task in found.claimed):
        output.say(_UNFENCED)
    if found.held:
        say_held(found.held)
    elif not found.claimed:
        output.say("Nothing is ready to be claimed.")
        say_waiting(found.waiting)


def _say_mail(found: actions.ClaimAnswer) -> None:
    """Print the newest messages that wait, and how many there are besides (R169)."""
    if found.messages:
        output.say(QUOTED)
        say_messages(found.messages)
    if found.mail > len(found.messages):
        output.say(f"{found.mail - len(found.messages)} earlier: run `passdown inbox`")


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
@options.changing
def close(task: str, reason: str, text: str, message: str, session: str, *, as_json: bool) -> int:
    """Close a task that the session has; its files are released.

    Tasks that waited for it become ready. What was completed is published as done. The text of `--note` may
    have lines that begin with `KEY DECISION:`, `NEXT:`, `WAITING ON:` or `TRIED:`; those it does not have are
    taken from what the session stated while it held the task. Exits with 3 if the session does not have the
    task any more. If the tracker does not answer, the close waits for it and is
    done by the next command that reaches it.
    """
    reason = COMPLETED if reason == _DONE else reason
    request = actions.CloseTaskRequest(task=task, reason=reason, text=text, message=message)
    answer = call_shared(actions.close, request, session)
    found = show(answer, lambda one: _say_close(one, reason), as_json=as_json)
    return HELD_CODE if found.lost or found.held else 0


def _say_close(found: actions.CloseAnswer, reason: str) -> None:
    if found.held:
        say_held(found.held)
        return
    if found.lost:
        say_lost(found.lost)
        return
    unfenced = ", unfenced" * found.unfenced
    if found.waiting is not None:
        output.say(f"Close queued: {found.waiting} {found.title} ({reason}{unfenced})")
        output.say("  the next command that reaches the tracker closes it")
    else:
        output.say(f"Closed: {found.closed} {found.title} ({found.reason}{unfenced})")
    if found.unfenced:
        output.say(_UNFENCED)
    if found.released:
        output.say(f"  released: {', '.join(found.released)}")
    if found.ready:
        output.say(f"  ready now: {', '.join(found.ready)}")
