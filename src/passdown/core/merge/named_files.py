"""Which files the words of a fact name (C132).

1. A word that looks like a path is known by its last two parts, or by its only one.
2. A fact names a file if one of its words has the last two parts of the file's path, or is the whole path.
3. A name without a folder counts if only one file has that name, as far as anybody knows.
4. A plain word in lower case is no name: `run` in a sentence is not the file `scripts/run`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from passdown.core.lazy_regex import pattern

_MOST: Final = 20
"""How many names are looked for in one text."""
_SHORTEST: Final = 5
"""How long a word is at least that is a name only because it has a capital: `Makefile`."""
_WORD: Final = pattern(r"[^\s`'\"(),;:!?<>\[\]{}|=*→]+")


class FileName(NamedTuple):
    """How words can name a file."""

    path: str
    pair: str
    """The last two parts of its path; the path of a file at the root."""
    name: str

    @property
    def has_folder(self) -> bool:
        """Whether it lies in a folder."""
        return self.pair != self.name


def read_name(path: str) -> FileName:
    """Return how a file can be named."""
    parts = path.replace("\\", "/").strip("/").removeprefix("./").split("/")
    return FileName("/".join(parts), "/".join(parts[-2:]), parts[-1])


def list_named(text: str) -> list[str]:
    """Return what the words of a text name: the last two parts of each word that looks like a path (1)."""
    return list(dict.fromkeys(_find_names(text)))[:_MOST]


def _find_names(text: str) -> Iterator[str]:
    for word in _WORD.findall(text.replace("\\", "/")):
        found = word.rstrip("./").removeprefix("./").lstrip("/")
        if _looks_like_name(found):
            yield "/".join(found.split("/")[-2:])


def _looks_like_name(word: str) -> bool:
    """Return whether a word may be the name of a file (4)."""
    if word.isalpha():
        return len(word) >= _SHORTEST and word != word.lower()
    return any(character.isalpha() for character in word)


def last_word(name: str) -> str:
    """Return what `list_named` finds of a name that may contain spaces or quotes."""
    return next(reversed(list_named(name)), name)


class NamedFiles(NamedTuple):
    """How words name one of some files."""

    wanted: frozenset[str] = frozenset()
    spaced: frozenset[str] = frozenset()
    """Those of them that are not one word."""

    def are_in(self, text: str) -> bool:
        """Return whether a text names one of them (2)."""
        if not self.wanted.isdisjoint(list_named(text)):
            return True
        return any(name in text for name in self.spaced)


def name_files(paths: Iterable[str], is_unique: Callable[[str], bool]) -> NamedFiles:
    """Return how words name one of some files; `is_unique` says whether one known file has a name (3)."""
    files = [read_name(path) for path in paths]
    counts = Counter(one.name for one in files)
    names = {one.name for one in files if one.has_folder}
    unique = {name for name in names if counts[name] == 1 and is_unique(name)}
    wanted = frozenset({one.pair for one in files} | unique)
    return NamedFiles(wanted, frozenset(name for name in wanted if _WORD.fullmatch(name) is None))
