"""The verb `claim`: which tasks the session has now, or who else holds them."""

from collections.abc import Sequence

from passdown.actions.coordination.claims import ClaimAnswer, ClaimRequest, claim
from passdown.core.coordination.handoff_rules import QUOTED
from passdown.core.coordination.operations import VerbCall
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.calls import call, current_folder, show
from passdown.faces.cli.coordination import HELD_CODE, UNFENCED, say_held, say_messages, say_waiting
from passdown.services.workspace.verbs import VerbRun


def claim_tasks(
    words: Sequence[str], /, *, tasks: tuple[str, ...], session: str, as_json: bool, **asked: str | bool
) -> int:
    """Claim the named tasks, or the first that is ready; the same words repeat it (C142)."""
    if asked["tdd"] and asked["no_tdd"]:
        raise UsageError("--tdd and --no-tdd cannot be combined", hint="remove one of them")
    request = ClaimRequest(
        tasks=tasks,
        role=str(asked["role"]),
        is_another=bool(asked["another"]),
        follows_tdd=bool(asked["tdd"]) if asked["tdd"] or asked["no_tdd"] else None,
        skips_preflight=bool(asked["skip_preflight"]),
    )
    verb = VerbRun(VerbCall(tuple(words), str(current_folder())), is_again=bool(asked["again"]))
    answer = call(claim, request, session, verb)
    return HELD_CODE if show(answer, _say_claim, as_json=as_json).held else 0


def _say_claim(found: ClaimAnswer) -> None:
    _say_mail(found)
    for task in found.claimed:
        output.say(f"Claimed: {task.id} {task.title}{' (unfenced)' * task.unfenced}")
        if task.orphaned_by:
            output.say(f"  taken over from {task.orphaned_by}, which went silent")
    if any(task.unfenced for task in found.claimed):
        output.say(UNFENCED)
    if found.held:
        say_held(found.held)
    elif not found.claimed:
        output.say("No task is ready.")
        say_waiting(found.waiting)


def _say_mail(found: ClaimAnswer) -> None:
    """Print the newest unread messages, and count the earlier ones (R169)."""
    if found.messages:
        output.say(QUOTED)
        say_messages(found.messages)
    if found.mail > len(found.messages):
        earlier = output.counted(found.mail - len(found.messages), "earlier message")
        output.say(f"{earlier}: run `passdown inbox`")
