"""Searching: what a word is, what a query asks for, which line shows the answer, and what comes first.

Every engine takes its words from here, so that a document is found by the same query wherever it is kept.
"""

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from passdown.core.frontmatter import Entry, read_text, split_entries, split_front_matter
from passdown.core.patterns import pattern
from passdown.core.problems import Malformed
from passdown.core.times import parse_instant

MAX_WORD: Final = 64
"""A longer run of letters and digits is words of this length, in a row."""
MAX_WORDS: Final = 64
"""A query of more words than this narrows nothing down."""

# Scripts that are written without spaces are searched by character: a run of them is found as a phrase.
_SINGLE: Final = (
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# Signs of these scripts belong to their words, though they are not letters.
_SIGNS: Final = "\u0900-\u0963\u0966-\u109f\u1780-\u17d3"
_WORD: Final = pattern(rf"[{_SINGLE}]|(?:[^\W_{_SINGLE}]|[{_SIGNS}]){{1,{MAX_WORD}}}")
_ASCII_WORD: Final = pattern(rf"[a-z0-9]{{1,{MAX_WORD}}}")
# Accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic: a search without them finds them too.
_ACCENTS: Final = pattern("[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]")
_PIECE: Final = pattern(r'"([^"]*)"(\*?)|(\S+)')
_SAFE: Final = pattern(r"[A-Za-z0-9_./:@%+][A-Za-z0-9_./:@%+-]*")
_MORE: Final = "…"
_LEAD: Final = 3
# As SQLite ranks.
_SATURATION: Final = 1.2
_LENGTH: Final = 0.75
_LEAST_WEIGHT: Final = 1e-6


class Kind(StrEnum):
    """What a document is."""

    LEDGER = "ledger"
    ARCHIVE = "archive"
    EVENT = "event"
    STREAM = "stream"


class Term(NamedTuple):
    """Words that must stand in a row; of the last one only the start, if it is a prefix."""

    words: tuple[str, ...]
    is_prefix: bool = False


class Snippet(NamedTuple):
    """The line that shows best why a document was found: its number from 1, and its text, cut."""

    line: int
    text: str
    words: tuple[str, ...]


def fold(text: str) -> str:
    """Give what differs neither in case nor in accents; lines stay lines."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFC", _ACCENTS.sub("", plain))


def split_words(text: str) -> list[str]:
    """Give the words of a text, folded: letters and digits, nothing else."""
    folded = fold(text)
    return (_ASCII_WORD if folded.isascii() else _WORD).findall(folded)


def join_words(text: str) -> str:
    """Give the words of a text, each with a space before and behind."""
    words = split_words(text)
    return f" {'  '.join(words)} " if words else ""


def count_words(joined: str) -> int:
    """Count joined words."""
    return joined.count(" ") // 2


def parse_query(text: str) -> tuple[Term, ...]:
    """Read what is searched for: every term must be in a document, in any order.

    1. A word is a term; one with signs in it, like `a_b.py`, is the words between them, in a row.
    2. What stands between double quotes is one term, too.
    3. A star at the end makes the last word a prefix.

    Nothing else means anything: no text can be more than words. Each term is given once.
    """
    terms: dict[Term, None] = {}
    for quoted, star, plain in _PIECE.findall(text):
        words = tuple(split_words(plain or quoted))
        if words:
            terms[Term(words, bool(star) or plain.endswith("*"))] = None
    return tuple(terms)


def render_match(terms: Sequence[Term]) -> str:
    """Write terms as a full-text query of SQLite; words hold no sign that could mean something there."""
    return " AND ".join(f'"{" ".join(term.words)}"{"*" if term.is_prefix else ""}' for term in terms)


def count_term(term: Term, joined: str) -> int:
    """Count how often a term stands in joined words."""
    needle = "".join(f" {word} " for word in term.words)
    return joined.count(needle[:-1] if term.is_prefix else needle)


def score(counts: Sequence[int], holding: Sequence[int], total: int, length: float) -> float:
    """Say how well a document answers (BM25); more is better.

    `counts` are how often it holds each term, `holding` how many of all documents hold it, and `length` is
    its length as a part of the average.
    """
    result = 0.0
    for count, documents in zip(counts, holding, strict=True):
        weight = max(math.log((total - documents + 0.5) / (documents + 0.5)), _LEAST_WEIGHT)
        spread = count + _SATURATION * (1 - _LENGTH + _LENGTH * length)
        result += weight * count * (_SATURATION + 1) / spread
    return result


def make_snippet(text: str, terms: Sequence[Term], size: int) -> Snippet:
    """Find the line with the most of the words, the first of them; cut it around the first word.

    Without any of them, as when only the file's name was meant, it is the first line that is not empty.
    """
    folded = fold(text)
    best, most = _first_line(folded), 0
    found: dict[int, set[int]] = {}
    line, seen = 0, 0
    for match in _pattern(terms, folded).finditer(folded):
        line += folded.count("\n", seen, match.start())
        seen = match.start()
        words = found.setdefault(line, set())
        words.add(match.lastindex or 0)
        if len(words) > most:
            best, most = line, len(words)
    return _cut_line(text.split("\n")[best], best + 1, terms, size)


def _first_line(text: str) -> int:
    return next((number for number, line in enumerate(text.split("\n")) if line.strip()), 0)


def _pattern(terms: Sequence[Term], folded: str) -> re.Pattern[str]:
    """Make a pattern that finds each word of the terms, the terms that are longest first."""
    letter = "[a-z0-9]" if folded.isascii() else rf"[^\W_{_SINGLE}]|[{_SIGNS}]"
    parts = [f"({_spell(word, letter, is_prefix=is_prefix)})" for word, is_prefix in _wanted(terms)]
    return re.compile("|".join(parts) or r"(?!)")


def _spell(word: str, letter: str, *, is_prefix: bool) -> str:
    if _is_single(word):
        return word
    is_open = is_prefix or len(word) == MAX_WORD
    behind = "" if is_open else f"(?!{letter})"
    return f"(?<!{letter.replace('|', ')(?<!')}){word}{behind}"


def _is_single(word: str) -> bool:
    return re.fullmatch(f"[{_SINGLE}]", word) is not None


def _wanted(terms: Sequence[Term]) -> Iterator[tuple[str, bool]]:
    wanted: dict[str, bool] = {}
    for term in terms:
        for word in term.words:
            wanted[word] = wanted.get(word, False)
        wanted[term.words[-1]] |= term.is_prefix
    yield from sorted(wanted.items(), key=lambda one: -len(one[0]))


def _cut_line(line: str, number: int, terms: Sequence[Term], size: int) -> Snippet:
    spans = list(_spans(line, terms))
    start = spans[0][0] if spans else 0
    words = tuple(dict.fromkeys(line[begin:end] for begin, end in spans))
    return Snippet(number, _cut_around(line, start, size), words)


def _spans(line: str, terms: Sequence[Term]) -> Iterator[tuple[int, int]]:
    """Find the words of a line that were searched for, as they stand there."""
    wanted = list(_wanted(terms))
    for match in _WORD.finditer(line):
        words = split_words(match[0])
        if any(
            one == word or (is_prefix and one.startswith(word)) for one in words for word, is_prefix in wanted
        ):
            yield match.span()


def _cut_around(line: str, at: int, size: int) -> str:
    """Cut a line to a size so that what stands at a place stays, with a little before it."""
    text = line.strip()
    at -= len(line) - len(line.lstrip())
    if len(text) <= size:
        return text
    start = max(min(at - size // _LEAD, len(text) - size), 0)
    begun = f"{_MORE}{text[start + 1 :]}" if start else text
    return begun if len(begun) <= size else f"{begun[: size - 1].rstrip()}{_MORE}"


class Head(NamedTuple):
    """What the front matter of a ledger or record says of itself."""

    at: datetime | None
    session: str


def read_head(text: str) -> Head:
    """Read when a ledger or record was written, and by which session; what cannot be read is left out."""
    entries, _ = split_entries(split_front_matter(text).matter)
    values: dict[str, str] = {}
    for entry in entries:
        if entry.key in {"updated", "date", "session_id"}:
            values[entry.key] = _read_value(entry)
    at = parse_instant(values.get("updated") or values.get("date", ""))
    return Head(at, values.get("session_id", ""))


def _read_value(entry: Entry) -> str:
    try:
        return read_text(entry) or ""
    except Malformed:
        return ""


def shell_word(text: str) -> str:
    """Write a text so that a shell takes it for one word and nothing else."""
    if _SAFE.fullmatch(text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"


def is_shell_safe(text: str) -> bool:
    """Say whether a text is one word for a shell as it stands, and no option."""
    return _SAFE.fullmatch(text) is not None
