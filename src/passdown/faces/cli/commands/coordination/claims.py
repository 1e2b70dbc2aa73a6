"""`passdown claim`, `passdown close`: take a task that no other session has, and finish it."""

from typing import Final

import click

from passdown.actions.answers import encode
from passdown.actions.coordination import claims as actions
from passdown.actions.coordination.claims import ClaimAnswer, ClaimRequest, CloseAnswer, CloseTaskRequest
from passdown.core.coordination.handoff_rules import QUOTED
from passdown.core.coordination.tasks import COMPLETED, REASONS
from passdown.faces.cli import output
from passdown.faces.cli.calls import settle
from passdown.faces.cli.commands.work.preflight import is_preflight_skipped, skip_preflight_option
from passdown.faces.cli.commands.work.tdd import read_choice, tdd_options
from passdown.faces.cli.coordination import (
    HELD_CODE,
    again_option,
    call_shared,
    json_option,
    say_held,
    say_lost,
    say_messages,
    say_waiting,
    session_option,
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
    request = ClaimRequest(
        tasks=tasks,
        role=role,
        is_another=another,
        follows_tdd=read_choice(),
        skips_preflight=is_preflight_skipped(),
    )
    answer = call_shared(actions.claim, request, session)
    if as_json:
        output.say_json(encode(answer.result))
    else:
        _say_claim(answer.result)
    settle(answer)
    return HELD_CODE if answer.result.held else 0


def _say_claim(found: ClaimAnswer) -> None:
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


def _say_mail(found: ClaimAnswer) -> None:
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
    request = CloseTaskRequest(task=task, reason=reason, text=text, message=message)
    answer = call_shared(actions.close, request, session)
    found = answer.result
    if as_json:
        output.say_json(encode(found))
    elif found.waiting is not None:
        unfenced = ", unfenced" * found.unfenced
        output.say(f"Close queued: {found.waiting} {found.title} ({reason}{unfenced})")
        output.say("  the next command that reaches the tracker closes it")
        if found.unfenced:
            output.say(_UNFENCED)
    elif found.closed is not None:
        _say_closed(found)
    elif found.held:
        say_held(found.held)
    elif found.lost:
        say_lost(found.lost)
    settle(answer)
    return HELD_CODE if found.lost or found.held else 0


def _say_closed(found: CloseAnswer) -> None:
    unfenced = ", unfenced" * found.unfenced
    output.say(f"Closed: {found.closed} {found.title} ({found.reason}{unfenced})")
    if found.unfenced:
        output.say(_UNFENCED)
    if found.released:
        output.say(f"  released: {', '.join(found.released)}")
    if found.ready:
        output.say(f"  ready now: {', '.join(found.ready)}")
