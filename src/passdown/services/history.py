"""Read events where they lie, and lay the logs of several checkouts side by side."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from heapq import merge
from itertools import groupby
from typing import Final, NamedTuple

from passdown.core.events import Event, parse_event
from passdown.core.rollups import is_rollup, parse_rollup
from passdown.core.sources import Rank, parse_source
from passdown.errors import FormatError, PassdownError
from passdown.ports.event_log import EventLog, FileMark
from passdown.ports.index import Change, Found, Index, Place
from passdown.services.checkouts import Checkout
from passdown.services.events import Step, take_in

_CANDIDATES: Final = 10


class Texts:
    """The texts of events; the last rollup that was read is kept, for its events are asked for in a row."""

    def __init__(self, log: EventLog) -> None:
        """Read from this log."""
        self._log = log
        self._file = ("", "")
        self._members: dict[str, str] = {}

    def read(self, place: Place) -> str | None:
        """Give the text of an event; None when it is no longer where it was."""
        if not is_rollup(place.name):
            data = self._log.read(place.folder, place.name)
            return None if data is None else data.decode("utf-8", "replace")
        if self._file != (place.folder, place.name):
            data = self._log.read(place.folder, place.name) or b""
            self._members = {
                source.rank.hash: member.data.decode("utf-8", "replace")
                for member, source in parse_rollup(data).members
            }
            self._file = (place.folder, place.name)
        return self._members.get(place.rank.hash)


def parse_text(text: str | None) -> Event:
    """Read an event as far as it can be read; one that is gone says nothing."""
    try:
        return parse_event(text or "")
    except FormatError:
        return Event()


def label(event: Event) -> str:
    """Say in a few words what an event is about: what is being done, or was, or what it is."""
    first = (
        *((event.now,) if event.now else ()),
        *event.this_session,
        *((event.goal,) if event.goal else ()),
        *(f"{pair.key}: {pair.value}" for pair in event.decisions),
        *event.open_questions,
        *(f"takes back {name}" for name in event.retracted_events),
        event.reason or event.type or "",
    )
    return " ".join(first[0].split())


class Wanted(NamedTuple):
    """Which events are asked for; what is empty does not matter."""

    agent: str = ""
    branch: str = ""
    type: str = ""
    since: datetime | None = None

    def takes(self, place: Place) -> bool:
        """Say whether an event is one of them; an agent may be named without the digits at its end."""
        return (
            (
                not self.agent
                or place.rank.agent == self.agent
                or place.rank.agent.startswith(f"{self.agent}-")
            )
            and self.branch in {"", place.branch}
            and self.type in {"", place.type}
            and (self.since is None or place.rank.at >= self.since)
        )


class Seen(NamedTuple):
    """An event, and the number of the checkout it was found in."""

    place: Place
    where: int


def join_logs(logs: Sequence[Sequence[Place]], wanted: Wanted) -> Iterator[Seen]:
    """Give the events of several checkouts, the newest first, each once, as the first that has it shows it.

    One that any of them knows to be retracted is retracted.
    """
    rows = [
        [Seen(place, where) for place in places if wanted.takes(place)] for where, places in enumerate(logs)
    ]
    for _, same in groupby(merge(*rows, key=_rank, reverse=True), key=_rank):
        found = list(same)
        place = found[0].place._replace(is_retracted=any(one.place.is_retracted for one in found))
        yield Seen(place, found[0].where)


def _rank(seen: Seen) -> Rank:
    return seen.place.rank


def find_event(logs: Sequence[Sequence[Place]], name: str) -> Seen:
    """Find the one event whose id or hash begins so; a whole id is found even if others begin with it.

    Refused when there is none, or when there are several: then they are named.
    """
    found = list(join_logs(logs, Wanted()))
    exact = [seen for seen in found if name in {seen.place.rank.id, seen.place.rank.hash}]
    found = exact or found
    if len(found) == 1:
        return found[0]
    if not found:
        raise PassdownError(f"there is no event {name}", hint="`passdown log` lists the events")
    names = [seen.place.rank.hash[:16] if exact else seen.place.rank.id for seen in found[:_CANDIDATES]]
    more = f" and {len(found) - _CANDIDATES} more" if len(found) > _CANDIDATES else ""
    raise PassdownError(
        f"{name} means {len(found)} events: {', '.join(names)}{more}", hint="name one of them in full"
    )


def list_places(checkout: Checkout, prefix: str = "", step: Step | None = None) -> Sequence[Place]:
    """Bring the index of a checkout up to date and list its events, the newest first."""
    take_in(checkout.log, checkout.index, step)
    return checkout.index.places(prefix)


class InputFile(NamedTuple):
    """A file that was named as input; without content when it could not be read."""

    path: str
    data: bytes | None


def take_files(index: Index, files: Iterable[InputFile]) -> None:
    """Fill an index with exactly these files, wherever they lie."""
    found = [_read_file(number, file) for number, file in enumerate(files)]
    with index.changing():
        index.apply(Change({}, (), found))


def _read_file(number: int, file: InputFile) -> Found:
    name = file.path.rpartition("/")[2]
    data = file.data or b""
    mark = FileMark(len(data), 0, number)
    if file.data is None:
        return Found("", file.path, mark, (), 1)
    if is_rollup(name):
        rollup = parse_rollup(data)
        return Found("", file.path, mark, tuple(source for _, source in rollup.members), rollup.skipped)
    source = parse_source(data, name)
    return Found("", file.path, mark, (source,) if source else (), 0 if source else 1)
