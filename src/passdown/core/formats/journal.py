"""The journal: a session's facts as they happen, one JSON line each, append-only (C58).

A line holds a version, a sequence number, a fact, and the checksum of everything before it. A line that is
incomplete, damaged or newer is kept unchanged and reported; the lines around it are still read.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from operator import attrgetter
from typing import Annotated, Final, NamedTuple, cast
from zlib import crc32

from passdown.core.documents.fields import read_instant
from passdown.core.facts import Fact, identify, parse_fact, render_fact
from passdown.core.json_text import count_of, dump, text_of
from passdown.core.kinds import FactKind
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Malformed, Problem, Unknown, error, warning
from passdown.core.times import render_millis
from passdown.errors import FormatError
from passdown.records import field, record

VERSION: Final = 1
MAX_CHARS: Final = 16_777_216
MAX_LINES: Final = 100_000
MAX_LINE: Final = 262_144

_SUM: Final = pattern(r',"sum":"([0-9a-f]{8})"\}')
_PLACE: Final = pattern(r"line ([1-9][0-9]{0,8})")
_TAIL: Final = len(',"sum":"01234567"}')
_MEMBERS: Final = ("v", "seq", "at", "by", "fact", "sum")


class Scope(StrEnum):
    """Which journals a question means."""

    LIVE = "live"
    """Those of sessions that run, that still need something, or that ended lately."""
    ALL = "all"
    """Also those of ended sessions that were archived (C129).

    A caller that decides whether something was already done must ask for all: otherwise it is done again.
    """


@record
class JournalLine:
    """One fact with its position in the journal."""

    seq: Annotated[int, "The line's number in the session, counted from 1."]
    fact: Annotated[Fact, "The fact, attributed to its first author."]
    at: Annotated[datetime | None, "When it was copied into this journal from another session."] = None
    agent: Annotated[str, "The agent that copied it."] = ""
    others: Annotated[tuple[tuple[str, str], ...], "Further members: name and JSON value."] = ()

    @property
    def written_at(self) -> datetime:
        """When the line was written."""
        return self.at or self.fact.at

    @property
    def written_by(self) -> str:
        """The agent whose journal it is."""
        return self.agent or self.fact.agent


SESSION_END: Final = "session_end"
"""The type of the event that ends a session."""


class PublishedExtent(NamedTuple):
    """How much of a session is published: its last published journal line (0: none), and its newest event.

    `last` is the type of its last event that is not retracted, such as `session_end`; "" if it has none.
    """

    line: int
    at: datetime | None
    last: str = ""


NOT_PUBLISHED: Final = PublishedExtent(0, None)


@record
class Journal:
    """A session's lines in order; a line that cannot be read keeps its position."""

    lines: Annotated[tuple[JournalLine, ...], "The lines that could be read."] = ()
    unknown: Annotated[tuple[Unknown, ...], "The unreadable lines, verbatim."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


def facts_of(session: str, lines: Iterable[JournalLine]) -> Iterator[Fact]:
    """Yield the facts of a session's journal, each with its sequence number.

    A decision without a key gets a key made from its text.
    """
    for line in lines:
        fact = line.fact
        key = identify(fact) if fact.kind == FactKind.DECISION else fact.key
        yield fact._replace(key=key, seq=line.seq, session=fact.session or session)


def put_in_order(lines: list[JournalLine]) -> list[JournalLine]:
    """Sort lines and remove duplicates, unless they are already in order, as nearly always."""
    if all(before.seq < after.seq for before, after in pairwise(lines)):
        return lines
    return sorted(set(lines), key=attrgetter("seq", "written_at", "written_by", "fact", "others"))


def checksum(text: str) -> str:
    """Return the checksum of the part of a line before its `sum`."""
    return f"{crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def render_line(line: JournalLine) -> str:
    """Write one line, including its line end."""
    members = "".join(f",{dump(name)}:{text}" for name, text in line.others)
    carried = f',"at":{dump(render_millis(line.at))}' if line.at else ""
    carried += f',"by":{dump(line.agent)}' if line.agent else ""
    body = f'{{"v":{VERSION},"seq":{line.seq}{carried},"fact":{render_fact(line.fact)}{members}'
    return f'{body},"sum":"{checksum(body)}"}}\n'


def parse_line(text: str) -> JournalLine:
    """Read one line without its line end; raise `Malformed` if it is incomplete, damaged or newer."""
    if len(text) > MAX_LINE:
        raise Malformed(f"is over {MAX_LINE} characters")
    tail = _SUM.fullmatch(text, max(0, len(text) - _TAIL))
    if tail is None:
        raise Malformed(
            "is incomplete: it does not end with its checksum", "a crash cut it off; there is nothing to do"
        )
    if tail[1] != checksum(text[: tail.start()]):
        raise Malformed("does not match its checksum", "the line was damaged or edited")
    members = _load(text)
    if (count_of(members.get("v"), "v") or 0) > VERSION:
        raise Malformed(
            f"has version {members['v']}; this version of passdown reads up to {VERSION}", "upgrade passdown"
        )
    fact, seq = members.get("fact"), count_of(members.get("seq"), "seq")
    if not isinstance(fact, dict) or seq is None:
        raise Malformed("has no fact or no sequence number")
    others = tuple((name, dump(value)) for name, value in members.items() if name not in _MEMBERS)
    at = text_of(members.get("at"), "at")
    return JournalLine(
        seq=seq,
        fact=parse_fact(cast("dict[str, object]", fact)),
        at=read_instant(at) if at else None,
        agent=text_of(members.get("by"), "by") or "",
        others=others,
    )


def _load(text: str) -> Mapping[str, object]:
    """Read a text that ends with `}`: if it is JSON at all, it is an object."""
    try:
        return cast("dict[str, object]", json.loads(text))
    except (ValueError, RecursionError):
        raise Malformed("is not valid JSON") from None


def parse_journal(text: str) -> Journal:
    """Read a journal; unreadable lines are kept and reported. Raises `FormatError` if it is too large."""
    if len(text) > MAX_CHARS or text.count("\n") > MAX_LINES:
        raise FormatError(f"journal is over {MAX_CHARS} characters or {MAX_LINES} lines, so it is not read")
    lines: list[JournalLine] = []
    unknown: list[Unknown] = []
    problems: list[Problem] = []
    for number, one in enumerate(text.split("\n"), 1):
        if not one.strip():
            continue
        try:
            line = parse_line(one.rstrip("\r"))
        except Malformed as found:
            unknown.append(Unknown(place=f"line {number}", text=one))
            problems.append(error(number, "line", found.problem, found.hint))
            continue
        if lines and line.seq <= lines[-1].seq:
            problems.append(warning(number, "seq", f"is out of order: {line.seq} after {lines[-1].seq}"))
        lines.append(line)
    return Journal(lines=tuple(lines), unknown=tuple(unknown), problems=tuple(problems), source=text)


def render_journal(journal: Journal) -> str:
    """Write a journal; one that was read and not changed is returned unchanged."""
    if journal.source is not None and journal == parse_journal(journal.source):
        return journal.source
    lines = [render_line(line) for line in journal.lines]
    for one in journal.unknown:
        number = _PLACE.fullmatch(one.place)
        lines.insert(int(number[1]) - 1 if number else len(lines), f"{one.text}\n")
    return "".join(lines)
