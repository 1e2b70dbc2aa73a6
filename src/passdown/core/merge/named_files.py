"""Find the files that the words of a fact name (C132).

1. A word that looks like a path is reduced to its last two parts, or to its only part.
2. A fact names a file if one of its words has the last two parts of the file's path, or is the whole path.
3. A name without a folder counts if only one known file has that name.
4. A plain lower-case word is not a name: `run` in a sentence is not the file `scripts/run`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from passdown.core.lazy_regex import pattern

_MOST: Final = 20
"""How many names are searched for in one text."""
_SHORTEST: Final = 5
"""The least length of a word that is a name only because of a capital letter, such as `Makefile`."""
_WORD: Final = pattern(r"[^\s`'\"(),;:!?<>\[\]{}|=*→]+")


class FileName(NamedTuple):
    """The ways in which words can name a file."""

    path: str
    pair: str
    """The last two parts of its path; the whole path of a file at the root."""
    name: str

    @property
    def has_folder(self) -> bool:
        """Whether it is in a folder."""
        return self.pair != self.name


def read_name(path: str) -> FileName:
    """Return the ways in which a file can be named."""
    parts = path.replace("\\", "/").strip("/").removeprefix("./").split("/")
    return FileName("/".join(parts), "/".join(parts[-2:]), parts[-1])


def list_named(text: str) -> list[str]:
    """Return the names in a text: the last two parts of each word that looks like a path (1)."""
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
    """Return the part that `list_named` finds of a name, which may contain spaces or quotes."""
    return next(reversed(list_named(name)), name)


class NamedFiles(NamedTuple):
    """The names by which a text can mention one of some files."""

    wanted: frozenset[str] = frozenset()
    spaced: frozenset[str] = frozenset()
    """Those that are more than one word."""

    def are_in(self, text: str) -> bool:
        """Return whether a text names one of them (2)."""
        if not self.wanted.isdisjoint(list_named(text)):
            return True
        return any(name in text for name in self.spaced)


def name_files(paths: Iterable[str], is_unique: Callable[[str], bool]) -> NamedFiles:
    """Return the names of some files; `is_unique` tells whether only one known file has a name (3)."""
    files = [read_name(path) for path in paths]
    counts = Counter(one.name for one in files)
    names = {one.name for one in files if one.has_folder}
    unique = {name for name in names if counts[name] == 1 and is_unique(name)}
    wanted = frozenset({one.pair for one in files} | unique)
    return NamedFiles(wanted, frozenset(name for name in wanted if _WORD.fullmatch(name) is None))
