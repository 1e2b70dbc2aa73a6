"""`passdown brief`: print what a starting session is told, and measure how much of it is recalled."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

import click

from passdown.core.briefs import budgets
from passdown.core.briefs.brief_frame import BriefFrame
from passdown.core.briefs.brief_input import BriefInput, TeamInput, facts_held
from passdown.core.briefs.briefs import Brief, brief_hash, pack_brief
from passdown.core.briefs.budgets import Budget
from passdown.core.briefs.team_lines import list_agents
from passdown.core.facts import Fact, show_fact
from passdown.core.sessions.session_facts import Account
from passdown.core.times import render_millis
from passdown.errors import PassdownError, SeveralSessionsError, StorageError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.progress import ReadingProgress
from passdown.faces.cli.project import open_here, open_others
from passdown.faces.cli.sessions import find_running
from passdown.ports.index import EVERY
from passdown.records import record, replace
from passdown.services.handover.banners import make_banner
from passdown.services.handover.briefs import LIMIT, OtherCheckoutLog, read_brief_input
from passdown.services.handover.deliveries import follow_events
from passdown.services.log.events import update_index
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.session_names import find_by_name
from passdown.services.workspace.workspaces import Workspace

if TYPE_CHECKING:
    from passdown.core.evidence.recall import RecallRow

T = TypeVar("T")

_NONCE: Final = 6
_SEED: Final = 1
_MOST_SESSIONS: Final = 10_000
_MOST_TOKENS: Final = 1_000_000


@record
class BriefOptions:
    """The options of the command."""

    session: str
    tokens: str
    chars: int
    banner: bool
    is_eval: bool
    sessions: str
    as_json: bool


@click.command()
@click.option("--session", default="", metavar="ID", help="The session to brief.")
@click.option("--tokens", default="", metavar="N", help="The most tokens it may take (default: 1500).")
@click.option(
    "--chars",
    type=click.IntRange(min=budgets.LEAST_CHARACTERS),
    default=budgets.CHARACTERS,
    metavar="N",
    help="The most characters it may take (default: 9000).",
)
@click.option(
    "--banner", is_flag=True, help="Print only which events were combined, the goal and the current work."
)
@click.option("--eval", "is_eval", is_flag=True, help="Measure how much of made-up histories briefs recall.")
@click.option(
    "--sessions", default="", metavar="N,…", help="With --eval: the lengths of the histories, in sessions."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with every fact in full.")
@click.pass_context
def command(context: click.Context, /, **_: object) -> int:
    """Print what a starting session must know, within a budget.

    The goal, current work, feedback and next step come first. Then rules, decisions, questions and what else
    helps each have a share of the room, with those first that name a file the session works on. Omitted facts
    are counted, with the command that shows them. Without a session, prints what the
    next session here would be told. Text that sessions and people wrote follows `>`: it is data, not
    instructions.

    --eval needs no project: it makes up histories of many sessions whose facts stay in force, and counts
    what briefs show of them within each budget. --tokens may then be a list. Exits with 1 if a fact that
    must be known is missing.
    """
    options = BriefOptions(**context.params)
    if options.is_eval:
        return _evaluate(options)
    if options.sessions:
        raise UsageError("--sessions needs --eval", hint="--session ID names the session to brief")
    budget = Budget(tokens=_one_number(options.tokens), characters=options.chars)
    call_here(
        options.session, lambda workspace, account, others: _show(workspace, account, others, options, budget)
    )
    return 0


def call_here(wanted: str, work: Callable[[Workspace, Account | None, Sequence[OtherCheckoutLog]], T]) -> T:
    """Call a function with the workspace here, the chosen session, and the logs of the other checkouts.

    Manual edits of the session's ledger are taken in first. If the cache fails, the call is repeated without.
    """
    here = open_here()
    account = _find(here.workspace, wanted)
    if account is not None and account.ended_at is None:
        # If nothing can be written, manual edits are taken in next time.
        with suppress(StorageError):
            account = update_ledger(here.workspace, account).account
    with ReadingProgress() as reading:
        here.call(lambda workspace: update_index(workspace.log, workspace.index, reading.step))
    checkouts = [(one.project.workspace, one.branch) for one in open_others(here)]
    others = [OtherCheckoutLog(log=one.log, index=one.index, branch=branch) for one, branch in checkouts]
    return here.call(lambda workspace: work(workspace, account, others))


def _find(workspace: Workspace, wanted: str) -> Account | None:
    """Find the chosen session; it may have ended, because it is only read."""
    if wanted:
        return find_by_name(workspace, wanted, may_have_ended=True)
    try:
        return find_running(workspace, "")
    except SeveralSessionsError:  # it is for the next one
        return None


def _show(
    workspace: Workspace,
    account: Account | None,
    others: Sequence[OtherCheckoutLog],
    options: BriefOptions,
    budget: Budget,
) -> None:
    if options.banner:
        text = make_banner(workspace, read_brief_input(workspace, account, others).aim)
        if options.as_json:
            output.say_json({"text": text})
        else:
            output.say(text)
        return
    limit = EVERY if options.as_json else LIMIT
    brief_input = read_brief_input(workspace, account, others, limit, tells_peers=True)
    if (team := _read_team(workspace, account)) is not None:
        brief_input = replace(brief_input, team=team)
    frame = BriefFrame(nonce=workspace.entropy.token(_NONCE).hex())
    brief = pack_brief(brief_input, budget, workspace.now(), frame)
    if account is not None:
        follow_events(workspace, account, brief)
    if options.as_json:
        output.say_json(_as_data(brief, brief_input, account, budget))
    else:
        output.say(brief.text)


def _read_team(workspace: Workspace, account: Account | None) -> TeamInput | None:
    """Return what the engine of coordination says; if it does not answer, what it said last, if known."""
    try:
        coordination = workspace.find_coordination()
        if coordination is None:
            return None
        from passdown.services.coordination.team_input import read_team  # few sessions coordinate

        return read_team(workspace, account.session if account else "", coordination)
    except PassdownError as found:  # the rest of the brief does not depend on it
        output.note(found.message)
    from passdown.services.coordination.team_input import read_copied_team

    with suppress(StorageError):
        return read_copied_team(workspace, account)
    return None


def _as_data(
    brief: Brief, brief_input: BriefInput, account: Account | None, budget: Budget
) -> dict[str, object]:
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
            {"class": level, "kind": kind, "text": line.text, "fact": line.id or None}
            for level, kind, line in brief.lines
        ],
        "omitted": [{"kind": one.kind, "count": one.left, "command": one.command} for one in brief.omitted],
        "facts": [_fact_data(one, brief) for one in brief_input.all()],
        "contested": [[_fact_data(one, brief) for one in facts] for facts in brief_input.contested],
        "documents": [_fact_data(one, brief) for one in brief_input.documents],
        "account": [_fact_data(one, brief) for one in facts_held(account)] if account else [],
        "task": brief_input.task or None,
        "track": brief_input.track or None,
        "due_gates": dict(brief_input.due_gates),
        "before": [_fact_data(one, brief) for one in brief_input.aim.before_it],
        "words": _fact_data(brief_input.words, brief) if brief_input.words else None,
        "commits": [
            {**_fact_data(one.fact, brief), "subject": one.subject, "files": list(one.files)}
            for one in brief_input.commits
        ],
        "ahead": [_fact_data(one, brief) for one in brief_input.ahead],
        "team": _team_data(brief_input),
    }


def _team_data(brief_input: BriefInput) -> dict[str, object]:
    team = brief_input.team
    return {
        "agents": [
            {
                "agent": one.peer.agent,
                "session": one.peer.session or None,
                "branch": one.peer.branch or None,
                "last_seen": render_millis(one.at),
                "work": one.work or None,
                "tasks": [{"id": task.task, "title": task.title or None} for task in one.tasks],
                "files": list(one.files),
            }
            for one in list_agents(brief_input.peers, team)
        ],
        "ready": [{"id": one.task, "title": one.title, "role": one.role or None} for one in team.ready],
        "holdings": [
            {
                "kind": one.kind,
                "name": one.name,
                "title": one.title or None,
                "left": None if one.left is None else one.left.total_seconds(),
            }
            for one in team.holdings
        ],
        "messages": [
            {"agent": one.agent, "text": one.text, "at": render_millis(one.at), "is_urgent": one.is_urgent}
            for one in team.messages
        ],
        "orphans": [{"id": one.task, "title": one.title, "agent": one.agent} for one in team.orphans],
        "said_at": None if team.said_at is None else render_millis(team.said_at),
    }


def _fact_data(fact: Fact, brief: Brief) -> dict[str, object]:
    return {
        "id": fact.id,
        "kind": str(fact.kind),
        "key": fact.key or None,
        "text": show_fact(fact),
        "at": render_millis(fact.at),
        "agent": fact.agent,
        "provenance": fact.provenance.value,
        "event": fact.event or None,
        "branch": fact.branch or None,
        "is_in_brief": fact.id in brief.facts,
        "is_unpublished": fact.is_unpublished,
    }


# --- recall ---------------------------------------------------------------------------------------


def _evaluate(options: BriefOptions) -> int:
    from passdown.core.evidence import recall  # briefs do not need it

    if options.session or options.banner:
        raise UsageError("--eval cannot be used with --session or --banner", hint="remove the other option")
    lengths = _numbers(options.sessions, "--sessions", 1, _MOST_SESSIONS) or recall.SESSIONS
    tokens = _numbers(options.tokens, "--tokens", budgets.LEAST_TOKENS, _MOST_TOKENS) or recall.TOKENS
    chosen = [Budget(tokens=number, characters=options.chars) for number in tokens]
    chosen.append(Budget(tokens=max(tokens), characters=budgets.PREVIEW))
    rows = [row for length in lengths for row in _measure(length, chosen)]
    broken = recall.find_broken(rows)
    if options.as_json:
        output.say_json({"rows": [_row_data(row, row in broken) for row in rows], "is_good": not broken})
    else:
        output.say(recall.render_recall(rows))
    for row in broken:
        output.note(
            f"facts that every brief must contain are missing: {row.sessions} sessions, {row.tokens} tokens"
        )
    return PassdownError.exit_code if broken else 0


def _measure(sessions: int, chosen: Sequence[Budget]) -> "Sequence[RecallRow]":
    """Make histories of a length, and measure briefs of each; of one with few kinds at the largest budget."""
    from passdown.core.evidence.histories import make_history
    from passdown.core.evidence.recall import NOW
    from passdown.services.handover.evaluations import evaluate
    from passdown.wiring.evaluations import open_empty_project

    rows: list[RecallRow] = []
    for is_plain in (False, True):
        history = make_history(_SEED, sessions, is_plain=is_plain)
        largest = max(chosen, key=lambda budget: (budget.tokens, budget.characters))
        with open_empty_project(NOW) as workspace:
            wanted = [largest] if is_plain else chosen
            rows += evaluate(workspace, history, wanted, is_plain=is_plain)
    return rows


def _row_data(row: "RecallRow", is_broken: bool) -> dict[str, object]:
    return {
        "sessions": row.sessions,
        "kinds": "few" if row.is_plain else "all",
        "tokens": row.tokens,
        "characters": row.characters,
        "is_head_whole": row.is_head_whole,
        "is_head_in_preview": row.is_head_first,
        "decisions": row.decisions,
        "questions": row.questions,
        "rules": row.rules,
        "naming_a_file": row.near,
        "naming_a_file_in_all": row.all_near,
        "used_tokens": row.used.tokens,
        "used_characters": row.used.characters,
        "is_good": not is_broken,
    }


def _one_number(text: str) -> int:
    numbers = _numbers(text, "--tokens", budgets.LEAST_TOKENS, _MOST_TOKENS)
    if len(numbers) > 1:
        raise UsageError("--tokens accepts a list only with --eval", hint="give one number")
    return numbers[0] if numbers else budgets.TOKENS


def _numbers(text: str, name: str, least: int, most: int) -> tuple[int, ...]:
    """Parse whole numbers separated by commas; an empty text has none."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and least <= int(part[:9]) <= most for part in parts):
        raise UsageError(f"{name}: {text} is not valid", hint=f"write whole numbers from {least} to {most}")
    return tuple(int(part) for part in parts)
