"""`passdown close`: finish a task."""

from typing import Final

import click

from passdown.actions.coordination import claims as actions
from passdown.core.coordination.tasks import COMPLETED, REASONS
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import show
from passdown.faces.cli.coordination import HELD_CODE, UNFENCED, say_held, say_lost
from passdown.faces.cli.options import call_shared

_DONE: Final = "done"
"""Another word for completed."""


@click.command(short_help="Close your task and release its files.")
@click.argument("task", metavar="[ID]", default="")
@click.option(
    "--reason",
    type=click.Choice([*REASONS, _DONE]),
    default=COMPLETED,
    show_default=True,
    help="Why it is closed; `done` means completed.",
)
@click.option("--note", "text", default="", metavar="TEXT", help="What was done, or why not.")
@click.option("--msg", "message", default="", metavar="TEXT", help="A message to the team.")
@options.changing
def close(task: str, reason: str, text: str, message: str, session: str, *, as_json: bool) -> int:
    """Close your task and release its files.

    Tasks that waited for it become ready. A completed task is published as done. The text of `--note` may
    have lines that begin with `KEY DECISION:`, `NEXT:`, `WAITING ON:` or `TRIED:`; missing ones are filled in
    from what the session recorded while it held the task. If the tracker does not answer, the change is
    queued, and the next command that reaches the tracker makes it. Exits with 3 if the session no longer
    holds the task.
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
        output.say("  the next command that reaches the tracker sends it")
    else:
        output.say(f"Closed: {found.closed} {found.title} ({found.reason}{unfenced})")
    if found.unfenced:
        output.say(UNFENCED)
    if found.released:
        output.say(f"  released: {', '.join(found.released)}")
    if found.ready:
        output.say(f"  ready now: {', '.join(found.ready)}")
