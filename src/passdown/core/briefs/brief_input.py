"""The facts that hold for a session: from its own account, the sessions it continues, and all events.

1. The merged events of this checkout come first; facts of other checkouts are added to them.
2. Journal lines that no event covers are folded in, each at its own time.
3. So is every retraction of feedback or receipts in a journal of this machine: older events do not contain
   them.
4. Goal and now come from one session (C152), and with next they form one line of work (C59): that of the
   session itself and those it continues, else of the same track, else of the same branch, else of the
   project. A running session may lend its goal to others of its track or branch, but not its current step.
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
    """One line of work: what a session should achieve, what it is doing, and what comes next."""

    goal: Fact | None = None
    now: Fact | None = None
    next: tuple[Fact, ...] = ()
    is_over: bool = False
    """Whether its session has ended: then `now` is what it last worked on (C152)."""
    before_it: tuple[Fact, ...] = ()
    """Goal and now of an earlier session, if the last one only had prompts (C60)."""

    @property
    def work_name(self) -> str:
        """How the current step is titled: now, last worked on, or last prompt."""
        return name_work(self.now, is_over=self.is_over) if self.now else "now"

    @property
    def is_known(self) -> bool:
        """Whether it has a goal or a current step."""
        return self.goal is not None or self.now is not None

    @property
    def at(self) -> datetime | None:
        """When it was last stated."""
        return max((known.at for known in (self.goal, self.now) if known), default=None)


NO_AIM: Final = CurrentWork()


class CommitSubject(NamedTuple):
    """A commit with its subject and files, as git knows them."""

    fact: Fact
    subject: str
    files: tuple[str, ...] = ()


class OtherSession(NamedTuple):
    """Another running session."""

    agent: str
    branch: str
    text: str
    at: datetime
    session: str = ""


class NamedTask(NamedTuple):
    """A task, with its title if that is known here."""

    task: str
    title: str = ""
    role: str = ""


class TeamMember(NamedTuple):
    """Another running session, as the coordination engine knows it."""

    session: str
    agent: str
    at: datetime
    """When it was last active."""
    tasks: tuple[NamedTask, ...] = ()
    files: tuple[str, ...] = ()


class HeldName(NamedTuple):
    """A task or path pattern that the session holds, and the time left; None if the engine was not asked."""

    kind: str
    name: str
    left: timedelta | None = None
    title: str = ""


class UnreadMessage(NamedTuple):
    """A message that the session has not read yet."""

    position: int
    agent: str
    text: str
    at: datetime
    is_urgent: bool = False


class OrphanedTask(NamedTuple):
    """A task whose session has crashed or gone silent."""

    task: str
    title: str
    agent: str


@record
class TeamInput:
    """The shared state that concerns one session."""

    holdings: tuple[HeldName, ...] = ()
    messages: Annotated[tuple[UnreadMessage, ...], "The unread messages, newest first."] = ()
    orphans: tuple[OrphanedTask, ...] = ()
    members: Annotated[tuple[TeamMember, ...], "The other running sessions."] = ()
    ready: Annotated[tuple[NamedTask, ...], "The first tasks that can be claimed."] = ()
    said_at: Annotated[
        datetime | None, "When the server said this, if it was read from a local copy (C77)."
    ] = None


NO_TEAM: Final = TeamInput()


@record
class Nearby:
    """Which facts are near a session's work (C132); unpublished ones count as of its own branch and track."""

    named: Annotated[frozenset[tuple[str, str]], "Kind and text of each fact that names a file at hand."] = (
        frozenset()
    )
    of_track: Annotated[frozenset[str], "The hashes of the newest events of its track."] = frozenset()
    of_branch: Annotated[frozenset[str], "The hashes of the newest events of its branch."] = frozenset()

    def names(self, fact: Fact) -> bool:
        """Return whether a fact names a file at hand."""
        return (fact.kind, fact.text) in self.named

    def distance(self, fact: Fact) -> tuple[bool, bool, bool]:
        """Return a sort key: first facts that name a file at hand, then the same track, then the branch."""
        is_told = bool(fact.event)
        return (
            not self.names(fact),
            is_told and fact.event not in self.of_track,
            bool(fact.branch) or (is_told and fact.event not in self.of_branch),
        )


NOWHERE: Final = Nearby()

Contested = tuple[tuple[Fact, ...], ...]
"""The decisions of every key under which several are in force; keys and decisions newest first."""

LISTED: Final = tuple(
    kind for kind in MERGED if kind.row.merging in {Merging.SET, Merging.MAP, Merging.PHASES}
)
"""The kinds that every session is told about, whatever it works on."""
_LASTING: Final = (
    *(kind for kind in LISTED if not kind.row.retraction_key),
    FactKind.FEEDBACK,
    FactKind.RECEIPT,
)
"""Kinds that events could not retract, or, for feedback and receipts, that older events did not."""


@record
class BriefInput:
    """Everything that a session can be told."""

    agent: Annotated[str, "The reader; its own facts are shown without an author."] = ""
    aim: Annotated[CurrentWork, "Goal, now and next."] = NO_AIM
    tables: Annotated[Mapping[str, Mapping[str, Fact]], "The other facts, oldest first."] = field(
        default_factory=dict[str, Mapping[str, Fact]]
    )
    beyond: Annotated[Mapping[str, int], "How many older facts of each kind were not read."] = field(
        default_factory=dict[str, int]
    )
    task: Annotated[str, "The task the session has claimed."] = ""
    track: Annotated[str, "The track it is bound to."] = ""
    team: Annotated[TeamInput, "What it holds, its messages, the other sessions, and orphaned tasks."] = (
        NO_TEAM
    )
    due_gates: Annotated[Mapping[str, str], "The gates of the track that need a result, and why."] = field(
        default_factory=dict[str, str]
    )
    ledger: Annotated[str, "The ledger's path, relative to the root."] = ""
    words: Annotated[Fact | None, "The last message of the last session's agent (C135)."] = None
    commits: Annotated[
        tuple[CommitSubject, ...], "The newest commits that are on a branch, newest first."
    ] = ()
    edits: Annotated[Mapping[str, int], "How often this session and those it continues edited each file."] = (
        field(default_factory=dict[str, int])
    )
    peers: Annotated[tuple[OtherSession, ...], "The other running sessions."] = ()
    ahead: Annotated[tuple[Fact, ...], "Facts of events that are dated too far ahead to count here."] = ()
    documents: Annotated[tuple[Fact, ...], "Facts of other tools' documents that no event contains."] = ()
    read: Annotated[int, "How many events of this checkout were read."] = 0
    unread: Annotated[int, "How many event files were not read yet (C131)."] = 0
    explains_recording: Annotated[bool, "Whether the brief explains how to record something."] = False
    contested: Annotated[Contested, "Decisions of one key that were made without knowing of each other."] = ()
    nearby: Annotated[Nearby, "Which facts are near the session's work."] = NOWHERE
    readers: Annotated[frozenset[str], "The agents of the session and of those it continues."] = frozenset()
    past_edits: Annotated[int, "How often imported sessions edited the relevant files (C134)."] = 0

    @property
    def feedback(self) -> tuple[Fact, ...]:
        """The unanswered feedback for the session, newest first; that for other agents only is left out."""
        return tuple(one for one in self.of(FactKind.FEEDBACK) if not one.to or self.readers & {*one.to})

    def nearest(self, kind: FactKind) -> tuple[Fact, ...]:
        """Return the facts of a kind: those near the session's work first, then the newest."""
        return tuple(sorted(self.of(kind), key=self.nearby.distance))

    def of(self, kind: FactKind) -> tuple[Fact, ...]:
        """Return the facts of a kind, newest first."""
        facts = sorted(self.tables.get(kind, {}).values(), key=lambda fact: fact.at)
        return tuple(reversed(facts))

    def all(self) -> tuple[Fact, ...]:
        """Return every fact."""
        one = [known for known in (self.aim.goal, self.aim.now) if known]
        return (*one, *self.aim.next, *(known for kind in LISTED for known in self.of(kind)))


class GatheredFacts(NamedTuple):
    """The facts in force, and the decisions that contradict each other."""

    tables: Tables
    contested: Contested

    def without_replaced(self, find_names: Callable[[str], Collection[str]]) -> "GatheredFacts":
        """Drop decisions whose replacement was not gathered, because it has itself been replaced.

        `find_names` returns the names of the statements in force under a key, based on its whole history.
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
    """Fold the facts of events here and elsewhere, uncovered journal lines, and retractions (1 to 3).

    `unpublished` are statements of other sessions here; those that are known anyway are ignored (C123).
    """
    facts = [*facts_in(digest), *elsewhere, *map(tell, filter(has_result, lines)), *settled]
    facts += _only_new(unpublished, facts)
    facts.sort(key=lambda fact: fact.at)
    folded = fold(facts)
    tables = {kind.value: folded.tables.get(kind, {}) for kind in LISTED}
    return GatheredFacts(tables, folded.list_contested())


def facts_in(digest: Digest, branch: str = "") -> Iterator[Fact]:
    """Yield the facts of merged events, oldest first, marked with their branch if it is another one."""
    for facts in digest.contested:
        for fact in reversed(facts):
            yield fact._replace(branch=branch) if branch else fact
    for kind in LISTED:
        for fact in reversed(digest.kinds[kind].facts):
            yield fact._replace(branch=branch) if branch else fact


def without_known(facts: Iterable[Fact], digest: Digest) -> Iterator[Fact]:
    """Yield a document's facts, except those that events hold too and questions that events answer."""
    held = {_name(fact) for fact in facts_in(digest)}
    answered = {identify(fact) for fact in digest.kinds[FactKind.ANSWER].facts}
    for fact in facts:
        is_answered = fact.kind == FactKind.QUESTION and identify(fact) in answered
        if not is_answered and _name(tell(fact)) not in held:
            yield fact


def _only_new(found: Iterable[Fact], known: Sequence[Fact]) -> Sequence[Fact]:
    """Return the facts that are not known yet, without questions that were answered since."""
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


def newest_unpublished_at(facts: Iterable[Fact], agent: str) -> datetime | None:
    """Return the time of the newest of these facts that is another session's and unpublished."""
    return max((fact.at for fact in facts if not fact.event and fact.agent != agent), default=None)


def count_omitted(digest: Digest) -> Mapping[str, int]:
    """Count, for each kind, the facts that the digest counts but does not contain."""
    return {kind.value: digest.kinds[kind].total - len(digest.kinds[kind].facts) for kind in LISTED}


def list_retractions(session: str, lines: Iterable[JournalLine]) -> Iterator[Fact]:
    """Yield the retractions of feedback and receipts in a journal (3)."""
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
    """Return what a session held when it last asked the engine."""
    return (
        *(HeldName("task", name) for name in account.claims),
        *(HeldName("file", name) for name in account.reservations),
    )


def has_stated(account: Account) -> bool:
    """Return whether a session stated something itself; carried-on and observed facts do not count."""
    own = (fact for fact in facts_held(account) if fact.session == account.session)
    return any(fact.provenance is Provenance.STATED for fact in own)


# --- aims -----------------------------------------------------------------------------------------


def work_of(account: Account, before: Sequence[Account] = ()) -> CurrentWork:
    """Return the work of an account, or of the first account before it that has any."""
    one = next((one for one in (account, *before) if one.goal or one.now), None)
    if one is None:
        return NO_AIM
    now = one.now
    is_left = one is not account and now is not None and make_key(now.text) in account.left
    is_strange = _is_of_another(one.goal, now, lambda fact: fact.session == one.session)
    return CurrentWork(one.goal, None if is_left or is_strange else now, one.of(FactKind.NEXT))


def last_work_of(account: Account, before: Sequence[Account] = ()) -> CurrentWork:
    """Return what a session, or the last one before it, worked on; its prompts if it stated nothing (C60).

    Beside prompts, the brief also shows the goal and now of the earlier session. If nobody stated next steps,
    they are the open items of the last plan.
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
    """Return the open items of a host's plan: the next steps of a session that stated none."""
    return tuple(fact for fact in account.of(FactKind.PLAN) if fact.because not in SETTLED)


def _is_of_another(goal: Fact | None, now: Fact | None, is_own: Callable[[Fact], bool]) -> bool:
    """Return whether the goal is the session's own, but the current step was only carried on."""
    if goal is None or now is None or goal.key == PROMPTED:
        return False
    return is_own(goal) and not is_own(now)


def work_of_events(sources: Iterable[EventFacts]) -> Sequence[CurrentWork]:
    """Return the work of each session according to its events, which are given newest first.

    Events without a session are grouped by agent.
    """
    by_session: dict[str, list[EventFacts]] = {}
    for source in sources:
        by_session.setdefault(source.session or source.rank.agent, []).append(source)
    return [_work_in(some) for some in by_session.values()]


def work_of_track(sources: Iterable[EventFacts], running: Collection[str]) -> CurrentWork:
    """Return the work on a track according to its events, which are given newest first.

    Agents that still run contribute only a goal (4).
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
    """Fill the gaps of a line of work from others; `left` are steps that are already over."""
    every = (own, *others)
    goal = next((one.goal for one in every if one.goal), None)
    worked = next((one for one in every if one.now and make_key(one.now.text) not in left), CurrentWork())
    steps = next((one.next for one in every if one.next), ())
    return CurrentWork(goal, worked.now, steps, worked.is_over)


def only_shared_facts(digest: Digest, shared: Collection[Fact]) -> Digest:
    """Return a digest without the listed facts that only other tracks state."""
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
    """Return the work that was published last, however long ago, unless its agent still runs.

    Goal, now and next are those of the session that last stated a goal or now.
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
    """Return the line of work that was stated last."""
    known = [(aim.at, aim) for aim in aims if aim.at is not None]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def lend_goal(aims: Iterable[CurrentWork]) -> CurrentWork | None:
    """Return the newest goal of running sessions, but no claimed task and nothing else of theirs (4)."""
    goals = (aim.goal for aim in aims if aim.goal and aim.goal.key != CLAIMED)
    return newest_work(CurrentWork(goal=goal) for goal in goals)


def facts_held(account: Account) -> tuple[Fact, ...]:
    """Return every fact of an account, of any kind."""
    registers = [fact for fact in (account.goal, account.now) if fact]
    return (*registers, *(fact for facts in account.lists.values() for fact in facts))
