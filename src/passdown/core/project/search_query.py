"""Searching: words, queries, snippets and ranking.

Every engine splits words with this module, so the same query finds a document wherever it is stored.
"""

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from passdown.core.documents.frontmatter import read_text, split_entries, split_front_matter
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Malformed
from passdown.core.times import parse_instant

MAX_WORD: Final = 64
"""A longer run of letters and digits is split into consecutive words of this length."""
MAX_WORDS: Final = 64
"""A query may have at most this many words; more would not narrow it down."""

# Scripts written without spaces are searched by character: a run of them is found as a phrase.
_SINGLE: Final = (
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# Marks of these scripts are part of words, although they are not letters.
_SIGNS: Final = "\u0900-\u0963\u0966-\u109f\u1780-\u17d3"
_WORD: Final = pattern(rf"[{_SINGLE}]|(?:[^\W_{_SINGLE}]|[{_SIGNS}]){{1,{MAX_WORD}}}")
_ASCII_WORD: Final = pattern(rf"[a-z0-9]{{1,{MAX_WORD}}}")
# Accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic: a search without them also finds them.
_ACCENTS: Final = pattern("[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]")
_PIECE: Final = pattern(r'"([^"]*)"(\*?)|(\S+)')
_SAFE: Final = pattern(r"[A-Za-z0-9_./:@%+][A-Za-z0-9_./:@%+-]*")
_MORE: Final = "…"
_LEAD: Final = 3
# The same values as in SQLite.
_SATURATION: Final = 1.2
_LENGTH: Final = 0.75
_LEAST_WEIGHT: Final = 1e-6


class DocumentKind(StrEnum):
    """The kind of a document."""

    LEDGER = "ledger"
    ARCHIVE = "archive"
    EVENT = "event"
    STREAM = "stream"
    LOOP = "loop"
    HISTORY = "history"

    @property
    def is_local(self) -> bool:
        """Whether documents of the kind never leave this machine (C134)."""
        return self is DocumentKind.HISTORY


class SearchTerm(NamedTuple):
    """Consecutive words; if it is a prefix, the last word only has to start like this."""

    words: tuple[str, ...]
    is_prefix: bool = False


class Snippet(NamedTuple):
    """The line that best shows why a document was found: its number, from 1, and its shortened text."""

    line: int
    text: str
    words: tuple[str, ...]


def fold_text(text: str) -> str:
    """Return a text without differences of case and accents; lines stay lines."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFC", _ACCENTS.sub("", plain))


def split_words(text: str) -> list[str]:
    """Return the words of a text, folded: only letters and digits."""
    folded = fold_text(text)
    return (_ASCII_WORD if folded.isascii() else _WORD).findall(folded)


def join_words(text: str) -> str:
    """Return the words of a text, each with a space before and after."""
    words = split_words(text)
    return f" {'  '.join(words)} " if words else ""


def count_words(joined: str) -> int:
    """Count joined words."""
    return joined.count(" ") // 2


def parse_query(text: str) -> tuple[SearchTerm, ...]:
    """Parse a query: every term must be in a document, in any order.

    1. A word is a term; one with other characters inside, like `a_b.py`, is the words between them, in a row.
    2. Text between double quotes is also one term.
    3. A star at the end makes the last word a prefix.

    Nothing else has a special meaning. Each term is returned once.
    """
    terms: dict[SearchTerm, None] = {}
    for quoted, star, plain in _PIECE.findall(text):
        words = tuple(split_words(plain or quoted))
        if words:
            terms[SearchTerm(words, bool(star) or plain.endswith("*"))] = None
    return tuple(terms)


def render_match(terms: Sequence[SearchTerm]) -> str:
    """Write terms as an SQLite full-text query; words contain no character with a special meaning there."""
    return " AND ".join(f'"{" ".join(term.words)}"{"*" if term.is_prefix else ""}' for term in terms)


def count_term(term: SearchTerm, joined: str) -> int:
    """Count how often a term occurs in joined words."""
    needle = "".join(f" {word} " for word in term.words)
    return joined.count(needle[:-1] if term.is_prefix else needle)


def score(counts: Sequence[int], holding: Sequence[int], total: int, length: float) -> float:
    """Return how well a document matches (BM25); higher is better.

    `counts` is how often it contains each term, `holding` how many of all documents contain that term, and
    `length` its length relative to the average.
    """
    result = 0.0
    for count, documents in zip(counts, holding, strict=True):
        weight = max(math.log((total - documents + 0.5) / (documents + 0.5)), _LEAST_WEIGHT)
        spread = count + _SATURATION * (1 - _LENGTH + _LENGTH * length)
        result += weight * count * (_SATURATION + 1) / spread
    return result


def make_snippet(text: str, terms: Sequence[SearchTerm], size: int) -> Snippet:
    """Return the first line with the most words of the query, cut around the first such word.

    If no word is found, because only the file name matched, it is the first line that is not empty.
    """
    folded = fold_text(text)
    best = next((number for number, line in enumerate(folded.split("\n")) if line.strip()), 0)
    most = 0
    found: dict[int, set[int]] = {}
    line, seen = 0, 0
    for match in _pattern(terms, folded).finditer(folded):
        line += folded.count("\n", seen, match.start())
        seen = match.start()
        words = found.setdefault(line, set())
        words.add(match.lastindex or 0)
        if len(words) > most:
            best, most = line, len(words)
    shown = text.split("\n")[best]
    spans = list(_spans(shown, terms))
    start = spans[0][0] if spans else 0
    matched = tuple(dict.fromkeys(shown[begin:end] for begin, end in spans))
    return Snippet(best + 1, _cut_around(shown, start, size), matched)


def _pattern(terms: Sequence[SearchTerm], folded: str) -> re.Pattern[str]:
    """Return a pattern that finds each word of the terms, longest words first."""
    letter = "[a-z0-9]" if folded.isascii() else rf"[^\W_{_SINGLE}]|[{_SIGNS}]"
    parts = [f"({_spell(word, letter, is_prefix=is_prefix)})" for word, is_prefix in _wanted(terms)]
    return re.compile("|".join(parts) or r"(?!)")


def _spell(word: str, letter: str, *, is_prefix: bool) -> str:
    if re.fullmatch(f"[{_SINGLE}]", word):
        return word
    is_open = is_prefix or len(word) == MAX_WORD
    behind = "" if is_open else f"(?!{letter})"
    return f"(?<!{letter.replace('|', ')(?<!')}){word}{behind}"


def _wanted(terms: Sequence[SearchTerm]) -> Iterator[tuple[str, bool]]:
    wanted: dict[str, bool] = {}
    for term in terms:
        for word in term.words:
            wanted[word] = wanted.get(word, False)
        wanted[term.words[-1]] |= term.is_prefix
    yield from sorted(wanted.items(), key=lambda one: -len(one[0]))


def _spans(line: str, terms: Sequence[SearchTerm]) -> Iterator[tuple[int, int]]:
    """Yield the spans of the searched words in a line."""
    wanted = list(_wanted(terms))
    for match in _WORD.finditer(line):
        words = split_words(match[0])
        if any(
            one == word or (is_prefix and one.startswith(word)) for one in words for word, is_prefix in wanted
        ):
            yield match.span()


def _cut_around(line: str, at: int, size: int) -> str:
    """Cut a line to a size, keeping the text at an offset and a little before it."""
    text = line.strip()
    at -= len(line) - len(line.lstrip())
    if len(text) <= size:
        return text
    start = max(min(at - size // _LEAD, len(text) - size), 0)
    begun = f"{_MORE}{text[start + 1 :]}" if start else text
    return begun if len(begun) <= size else f"{begun[: size - 1].rstrip()}{_MORE}"


class DocumentHead(NamedTuple):
    """The time and session in the front matter of a ledger or archive."""

    at: datetime | None
    session: str


def read_head(text: str) -> DocumentHead:
    """Read when a ledger or archive was written and by which session; unreadable values become empty."""
    entries, _ = split_entries(split_front_matter(text).matter)
    values: dict[str, str] = {}
    for entry in entries:
        if entry.key in {"updated", "date", "session_id"}:
            try:
                values[entry.key] = read_text(entry) or ""
            except Malformed:
                values[entry.key] = ""
    at = parse_instant(values.get("updated") or values.get("date", ""))
    return DocumentHead(at, values.get("session_id", ""))


def shell_word(text: str) -> str:
    """Quote a text so that a shell reads it as exactly one word."""
    return text if is_shell_safe(text) else "'" + text.replace("'", "'\"'\"'") + "'"


def is_shell_safe(text: str) -> bool:
    """Return whether a text needs no quotes to be one word for a shell, and is not an option."""
    return _SAFE.fullmatch(text) is not None
