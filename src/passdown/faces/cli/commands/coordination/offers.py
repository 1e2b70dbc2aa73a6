"""`passdown handoff offer`, `offers`, `accept`, `decline`, `withdraw`: hand a task to another session."""

from collections.abc import Callable

import click

from passdown.core.coordination.leases import Lost
from passdown.core.coordination.offers import OfferEnded, OfferGone
from passdown.core.sessions.session_facts import Account
from passdown.core.times import seconds_words
from passdown.faces.cli import output
from passdown.faces.cli.commands.work.command_runs import make_test_runner, run_test_option, yes_option
from passdown.faces.cli.coordination import (
    HELD_CODE,
    again_option,
    as_value,
    json_option,
    open_shared,
    say_lost,
    session_option,
)
from passdown.faces.cli.drift import drift_lines
from passdown.faces.cli.sessions import need_session, open_sessions
from passdown.services.coordination.offers import (
    AcceptResult,
    accept_again,
    accept_offer,
    decline_offer,
    list_offers,
    offer_task,
    review_offer,
    withdraw_offer,
)
from passdown.services.workspace.workspaces import Workspace


@click.command(short_help="Offer your task and files to another session.")
@click.option("--to", default="", metavar="ADDRESS", help="Who may accept it; by default anybody.")
@click.option("--task", default="", metavar="ID", help="The task; by default the one you work on.")
@again_option
@session_option
@json_option
def offer(to: str, task: str, session: str, *, as_json: bool) -> int:
    """Offer a task that your session has, with all its files and what it knows.

    You own them until somebody accepts. Nobody can take them over meanwhile, even if your session ends. After
    24 hours the offer is over, and they are yours again, or go back to the board.
    """
    workspace = open_shared()
    found = offer_task(workspace, need_session(workspace, session), task, to)
    if isinstance(found, Lost):
        say_lost(found)
        return HELD_CODE
    if as_json:
        output.say_json(
            {"offer": found.offer.offer, "task": found.offer.task, "to": found.offer.taker or None}
        )
    else:
        whom = found.offer.taker or "anybody"
        output.say(f"offered {found.offer.task} to {whom}: {found.offer.short_name}")
    return 0


@click.command(short_help="List the offers that stand.")
@json_option
def offers(*, as_json: bool) -> None:
    """List the offers that stand."""
    found = list_offers(open_sessions())
    if as_json:
        output.say_json({"offers": as_value(found)})
        return
    for one in found:
        left = seconds_words(one.left)
        whom = one.offer.taker or "anybody"
        name = one.offer.short_name
        output.say(f"{name}  {one.offer.task} from {one.offer.agent} to {whom}, {left} left")
    if not found:
        output.say("No offers stand.")


@click.command(short_help="Accept an offer: its task and files are yours.")
@click.argument("name", metavar="[OFFER]", default="")
@click.option("--anyway", is_flag=True, help="Accept it though something changed since.")
@run_test_option
@yes_option
@again_option
@session_option
@json_option
def accept(name: str, session: str, *, anyway: bool, run_test: bool, yes: bool, as_json: bool) -> int:
    """Show what changed since an offer was made, and accept it.

    If something changed, or --run-test cannot run the test, --anyway is needed. Task, files and unread
    messages are then yours under new fences, and what the giver knew is in your ledger.
    """
    workspace = open_shared()
    account = need_session(workspace, session)
    repeated = accept_again(workspace, account)
    if repeated is not None:
        return _say_accepted(repeated, as_json=as_json)
    run = make_test_runner(yes=yes, as_json=as_json) if run_test else None
    review = review_offer(workspace, name, run)
    drift = review.review.drift
    if not as_json:
        for line in drift_lines(drift, is_run=run_test):
            output.say(line)
    is_untested = run_test and bool(drift.test) and drift.test_now is None
    if (is_untested or not drift.is_clean) and not anyway:
        why = "the test could not be run" if drift.is_clean else "something changed since the offer was made"
        output.note(f"not accepted: {why}")
        output.note_hint(f"accept it with `passdown handoff accept {review.offer.short_name} --anyway`")
        return HELD_CODE
    return _say_accepted(accept_offer(workspace, account, review), as_json=as_json)


def _say_accepted(found: AcceptResult, *, as_json: bool) -> int:
    accepted = found.outcome
    if isinstance(accepted, OfferGone):
        return _say_gone(accepted)
    if as_json:
        output.say_json({"accepted": as_value(accepted.grants), "carried": found.carried})
    else:
        for grant in accepted.grants:
            output.say(f"yours: {grant.name} (fence {grant.fence})")
        output.say(f"What {accepted.offer.agent} knew is in your ledger, too: read it with `passdown brief`.")
    return 0


@click.command(short_help="Decline an offer.")
@click.argument("name", metavar="[OFFER]", default="")
@again_option
@session_option
@json_option
def decline(name: str, session: str, *, as_json: bool) -> int:
    """Decline an offer; its task and files stay with the giver, or go back to the board."""
    return _end(name, session, decline_offer, as_json=as_json)


@click.command(short_help="Take an offer of your own back.")
@click.argument("name", metavar="[OFFER]", default="")
@again_option
@session_option
@json_option
def withdraw(name: str, session: str, *, as_json: bool) -> int:
    """Take an offer of your own back."""
    return _end(name, session, withdraw_offer, as_json=as_json)


def _end(
    name: str,
    session: str,
    end: Callable[[Workspace, Account, str], OfferEnded | OfferGone],
    *,
    as_json: bool,
) -> int:
    workspace = open_shared()
    found = end(workspace, need_session(workspace, session), name)
    if isinstance(found, OfferGone):
        return _say_gone(found)
    if as_json:
        output.say_json({"offer": found.offer.offer, "task": found.offer.task, "state": found.offer.state})
    else:
        output.say(f"{found.offer.state}: {found.offer.task}")
    return 0


def _say_gone(gone: OfferGone) -> int:
    output.note("the offer is for somebody else" if gone.state == "other" else "the offer does not stand")
    output.note_hint("`passdown handoff offers` lists those that do")
    return HELD_CODE
