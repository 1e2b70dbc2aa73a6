"""Print what sessions share: who holds what, which tasks wait, and messages."""

from collections.abc import Sequence
from typing import Final

from passdown.core.coordination.leases import Held, Lost
from passdown.core.coordination.messages import URGENT_MESSAGE, WaitingMessage
from passdown.core.coordination.refusals import list_choices, tell_holder
from passdown.core.coordination.tasks import BLOCKED, CLOSED, OPEN, TaskState, is_ready
from passdown.core.safe_text import printable
from passdown.core.times import parse_duration, seconds_words
from passdown.errors import HeldError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, width

HELD_CODE: Final = HeldError.exit_code
"""The exit code if another session holds what was requested."""
UNFENCED: Final = "  not locked for other sessions yet; your next command tries again"


def say_held(held: Held) -> None:
    """Print who holds it, for how long, and what to do instead (R214)."""
    output.note(tell_holder(held.name, held.held, held.agent, held.left))
    for choice in list_choices(held.name, held.agent):
        output.note_hint(choice)
    if held.left <= 0 and held.session:
        output.note_hint(f"its session went silent; take it over with `passdown takeover {held.name}`")


def say_lost(lost: Lost) -> None:
    """Report that the session no longer holds it, or never did."""
    verb = "no longer holds" if lost.fence else "does not hold"
    now = "; another session does" if lost.now else ""
    output.note(f"this session {verb} {lost.name}{now}")
    output.note_hint("nothing was changed; `passdown status` shows who holds what")


def say_waiting(waiting: Sequence[TaskState]) -> None:
    """Print why open tasks cannot be claimed (R171)."""
    for state in waiting:
        task = state.task
        if state.waits_for:
            reason = f"waits for {', '.join(state.waits_for)}"
        elif state.agent:
            reason = f"held by {state.agent}"
        elif task.state == BLOCKED:
            reason = "blocked"
        else:
            reason = f"for role {task.role}"
        output.say(f"  {task.task} {task.title}: {reason}")


def say_tasks(tasks: Sequence[TaskState]) -> None:
    """Print tasks, one per line."""
    for one in tasks:
        line = f"{one.task.task}  P{one.task.priority}  {describe_task(one)}  {one.task.title}"
        output.say(cut(line, width()))


def describe_task(state: TaskState) -> str:
    """Return the state of a task, in words."""
    shown = state.task
    if state.is_orphaned:
        return f"orphaned by {state.agent}"
    if state.agent and shown.state != CLOSED:
        return f"held by {state.agent}"
    if state.waits_for:
        return f"waits for {', '.join(state.waits_for)}"
    if is_ready(state):
        return "ready"
    return shown.state if shown.state != OPEN else "waits"


def say_messages(mail: Sequence[WaitingMessage]) -> None:
    """Print messages; what others wrote is quoted."""
    for one in mail:
        age = seconds_words(one.age)
        urgent = ", urgent" if one.message.priority == URGENT_MESSAGE else ""
        output.say(f"{one.message.agent}, {age} ago{urgent}:")
        for line in printable(one.message.content).splitlines():
            output.say(f"> {line}")


def read_seconds(text: str, option: str, unit: str = "") -> float:
    """Parse the duration that an option gives; raise a UsageError if it is not valid.

    `unit` is the unit of a bare number, if the option allows one.
    """
    is_number = text.isascii() and text.isdecimal()
    seconds = parse_duration(f"{text}{unit}" if is_number else text)
    if not seconds:
        raise UsageError(
            f"{option}: `{text}` is not a valid duration", hint="use a duration like 90s, 10m, 2h or 1d"
        )
    return seconds


def say_queued(task: str) -> None:
    """Say that a task is given back as soon as the tracker answers."""
    output.say(f"Queued: the next command that reaches the tracker gives {task} back")
