"""Reads and revises the front matter of a document as typed keys, each independent of the others."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Generic, NamedTuple, TypeVar, cast

from passdown.core.documents.frontmatter import (
    FrontMatterEntry,
    FrontMatterStray,
    raw_entry,
    read_text,
    split_entries,
)
from passdown.core.problems import Malformed, Problem, Unknown, error, warning
from passdown.records import record

T_co = TypeVar("T_co", covariant=True)

PLACE: Final = "front matter"


@record(kw_only=False)
class Key(Generic[T_co]):
    """One key: how it is read and written, and its value when absent."""

    name: str
    reader: Callable[[FrontMatterEntry], T_co]
    writer: Callable[[str, T_co], str]
    empty: T_co
    required: bool = False
    keep_empty: bool = False

    def write(self, value: object) -> str:
        """Write the entry; an empty value is written only if `keep_empty` is set."""
        is_written = value != self.empty or self.keep_empty
        return self.writer(self.name, cast("T_co", value)) if is_written else ""


@record(kw_only=False)
class Keys:
    """What was read from a front matter."""

    values: Mapping[str, object]
    unknown: tuple[Unknown, ...]
    problems: tuple[Problem, ...]


def read_keys(matter: str, known: Sequence[Key[object]], line: int) -> Keys:
    """Read the known keys; keep other keys, bad values and stray lines verbatim."""
    entries, strays = split_entries(matter)
    table = {key.name: key for key in known}
    values: dict[str, object] = {}
    unknown: list[Unknown] = []
    problems: list[Problem] = []
    at, before = line, 0
    parts: list[FrontMatterEntry | FrontMatterStray] = [*entries, *strays]
    for part in sorted(parts, key=lambda part: part.start):
        at += matter.count("\n", before, part.start)
        before = part.start
        try:
            _read_part(part, table, values)
        except Malformed as found:
            text = part.text if isinstance(part, FrontMatterStray) else raw_entry(matter, part).rstrip()
            unknown.append(Unknown(place=PLACE, text=text))
            if found.problem:
                problems.append(_problem(part, at, found))
    problems += [error(line, key.name, "is missing") for key in known if _is_missing(key, values, entries)]
    complete = {key.name: values.get(key.name, key.empty) for key in known}
    return Keys(complete, tuple(unknown), tuple(problems))


def _read_part(
    part: FrontMatterEntry | FrontMatterStray, table: Mapping[str, Key[object]], values: dict[str, object]
) -> None:
    """Read a known key; raise `Malformed` for anything else, with an empty problem if it is only unknown."""
    if isinstance(part, FrontMatterStray):
        wrong = next((line for line in part.text.split("\n") if not line.lstrip().startswith("#")), None)
        raise Malformed("" if wrong is None else f"has a line that is not `key: value`: {wrong.strip()[:60]}")
    key = table.get(part.key)
    if key is None:
        raise Malformed("")
    if part.key in values:
        raise Malformed("appears twice; the first one counts", "keep one of them")
    values[part.key] = key.reader(part)


def _problem(part: FrontMatterEntry | FrontMatterStray, line: int, found: Malformed) -> Problem:
    if isinstance(part, FrontMatterStray):
        return warning(line, PLACE, found.problem)
    return error(line, part.key, found.problem, found.hint)


def _is_missing(key: Key[object], values: Mapping[str, object], entries: Sequence[FrontMatterEntry]) -> bool:
    if not key.required or (key.name in values and values[key.name] != key.empty):
        return False
    return key.name in values or all(entry.key != key.name for entry in entries)


def write_keys(keys: Iterable[Key[object]], values: Mapping[str, object], unknown: Iterable[Unknown]) -> str:
    """Write the content of a front matter: the known keys that have a value, then the unknown text."""
    kept = "".join(f"{one.text}\n" for one in unknown if one.place == PLACE)
    return "".join(key.write(values[key.name]) for key in keys if key.name in values) + kept


def revise_keys(
    matter: str,
    keys: Iterable[Key[object]],
    values: Mapping[str, object],
    was: Mapping[str, object],
    forced: frozenset[str],
) -> str:
    """Rewrite the entries whose value differs from `was`; leave every other byte unchanged.

    A new entry goes after the nearest key that precedes it in a newly written document, else before the first
    key.
    """
    held = [key for key in keys if key.name in values]
    changed = frozenset(key.name for key in held if values[key.name] != was[key.name] or key.name in forced)
    if not changed:
        return matter
    matter += "\n" if matter and not matter.endswith("\n") else ""
    written = {key.name: key.write(values[key.name]) if key.name in changed else None for key in held}
    for start, end, text in sorted(_edits(matter, written), key=lambda edit: edit[:2])[::-1]:
        matter = matter[:start] + text + matter[end:]
    return matter


def _edits(matter: str, written: Mapping[str, str | None]) -> Iterator[tuple[int, int, str]]:
    """Yield the text to put between two offsets; None in `written` is an entry that stays unchanged."""
    entries, strays = split_entries(matter)
    first = {entry.key: entry for entry in reversed(entries)}
    at = entries[0].start if entries else len(matter)
    for name, text in written.items():
        entry = first.get(name)
        if text is not None and entry is None:
            yield at, at, text
        elif text is not None and entry is not None:
            is_twice = sum(one.key == name for one in entries) > 1
            gone = f"{name}: null\n" if is_twice else ""  # else the second one would count
            yield entry.start, entry.end, (text or gone) + _rest(matter, entry, strays)
        at = at if entry is None else entry.end


def _rest(matter: str, entry: FrontMatterEntry, strays: Iterable[FrontMatterStray]) -> str:
    """Return what remains of a rewritten entry: stray lines inside it, and blank lines at its end."""
    if not entry.rest.strip():
        return matter[matter.index("\n", entry.start) + 1 : entry.end]
    kept = "".join(f"{stray.text}\n" for stray in strays if entry.start < stray.start < entry.end)
    return kept + "\n" * (entry.rest[len(entry.rest.rstrip()) :].count("\n") - 1)


class Block(NamedTuple):
    """The value of a key that holds keys: their values, or None, and text that belongs to none of them."""

    values: Mapping[str, object] | None = None
    others: tuple[str, ...] = ()


def block_key(name: str, keys: Sequence[Key[object]]) -> Key[Block]:
    """Make a key that holds a block of keys, indented below it."""
    names = frozenset(key.name for key in keys)

    def read(entry: FrontMatterEntry) -> Block:
        lines = (line[2:] if line.startswith("  ") else line.lstrip() for line in entry.rest.split("\n"))
        inner = "\n".join(lines)
        if read_text(entry._replace(rest=inner)) is None:
            return Block()
        if entry.head:
            raise Malformed("is not a block", "indent its keys on separate lines below it")
        entries, strays = split_entries(inner)
        known = {one.key: one for one in reversed(entries) if one.key in names}
        others = [(one.start, raw_entry(inner, one).rstrip()) for one in entries if one not in known.values()]
        others += [(stray.start, stray.text) for stray in strays]
        values = {key.name: key.reader(known[key.name]) if key.name in known else key.empty for key in keys}
        return Block(values if known else None, tuple(text for _, text in sorted(others)))

    def write(key: str, block: Block) -> str:
        """Write the block; duplicates of a key come last, because the first one counts.

        Other unknown text comes first, because below a key it could be read as part of that key.
        """
        twice = [text for text in block.others if any(one.key in names for one in split_entries(text)[0])]
        parts = [f"{text}\n" for text in block.others if text not in twice]
        if block.values is not None:
            parts += [one.writer(one.name, block.values[one.name]) for one in keys]
            parts += [f"{text}\n" for text in twice]
        lines = "".join(parts).rstrip("\n").split("\n")
        return f"{key}:\n" + "".join(f"  {line}\n" if line else "\n" for line in lines) if parts else ""

    return Key(name, read, write, Block())
