"""Write a handoff, find it again, show what changed since, and resume from it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from heapq import nlargest
from typing import Annotated, Final, NamedTuple

from passdown.core.coordination.offers import Offer
from passdown.core.documents.conflicts import refuse_conflict
from passdown.core.facts import Fact, Provenance, make_key
from passdown.core.formats.archives import Archive, parse_archive, parse_archive_file_name
from passdown.core.kinds import FactKind, Merging
from passdown.core.merge.event_facts import parse_event_facts
from passdown.core.sessions.handoff_streams import from_stream
from passdown.core.sessions.handoffs import (
    CheckoutState,
    Handoff,
    HandoffDrift,
    facts_to_carry,
    find_drift,
    from_archive,
)
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.errors import FormatError, StorageError, UsageError
from passdown.ports.repository import Committed, Skipped
from passdown.records import record, replace
from passdown.services.handover.seen_work import own_paths
from passdown.services.handover.snapshots import MANUAL, take_snapshot
from passdown.services.handover.streams import find_stream, import_own, read_stream, read_text, write_stream
from passdown.services.log.commits import CommitTrigger, NotDue
from passdown.services.log.events import WrittenEvent, update_index
from passdown.services.log.history import EventTexts
from passdown.services.log.synthesis import synthesize
from passdown.services.log.views import WrittenView
from passdown.services.sessions.archives import (
    SESSION_END,
    STALE,
    ArchivedLedger,
    archive_ledger,
    hash_files,
    write_record,
)
from passdown.services.sessions.foreign_documents import list_streams
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.ledgers import OpenedLedger, open_ledger, update_ledger
from passdown.services.sessions.publications import publish
from passdown.services.sessions.sessions import StartRequest, start_session
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import Paths

STREAM: Final = "stream"
ARCHIVE: Final = "archive"
OFFER: Final = "offer"
"""The kinds of handoffs; offers are kept by the coordination engine."""
_MOST_FACTS: Final = 1_000
_DECISION: Final = FactKind.DECISION.value
_OF_SESSIONS: Final = frozenset({SESSION_END, STALE})
"""What makes a record that is no handoff: its session ended, or was found dead."""
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@record
class HandoffRequest:
    """What a handoff should include."""

    stream: Annotated[str, "The stream whose document is written; chosen automatically if empty."] = ""
    trigger: Annotated[str, "What triggers it."] = MANUAL
    archive: Annotated[bool, "Also archive the ledger, and unbind track and task."] = False
    keep: Annotated[bool, "Keep the ledger in place after archiving it."] = False


@record
class WrittenHandoff:
    """A handoff that was written, and where."""

    handoff: Annotated[Handoff, "What is passed on."]
    stream: Annotated[str, "The stream document's path; empty without one."]
    record: Annotated[str, "The record's path in the archive."]
    archived: Annotated[ArchivedLedger | None, "The archived ledger, if it was archived."]
    written: Annotated[WrittenEvent | None, "The event; None if everything was already published."]
    committed: Annotated[Committed | Skipped | NotDue | None, "Whether it was committed."]
    view: Annotated[WrittenView, "The result of updating the view."]


@record
class ListedHandoff:
    """An existing handoff."""

    name: Annotated[str, "Its name: that of the stream, or of the record's file."]
    kind: Annotated[str, "stream or archive."]
    path: Annotated[str, "Its path from the root."]
    at: Annotated[datetime | None, "When it was written."] = None
    status: Annotated[str, "Its status."] = ""
    goal: Annotated[str, "Its goal."] = ""


@record
class HandoffComparison:
    """A handoff that was read, and what has changed since."""

    listed: ListedHandoff
    handoff: Handoff
    drift: HandoffDrift
    origins: Annotated[Mapping[tuple[str, str], Fact], "Its facts as they are in events, by kind and text."]

    def find_origin(self, kind: FactKind, text: str) -> Fact | None:
        """Return the original fact from events, with author and time, or None if no event has it."""
        return self.origins.get((kind.value, make_key(text)))


@record
class HandoffCount:
    """The number of handoffs, streams and records together."""

    count: Annotated[int, "How many there are."]
    last_at: Annotated[datetime | None, "When the last one was written; None if there is none."]
    sessions: Annotated[int, "How many of them only record a session that ended."] = 0
    handed_over_at: Annotated[
        datetime | None, "When the last of the others was written, if some are not."
    ] = None


@record
class ResumedSession:
    """A session that resumed from a handoff."""

    account: Account
    is_new: bool
    carried: int


def create_handoff(workspace: Workspace, account: Account, order: HandoffRequest) -> WrittenHandoff:
    """Write a handoff: event, stream document and record, all from the same snapshot (C19).

    1. Manual edits of the ledger are read first.
    2. A stream document that cannot be read is refused before anything is written; what others wrote into it
       is imported.
    3. The event is written first, because other checkouts merge it.
    4. The view comes last, with a commit of our own files if the settings allow it.

    Raises a StorageError if something could not be written; all facts are in the journal anyway.
    """
    path = find_stream(workspace, account, order.stream, by_goal=True)
    if path:
        account = import_own(workspace, account, path)  # 2
    opened: OpenedLedger | None = None
    if account.ended_at is None:  # 1
        if order.archive and account.start.checkout == workspace.root:
            opened = open_ledger(workspace, account)
            account = read_account(workspace, account.session)
        else:
            account = update_ledger(workspace, account).account
    handoff = take_snapshot(workspace, account, order.trigger, for_record=True)
    written = publish(workspace, account.session, kind="handoff", reason=order.trigger)  # 3
    if path:
        write_stream(workspace, path, handoff)
    archived: ArchivedLedger | None = None
    if order.archive:
        archived = archive_ledger(workspace, account, order.trigger, keep=order.keep, opened=opened)
    record = (archived.path if archived else "") or write_record(workspace, handoff)
    own = [*([path] if path else []), record]
    made = synthesize(workspace, trigger=CommitTrigger.HANDOFF, to_commit=True, also=own)  # 4
    return WrittenHandoff(
        handoff=handoff,
        stream=path,
        record=record,
        archived=archived,
        written=written,
        committed=made.committed,
        view=made.written,
    )


def list_handoffs(workspace: Workspace, limit: int, *, has_sessions: bool = True) -> Sequence[ListedHandoff]:
    """List the newest handoffs, streams and records, newest first; unreadable ones are marked as such.

    With `has_sessions`, the records that sessions left when they ended are handoffs, too.
    """
    records = [one for one in _date_records(workspace) if has_sessions or not one.is_of_session]
    streams = [read_listed(workspace, one) for one in _list_streams(workspace)]
    return _find_newest(workspace, streams, records, limit)


def _find_newest(
    workspace: Workspace, streams: Sequence[ListedHandoff], records: Sequence["_DatedRecord"], limit: int
) -> Sequence[ListedHandoff]:
    """Return the newest of streams and records; only the records that may be among them are read."""
    everything = [*streams, *_read_records(workspace, _sort(records, limit))]
    everything.sort(key=lambda one: (one.at or _NEVER, one.path), reverse=True)
    return everything[:limit]


def count_handoffs(workspace: Workspace) -> HandoffCount:
    """Count the handoffs by their files' names; only the newest are read."""
    records = _date_records(workspace)
    given = [one for one in records if not one.is_of_session]
    streams = [read_listed(workspace, one) for one in _list_streams(workspace)]
    newest = _find_newest(workspace, streams, records, 1)
    has_sessions = len(given) < len(records)
    newest_given = _find_newest(workspace, streams, given, 1) if has_sessions else ()
    return HandoffCount(
        count=len(records) + len(streams),
        last_at=newest[0].at if newest else None,
        sessions=len(records) - len(given),
        handed_over_at=newest_given[0].at if newest_given else None,
    )


def list_sessions(workspace: Workspace, limit: int | None) -> tuple[Sequence[ListedHandoff], int]:
    """List the newest records that sessions left when they ended, and count the earlier ones."""
    records = [one for one in _date_records(workspace) if one.is_of_session]
    shown = _sort(records, limit)
    return list(_read_records(workspace, shown)), len(records) - len(shown)


class _DatedRecord(NamedTuple):
    """A record by what its file's name says."""

    at: datetime
    name: str
    is_of_session: bool
    path: str


def _date_records(workspace: Workspace) -> Sequence[_DatedRecord]:
    """Return the records by their files' names, in no order."""
    dated = [
        (name, path, parse_archive_file_name(name))
        for path in workspace.documents.list(workspace.settings.paths.archive)
        if (name := path.rpartition("/")[2])
    ]
    return [
        _DatedRecord(named[0], name, named[1] in _OF_SESSIONS, path) for name, path, named in dated if named
    ]


def _sort(records: Sequence[_DatedRecord], limit: int | None) -> Sequence[_DatedRecord]:
    """Return the newest records, newest first; to find a few is faster than to sort all."""
    return sorted(records, reverse=True) if limit is None else nlargest(limit, records)


def _read_records(workspace: Workspace, records: Sequence[_DatedRecord]) -> Iterator[ListedHandoff]:
    return (read_listed(workspace, _record(one.path, one.at)) for one in records)


def _list_streams(workspace: Workspace) -> Iterator[ListedHandoff]:
    """Return the streams: every folder that contains a document (R57)."""
    return (ListedHandoff(name=name, kind=STREAM, path=path) for name, path in list_streams(workspace))


def _record(path: str, at: datetime | None = None) -> ListedHandoff:
    name = path.rpartition("/")[2].removesuffix(".md")
    return ListedHandoff(name=name, kind=ARCHIVE, path=path, at=at)


def read_listed(workspace: Workspace, listed: ListedHandoff) -> ListedHandoff:
    """Add time, status and goal from the handoff itself."""
    try:
        if listed.kind == STREAM:
            stream = read_stream(workspace, listed.path)
            at = stream.updated or stream.date
            return replace(listed, at=at, status=stream.status or "", goal=stream.goal)
        archive = _read_archive(workspace, listed.path)
    except (FormatError, StorageError) as found:
        return replace(listed, status="unreadable", goal=found.message)
    status = archive.status.value if archive.status else ""
    return replace(listed, at=archive.date or listed.at, status=status, goal=archive.summary)


def find_handoff(workspace: Workspace, name: str) -> ListedHandoff:
    """Find a handoff by stream name, by record name or its start, or by path.

    Raises a UsageError if there is none, or several.
    """
    paths = workspace.settings.paths
    for one in _list_streams(workspace):
        if name in {one.name, one.path}:
            return one
    files = {path: path.rpartition("/")[2] for path in workspace.documents.list(paths.archive)}
    last = name.removeprefix(f"{paths.archive}/").removesuffix(".md")
    exact = [path for path, file in files.items() if last in {file.removesuffix(".md"), _below(path, paths)}]
    begun = [
        path
        for path, file in files.items()
        if last and file.startswith(last) and parse_archive_file_name(file)
    ]
    found = exact or begun
    if not found:
        raise UsageError(f"there is no handoff {name}", hint="run `passdown handoff list` to see them")
    if len(found) > 1:
        shown = ", ".join(_below(path, paths) for path in found[:5])
        raise UsageError(f"{name} is ambiguous: {shown}", hint="type more of the name")
    return _record(found[0])


def _below(path: str, paths: Paths) -> str:
    """Return a record's path in the folder of records, without its ending."""
    return path.removeprefix(f"{paths.archive}/").removesuffix(".md")


def _read_archive(workspace: Workspace, path: str) -> Archive:
    text = read_text(workspace, path)
    refuse_conflict(path, text)
    return parse_archive(text)


def review_handoff(workspace: Workspace, name: str) -> HandoffComparison:
    """Read a handoff and compare it with the current state, before anybody resumes from it (G18).

    The recorded test command is not run, because somebody else wrote it.
    """
    listed = find_handoff(workspace, name)
    if listed.kind == STREAM:
        handoff = from_stream(read_stream(workspace, listed.path))
    else:
        handoff = _with_facts(workspace, from_archive(_read_archive(workspace, listed.path)))
    return compare_handoff(workspace, read_listed(workspace, listed), handoff)


def _with_facts(workspace: Workspace, handoff: Handoff) -> Handoff:
    """Add the facts that a record leaves to its events; an event that is gone is left out."""
    if not handoff.events:
        return handoff
    from passdown.core.sessions.record_facts import with_events  # only records of ended sessions name events

    update_index(workspace.log, workspace.index)
    texts = EventTexts(workspace.log)
    places = [place for name in handoff.events for place in workspace.index.places(name)]
    read = ((place.name, texts.read(place)) for place in places if place.rank.id in handoff.events)
    sources = (parse_event_facts(text.encode(), name) for name, text in read if text is not None)
    return with_events(handoff, [one for one in sources if one is not None])


def compare_handoff(workspace: Workspace, listed: ListedHandoff, handoff: Handoff) -> HandoffComparison:
    """Compare a handoff with the current state."""
    here = CheckoutState(
        at=workspace.now(),
        branch=workspace.repository.branch(),
        commit=workspace.history.head(),
        file_hashes=hash_files(workspace, [file_hash.path for file_hash in handoff.file_hashes]),
    )
    own = own_paths(workspace.settings.paths)
    commits = workspace.history.count_since(handoff.commit, own) if handoff.commit else None
    drift = find_drift(handoff, here, commits, None)
    update_index(workspace.log, workspace.index)
    digest = workspace.index.digest(_MOST_FACTS)
    facts = [fact for some in digest.contested for fact in some]
    facts += [fact for newest in digest.kinds.values() for fact in newest.facts]
    decided = {(fact.kind, _keyed(fact.key, fact.text)): fact for fact in facts if fact.kind == _DECISION}
    return HandoffComparison(
        listed=listed,
        handoff=handoff,
        drift=drift,
        origins={**{(fact.kind, make_key(fact.text)): fact for fact in facts}, **decided},
    )


def _keyed(key: str, text: str) -> str:
    """Return the lookup key of a decision, because other keys may have the same words."""
    return make_key(f"{key}\n{text}")


def resume_handoff(
    workspace: Workspace, review: HandoffComparison, account: Account | None
) -> ResumedSession:
    """Resume from a handoff, in the running session or in a new one.

    Its facts are carried on as observed, so they do not overrule what the session itself stated. Known facts
    are not repeated, so that resuming twice is the same as resuming once.
    """
    is_new = account is None
    if account is None:
        account = start_session(workspace, StartRequest(is_fresh=True)).account
    said = list_carried(review, account)
    update_ledger(workspace, account, said, provenance=Provenance.OBSERVED)
    return ResumedSession(account=read_account(workspace, account.session), is_new=is_new, carried=len(said))


def list_carried(review: HandoffComparison, account: Account) -> Sequence[NewFact]:
    """Return the facts of a handoff that a session does not know yet."""
    carried = (_with_origin(one, review) for one in facts_to_carry(review.handoff))
    said = [one for one in carried if not _knows(account, one)]
    if review.handoff.track and not account.track:
        said.append(NewFact(FactKind.BINDING, review.handoff.track, "track"))
    return said


def make_offer_review(workspace: Workspace, offer: Offer) -> HandoffComparison:
    """Compare an offer with the current state; its test is not run."""
    listed = ListedHandoff(name=offer.short_name, kind=OFFER, path=f"offer {offer.short_name}")
    return compare_handoff(workspace, listed, from_archive(parse_archive(offer.facts)))


def _with_origin(new_fact: NewFact, review: HandoffComparison) -> NewFact:
    """Keep the author and time of a carried-on fact, so that nobody becomes the author of others' facts."""
    told = f"{new_fact.text} ({new_fact.because})" if new_fact.because else new_fact.text.partition("\n")[0]
    origin = review.find_origin(new_fact.kind, _keyed(new_fact.key, told))
    origin = origin or review.find_origin(new_fact.kind, told)
    handoff = review.handoff
    author = handoff.agent or handoff.session
    if origin is None and handoff.at is not None and author:
        origin = Fact(new_fact.kind.value, new_fact.text, handoff.at, author, provenance=Provenance.OBSERVED)
    return new_fact._replace(origin=origin)


def _knows(account: Account, new_fact: NewFact) -> bool:
    """Return whether a session already knows a fact, or has stated its own instead."""
    entries = account.of(new_fact.kind)
    merging = new_fact.kind.row.merging
    if merging is Merging.REGISTER:
        own = (one for one in entries if one.session == account.session)
        is_stated = any(one.provenance is Provenance.STATED for one in own)
        return is_stated or any(one.text == new_fact.text for one in entries)
    if merging is Merging.STEPS:
        return "\n".join(entry.text for entry in entries) == new_fact.text
    if merging is Merging.MAP:
        return (new_fact.key, new_fact.text) in {(entry.key, entry.text) for entry in entries}
    return make_key(new_fact.text) in {make_key(entry.text) for entry in entries}
