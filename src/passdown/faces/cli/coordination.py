"""How commands speak of what sessions share: who holds what, who waits for whom, and mail."""

from collections.abc import Sequence
from typing import Final

from passdown.core.coordination.choices import list_choices, tell_holder
from passdown.core.coordination.leases import Held, Lost
from passdown.core.coordination.messages import URGENT_MESSAGE, WaitingMessage
from passdown.core.coordination.tasks import BLOCKED, CLOSED, OPEN, TaskState, is_ready
from passdown.core.safe_text import printable
from passdown.core.times import parse_duration, seconds_words
from passdown.errors import HeldError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, width

HELD_CODE: Final = HeldError.exit_code
"""The exit code if another session holds what was asked for."""
UNFENCED: Final = "  no lease could be asked for; your next command does that when it can"


def say_held(held: Held) -> None:
    """Say who holds it, for how long, and what can be done instead (R214)."""
    output.note(tell_holder(held.name, held.held, held.agent, held.left))
    for choice in list_choices(held.name, held.agent):
        output.note_hint(choice)
    if held.left <= 0 and held.session:
        output.note_hint(f"it gives no sign of life: `passdown takeover {held.name}`")


def say_lost(lost: Lost) -> None:
    """Say that the session does not hold it any more, or never did."""
    now = f"; another session has it under fence {lost.now}" if lost.now else ""
    held = f"the session no longer holds {lost.name} under fence {lost.fence}"
    output.note(f"{held if lost.fence else f'the session does not hold {lost.name}'}{now}")
    output.note_hint("nothing was changed; `passdown status` shows who holds what")


def say_waiting(waiting: Sequence[TaskState]) -> None:
    """Say why open tasks cannot be claimed (R171)."""
    for state in waiting:
        task = state.task
        if state.waits_for:
            reason = f"waits for {', '.join(state.waits_for)}"
        elif state.agent:
            reason = f"{state.agent} has it"
        elif task.state == BLOCKED:
            reason = "is blocked"
        else:
            reason = f"is for {task.role}"
        output.say(f"  {task.task} {task.title}: {reason}")


def say_tasks(tasks: Sequence[TaskState]) -> None:
    """Print tasks, one in each line."""
    for one in tasks:
        line = f"{one.task.task}  P{one.task.priority}  {describe_task(one)}  {one.task.title}"
        output.say(cut(line, width()))


def describe_task(state: TaskState) -> str:
    """Say what state a task is in."""
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
    """Parse a span of time that an option has; raise a UsageError for one that cannot be read.

    `unit` is what a number alone counts, if the option allows that.
    """
    is_number = text.isascii() and text.isdecimal()
    seconds = parse_duration(f"{text}{unit}" if is_number else text)
    if not seconds:
        raise UsageError(f"{option}: `{text}` is not a valid span of time", hint="write 90s, 10m, 2h or 1d")
    return seconds


def say_queued(task: str) -> None:
    """Say that a task is given back as soon as the tracker answers."""
    output.say(f"Queued: the next command that reaches the tracker gives {task} back")
