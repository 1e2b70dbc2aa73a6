"""Find documents by their words: ledgers, archived sessions, events and streams.

What is written once is read once, into an index that is brought up to date when somebody searches; the
ledgers of running sessions change all the time and are read each time.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, NamedTuple

from passdown.core.archives import parse_archive_file_name
from passdown.core.ids import is_id
from passdown.core.rollups import is_rollup, parse_rollup
from passdown.core.searches import (
    MAX_WORDS,
    Kind,
    Snippet,
    Term,
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
from passdown.core.sources import ID_SIZE, parse_source
from passdown.core.streams import parse_stream
from passdown.errors import FormatError, StorageError, UsageError
from passdown.ports.event_log import FileMark
from passdown.ports.search import (
    RANKED,
    Document,
    FoundFile,
    Hit,
    Hits,
    SearchIndex,
    Shelf,
    ShelfChange,
    Wanted,
)
from passdown.records import record
from passdown.services.events import Step
from passdown.services.journals import Project

BATCH: Final = 5_000
BATCH_CHARACTERS: Final = 33_554_432
"""So much is taken in at once; what was taken in is kept when the next batch is cut off."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ANY: Final = Wanted()
_MICROSECOND: Final = 1_000
_ENDING: Final = ".md"


@record
class Library:
    """The documents that can be searched, and the index of their words."""

    index: SearchIndex
    shelves: Mapping[Kind, Shelf]


@record
class Search:
    """What is searched for, and how much of it is to be shown."""

    text: Annotated[str, "The words."]
    wanted: Annotated[Wanted, "Which documents."] = _ANY
    limit: Annotated[int, "How many answers."] = 10
    size: Annotated[int, "How long the line of an answer may be."] = 160


@record
class Match:
    """A document that was found."""

    kind: Annotated[Kind, "What it is."]
    name: Annotated[str, "The event's id, or what the document is called."]
    path: Annotated[str, "The file it lies in, from the root."]
    at: Annotated[datetime, "When it was written."]
    agent: Annotated[str, "Who wrote it: the agent, else the session; empty when that is not known."]
    is_retracted: Annotated[bool, "Whether it was taken back."]
    snippet: Annotated[Snippet, "The line that shows why it was found."]
    command: Annotated[str, "The command that shows all of it."]


@record
class Answer:
    """What was found, the best first: ledgers of running sessions, then the rest."""

    matches: Annotated[tuple[Match, ...], "As many as were asked for."]
    total: Annotated[int, "How many there are."]
    is_least: Annotated[bool, "Whether there may be still more than `total`."]


def search(project: Project, library: Library, asked: Search, step: Step | None = None) -> Answer:
    """Bring the index up to date and find what holds every word.

    1. Ledgers of running sessions come first: nothing is newer.
    2. The others are ordered by how well they answer (BM25), then the newest first.
    3. A document that is gone since it was found is left out.

    Raises a UsageError when there is no word to search for, or too many, and a CacheError when the index
    cannot be used.
    """
    terms = _read_terms(asked.text)
    wanted = asked.wanted._replace(agent=_writable(asked.wanted.agent))
    live = list(_search_ledgers(project, terms, wanted, asked.size))  # 1
    kinds = [kind for kind in library.shelves if not wanted.kinds or kind in wanted.kinds]
    hits = Hits((), 0)
    if kinds:
        for kind in kinds:
            take_in(project, library, kind, step)
        hits = library.index.find(terms, wanted, max(asked.limit - len(live), 0))  # 2
    shown = [_show(project, library, hit, terms, asked.size) for hit in hits.best]
    gone = shown.count(None)  # 3
    matches = [*live[: asked.limit], *(match for match in shown if match is not None)]
    return Answer(matches=tuple(matches), total=len(live) + hits.total - gone, is_least=hits.total >= RANKED)


def _read_terms(text: str) -> tuple[Term, ...]:
    terms = parse_query(text)
    if not terms:
        raise UsageError("there is no word to search for", hint="name a word: letters or digits")
    if sum(len(term.words) for term in terms) > MAX_WORDS:
        hint = f"search for at most {MAX_WORDS}; a few rare words find more than many"
        raise UsageError("there are too many words to search for", hint=hint)
    return terms


def _writable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


# --- what is written once -----------------------------------------------------------------------


class _Look(NamedTuple):
    """What is different from the index: names only, nothing was read."""

    folders: dict[str, int | None]
    gone: list[tuple[str, str]]
    new: list[tuple[str, str, FileMark]]


def take_in(project: Project, library: Library, kind: Kind, step: Step | None = None) -> None:
    """Bring the index up to date with a shelf; when nothing changed, only folders are looked at.

    It is done in batches. Folders count as listed, and files as gone, with the last one: whatever cuts this
    off, the next call goes on where it ended.
    """
    shelf, index = library.shelves[kind], library.index
    known = index.folders(kind)
    there = shelf.folders(known)
    if there == known and all(there.values()):
        return
    look = _look(shelf, index, kind, known, there)
    if not (look.folders or look.gone or look.new):
        return
    reader = _Reader(project, shelf, kind)
    batch: list[FoundFile] = []
    held, size = 0, 0
    for number, (folder, name, mark) in enumerate(look.new, 1):
        batch.append(reader.read(folder, name, mark))
        held += len(batch[-1].documents)
        size += sum(len(document.text) for document in batch[-1].documents)
        if step is not None:
            step(number, len(look.new))
        if held >= BATCH or size >= BATCH_CHARACTERS:
            _apply(index, ShelfChange(kind, {}, (), batch))
            batch, held, size = [], 0, 0
    _apply(index, ShelfChange(kind, look.folders, look.gone, batch))


def _apply(index: SearchIndex, change: ShelfChange) -> None:
    with index.changing():
        index.apply(change)


def _look(
    shelf: Shelf, index: SearchIndex, kind: Kind, known: Mapping[str, int], there: Mapping[str, int]
) -> _Look:
    """List the folders that changed, and compare them with what the index holds."""
    look = _Look({folder: None for folder in known if folder not in there}, [], [])
    for folder, mark in there.items():
        if mark and known.get(folder) == mark:
            continue
        listed, had = shelf.files(folder), index.files(kind, folder)
        look.gone.extend((folder, name) for name in had if name not in listed)
        look.new.extend((folder, name, one) for name, one in sorted(listed.items()) if had.get(name) != one)
        if known.get(folder) != mark:
            look.folders[folder] = mark
    return look


class _Reader:
    """Reads the documents of a shelf; sessions are looked up once."""

    def __init__(self, project: Project, shelf: Shelf, kind: Kind) -> None:
        self._project = project
        self._shelf = shelf
        self._kind = kind
        self._agents: dict[str, str] = {}

    def read(self, folder: str, name: str, mark: FileMark) -> FoundFile:
        """Read a file; what cannot be read now may be next time, and its mark would not tell."""
        data = self._shelf.read(folder, name)
        if data is None:
            return FoundFile(folder, name, FileMark(-1, -1, -1), ())
        if self._kind is Kind.EVENT:
            return FoundFile(folder, name, mark, tuple(_read_events(name, data)))
        text = data.decode("utf-8", "replace")
        at, agent = self._read_stream(text) if self._kind is Kind.STREAM else self._read_record(name, text)
        place = f"{folder}/{name}"
        key = hashlib.sha256(place.encode() + b"\0" + data).hexdigest()
        return FoundFile(
            folder, name, mark, (Document(key, "", at or _instant(mark), _writable(agent), text),)
        )

    def _read_record(self, name: str, text: str) -> tuple[datetime | None, str]:
        head, named = read_head(text), parse_archive_file_name(name)
        if head.session not in self._agents:
            self._agents[head.session] = _agent_of(self._project, head.session)
        return head.at or (named[0] if named else None), self._agents[head.session]

    def _read_stream(self, text: str) -> tuple[datetime | None, str]:
        try:
            stream = parse_stream(text)
        except FormatError:
            return None, ""
        return stream.updated or stream.date, stream.checkpoint.agent if stream.checkpoint else ""


def _read_events(name: str, data: bytes) -> Iterator[Document]:
    """Give the events of a file; what cannot be merged is no event."""
    if is_rollup(name):
        pairs = [(source, member.data) for member, source in parse_rollup(data).members]
    else:
        source = parse_source(data, name)
        pairs = [(source, data)] if source else []
    for source, content in pairs:
        rank = source.rank
        text = content.decode("utf-8", "replace")
        yield Document(rank.hash, rank.id, rank.at, rank.agent, text, source.retracted)


def _instant(mark: FileMark) -> datetime:
    """Give when a file was changed."""
    return _EPOCH + timedelta(microseconds=mark.changed // _MICROSECOND)


def _agent_of(project: Project, session: str) -> str:
    """Name the agent of a session, or the session when its journal is elsewhere."""
    last = project.journals.last(session) if is_id(session) else None
    return last.fact.agent if last else session


def _show(project: Project, library: Library, hit: Hit, terms: Sequence[Term], size: int) -> Match | None:
    text = _read_text(library.shelves[hit.kind], hit)
    if text is None:
        return None
    folder = _folder_of(project, hit.kind)
    path = "/".join(part for part in (folder, hit.folder, hit.file) if part)
    name = hit.name or _name_of(hit)
    return Match(
        kind=hit.kind,
        name=name,
        path=path,
        at=hit.at,
        agent=hit.agent,
        is_retracted=hit.is_retracted,
        snippet=make_snippet(text, terms, size),
        command=_command(hit, name, path),
    )


def _folder_of(project: Project, kind: Kind) -> str:
    paths = project.checkout.settings.paths
    return {Kind.EVENT: paths.events, Kind.ARCHIVE: paths.archive, Kind.STREAM: paths.handoffs}[kind]


def _name_of(hit: Hit) -> str:
    """Call a stream by its folder, and a record by its file."""
    return hit.file.partition("/")[0] if hit.kind is Kind.STREAM else hit.file.removesuffix(_ENDING)


def _command(hit: Hit, name: str, path: str) -> str:
    """Write the command that shows a document; what others named it is never more than a word in it."""
    if hit.kind is Kind.EVENT:
        return f"passdown event show {name if is_shell_safe(name) else hit.key[:ID_SIZE]}"
    return f"passdown handoff show {name if is_shell_safe(name) else shell_word(path)}"


def _read_text(shelf: Shelf, hit: Hit) -> str | None:
    data = shelf.read(hit.folder, hit.file)
    if data is not None and hit.kind is Kind.EVENT and is_rollup(hit.file):
        data = _find_member(data, hit.key)
    return None if data is None else data.decode("utf-8", "replace")


def _find_member(data: bytes, key: str) -> bytes | None:
    """Find one event of a rollup without reading the others."""
    head = data[: data.find(b"\n") + 1]
    at = data.find(key.encode())
    while at >= 0:
        end = data.find(b"\n", at) + 1 or len(data)
        found = parse_rollup(head + data[data.rfind(b"\n", 0, at) + 1 : end]).members
        if found and found[0][1].rank.hash.startswith(key):
            return found[0][0].data
        at = data.find(key.encode(), end)
    return None


# --- what changes all the time ------------------------------------------------------------------


def _search_ledgers(project: Project, terms: Sequence[Term], wanted: Wanted, size: int) -> Iterator[Match]:
    """Read the live ledgers and give those that hold every term, the best first, then the newest."""
    if wanted.kinds and Kind.LEDGER not in wanted.kinds:
        return
    texts = list(_read_ledgers(project))
    joined = [join_words(text) for _, text in texts]
    counts = [[count_term(term, one) for term in terms] for one in joined]
    holding = [sum(count[place] > 0 for count in counts) for place in range(len(terms))]
    average = max(sum(map(count_words, joined)), 1) / max(len(joined), 1)
    ranked = [
        (
            score(count, holding, len(texts), count_words(one) / average),
            _make_match(project, path, text, terms, size),
        )
        for (path, text), one, count in zip(texts, joined, counts, strict=True)
        if all(count)
    ]
    ranked.sort(key=lambda pair: (pair[0], pair[1].at, pair[1].path), reverse=True)
    yield from (match for _, match in ranked if _takes(wanted, match))


def _read_ledgers(project: Project) -> Iterator[tuple[str, str]]:
    """Give the live ledgers of this checkout; one that cannot be read is left out."""
    documents, folder = project.checkout.documents, project.checkout.settings.paths.ledgers
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


def _make_match(project: Project, path: str, text: str, terms: Sequence[Term], size: int) -> Match:
    head = read_head(text)
    return Match(
        kind=Kind.LEDGER,
        name=path,
        path=path,
        at=head.at or project.now(),
        agent=_agent_of(project, head.session),
        is_retracted=False,
        snippet=make_snippet(text, terms, size),
        command=f"cat {shell_word(path)}",
    )


def _takes(wanted: Wanted, match: Match) -> bool:
    return (wanted.since is None or match.at >= wanted.since) and (
        not wanted.agent or match.agent == wanted.agent or match.agent.startswith(f"{wanted.agent}-")
    )
