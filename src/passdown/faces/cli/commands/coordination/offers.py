"""`passdown handoff offer`, `offers`, `accept`, `decline`, `withdraw`: hand a task to another session."""

from collections.abc import Callable
from typing import TypeVar

import click

from passdown.actions.answers import Answered, encode
from passdown.actions.coordination import offers as actions
from passdown.core.coordination.leases import Lost
from passdown.core.coordination.offers import OfferGone
from passdown.core.times import seconds_words
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, settle, show
from passdown.faces.cli.commands.work.command_runs import make_test_runner
from passdown.faces.cli.coordination import HELD_CODE, say_lost
from passdown.faces.cli.drift import drift_lines
from passdown.faces.cli.options import call_shared
from passdown.records import replace
from passdown.services.coordination.offers import OfferReview

Found = TypeVar("Found")


@click.command(short_help="Offer your task and files to another session.")
@click.option("--to", default="", metavar="ADDRESS", help="Who may accept it (default: anyone).")
@click.option("--task", default="", metavar="ID", help="The task (default: the one you work on).")
@options.changing
def offer(to: str, task: str, session: str, *, as_json: bool) -> int:
    """Offer a task of your session, with all its files and what the session knows.

    They are yours until somebody accepts. Nobody can take them over meanwhile, even if your session ends. The
    offer expires after 24 hours; they are then yours again, or go back to the board.
    """
    answer = call_shared(actions.offer, actions.OfferRequest(task=task, to=to), session)
    return _report(answer, _say_made, as_json=as_json)


def _say_made(found: actions.CreatedOffer) -> None:
    output.say(f"offered {found.task} to {found.to or 'anybody'}: {found.short_name}")


@click.command(short_help="List open offers.")
@options.json
def offers(*, as_json: bool) -> None:
    """List open offers."""
    show(call(actions.list_open, None), _print_open, as_json=as_json)


def _print_open(found: actions.OpenOffers) -> None:
    for one in found.offers:
        left = seconds_words(one.left)
        whom = one.offer.taker or "anybody"
        name = one.offer.short_name
        output.say(f"{name}  {one.offer.task} from {one.offer.agent} to {whom}, {left} left")
    if not found.offers:
        output.say("No open offers.")


@click.command(short_help="Accept an offer: its task and files become yours.")
@click.argument("name", metavar="[OFFER]", default="")
@click.option("--anyway", is_flag=True, help="Accept it even if something changed since.")
@options.run_test
@options.yes
@options.changing
def accept(name: str, session: str, *, anyway: bool, run_test: bool, yes: bool, as_json: bool) -> int:
    """Accept an offer, after showing what changed since it was made.

    If something changed, or --run-test cannot run the test, add --anyway. The task, its files and its unread
    messages are then yours, and what the giver knew is in your ledger.
    """
    reviewed = call_shared(actions.review, name, session)
    found = reviewed.result
    if not isinstance(found, OfferReview):
        again = reviewed.with_result(found)
        return _report(again, _say_accepted, as_json=as_json)
    reviewed.close()
    if run_test and (test := found.review.drift.test):
        run = make_test_runner(yes=yes, as_json=as_json)
        drift = replace(found.review.drift, test_now=run(test))
        found = replace(found, review=replace(found.review, drift=drift))
    drift = found.review.drift
    if not as_json:
        for line in drift_lines(drift, is_run=run_test):
            output.say(line)
    is_untested = run_test and bool(drift.test) and drift.test_now is None
    if (is_untested or not drift.is_clean) and not anyway:
        why = "the test could not be run" if drift.is_clean else "something changed since the offer was made"
        output.note(f"not accepted: {why}")
        output.note_hint(f"accept anyway: `passdown handoff accept {found.offer.short_name} --anyway`")
        return HELD_CODE
    answer = call_shared(actions.accept, found, session)
    return _report(answer, _say_accepted, as_json=as_json)


def _say_accepted(found: actions.AcceptedOffer) -> None:
    for grant in found.accepted:
        output.say(f"Now yours: {grant.name}")
    output.say(f"Your ledger now has what {found.agent} knew. Read it with `passdown brief`.")


@click.command(short_help="Decline an offer.")
@click.argument("name", metavar="[OFFER]", default="")
@options.changing
def decline(name: str, session: str, *, as_json: bool) -> int:
    """Decline an offer; its task and files stay with the agent who offered them, or go back to the board."""
    return _report(call_shared(actions.decline, name, session), _say_ended, as_json=as_json)


@click.command(short_help="Withdraw your offer.")
@click.argument("name", metavar="[OFFER]", default="")
@options.changing
def withdraw(name: str, session: str, *, as_json: bool) -> int:
    """Withdraw your offer."""
    return _report(call_shared(actions.withdraw, name, session), _say_ended, as_json=as_json)


def _say_ended(found: actions.EndedOffer) -> None:
    output.say(f"{found.state}: {found.task}")


def _report(
    answer: Answered[Found | OfferGone | Lost], say: Callable[[Found], None], *, as_json: bool
) -> int:
    """Print the outcome; a refusal has no JSON."""
    found = answer.result
    if isinstance(found, Lost):
        say_lost(found)
    elif isinstance(found, OfferGone):
        other = found.state == "other"
        output.note("this offer is for another session" if other else "this offer is no longer open")
        output.note_hint("run `passdown handoff offers` to list open offers")
    elif as_json:
        output.say_json(encode(found))
    else:
        say(found)
    settle(answer)
    return HELD_CODE if isinstance(found, Lost | OfferGone) else 0
