"""Brief a session: find what holds for it, and say it within a budget (C59, C65, C67, C68)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Annotated, Final

from passdown.core.accounts import Account, fold_journal
from passdown.core.bookkeeping import Said, find_edits
from passdown.core.briefs import Brief, Frame, pack_brief
from passdown.core.budgets import Budget
from passdown.core.events import Event
from passdown.core.facts import Fact, FactKind, make_key
from passdown.core.journal import JournalLine
from passdown.core.ledgers import Ledger, parse_ledger
from passdown.core.merge import Digest
from passdown.core.sources import GOAL, NEXT, NOW, Section
from passdown.core.standings import (
    NO_AIM,
    Aim,
    Known,
    Peer,
    Standing,
    Tables,
    aim_of,
    aims_of_events,
    beyond_of,
    drop_settled,
    gather,
    lend_goal,
    mark_observed,
    newest_aim,
    settled_of,
    tables_of,
    touches,
)
from passdown.errors import FormatError, StorageError
from passdown.ports.event_log import EventLog
from passdown.ports.index import Index
from passdown.ports.repository import UNKNOWN
from passdown.records import record, replace
from passdown.services.events import take_in
from passdown.services.history import Texts, label, parse_text
from passdown.services.journals import Project, newest_first, read_account, read_before, read_open
from passdown.services.presence import is_live
from passdown.services.sessions import LEDGER

LIMIT: Final = 1_000
"""How many facts of a section are looked at; what is older is counted."""
_ELSEWHERE: Final = 50
_RECENT: Final = 100
_MARKED: Final = 60
_LATELY: Final = 50
_SETTLING: Final = (f'"{FactKind.ANSWER.value}"', f'"{FactKind.RETRACTION.value}"')
"""What stands in a journal that may take back what events say."""
_LISTED: Final = 10
_MARKED_KINDS: Final = (
    FactKind.FEEDBACK,
    FactKind.CONSTRAINT,
    FactKind.RECEIPT,
    FactKind.QUESTION,
    FactKind.DECISION,
)


@record
class Elsewhere:
    """The events of another checkout of the project."""

    log: Annotated[EventLog, "Its events."]
    index: Annotated[Index, "What was folded of them."]
    branch: Annotated[str, "The branch they are marked with."]


def make_brief(
    project: Project, account: Account | None, budget: Budget, nonce: str, others: Sequence[Elsewhere] = ()
) -> Brief:
    """Brief a session, or whoever would start one here; nothing is written but the cache.

    What is in it does not depend on the nonce. A log of another checkout that cannot be read is left out.
    """
    return pack_brief(read_standing(project, account, others), budget, project.now(), Frame(nonce=nonce))


def read_standing(
    project: Project, account: Account | None, others: Sequence[Elsewhere] = (), limit: int = LIMIT
) -> Standing:
    """Find what holds for a session; without one, for whoever goes on from the last session here."""
    return _Looking(project, account, others).stand(limit)


def make_banner(project: Project, account: Account | None) -> str:
    """Say which events were combined, and the goal and now that come out of it (R120, R121)."""
    from passdown.core.banners import Combined, render_banner  # noqa: PLC0415 - most briefs have none

    looking = _Looking(project, account, ())
    aim = looking.aim()
    combined = [
        Combined(event.ts, event.agent or "", label(event)) for _, event in looking.recent if event.ts
    ]
    texts = [known.text if known else "" for known in (aim.goal, aim.now)]
    return render_banner(combined[:_LISTED], looking.digest(1).event_count, *texts)


class _Looking:
    """Reads what is known, each thing once and only when it is needed."""

    def __init__(self, project: Project, account: Account | None, others: Sequence[Elsewhere]) -> None:
        self._project = project
        self._index = project.checkout.index
        take_in(project.checkout.log, self._index)
        self._others = list(_take_in(others))
        self._names = newest_first(project)
        self._foreign: dict[str, Sequence[JournalLine]] = {}
        self._open = {one.session: one for one in read_open(project)}
        self._live = {name for name, one in self._open.items() if is_live(project, one)}
        # What the journal says by now counts, not what it said when it was last added up.
        self._account = account and (self._read(account.session) or account)
        self._before = self._find_before()
        own = [self._account] if self._account else []
        self._own = {one.session for one in (*own, *self._before)}

    def stand(self, limit: int) -> Standing:
        """Put everything together."""
        digest = self.digest(limit)
        tables = gather(digest, self._elsewhere(tables_of(digest)), self._waiting(), {})
        self._drop_settled(tables)
        self._drop_resolved(tables)
        mark_observed(tables, self._events_of(tables))
        own = self._account or Account()
        return Standing(
            agent=own.agent,
            aim=self.aim(),
            tables=tables,
            beyond=beyond_of(digest),
            task=own.task,
            track=own.track,
            ledger=own.start.ledger,
            peers=tuple(self._peers()),
        )

    def digest(self, limit: int) -> Digest:
        """Give what the events of this checkout hold."""
        return self._index.digest(limit)

    # --- which sessions -------------------------------------------------------------------------

    def _read(self, name: str) -> Account | None:
        """Add up a journal; None when there is none, or it has no beginning."""
        account = read_account(self._project, name) if name in self._names else None
        return account if account and account.started_at is not None else None

    def _lines(self, name: str) -> Sequence[JournalLine]:
        return self._foreign.get(name) or self._project.journals.read(name)

    @cached_property
    def _lately(self) -> Sequence[Account]:
        """Give the sessions that said something last, and those that never ended; events tell of the rest."""
        names = dict.fromkeys((*self._names[:_LATELY], *self._open))
        return [account for name in names if (account := self._read(name)) is not None]

    def _find_before(self) -> Sequence[Account]:
        """Give the sessions that are gone on from, the nearest first; a ledger that no journal made, else."""
        name = self._account.start.continues if self._account else self._last_here()
        found = list(read_before(self._project, name))
        return found or ([] if self._account else list(self._read_ledger()))

    def _last_here(self) -> str:
        """Name the session that a start would go on from."""
        here = [
            (one.touched_at, one.session)
            for one in self._lately
            if one.start.checkout == self._project.root and one.session not in self._live and one.touched_at
        ]
        return max(here)[1] if here else ""

    def _read_ledger(self) -> Iterator[Account]:
        """Read the ledger that lies here, if it is not the rendering of a journal, as if it were one."""
        ledger = _parse_ledger(self._project)
        said = find_edits(ledger, Account(), self._project.show_time)
        if not said or ledger.session_id in self._names:
            return
        at = ledger.updated or ledger.heartbeat or self._project.now()
        author = Account(agent=ledger.session_id or LEDGER)
        self._foreign[author.agent] = [
            JournalLine(seq=seq, fact=_make_fact(one, at, author.agent)) for seq, one in enumerate(said, 1)
        ]
        yield fold_journal(author.agent, self._foreign[author.agent])

    def _waiting(self) -> Iterator[JournalLine]:
        """Give the lines of these sessions that no event covers."""
        for name in sorted(self._own):
            indexes = (self._index, *(one.index for one in self._others))
            covered = max(index.published(name).line for index in indexes)
            yield from (line for line in self._lines(name) if line.seq > covered)

    def _peers(self) -> Iterator[Peer]:
        for name in sorted(self._live - self._own):
            one = self._open[name]
            texts = [entry.text for entry in (one.goal, one.now) if entry]
            yield Peer(
                one.agent, one.start.branch, " | now: ".join(texts), one.touched_at or self._project.now()
            )

    # --- whose goal -----------------------------------------------------------------------------

    def aim(self) -> Aim:
        """Choose whose goal, now and next are shown (C59); to one that begins afresh only its own (C53)."""
        is_fresh = self._account is not None and self._account.start.is_fresh
        chain = [*([self._account] if self._account else []), *(() if is_fresh else self._before)]
        own = aim_of(chain[0], chain[1:]) if chain else NO_AIM
        if own.is_known or is_fresh:
            return own
        track = self._account.track if self._account else ""
        branch = self._project.checkout.repository.branch()
        found = None
        if track:
            found = self._aim_in(lambda one: self._track_of(one) == track, lambda event: event.track == track)
        if found is None and branch != UNKNOWN:
            found = self._aim_in(lambda one: one.start.branch == branch, lambda event: event.branch == branch)
        return found or self._aim_of_project()

    def _aim_in(self, takes: Callable[[Account], bool], takes_event: Callable[[Event], bool]) -> Aim | None:
        """Choose among sessions and events that have a track or branch in common."""
        resting = [aim_of(one) for one in self._strangers(is_running=False) if takes(one)]
        events = self._aims_of(event for event in self.recent if takes_event(event[1]))
        running = (aim_of(one) for one in self._strangers(is_running=True) if takes(one))
        return newest_aim([*resting, *events]) or lend_goal(running)

    def _aim_of_project(self) -> Aim:
        resting = [aim_of(one) for one in self._strangers(is_running=False)]
        return newest_aim([*resting, *self._aims_of(self.recent)]) or self._aim_of_digest()

    def _aim_of_digest(self) -> Aim:
        """Take what was published last, however long ago, unless it is of one that runs."""
        running = {one.agent for one in self._strangers(is_running=True)}
        held = {
            section: held
            for section, held in self.digest(1).registers.items()
            if held.rank.agent not in running
        }

        def known(kind: FactKind, section: Section) -> tuple[Known, ...]:
            found = held.get(section)
            values = () if found is None else (found.value,) if isinstance(found.value, str) else found.value
            return tuple(
                Known(kind, text, found.at, found.rank.agent, event=found.rank.hash)
                for text in values
                if found
            )

        goal, now = known(FactKind.GOAL, GOAL), known(FactKind.NOW, NOW)
        return Aim(goal[0] if goal else None, now[0] if now else None, known(FactKind.NEXT, NEXT))

    def _strangers(self, *, is_running: bool) -> Sequence[Account]:
        others = (one for one in self._lately if one.session not in self._own)
        return [one for one in others if (one.session in self._live) is is_running]

    def _track_of(self, account: Account) -> str:
        """Name the track that a session works on, or worked on until it ended."""
        bound = [
            line.fact.text
            for line in self._lines(account.session)
            if line.fact.kind == FactKind.BINDING and line.fact.key == "track" and line.fact.text
        ]
        return bound[-1] if bound else ""

    def _aims_of(self, events: Iterable[tuple[str, Event]]) -> Sequence[Aim]:
        """Give the work of agents that only events tell of."""
        known = {one.agent for one in self._lately}
        return list(aims_of_events(pair for pair in events if pair[1].agent not in known).values())

    # --- what events say ------------------------------------------------------------------------

    @cached_property
    def recent(self) -> Sequence[tuple[str, Event]]:
        """Give the newest events that count, each with its hash, the newest first."""
        texts = Texts(self._project.checkout.log)
        places = (one for one in self._index.places(limit=_RECENT) if not one.is_retracted)
        events = [(place.rank, parse_text(texts.read(place))) for place in places]
        # An event without a time or an agent has those of its file's name.
        return [(rank.hash, replace(event, ts=rank.at, agent=rank.agent)) for rank, event in events]

    def _drop_settled(self, tables: Tables) -> None:
        """Take out what a session answered or took back; all journals are read only when one may have."""
        names = self._project.journals.mentioning(*_SETTLING)
        if touches(tables, settled_of(line for name in names for line in self._lines(name))):
            drop_settled(tables, settled_of(line for name in self._names for line in self._lines(name)))

    def _drop_resolved(self, tables: Tables) -> None:
        """Take out feedback that an event of another machine answers; only recent ones are looked at."""
        if tables[FactKind.FEEDBACK]:
            resolved = {
                (FactKind.FEEDBACK, make_key(name)): event.ts
                for _, event in reversed(self.recent)
                for name in event.resolved_questions
                if event.ts
            }
            drop_settled(tables, resolved)

    def _events_of(self, tables: Tables) -> Mapping[str, Event]:
        """Read the events that state the newest facts, to see how these are known."""
        texts = Texts(self._project.checkout.log)
        found = (
            known.event
            for kind in _MARKED_KINDS
            for known in reversed(tables[kind].values())
            if known.event and not known.branch
        )
        names = islice(dict.fromkeys(found), _MARKED)
        return {name: parse_text(texts.read(place)) for name in names for place in self._index.places(name)}

    def _elsewhere(self, ours: Tables) -> Iterator[Tables]:
        """Give what other checkouts hold; what an event says that is here too was judged here."""
        for one in self._others:
            tables = tables_of(one.index.digest(_ELSEWHERE), one.branch)
            yield {
                kind: {
                    key: known
                    for key, known in table.items()
                    if key not in ours[kind] and not self._index.places(known.event)
                }
                for kind, table in tables.items()
            }


def _take_in(others: Iterable[Elsewhere]) -> Iterator[Elsewhere]:
    for one in others:
        # What cannot be read there says nothing here; `passdown log` names the checkout.
        with suppress(StorageError):
            take_in(one.log, one.index)
            yield one


def _parse_ledger(project: Project) -> Ledger:
    """Read the ledger of the first session here; one that cannot be read says nothing."""
    path = f"{project.checkout.settings.paths.ledgers}/{LEDGER}"
    documents = project.checkout.documents
    try:
        return parse_ledger(documents.read(path).decode("utf-8", "replace"))
    except (FormatError, StorageError):
        return Ledger()


def _make_fact(said: Said, at: datetime, agent: str) -> Fact:
    return Fact(
        kind=said.kind.value,
        text=said.text,
        at=at,
        agent=agent,
        key=said.key or None,
        because=said.because or None,
    )
