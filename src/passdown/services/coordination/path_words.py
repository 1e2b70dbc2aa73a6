"""Resolve the file names that a user types (C145)."""

from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

from passdown.core.coordination.path_words import (
    Coverage,
    check_word,
    count_covered,
    expand_braces,
    find_common_start,
    find_held,
    find_relative,
    has_meaning,
    make_pattern,
)
from passdown.core.safe_text import one_line
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.workspace.workspaces import Workspace


class PathWords(NamedTuple):
    """The file names that a user typed."""

    words: Sequence[str]
    folder: str
    """The folder in which they were typed; absolute."""
    is_literal: bool = False
    """Whether each is taken literally as the name of a file."""


@record
class UnderstoodWord:
    """A typed word, and its meaning."""

    word: Annotated[str, "As it was typed."]
    patterns: Annotated[tuple[str, ...], "The patterns that it stands for, from the project's root."]
    other: Annotated[
        tuple[str, ...], "The patterns that it may have stood for earlier, when other files existed."
    ] = ()


class CoveredPattern(NamedTuple):
    """A pattern, and how many files it covers now."""

    pattern: str
    coverage: Coverage


def understand_words(workspace: Workspace, given: PathWords) -> Sequence[UnderstoodWord]:
    """Return what each word means: patterns from the root of the project; nothing is changed.

    1. A path is relative to the folder it was typed in, or absolute and below the root of any checkout.
    2. Existing names are taken literally, whatever characters they have; others may have wildcards, braces.
    3. Links in the part before the first wildcard are followed, and every name of the target counts.
    """
    place = _Place(workspace, given.folder)
    return [_understand(place, word, is_literal=given.is_literal) for word in given.words]


def _understand(place: "_Place", word: str, *, is_literal: bool) -> UnderstoodWord:
    check_word(word, is_literal=is_literal)
    if is_literal:
        return UnderstoodWord(word=word, patterns=place.resolve(word.split("/"), ()))
    other = place.read(word, knows=False)
    return UnderstoodWord(word=word, patterns=place.read(word), other=(*other, word))


class _Place:
    """A folder in which paths are typed, and the roots of the project around it."""

    def __init__(self, workspace: Workspace, folder: str) -> None:
        self._names = workspace.file_names
        self._folder = folder.rstrip("/")
        self._root = workspace.root
        below = workspace.repository.prefix() and f"/{workspace.repository.prefix()}"
        checkouts = [f"{one.path}{below}" for one in workspace.repository.checkouts()]
        self._roots = [*self._names.list_names(self._root), *checkouts]

    def read(self, word: str, *, knows: bool = True) -> tuple[str, ...]:
        """Return the patterns of a word; without `knows`, names with wildcards or braces never exist."""
        segments = word.split("/")
        known = self._count_names(segments, 0) if knows else _count_plain(segments)
        start, rest = segments[:known], segments[known:]
        found: list[str] = []
        for text in expand_braces("/".join(rest)) if rest else [""]:
            both = [*start, *(text.split("/") if rest else ())]
            if not any(both):
                raise UsageError(
                    f"{one_line(word)} also expands to an empty path", hint="remove the empty part"
                )
            size = self._count_names(both, known) if knows else known + _count_plain(both[known:])
            found += self.resolve(both[:size], both[size:])
        return tuple(dict.fromkeys(found))

    def resolve(self, names: Sequence[str], rest: Sequence[str]) -> tuple[str, ...]:
        """Return the patterns of a path whose first segments are names."""
        path = "/".join(names)
        full = self._find_full(path)
        is_folder = not rest and (names[-1:] == [""] or self._names.is_folder(full))
        every = [find_relative(name, self._roots) for name in self._names.list_names(full)]
        found = [make_pattern(name, rest, is_folder=is_folder) for name in every if name is not None]
        if not found:
            shown = one_line("/".join((*names, *rest)))
            raise UsageError(
                f"{shown} is outside the project",
                hint=f"the root is {self._root}; paths are relative to the current folder",
            )
        return tuple(dict.fromkeys(found))

    def _count_names(self, segments: Sequence[str], start: int) -> int:
        """Return how many segments are plain names: without special characters, or existing."""
        for at, segment in enumerate(segments):
            path = self._find_full("/".join(segments[: at + 1]))
            if at >= start and has_meaning(segment) and not self._names.exists(path):
                return at
        return len(segments)

    def _find_full(self, path: str) -> str:
        is_absolute = path.startswith("/") or path[1:3] == ":/"
        return path if is_absolute else f"{self._folder}/{path}"


def _count_plain(segments: Sequence[str]) -> int:
    return next((at for at, segment in enumerate(segments) if has_meaning(segment)), len(segments))


def choose_held(held: Iterable[str], understood: Sequence[UnderstoodWord]) -> Sequence[str]:
    """Return the held reservations that the words name; else the patterns of the words.

    Files may have changed since the reservations were made, and messages name them from the root.
    """
    names = list(held)
    chosen: list[str] = []
    for one in understood:
        found = find_held(one.patterns, names) or find_held(one.other, names)
        chosen += found or one.patterns
    return list(dict.fromkeys(chosen))


def keep_held(held: Iterable[str], understood: Sequence[UnderstoodWord]) -> Sequence[str]:
    """Return the patterns to reserve; one that is already held keeps its spelling."""
    names = list(held)
    patterns = [text for one in understood for text in one.patterns]
    return list(dict.fromkeys((find_held([text], names) or [text])[0] for text in patterns))


def count_files(workspace: Workspace, patterns: Iterable[str]) -> Sequence[CoveredPattern]:
    """Count the files in git's index that patterns cover now; empty without git."""
    texts = [*patterns]
    names = workspace.tracking.names(find_common_start(texts))
    if names is None:
        return ()
    return [CoveredPattern(text, count_covered(text, names)) for text in texts]
