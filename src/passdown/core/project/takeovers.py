"""What can be done about a session that is silent and did not end: nothing is taken over unasked."""

from typing import Annotated, Final

from passdown.core.project.search_query import shell_word
from passdown.records import record

LOOK_AGAIN: Final = "5 minutes"


@record
class TakeoverChoice:
    """One of the things to do about a stale session, and the command that does it."""

    choice: Annotated[str, "What is chosen: take over, ignore or wait."]
    command: Annotated[str, "The command that does it."]
    what: Annotated[str, "What that command does."]


def list_choices(checkout: str, here: str) -> tuple[TakeoverChoice, ...]:
    """Return the choices about a stale session of a checkout, for somebody in the checkout `here`.

    1. To take over is to start a session where the stale one worked: it continues what that one wanted.
    2. To ignore is to start one that continues nothing. Both publish what the stale one left, and end it.
    3. To wait is to look again: it may still come back.
    """
    is_here = checkout == here
    there = "passdown start" if is_here else f"cd {shell_word(checkout)} && passdown start"
    fresh = "passdown start --fresh" if is_here else "passdown start"
    return (
        TakeoverChoice(choice="take over", command=there, what="publishes what it left, and continues it"),
        TakeoverChoice(choice="ignore", command=fresh, what="publishes what it left, and continues nothing"),
        TakeoverChoice(choice="wait", command="passdown status", what=f"look again in {LOOK_AGAIN}"),
    )
