"""History: what an imported transcript says, one JSON line each after a head; local, never published (C134).

A file is written as a whole and never edited. A line that cannot be read is kept unchanged and reported; a
file without a head, or of a newer version, is not read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Final

from passdown.core.json_text import dump, list_at, load_object, number_at, text_at
from passdown.core.kinds import FactKind
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Problem, Unknown, error
from passdown.core.times import parse_instant, render_millis
from passdown.errors import FormatError
from passdown.records import field, names_of, record

VERSION: Final = 1
MAX_CHARS: Final = 33_554_432
MAX_LINES: Final = 200_000
SPEAKERS: Final[Mapping[str, str]] = MappingProxyType(
    {FactKind.PROMPT.value: "user", FactKind.WORDS.value: "agent"}
)
"""Who said the entries of a kind; entries of other kinds are called by their kind."""

_PLACE: Final = pattern(r"line ([1-9][0-9]{0,8})")
_INDENT: Final = "    "


@record
class HistoryEntry:
    """One thing that was said or done in a session."""

    kind: Annotated[str, "What it is: `prompt`, `words`, `plan`, `file`, `command` or `commit`."]
    text: Annotated[str, "The text, without secrets, cut to 2,000 characters."]
    at: Annotated[datetime | None, "When the host wrote it."] = None
    exit: Annotated[int | None, "The exit code of a command."] = None
    status: Annotated[str, "The progress of a plan item."] = ""


@record
class HistoryHead:
    """What a history file is about, without its entries."""

    host: Annotated[str, "The program that the agent ran in."]
    session: Annotated[str, "The host's id of the session or subagent; the file is named by it."]
    parent: Annotated[str, "The session that started a subagent; empty for a session."] = ""
    folder: Annotated[str, "The folder in which it worked."] = ""
    transcript: Annotated[str, "The file that was imported."] = ""
    size: Annotated[int, "How many bytes of it were read."] = 0
    started: Annotated[datetime | None, "When its first entry was written."] = None
    ended: Annotated[datetime | None, "When its last entry was written."] = None
    about: Annotated[str, "The start of what the user first said."] = ""
    counts: Annotated[tuple[tuple[str, int], ...], "How many entries of each kind there are."] = ()
    files: Annotated[tuple[str, ...], "The files of the project that it edited, from the root."] = ()
    left_out: Annotated[int, "How many entries were left out because there are too many."] = 0
    redacted: Annotated[tuple[str, ...], "The rules that found secrets."] = ()


@record
class ImportedSession:
    """A session of a host from before, or without, Passdown."""

    head: Annotated[HistoryHead, "What it is about."]
    entries: Annotated[tuple[HistoryEntry, ...], "What was said and done, in order."] = ()
    unknown: Annotated[tuple[Unknown, ...], "The unreadable lines, verbatim."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


def parse_history(text: str) -> ImportedSession:
    """Read a history file; raise `FormatError` if it is too large, has no head, or is of a newer version."""
    if len(text) > MAX_CHARS or text.count("\n") > MAX_LINES:
        raise FormatError(f"history is over {MAX_CHARS} characters or {MAX_LINES} lines, so it is not read")
    head = parse_history_head(text)
    entries: list[HistoryEntry] = []
    unknown: list[Unknown] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.split("\n")[1:], 2):
        if not line.strip():
            continue
        entry = _parse_entry(line)
        if entry is None:
            unknown.append(Unknown(place=f"line {number}", text=line))
            problems.append(error(number, "line", "is not an entry", "import the transcript again"))
        else:
            entries.append(entry)
    return ImportedSession(
        head=head,
        entries=tuple(entries),
        unknown=tuple(unknown),
        problems=tuple(problems),
        source=text,
    )


def parse_history_head(text: str) -> HistoryHead:
    """Read only the head of a history file; raise `FormatError` if there is none, or it is too new."""
    value = load_object(text.partition("\n")[0])
    if value is None or not text_at(value, "host") or not text_at(value, "session"):
        raise FormatError("history has no head", hint="import the transcript again")
    if (number_at(value, "v") or 0) > VERSION:
        raise FormatError(
            f"history has version {value['v']}; this version of passdown reads up to {VERSION}",
            hint="upgrade passdown",
        )
    counts = [list_at(one) for one in list_at(value, "counts")]
    return HistoryHead(
        host=text_at(value, "host"),
        session=text_at(value, "session"),
        parent=text_at(value, "parent"),
        folder=text_at(value, "folder"),
        transcript=text_at(value, "transcript"),
        size=max(0, number_at(value, "size") or 0),
        started=parse_instant(text_at(value, "started")),
        ended=parse_instant(text_at(value, "ended")),
        about=text_at(value, "about"),
        counts=tuple((one[0], one[1]) for one in counts if _is_count(one)),  # type: ignore[misc]  # checked
        files=tuple(one for one in list_at(value, "files") if isinstance(one, str)),
        left_out=max(0, number_at(value, "left_out") or 0),
        redacted=tuple(one for one in list_at(value, "redacted") if isinstance(one, str)),
    )


def _is_count(pair: list[object]) -> bool:
    match pair:
        case [str(), int()]:
            return True
        case _:
            return False


def _parse_entry(line: str) -> HistoryEntry | None:
    value = load_object(line)
    if value is None or not text_at(value, "kind"):
        return None
    return HistoryEntry(
        kind=text_at(value, "kind"),
        text=text_at(value, "text"),
        at=parse_instant(text_at(value, "at")),
        exit=number_at(value, "exit"),
        status=text_at(value, "status"),
    )


def render_history(session: ImportedSession) -> str:
    """Write a history file; one that was read and not changed is returned unchanged."""
    if session.source is not None and session == parse_history(session.source):
        return session.source
    lines = [_render_head(session.head), *map(_render_entry, session.entries)]
    for one in session.unknown:
        number = _PLACE.fullmatch(one.place)
        lines.insert(int(number[1]) - 1 if number else len(lines), one.text)
    return "\n".join(lines) + "\n"


def _render_head(head: HistoryHead) -> str:
    values = {name: getattr(head, name) for name in names_of(head)}
    values["started"] = render_millis(head.started) if head.started else ""
    values["ended"] = render_millis(head.ended) if head.ended else ""
    return dump({"v": VERSION, **{name: value for name, value in values.items() if value}})


def _render_entry(entry: HistoryEntry) -> str:
    values = {
        "kind": entry.kind,
        "at": render_millis(entry.at) if entry.at else "",
        "exit": entry.exit,
        "status": entry.status,
    }
    return dump(
        {**{name: value for name, value in values.items() if value not in {"", None}}, "text": entry.text}
    )


def describe_history(session: ImportedSession) -> str:
    """Return a session as text for people and for search: a line for each entry; more lines are indented."""
    head = session.head
    lines = [f"{head.host} session {head.session}", *_about(head), ""]
    for entry in session.entries:
        first, *rest = entry.text.split("\n")
        lines.append(f"{SPEAKERS.get(entry.kind, entry.kind)}: {first}{_behind(entry)}")
        lines += [f"{_INDENT}{one}" if one else "" for one in rest]
    return "\n".join(lines) + "\n"


def _about(head: HistoryHead) -> Iterator[str]:
    if head.parent:
        yield f"subagent of {head.parent}"
    if head.folder:
        yield f"folder: {head.folder}"
    times = [render_millis(at) for at in (head.started, head.ended) if at]
    if times:
        yield f"time: {' to '.join(dict.fromkeys(times))}"
    if head.redacted:
        yield f"secrets were removed: {', '.join(head.redacted)}"
    if head.left_out:
        yield f"left out: {head.left_out} further entries"


def _behind(entry: HistoryEntry) -> str:
    if entry.exit is not None:
        return f" (exit {entry.exit})"
    return f" ({entry.status})" if entry.status else ""


# --- how many sessions edited each file -------------------------------------------------------------


def render_counts(heads: Iterable[HistoryHead]) -> bytes:
    """Write how many sessions edited each file, a line each; the same sessions give the same bytes."""
    counts = Counter(path for head in heads for path in set(head.files))
    lines = (f"{path}\t{count}\n" for path, count in sorted(counts.items()))
    return "".join(lines).encode("utf-8", "replace")


def sum_counts(counts: bytes, paths: Iterable[str]) -> int:
    """Return how often imported sessions edited some files; a line that is no count is ignored."""
    pairs = (line.rpartition("\t") for line in counts.decode("utf-8", "replace").split("\n"))
    known = {path: count for path, _, count in pairs}
    found = (known.get(path, "") for path in set(paths))
    return sum(int(count) for count in found if count.isascii() and count.isdigit())
