"""`passdown msg`, `passdown inbox`: messages between sessions."""

import click

from passdown.actions.answers import encode
from passdown.actions.coordination import mail as actions
from passdown.actions.coordination.mail import InboxAnswer, InboxRequest, MessageRequest
from passdown.core.coordination.handoff_rules import QUOTED, handoff_lines
from passdown.core.coordination.messages import ALL, TO_NAME
from passdown.faces.cli import output
from passdown.faces.cli.calls import call, settle
from passdown.faces.cli.coordination import read_seconds, say_messages
from passdown.faces.cli.options import again_option, call_shared, json_option, session_option


@click.command(short_help="Send a message to other sessions.")
@click.argument("text")
@click.option("--to", default=ALL, show_default=True, metavar="ADDRESS", help="Who gets it.")
@click.option("--urgent", is_flag=True, help="Mark it as urgent.")
@again_option
@session_option
@json_option
def msg(text: str, to: str, session: str, *, urgent: bool, as_json: bool) -> None:
    """Send a message to other sessions.

    ADDRESS is an agent, a nickname, `role:NAME`, `task:ID` (whoever has the task) or `all`. A message to a
    nickname that nobody has waits for the next session of that name. If what sessions share does not answer,
    a message to a session of this machine is left as a handoff, which its next start shows.
    """
    answer = call_shared(actions.send, MessageRequest(text=text, to=to, is_urgent=urgent), session)
    found = answer.result
    if as_json:
        output.say_json(encode(found))
    elif found.handoff is not None:
        output.say(f"left for {to}: {found.handoff}")
    for one in () if as_json else found.recipients:
        name = one.removeprefix(TO_NAME)
        output.say(f"sent to {name}" if name == one else f"waits for the next session called {name}")
    if found.trouble:
        output.note(f"it is no message: {found.trouble}")
    settle(answer)


@click.command(short_help="Read the messages and handoffs of other sessions.")
@click.option("--keep", is_flag=True, help="Leave them unread.")
@click.option("--wait", default="", metavar="TIME", help="Wait for one, like 30s, if there is none.")
@session_option
@json_option
def inbox(session: str, wait: str, *, keep: bool, as_json: bool) -> None:
    """Read the messages and handoffs of other sessions.

    Prints those that the session has not read, and marks them as read.
    """
    seconds = read_seconds(wait, "--wait") if wait else 0.0
    answer = call(actions.read_inbox, InboxRequest(keeps_unread=keep, wait=seconds), session)
    if as_json:
        output.say_json(encode(answer.result))
    else:
        _say_inbox(answer.result)
    settle(answer)


def _say_inbox(found: InboxAnswer) -> None:
    if not found.messages and not found.handoffs:
        output.say("No unread messages.")
        return
    output.say(QUOTED)
    for one in found.handoffs:
        for line in handoff_lines(one, found.now):
            output.say(line)
    say_messages(found.messages)
