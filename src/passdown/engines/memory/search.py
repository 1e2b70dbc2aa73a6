"""A `SearchIndex` that lives as long as the process: it reads every document, and scans all of them.

It is for a single use, if nothing can be written, or if SQLite has no full-text search.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from passdown.core.project.ranking import RANKED, Candidate, MatchRank, Ranked, rank_documents
from passdown.core.project.search_query import (
    DocumentKind,
    SearchQuery,
    SearchTerm,
    count_term,
    count_words,
    join_words,
    score,
)
from passdown.core.project.stems import stem
from passdown.core.times import to_micros
from passdown.ports.event_log import FileMark
from passdown.ports.search import Hit, Hits, SearchChange, SearchDocument, SearchFile, SearchFilter

_KEY: Final = 32
_ID: Final = 16


class _Held(NamedTuple):
    """A document as it was first found, with its words."""

    number: int
    document: SearchDocument
    joined: str


class MemorySearch:
    """Stores the words of every document, and scans all of them for a query."""

    def __init__(self) -> None:
        self._folders: dict[tuple[DocumentKind, str], int] = {}
        self._files: dict[tuple[DocumentKind, str], dict[str, SearchFile]] = {}
        self._held: dict[tuple[DocumentKind, str], _Held] = {}
        self._forms: dict[str, set[str]] = {}
        self._added = 0

    @contextmanager
    def changing(self) -> Generator[None, None, None]:
        """Keep all changes made inside, or none; no other process sees this index."""
        before = self._folders.copy(), {place: files.copy() for place, files in self._files.items()}
        held, is_kept = self._held.copy(), False
        try:
            yield
            is_kept = True
        finally:
            if not is_kept:
                self._folders, self._files = before
                self._held = held

    def folders(self, kind: DocumentKind) -> Mapping[str, int]:
        return {folder: mark for (one, folder), mark in self._folders.items() if one is kind}

    def files(self, kind: DocumentKind, folder: str) -> Mapping[str, FileMark]:
        return {name: found.mark for name, found in self._files.get((kind, folder), {}).items()}

    def apply(self, change: SearchChange) -> None:
        kind = change.kind
        for found in change.found:
            for document in found.documents:
                if (kind, document.key) not in self._held:
                    self._added += 1
                    kept, joined = document._replace(text=""), join_words(document.text)
                    self._held[kind, document.key] = _Held(self._added, kept, joined)
                    self._add_forms(joined)
            texts = tuple(document._replace(text="") for document in found.documents)
            self._files.setdefault((kind, found.folder), {})[found.name] = found._replace(documents=texts)
        for folder, name in change.gone:
            self._files.get((kind, folder), {}).pop(name, None)
        for folder, mark in change.folders.items():
            if mark is None:
                self._folders.pop((kind, folder), None)
                self._files.pop((kind, folder), None)
            else:
                self._folders[kind, folder] = mark
        there = {
            (one, document.key)
            for (one, _), files in self._files.items()
            for found in files.values()
            for document in found.documents
        }
        self._held = {place: held for place, held in self._held.items() if place in there}

    def _add_forms(self, joined: str) -> None:
        """Note the stems of words that are not their own stems."""
        for word in set(joined.split()):
            if (its_stem := stem(word)) != word:
                self._forms.setdefault(its_stem, set()).add(word)

    def close(self) -> None:
        """Do nothing: nothing was opened."""

    def find(self, query: SearchQuery, wanted: SearchFilter, limit: int) -> Hits:
        if not query.terms:
            return Hits((), 0)
        places = {held.number: place for place, held in self._held.items()}
        ranking = rank_documents(query, _HeldWords(self._held, self._forms, wanted))
        return Hits(
            best=tuple(self._show(*places[one.document], one) for one in ranking.found[:limit]),
            total=len(ranking.found),
            weak=sum(one.rank is MatchRank.WEAK for one in ranking.found),
            is_least=ranking.is_least,
            weights=ranking.weights,
        )

    def _show(self, kind: DocumentKind, key: str, ranked: Ranked) -> Hit:
        document = self._held[kind, key].document
        folder, file = min(
            (folder, name)
            for (one, folder), files in self._files.items()
            if one is kind
            for name, found in files.items()
            if any(document.key == key for document in found.documents)
        )
        names = {document.name, key[:_ID]}
        is_retracted = any(names.intersection(held.document.retracted) for held in self._held.values())
        return Hit(
            kind=kind,
            key=key[:_KEY],
            name=document.name,
            at=document.at,
            agent=document.agent,
            is_retracted=is_retracted,
            folder=folder,
            file=file,
            rank=ranked.rank,
            score=ranked.score,
            missing=ranked.missing,
            share=ranked.share,
        )


class _HeldWords:
    """The words that are held, for ranking."""

    def __init__(
        self,
        held: Mapping[tuple[DocumentKind, str], _Held],
        forms: Mapping[str, set[str]],
        wanted: SearchFilter,
    ) -> None:
        self._documents = {one.number: one for one in sorted(held.values(), key=lambda one: -one.number)}
        self._taken = {one.number for (kind, _), one in held.items() if _takes(wanted, kind, one.document)}
        self._forms = forms

    def size(self) -> tuple[int, int]:
        return len(self._documents), sum(count_words(one.joined) for one in self._documents.values())

    def forms(self, stem: str) -> Sequence[str]:
        return sorted(self._forms.get(stem, ()))

    def holding_all(self, terms: Sequence[SearchTerm]) -> Mapping[int, float]:
        counted = {
            number: counts
            for number, held in self._documents.items()
            if all(counts := [count_term(term, held.joined) for term in terms])
        }
        taken = [number for number in counted if number in self._taken][:RANKED]
        holding = [len(self._holding([term])) for term in terms] if taken else []
        documents, words = self.size()
        return {
            number: score(
                counted[number],
                holding,
                documents,
                count_words(self._documents[number].joined) / words * documents,
            )
            for number in taken
        }

    def _holding(self, group: Sequence[SearchTerm]) -> Sequence[int]:
        return [
            number
            for number, held in self._documents.items()
            if any(count_term(term, held.joined) for term in group)
        ]

    def holding_groups(self, groups: Sequence[Sequence[SearchTerm]]) -> Iterable[int]:
        holding = [set(self._holding(group)) for group in groups]
        return [number for number in self._documents if all(number in one for one in holding)][:RANKED]

    def occurrences(self, terms: Sequence[SearchTerm]) -> Mapping[int, int] | None:
        holding = self._holding(terms)
        if len(holding) > RANKED:
            return None
        if any(term.is_prefix or len(term.words) > 1 for term in terms):
            return dict.fromkeys(holding, 1)
        return {
            number: sum(count_term(term, self._documents[number].joined) for term in terms)
            for number in holding
        }

    def candidates(self, documents: Iterable[int]) -> Mapping[int, Candidate]:
        held = ((number, self._documents[number]) for number in documents if number in self._taken)
        return {
            number: Candidate(count_words(one.joined), to_micros(one.document.at)) for number, one in held
        }


def _takes(wanted: SearchFilter, kind: DocumentKind, document: SearchDocument) -> bool:
    return (
        (not wanted.kinds or kind in wanted.kinds)
        and (wanted.since is None or document.at >= wanted.since)
        and (
            not wanted.agent
            or document.agent == wanted.agent
            or document.agent.startswith(f"{wanted.agent}-")
        )
    )
