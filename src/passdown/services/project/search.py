"""Full-text search over ledgers, journals, archived sessions, events, streams, loops and history.

Documents that are written once are read once, into an index that each search updates; so are the journals of
ended sessions once they are archived. Ledgers and the other journals keep changing and are read every time.
"""

from collections import Counter
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
from passdown.core.project.ranking import MatchRank, QuestionWeights, rank_text
from passdown.core.project.search_query import (
    LOCAL_KINDS,
    MAX_WORDS,
    DocumentKind,
    SearchQuery,
    Snippet,
    is_shell_safe,
    join_words,
    make_snippet,
    parse_query,
    read_head,
    shell_word,
)
from passdown.core.project.stems import stem
from passdown.errors import FormatError, UsageError
from passdown.ports.event_log import FileMark
from passdown.ports.search import (
    Hit,
    Hits,
    SearchChange,
    SearchDocument,
    SearchFile,
    SearchFilter,
    SearchIndex,
    SearchSource,
)
from passdown.records import record, replace
from passdown.services.log.events import parse_events
from passdown.services.log.indexing import UNREAD, NewFile, Step, bring_up_to_date, find_changed
from passdown.services.project.live_texts import (
    JOURNAL_ENDING,
    agent_of,
    place_journal,
    read_ended,
    read_live,
    render_ended,
)
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
    score: Annotated[float, "How well it matches, among those that hold as much of the question."]
    rank: Annotated[MatchRank, "How much of the question it holds."]
    missing: Annotated[tuple[str, ...], "The words of the question that it lacks."]
    share: Annotated[float, "The part of the question's weight that it holds."]

    @property
    def is_weak(self) -> bool:
        """Whether it holds too little of the question."""
        return self.rank is MatchRank.WEAK

    @property
    def is_local(self) -> bool:
        """Whether it is only on this machine."""
        return self.kind in LOCAL_KINDS

    @property
    def why(self) -> str:
        """Why it was found."""
        if self.rank is MatchRank.ALL:
            return "all words"
        return f"not {', '.join(self.missing)}" if self.missing else "all words, some in another form"


@record
class SearchResults:
    """The matches, best first."""

    matches: Annotated[tuple[SearchMatch, ...], "The matches, up to the limit."]
    total: Annotated[int, "How many there are."]
    weak: Annotated[int, "How many of them are weak; they come last."]
    is_least: Annotated[bool, "Whether there may be even more than `total`."]


def search(
    workspace: Workspace, scope: SearchScope, asked: SearchRequest, step: Step | None = None
) -> SearchResults:
    """Update the index and return the documents that answer a question, or hold the words of a query.

    1. What holds all words comes first: documents of this machine that keep changing, for nothing is newer,
       then the others by relevance.
    2. What holds only some follows in the same list, by relevance.
    3. A document that has disappeared since it was found is left out.

    Raises a UsageError if the query has no word, or too many, and a CacheError if the index cannot
    be used.
    """
    query = _read_query(asked.text)
    asked = replace(asked, wanted=asked.wanted._replace(agent=_writable(asked.wanted.agent)))
    hits = _search_index(workspace, scope, asked, query, step)
    shown = [_show(workspace, scope, hit, query, asked.size) for hit in hits.best]
    gone = [hit.rank for hit, match in zip(hits.best, shown, strict=True) if match is None]  # 3
    live = list(_search_live(workspace, query, asked, hits.weights))
    found = [*((match, False) for match in shown if match is not None), *((match, True) for match in live)]
    found.sort(key=_order)  # 1, 2
    return SearchResults(
        matches=tuple(match for match, _ in found[: asked.limit]),
        total=len(live) + hits.total - len(gone),
        weak=hits.weak - gone.count(MatchRank.WEAK) + sum(match.is_weak for match in live),
        is_least=hits.is_least,
    )


def _search_index(
    workspace: Workspace, scope: SearchScope, asked: SearchRequest, query: SearchQuery, step: Step | None
) -> Hits:
    """Bring the index up to date for the wanted kinds, and ask it."""
    kinds = [kind for kind in scope.sources if not asked.wanted.kinds or kind in asked.wanted.kinds]
    for kind in kinds:  # if nothing changed, only folders are checked
        source = scope.sources[kind]
        target = _IndexedSource(workspace, source, scope.index, kind)
        if (there := find_changed(source, target.folders())) is not None:
            bring_up_to_date(source, target, there, step)
    return scope.index.find(query, asked.wanted, asked.limit)


def _order(found: tuple[SearchMatch, bool]) -> tuple[int, bool, float, float]:
    """Return the place of a match in the list, from it and whether its document keeps changing.

    The scores of an index say nothing about other documents.
    """
    match, is_live = found
    is_whole = match.rank >= MatchRank.FORMS
    return -match.rank, is_whole and not is_live, -match.score, -match.at.timestamp()


def _read_query(text: str) -> SearchQuery:
    query = parse_query(text)
    if not query.terms:
        raise UsageError("nothing to search for", hint="type at least one word with letters or digits")
    if sum(len(term.words) for term in query.terms) > MAX_WORDS:
        hint = f"use at most {MAX_WORDS}; a few rare words find the most"
        raise UsageError("too many words to search for", hint=hint)
    return query


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
        if self._kind is DocumentKind.JOURNAL:
            account = read_ended(name, data)
            text, at, agent = render_ended(account), account.touched_at, account.agent
            if not text:
                return
        else:
            text = _text_of(self._kind, name, data)
            at, agent = self._read_head(name, data, text)
        key = sha256(f"{folder}/{name}".encode() + b"\0" + data).hexdigest()
        changed_at = _EPOCH + timedelta(microseconds=mark.changed // _MICROSECOND)
        yield SearchDocument(key, "", at or changed_at, _writable(agent), text)

    def _read_head(self, name: str, data: bytes, text: str) -> tuple[datetime | None, str]:
        """Return when a document was written, if it says so, and by whom."""
        if self._kind is DocumentKind.LOOP:
            return _read_loop(text)
        if self._kind is DocumentKind.HISTORY:
            return _read_history(name, data)
        return self._read_stream(text) if self._kind is DocumentKind.STREAM else self._read_record(name, text)

    def _read_record(self, name: str, text: str) -> tuple[datetime | None, str]:
        head, named = read_head(text), parse_archive_file_name(name)
        if head.session not in self._agents:
            self._agents[head.session] = agent_of(self._workspace, head.session)
        return head.at or (named[0] if named else None), self._agents[head.session]

    def _read_stream(self, text: str) -> tuple[datetime | None, str]:
        try:
            stream = parse_stream(text)
        except FormatError:
            return None, ""
        return stream.updated or stream.date, stream.checkpoint.agent if stream.checkpoint else ""


def _text_of(kind: DocumentKind, name: str, data: bytes) -> str:
    """Return the text of a document in which words are found and shown; unreadable history has none."""
    if kind is DocumentKind.JOURNAL:
        return render_ended(read_ended(name, data))
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


def _show(
    workspace: Workspace, scope: SearchScope, hit: Hit, query: SearchQuery, size: int
) -> SearchMatch | None:
    data = scope.sources[hit.kind].read(hit.folder, hit.file)
    if data is not None and hit.kind is DocumentKind.EVENT and is_rollup(hit.file):
        data = find_member(data, hit.key)
    if data is None:
        return None
    name = hit.name or _name_of(hit)
    path, command = _locate(workspace, hit, name)
    return SearchMatch(
        kind=hit.kind,
        name=name,
        path=path,
        at=hit.at,
        agent=hit.agent,
        is_retracted=hit.is_retracted,
        snippet=make_snippet(_text_of(hit.kind, hit.file, data), query, size),
        command=command,
        score=hit.score,
        rank=hit.rank,
        missing=hit.missing,
        share=hit.share,
    )


def _locate(workspace: Workspace, hit: Hit, name: str) -> tuple[str, str]:
    """Return where a document is, and the command that shows it."""
    below = f"{hit.folder}/{hit.file}" if hit.folder else hit.file
    if hit.kind is DocumentKind.JOURNAL:
        return place_journal(workspace, f"{layout.ENDED}/{below}")
    paths = workspace.settings.paths
    folder = {
        DocumentKind.EVENT: paths.events,
        DocumentKind.ARCHIVE: paths.archive,
        DocumentKind.STREAM: paths.handoffs,
        DocumentKind.LOOP: paths.loops,
        DocumentKind.HISTORY: layout.shown_in_git(layout.history_folder()),
    }[hit.kind]
    path = f"{folder}/{below}"
    return path, _command(hit, name, path)


def _name_of(hit: Hit) -> str:
    """Return the name of a document: a stream, a change and its loop, a session, or a record's file."""
    if hit.kind is DocumentKind.LOOP:
        change, _, path = hit.file.partition("/")
        return f"{change}/{layout.loop_of(path)}"
    if hit.kind is DocumentKind.HISTORY:
        return layout.history_session(hit.file)
    if hit.kind is DocumentKind.STREAM:
        return hit.file.partition("/")[0]
    return hit.file.removesuffix(JOURNAL_ENDING if hit.kind is DocumentKind.JOURNAL else _ENDING)


def _command(hit: Hit, name: str, path: str) -> str:
    """Return the command that shows a document; names that others chose are always quoted as one word."""
    if hit.kind is DocumentKind.EVENT:
        return f"passdown log show {name if is_shell_safe(name) else hit.key[:ID_SIZE]}"
    if hit.kind is DocumentKind.HISTORY:
        return f"passdown history show {shell_word(name)}"
    if hit.kind is DocumentKind.LOOP:
        return f"cat {shell_word(path)}"
    return f"passdown handoff show {name if is_shell_safe(name) else shell_word(path)}"


# --- what changes all the time ------------------------------------------------------------------


def _search_live(
    workspace: Workspace, query: SearchQuery, asked: SearchRequest, weights: QuestionWeights
) -> Iterator[SearchMatch]:
    """Yield the ledgers and journals of this machine that answer a query, in no order."""
    for live in read_live(workspace, asked.wanted):
        joined = join_words(live.text)
        found = rank_text(query, joined, Counter(map(stem, joined.split())), weights)
        if not found.score:
            continue
        match = SearchMatch(
            kind=live.kind,
            name=live.name,
            path=live.path,
            at=live.at or workspace.now(),
            agent=live.agent,
            is_retracted=False,
            snippet=make_snippet(live.text, query, asked.size),
            command=live.command,
            score=found.score,
            rank=found.rank,
            missing=found.missing,
            share=found.share,
        )
        if _takes(asked.wanted, match):
            yield match


def _takes(wanted: SearchFilter, match: SearchMatch) -> bool:
    return (wanted.since is None or match.at >= wanted.since) and (
        not wanted.agent or match.agent == wanted.agent or match.agent.startswith(f"{wanted.agent}-")
    )
