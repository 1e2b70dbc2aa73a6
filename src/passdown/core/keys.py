"""The front matter of a document as typed keys, read and changed without touching the others."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Generic, NamedTuple, Protocol, TypeVar, cast

from passdown.core.frontmatter import Entry, Stray, raw_entry, split_entries
from passdown.core.problems import Malformed, Problem, Unknown, error, warning
from passdown.records import record

T = TypeVar("T")

PLACE: Final = "front matter"


class HeldKey(NamedTuple):
    """A value on its way into its key; `written` is the whole entry, empty when it shall not be there."""

    name: str
    value: object
    written: str


@record(kw_only=False)
class Key(Generic[T]):
    """One key: how it is read and written, and what it is when absent."""

    name: str
    reader: Callable[[Entry], T]
    writer: Callable[[str, T], str]
    empty: T
    required: bool = False
    keep_empty: bool = False

    def read(self, entry: Entry) -> T:
        """Read an entry; raise `Malformed` when it does not fit."""
        return self.reader(entry)

    def of(self, values: Mapping[str, object]) -> T:
        """Take the key's value out of what was read."""
        return cast("T", values[self.name])

    def holds(self, value: T) -> HeldKey:
        """Say that the key shall hold `value`; an empty value is only written where it is kept."""
        written = self.writer(self.name, value) if value != self.empty or self.keep_empty else ""
        return HeldKey(self.name, value, written)


class AnyKey(Protocol):
    """A key, whatever the type of its field."""

    @property
    def name(self) -> str:
        """The key as written."""
        ...

    @property
    def empty(self) -> object:
        """What the field is when the key is absent."""
        ...

    @property
    def required(self) -> bool:
        """Whether a check asks for it."""
        ...

    def read(self, entry: Entry) -> object:
        """Read an entry; raise `Malformed` when it does not fit."""
        ...


@record(kw_only=False)
class Keys:
    """What was read from a front matter."""

    values: Mapping[str, object]
    unknown: tuple[Unknown, ...]
    problems: tuple[Problem, ...]


def read_keys(matter: str, known: Sequence[AnyKey], line: int) -> Keys:
    """Read the known keys; keep the others, what does not fit, and what is no entry, verbatim."""
    entries, strays = split_entries(matter)
    table = {key.name: key for key in known}
    values: dict[str, object] = {}
    unknown: list[Unknown] = []
    problems: list[Problem] = []
    at, before = line, 0
    parts: list[Entry | Stray] = [*entries, *strays]
    for part in sorted(parts, key=lambda part: part.start):
        at += matter.count("\n", before, part.start)
        before = part.start
        try:
            _read_part(part, table, values)
        except Malformed as found:
            text = part.text if isinstance(part, Stray) else raw_entry(matter, part).rstrip()
            unknown.append(Unknown(place=PLACE, text=text))
            if found.problem:
                problems.append(_problem(part, at, found))
    problems += [error(line, key.name, "is missing") for key in known if _is_missing(key, values, entries)]
    complete = {key.name: values.get(key.name, key.empty) for key in known}
    return Keys(complete, tuple(unknown), tuple(problems))


def _read_part(part: Entry | Stray, table: Mapping[str, AnyKey], values: dict[str, object]) -> None:
    """Read a known key; raise `Malformed` for all else, with no problem where nothing is wrong."""
    if isinstance(part, Stray):
        wrong = next((line for line in part.text.split("\n") if not line.lstrip().startswith("#")), None)
        raise Malformed("" if wrong is None else f"has a line that is no `key: value`: {wrong.strip()[:60]}")
    key = table.get(part.key)
    if key is None:
        raise Malformed("")
    if part.key in values:
        raise Malformed("comes twice; the first one counts", "keep one of them")
    values[part.key] = key.read(part)


def _problem(part: Entry | Stray, line: int, found: Malformed) -> Problem:
    if isinstance(part, Stray):
        return warning(line, PLACE, found.problem)
    return error(line, part.key, found.problem, found.hint)


def _is_missing(key: AnyKey, values: Mapping[str, object], entries: Sequence[Entry]) -> bool:
    if not key.required or (key.name in values and values[key.name] != key.empty):
        return False
    return key.name in values or all(entry.key != key.name for entry in entries)


def write_keys(held: Iterable[HeldKey], unknown: Iterable[Unknown]) -> str:
    """Write a front matter's inside: the known keys, then what was kept."""
    kept = "".join(f"{one.text}\n" for one in unknown if one.place == PLACE)
    return "".join(one.written for one in held) + kept


def revise_keys(
    matter: str, held: Sequence[HeldKey], was: Mapping[str, object], forced: frozenset[str]
) -> str:
    """Change the entries whose value differs from what `was` read there; leave all else to the byte.

    A new entry follows the nearest key that stands before it in a document written anew, or text that
    belongs to no key.
    """
    changed = frozenset(one.name for one in held if one.value != was[one.name] or one.name in forced)
    if not changed:
        return matter
    matter += "\n" if matter and not matter.endswith("\n") else ""
    for start, end, written in sorted(_edits(matter, held, changed), key=lambda edit: edit[:2])[::-1]:
        matter = matter[:start] + written + matter[end:]
    return matter


def _edits(matter: str, held: Sequence[HeldKey], changed: frozenset[str]) -> Iterator[tuple[int, int, str]]:
    """Yield what to put between which offsets."""
    entries, strays = split_entries(matter)
    first = {entry.key: entry for entry in reversed(entries)}
    at = entries[0].start if entries else len(matter)
    for one in held:
        entry = first.get(one.name)
        if one.name in changed and entry is None:
            yield at, at, one.written
        elif one.name in changed and entry is not None:
            written = one.written or _placeholder(one.name, entries)
            yield entry.start, entry.end, written + _rest(matter, entry, strays)
        at = at if entry is None else entry.end


def _placeholder(name: str, entries: Sequence[Entry]) -> str:
    """Return what stands for an entry taken out: without it a second one of that name would count."""
    return f"{name}: null\n" if sum(entry.key == name for entry in entries) > 1 else ""


def _rest(matter: str, entry: Entry, strays: Iterable[Stray]) -> str:
    """Return what stays of an entry that is written anew: stray lines in it, and blank ones at its end."""
    if not entry.rest.strip():
        return matter[matter.index("\n", entry.start) + 1 : entry.end]
    kept = "".join(f"{stray.text}\n" for stray in strays if entry.start < stray.start < entry.end)
    return kept + "\n" * (entry.rest[len(entry.rest.rstrip()) :].count("\n") - 1)
