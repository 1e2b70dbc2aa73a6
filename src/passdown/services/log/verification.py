"""Verify a view against its events from scratch; report each missing or altered event (C63, C64).

The last commit is checked on its own, regardless of the working tree.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from passdown.core.formats.events import parse_event
from passdown.core.formats.view_footer import check_footer
from passdown.core.formats.view_location import ViewLocation
from passdown.core.formats.views import Footer, parse_view
from passdown.core.git_hash import git_blob_id
from passdown.core.lazy_regex import pattern
from passdown.core.merge.event_facts import EventFacts, is_blank, parse_event_facts
from passdown.core.merge.rollups import Rollup, RollupMember, is_rollup
from passdown.errors import FormatError
from passdown.ports.event_log import EventLog
from passdown.ports.index import EventFile, EventLocation, Index, LogChange
from passdown.records import field, record
from passdown.services.log.events import name_event, parse_events, update_index
from passdown.services.log.indexing import Step
from passdown.services.log.views import ViewState, judge_data, judge_view, read_view, view_place
from passdown.services.workspace.workspaces import Workspace

_CHANGED: Final = frozenset({ViewState.EDITED, ViewState.MERGED, ViewState.FOREIGN})
_OURS: Final = pattern(r"ev-[0-9a-f]{16}")


class EventDamage(StrEnum):
    """What can be wrong with an event."""

    MISSING = "missing"
    ALTERED = "altered"


class DamagedEvent(NamedTuple):
    """An event that was changed or lost: which one, where, and how we know."""

    wrong: EventDamage
    event: str
    path: str
    reason: str


class UnmergedFile(NamedTuple):
    """A file that could not be merged, and why."""

    path: str
    problem: str


@record
class Verdict:
    """The result of a verification."""

    place: Annotated[ViewLocation, "Where the view is."]
    state: Annotated[ViewState, "How it compares with a view made from the events."]
    event_count: Annotated[int, "How many events there are."]
    recorded_count: Annotated[int | None, "How many events the view says it was made from."]
    are_events_recorded: Annotated[bool, "Whether the view was made from exactly these events."]
    findings: Annotated[tuple[DamagedEvent, ...], "Events that are missing or altered."]
    left: Annotated[tuple[UnmergedFile, ...], "Files that cannot be merged."]

    @property
    def is_good(self) -> bool:
        """Whether view and events are as recorded."""
        return self.state is ViewState.CURRENT and not self.findings

    @property
    def is_outdated(self) -> bool:
        """Whether the only problem is that the view is older than its events, or was never made.

        A view of the same events by the same renderer can only differ if it was edited.
        """
        if self.findings or self.state in _CHANGED | {ViewState.CURRENT}:
            return False
        if self.state is ViewState.MISSING or self.are_events_recorded:
            return self.state is not ViewState.OUTDATED
        return self.recorded_count is None or self.recorded_count < self.event_count


@record
class CommittedView:
    """The view in the last commit."""

    place: Annotated[ViewLocation, "Where the view is on this branch."]
    state: Annotated[ViewState, "How it compares with the events of the commit."]
    event_count: Annotated[int, "How many events the commit has."]
    is_unchanged: Annotated[bool, "Whether the file in the working tree is the committed one."]

    @property
    def is_whole(self) -> bool:
        """Whether the view of the commit matches its events, or there are neither."""
        is_empty = self.event_count == 0 and self.state is ViewState.MISSING
        return self.state is ViewState.CURRENT or is_empty


@record(frozen=False)
class _Scan:
    """The result of reading all events."""

    found: list[EventFile] = field(default_factory=list[EventFile])
    left: list[UnmergedFile] = field(default_factory=list[UnmergedFile])
    altered: list[DamagedEvent] = field(default_factory=list[DamagedEvent])
    names: set[str] = field(default_factory=set[str])


def verify(workspace: Workspace, fresh: Index, step: Step | None = None) -> Verdict:
    """Read all events into an empty index, and compare them with everything that was recorded.

    1. Our ids are computed from the content of events: another text has another id.
    2. A committed event never changes, and only disappears into a rollup.
    3. Everything that the cache knew at its last update still exists. This is only checked if the view does
       not match its events: a checkout on another branch has other events, which is fine.
    """
    known = workspace.index.places()
    scan = _read_all(workspace, step)
    with fresh.changing():
        fresh.apply(LogChange({}, (), scan.found))
    place = view_place(workspace.repository, workspace.settings)
    state = judge_view(workspace.documents, place.path, fresh)
    footer = _read_footer(read_view(workspace.documents, place.path))
    digest = fresh.digest(1)
    are_recorded = footer.events_sha256 == digest.events_sha256
    findings = [*scan.altered, *sorted(_compare_commit(workspace, scan), key=_path_of)]  # 1, 2
    if footer.events_sha256 is not None and not are_recorded:  # 3
        findings += _compare_cache(workspace, known, fresh)
    return Verdict(
        place=place,
        state=state,
        event_count=digest.event_count,
        recorded_count=footer.event_count,
        are_events_recorded=are_recorded,
        findings=_distinct(findings),
        left=tuple(scan.left),
    )


def _path_of(finding: DamagedEvent) -> str:
    return finding.path


def _distinct(findings: Sequence[DamagedEvent]) -> tuple[DamagedEvent, ...]:
    """Report each event once, by its id if that is known."""
    named: dict[tuple[str, str], DamagedEvent] = {}
    for one in findings:
        key = (one.path, one.event if is_rollup(one.path.rpartition("/")[2]) else "")
        if key not in named or not named[key].event:
            named[key] = one
    return tuple(named.values())


def _read_footer(data: bytes | None) -> Footer:
    if data is None or check_footer(data.decode("utf-8", "replace")) is None:
        return Footer()
    try:
        return parse_view(data.decode("utf-8", "replace")).footer or Footer()
    except FormatError:
        return Footer()


def _path(workspace: Workspace, folder: str, name: str) -> str:
    return "/".join(part for part in (workspace.settings.paths.events, folder, name) if part)


def _read_all(workspace: Workspace, step: Step | None) -> _Scan:
    scan = _Scan()
    log = workspace.log
    files = [
        (folder, name, mark) for folder in log.folders({}) for name, mark in sorted(log.files(folder).items())
    ]
    for number, (folder, name, mark) in enumerate(files, 1):
        path = _path(workspace, folder, name)
        data = log.read(folder, name)
        found = Rollup(skipped=1) if data is None else parse_events(name, data)
        if data is None:
            scan.left.append(UnmergedFile(path, "cannot be read, or is too large"))
        elif found.skipped:
            lines = f"{found.skipped} of its lines cannot be read"
            scan.left.append(UnmergedFile(path, lines if is_rollup(name) else _name_problem(data)))
        for member, source in found.members:
            scan.altered += _check_id(path, member, source)
        scan.names.update(member.name for member, _ in found.members)
        sources = tuple(source for _, source in found.members)
        scan.found.append(EventFile(folder, name, mark, sources, found.skipped))
        if step is not None:
            step(number, len(files))
    return scan


def _name_problem(data: bytes) -> str:
    """Return why an event cannot be merged."""
    try:
        event = parse_event(data.decode("utf-8"))
    except UnicodeDecodeError:
        return "is not UTF-8 text"
    except FormatError as found:
        return found.message
    if is_blank(data.decode("utf-8")):
        return "is empty: it has neither front matter nor facts"
    names = " and ".join(name for name in ("ts", "agent") if not getattr(event, name))
    return f"{names} cannot be read, and the file name does not contain it"


def _check_id(path: str, member: RollupMember, source: EventFacts) -> Iterator[DamagedEvent]:
    """Compare one of our ids with the text it was computed from (1)."""
    if not _OURS.fullmatch(source.rank.id):
        return
    try:
        event = parse_event(member.data.decode("utf-8").replace("\r\n", "\n"))
    except FormatError:  # a newer version, which we cannot render as its writer did
        return
    if name_event(event).id != source.rank.id:
        yield DamagedEvent(EventDamage.ALTERED, source.rank.id, path, "its text does not match its id")


def _compare_commit(workspace: Workspace, scan: _Scan) -> Iterator[DamagedEvent]:
    """Compare the events with those in the last commit (2)."""
    there = {(found.folder, found.name): found for found in scan.found}
    start = f"{workspace.settings.paths.events}/"
    gone: dict[str, str] = {}
    for path, committed in sorted(workspace.repository.listing(workspace.settings.paths.events).items()):
        folder, _, name = path.removeprefix(start).rpartition("/")
        if not name.endswith(".md") and not is_rollup(name):
            continue
        found = there.get((folder, name))
        if found is None:
            gone[path] = committed
            continue
        data = workspace.log.read(folder, name) or b""
        lf = data.replace(b"\r\n", b"\n")
        if committed not in {git_blob_id(data, like=committed), git_blob_id(lf, like=committed)}:
            names = ", ".join(source.rank.id for source in found.sources[:1]) if not is_rollup(name) else ""
            yield DamagedEvent(EventDamage.ALTERED, names, path, "it differs from the last commit")
    for path in _find_lost(workspace, scan, gone):
        yield DamagedEvent(EventDamage.MISSING, "", path, "the last commit has it")


def _find_lost(workspace: Workspace, scan: _Scan, gone: Mapping[str, str]) -> Iterator[str]:
    """Yield the committed files that are gone, if no other file has their event with the same text (2).

    If git cannot show the committed text, as in a partial clone, a file of the same name is enough.
    """
    held = {source.rank.hash for found in scan.found for source in found.sources} if gone else set[str]()
    texts: Mapping[str, bytes] = workspace.history.contents([*gone.values()]) if gone else {}
    for path, committed in gone.items():
        name = path.rpartition("/")[2]
        data = texts.get(committed)
        source = None if data is None else parse_event_facts(data, name)
        is_held = name in scan.names if data is None else source is not None and source.rank.hash in held
        if is_rollup(name) or not is_held:
            yield path


def _compare_cache(
    workspace: Workspace, known: Sequence[EventLocation], fresh: Index
) -> Iterator[DamagedEvent]:
    """Compare the events with those that the cache knew at its last update (3)."""
    places = fresh.places()
    hashes = {place.rank.hash for place in places}
    files: Mapping[tuple[str, str], EventLocation] = {(place.folder, place.name): place for place in places}
    ids = {place.rank.id for place in places}
    for place in known:
        if place.rank.hash in hashes:
            continue
        path = _path(workspace, place.folder, place.name)
        if (place.folder, place.name) in files and not is_rollup(place.name):
            yield DamagedEvent(EventDamage.ALTERED, place.rank.id, path, "its text has changed")
        elif place.rank.id in ids:
            yield DamagedEvent(EventDamage.ALTERED, place.rank.id, path, "another event has its id")
        else:
            yield DamagedEvent(EventDamage.MISSING, place.rank.id, path, "it existed before")


def check_committed(workspace: Workspace, log: EventLog, index: Index) -> CommittedView:
    """Judge the view of the last commit by the events in it, which `log` holds; nothing is written."""
    update_index(log, index)
    place = view_place(workspace.repository, workspace.settings)
    name = workspace.repository.listing(place.path.rpartition("/")[0]).get(place.path, "")
    data = workspace.history.contents([name]).get(name) if name else None
    there = read_view(workspace.documents, place.path)
    return CommittedView(
        place=place,
        state=judge_data(data, index),
        event_count=index.digest(1).event_count,
        is_unchanged=(git_blob_id(there, like=name) if there is not None else "") == name,
    )
