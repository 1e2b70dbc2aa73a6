"""`passdown msg`, `passdown inbox`: messages between sessions."""

from collections.abc import Sequence

import click

from passdown.core.coordination.handoff_rules import QUOTED, handoff_lines
from passdown.core.coordination.messages import (
    ALL,
    NORMAL_MESSAGE,
    TO_NAME,
    URGENT_MESSAGE,
    NobodyThere,
    WaitingMessage,
)
from passdown.core.schemas import to_data
from passdown.errors import StorageError, UnansweredError, UnsureError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.coordination import (
    again_option,
    as_value,
    json_option,
    mark_as_read,
    open_shared,
    read_seconds,
    say_messages,
    session_option,
)
from passdown.faces.cli.sessions import find_ready, need_session, open_sessions
from passdown.services.coordination.addressed_handoffs import (
    WrittenAddressed,
    find_own_handoffs,
    leave_message,
    settle_handoffs,
)
from passdown.services.coordination.mail import read_mail, send_message, wait_for_mail
from passdown.wiring.workspaces import open_checkouts, open_with_handoffs


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
    workspace = open_shared()
    account = need_session(workspace, session)
    priority = URGENT_MESSAGE if urgent else NORMAL_MESSAGE
    try:
        sent = send_message(workspace, account, text, to, priority=priority)
    except (UnansweredError, UnsureError):  # it may have been sent
        raise
    except StorageError as trouble:
        left = leave_message(workspace, account, text, to, open_checkouts(workspace))
        if left is None:
            raise
        _say_left(left, to, trouble, as_json=as_json)
        return
    if isinstance(sent, NobodyThere):
        raise UsageError(f"nobody is there for {to}", hint="`passdown status` lists the sessions")
    if as_json:
        output.say_json({"message": sent.message, "recipients": list(sent.recipients), "handoff": None})
        return
    for one in sent.recipients:
        name = one.removeprefix(TO_NAME)
        output.say(f"sent to {name}" if name == one else f"waits for the next session called {name}")


def _say_left(left: WrittenAddressed, to: str, trouble: StorageError, *, as_json: bool) -> None:
    """Say that a message was left as a file, which the next start of its session shows."""
    if as_json:
        output.say_json({"message": left.handoff.id, "recipients": [], "handoff": left.path})
    else:
        output.say(f"left for {to}: {left.path}")
    output.note(f"it is no message: {trouble.message}")


@click.command(short_help="Read the messages and handoffs of other sessions.")
@click.option("--keep", is_flag=True, help="Leave them unread.")
@click.option("--wait", default="", metavar="TIME", help="Wait for one, like 30s, if there is none.")
@session_option
@json_option
def inbox(session: str, wait: str, *, keep: bool, as_json: bool) -> None:
    """Read the messages and handoffs of other sessions.

    Prints those that the session has not read, and marks them as read.
    """
    workspace = open_sessions()
    account = find_ready(workspace, session)
    if account is None:
        _say_nobody(as_json=as_json)
        return
    own = find_own_handoffs(workspace, account, open_with_handoffs(workspace))
    mail = (
        wait_for_mail(workspace, account, read_seconds(wait, "--wait"))
        if wait and not own
        else read_mail(workspace, account)
    )
    known = {one.message.message for one in mail}
    handoffs = [one.handoff for one in own if one.handoff.id not in known]
    if as_json:
        output.say_json({"messages": as_value(mail), "handoffs": [to_data(one) for one in handoffs]})
    else:
        _say_messages(mail, [line for one in handoffs for line in handoff_lines(one, workspace.now())])
    if not keep:
        mark_as_read(workspace, account, mail)
        for trouble in settle_handoffs(workspace, account, own):
            output.note(trouble)


def _say_nobody(*, as_json: bool) -> None:
    """Say that there is nobody who could have mail: looking starts no session."""
    output.note("no session is running here")
    if as_json:
        output.say_json({"messages": [], "handoffs": []})
    else:
        _say_messages((), ())


def _say_messages(mail: Sequence[WaitingMessage], handoffs: Sequence[str]) -> None:
    if not mail and not handoffs:
        output.say("No unread messages.")
        return
    output.say(QUOTED)
    for line in handoffs:
        output.say(line)
    say_messages(mail)
