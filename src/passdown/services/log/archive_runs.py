"""Archive events in one commit: rollups, moved files, removed copies (C127).

Only files that the last commit has are touched. A file is removed only if a rollup that the commit has holds
the same event, compared by its hash. After an interruption the last commit still has everything, and the next
run continues.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Annotated, Final, NamedTuple

from passdown.core.git_hash import git_blob_id
from passdown.core.ids import parse_event_file_name
from passdown.core.merge.archive_runs import COPY_DAYS, RunChoice, RunRules, TrackedEvent, choose_files
from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.rollups import RollupMember, is_rollup, name_rollup, render_rollups
from passdown.core.times import parse_instant
from passdown.errors import StorageError
from passdown.ports.repository import Committed, Skipped, SkipReason
from passdown.records import record, replace
from passdown.services.log.archive_writers import (
    ArchiveWriter,
    find_branch_refusal,
    find_own_sessions,
    find_unasked_refusal,
    is_automatic,
    read_writer,
)
from passdown.services.log.commits import ARCHIVING, find_merged_view
from passdown.services.log.event_archive import ArchiveProblem, CheckedRollup, check_rollup, find_missing
from passdown.services.log.events import update_portion
from passdown.services.log.rollups import AT_ONCE, NOTHING_ARCHIVED, ArchivedEvents
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import Archiver

_LOCK: Final = "archive"
_WAIT: Final = 10.0
_NOTHING: Final = Skipped(why=SkipReason.NOTHING, reason="nothing to archive")


@record
class RunPlan:
    """What a run would do."""

    moved: Annotated[tuple[str, ...], "The single files that move to the archive."]
    removed: Annotated[tuple[str, ...], "The single files and copies that are removed."]
    uncommitted: Annotated[int, "How many files that are due stay, because the last commit lacks them."]
    choice: Annotated[RunChoice, "The same files with their days."]
    interrupted: Annotated[tuple[str, ...], "Files that are gone, but not in the last commit."]
    committed: Annotated[Mapping[str, str], "The files of events in the last commit."]
    only_own: Annotated[bool, "Whether only files of this clone's own sessions are removed."]
    folders: Annotated[tuple[str, ...], "The folders that were searched."]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.moved or self.removed or self.interrupted)


@record
class RunResult:
    """What a run did."""

    moved: Annotated[int, "How many single files moved to the archive."]
    removed: Annotated[int, "How many single files and copies were removed."]
    interrupted: Annotated[int, "How many files were committed that an interrupted run had removed."]
    gone: Annotated[tuple[str, ...], "The files that are gone from where they were."]
    days: Annotated[int, "How many days they are of."]
    rollups: Annotated[int, "How many rollups were committed."]
    uncommitted: Annotated[int, "How many files that are due stay, because the last commit lacks them."]
    kept: Annotated[tuple[ArchiveProblem, ...], "The other files that stay although they are due, and why."]
    committed: Annotated[Committed | Skipped, "The commit, or why there is none."]


# --- the plan -----------------------------------------------------------------------------------------


def _plan_run(workspace: Workspace, writer: ArchiveWriter, most: int | None) -> RunPlan:
    """Plan what is due, or the first `most` files of it.

    Only the first folders are searched for a few files, unless a run was interrupted, which can have left
    files of any day, or all files count.
    """
    events = workspace.settings.events
    rules = RunRules(
        today=workspace.clock.now().date(),
        retention_days=events.retention_days,
        is_early=events.archiver is Archiver.JOB,
        most=most,
    )

    def choose(files: Sequence[TrackedEvent]) -> RunChoice:
        return choose_files(files, rules)

    if most is not None and not rules.is_early and not ARCHIVING.is_put(workspace):
        few = _plan(workspace, writer, choose, _find_oldest(workspace, rules, most))
        if not few.is_empty and _is_searched(workspace, few):
            return few
    return _plan(workspace, writer, choose, _find_all(workspace))


def _plan_cleaning(workspace: Workspace, writer: ArchiveWriter, before: date) -> RunPlan:
    def choose(files: Sequence[TrackedEvent]) -> RunChoice:
        return RunChoice((), tuple(one for one in sorted(files) if one.is_copy and one.day < before))

    return _plan(workspace, writer, choose, _find_all(workspace))


class _FoundFiles(NamedTuple):
    """The files of events in some folders: in the last commit with their ids, and on disk."""

    folders: tuple[str, ...]
    committed: Mapping[str, str]
    there: set[str]


def _find_all(workspace: Workspace) -> _FoundFiles:
    paths = workspace.settings.paths
    folders = (paths.events, paths.event_archive)
    there = {
        *_list_single(workspace, workspace.log.folders({})),
        *workspace.documents.list(paths.event_archive),
    }
    return _FoundFiles(folders, workspace.repository.listing(*folders), there)


def _find_oldest(workspace: Workspace, rules: RunRules, most: int) -> _FoundFiles:
    """Search only the folders of the oldest files, so that the time does not grow with the others.

    These are the folders of the first single files and of the first copies that the archive keeps no longer,
    each with those of the rollups and copies of its days.
    """
    paths = workspace.settings.paths
    single = workspace.index.oldest_single(most)
    named = (parse_event_file_name(one.rpartition("/")[2]) for one in single)
    days = {one.at.date().isoformat() for one in named if one} | {*_list_old_copies(workspace, rules, most)}
    places = sorted({*days, *(one.rpartition("/")[0] for one in single)})
    copies = [f"{paths.event_archive}/{day}" for day in sorted(days)]
    folders = (*("/".join(filter(None, (paths.events, place))) for place in places), *copies)
    there = {
        *_list_single(workspace, places),
        *(path for one in copies for path in workspace.documents.list(one)),
    }
    entries = workspace.tracking.entries(folders)
    return _FoundFiles(folders, {path: name for path, name in entries.items() if path[-1] != "/"}, there)


def _list_old_copies(workspace: Workspace, rules: RunRules, most: int) -> Iterator[str]:
    """Yield the first days of copies that the archive keeps no longer, until they hold enough."""
    archive, found = workspace.settings.paths.event_archive, 0
    for day in workspace.documents.folders(archive):
        at = parse_instant(day)
        if found < most and at and at.date() < rules.today - timedelta(days=COPY_DAYS):
            found += sum(1 for _ in workspace.documents.list(f"{archive}/{day}"))
            yield day


def _is_searched(workspace: Workspace, plan: RunPlan) -> bool:
    """Return whether the days of all chosen events were searched: a file's name can have another date."""
    days = [_read_event_day(workspace, one.path) for one in (*plan.choice.moved, *plan.choice.removed)]
    return {f"{workspace.settings.paths.events}/{day}" for day in days if day} <= {*plan.folders}


def _read_event_day(workspace: Workspace, path: str) -> str:
    """Return the day of an event by its content; empty if it cannot be read."""
    try:
        source = parse_event_facts(workspace.documents.read(path), path.rpartition("/")[2])
    except StorageError:
        return ""
    return source.rank.at.date().isoformat() if source else ""


def _plan(
    workspace: Workspace,
    writer: ArchiveWriter,
    choose: Callable[[Sequence[TrackedEvent]], RunChoice],
    found: _FoundFiles,
) -> RunPlan:
    committed, there = found.committed, found.there
    tracked = [one for path in committed if (one := _track(workspace, path))]
    new = [one for path in there - committed.keys() if (one := _track(workspace, path))]
    choice = choose([one for one in tracked if one.path in there])
    waiting = choose([one for one in new if not one.is_copy])
    return RunPlan(
        moved=tuple(one.path for one in choice.moved),
        removed=tuple(one.path for one in choice.removed),
        uncommitted=len(waiting.moved) + len(waiting.removed),
        choice=choice,
        interrupted=tuple(one.path for one in tracked if one.path not in there),
        committed=committed,
        only_own=writer.only_own,
        folders=found.folders,
    )


def _list_single(workspace: Workspace, folders: Iterable[str]) -> Iterator[str]:
    events = workspace.settings.paths.events
    for folder in folders:
        for name in workspace.log.files(folder):
            yield "/".join(filter(None, (events, folder, name)))


def _track(workspace: Workspace, path: str) -> TrackedEvent | None:
    """Return an event in a file of its own; None for rollups and files without a date in their names."""
    folder, _, name = path.rpartition("/")
    archive = workspace.settings.paths.event_archive
    if not path.startswith(f"{archive}/"):
        named = parse_event_file_name(name)
        return TrackedEvent(named.at.date(), path, is_copy=False) if named else None
    at = parse_instant(folder.rpartition("/")[2])
    return TrackedEvent(at.date(), path, is_copy=True) if at and name.endswith(".md") else None


# --- the run ------------------------------------------------------------------------------------------


class _Single(NamedTuple):
    """An event that was read: where its file is, its bytes, and what merging knows about it."""

    tracked: TrackedEvent
    data: bytes
    source: EventFacts

    @property
    def day(self) -> str:
        """The day of its rollup."""
        return self.source.rank.at.date().isoformat()

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.tracked.path.rpartition("/")[2]


class _Run:
    """A run in progress: what it read, and what it has to commit."""

    def __init__(self, workspace: Workspace, plan: RunPlan) -> None:
        self.workspace = workspace
        self.plan = plan
        self.kept: list[ArchiveProblem] = []
        self.staged = workspace.archive_branch.staged_in(*plan.folders)
        self.own = find_own_sessions(workspace) if plan.only_own else frozenset[str]()
        self.rollups: dict[str, Sequence[CheckedRollup]] = {}

    def keep(self, path: str, problem: str) -> None:
        self.kept.append(ArchiveProblem(path, problem))

    def read(self, files: Iterable[TrackedEvent]) -> list[_Single]:
        """Read files that are as the last commit has them; keep all others."""
        return [found for one in files if (found := self._read(one))]

    def _read(self, one: TrackedEvent) -> _Single | None:
        try:
            data = self.workspace.documents.read(one.path)
        except StorageError:
            self.keep(one.path, "cannot be read")
            return None
        if one.path in self.staged or not is_same(data, self.plan.committed[one.path]):
            self.keep(one.path, "was changed since the last commit")
            return None
        return self.judge(one, data)

    def judge(self, one: TrackedEvent, data: bytes) -> _Single | None:
        """Return an event that may be archived; keep any other."""
        source = parse_event_facts(data, one.path.rpartition("/")[2])
        if source is None:
            self.keep(one.path, "cannot be read as an event")
        elif source.rank.at.date() > one.day:
            self.keep(one.path, "is dated later than its name")
        elif self.plan.only_own and source.session not in self.own:
            self.keep(one.path, "is of a session in another clone")
        else:
            return _Single(one, data, source)
        return None

    def read_rollups(self, day: str) -> Sequence[CheckedRollup]:
        """Return the rollups of a day, as they are on disk now; wrong ones are kept once."""
        log, events = self.workspace.log, self.workspace.settings.paths.events
        names = filter(is_rollup, sorted(log.files(day)))
        found = [check_rollup(f"{events}/{day}/{name}", log.read(day, name)) for name in names]
        wrong = [*(one for rollup in found for one in rollup.problems)]
        wrong += find_missing(self.workspace, self.plan.committed, day)
        self.kept += [one for one in wrong if one not in self.kept]
        self.rollups[day] = found
        return found

    def is_held(self, one: _Single) -> bool:
        """Return whether a rollup holds the event; keep it if none does."""
        rollups = self.rollups.get(one.day) or self.read_rollups(one.day)
        if any(one.source.rank.hash in rollup.reliable for rollup in rollups):
            return True
        self.keep(one.tracked.path, f"is not in any rollup of {one.day} with this text")
        return False


def is_same(data: bytes, blob: str) -> bool:
    """Return whether git's content with this id is that of a file, apart from line ends."""
    if git_blob_id(data, like=blob) == blob:
        return True
    return git_blob_id(data.replace(b"\r\n", b"\n"), like=blob) == blob


class Writing(NamedTuple):
    """What to archive: everything that is due, or with `before` only copies from before a day."""

    before: date | None = None
    most: int | None = None


def archive_all(workspace: Workspace) -> tuple[ArchivedEvents, str]:
    """Archive everything that is due, if this is the clone that archives; return why not otherwise."""
    writer = read_writer(workspace)
    refused = find_branch_refusal(workspace) or find_unasked_refusal(writer) or find_merged_view(workspace)
    if refused is not None:
        return NOTHING_ARCHIVED, f"{refused.reason}; {refused.hint}"
    done = run(workspace, writer, Writing())
    return ArchivedEvents(done.moved, done.days), find_failure(done) or _find_uncommitted(done)


def archive_due(workspace: Workspace) -> ArchivedEvents | None:
    """Archive some of what is due, if sessions do that in this checkout; the next one continues."""
    if not is_automatic(workspace) or find_branch_refusal(workspace) is not None:
        return None
    done = run(workspace, read_writer(workspace), Writing(most=AT_ONCE))
    return ArchivedEvents(done.moved, done.days)


def _find_uncommitted(done: RunResult) -> str:
    if not done.uncommitted:
        return ""
    events = "1 event is" if done.uncommitted == 1 else f"{done.uncommitted} events are"
    return f"{events} not committed yet; run `passdown synthesize --archive --commit`"


def find_failure(done: RunResult) -> str:
    """Return why a run could not commit; empty if it could, or had nothing to do."""
    found = done.committed
    is_failed = isinstance(found, Skipped) and found.why is not SkipReason.NOTHING
    return f"{found.reason}; {found.hint}" if isinstance(found, Skipped) and is_failed else ""


def plan(workspace: Workspace, writer: ArchiveWriter, wanted: Writing) -> RunPlan:
    """Find out what a run would do; nothing is changed."""
    if wanted.before is not None:
        return _plan_cleaning(workspace, writer, wanted.before)
    return _plan_run(workspace, writer, wanted.most)


def count_interrupted(workspace: Workspace, plan: RunPlan) -> int:
    """Count the files that an interrupted run removed and that a run would commit."""
    return sum(1 for _ in _find_interrupted(_Run(workspace, plan)))


def run(workspace: Workspace, writer: ArchiveWriter, wanted: Writing) -> RunResult:
    """Archive what is due; of several runs in a clone, one after the other does."""
    with workspace.locks.held(_LOCK, 0.0 if workspace.is_hook else _WAIT) as is_held:
        if not is_held:
            reason = "another process of this clone archives"
            return _nothing(Skipped(why=SkipReason.LOCKED, reason=reason, hint="try again when it is done"))
        planned = plan(workspace, writer, wanted)
        if planned.is_empty:
            ARCHIVING.remove(workspace)
            return replace(_nothing(_NOTHING), uncommitted=planned.uncommitted)
        return carry_out(workspace, planned)


def _nothing(why: Skipped) -> RunResult:
    return RunResult(
        moved=0, removed=0, interrupted=0, gone=(), days=0, rollups=0, uncommitted=0, kept=(), committed=why
    )


def carry_out(workspace: Workspace, plan: RunPlan) -> RunResult:
    """Archive what was planned, and commit it.

    1. Rollups of all events are written durably, and read again from disk.
    2. Single files move or are removed, and copies are removed, each only if a rollup holds its event.
    3. What an interrupted run removed is committed, too, under the same condition.
    """
    run = _Run(workspace, plan)
    ARCHIVING.put(workspace)
    moved = run.read(plan.choice.moved)
    removed = run.read(plan.choice.removed)
    _write_rollups(run, [*moved, *(one for one in removed if not one.tracked.is_copy)])  # 1
    moved = [one for one in moved if run.is_held(one)]
    removed = [one for one in removed if run.is_held(one)]
    interrupted = [*_find_interrupted(run)]
    gone = [*_move(run, moved), *_remove(run, removed), *interrupted]  # 2, 3
    update_portion(workspace.log, workspace.index)
    made = _commit(run, gone)
    names = {one.tracked.path for one in gone}
    return RunResult(
        moved=sum(one.tracked.path in names for one in moved),
        removed=sum(one.tracked.path in names for one in removed),
        interrupted=len(interrupted),
        gone=tuple(sorted(names)),
        days=len({one.day for one in gone}),
        rollups=sum(map(_is_rollup, made.paths)) if isinstance(made, Committed) else 0,
        uncommitted=plan.uncommitted,
        kept=tuple(run.kept),
        committed=made,
    )


def _is_rollup(path: str) -> bool:
    return is_rollup(path.rpartition("/")[2])


def _write_rollups(run: _Run, single: Sequence[_Single]) -> None:
    days: dict[str, list[_Single]] = {}
    for one in single:
        days.setdefault(one.day, []).append(one)
    for day, members in sorted(days.items()):
        known = {name for rollup in run.read_rollups(day) for name in rollup.reliable}
        new = [
            (RollupMember(one.name, one.data), one.source)
            for one in members
            if one.source.rank.hash not in known
        ]
        for text in render_rollups(date.fromisoformat(day), new):
            run.workspace.log.create(day, name_rollup(text), text.encode())
        if new:
            run.read_rollups(day)


def _move(run: _Run, single: Sequence[_Single]) -> Iterator[_Single]:
    """Move files to the archive; yield those that moved."""
    log = run.workspace.log
    for (folder, day), files in _by_folder(run, single).items():
        log.archive(folder, list(files), day)
        left = log.files(folder)
        for name, one in files.items():
            if name in left:
                run.keep(one.tracked.path, "is in the archive with another text")
            else:
                yield one


def _remove(run: _Run, files: Sequence[_Single]) -> Iterator[_Single]:
    """Remove single files and copies; yield those that are gone."""
    for is_copy in (False, True):
        chosen = [one for one in files if one.tracked.is_copy is is_copy]
        for (folder, _), named in _by_folder(run, chosen).items():
            data = {name: one.data for name, one in named.items()}
            removed = run.workspace.log.discard(folder, data, is_archived=is_copy)
            yield from (named[name] for name in removed)


def _by_folder(run: _Run, files: Sequence[_Single]) -> Mapping[tuple[str, str], dict[str, _Single]]:
    """Group files by their folder in the log or the archive, and by their day."""
    paths = run.workspace.settings.paths
    found: dict[tuple[str, str], dict[str, _Single]] = {}
    for one in files:
        top = paths.event_archive if one.tracked.is_copy else paths.events
        folder = one.tracked.path.rpartition("/")[0].removeprefix(top).strip("/")
        found.setdefault((folder, one.day), {})[one.name] = one
    return found


def _find_interrupted(run: _Run) -> Iterator[_Single]:
    """Yield the files that are gone although the last commit has them, and that a rollup holds.

    All others were removed by the user, who commits that or restores them.
    """
    plan = run.plan
    texts = run.workspace.history.contents([plan.committed[path] for path in plan.interrupted])
    for path in plan.interrupted:
        tracked, data = _track(run.workspace, path), texts.get(plan.committed[path])
        one = run.judge(tracked, data) if tracked and data is not None else None
        if one and run.is_held(one):
            yield one


def _commit(run: _Run, gone: Sequence[_Single]) -> Committed | Skipped:
    """Commit what is gone, where it went, and the rollups that the last commit lacks."""
    workspace, paths = run.workspace, run.workspace.settings.paths
    committed = run.plan.committed
    rollups = [
        rollup.path
        for day in sorted({one.day for one in gone})
        for rollup in run.rollups[day]
        if not rollup.problems and not is_same(rollup.data, committed.get(rollup.path, ""))
    ]
    copies = [f"{paths.event_archive}/{one.day}/{one.name}" for one in gone if not one.tracked.is_copy]
    if copies and workspace.repository.is_ignored(copies[0]):
        copies = []
    copies = [path for path in copies if path not in committed and workspace.documents.exists(path)]
    own = [*(one.tracked.path for one in gone), *rollups, *copies]
    if not own:
        ARCHIVING.remove(workspace)
        return _NOTHING
    made = workspace.archive_branch.commit_files(own, _message(gone, len(rollups)))
    if isinstance(made, Committed):
        ARCHIVING.remove(workspace)
    return made


def _message(gone: Sequence[_Single], rollups: int) -> str:
    """Return the commit message; its form tells our own commits apart from others."""
    copies = sum(one.tracked.is_copy for one in gone)
    events = len(gone) - copies
    parts = [
        f"{events} event{'' if events == 1 else 's'} archived" if events else "",
        f"{copies} archive file{'' if copies == 1 else 's'} removed" if copies else "",
    ]
    said = ", ".join(filter(None, parts))
    return f"passdown: {said} ({rollups} new rollup{'' if rollups == 1 else 's'})"
