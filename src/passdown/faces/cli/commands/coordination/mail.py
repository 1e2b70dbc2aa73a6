"""`passdown msg`, `passdown inbox`: messages between sessions."""

import click

from passdown.actions.coordination import mail as actions
from passdown.core.coordination.handoff_rules import QUOTED, handoff_lines
from passdown.core.coordination.messages import ALL, TO_NAME
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.coordination import read_seconds, say_messages
from passdown.faces.cli.options import call_shared


@click.command(short_help="Send a message to other sessions.")
@click.argument("text")
@click.option("--to", default=ALL, show_default=True, metavar="ADDRESS", help="Who gets it.")
@click.option("--urgent", is_flag=True, help="Mark it as urgent.")
@options.changing
def msg(text: str, to: str, session: str, *, urgent: bool, as_json: bool) -> None:
    """Send a message to other sessions.

    ADDRESS is an agent, a nickname, `role:NAME`, `task:ID` (who holds the task) or `all`. A message to a
    nickname that nobody has waits for the next session of that name. If the coordination engine does not
    answer, a message to a session on this machine is left as a handoff, which its next start shows.
    """
    answer = call_shared(actions.send, actions.MessageRequest(text=text, to=to, is_urgent=urgent), session)
    if trouble := show(answer, lambda found: _say_sent(found, to), as_json=as_json).trouble:
        output.note(f"not sent as a message: {trouble}")


def _say_sent(found: actions.MessageAnswer, to: str) -> None:
    if found.handoff is not None:
        output.say(f"left as a handoff for {to}: {found.handoff}")
    for one in found.recipients:
        name = one.removeprefix(TO_NAME)
        output.say(f"sent to {name}" if name == one else f"waits for the next session called {name}")


@click.command(short_help="Read messages and handoffs from other sessions.")
@click.option("--keep", is_flag=True, help="Leave everything unread.")
@click.option("--wait", default="", metavar="TIME", help="Wait for one, like 30s, if there is none.")
@options.usual
def inbox(session: str, wait: str, *, keep: bool, as_json: bool) -> None:
    """Read messages and handoffs from other sessions.

    Prints what the session has not read yet, and marks it as read.
    """
    seconds = read_seconds(wait, "--wait") if wait else 0.0
    answer = call(actions.read_inbox, actions.InboxRequest(keeps_unread=keep, wait=seconds), session)
    show(answer, _say_inbox, as_json=as_json)


def _say_inbox(found: actions.InboxAnswer) -> None:
    if not found.messages and not found.handoffs:
        output.say("No unread messages.")
        return
    output.say(QUOTED)
    for one in found.handoffs:
        for line in handoff_lines(one, found.now):
            output.say(line)
    say_messages(found.messages)
