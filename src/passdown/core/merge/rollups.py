"""The rollup: one file that contains the archived events of a day (C22).

The first line is a header; each further line is one whole event with its hash. Two rollups of a day may
overlap, because clones archive at different times: events are merged by their hash. A rollup is named after
the hash of its content and never changes. It is JSON, not Markdown, so that git never mistakes it for a
renamed event.
"""

import hashlib
import json
from collections.abc import Iterable
from datetime import date
from typing import Final, NamedTuple, cast

from passdown.core.json_text import dump
from passdown.core.merge.event_facts import ID_SIZE, EventFacts, parse_event_facts

VERSION: Final = 1

_PREFIX: Final = "rollup-"
_SUFFIX: Final = ".jsonl"


class RollupMember(NamedTuple):
    """One event of a rollup, with the name of its original file and its bytes."""

    name: str
    data: bytes


class Rollup(NamedTuple):
    """The archived events of a day, and how many lines could not be read."""

    members: tuple[tuple[RollupMember, EventFacts], ...] = ()
    skipped: int = 0


def is_rollup(name: str) -> bool:
    """Return whether a file name belongs to a rollup."""
    return name.startswith(_PREFIX) and name.endswith(_SUFFIX)


def name_rollup(text: str) -> str:
    """Return the file name of a rollup, based on its content."""
    return name_rollup_data(text.encode())


def name_rollup_data(data: bytes) -> str:
    """Return the file name of a rollup, based on its bytes; line ends do not matter (C66)."""
    digest = hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()
    return f"{_PREFIX}{digest[:ID_SIZE]}{_SUFFIX}"


def render_rollup(day: date, members: Iterable[tuple[RollupMember, EventFacts]]) -> str:
    """Render the events of a day, each once and in order: the same events produce the same bytes."""
    unique = {source.rank: member for member, source in sorted(members, key=_order)}
    head = {"type": "rollup", "v": VERSION, "day": day.isoformat(), "events": len(unique)}
    lines = [
        {"id": rank.id, "sha256": rank.hash, "name": member.name, "text": _text_of(member)}
        for rank, member in unique.items()
    ]
    return "".join(f"{dump(line)}\n" for line in [head, *lines])


def _text_of(member: RollupMember) -> str:
    """Return an event's text with the line ends that its hash is computed from (C66)."""
    return member.data.replace(b"\r\n", b"\n").decode()


def _order(pair: tuple[RollupMember, EventFacts]) -> tuple[object, ...]:
    member, source = pair
    return (*source.rank, member.name)


def parse_rollup(data: bytes) -> Rollup:
    """Read a rollup; a line that is not an event, or does not match its hash, is counted as skipped.

    A rollup of a newer version, or without its first line, counts as one skipped line. Missing lines count as
    one more.
    """
    first, *lines = data.split(b"\n")
    head = _load(first)
    if not _is_head(head):
        return Rollup(skipped=1)
    found = [_read_line(line) for line in lines if line.strip()]
    members = tuple(pair for pair in found if pair is not None)
    return Rollup(members, len(found) - len(members) + (head.get("events") != len(found)))


def find_member(data: bytes, key: str) -> bytes | None:
    """Return the event of a rollup whose hash starts with a key, without reading the others."""
    start = data.find(b"\n") + 1
    if not _is_head(_load(data[:start])):
        return None
    at = data.find(key.encode(), start)
    while at >= 0:
        end = data.find(b"\n", at) + 1 or len(data)
        found = _read_line(data[data.rfind(b"\n", 0, at) + 1 : end])
        if found and found[1].rank.hash.startswith(key):
            return found[0].data
        at = data.find(key.encode(), end)
    return None


def _is_head(head: dict[str, object]) -> bool:
    version = head.get("v")
    return head.get("type") == "rollup" and isinstance(version, int) and version <= VERSION


def _read_line(line: bytes) -> tuple[RollupMember, EventFacts] | None:
    values = _load(line)
    name, text = values.get("name"), values.get("text")
    if not isinstance(name, str) or not isinstance(text, str):
        return None
    member = RollupMember(name, text.encode("utf-8", "surrogatepass"))
    source = parse_event_facts(member.data, name)
    return (member, source) if source and source.rank.hash == values.get("sha256") else None


def _load(line: bytes) -> dict[str, object]:
    try:
        loaded: object = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", loaded) if isinstance(loaded, dict) else {}
