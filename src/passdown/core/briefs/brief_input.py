"""What holds for a session: its own account, those of the sessions it goes on from, and the events of all.

1. Events are merged already; what they hold is the ground. What other checkouts hold is added.
2. Lines of journals that no event covers are folded in with them, each at its own time.
3. So is what any journal of this machine takes back of feedback and receipts, which events cannot say.
4. Goal, now and next are those of one line of work (C59): the session itself and those it goes on from, else
   the same track, else the same branch, else the project. A session that still runs may lend its goal to
   others of its track or branch; what it does now stays its own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final, NamedTuple

from passdown.core.facts import Fact, has_failed, identify, make_key, tell
from passdown.core.fold import ANSWERED, Tables, fold
from passdown.core.formats.journal import JournalLine, facts_of
from passdown.core.kinds import MERGED, FactKind, Merging
from passdown.core.lazy_regex import pattern
from passdown.core.merge.event_facts import EventFacts
from passdown.core.merge.merge import Digest
from passdown.core.sessions.session_facts import Account
from passdown.records import field, record

_COMMIT: Final = pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")


class CurrentWork(NamedTuple):
    """What a session is to achieve, does, and will do: one line of work."""

    goal: Fact | None = None
    now: Fact | None = None
    next: tuple[Fact, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether it says anything about the work."""
        return self.goal is not None or self.now is not None

    @property
    def at(self) -> datetime | None:
        """When it was last stated."""
        return max((known.at for known in (self.goal, self.now) if known), default=None)


NO_AIM: Final = CurrentWork()


class OtherSession(NamedTuple):
    """Another session that runs."""

    agent: str
    branch: str
    text: str
    at: datetime


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


NO_TEAM: Final = TeamInput()

LISTED: Final = tuple(
    kind for kind in MERGED if kind.row.merging in {Merging.SET, Merging.MAP, Merging.PHASES}
)
"""The kinds that everybody is told of, whatever their line of work."""
_LASTING: Final = (*(kind for kind in LISTED if not kind.row.retraction_key), FactKind.FEEDBACK)
"""What events can state and not take back; feedback they can, but older ones did not."""


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
    team: Annotated[TeamInput, "What it holds, its mail, and tasks that others left."] = NO_TEAM
    due_gates: Annotated[Mapping[str, str], "The gates of the track that wait for a result, and why."] = (
        field(default_factory=dict[str, str])
    )
    ledger: Annotated[str, "The ledger's path from the root."] = ""
    peers: Annotated[tuple[OtherSession, ...], "Other sessions that run."] = ()
    ahead: Annotated[tuple[Fact, ...], "What events say that are dated too far ahead to count here."] = ()

    def of(self, kind: FactKind) -> tuple[Fact, ...]:
        """Give the facts of a kind, the newest first."""
        facts = sorted(self.tables.get(kind, {}).values(), key=lambda fact: fact.at)
        return tuple(reversed(facts))

    def all(self) -> tuple[Fact, ...]:
        """Give every fact."""
        one = [known for known in (self.aim.goal, self.aim.now) if known]
        return (*one, *self.aim.next, *(known for kind in LISTED for known in self.of(kind)))


def gather(
    digest: Digest, elsewhere: Iterable[Fact], lines: Iterable[Fact], settled: Iterable[Fact] = ()
) -> Tables:
    """Fold what holds here and elsewhere, what no event covers, and what was taken back (1 to 3)."""
    facts = [*facts_in(digest), *elsewhere, *map(tell, lines), *settled]
    facts.sort(key=lambda fact: fact.at)
    tables = fold(facts).tables
    return {kind.value: tables.get(kind, {}) for kind in LISTED}


def facts_in(digest: Digest, branch: str = "") -> Iterator[Fact]:
    """Give what merged events hold, the oldest first, marked with their branch if it is not ours."""
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


def _name(fact: Fact) -> tuple[str, str, str]:
    return fact.kind, identify(fact), fact.text


def newest_told(facts: Iterable[Fact], agent: str) -> datetime | None:
    """Give when the newest of these facts was said that another session has not published yet."""
    return max((fact.at for fact in facts if not fact.event and fact.agent != agent), default=None)


def beyond_of(digest: Digest) -> Mapping[str, int]:
    """Count what the digest knows of and does not hold."""
    return {kind.value: digest.kinds[kind].total - len(digest.kinds[kind].facts) for kind in LISTED}


def settled_by(session: str, lines: Iterable[JournalLine]) -> Iterator[Fact]:
    """Give what lines take back of feedback and receipts: events cannot say so (3)."""
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


# --- receipts -------------------------------------------------------------------------------------


class SortedReceipts(NamedTuple):
    """Receipts by what they mean for the next session: a failed test is not done."""

    done: tuple[Fact, ...]
    failed: tuple[Fact, ...]
    failed_before: tuple[Fact, ...]
    commits: tuple[Fact, ...]


def sort_receipts(receipts: Sequence[Fact], is_fresh: Callable[[Fact], bool]) -> SortedReceipts:
    """Tell apart what was done, what failed lately or before, and commits."""
    failed = [fact for fact in receipts if has_failed(fact.text)]
    commits = [fact for fact in receipts if _COMMIT.fullmatch(fact.text)]
    return SortedReceipts(
        tuple(fact for fact in receipts if fact not in failed and fact not in commits),
        tuple(fact for fact in failed if is_fresh(fact)),
        tuple(fact for fact in failed if not is_fresh(fact)),
        tuple(commits),
    )


# --- aims -----------------------------------------------------------------------------------------


def work_of(account: Account, before: Sequence[Account] = ()) -> CurrentWork:
    """Give what an account says of its work, or the first of those before it that says anything."""
    one = next((one for one in (account, *before) if one.goal or one.now), None)
    if one is None:
        return NO_AIM
    is_left = one is not account and one.now is not None and make_key(one.now.text) in account.left
    return CurrentWork(one.goal, None if is_left else one.now, one.of(FactKind.NEXT))


def work_of_events(sources: Iterable[EventFacts]) -> Sequence[CurrentWork]:
    """Give what events say of the work of each agent that wrote them; the newest event comes first."""
    by_agent: dict[str, list[EventFacts]] = {}
    for source in sources:
        by_agent.setdefault(source.rank.agent, []).append(source)
    return [_work_in(reversed(some)) for some in by_agent.values()]


def _work_in(sources: Iterable[EventFacts]) -> CurrentWork:
    said = fold(fact for source in sources for fact in source.facts)
    goal, now = (next(iter(said.of(kind)), None) for kind in (FactKind.GOAL, FactKind.NOW))
    return CurrentWork(goal, now, said.of(FactKind.NEXT))


def newest_work(aims: Iterable[CurrentWork]) -> CurrentWork | None:
    """Choose the line of work that was stated last."""
    known = [(aim.at, aim) for aim in aims if aim.at is not None]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def lend_goal(aims: Iterable[CurrentWork]) -> CurrentWork | None:
    """Take the newest goal of sessions that run, and nothing else of theirs (4)."""
    return newest_work(CurrentWork(goal=aim.goal) for aim in aims)


def facts_held(account: Account) -> tuple[Fact, ...]:
    """Give every fact that an account holds, of whatever kind."""
    registers = [fact for fact in (account.goal, account.now) if fact]
    return (*registers, *(fact for facts in account.lists.values() for fact in facts))
