"""Full-text search over ledgers, archived sessions, events, streams, loops and history.

Documents that are written once are read once, into an index that each search updates. The ledgers of running
sessions keep changing and are read every time.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from passdown import layout
from passdown.core.digests import sha256
from passdown.core.formats.archives import parse_archive_file_name
from passdown.core.formats.history import describe_history, parse_history, parse_history_head
from passdown.core.formats.loops import parse_loop
from passdown.core.formats.streams import parse_stream
from passdown.core.merge.event_facts import ID_SIZE
from passdown.core.merge.rollups import find_member, is_rollup
from passdown.core.project.search_query import (
    MAX_WORDS,
    DocumentKind,
    SearchTerm,
    Snippet,
    count_term,
    count_words,
    is_shell_safe,
    join_words,
    make_snippet,
    parse_query,
    read_head,
    score,
    shell_word,
)
from passdown.errors import FormatError, StorageError, UsageError
from passdown.ports.event_log import FileMark
from passdown.ports.search import (
    RANKED,
    Hit,
    Hits,
    SearchChange,
    SearchDocument,
    SearchFile,
    SearchFilter,
    SearchIndex,
    SearchSource,
)
from passdown.records import record
from passdown.services.log.events import parse_events
from passdown.services.log.indexing import UNREAD, NewFile, Step, bring_up_to_date, find_changed
from passdown.services.sessions.journals import read_labelled
from passdown.services.workspace.workspaces import Workspace

BATCH: Final = 5_000
BATCH_CHARACTERS: Final = 33_554_432
"""The size of a batch; applied batches are kept if a later one is interrupted."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ANY: Final = SearchFilter()
_MICROSECOND: Final = 1_000
_ENDING: Final = ".md"


@record
class SearchScope:
    """The documents that can be searched, and the index of their words."""

    index: SearchIndex
    sources: Mapping[DocumentKind, SearchSource]


@record
class SearchRequest:
    """What to search for, and how much to show."""

    text: Annotated[str, "The words to search for."]
    wanted: Annotated[SearchFilter, "Which documents to search."] = _ANY
    limit: Annotated[int, "How many matches to return."] = 10
    size: Annotated[int, "The most characters of a snippet."] = 160


@record
class SearchMatch:
    """A document that was found."""

    kind: Annotated[DocumentKind, "The kind of document."]
    name: Annotated[str, "The event's id, or the document's name."]
    path: Annotated[str, "Its file, relative to the root."]
    at: Annotated[datetime, "When it was written."]
    agent: Annotated[str, "The agent that wrote it, else the session; empty if unknown."]
    is_retracted: Annotated[bool, "Whether it was retracted."]
    snippet: Annotated[Snippet, "The line that matched."]
    command: Annotated[str, "The command that shows all of it."]


@record
class SearchResults:
    """The matches, best first: ledgers of running sessions, then other documents."""

    matches: Annotated[tuple[SearchMatch, ...], "The matches, up to the limit."]
    total: Annotated[int, "How many there are."]
    is_least: Annotated[bool, "Whether there may be even more than `total`."]


def search(
    workspace: Workspace, scope: SearchScope, asked: SearchRequest, step: Step | None = None
) -> SearchResults:
    """Update the index and return the documents that contain every word.

    1. Ledgers of running sessions come first: nothing is newer.
    2. The others are sorted by relevance (BM25), then newest first.
    3. A document that has disappeared since it was found is left out.

    Raises a UsageError if the query has no word, or too many, and a CacheError if the index cannot
    be used.
    """
    terms = _read_terms(asked.text)
    wanted = asked.wanted._replace(agent=_writable(asked.wanted.agent))
    live = list(_search_ledgers(workspace, terms, wanted, asked.size))  # 1
    kinds = [kind for kind in scope.sources if not wanted.kinds or kind in wanted.kinds]
    hits = Hits((), 0)
    if kinds:
        for kind in kinds:  # if nothing changed, only folders are checked
            source = scope.sources[kind]
            target = _IndexedSource(workspace, source, scope.index, kind)
            if (there := find_changed(source, target.folders())) is not None:
                bring_up_to_date(source, target, there, step)
        hits = scope.index.find(terms, wanted, max(asked.limit - len(live), 0))  # 2
    shown = [_show(workspace, scope, hit, terms, asked.size) for hit in hits.best]
    gone = shown.count(None)  # 3
    matches = [*live[: asked.limit], *(match for match in shown if match is not None)]
    return SearchResults(
        matches=tuple(matches), total=len(live) + hits.total - gone, is_least=hits.total >= RANKED
    )


def _read_terms(text: str) -> tuple[SearchTerm, ...]:
    terms = parse_query(text)
    if not terms:
        raise UsageError("nothing to search for", hint="type at least one word with letters or digits")
    if sum(len(term.words) for term in terms) > MAX_WORDS:
        hint = f"use at most {MAX_WORDS}; a few rare words find the most"
        raise UsageError("too many words to search for", hint=hint)
    return terms


def _writable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


# --- what is written once -----------------------------------------------------------------------


class _IndexedSource:
    """The documents of a source as an update target; agents of sessions are looked up once."""

    def __init__(
        self, workspace: Workspace, source: SearchSource, index: SearchIndex, kind: DocumentKind
    ) -> None:
        self._workspace = workspace
        self._shelf = source
        self._index = index
        self._kind = kind
        self._agents: dict[str, str] = {}
        self._held, self._size = 0, 0

    def folders(self) -> Mapping[str, int]:
        return self._index.folders(self._kind)

    def files(self, folder: str) -> Mapping[str, FileMark]:
        return self._index.files(self._kind, folder)

    def choose(self, new: Sequence[NewFile]) -> Sequence[NewFile]:
        return new

    def is_enough(self) -> bool:
        return self._held >= BATCH or self._size >= BATCH_CHARACTERS

    def apply(
        self, folders: Mapping[str, int | None], gone: Sequence[tuple[str, str]], found: Sequence[SearchFile]
    ) -> None:
        with self._index.changing():
            self._index.apply(SearchChange(self._kind, folders, gone, found))
        self._held, self._size = 0, 0

    def read(self, folder: str, name: str, mark: FileMark) -> SearchFile:
        data = self._shelf.read(folder, name)
        documents = () if data is None else tuple(self._read(folder, name, mark, data))
        self._held += len(documents)
        self._size += sum(len(document.text) for document in documents)
        return SearchFile(folder, name, UNREAD if data is None else mark, documents)

    def _read(self, folder: str, name: str, mark: FileMark, data: bytes) -> Iterator[SearchDocument]:
        if self._kind is DocumentKind.EVENT:
            yield from _read_events(name, data)
            return
        text = _text_of(self._kind, data)
        if self._kind is DocumentKind.LOOP:
            at, agent = _read_loop(text)
        elif self._kind is DocumentKind.HISTORY:
            at, agent = _read_history(name, data)
        elif self._kind is DocumentKind.STREAM:
            at, agent = self._read_stream(text)
        else:
            at, agent = self._read_record(name, text)
        key = sha256(f"{folder}/{name}".encode() + b"\0" + data).hexdigest()
        changed_at = _EPOCH + timedelta(microseconds=mark.changed // _MICROSECOND)
        yield SearchDocument(key, "", at or changed_at, _writable(agent), text)

    def _read_record(self, name: str, text: str) -> tuple[datetime | None, str]:
        head, named = read_head(text), parse_archive_file_name(name)
        if head.session not in self._agents:
            self._agents[head.session] = _agent_of(self._workspace, head.session)
        return head.at or (named[0] if named else None), self._agents[head.session]

    def _read_stream(self, text: str) -> tuple[datetime | None, str]:
        try:
            stream = parse_stream(text)
        except FormatError:
            return None, ""
        return stream.updated or stream.date, stream.checkpoint.agent if stream.checkpoint else ""


def _text_of(kind: DocumentKind, data: bytes) -> str:
    """Return the text of a document in which words are found and shown; unreadable history has none."""
    text = data.decode("utf-8", "replace")
    if kind is not DocumentKind.HISTORY:
        return text
    try:
        return describe_history(parse_history(text))
    except FormatError:
        return ""


def _read_history(name: str, data: bytes) -> tuple[datetime | None, str]:
    """Return when an imported session last said or did something, and the host it ran in."""
    try:
        head = parse_history_head(data.decode("utf-8", "replace"))
    except FormatError:
        return None, name.partition("/")[0]
    return head.ended, head.host


def _read_loop(text: str) -> tuple[datetime | None, str]:
    """Return when the last turn of a loop was added, and by whom."""
    try:
        turns = parse_loop(text).turns
    except FormatError:
        return None, ""
    return (turns[-1].at, turns[-1].agent) if turns else (None, "")


def _read_events(name: str, data: bytes) -> Iterator[SearchDocument]:
    """Yield the events in a file, without those that cannot be merged."""
    for member, source in parse_events(name, data).members:
        rank = source.rank
        text = member.data.decode("utf-8", "replace")
        yield SearchDocument(rank.hash, rank.id, rank.at, rank.agent, text, source.retracted)


def _agent_of(workspace: Workspace, session: str) -> str:
    """Return the agent of a session, or the session if its journal is not here."""
    return read_labelled(workspace, session).agent or session


def _show(
    workspace: Workspace, scope: SearchScope, hit: Hit, terms: Sequence[SearchTerm], size: int
) -> SearchMatch | None:
    data = scope.sources[hit.kind].read(hit.folder, hit.file)
    if data is not None and hit.kind is DocumentKind.EVENT and is_rollup(hit.file):
        data = find_member(data, hit.key)
    if data is None:
        return None
    paths = workspace.settings.paths
    folder = {
        DocumentKind.EVENT: paths.events,
        DocumentKind.ARCHIVE: paths.archive,
        DocumentKind.STREAM: paths.handoffs,
        DocumentKind.LOOP: paths.loops,
        DocumentKind.HISTORY: layout.shown_in_git(layout.history_folder()),
    }[hit.kind]
    path = "/".join(part for part in (folder, hit.folder, hit.file) if part)
    name = hit.name or _name_of(hit)
    return SearchMatch(
        kind=hit.kind,
        name=name,
        path=path,
        at=hit.at,
        agent=hit.agent,
        is_retracted=hit.is_retracted,
        snippet=make_snippet(_text_of(hit.kind, data), terms, size),
        command=_command(hit, name, path),
    )


def _name_of(hit: Hit) -> str:
    """Return the name of a document: a stream's folder, a change and its loop, or a record's file name."""
    if hit.kind is DocumentKind.LOOP:
        change, _, path = hit.file.partition("/")
        return f"{change}/{layout.loop_of(path)}"
    if hit.kind is DocumentKind.HISTORY:
        return layout.history_session(hit.file)
    return hit.file.partition("/")[0] if hit.kind is DocumentKind.STREAM else hit.file.removesuffix(_ENDING)


def _command(hit: Hit, name: str, path: str) -> str:
    """Return the command that shows a document; names that others chose are always quoted as one word."""
    if hit.kind is DocumentKind.EVENT:
        return f"passdown event show {name if is_shell_safe(name) else hit.key[:ID_SIZE]}"
    if hit.kind is DocumentKind.HISTORY:
        return f"passdown history show {shell_word(name)}"
    if hit.kind is DocumentKind.LOOP:
        return f"cat {shell_word(path)}"
    return f"passdown handoff show {name if is_shell_safe(name) else shell_word(path)}"


# --- what changes all the time ------------------------------------------------------------------


def _search_ledgers(
    workspace: Workspace, terms: Sequence[SearchTerm], wanted: SearchFilter, size: int
) -> Iterator[SearchMatch]:
    """Yield the live ledgers that contain every term, best first, then newest."""
    if wanted.kinds and DocumentKind.LEDGER not in wanted.kinds:
        return
    texts = list(_read_ledgers(workspace))
    joined = [join_words(text) for _, text in texts]
    counts = [[count_term(term, one) for term in terms] for one in joined]
    holding = [sum(count[place] > 0 for count in counts) for place in range(len(terms))]
    average = max(sum(map(count_words, joined)), 1) / max(len(joined), 1)
    ranked = [
        (
            score(count, holding, len(texts), count_words(one) / average),
            _make_match(workspace, path, text, terms, size),
        )
        for (path, text), one, count in zip(texts, joined, counts, strict=True)
        if all(count)
    ]
    ranked.sort(key=lambda pair: (pair[0], pair[1].at, pair[1].path), reverse=True)
    yield from (match for _, match in ranked if _takes(wanted, match))


def _read_ledgers(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Yield the live ledgers of this checkout; an unreadable one is empty, so it never matches."""
    documents, folder = workspace.documents, workspace.settings.paths.ledgers
    try:
        paths = [path for path in documents.list(folder) if path.endswith(_ENDING)]
    except StorageError:
        return
    for path in paths:
        try:
            data = documents.read(path)
        except StorageError:
            data = b""
        yield path, data.decode("utf-8", "replace")


def _make_match(
    workspace: Workspace, path: str, text: str, terms: Sequence[SearchTerm], size: int
) -> SearchMatch:
    head = read_head(text)
    return SearchMatch(
        kind=DocumentKind.LEDGER,
        name=path,
        path=path,
        at=head.at or workspace.now(),
        agent=_agent_of(workspace, head.session),
        is_retracted=False,
        snippet=make_snippet(text, terms, size),
        command=f"cat {shell_word(path)}",
    )


def _takes(wanted: SearchFilter, match: SearchMatch) -> bool:
    return (wanted.since is None or match.at >= wanted.since) and (
        not wanted.agent or match.agent == wanted.agent or match.agent.startswith(f"{wanted.agent}-")
    )
