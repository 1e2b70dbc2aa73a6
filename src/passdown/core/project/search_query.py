"""Searching: words, queries, snippets and ranking.

Every engine splits words with this module, so the same query finds a document wherever it is stored.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from passdown.core.documents.frontmatter import read_text, split_entries, split_front_matter
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Malformed
from passdown.core.project.stems import STOP_WORDS, stem
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
# What stands between words of a text that is no identifier.
_BETWEEN: Final = pattern(r"[!-/:-@\[-`{-~\u2010-\u2027]+")
# An underscore, a dot or slash inside, a digit, or a capital behind a small letter.
_IDENTIFIER: Final = pattern(r"\w[./:\\@#=]+\w|_|\d|[a-z][A-Z]")
_AROUND: Final = ".,:;?!()[]{}<>'\"`"
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
    JOURNAL = "journal"
    HISTORY = "history"


LOCAL_KINDS: Final = frozenset({DocumentKind.LEDGER, DocumentKind.JOURNAL, DocumentKind.HISTORY})
"""The kinds of documents that stay on this machine."""


class SearchTerm(NamedTuple):
    """Consecutive words; if it is a prefix, the last word only has to start like this."""

    words: tuple[str, ...]
    is_prefix: bool = False


class LooseTerm(NamedTuple):
    """A word of a question that a document may hold in another form, or a term that has no other form."""

    term: SearchTerm
    stem: str = ""

    @property
    def shown(self) -> str:
        """The term as results name it."""
        return " ".join(self.term.words) + "*" * self.term.is_prefix


class SearchQuery(NamedTuple):
    """What is searched for: exactly, and as a question."""

    terms: tuple[SearchTerm, ...]
    """What a document holds that matches exactly."""
    loose: tuple[LooseTerm, ...] = ()
    """Its words, without stop words, of which a document may hold only some."""
    required: tuple[SearchTerm, ...] = ()
    """What was quoted: a document without it is not found."""


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
    return spread_words(split_words(text))


def spread_words(words: Sequence[str]) -> str:
    """Return words as one text, each with a space before and after."""
    return f" {'  '.join(words)} " if words else ""


def count_words(joined: str) -> int:
    """Count joined words."""
    return joined.count(" ") // 2


def parse_query(text: str) -> SearchQuery:
    """Parse a query.

    1. A word is a term; one with other characters inside, like `a_b.py`, is the words between them, in a row.
    2. Text between double quotes is also one term, which every result holds.
    3. A star at the end makes the last word a prefix.
    4. Other words may have other forms, and results may lack some. Stop words count only if there are no
       others.

    Nothing else has a special meaning. Each term is returned once.
    """
    terms: dict[SearchTerm, None] = {}
    loose: dict[LooseTerm, None] = {}
    required: dict[SearchTerm, None] = {}
    for quoted, star, plain in _PIECE.findall(text):
        words = tuple(split_words(plain or quoted))
        if not words:
            continue
        term = SearchTerm(words, bool(star) or plain.endswith("*"))
        terms[term] = None
        if not plain:
            required[term] = None
        is_fixed = not plain or term.is_prefix or _is_identifier(plain)
        loose.update(dict.fromkeys([LooseTerm(term)] if is_fixed else _loosen(plain)))
    said = [one for one in loose if not (one.stem and one.stem in STOP_WORDS)]
    return SearchQuery(tuple(terms), tuple(_drop_repeated(said or loose)), tuple(required))


def _is_identifier(text: str) -> bool:
    """Return whether a text is a name in code, a path or a number, which has no other form."""
    return _IDENTIFIER.search(text.strip(_AROUND)) is not None


def _loosen(text: str) -> Iterator[LooseTerm]:
    """Yield the words in a text; those of a script without spaces are one term."""
    for part in _BETWEEN.split(text):
        words = tuple(split_words(part))
        if words:
            yield LooseTerm(SearchTerm(words), stem(words[0]) if len(words) == 1 else "")


def _drop_repeated(terms: Iterable[LooseTerm]) -> Iterator[LooseTerm]:
    """Yield terms, each stem once."""
    seen: set[str] = set()
    for term in terms:
        if term.stem not in seen:
            yield term
        seen.update([term.stem] if term.stem else [])


def render_match(terms: Sequence[SearchTerm]) -> str:
    """Write terms as an SQLite full-text query; words contain no character with a special meaning there."""
    return " AND ".join(map(_quote, terms))


def render_groups(groups: Sequence[Sequence[SearchTerm]]) -> str:
    """Write groups of terms as such a query: a document holds a term of each."""
    return " AND ".join(f"({' OR '.join(map(_quote, group))})" for group in groups)


def _quote(term: SearchTerm) -> str:
    return f'"{" ".join(term.words)}"{"*" if term.is_prefix else ""}'


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


def make_snippet(text: str, query: SearchQuery, size: int) -> Snippet:
    """Return the first line with the most words of the query, cut around the first such word.

    Of two lines with as many, it is the one with more of them exactly. If no word is found, because only the
    file name matched, it is the first line that is not empty.
    """
    folded = fold_text(text)
    wanted = _wanted(query)
    best = next((number for number, line in enumerate(folded.split("\n")) if line.strip()), 0)
    most = (0, 0)
    found: dict[int, tuple[set[int], set[str]]] = {}
    line, seen = 0, 0
    for match in _pattern(wanted, folded).finditer(folded):
        number = next((at for at, one in enumerate(wanted) if one.takes(match[0])), None)
        if number is None:
            continue
        line += folded.count("\n", seen, match.start())
        seen = match.start()
        words, exact = found.setdefault(line, (set(), set()))
        words.add(number)
        exact.update({match[0]} & {wanted[number].word})
        if (len(words), len(exact)) > most:
            best, most = line, (len(words), len(exact))
    shown = text.split("\n")[best]
    spans = list(_spans(shown, wanted))
    start = spans[0][0] if spans else 0
    matched = tuple(dict.fromkeys(shown[begin:end] for begin, end in spans))
    return Snippet(best + 1, _cut_around(shown, start, size), matched)


class _Wanted(NamedTuple):
    """A word to show: exactly, by its start, or in any form."""

    word: str
    is_prefix: bool = False
    stem: str = ""

    def takes(self, word: str) -> bool:
        """Return whether a word of a text is this one."""
        if self.stem and stem(word) == self.stem:
            return True
        return word == self.word or (self.is_prefix and word.startswith(self.word))

    def start(self) -> str:
        """Return how all words that it takes begin: English forms differ in their last letters."""
        return (self.stem[:-2] or self.stem[:1]) if self.stem else self.word


def _pattern(wanted: Sequence[_Wanted], folded: str) -> re.Pattern[str]:
    """Return a pattern that finds each word that may be a wanted one."""
    letter = "[a-z0-9]" if folded.isascii() else rf"[^\W_{_SINGLE}]|[{_SIGNS}]"
    before = f"(?<!{letter.replace('|', ')(?<!')})"
    single = {one.word for one in wanted if re.fullmatch(f"[{_SINGLE}]", one.word)}
    starts = {one.start() for one in wanted if one.word not in single}
    spelled = "|".join(sorted(starts, key=lambda one: (-len(one), one)))
    parts = [*sorted(single), *([f"{before}(?:{spelled})(?:{letter})*"] if spelled else [])]
    return re.compile("|".join(parts) or r"(?!)")


def _wanted(query: SearchQuery) -> list[_Wanted]:
    """Return the words to show, each once."""
    wanted: dict[str, _Wanted] = {}
    for term, its_stem in query.loose:
        for word in term.words:
            is_prefix = term.is_prefix and word == term.words[-1]
            known = wanted.get(word)
            is_prefix |= known is not None and known.is_prefix
            wanted[word] = _Wanted(word, is_prefix or len(word) == MAX_WORD, its_stem)
    return list(wanted.values())


def _spans(line: str, wanted: Sequence[_Wanted]) -> Iterator[tuple[int, int]]:
    """Yield the spans of the searched words in a line."""
    for match in _WORD.finditer(line):
        if any(each.takes(one) for one in split_words(match[0]) for each in wanted):
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
