"""Brief a session: find the facts that hold for it, and show them within a budget (C59, C65, C67, C68)."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from typing import Annotated, Final

from passdown.core.briefs.brief_frame import BriefFrame
from passdown.core.briefs.brief_input import (
    LISTED,
    NO_AIM,
    BriefInput,
    CurrentWork,
    OtherSession,
    TeamInput,
    count_omitted,
    facts_in,
    fill_work,
    gather,
    has_stated,
    holdings_of,
    last_work_of,
    lend_goal,
    list_retractions,
    newest_work,
    only_shared_facts,
    without_known,
    work_of,
    work_of_digest,
    work_of_events,
    work_of_track,
)
from passdown.core.briefs.briefs import Brief, pack_brief
from passdown.core.briefs.budgets import Budget
from passdown.core.facts import Fact, identify, is_about, tell
from passdown.core.fold import Table, Tables
from passdown.core.formats.events import Event
from passdown.core.formats.journal import JournalLine, Scope, facts_of
from passdown.core.ids import kebab
from passdown.core.kinds import FactKind
from passdown.core.merge.event_facts import EventFacts, EventRank, source_of
from passdown.core.merge.merge import Digest
from passdown.core.merge.ranks import limit_of
from passdown.core.sessions.journal_keys import settled_key
from passdown.core.sessions.session_facts import Account
from passdown.core.sessions.track_lines import find_last_track
from passdown.core.sessions.unpublished import list_unpublished
from passdown.errors import StorageError
from passdown.ports.event_log import EventLog
from passdown.ports.index import EventLocation, Index
from passdown.ports.repository import UNKNOWN
from passdown.records import record, replace
from passdown.services.handover.seen_work import (
    add_facts,
    count_edits,
    count_past_edits,
    describe_commits,
    find_last_words,
    find_neighbourhood,
    judge_near,
    without_own_files,
)
from passdown.services.log.events import update_portion
from passdown.services.log.history import EventTexts, parse_text
from passdown.services.log.views import find_legacy
from passdown.services.sessions.foreign_documents import (
    ForeignDocument,
    ledger_path,
    read_other_context,
    read_other_ledger,
    read_stream_section,
)
from passdown.services.sessions.journals import (
    name_now,
    newest_first,
    only_of_track,
    read_account,
    read_before,
    read_open,
)
from passdown.services.sessions.liveness import is_live
from passdown.services.workspace.workspaces import Workspace

LIMIT: Final = 1_000
"""How many facts of a kind are read; older ones are counted."""
_ELSEWHERE: Final = 50
_RECENT: Final = 100
_LATELY: Final = 50
_SETTLING: Final = (f'"{FactKind.ANSWER.value}"', f'"{FactKind.RETRACTION.value}"')
"""Text in journals that may retract what events say."""
_AHEAD: Final = 5


@record
class OtherCheckoutLog:
    """The event log of another checkout of the project."""

    log: Annotated[EventLog, "Its events."]
    index: Annotated[Index, "Their index."]
    branch: Annotated[str, "The branch that its facts are marked with."]


def make_brief(
    workspace: Workspace,
    account: Account | None,
    budget: Budget,
    nonce: str,
    others: Sequence[OtherCheckoutLog] = (),
) -> Brief:
    """Make the brief of a session, or of a session that would start here; only the cache is written.

    Its content does not depend on the nonce. Logs of other checkouts that cannot be read are left out.
    """
    brief_input = read_brief_input(workspace, account, others, with_unpublished=True)
    return pack_brief(brief_input, budget, workspace.now(), BriefFrame(nonce=nonce))


def read_brief_input(
    workspace: Workspace,
    account: Account | None,
    others: Sequence[OtherCheckoutLog] = (),
    limit: int = LIMIT,
    *,
    with_unpublished: bool = False,
) -> BriefInput:
    """Find the facts that hold for a session; without one, for a session that continues the last one here.

    With `with_unpublished`, unpublished rules, decisions and questions of others here are added: these are
    only for a brief, and must not be passed on or counted (C123).
    """
    return _BriefReader(workspace, account, others).stand(limit, with_unpublished=with_unpublished)


class _BriefReader:
    """Reads the facts for a brief, each source once and only when needed."""

    def __init__(
        self, workspace: Workspace, account: Account | None, others: Sequence[OtherCheckoutLog]
    ) -> None:
        self._workspace = workspace
        self._index = workspace.index
        update_portion(workspace.log, self._index)
        self._until = limit_of(self._index.newest(workspace.now()).present)
        self._others = list(_take_in(others))
        self._indexes = (self._index, *(one.index for one in self._others))
        self._unpublished: Sequence[Fact] = ()
        self._names = newest_first(workspace, workspace.journals.sessions(Scope.LIVE))
        self._foreign: dict[str, ForeignDocument] = {}
        self._open = {one.session: one for one in read_open(workspace)}
        self._live = {name for name, one in self._open.items() if is_live(workspace, one)}
        # Fold the journal again: it may have grown since the account was read.
        self._account = account and (self._read(account.session) or account)
        name = self._account.start.continues if self._account else self._last_here()
        self._before = list(read_before(workspace, name))
        self._foreign = {one.author: one for one in self._read_foreign()}
        own = [self._account] if self._account else []
        self._own = {*(one.session for one in (*own, *self._before)), *self._foreign}

    def stand(self, limit: int, *, with_unpublished: bool) -> BriefInput:
        """Put the input of the brief together."""
        self._unpublished = self._find_unpublished() if with_unpublished else ()
        own = self._account or Account()
        around = find_neighbourhood(self._workspace, self._chain(), own.track, self._until)
        near = self._workspace.index.near(around, self._until)
        digest = self._of_track(self._index, add_facts(self.digest(limit), near))
        aim = self.aim()
        aim = aim._replace(is_over=self._is_over(aim))
        elsewhere, waiting = [*self._elsewhere()], [*self._waiting(digest)]
        settled = self._find_settled(chain(facts_in(digest), elsewhere, waiting, self._unpublished))
        gathered = gather(digest, elsewhere, waiting, settled, self._unpublished)
        tables, contested = gathered.without_replaced(lambda key: self._name_in_force(key, digest))
        tables[FactKind.FEEDBACK] = self._with_loops(tables[FactKind.FEEDBACK], settled)
        tables[FactKind.FILE] = without_own_files(self._workspace, tables[FactKind.FILE])
        return BriefInput(
            agent=own.agent,
            aim=aim,
            tables=tables,
            beyond=count_omitted(digest),
            task=own.task,
            track=own.track,
            due_gates=self._due_gates(tables) if own.track else {},
            team=TeamInput(holdings=holdings_of(own)),
            ledger=own.start.ledger,
            words=find_last_words(self._chain()),
            commits=describe_commits(self._workspace, tables[FactKind.RECEIPT].values()),
            edits=count_edits(self._chain()),
            peers=(*self._peers(), *self._others_work(aim)),
            ahead=tuple(self._ahead()),
            documents=tuple(self._list_documents()),
            read=digest.event_count,
            unread=sum(index.unread() for index in self._indexes),
            explains_recording=not any(map(has_stated, (own, *(self._before[:1] or self._lately)))),
            contested=contested,
            nearby=judge_near(near, tables),
            readers=frozenset(one.agent for one in self._chain()),
            past_edits=count_past_edits(self._workspace, around.files),
        )

    def _find_settled(self, facts: Iterable[Fact]) -> Sequence[Fact]:
        """Return what journals retract and answer; of those archived, only what concerns these facts."""
        keys = (settled_key(identify(fact)) for fact in chain(facts, self._list_loops()))
        mentioning = self._workspace.journals.mentioning(Scope.ALL, *_SETTLING, keys=keys)
        return [fact for name in mentioning for fact in list_retractions(name, self._lines(name))]

    def _chain(self) -> Sequence[Account]:
        """Return the session and those it continues, nearest first; a fresh session continues none (C53)."""
        own = self._account
        if own is None:
            return self._before
        return [own] if own.start.is_fresh else [own, *self._before]

    def _name_in_force(self, key: str, digest: Digest) -> Collection[str]:
        """Return the names of decisions in force under a key, by its history here and elsewhere (C162)."""
        from passdown.core.sessions.decisions import read_history  # few decisions contradict each other

        kind = FactKind.DECISION.value
        said = [fact for index in self._indexes for fact in index.said(kind, key) if fact.at <= self._until]
        waiting = (*map(tell, self._waiting(digest)), *self._unpublished)
        said += [fact for fact in (*self._elsewhere(), *waiting) if is_about(fact, kind, key)]
        return read_history(sorted(said, key=lambda fact: fact.at)).names

    def _list_documents(self) -> Iterator[Fact]:
        """Yield the facts of every document that is read here; they count as much as those of events."""
        for one in self._foreign.values():
            yield from facts_of(one.author, one.lines)
        if self._legacy is not None:
            yield from self._legacy.facts

    def _due_gates(self, tables: Tables) -> Mapping[str, str]:
        """Return the gates of the session's track that need a result."""
        from passdown.core.sessions.track_gates import find_due  # few sessions have a track
        from passdown.services.handover.track_documents import list_track_documents

        own = self._account or Account()
        results = {fact.key for fact in tables[FactKind.GATE].values() if fact.track == own.track}
        return find_due(own, results, list_track_documents(self._workspace, own.track))

    def digest(self, limit: int) -> Digest:
        """Return the facts of this checkout's events; events dated ahead replace nothing (C115)."""
        return self._index.digest(limit, self._until)

    def _of_track(self, index: Index, digest: Digest) -> Digest:
        """Leave out facts that only events of other tracks have, if the session is bound to a track."""
        track = self._account.track if self._account else ""
        if not track:
            return digest
        facts = [fact for kind in LISTED for fact in digest.kinds[kind].facts]
        facts += [fact for some in digest.contested for fact in some]
        return only_shared_facts(digest, index.shared_with(kebab(track), facts))

    # --- which sessions -------------------------------------------------------------------------

    def _read(self, name: str) -> Account | None:
        """Fold a journal; return None if it does not exist or has no start."""
        account = read_account(self._workspace, name) if name in self._names else None
        return account if account and account.started_at is not None else None

    def _lines(self, name: str) -> Sequence[JournalLine]:
        other = self._foreign.get(name)
        return other.lines if other else self._workspace.journals.read(name)

    @cached_property
    def _lately(self) -> Sequence[Account]:
        """Return the latest sessions and those that never ended; events have the facts of the others."""
        names = dict.fromkeys((*self._names[:_LATELY], *self._open))
        return [account for name in names if (account := self._read(name)) is not None]

    def _last_here(self) -> str:
        """Return the session that a start would continue."""
        here = [
            (one.touched_at, one.session)
            for one in self._lately
            if one.start.checkout == self._workspace.root and one.session not in self._live
            if one.touched_at and not one.start.is_person
        ]
        return max(here)[1] if here else ""

    def _read_foreign(self) -> Iterator[ForeignDocument]:
        """Yield other tools' documents here: a stream document, then a ledger, then a context (G14)."""
        workspace, own = self._workspace, self._account
        found = [read_stream_section(workspace, own.track if own else "")]
        if own is None or own.start.ledger != ledger_path(workspace):  # otherwise the ledger there is its own
            found.append(read_other_ledger(workspace))
        found.append(read_other_context(workspace, own))
        return (one for one in found if one is not None)

    def _waiting(self, digest: Digest) -> Iterator[Fact]:
        """Yield facts of these sessions' uncovered journal lines, and of other tools' documents."""
        for one in self._foreign.values():
            yield from without_known(facts_of(one.author, one.lines), digest)
        track = self._account.track if self._account else ""
        for name in sorted(self._own - {*self._foreign}):
            if track and find_last_track(self._lines(name)) not in {"", track}:
                continue
            covered = self._covered(name)
            yield from facts_of(name, (line for line in self._lines(name) if line.seq > covered))

    def _covered(self, name: str) -> int:
        """Return the last line of a session that events here or in other checkouts cover."""
        return max(index.published(name).line for index in self._indexes)

    def _find_unpublished(self) -> Sequence[Fact]:
        """Return unpublished statements of other sessions in this clone, without secrets (C123)."""
        track = self._account.track if self._account else ""
        others = [one for name, one in self._open.items() if name not in self._own]
        if track:
            others = [one for one in others if self._track_of(one) in {"", track}]
        others = [one for one in others if list_unpublished(one, 0)]  # the others have nothing to look up
        facts = [fact for one in others for fact in list_unpublished(one, self._covered(one.session))]
        if not facts:
            return ()
        from passdown.core.sessions.secrets import redact_all  # few briefs need it

        texts, _ = redact_all([part for fact in facts for part in (fact.text, fact.key, fact.because)])
        parts = iter(texts)
        return [
            tell(fact._replace(text=text, key=key, because=because))
            for fact, text, key, because in zip(facts, parts, parts, parts, strict=True)
        ]

    def _peers(self) -> Iterator[OtherSession]:
        for name in sorted(self._live - self._own):
            one = self._open[name]
            if one.start.is_person:
                continue
            texts = [entry.text for entry in (one.goal, one.now) if entry]
            work = f" | {name_now(self._workspace, one)}: ".join(texts)
            yield OtherSession(one.agent, one.branch, work, one.touched_at or self._workspace.now(), name)

    def _others_work(self, aim: CurrentWork) -> Iterator[OtherSession]:
        """Yield the work in other tools' documents, unless it is this session's own work."""
        for document in self._foreign.values():
            one = document.account
            texts = [fact.text for fact in (one.goal, one.now) if fact and fact not in (aim.goal, aim.now)]
            if texts and one.said_at:
                yield OtherSession(one.agent, document.branch, " | now: ".join(texts), one.said_at)

    # --- whose goal -----------------------------------------------------------------------------

    def aim(self) -> CurrentWork:
        """Choose whose goal, now and next are shown (C59); a fresh session only sees its own (C53)."""
        account = self._account or Account()
        if account.track:
            return self._aim_of_track(account.track)
        own = last_work_of(account, () if account.start.is_fresh else self._before)
        if own.is_known or account.start.is_fresh:
            return own
        documents = self._aim_of_documents()
        if documents.is_known:
            return documents
        branch = self._workspace.repository.branch()
        found = None
        if branch != UNKNOWN:
            found = self._aim_in(lambda one: one.branch == branch, lambda event: event.branch == branch)
        return found or self._aim_of_project()

    def _aim_of_documents(self) -> CurrentWork:
        """Return the work in other tools' documents: stream documents, then a ledger (G14).

        If all events come from stream documents, nobody has worked since they were written.
        """
        if not self._foreign:
            return NO_AIM
        from passdown.core.sessions.document_events import TYPE  # most projects have no such document

        is_untouched = all(event.type == TYPE for _, event in self.recent)
        found = newest_work(self._aims_of(self.recent)) if is_untouched else None
        first, *others = (one.account for one in self._foreign.values())
        return found or work_of(first, others)

    def _aim_of_track(self, track: str) -> CurrentWork:
        """Complete the session's own work from the events and sessions of its track (C147).

        The track's own document counts as much as events do, and so does an earlier session without a track.
        """
        before = [one for one in self._before if self._track_of(one) in {"", track}]
        documents = [one.account for one in self._foreign.values() if one.stream]
        account = self._account or Account()
        own = work_of(account, () if account.start.is_fresh else (*before, *documents))
        left = only_of_track(self._workspace, self._account).left if self._account else ()
        running = [one for one in self._strangers(is_running=True) if self._track_of(one) == track]
        places = self._index.places_of(kebab(track), _RECENT)
        events = (source_of(event, rank) for rank, event in self._read_heard(places))
        said = work_of_track(events, {one.agent for one in running})
        resting = [work_of(one) for one in self._strangers(is_running=False) if self._track_of(one) == track]
        newest = newest_work([*resting, said])
        others = [one for one in (newest, said, lend_goal(map(work_of, running))) if one is not None]
        found = fill_work(own, others, left)
        return found if found.is_known else self._aim_beside_tracks()

    def _aim_beside_tracks(self) -> CurrentWork:
        """Return the work on this branch that belongs to no track."""
        branch = self._workspace.repository.branch()
        found = self._aim_in(
            lambda one: one.branch == branch and not self._track_of(one),
            lambda event: event.branch == branch and not (event.track or event.stream),
        )
        return found or NO_AIM

    def _aim_in(
        self, takes: Callable[[Account], bool], takes_event: Callable[[Event], bool]
    ) -> CurrentWork | None:
        """Choose the work of sessions and events that pass these filters, such as a common branch."""
        resting = [work_of(one) for one in self._strangers(is_running=False) if takes(one)]
        events = self._aims_of(event for event in self.recent if takes_event(event[1]))
        running = (work_of(one) for one in self._strangers(is_running=True) if takes(one))
        return newest_work([*resting, *events]) or lend_goal(running)

    def _aim_of_project(self) -> CurrentWork:
        resting = [work_of(one) for one in self._strangers(is_running=False)]
        found = newest_work([*resting, *self._aims_of(self.recent)])
        if found is None:
            running = {one.agent for one in self._strangers(is_running=True)}
            found = work_of_digest(self.digest(1), running)
        if found.is_known or self._legacy is None:
            return found
        return next(iter(work_of_events([self._legacy])))

    def _is_over(self, aim: CurrentWork) -> bool:
        """Return whether the work that is shown is over; work from events already has that flag."""
        if aim.now is None or aim.now.event or aim.now.session in self._foreign:
            return aim.is_over
        own = self._account
        if own is not None and own.session == aim.now.session:
            return own.ended_at is not None
        return aim.now.session not in self._live

    def _strangers(self, *, is_running: bool) -> Sequence[Account]:
        others = (one for one in self._lately if one.session not in self._own)
        return [one for one in others if (one.session in self._live) is is_running]

    def _track_of(self, account: Account) -> str:
        """Return the track of a session, or its last one if it ended."""
        return find_last_track(self._lines(account.session))

    def _aims_of(self, events: Iterable[tuple[EventRank, Event]]) -> Sequence[CurrentWork]:
        """Return the work of agents that are only known from events."""
        known = {one.agent for one in self._lately}
        return work_of_events(source_of(event, rank) for rank, event in events if rank.agent not in known)

    # --- what events say ------------------------------------------------------------------------

    @cached_property
    def recent(self) -> Sequence[tuple[EventRank, Event]]:
        """Return the newest events that count, each with its rank, newest first."""
        return self._read_heard(self._index.places(limit=_RECENT))

    def _read_heard(self, places: Iterable[EventLocation]) -> Sequence[tuple[EventRank, Event]]:
        found = [place for place in places if not place.is_retracted and place.ranked_at <= self._until]
        # Facts are never later than the rank of their event.
        return [(place.rank._replace(at=place.ranked_at), event) for place, event in self._read_events(found)]

    def _read_events(self, places: Iterable[EventLocation]) -> Iterator[tuple[EventLocation, Event]]:
        texts = EventTexts(self._workspace.log)
        for place in places:
            # Time and agent may come from the file's name.
            event = replace(parse_text(texts.read(place)), ts=place.rank.at, agent=place.rank.agent)
            yield place, event

    def _ahead(self) -> Iterator[Fact]:
        """Yield facts of events that are dated ahead, latest first."""
        last = [place for place in self._index.places(limit=_AHEAD) if place.ranked_at > self._until]
        for place, event in self._read_events(place for place in last if not place.is_retracted):
            yield from source_of(event, place.rank).facts[:_AHEAD]

    def _list_loops(self) -> Iterator[Fact]:
        """Yield the feedback in loop ledgers here."""
        workspace = self._workspace
        if workspace.documents.is_folder(workspace.settings.paths.loops):
            from passdown.services.sessions.loop_feedback import list_feedback  # few projects have any

            yield from list_feedback(workspace)

    def _with_loops(self, known: Table, settled: Iterable[Fact]) -> Table:
        """Add open feedback from loop ledgers here, and leave out what they show to be settled (C105)."""
        workspace = self._workspace
        if not workspace.documents.is_folder(workspace.settings.paths.loops):
            return known
        from passdown.services.sessions.loop_feedback import add_waiting  # few projects have any

        return add_waiting(workspace, known, settled)

    @cached_property
    def _legacy(self) -> EventFacts | None:
        """Return the facts of a `current.md` that was not migrated yet (R139)."""
        path = find_legacy(self._workspace)
        if not path:
            return None
        from passdown.services.log.migrations import read_legacy  # hardly any project has such a document

        return read_legacy(self._workspace, path)

    def _elsewhere(self) -> Iterator[Fact]:
        """Yield facts of other checkouts and of a legacy document in the view's place.

        Events that this checkout has too are skipped: they already count here.
        """
        if self._legacy is not None:
            yield from self._legacy.facts
        given: set[str] = set()
        for one in self._others:
            digest = self._of_track(one.index, one.index.digest(_ELSEWHERE, self._until))
            found = [*facts_in(digest, one.branch)]
            yield from (
                fact for fact in found if fact.event not in given and not self._index.places(fact.event)
            )
            given |= {fact.event for fact in found}


def _take_in(others: Iterable[OtherCheckoutLog]) -> Iterator[OtherCheckoutLog]:
    for one in others:
        # An unreadable log is skipped; `passdown log` names the checkout.
        with suppress(StorageError):
            update_portion(one.log, one.index)
            yield one
