"""Make briefs: what a starting session must know."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Annotated, NamedTuple

from passdown.actions.answers import INLINE, MILLIS, Form, describe
from passdown.actions.callers import Caller, find_running
from passdown.actions.log.checkouts import open_others
from passdown.core.briefs.brief_frame import BriefFrame
from passdown.core.briefs.brief_input import BriefInput, TeamInput, facts_held
from passdown.core.briefs.briefs import Brief, brief_hash, pack_brief
from passdown.core.briefs.budgets import Budget
from passdown.core.briefs.team_lines import TeamAgent, list_agents
from passdown.core.facts import Fact, show_fact
from passdown.core.sessions.session_facts import Account
from passdown.errors import PassdownError, SeveralSessionsError, StorageError
from passdown.ports.index import EVERY
from passdown.records import record, replace
from passdown.services.handover.banners import make_banner
from passdown.services.handover.briefs import LIMIT, OtherCheckoutLog, read_brief_input
from passdown.services.handover.deliveries import NONCE, follow_events
from passdown.services.log.events import update_index
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.session_names import find_by_name
from passdown.wiring.workspaces import list_logs


@record
class BriefText:
    """A brief, or a banner."""

    text: Annotated[str, "The text."]


@record
class ShownLine:
    """A line of a brief."""

    level: Annotated[int, "Its class; lower is more important."]
    kind: Annotated[str, "The kind of fact that it shows."]
    text: Annotated[str, "The line."]
    fact: Annotated[str | None, "The id of the fact that it shows in full."]


@record
class OmittedFacts:
    """Facts that a brief leaves out."""

    kind: Annotated[str, "Their kind."]
    count: Annotated[int, "How many there are."]
    command: Annotated[str, "The command that shows them."]


@record
class BriefFact:
    """A fact in force for a session."""

    id: Annotated[str, "Its id."]
    kind: Annotated[str, "Its kind."]
    key: Annotated[str | None, "A decision's key, or the subject of another kind."]
    text: Annotated[str, "What it says."]
    at: Annotated[datetime, "When it was stated.", MILLIS]
    agent: Annotated[str, "Who stated or observed it."]
    provenance: Annotated[str, "How it is known."]
    event: Annotated[str | None, "The hash of its event."]
    branch: Annotated[str | None, "The branch of the other checkout that has it."]
    is_in_brief: Annotated[bool, "Whether the brief shows it in full."]
    is_unpublished: Annotated[bool, "Whether it is not in an event yet."]


@record
class BriefCommit:
    """A commit."""

    fact: Annotated[BriefFact, "The fact about it.", INLINE]
    subject: Annotated[str, "The first line of its message."]
    files: Annotated[tuple[str, ...], "The files that it changes."]


@record
class BriefTask:
    """A task that an agent has."""

    id: Annotated[str, "The task."]
    title: Annotated[str | None, "Its title, if known here."]


@record
class BriefAgent:
    """Another session that is working."""

    agent: Annotated[str, "The name of its agent."]
    session: Annotated[str | None, "Its id."]
    branch: Annotated[str | None, "The branch that it works on."]
    last_seen: Annotated[datetime, "When it was last seen.", MILLIS]
    work: Annotated[str | None, "Its goal and current work."]
    tasks: Annotated[tuple[BriefTask, ...], "The tasks that it has."]
    files: Annotated[tuple[str, ...], "The path patterns that it holds."]


@record
class ReadyTask:
    """A task that can be claimed."""

    id: Annotated[str, "The task."]
    title: Annotated[str, "Its title."]
    role: Annotated[str | None, "Who it is for, if not for anybody."]


@record
class BriefHolding:
    """What the session holds."""

    kind: Annotated[str, "What it is."]
    name: Annotated[str, "The task or the path pattern."]
    title: Annotated[str | None, "The title of a task."]
    left: Annotated[float | None, "How many seconds the lease lasts; null if unknown."]


@record
class BriefMessage:
    """A message that the session has not read."""

    agent: Annotated[str, "Who wrote it."]
    text: Annotated[str, "The message."]
    at: Annotated[datetime, "When.", MILLIS]
    is_urgent: Annotated[bool, "Whether it is urgent."]


@record
class BriefOrphan:
    """A task whose session went silent."""

    id: Annotated[str, "The task."]
    title: Annotated[str, "Its title."]
    agent: Annotated[str, "Who has it."]


@record
class BriefTeam:
    """What sessions share that concerns the briefed session."""

    agents: Annotated[tuple[BriefAgent, ...], "The other working sessions."]
    ready: Annotated[tuple[ReadyTask, ...], "The first tasks that can be claimed."]
    holdings: Annotated[tuple[BriefHolding, ...], "What the session holds."]
    messages: Annotated[tuple[BriefMessage, ...], "Its unread messages, newest first."]
    orphans: Annotated[tuple[BriefOrphan, ...], "Tasks that silent sessions left."]
    said_at: Annotated[datetime | None, "When the server sent it, if a saved answer was read.", MILLIS]


def _tell_lines(lines: Iterable[ShownLine]) -> list[dict[str, object]]:
    return [{"class": one.level, "kind": one.kind, "text": one.text, "fact": one.fact} for one in lines]


@record
class BriefResult:
    """A brief, and every fact in force."""

    session: Annotated[str | None, "The briefed session; null for the next one that starts here."]
    agent: Annotated[str | None, "The name of its agent."]
    nonce: Annotated[str, "The mark at the start and the end of the brief."]
    sha256: Annotated[str, "The hash of the text between the marks."]
    tokens: Annotated[int, "How many tokens it takes, estimated."]
    characters: Annotated[int, "How many characters it takes."]
    budget: Annotated[Budget, "Its budget."]
    text: Annotated[str, "The brief."]
    lines: Annotated[tuple[ShownLine, ...], "Its lines.", Form(_tell_lines)]
    omitted: Annotated[tuple[OmittedFacts, ...], "What it leaves out."]
    facts: Annotated[tuple[BriefFact, ...], "Every fact."]
    contested: Annotated[tuple[tuple[BriefFact, ...], ...], "Decisions that contradict each other."]
    documents: Annotated[tuple[BriefFact, ...], "Facts in documents of other tools that are in no event."]
    account: Annotated[tuple[BriefFact, ...], "The session's own facts."]
    task: Annotated[str | None, "The task that it has."]
    track: Annotated[str | None, "The track that it is bound to."]
    due_gates: Annotated[Mapping[str, str], "The gates that wait for a result, and why."]
    before: Annotated[tuple[BriefFact, ...], "Goal and work of an earlier session, if the last one had none."]
    words: Annotated[BriefFact | None, "The last message of the agent of the last session."]
    commits: Annotated[tuple[BriefCommit, ...], "The newest commits."]
    ahead: Annotated[tuple[BriefFact, ...], "Facts of events that are dated too far in the future to count."]
    team: Annotated[BriefTeam, "What sessions share."]


class Standpoint(NamedTuple):
    """The session to brief, and the logs of the other checkouts."""

    account: Account | None
    others: Sequence[OtherCheckoutLog]


def take_standpoint(caller: Caller) -> Standpoint:
    """Find the session to brief, record manual edits of its ledger, and read new events with a progress bar.

    The session may have ended, because it is only read. Without one, the brief is for the next session here.
    """
    workspace, account = caller.workspace, None
    if caller.session:
        account = find_by_name(workspace, caller.session, may_have_ended=True)
    else:
        with suppress(SeveralSessionsError):  # the brief is for the next one
            account = find_running(caller)
        if account is not None and account.start.is_person:  # a person reads what the next agent is told
            account = None
    if account is not None and account.ended_at is None:
        # If nothing can be written, manual edits are recorded next time.
        with suppress(StorageError):
            account = update_ledger(workspace, account).account
    update_index(workspace.log, workspace.index, caller.around.progress)
    others = [(one.caller.workspace, one.branch) for one in open_others(caller)]
    return Standpoint(account, list_logs(others))


def show_banner(caller: Caller, _request: object = None) -> BriefText:
    """Return the banner: the combined events, the goal and the current work."""
    account, others = take_standpoint(caller)
    return BriefText(
        text=make_banner(caller.workspace, read_brief_input(caller.workspace, account, others).aim)
    )


def show_brief(caller: Caller, request: Budget) -> BriefText:
    """Return the brief of a session within a budget."""
    return BriefText(text=_pack(caller, take_standpoint(caller), request, LIMIT)[0].text)


def describe_brief(caller: Caller, request: Budget) -> BriefResult:
    """Return the brief of a session within a budget, and every fact in full."""
    whose = take_standpoint(caller)
    account = whose.account
    brief, found = _pack(caller, whose, request, EVERY)
    shown = brief.facts

    def tell(facts: Iterable[Fact]) -> tuple[BriefFact, ...]:
        return tuple(_tell_fact(one, shown) for one in facts)

    return BriefResult(
        session=account.session if account else None,
        agent=account.agent if account else None,
        nonce=brief.frame.nonce,
        sha256=brief_hash(brief),
        tokens=brief.size.tokens,
        characters=brief.size.characters,
        budget=request,
        text=brief.text,
        lines=tuple(
            ShownLine(level=level, kind=kind, text=line.text, fact=line.id or None)
            for level, kind, line in brief.lines
        ),
        omitted=tuple(
            OmittedFacts(kind=one.kind, count=one.left, command=one.command) for one in brief.omitted
        ),
        facts=tell(found.all()),
        contested=tuple(map(tell, found.contested)),
        documents=tell(found.documents),
        account=tell(facts_held(account)) if account else (),
        task=found.task or None,
        track=found.track or None,
        due_gates=found.due_gates,
        before=tell(found.aim.before_it),
        words=_tell_fact(found.words, shown) if found.words else None,
        commits=tuple(describe(BriefCommit, one, fact=_tell_fact(one.fact, shown)) for one in found.commits),
        ahead=tell(found.ahead),
        team=_tell_team(found),
    )


def _pack(caller: Caller, whose: Standpoint, budget: Budget, limit: int) -> tuple[Brief, BriefInput]:
    """Make the brief; what the session states from now on counts as later than everything in it."""
    workspace, account = caller.workspace, whose.account
    found = read_brief_input(workspace, account, whose.others, limit, with_unpublished=True)
    if (team := _read_team(caller, account)) is not None:
        found = replace(found, team=team)
    frame = BriefFrame(nonce=workspace.entropy.token(NONCE).hex())
    brief = pack_brief(found, budget, workspace.now(), frame)
    if account is not None:
        follow_events(workspace, account, brief)
    return brief, found


def _read_team(caller: Caller, account: Account | None) -> TeamInput | None:
    """Return the team from the coordination engine, or its last answer if it does not answer now."""
    workspace = caller.workspace
    try:
        coordination = workspace.find_coordination()
        if coordination is None:
            return None
        from passdown.services.coordination.team_input import read_team  # few sessions coordinate

        return read_team(workspace, account.session if account else "", coordination)
    except PassdownError as found:  # the rest of the brief does not depend on it
        caller.warn(found.message)
    from passdown.services.coordination.team_input import read_copied_team

    with suppress(StorageError):
        return read_copied_team(workspace, account)
    return None


def _tell_fact(fact: Fact, shown: Collection[str]) -> BriefFact:
    return describe(BriefFact, fact, text=show_fact(fact), is_in_brief=fact.id in shown)


def _tell_team(found: BriefInput) -> BriefTeam:
    team = found.team
    holdings = [
        describe(BriefHolding, one, left=None if one.left is None else one.left.total_seconds())
        for one in team.holdings
    ]
    return BriefTeam(
        agents=tuple(map(_tell_agent, list_agents(found.peers, team))),
        ready=tuple(describe(ReadyTask, one, id=one.task) for one in team.ready),
        holdings=tuple(holdings),
        messages=tuple(describe(BriefMessage, one) for one in team.messages),
        orphans=tuple(describe(BriefOrphan, one, id=one.task) for one in team.orphans),
        said_at=team.said_at,
    )


def _tell_agent(one: TeamAgent) -> BriefAgent:
    tasks = tuple(describe(BriefTask, task, id=task.task) for task in one.tasks)
    return describe(BriefAgent, one, one.peer, last_seen=one.at, tasks=tasks)
