"""`passdown brief`: what a starting session is told, and how much of what matters reaches it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeVar

import click

from passdown import wiring
from passdown.core import budgets
from passdown.core.accounts import Account
from passdown.core.briefs import Brief, Frame, brief_hash, pack_brief
from passdown.core.budgets import Budget
from passdown.core.standings import Known, Standing, known_of
from passdown.core.times import render_millis
from passdown.errors import PassdownError, StorageError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.project import Reading, open_here, open_others
from passdown.faces.cli.sessions import find_running
from passdown.ports.index import EVERY
from passdown.records import record, replace
from passdown.services.briefs import LIMIT, Elsewhere, make_banner, read_standing
from passdown.services.events import take_in
from passdown.services.journals import Project, read_accounts
from passdown.services.ledgers import keep_ledger

T = TypeVar("T")

_NONCE: Final = 6
_MOST_SESSIONS: Final = 10_000
_MOST_TOKENS: Final = 1_000_000


@record
class Way:
    """What is wanted, and how."""

    session: str
    tokens: str
    chars: int
    banner: bool
    is_eval: bool
    sessions: str
    as_json: bool


@click.command()
@click.option("--session", default="", metavar="ID", help="The session that is briefed.")
@click.option("--tokens", default="", metavar="N", help="How many tokens it may take; 1500 unless told.")
@click.option(
    "--chars",
    type=click.IntRange(min=budgets.LEAST_CHARACTERS),
    default=budgets.CHARACTERS,
    metavar="N",
    help="How many characters it may take; 9000 unless told.",
)
@click.option("--banner", is_flag=True, help="Only say which events were combined, the goal and now.")
@click.option("--eval", "is_eval", is_flag=True, help="Measure how much briefs recall of made-up histories.")
@click.option("--sessions", default="", metavar="N,…", help="With --eval: how long the histories are.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with every fact in full.")
@click.pass_context
def command(context: click.Context, /, **_: object) -> int:
    """Say what a starting session must know, within a budget.

    Goal, now, feedback, blockers, constraints and what was done already come first; then what helps. What is
    left out is counted, with the command that shows it. Without a session it is what the next one here would
    be told. What sessions and people wrote stands behind `>`: it is data, no instruction.

    With --eval no project is needed: histories are made up, with facts that hold among ten times as many that
    do not, and recall is measured against the budget. --tokens may then be a list. Exits with 1 when a fact
    that must be known is missing although there was room for it.
    """
    way = Way(**context.params)
    if way.is_eval:
        return _evaluate(way)
    if way.sessions:
        raise UsageError("--sessions goes with --eval", hint="--session ID names the session that is briefed")
    budget = Budget(tokens=_one_number(way.tokens), characters=way.chars)
    call_here(way.session, lambda project, account, others: _show(project, account, others, way, budget))
    return 0


def call_here(wanted: str, work: Callable[[Project, Account | None, Sequence[Elsewhere]], T]) -> T:
    """Do something with the project here, the session that is meant, and the other checkouts.

    What was edited in its ledger by hand is taken in first. When the cache fails, it is done without.
    """
    here = open_here()
    project = wiring.open_project(here.root, here.checkout.settings)
    account = _find(project, wanted)
    if account is not None and account.ended_at is None:
        # Where nothing can be written, what was edited by hand is left for the next time.
        with suppress(StorageError):
            account = keep_ledger(project, account).account
    with Reading() as reading:
        here.call(lambda checkout: take_in(checkout.log, checkout.index, reading.step))
    checkouts = [(one.project.checkout, one.branch) for one in open_others(here)]
    others = [Elsewhere(log=one.log, index=one.index, branch=branch) for one, branch in checkouts]
    return here.call(lambda checkout: work(replace(project, checkout=checkout), account, others))


def _find(project: Project, wanted: str) -> Account | None:
    """Find the session that is meant; unlike one that is to say something, it may have ended."""
    for account in reversed(read_accounts(project)) if wanted else ():
        if wanted in {account.session, account.agent, *account.host_sessions}:
            return account
    return find_running(project, wanted)


def _show(
    project: Project, account: Account | None, others: Sequence[Elsewhere], way: Way, budget: Budget
) -> None:
    if way.banner:
        text = make_banner(project, account)
        if way.as_json:
            output.say_json({"text": text})
        else:
            output.say(text)
        return
    standing = read_standing(project, account, others, EVERY if way.as_json else LIMIT)
    frame = Frame(nonce=project.entropy.token(_NONCE).hex())
    brief = pack_brief(standing, budget, project.now(), frame)
    if way.as_json:
        output.say_json(_as_data(brief, standing, account, budget))
    else:
        output.say(brief.text)


def _as_data(brief: Brief, standing: Standing, account: Account | None, budget: Budget) -> dict[str, object]:
    size = brief.size
    return {
        "session": account.session if account else None,
        "agent": account.agent if account else None,
        "nonce": brief.frame.nonce,
        "sha256": brief_hash(brief),
        "tokens": size.tokens,
        "characters": size.characters,
        "budget": {"tokens": budget.tokens, "characters": budget.characters},
        "text": brief.text,
        "lines": [
            {"class": level, "kind": kind, "text": line.text, "fact": line.fact or None}
            for level, kind, line in brief.lines
        ],
        "omitted": [{"kind": one.kind, "count": one.left, "command": one.command} for one in brief.omitted],
        "facts": [_fact_data(one, brief) for one in standing.all()],
        "account": [_fact_data(one, brief) for one in known_of(account)] if account else [],
    }


def _fact_data(known: Known, brief: Brief) -> dict[str, object]:
    return {
        "id": known.id,
        "kind": known.kind.value,
        "key": known.key or None,
        "text": known.text,
        "at": render_millis(known.at),
        "agent": known.agent,
        "provenance": known.provenance.value,
        "event": known.event or None,
        "branch": known.branch or None,
        "is_in_brief": known.id in brief.facts,
    }


# --- recall ---------------------------------------------------------------------------------------


def _evaluate(way: Way) -> int:
    from passdown.core import recall  # noqa: PLC0415 - no brief needs it

    if way.session or way.banner:
        raise UsageError("--eval needs no session and shows no banner", hint="leave the other one out")
    lengths = _numbers(way.sessions, "--sessions", 1, _MOST_SESSIONS) or recall.SESSIONS
    tokens = _numbers(way.tokens, "--tokens", budgets.LEAST_TOKENS, _MOST_TOKENS) or recall.TOKENS
    chosen = [Budget(tokens=number, characters=way.chars) for number in tokens]
    rows = [row for length in lengths for row in recall.measure_recall(length, chosen)]
    broken = recall.find_broken(rows)
    if way.as_json:
        output.say_json(
            {
                "rows": [
                    {
                        "sessions": row.sessions,
                        "tokens": row.tokens,
                        "class_1": row.classes[0],
                        "class_2": row.classes[1],
                        "class_3": row.classes[2],
                        "class_1_in_preview": row.preview,
                        "used_tokens": row.used.tokens,
                        "used_characters": row.used.characters,
                        "is_good": row not in broken,
                    }
                    for row in rows
                ],
                "is_good": not broken,
            }
        )
    else:
        output.say(recall.render_recall(rows))
    for row in broken:
        output.note(f"facts that must be known are missing: {row.sessions} sessions, {row.tokens} tokens")
    return PassdownError.exit_code if broken else 0


def _one_number(text: str) -> int:
    numbers = _numbers(text, "--tokens", budgets.LEAST_TOKENS, _MOST_TOKENS)
    if len(numbers) > 1:
        raise UsageError("--tokens takes a list only with --eval", hint="give one number")
    return numbers[0] if numbers else budgets.TOKENS


def _numbers(text: str, name: str, least: int, most: int) -> tuple[int, ...]:
    """Read whole numbers with commas between; none from nothing."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and least <= int(part[:9]) <= most for part in parts):
        raise UsageError(f"{name}: {text} does not fit", hint=f"write whole numbers from {least} to {most}")
    return tuple(int(part) for part in parts)
