"""A `SearchIndex` that lives as long as the process: it reads every document, and scans all of them.

It is for a single use, if nothing can be written, or if SQLite has no full-text search.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from passdown.core.project.search_query import (
    DocumentKind,
    SearchTerm,
    count_term,
    count_words,
    join_words,
    score,
)
from passdown.ports.event_log import FileMark
from passdown.ports.search import RANKED, Hit, Hits, SearchChange, SearchDocument, SearchFile, SearchFilter

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

    def close(self) -> None:
        """Do nothing: nothing was opened."""

    def find(self, terms: Sequence[SearchTerm], wanted: SearchFilter, limit: int) -> Hits:
        counted = {
            place: counts
            for place, held in self._held.items()
            if all(counts := [count_term(term, held.joined) for term in terms]) and terms
        }
        found = [place for place in counted if _takes(wanted, place[0], self._held[place].document)]
        found.sort(key=lambda place: self._held[place].number, reverse=True)
        ranked = self._rank(found[:RANKED], terms, counted)
        return Hits(tuple(self._show(*place) for place in ranked[:limit]), len(ranked))

    def _rank(
        self,
        found: Sequence[tuple[DocumentKind, str]],
        terms: Sequence[SearchTerm],
        counted: Mapping[tuple[DocumentKind, str], list[int]],
    ) -> list[tuple[DocumentKind, str]]:
        joined = [held.joined for held in self._held.values()]
        holding = [sum(count_term(term, one) > 0 for one in joined) for term in terms] if found else []
        average = sum(map(count_words, joined)) / max(len(joined), 1)

        def order(place: tuple[DocumentKind, str]) -> tuple[float, float, int]:
            held = self._held[place]
            value = score(counted[place], holding, len(joined), count_words(held.joined) / average)
            return value, held.document.at.timestamp(), held.number

        return sorted(found, key=order, reverse=True)

    def _show(self, kind: DocumentKind, key: str) -> Hit:
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
        return Hit(kind, key[:_KEY], document.name, document.at, document.agent, is_retracted, folder, file)


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
