"""Verify a view against its events, from scratch; name each event that is missing or altered (C63, C64)."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from passdown.core.blobs import blob_id
from passdown.core.events import parse_event
from passdown.core.patterns import pattern
from passdown.core.rollups import Member, is_rollup, parse_rollup
from passdown.core.seals import read_seal
from passdown.core.sources import Source, parse_source
from passdown.core.view_places import ViewPlace
from passdown.core.views import Footer, parse_view
from passdown.errors import FormatError
from passdown.ports.event_log import EventLog
from passdown.ports.index import Change, Found, Index, Place
from passdown.records import field, record
from passdown.services.checkouts import Checkout
from passdown.services.events import Step, name_event
from passdown.services.view_homes import view_place
from passdown.services.views import ViewState, judge_view, read_view

_OURS: Final = pattern(r"ev-[0-9a-f]{16}")


class Wrong(StrEnum):
    """What can be wrong with an event."""

    MISSING = "missing"
    ALTERED = "altered"


class Finding(NamedTuple):
    """An event that is not what it was: which, where, and how we know."""

    wrong: Wrong
    event: str
    path: str
    reason: str


class Left(NamedTuple):
    """A file that could not be merged, and why."""

    path: str
    problem: str


@record
class Verdict:
    """What verifying found."""

    place: Annotated[ViewPlace, "Where the view lies."]
    state: Annotated[ViewState, "How it compares with what the events make."]
    event_count: Annotated[int, "How many events there are."]
    recorded_count: Annotated[int | None, "How many the view was made from, as it says."]
    are_events_recorded: Annotated[bool, "Whether they are the events that the view was made from."]
    findings: Annotated[tuple[Finding, ...], "Events that are missing or altered."]
    left: Annotated[tuple[Left, ...], "Files that cannot be merged."]

    @property
    def is_good(self) -> bool:
        """Whether view and events are as recorded."""
        return self.state is ViewState.CURRENT and not self.findings

    @property
    def is_outdated(self) -> bool:
        """Whether nothing is wrong but that the view is older than its events, or is not made yet.

        A view of the same events by the same renderer can only differ if somebody changed it.
        """
        if self.findings or self.state in {ViewState.CURRENT, ViewState.EDITED, ViewState.FOREIGN}:
            return False
        if self.state is ViewState.MISSING or self.are_events_recorded:
            return self.state is not ViewState.OUTDATED
        return self.recorded_count is None or self.recorded_count < self.event_count


@record(frozen=False)
class _Scan:
    """What was found by reading everything."""

    found: list[Found] = field(default_factory=list[Found])
    left: list[Left] = field(default_factory=list[Left])
    altered: list[Finding] = field(default_factory=list[Finding])
    names: set[str] = field(default_factory=set[str])


def verify(checkout: Checkout, fresh: Index, step: Step | None = None) -> Verdict:
    """Read every event anew into an empty index, and compare what is there with all that was recorded.

    1. An id of ours is made of what its event says: another text has another id.
    2. An event that is committed is never changed, and goes away only into a rollup.
    3. What the cache knew when it last looked is still there. That is asked only when the view does not fit
       its events: a checkout that stands on another branch has other events, and nothing is wrong.
    """
    known = checkout.index.places()
    scan = _read_all(checkout, step)
    with fresh.changing():
        fresh.apply(Change({}, (), scan.found))
    place = view_place(checkout.repository, checkout.settings)
    state = judge_view(checkout.documents, place.path, fresh)
    footer = _read_footer(read_view(checkout.documents, place.path))
    digest = fresh.digest(1)
    are_recorded = footer.events_sha256 == digest.events_sha256
    findings = [*scan.altered, *_compare_commit(checkout, scan)]  # 1, 2
    if footer.events_sha256 is not None and not are_recorded:  # 3
        findings += _compare_cache(checkout, known, fresh)
    return Verdict(
        place=place,
        state=state,
        event_count=digest.event_count,
        recorded_count=footer.event_count,
        are_events_recorded=are_recorded,
        findings=_distinct(findings),
        left=tuple(scan.left),
    )


def _distinct(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Name each event once, by its id where somebody knows it."""
    named: dict[tuple[str, str], Finding] = {}
    for one in findings:
        key = (one.path, one.event if is_rollup(one.path.rpartition("/")[2]) else "")
        if key not in named or not named[key].event:
            named[key] = one
    return tuple(named.values())


def _read_footer(data: bytes | None) -> Footer:
    if data is None or read_seal(data.decode("utf-8", "replace")) is None:
        return Footer()
    try:
        return parse_view(data.decode("utf-8", "replace")).footer or Footer()
    except FormatError:
        return Footer()


def _path(checkout: Checkout, folder: str, name: str) -> str:
    return "/".join(part for part in (checkout.settings.paths.events, folder, name) if part)


def _read_all(checkout: Checkout, step: Step | None) -> _Scan:
    scan = _Scan()
    log = checkout.log
    files = [
        (folder, name, mark) for folder in log.folders({}) for name, mark in sorted(log.files(folder).items())
    ]
    for number, (folder, name, mark) in enumerate(files, 1):
        path = _path(checkout, folder, name)
        pairs, skipped = _read_file(log, scan, (folder, name), path)
        for member, source in pairs:
            scan.altered += _check_id(path, member, source)
        if is_rollup(name):
            scan.names.update(member.name for member, _ in pairs)
        scan.found.append(Found(folder, name, mark, tuple(source for _, source in pairs), skipped))
        if step is not None:
            step(number, len(files))
    return scan


def _read_file(
    log: EventLog, scan: _Scan, file: tuple[str, str], path: str
) -> tuple[Sequence[tuple[Member, Source]], int]:
    data = log.read(*file)
    if data is None:
        scan.left.append(Left(path, "cannot be read, or is too large"))
        return (), 1
    if is_rollup(file[1]):
        rollup = parse_rollup(data)
        if rollup.skipped:
            scan.left.append(Left(path, f"{rollup.skipped} of its lines cannot be read"))
        return rollup.members, rollup.skipped
    source = parse_source(data, file[1])
    if source is None:
        scan.left.append(Left(path, _name_problem(data)))
        return (), 1
    return ((Member(file[1], data), source),), 0


def _name_problem(data: bytes) -> str:
    """Say why an event cannot be merged."""
    try:
        event = parse_event(data.decode("utf-8"))
    except UnicodeDecodeError:
        return "is not UTF-8 text"
    except FormatError as found:
        return found.message
    names = " and ".join(name for name in ("ts", "agent") if not getattr(event, name))
    return f"{names} cannot be read, and the file's name does not tell"


def _check_id(path: str, member: Member, source: Source) -> Iterator[Finding]:
    """Compare an id of ours with the text it was made of (1)."""
    if not _OURS.fullmatch(source.rank.id):
        return
    try:
        event = parse_event(member.data.decode("utf-8").replace("\r\n", "\n"))
    except FormatError:  # of a newer version: we cannot write it as its writer did
        return
    if name_event(event).id != source.rank.id:
        yield Finding(Wrong.ALTERED, source.rank.id, path, "its text does not fit its id")


def _compare_commit(checkout: Checkout, scan: _Scan) -> Iterator[Finding]:
    """Compare the events with those of the last commit (2)."""
    there = {(found.folder, found.name): found for found in scan.found}
    start = f"{checkout.settings.paths.events}/"
    for path, committed in sorted(checkout.repository.listing(checkout.settings.paths.events).items()):
        folder, _, name = path.removeprefix(start).rpartition("/")
        if not name.endswith(".md") and not is_rollup(name):
            continue
        found = there.get((folder, name))
        if found is None:
            if name not in scan.names:
                yield Finding(Wrong.MISSING, "", path, "it is in the last commit")
            continue
        data = checkout.log.read(folder, name) or b""
        lf = data.replace(b"\r\n", b"\n")
        if committed not in {blob_id(data, like=committed), blob_id(lf, like=committed)}:
            names = ", ".join(source.rank.id for source in found.sources[:1]) if not is_rollup(name) else ""
            yield Finding(Wrong.ALTERED, names, path, "the last commit has another text")


def _compare_cache(checkout: Checkout, known: Sequence[Place], fresh: Index) -> Iterator[Finding]:
    """Compare the events with those that were there when the cache was last brought up to date (3)."""
    places = fresh.places()
    hashes = {place.rank.hash for place in places}
    files: Mapping[tuple[str, str], Place] = {(place.folder, place.name): place for place in places}
    ids = {place.rank.id for place in places}
    for place in known:
        if place.rank.hash in hashes:
            continue
        path = _path(checkout, place.folder, place.name)
        if (place.folder, place.name) in files and not is_rollup(place.name):
            yield Finding(Wrong.ALTERED, place.rank.id, path, "it had another text")
        elif place.rank.id in ids:
            yield Finding(Wrong.ALTERED, place.rank.id, path, "another text has its id")
        else:
            yield Finding(Wrong.MISSING, place.rank.id, path, "it was there before")
