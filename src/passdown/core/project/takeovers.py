"""The choices about a stale session: Passdown takes nothing over unless somebody asks for it."""

from typing import Annotated, Final

from passdown.core.project.search_query import shell_word
from passdown.records import record

LOOK_AGAIN: Final = "5 minutes"


@record
class TakeoverChoice:
    """One choice about a stale session, and the command that carries it out."""

    choice: Annotated[str, "The choice: take over, ignore or wait."]
    command: Annotated[str, "The command that does it."]
    what: Annotated[str, "What that command does."]


def list_choices(checkout: str, here: str) -> tuple[TakeoverChoice, ...]:
    """Return the choices about a stale session of a checkout, for a user in the checkout `here`.

    1. Take over: start a session where the stale one worked; it continues the stale session's work.
    2. Ignore: start a session that continues nothing. Both publish the stale session's record and end it.
    3. Wait and check again: the stale session may come back.
    """
    is_here = checkout == here
    there = "passdown start" if is_here else f"cd {shell_word(checkout)} && passdown start"
    fresh = "passdown start --fresh" if is_here else "passdown start"
    return (
        TakeoverChoice(choice="take over", command=there, what="publishes its record and continues its work"),
        TakeoverChoice(choice="ignore", command=fresh, what="publishes its record and starts clean"),
        TakeoverChoice(choice="wait", command="passdown status", what=f"check again in {LOOK_AGAIN}"),
    )
