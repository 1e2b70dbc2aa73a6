"""What holds for a session: its own account, those of the sessions it goes on from, and the events of all.

1. Events are merged already; what they hold is the ground. What other checkouts hold is added.
2. Lines of journals that no event covers are folded in with them, each at its own time.
3. So is what any journal of this machine takes back of feedback and receipts, which older events do not say.
4. Goal and now come from one session (C152), and with next they are one line of work (C59): that of the
   session itself and those it goes on from, else the same track, else the same branch, else the project. A
   session that still runs may lend its goal to others of its track or branch; what it does now stays its own.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final, NamedTuple

from passdown.core.facts import (
    CLAIMED,
    PROMPTED,
    SETTLED,
    Fact,
    Provenance,
    cut_aim,
    has_result,
    identify,
    make_key,
    tell,
)
from passdown.core.fold import ANSWERED, Tables, fold
from passdown.core.formats.journal import SESSION_END, JournalLine, facts_of
from passdown.core.kinds import AIMS, MERGED, FactKind, Merging
from passdown.core.merge.event_facts import EventFacts
from passdown.core.merge.merge import Digest, NewestFacts
from passdown.core.sessions.session_facts import Account, name_work
from passdown.core.statements import name_statement
from passdown.records import field, record, replace


class CurrentWork(NamedTuple):
    """What a session is to achieve, does, and will do: one line of work."""

    goal: Fact | None = None
    now: Fact | None = None
    next: tuple[Fact, ...] = ()
    is_over: bool = False
    """Whether the session that did it has ended: then it is what it last worked on (C152)."""
    before_it: tuple[Fact, ...] = ()
    """Goal and now of an earlier session, where the last one only had prompts (C60)."""

    @property
    def work_name(self) -> str:
        """What the present step is called."""
        return name_work(self.now, is_over=self.is_over) if self.now else "now"

    @property
    def is_known(self) -> bool:
        """Whether it says anything about the work."""
        return self.goal is not None or self.now is not None

    @property
    def at(self) -> datetime | None:
        """When it was last stated."""
        return max((known.at for known in (self.goal, self.now) if known), default=None)


NO_AIM: Final = CurrentWork()


class CommitSubject(NamedTuple):
    """A commit that git has, with its subject and files."""

    fact: Fact
    subject: str
    files: tuple[str, ...] = ()


class OtherSession(NamedTuple):
    """Another session that runs."""

    agent: str
    branch: str
    text: str
    at: datetime
    session: str = ""


class NamedTask(NamedTuple):
    """A task, with its title as far as that is known here."""

    task: str
    title: str = ""
    role: str = ""


class TeamMember(NamedTuple):
    """Another session that is at work, by what the engine of coordination says."""

    session: str
    agent: str
    at: datetime
    """When it was heard last."""
    tasks: tuple[NamedTask, ...] = ()
    files: tuple[str, ...] = ()


class HeldName(NamedTuple):
    """A task or a path pattern that the session holds, and for how long; None if the engine was not asked."""

    kind: str
    name: str
    left: timedelta | None = None
    title: str = ""


class UnreadMessage(NamedTuple):
    """A message that the session has not read."""

    position: int
    agent: str
    text: str
    at: datetime
    is_urgent: bool = False


class OrphanedTask(NamedTuple):
    """A task whose session gives no sign of life."""

    task: str
    title: str
    agent: str


@record
class TeamInput:
    """What sessions share, as far as it concerns one of them."""

    holdings: tuple[HeldName, ...] = ()
    messages: Annotated[tuple[UnreadMessage, ...], "The newest first."] = ()
    orphans: tuple[OrphanedTask, ...] = ()
    members: Annotated[tuple[TeamMember, ...], "Who else is at work."] = ()
    ready: Annotated[tuple[NamedTask, ...], "The first tasks that can be claimed."] = ()
    said_at: Annotated[datetime | None, "When a server said so, if a copy of that was read (C77)."] = None


NO_TEAM: Final = TeamInput()


@record
class Nearby:
    """Which facts are near a session's work (C132); what no event told yet is of its own branch and track."""

    named: Annotated[frozenset[tuple[str, str]], "Kind and text of facts that name a file at hand."] = (
        frozenset()
    )
    of_track: Annotated[frozenset[str], "The hashes of the newest events of its track."] = frozenset()
    of_branch: Annotated[frozenset[str], "The hashes of the newest events of its branch."] = frozenset()

    def names(self, fact: Fact) -> bool:
        """Return whether a fact names a file at hand."""
        return (fact.kind, fact.text) in self.named

    def distance(self, fact: Fact) -> tuple[bool, bool, bool]:
        """Order facts: those that name a file at hand, then of the same track, then of the same branch."""
        is_told = bool(fact.event)
        return (
            not self.names(fact),
            is_told and fact.event not in self.of_track,
            bool(fact.branch) or (is_told and fact.event not in self.of_branch),
        )


NOWHERE: Final = Nearby()

Contested = tuple[tuple[Fact, ...], ...]
"""Decisions of keys under which several are in force; the newest key first, and in each key."""

LISTED: Final = tuple(
    kind for kind in MERGED if kind.row.merging in {Merging.SET, Merging.MAP, Merging.PHASES}
)
"""The kinds that everybody is told of, whatever their line of work."""
_LASTING: Final = (
    *(kind for kind in LISTED if not kind.row.retraction_key),
    FactKind.FEEDBACK,
    FactKind.RECEIPT,
)
"""What events can state and not take back; feedback and receipts they can, but older ones did not."""


@record
class BriefInput:
    """All that a session can be told."""

    agent: Annotated[str, "Who is told; what it said itself needs no name."] = ""
    aim: Annotated[CurrentWork, "Goal, now and next."] = NO_AIM
    tables: Annotated[Mapping[str, Mapping[str, Fact]], "The other facts, oldest first."] = field(
        default_factory=dict[str, Mapping[str, Fact]]
    )
    beyond: Annotated[Mapping[str, int], "How many older facts were not even looked at."] = field(
        default_factory=dict[str, int]
    )
    task: Annotated[str, "The task the session has claimed."] = ""
    track: Annotated[str, "The track it is bound to."] = ""
    team: Annotated[
        TeamInput, "What it holds, its mail, who else is at work, and tasks that others left."
    ] = NO_TEAM
    due_gates: Annotated[Mapping[str, str], "The gates of the track that wait for a result, and why."] = (
        field(default_factory=dict[str, str])
    )
    ledger: Annotated[str, "The ledger's path from the root."] = ""
    words: Annotated[Fact | None, "What the agent of the last session said last (C135)."] = None
    commits: Annotated[tuple[CommitSubject, ...], "The newest commits that a branch has, in order."] = ()
    edits: Annotated[Mapping[str, int], "How often sessions here edited each file."] = field(
        default_factory=dict[str, int]
    )
    peers: Annotated[tuple[OtherSession, ...], "Other sessions that run."] = ()
    ahead: Annotated[tuple[Fact, ...], "What events say that are dated too far ahead to count here."] = ()
    documents: Annotated[tuple[Fact, ...], "What documents of others say that no event tells."] = ()
    read: Annotated[int, "How many events of this checkout were read."] = 0
    unread: Annotated[int, "How many files of events were not read yet (C131)."] = 0
    names_verbs: Annotated[bool, "Whether it is told how to record something."] = False
    contested: Annotated[Contested, "Decisions of one key that did not know of each other."] = ()
    nearby: Annotated[Nearby, "What of it is near the session's work."] = NOWHERE

    def nearest(self, kind: FactKind) -> tuple[Fact, ...]:
        """Give the facts of a kind: those near the session's work first, then the newest."""
        return tuple(sorted(self.of(kind), key=self.nearby.distance))

    def of(self, kind: FactKind) -> tuple[Fact, ...]:
        """Give the facts of a kind, the newest first."""
        facts = sorted(self.tables.get(kind, {}).values(), key=lambda fact: fact.at)
        return tuple(reversed(facts))

    def all(self) -> tuple[Fact, ...]:
        """Give every fact."""
        one = [known for known in (self.aim.goal, self.aim.now) if known]
        return (*one, *self.aim.next, *(known for kind in LISTED for known in self.of(kind)))


class GatheredFacts(NamedTuple):
    """What holds, and the decisions that contradict each other."""

    tables: Tables
    contested: Contested

    def without_replaced(self, find_names: Callable[[str], Collection[str]]) -> "GatheredFacts":
        """Leave out what is replaced by something that was itself replaced, and so is not gathered.

        `find_names` gives the names of the statements in force under a key, by all that was said of it.
        """
        decisions = dict(self.tables[FactKind.DECISION.value])
        contested: list[tuple[Fact, ...]] = []
        for facts in self.contested:
            key = identify(facts[0])
            names = find_names(key)
            kept = tuple(fact for fact in facts if name_statement(fact) in names) or facts
            decisions[key] = kept[0]
            contested += [kept] if len(kept) > 1 else []
        return GatheredFacts({**self.tables, FactKind.DECISION.value: decisions}, tuple(contested))


def gather(
    digest: Digest,
    elsewhere: Iterable[Fact],
    lines: Iterable[Fact],
    settled: Iterable[Fact] = (),
    unpublished: Iterable[Fact] = (),
) -> GatheredFacts:
    """Fold what holds here and elsewhere, what no event covers, and what was taken back (1 to 3).

    `unpublished` is what other sessions here stated; what is known without them is not theirs (C123).
    """
    facts = [*facts_in(digest), *elsewhere, *map(tell, filter(has_result, lines)), *settled]
    facts += _only_new(unpublished, facts)
    facts.sort(key=lambda fact: fact.at)
    folded = fold(facts)
    tables = {kind.value: folded.tables.get(kind, {}) for kind in LISTED}
    return GatheredFacts(tables, folded.list_contested())


def facts_in(digest: Digest, branch: str = "") -> Iterator[Fact]:
    """Give what merged events hold, the oldest first, marked with their branch if it is not ours."""
    for facts in digest.contested:
        for fact in reversed(facts):
            yield fact._replace(branch=branch) if branch else fact
    for kind in LISTED:
        for fact in reversed(digest.kinds[kind].facts):
            yield fact._replace(branch=branch) if branch else fact


def without_known(facts: Iterable[Fact], digest: Digest) -> Iterator[Fact]:
    """Leave out of a document what events hold too, and questions that they answer."""
    held = {_name(fact) for fact in facts_in(digest)}
    answered = {identify(fact) for fact in digest.kinds[FactKind.ANSWER].facts}
    for fact in facts:
        is_answered = fact.kind == FactKind.QUESTION and identify(fact) in answered
        if not is_answered and _name(tell(fact)) not in held:
            yield fact


def _only_new(found: Iterable[Fact], known: Sequence[Fact]) -> Sequence[Fact]:
    """Leave out what is known, and questions that were answered since."""
    names = {_name(fact) for fact in known}
    answers = [(identify(fact), fact.at) for fact in known if fact.kind == FactKind.ANSWER]
    return [
        fact
        for fact in found
        if _name(fact) not in names
        and not any(
            fact.kind == FactKind.QUESTION and key == identify(fact) and at >= fact.at for key, at in answers
        )
    ]


def _name(fact: Fact) -> tuple[str, str, str]:
    return fact.kind, identify(fact), fact.text


def newest_told(facts: Iterable[Fact], agent: str) -> datetime | None:
    """Give when the newest of these facts was said that another session has not published yet."""
    return max((fact.at for fact in facts if not fact.event and fact.agent != agent), default=None)


def beyond_of(digest: Digest) -> Mapping[str, int]:
    """Count what the digest knows of and does not hold."""
    return {kind.value: digest.kinds[kind].total - len(digest.kinds[kind].facts) for kind in LISTED}


def settled_by(session: str, lines: Iterable[JournalLine]) -> Iterator[Fact]:
    """Give what lines take back of feedback and receipts (3)."""
    for fact in facts_of(session, lines):
        kind = FactKind(fact.key).told if fact.kind == FactKind.RETRACTION and fact.key in _TAKEN else None
        if kind is not None:
            yield fact._replace(key=kind.value)
        elif fact.kind == FactKind.ANSWER:
            yield from (
                fact._replace(kind=FactKind.RETRACTION.value, text=fact.key, key=one) for one in ANSWERED
            )


_TAKEN: Final = frozenset(kind for kind in FactKind if kind.told in _LASTING)


def holdings_of(account: Account) -> tuple[HeldName, ...]:
    """Give what a session held when it last asked the engine."""
    return (
        *(HeldName("task", name) for name in account.claims),
        *(HeldName("file", name) for name in account.reservations),
    )


def has_stated(account: Account) -> bool:
    """Return whether a session stated something itself; what it carried on, or we saw, does not count."""
    own = (fact for fact in facts_held(account) if fact.session == account.session)
    return any(fact.provenance is Provenance.STATED for fact in own)


# --- aims -----------------------------------------------------------------------------------------


def work_of(account: Account, before: Sequence[Account] = ()) -> CurrentWork:
    """Give what an account says of its work, or the first of those before it that says anything."""
    one = next((one for one in (account, *before) if one.goal or one.now), None)
    if one is None:
        return NO_AIM
    now = one.now
    is_left = one is not account and now is not None and make_key(now.text) in account.left
    is_strange = _is_of_another(one.goal, now, lambda fact: fact.session == one.session)
    return CurrentWork(one.goal, None if is_left or is_strange else now, one.of(FactKind.NEXT))


def last_work_of(account: Account, before: Sequence[Account] = ()) -> CurrentWork:
    """Give what a session or the last of those before it did; if that one stated nothing, its prompts (C60).

    A session that only has prompts goes on with what the one before it stated.
    What an earlier one aimed at is told beside it. Steps that nobody stated are those of the last plan.
    """
    stated = work_of(account, before)
    gone = next((one for one in before if _has_own(one)), account)
    last = account if _has_own(account) else gone
    planned = (planned_steps(one) for one in (account, *before))
    steps = stated.next or next((found for found in planned if found), ())
    prompts = last.of(FactKind.PROMPT)
    if not prompts or any(_has_own(one, is_stated=True) for one in (last, gone)):
        return stated._replace(next=steps)
    goal, now = (
        fact._replace(kind=kind.value, text=cut_aim(fact.text), key=PROMPTED)
        for kind, fact in ((FactKind.GOAL, prompts[0]), (FactKind.NOW, prompts[-1]))
    )
    others = [stated.goal, stated.now if stated.now and stated.now.key != PROMPTED else None]
    before_it = tuple(fact for fact in others if fact and fact.text != goal.text)
    return CurrentWork(goal, now if now.text != goal.text else None, steps, before_it=before_it)


def _has_own(account: Account, *, is_stated: bool = False) -> bool:
    """Return whether a session has a goal, now or, unless it must have stated it, a prompt of its own."""
    aims = [fact for fact in (account.goal, account.now) if fact and fact.session == account.session]
    if is_stated:
        return any(fact.key != PROMPTED for fact in aims)
    return bool(aims or account.of(FactKind.PROMPT))


def planned_steps(account: Account) -> tuple[Fact, ...]:
    """Give the open items of a host's plan: the next steps of a session that stated none."""
    return tuple(fact for fact in account.of(FactKind.PLAN) if fact.because not in SETTLED)


def _is_of_another(goal: Fact | None, now: Fact | None, is_own: Callable[[Fact], bool]) -> bool:
    """Return whether a session stated its own goal, and only carried the present step on."""
    if goal is None or now is None or goal.key == PROMPTED:
        return False
    return is_own(goal) and not is_own(now)


def work_of_events(sources: Iterable[EventFacts]) -> Sequence[CurrentWork]:
    """Give what events say of the work of each session that wrote them; the newest event comes first.

    Events that name no session are those of their agent.
    """
    by_session: dict[str, list[EventFacts]] = {}
    for source in sources:
        by_session.setdefault(source.session or source.rank.agent, []).append(source)
    return [_work_in(some) for some in by_session.values()]


def work_of_track(sources: Iterable[EventFacts], running: Collection[str]) -> CurrentWork:
    """Give what the events of a track say of the work, whoever wrote them; the newest event comes first.

    Of agents that still run, only the goal is told (4).
    """
    said = fold(
        fact
        for source in reversed([*sources])
        for fact in source.facts
        if source.rank.agent not in running or fact.kind == FactKind.GOAL
    )
    goal, now = (next(iter(said.of(kind)), None) for kind in (FactKind.GOAL, FactKind.NOW))
    return CurrentWork(goal, now, said.of(FactKind.NEXT), is_over=True)


def fill_work(own: CurrentWork, others: Iterable[CurrentWork], left: Collection[str]) -> CurrentWork:
    """Complete a line of work with what others say of it; `left` are steps that are over."""
    every = (own, *others)
    goal = next((one.goal for one in every if one.goal), None)
    worked = next((one for one in every if one.now and make_key(one.now.text) not in left), CurrentWork())
    steps = next((one.next for one in every if one.next), ())
    return CurrentWork(goal, worked.now, steps, worked.is_over)


def only_shared_facts(digest: Digest, shared: Collection[Fact]) -> Digest:
    """Leave out of a digest the listed facts that only other tracks state."""
    kinds = dict(digest.kinds)
    for kind in LISTED:
        facts = tuple(fact for fact in kinds[kind].facts if fact in shared)
        left = len(kinds[kind].facts) - len(facts)
        kinds[kind] = NewestFacts(facts, kinds[kind].total - left)
    contested = (tuple(fact for fact in facts if fact in shared) for facts in digest.contested)
    return replace(digest, kinds=kinds, contested=tuple(facts for facts in contested if len(facts) > 1))


def _work_in(sources: Sequence[EventFacts]) -> CurrentWork:
    said = fold(fact for source in reversed(sources) for fact in source.facts)
    goal, now = (next(iter(said.of(kind)), None) for kind in (FactKind.GOAL, FactKind.NOW))
    writer = sources[0].rank.agent
    is_strange = _is_of_another(goal, now, lambda fact: fact.agent == writer)
    is_over = sources[0].type == SESSION_END or (now is not None and now.agent != writer)
    return CurrentWork(goal, None if is_strange else now, said.of(FactKind.NEXT), is_over)


def work_of_digest(digest: Digest, running: Collection[str]) -> CurrentWork:
    """Give what was published last, however long ago, unless it is of an agent that runs.

    All is of the session that last stated a goal or now.
    """
    goal, now, steps = (
        [fact for fact in digest.kinds[kind].facts if fact.agent not in running] for kind in AIMS
    )
    last = max((*goal, *now), key=lambda fact: fact.at, default=None)
    if last is None:
        return CurrentWork(next=tuple(steps))
    writer = digest.writers[last.event]
    told = {name for name, one in digest.writers.items() if one[:2] == writer[:2]}
    own = [[fact for fact in facts if fact.event in told] for facts in (goal, now, steps)]
    return CurrentWork(next(iter(own[0]), None), next(iter(own[1]), None), tuple(own[2]), writer.is_ended)


def newest_work(aims: Iterable[CurrentWork]) -> CurrentWork | None:
    """Choose the line of work that was stated last."""
    known = [(aim.at, aim) for aim in aims if aim.at is not None]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def lend_goal(aims: Iterable[CurrentWork]) -> CurrentWork | None:
    """Take the newest goal of sessions that run, and nothing else of theirs (4): not a task they claimed."""
    goals = (aim.goal for aim in aims if aim.goal and aim.goal.key != CLAIMED)
    return newest_work(CurrentWork(goal=goal) for goal in goals)


def facts_held(account: Account) -> tuple[Fact, ...]:
    """Give every fact that an account holds, of whatever kind."""
    registers = [fact for fact in (account.goal, account.now) if fact]
    return (*registers, *(fact for facts in account.lists.values() for fact in facts))
