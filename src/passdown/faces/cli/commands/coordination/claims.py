"""`passdown close`: finish a task."""

from typing import Final

import click

from passdown.actions.answers import encode
from passdown.actions.coordination import claims as actions
from passdown.actions.coordination.claims import CloseAnswer, CloseTaskRequest
from passdown.core.coordination.tasks import COMPLETED, REASONS
from passdown.faces.cli import output
from passdown.faces.cli.calls import settle
from passdown.faces.cli.coordination import (
    HELD_CODE,
    UNFENCED,
    say_held,
    say_lost,
)
from passdown.faces.cli.options import again_option, call_shared, json_option, session_option

_DONE: Final = "done"
"""Another word for completed."""


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
            output.say(UNFENCED)
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
        output.say(UNFENCED)
    if found.released:
        output.say(f"  released: {', '.join(found.released)}")
    if found.ready:
        output.say(f"  ready now: {', '.join(found.ready)}")
