"""Maintain the archive: check every copy of an event against its rollup, and remove old copies (C125).

Rollups have their events in full and stay. Session records stay too: their content exists nowhere else.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, NamedTuple

from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.rollups import is_rollup, name_rollup, parse_rollup
from passdown.core.problems import Severity
from passdown.errors import StorageError
from passdown.records import record
from passdown.services.workspace.documents import check_document
from passdown.services.workspace.workspaces import Workspace


class ArchiveProblem(NamedTuple):
    """A file of the archive and its problem."""

    path: str
    problem: str


@record
class ArchiveVerdict:
    """What is in the archive, and its problems."""

    copies: Annotated[int, "How many archived events have a file of their own."]
    rollups: Annotated[int, "How many rollups there are."]
    events: Annotated[int, "How many events the rollups have."]
    records: Annotated[int, "How many session records there are."]
    problems: Annotated[tuple[ArchiveProblem, ...], "The problems that were found."]


@record
class CleaningPlan:
    """Which old copies can be removed, and which stay although they are old."""

    before: Annotated[datetime, "Copies from before this time are old."]
    due: Annotated[tuple[str, ...], "The copies that can be removed: a rollup has each of them."]
    kept: Annotated[tuple[ArchiveProblem, ...], "The old copies that stay, and why."]


class CheckedRollup(NamedTuple):
    """A rollup, the hashes of the events that can be read in it, and its problems."""

    path: str
    data: bytes
    hashes: frozenset[str]
    problems: Sequence[ArchiveProblem]

    @property
    def reliable(self) -> frozenset[str]:
        """The hashes, if the rollup is exactly as it was written: its events need no other file."""
        return frozenset() if self.problems else self.hashes


class _Rollups(NamedTuple):
    """The hashes in the rollups of each day, and the problems of rollups."""

    held: Mapping[str, frozenset[str]]
    files: int
    events: int
    problems: Sequence[ArchiveProblem]


class _Copy(NamedTuple):
    """A file in the archive of a day, and its event; None if it cannot be read."""

    path: str
    day: str
    data: bytes
    source: EventFacts | None


def verify_archive(workspace: Workspace) -> ArchiveVerdict:
    """Check all rollups, the copies of events against them, and the session records."""
    rollups, folder = _read_rollups(workspace), workspace.settings.paths.events
    problems = [*rollups.problems, *find_missing(workspace, workspace.repository.listing(folder))]
    copies = 0
    for copy in _read_copies(workspace):
        copies += 1
        if wrong := _judge(copy, rollups):
            problems.append(ArchiveProblem(copy.path, wrong))
    records = 0
    for path in workspace.documents.list(workspace.settings.paths.archive):
        records += 1
        found = check_document(workspace.documents, path).problems
        errors = [one for one in found if one.severity is Severity.ERROR]
        problems += [ArchiveProblem(path, f"{errors[0].field} {errors[0].problem}")] if errors else []
    return ArchiveVerdict(
        copies=copies,
        rollups=rollups.files,
        events=rollups.events,
        records=records,
        problems=tuple(problems),
    )


def plan_cleaning(workspace: Workspace, before: datetime) -> CleaningPlan:
    """Return which copies of events from before a time can be removed, where git does not track them.

    1. A copy can only be removed if an intact rollup of its day has the same event, byte for byte.
    2. A file that cannot be read as an event stays, however old it is.
    """
    rollups = _read_rollups(workspace, only_reliable=True)
    due: list[str] = []
    kept: list[ArchiveProblem] = []
    for copy in _read_copies(workspace):
        if copy.source is not None and copy.source.rank.at >= before:
            continue
        if wrong := _judge(copy, rollups):  # 1, 2
            kept.append(ArchiveProblem(copy.path, wrong))
        else:
            due.append(copy.path)
    return CleaningPlan(before=before, due=tuple(due), kept=tuple(kept))


def clean(workspace: Workspace, plan: CleaningPlan) -> Sequence[str]:
    """Remove the planned copies, each only if its rollup still has it; return what was removed.

    Raises a StorageError if a file cannot be removed; what was removed before stays removed.
    """
    rollups = _read_rollups(workspace, only_reliable=True)
    removed: list[str] = []
    for path in plan.due:
        copy = _read_copy(workspace, path)
        if not _judge(copy, rollups) and workspace.documents.remove(path, copy.data):
            removed.append(path)
    return removed


def _read_rollups(workspace: Workspace, *, only_reliable: bool = False) -> _Rollups:
    held: dict[str, frozenset[str]] = {}
    problems: list[ArchiveProblem] = []
    count = 0
    log, events = workspace.log, workspace.settings.paths.events
    for day in log.folders({}):
        hashes: set[str] = set()
        for name in filter(is_rollup, sorted(log.files(day))):
            count += 1
            path = "/".join(part for part in (events, day, name) if part)
            checked = check_rollup(path, log.read(day, name))
            hashes |= checked.reliable if only_reliable else checked.hashes
            problems += checked.problems
        held[day] = frozenset(hashes)
    return _Rollups(held, count, len({one for hashes in held.values() for one in hashes}), problems)


def check_rollup(path: str, data: bytes | None) -> CheckedRollup:
    """Read a rollup, and find out whether it was altered or cut."""
    rollup = parse_rollup(data or b"")
    problems = [ArchiveProblem(path, wrong) for wrong in _check_rollup(path, data, rollup.skipped)]
    hashes = frozenset(source.rank.hash for _, source in rollup.members)
    return CheckedRollup(path, data or b"", hashes, problems)


def find_missing(
    workspace: Workspace, committed: Mapping[str, str], day: str = ""
) -> Iterator[ArchiveProblem]:
    """Yield the rollups of the last commit that are not on disk, of one day or of all."""
    for path in committed:
        folder, _, name = path.rpartition("/")
        is_wanted = is_rollup(name) and folder.endswith(day)
        if is_wanted and not workspace.documents.exists(path):
            yield ArchiveProblem(path, f"is missing; `git checkout -- {path}` restores it")


def _check_rollup(path: str, data: bytes | None, skipped: int) -> Iterator[str]:
    if data is None:
        yield "cannot be read, or is too large"
    elif skipped:
        yield f"{skipped} of its lines cannot be read"
    elif name_rollup(data.replace(b"\r\n", b"\n").decode("utf-8", "replace")) != path.rpartition("/")[2]:
        yield "its name does not match its content"


def _read_copies(workspace: Workspace) -> Iterator[_Copy]:
    folder = workspace.settings.paths.event_archive
    for path in workspace.documents.list(folder):
        if path.endswith(".md"):
            yield _read_copy(workspace, path)


def _read_copy(workspace: Workspace, path: str) -> _Copy:
    folder, _, name = path.rpartition("/")
    try:
        data = workspace.documents.read(path)
    except StorageError:
        data = b""
    return _Copy(path, folder.rpartition("/")[2], data, parse_event_facts(data, name))


def _judge(copy: _Copy, rollups: _Rollups) -> str:
    """Return the problem of a copy; empty if a rollup of its day has the same event."""
    if copy.source is None:
        return "cannot be read as an event"
    if copy.source.rank.hash not in rollups.held.get(copy.day, ()):
        return f"is not in any rollup of {copy.day} with this text"
    return ""
