"""Hand work over: write down what a session passes on, find it again, say what changed since, and go on."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Final

from passdown.core.accounts import Account, Entry
from passdown.core.archives import parse_archive, parse_archive_file_name
from passdown.core.bookkeeping import Said
from passdown.core.facts import FactKind, Provenance, make_key
from passdown.core.ids import is_stream_name, kebab
from passdown.core.problems import Severity
from passdown.core.snapshots import (
    Drift,
    Snapshot,
    Surroundings,
    carry_on,
    find_drift,
    from_archive,
    from_stream,
    make_snapshot,
    to_stream,
)
from passdown.core.streams import Stream, parse_stream, render_stream
from passdown.errors import FormatError, PassdownError, StorageError, UsageError
from passdown.ports.commits import Commits
from passdown.ports.repository import Committed, Skipped
from passdown.records import record, replace
from passdown.services.archives import (
    Archived,
    archive_ledger,
    look_around,
    probe_files,
    read_head,
    write_record,
)
from passdown.services.briefs import read_standing
from passdown.services.closings import bring_up_to_date
from passdown.services.commits import NotDue, Trigger
from passdown.services.events import Written
from passdown.services.journals import Project, read_account, read_before
from passdown.services.ledgers import keep_ledger
from passdown.services.publications import publish
from passdown.services.sessions import Wish, start_session
from passdown.settings import Paths

DOCUMENT: Final = "current.md"
MANUAL: Final = "manual"
STREAM: Final = "stream"
ARCHIVE: Final = "archive"
_INHERITED: Final = (FactKind.DECISION, FactKind.CONSTRAINT, FactKind.QUESTION)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)

Run = Callable[[str], int | None]
"""Runs a command and gives its exit code; None when it could not be run."""


@record
class Order:
    """What a handoff is to consist of."""

    stream: Annotated[str, "The stream whose document is written; that of the track if empty."] = ""
    trigger: Annotated[str, "What makes it."] = MANUAL
    archive: Annotated[bool, "Archive the ledger, too, and let go of track and task."] = False
    keep: Annotated[bool, "Leave the ledger where it is, though it is archived."] = False


@record
class Handoff:
    """A handoff that was written, and where."""

    snapshot: Annotated[Snapshot, "What is passed on."]
    stream: Annotated[str, "The stream document's path; empty without one."]
    record: Annotated[str, "The record's path in the archive."]
    archived: Annotated[Archived | None, "What became of the ledger, if it was archived."]
    written: Annotated[Written | None, "The event; None when everything was published already."]
    committed: Annotated[Committed | Skipped | NotDue | None, "Whether it was committed."]


@record
class Listed:
    """A handoff that is there."""

    name: Annotated[str, "What it is called: the stream, or the record's file."]
    kind: Annotated[str, "stream or archive."]
    path: Annotated[str, "Its path from the root."]
    at: Annotated[datetime | None, "When it was written."] = None
    status: Annotated[str, "How it stands."] = ""
    goal: Annotated[str, "What it is about."] = ""


@record
class Looked:
    """A handoff that was read, and what is different now."""

    listed: Listed
    snapshot: Snapshot
    drift: Drift


@record
class Resumed:
    """A session that goes on from a handoff."""

    account: Account
    is_new: bool
    carried: int


def create_handoff(project: Project, account: Account, order: Order) -> Handoff:
    """Write a handoff: event, stream document and record, each of the same snapshot (C19).

    1. Edits of the ledger by hand are taken in.
    2. A stream document that cannot be read is refused before anything is written.
    3. The event comes first: it is what other checkouts merge.
    4. The view comes last, and a commit if the settings want it, with our own files and nothing else.

    Raises a StorageError when something could not be written; what was said is in the journal all the same.
    """
    name = _stream_name(project, account, order.stream)
    path = stream_path(project.checkout.settings.paths, name) if name else ""
    if path:
        _read_stream(project, path)  # 2
    if account.ended_at is None:
        account = keep_ledger(project, account).account  # 1
    inherited = _with_inherited(project, account)
    snapshot = make_snapshot(inherited, look_around(project, account), order.trigger)
    written = publish(project, account.session, kind="handoff", reason=order.trigger)  # 3
    if path:
        _write_stream(project, path, name, snapshot)
    archived: Archived | None = None
    if order.archive:
        archived = archive_ledger(project, account, order.trigger, keep=order.keep)
    record = (archived.path if archived else "") or write_record(project, snapshot)
    own = [*([path] if path else []), record]
    committed = bring_up_to_date(project, Trigger.HANDOFF, own)  # 4
    return Handoff(
        snapshot=snapshot,
        stream=path,
        record=record,
        archived=archived,
        written=written,
        committed=committed,
    )


def _with_inherited(project: Project, account: Account) -> Account:
    """Add what the sessions before decided, ruled out and asked, and nobody took back since."""
    agents = {one.agent for one in _before(project, account)}
    standing = read_standing(project, account)
    lists = dict(account.lists)
    for kind in _INHERITED:
        own = account.of(kind)
        keys = {make_key(one.key if kind is FactKind.DECISION else one.text) for one in own}
        found = [one for one in standing.of(kind) if one.agent in agents and one.key not in keys]
        entries = [Entry(one.text, one.at, 0, one.provenance, one.key) for one in reversed(found)]
        lists[kind.value] = (*entries, *own)
    return replace(account, lists=lists)


def _before(project: Project, account: Account) -> Iterator[Account]:
    """Follow the sessions that one goes on from, unless it began afresh."""
    if account.start.is_fresh:
        return
    for one in read_before(project, account.start.continues):
        yield one
        if one.start.is_fresh:
            return


def _stream_name(project: Project, account: Account, wanted: str) -> str:
    """Choose the stream: the one that was named, else that of the track; empty without either (R59)."""
    name = wanted or (kebab(account.track) if account.track else "")
    if name and not is_stream_name(name):
        raise UsageError(f"{name} is no name of a stream", hint=f"use kebab case, like {kebab(name)}")
    paths = project.checkout.settings.paths
    if f"{paths.handoffs}/{name}" in {paths.events, paths.event_archive}:
        raise UsageError(f"{name} is the folder of something else", hint="give the stream another name")
    return name


def stream_path(paths: Paths, name: str) -> str:
    """Say where the document of a stream lies (R53)."""
    return f"{paths.handoffs}/{name}/{DOCUMENT}"


def _read_stream(project: Project, path: str) -> Stream | None:
    """Read a stream document; None without one. Raises a PassdownError for one that must be mended first."""
    documents = project.checkout.documents
    if not documents.exists(path):
        return None
    stream = parse_stream(_decode(path, documents.read(path)))
    broken = [one for one in stream.problems if one.severity is Severity.ERROR]
    if broken:
        hint = f"`passdown check {path} --fix` mends what is safe to mend; nothing was written"
        raise PassdownError(f"{path}:{broken[0].line}: {broken[0].field} {broken[0].problem}", hint=hint)
    return stream


def _decode(path: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError(f"{path} is not UTF-8 text", hint="save it as UTF-8") from None


def _write_stream(project: Project, path: str, name: str, snapshot: Snapshot) -> None:
    """Put a snapshot into the Ledger section of a stream document, or make the document (R57, R58, R74)."""
    documents = project.checkout.documents
    known = _read_stream(project, path)
    data = render_stream(to_stream(snapshot, name, known)).encode()
    if known is not None:
        documents.replace(path, data)
    elif not documents.create(path, data):
        _write_stream(project, path, name, snapshot)  # somebody made it a moment ago


def list_handoffs(project: Project, limit: int) -> Sequence[Listed]:
    """List the newest handoffs, streams and records, the newest first; one that cannot be read says so."""
    paths = project.checkout.settings.paths
    streams = [read_listed(project, one) for one in _list_streams(project)]
    names = [name.rpartition("/")[2] for name in project.checkout.documents.list(paths.archive)]
    dated = [(named[0], name) for name in names if (named := parse_archive_file_name(name))]
    newest = sorted(dated, reverse=True)[:limit]
    records = [read_listed(project, _record(paths, name, at)) for at, name in newest]
    everything = [*streams, *records]
    everything.sort(key=lambda one: (one.at or _NEVER, one.path), reverse=True)
    return everything[:limit]


def _list_streams(project: Project) -> Iterator[Listed]:
    """Name the streams: every folder with a document in it (R57)."""
    paths = project.checkout.settings.paths
    for name in project.checkout.documents.folders(paths.handoffs):
        path = stream_path(paths, name)
        if path != paths.view and project.checkout.documents.exists(path):
            yield Listed(name=name, kind=STREAM, path=path)


def _record(paths: Paths, name: str, at: datetime | None = None) -> Listed:
    return Listed(name=name.removesuffix(".md"), kind=ARCHIVE, path=f"{paths.archive}/{name}", at=at)


def read_listed(project: Project, listed: Listed) -> Listed:
    """Add what a handoff says of itself."""
    try:
        text = _decode(listed.path, project.checkout.documents.read(listed.path))
        if listed.kind == STREAM:
            stream = parse_stream(text)
            at = stream.updated or stream.date
            return replace(listed, at=at, status=stream.status or "", goal=stream.goal)
        archive = parse_archive(text)
    except (FormatError, StorageError) as found:
        return replace(listed, status="unreadable", goal=found.message)
    status = archive.status.value if archive.status else ""
    return replace(listed, at=archive.date or listed.at, status=status, goal=archive.summary)


def find_handoff(project: Project, name: str) -> Listed:
    """Find a handoff by the stream's name, by the record's name or the start of it, or by its path.

    Raises a UsageError when there is none, or several.
    """
    paths = project.checkout.settings.paths
    for one in _list_streams(project):
        if name in {one.name, one.path}:
            return one
    files = [path.rpartition("/")[2] for path in project.checkout.documents.list(paths.archive)]
    last = name.removeprefix(f"{paths.archive}/").removesuffix(".md")
    exact = [file for file in files if file.removesuffix(".md") == last]
    begun = [file for file in files if last and file.startswith(last) and parse_archive_file_name(file)]
    found = exact or begun
    if not found:
        raise UsageError(f"there is no handoff {name}", hint="`passdown handoff list` lists them")
    if len(found) > 1:
        shown = ", ".join(file.removesuffix(".md") for file in found[:5])
        raise UsageError(f"{name} can be {shown}", hint="give more of the name")
    return _record(paths, found[0])


def read_handoff(project: Project, listed: Listed) -> str:
    """Give the text of a handoff; raises a StorageError or FormatError when it cannot be read."""
    return _decode(listed.path, project.checkout.documents.read(listed.path))


def look_at(project: Project, name: str, run: Run | None = None) -> Looked:
    """Read a handoff and compare it with what is here, before anybody goes on from it (G18).

    The recorded test command runs only if `run` is given: it is text that somebody else wrote.
    """
    listed = find_handoff(project, name)
    text = read_handoff(project, listed)
    snapshot = from_stream(parse_stream(text)) if listed.kind == STREAM else from_archive(parse_archive(text))
    repository = project.checkout.repository
    here = Surroundings(
        at=project.now(),
        branch=repository.branch(),
        commit=read_head(project),
        probes=probe_files(project, [probe.path for probe in snapshot.probes]),
    )
    commits = (
        repository.count_since(snapshot.commit, _own_paths(project.checkout.settings.paths))
        if isinstance(repository, Commits) and snapshot.commit
        else None
    )
    test_now = run(snapshot.test) if run is not None and snapshot.test else None
    drift = find_drift(snapshot, here, commits, test_now)
    return Looked(listed=read_listed(project, listed), snapshot=snapshot, drift=drift)


def _own_paths(paths: Paths) -> Sequence[str]:
    """Name what our own commits change: they say nothing about the work."""
    shared = (paths.archive, paths.handoffs, paths.events, paths.event_archive, paths.view)
    return (paths.ledgers, paths.runtime, *shared)


def resume_handoff(project: Project, looked: Looked, account: Account | None) -> Resumed:
    """Go on from a handoff in the session that runs, or in a new one.

    What it passes on is carried as observed: what the session itself stated is not overruled. What it knows
    already is not said again, so that resuming twice is the same as resuming once.
    """
    is_new = account is None
    if account is None:
        account = start_session(project, Wish(is_fresh=True)).account
    said = [one for one in carry_on(looked.snapshot) if not _knows(account, one)]
    if looked.snapshot.track and not account.track:
        said.append(Said(FactKind.BINDING, looked.snapshot.track, "track"))
    keep_ledger(project, account, said, provenance=Provenance.OBSERVED)
    return Resumed(account=read_account(project, account.session), is_new=is_new, carried=len(said))


def _knows(account: Account, said: Said) -> bool:
    """Say whether a session knows a fact already, or has stated its own."""
    if said.kind in {FactKind.GOAL, FactKind.NOW}:
        known = account.goal if said.kind is FactKind.GOAL else account.now
        return known is not None and (known.text == said.text or known.provenance is Provenance.STATED)
    entries = account.of(said.kind)
    if said.kind is FactKind.NEXT:
        return "\n".join(entry.text for entry in entries) == said.text
    if said.kind is FactKind.DECISION:
        return (said.key, said.text) in {(entry.key, entry.text) for entry in entries}
    return make_key(said.text) in {make_key(entry.text) for entry in entries}
