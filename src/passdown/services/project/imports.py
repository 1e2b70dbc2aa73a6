"""Import old transcripts of hosts as history (C134): plan, import, list, and forget.

History is not sessions: nothing here writes a journal, a ledger, an event, or anything else that sessions
use. Hosts' files are only read, and what is written stays on this machine.
"""

import posixpath
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import Annotated, Final, NamedTuple

from passdown import layout
from passdown.core.formats.history import (
    HistoryHead,
    ImportedSession,
    parse_history,
    parse_history_head,
    render_counts,
    render_history,
)
from passdown.core.formats.journal import Scope
from passdown.core.hosts.past_sessions import (
    PastEntries,
    TranscriptOrigin,
    TranscriptStore,
    days_left,
    file_name,
    find_own_root,
    is_same_remote,
    make_entries,
    make_head,
    read_origin,
)
from passdown.core.hosts.transcripts import START, Observation, TranscriptReader, read_piece
from passdown.core.kinds import FactKind
from passdown.core.project.search_query import is_shell_safe, split_words
from passdown.core.sessions.session_facts import fold_journal
from passdown.errors import FormatError, StorageError, UsageError
from passdown.ports.documents import Documents
from passdown.ports.transcripts import TranscriptFile, Transcripts
from passdown.records import record, replace
from passdown.services.project.setups import PurgeableFile, purge
from passdown.services.workspace.workspaces import Workspace, list_other_roots

START_BYTES: Final = 65_536
"""How much of a transcript is read to find out where its session worked; if that is too little, all is."""

_NEWEST: Final = 20
"""How many sessions are looked at for words to search."""

Step = Callable[[int, int], None]


@record
class HistoryPlace:
    """Where the history of a project is kept."""

    documents: Annotated[Documents, "The files of git's folder, or of the user's state."]
    folder: Annotated[str, "The folder of history in it."]
    shown: Annotated[str, "That folder, as shown to the user."]


@record
class TranscriptHost:
    """A host with transcripts on this machine."""

    name: Annotated[str, "Its name in files and commands."]
    title: Annotated[str, "Its name for people."]
    folder: Annotated[str, "The folder that holds its transcripts."]
    store: Annotated[TranscriptStore, "How they are found and read."]
    reader: Annotated[TranscriptReader, "How their lines are read."]
    kept_days: Annotated[int | None, "After how many days it deletes them; null if it never does."] = None


@record
class ImportScope:
    """Everything that an import needs besides the checkout."""

    place: Annotated[HistoryPlace, "Where history is kept."]
    hosts: Annotated[Sequence[TranscriptHost], "The hosts whose transcripts are imported."]
    transcripts: Annotated[Transcripts, "What reads them."]
    resolve: Annotated[Callable[[str], str], "Returns an absolute path without links; it need not exist."]
    exists: Annotated[Callable[[str], bool], "Returns whether there is such a folder."]
    is_top: Annotated[Callable[[str], bool], "Returns whether a folder is the top of a checkout or project."]
    remotes: Annotated[Callable[[], Sequence[str]], "Returns the URLs of the repository's remotes."]
    sweep: Annotated[Callable[[], object], "Removes what killed imports left unfinished."]
    clear: Annotated[Callable[[], None], "Removes empty folders of history, and all words from the index."]


class FoundTranscript(NamedTuple):
    """A transcript of this project that is not imported yet, or that grew since."""

    host: TranscriptHost
    file: TranscriptFile
    session: str
    parent: str
    name: str
    """The name of its history file."""

    @property
    def path(self) -> str:
        """Where it is."""
        return f"{self.host.folder}/{self.file.path}"


@record
class ImportPlan:
    """What an import would read."""

    new: Annotated[tuple[FoundTranscript, ...], "The transcripts to import."] = ()
    known: Annotated[int, "How many are imported already."] = 0
    foreign: Annotated[int, "How many belong to other projects."] = 0
    unreadable: Annotated[int, "How many cannot be read, or do not say where their session worked."] = 0
    is_counted: Annotated[bool, "Whether the counts by file are those of what was imported."] = True


@record
class ImportTotals:
    """What an import wrote."""

    sessions: Annotated[int, "How many history files were written."] = 0
    entries: Annotated[int, "How many entries they hold."] = 0
    redacted: Annotated[int, "In how many of them secrets were redacted."] = 0
    unreadable: Annotated[int, "How many transcripts could not be read."] = 0


class ListedHistory(NamedTuple):
    """A history file."""

    host: str
    name: str
    head: HistoryHead


class DueDeletion(NamedTuple):
    """Transcripts that a host will delete before they were imported."""

    host: TranscriptHost
    transcripts: int
    days: int
    """How many days are left until it deletes the first of them."""


# --- what there is to import ------------------------------------------------------------------------


def plan_import(
    workspace: Workspace, scope: ImportScope, since: datetime | None = None, step: Step | None = None
) -> ImportPlan:
    """Find the transcripts of this project that are not imported yet; nothing is written.

    1. Of several transcripts of one session, the largest counts.
    2. One that is no longer than what was imported of it is not read again: it is unchanged, or was cut off
       since, and history keeps what it said.
    """
    listed = list_history(scope.place)
    heads = {(one.host, one.name): one.head for one in listed}
    found = [one for one in _list_transcripts(scope) if since is None or one.file.changed >= since]
    owner = _Ownership(workspace, scope)
    new: list[FoundTranscript] = []
    known = foreign = unreadable = 0
    for number, one in enumerate(found, 1):
        if step is not None:
            step(number, len(found))
        head = heads.get((one.host.name, one.name))
        if head is not None and head.size >= one.file.size:  # 2
            known += 1
            continue
        origin = _read_origin(scope, one)
        if origin is None:
            unreadable += 1
        elif owner.is_ours(origin):
            new.append(one._replace(parent=one.parent or origin.parent))
        else:
            foreign += 1
    return ImportPlan(
        new=tuple(new),
        known=known,
        foreign=foreign,
        unreadable=unreadable,
        is_counted=_read_counts(scope.place) == _count_files(listed),
    )


def _count_files(listed: Sequence["ListedHistory"]) -> bytes:
    return render_counts(one.head for one in listed) if listed else b""


def _read_counts(place: HistoryPlace) -> bytes:
    """Return the counts by file as they were written; empty without any."""
    path = f"{place.folder}/{layout.HISTORY_COUNTS}"
    return place.documents.read(path) if place.documents.exists(path) else b""


def _list_transcripts(scope: ImportScope) -> Sequence[FoundTranscript]:
    """List the transcripts of all hosts, one for each session (1)."""
    found: dict[tuple[str, str], FoundTranscript] = {}
    for host in scope.hosts:
        for file in scope.transcripts.list(host.folder):
            named = host.store.identify(file.path)
            if named is None:
                continue
            one = FoundTranscript(host, file, named.session, named.parent, file_name(named.session))
            key = (host.name, one.name)
            if key not in found or found[key].file.size < file.size:
                found[key] = one
    return list(found.values())


def _read_origin(scope: ImportScope, one: FoundTranscript) -> TranscriptOrigin | None:
    """Return where a session worked; None if its transcript does not say it or cannot be read."""
    with suppress(StorageError):
        read = scope.transcripts.read
        start = read(one.path, 0, START_BYTES)
        return read_origin(one.host.store, start) or (
            read_origin(one.host.store, read(one.path, 0)) if len(start) == START_BYTES else None
        )
    return None


class _Ownership:
    """Decides which sessions worked in this project."""

    def __init__(self, workspace: Workspace, scope: ImportScope) -> None:
        self._workspace = workspace
        self._scope = scope
        self._asked: dict[TranscriptOrigin, bool] = {}
        others = [root for root, _ in list_other_roots(workspace.repository)]
        self._roots = [scope.resolve(root) for root in (workspace.root, *others)]

    def is_ours(self, origin: TranscriptOrigin) -> bool:
        """Return whether a session worked in this project.

        1. Its folder is in a checkout that is there or that git lists, and in no other repository in it.
        2. Its folder is gone, and it was in a checkout that a journal names.
        3. Its repository has one of our remotes, as the host recorded it.
        """
        if origin not in self._asked:
            self._asked[origin] = self._decide(origin)
        return self._asked[origin]

    def _decide(self, origin: TranscriptOrigin) -> bool:
        if any(is_same_remote(origin.remote, one) for one in self._remotes):  # 3
            return True
        if not posixpath.isabs(origin.folder.replace("\\", "/")) and origin.folder[1:2] != ":":
            return False
        folder = self._scope.resolve(origin.folder)
        root = find_own_root(folder, self._roots)
        if root:
            return not self._is_nested(folder, root)  # 1
        return not self._scope.exists(folder) and bool(find_own_root(folder, self._removed))  # 2

    def _is_nested(self, folder: str, root: str) -> bool:
        """Return whether a folder is in another repository or project inside a root."""
        while len(folder) > len(root):
            if self._scope.is_top(folder):
                return True
            folder = posixpath.dirname(folder)
        return False

    @cached_property
    def _remotes(self) -> Sequence[str]:
        return self._scope.remotes()

    @cached_property
    def _removed(self) -> Sequence[str]:
        """The checkouts that journals name and that are no longer there."""
        journals = self._workspace.journals
        named = {
            fold_journal(name, journals.read(name)[:1]).start.checkout
            for name in journals.sessions(Scope.ALL)
        }
        return [root for root in sorted(named - {""}) if not self._scope.exists(root)]


# --- importing --------------------------------------------------------------------------------------


def import_transcripts(
    workspace: Workspace, scope: ImportScope, plan: ImportPlan, step: Step | None = None
) -> ImportTotals:
    """Write a history file for each planned transcript, replacing what was imported of it before.

    It can be stopped at any time and repeated: a file is written as a whole, and the same transcript gives
    the same bytes. A transcript that can no longer be read is counted and left out.
    """
    roots = [scope.resolve(workspace.root), workspace.root]
    roots += [scope.resolve(root) for root, _ in list_other_roots(workspace.repository)]
    totals = ImportTotals()
    scope.sweep()
    for number, one in enumerate(plan.new, 1):
        if step is not None:
            step(number, len(plan.new))
        try:
            session = _read_session(scope, one, roots)
        except StorageError:
            session = None
        if session is None:
            totals = replace(totals, unreadable=totals.unreadable + 1)
            continue
        path = f"{scope.place.folder}/{layout.history_file(one.host.name, one.name)}"
        scope.place.documents.replace(path, render_history(session).encode(), local=True)
        totals = replace(
            totals,
            sessions=totals.sessions + 1,
            entries=totals.entries + len(session.entries),
            redacted=totals.redacted + bool(session.head.redacted),
        )
    if counts := _count_files(list_history(scope.place)):
        path = f"{scope.place.folder}/{layout.HISTORY_COUNTS}"
        scope.place.documents.replace(path, counts, local=True, durable=False)
    return totals


def _read_session(scope: ImportScope, one: FoundTranscript, roots: Sequence[str]) -> ImportedSession | None:
    """Read a transcript as a whole; None if it became shorter than it was when it was found."""
    seen, size, folder = _read_whole(scope, one)
    if size < one.file.size:
        return None
    found: PastEntries = make_entries(seen, roots)
    base = HistoryHead(
        host=one.host.name,
        session=one.session,
        parent=one.parent,
        folder=folder,
        transcript=one.path,
        size=size,
    )
    return ImportedSession(head=make_head(base, found), entries=found.entries)


def _read_whole(scope: ImportScope, one: FoundTranscript) -> tuple[Sequence[Observation], int, str]:
    """Return what a transcript shows, how many bytes it has, and the last folder of its session."""
    seen: list[Observation] = []
    mark, size = START, 0
    while data := scope.transcripts.read(one.path, mark.offset):
        size = mark.offset + len(data)
        reading = read_piece(one.host.reader, data, mark, one.host.store.messages)
        seen += reading.seen
        if reading.mark.offset == mark.offset:
            break
        mark = reading.mark
    return seen, size, mark.folder


# --- what was imported --------------------------------------------------------------------------------


def list_history(place: HistoryPlace) -> Sequence[ListedHistory]:
    """List the imported sessions, newest first; a file that cannot be read is left out."""
    found = [
        ListedHistory(host, name, head)
        for host, name, text in _read_files(place)
        if (head := _parse_head(text)) is not None
    ]
    return sorted(found, key=lambda one: (_stamp(one.head), one.name), reverse=True)


def _stamp(head: HistoryHead) -> float:
    return head.ended.timestamp() if head.ended else 0.0


def _read_files(place: HistoryPlace) -> Iterator[tuple[str, str, str]]:
    """Yield host, name and text of each history file."""
    for path in _list_files(place):
        host = path.removeprefix(f"{place.folder}/").partition("/")[0]
        with suppress(StorageError):  # it was just removed
            yield host, layout.history_session(path), place.documents.read(path).decode("utf-8", "replace")


def _list_files(place: HistoryPlace) -> Sequence[str]:
    try:
        return [path for path in place.documents.list(place.folder) if layout.history_session(path)]
    except StorageError:
        return []


def _parse_head(text: str) -> HistoryHead | None:
    try:
        return parse_history_head(text)
    except FormatError:
        return None


def find_history(place: HistoryPlace, name: str) -> ImportedSession:
    """Return the imported session with a name, or the only one whose name starts like this.

    Raises a UsageError if there is none or more than one, and a FormatError if its file cannot be read.
    """
    paths = [path for path in _list_files(place) if layout.history_session(path).startswith(name)]
    exact = [path for path in paths if layout.history_session(path) == name]
    match exact or paths:
        case [path]:
            return parse_history(place.documents.read(path).decode("utf-8", "replace"))
        case []:
            raise UsageError(
                f"no imported session is called {name}", hint="`passdown log --history` lists them"
            )
        case several:
            raise UsageError(
                f"{len(several)} imported sessions start with {name}", hint="use more characters"
            )


def pick_words(place: HistoryPlace) -> str:
    """Return words that the newest sessions hold: the file edited in most of them, else what one is about."""
    newest = list_history(place)[:_NEWEST]
    sessions = [_parse(place, one) for one in newest]
    files = Counter(
        entry.text.rpartition("/")[2]
        for session in sessions
        if session is not None
        for entry in session.entries
        if entry.kind == FactKind.FILE
    )
    named = [name for name, _ in files.most_common() if is_shell_safe(name)]
    words = [word for one in newest for word in split_words(one.head.about)]
    return next(iter((*named, *sorted(words, key=len, reverse=True))), "")


def _parse(place: HistoryPlace, one: ListedHistory) -> ImportedSession | None:
    path = f"{place.folder}/{layout.history_file(one.host, one.name)}"
    with suppress(FormatError, StorageError):  # it was just removed
        return parse_history(place.documents.read(path).decode("utf-8", "replace"))
    return None


def list_files(place: HistoryPlace) -> Sequence[PurgeableFile]:
    """List all files of history."""
    return [
        PurgeableFile(place.documents, path, f"{place.shown}{path.removeprefix(place.folder)}")
        for path in place.documents.list(place.folder)
    ]


def forget_history(scope: ImportScope) -> int:
    """Remove all history of the project and its words from the search index; return how many sessions."""
    place, count = scope.place, 0
    for one in list_files(place):
        count += purge([one]) and bool(layout.history_session(one.path))
    scope.sweep()
    scope.clear()
    return count


# --- what hosts will delete ---------------------------------------------------------------------------


def find_due(workspace: Workspace, scope: ImportScope, now: datetime) -> Iterator[DueDeletion]:
    """Yield the hosts that will delete transcripts of this project that were not imported."""
    hosts = [host for host in scope.hosts if host.kept_days is not None]
    if not hosts:
        return
    plan = plan_import(workspace, replace(scope, hosts=hosts))
    for host in hosts:
        due = [one.file.changed for one in plan.new if one.host is host]
        if due and host.kept_days is not None:
            yield DueDeletion(host, len(due), days_left(min(due), now, host.kept_days))
