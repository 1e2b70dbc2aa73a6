"""Examine a project as a whole, and fix what is safe to fix."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Final

from passdown import layout
from passdown.core.hosts.installs import HOOKS, PLUGIN, find_called, read_hook_lines, split_line
from passdown.core.problems import Severity
from passdown.core.project import findings
from passdown.core.project.costs import Cost, parse_measures, sum_up
from passdown.core.project.findings import CacheHealth, Finding, FindingKind
from passdown.core.project.git_rules import GENERATED, UNION, PathClasses, attribute_lines, has_line
from passdown.core.project.pauses import OFF
from passdown.core.sessions.session_facts import fold_journal
from passdown.core.times import too_far_ahead
from passdown.errors import PassdownError, StorageError
from passdown.ports.documents import Documents
from passdown.ports.host import Host
from passdown.ports.index import Index
from passdown.ports.programs import ProgramResult, Programs
from passdown.records import record
from passdown.services.log.archive_conflicts import describe_conflicts
from passdown.services.log.archive_writers import find_due as find_due_archive
from passdown.services.log.indexing import Step
from passdown.services.log.migrations import list_kept
from passdown.services.log.synthesis import find_ahead, synthesize
from passdown.services.log.verification import Verdict, verify
from passdown.services.log.views import ViewState
from passdown.services.project.imports import ImportScope, find_due
from passdown.services.project.installs import InstallTarget, find_outdated, plan_sandbox
from passdown.services.project.metrics import read_own_lines
from passdown.services.project.pauses import find_pauses
from passdown.services.project.setups import (
    ATTRIBUTES,
    EXCLUDE,
    IGNORE,
    SetupChange,
    classify_paths,
    is_initialised,
    is_private,
    plan_rules,
    write_setup,
)
from passdown.services.sessions.journals import read_account, read_open
from passdown.services.sessions.liveness import is_live
from passdown.services.sessions.sessions import recover
from passdown.services.workspace.documents import check_document, list_project
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import EventLayout

_AHEAD: Final = 3
_PROBE: Final = "passdown-probe"


@record
class Examination:
    """Everything that `passdown doctor` examines."""

    workspace: Annotated[Workspace, "The checkout."]
    fresh: Annotated[Callable[[], Index], "Makes an empty index."]
    find_leftovers: Annotated[Callable[[], Sequence[str]], "Lists the unfinished writes of dead processes."]
    sweep: Annotated[Callable[[], int], "Removes them, and returns how many there were."]
    variables: Annotated[Mapping[str, str], "The environment."]
    plugin: Annotated[Mapping[str, bytes], "The plugin as it came with the package."]
    installed: Annotated[Sequence[tuple[Host, Mapping[str, bytes]]], "The plugins that hosts have."]
    programs: Annotated[Programs, "Runs programs with nothing in their environment."]
    cache: Annotated[CacheHealth, "Whether the cache can be used."] = CacheHealth.GOOD
    warnings: Annotated[tuple[str, ...], "Problems of the settings."] = ()
    refused: Annotated[str, "Why the settings could not be read; the defaults are used then."] = ""
    no_server: Annotated[PassdownError | None, "Why the coordination server cannot be used."] = None
    round_trip: Annotated[float, "The seconds in which the server answers; 0 without one."] = 0.0
    lost: Annotated[str, "Why the coordination file counts as lost."] = ""
    restored: Annotated[Sequence[str], "When the coordination file was restored, and from what."] = ()
    user_file: Annotated[str, "The user's settings file, by its full path."] = ""
    sandboxes: Annotated[Sequence[InstallTarget], "The hosts that have the plugin and a sandbox."] = ()
    past: Annotated[ImportScope | None, "The transcripts of hosts; null without a place for history."] = None


@record
class FixResult:
    """What was fixed, and what could not be."""

    done: Annotated[tuple[str, ...], "What was done."]
    refused: Annotated[tuple[str, ...], "What could not be done, and why."]


def examine(examination: Examination, step: Step | None = None) -> tuple[Finding, ...]:
    """Return the findings about a project; only the cache is written.

    All events are read again. Events and journals have checks of their own here; all other documents are
    checked as `passdown check` does.
    """
    workspace, fresh = examination.workspace, examination.fresh()
    verdict = verify(workspace, fresh, step)
    leftovers = examination.find_leftovers()
    pauses = find_pauses(workspace, examination.variables)
    return (
        *_find_settings(examination),
        *_find_rules(workspace),
        *([findings.leftovers(leftovers)] if leftovers else []),
        *_find_sessions(workspace),
        *_find_journals(workspace),
        *_find_view(verdict),
        *(findings.kept_view(path, count) for path, count in list_kept(workspace)),
        *_find_events(verdict),
        *_find_archive(workspace),
        *_find_clock(workspace, fresh),
        *_find_layout(workspace),
        *_find_documents(workspace),
        *_find_cache(examination),
        *(findings.paused(one.by, one.since, is_variable=one.by == OFF) for one in pauses),
        *_find_hooks(examination),
        *_find_outdated(examination),
        *_find_sandboxes(examination),
        *_find_transcripts(examination),
    )


# --- set-up ---------------------------------------------------------------------------------------


def _find_settings(examination: Examination) -> Iterator[Finding]:
    if examination.refused:
        yield findings.odd_settings(examination.refused, Severity.ERROR)
    yield from (findings.odd_settings(warning) for warning in examination.warnings)
    if examination.no_server is not None:
        found = examination.no_server
        yield findings.no_server(found.message, found.hint, examination.user_file)
    if slow := findings.judge_round_trip(examination.round_trip):
        yield slow
    if examination.lost:
        yield findings.lost_coordination(examination.lost)
    yield from (findings.restored_coordination(told) for told in examination.restored)
    if not is_initialised(examination.workspace):
        yield findings.not_set_up()


def _find_rules(workspace: Workspace) -> Iterator[Finding]:
    """Check git rules by their effect; in a project that is not set up, only for files that exist."""
    if workspace.git_documents is None:
        return
    areas, repository = classify_paths(workspace.settings.paths), workspace.repository
    private, agreed = is_private(workspace), is_initialised(workspace)
    lacking = {change.path: change for change in plan_rules(workspace, is_private=private)}
    local = [path for path in areas.local if agreed or workspace.documents.exists(path)]
    if open_ := [path for path in local if not repository.is_ignored(f"{path}/{_PROBE}")]:
        has_rules = not lacking.keys() & {IGNORE, EXCLUDE}
        yield findings.not_ignored(open_, is_set_up=agreed, has_rules=has_rules)
    yield from _find_tracked(workspace)
    if private:
        return
    shared = [
        *((folder, f"{folder}/{_PROBE}.md") for folder in areas.shared),
        *((one, one) for one in areas.files),
    ]
    if hidden := [one for one in shared if repository.is_ignored(one[1])]:
        yield findings.ignored([path for path, _ in hidden], hidden[0][1])
    if agreed and ATTRIBUTES in lacking:
        yield from _find_attributes(areas, lacking[ATTRIBUTES])


def _find_attributes(areas: PathClasses, change: SetupChange) -> Iterator[Finding]:
    """Find missing attributes, without which git may change line endings or report conflicts in the view.

    That pull requests show generated files in full is only mentioned if nothing else is missing.
    """
    missing = [line for line in attribute_lines(areas) if not has_line(change.before or b"", line)]
    unions = [line for line in missing if line.endswith(UNION)]
    made = [line for line in missing if line.endswith(GENERATED)]
    if missing and len(made) == len(missing):
        yield findings.not_generated(ATTRIBUTES)
    elif not unions or len(unions) + len(made) < len(missing):
        yield findings.line_ends(ATTRIBUTES)
    if unions:
        yield findings.no_view_merge(ATTRIBUTES, areas.view)


def _find_tracked(workspace: Workspace) -> Iterator[Finding]:
    """Find local files that git tracks; documents of other tools are left out."""
    paths = workspace.settings.paths
    tracked = workspace.tracking.tracked(paths.runtime)
    if not tracked.is_known and workspace.documents.is_folder(paths.runtime):
        yield findings.unknown_tracked(paths.runtime)
    names = {path: path.removeprefix(f"{paths.runtime}/") for path in sorted(tracked.paths)}
    state = [path for path, name in names.items() if layout.is_machine_state(name)]
    yield from findings.tracked_state(state, paths.runtime)
    for path, name in names.items():
        if name in {layout.CURRENT, layout.IGNORE}:
            yield findings.tracked(path, [path])
    if ledgers := sorted(workspace.tracking.tracked(paths.ledgers).paths):
        yield findings.tracked(paths.ledgers, ledgers)


# --- sessions -------------------------------------------------------------------------------------


def _find_sessions(workspace: Workspace) -> Iterator[Finding]:
    for account in read_open(workspace):
        told = fold_journal(account.session, workspace.journals.read(account.session)).start.ledger
        if told != account.start.ledger:
            yield findings.strange_ledger(account.session, told, account.start.ledger)
        if not is_live(workspace, account):
            last = account.ended_at or account.touched_at or workspace.now()
            yield findings.stale_session(
                account.agent, workspace.now() - last, has_ended=account.ended_at is not None
            )


def _find_journals(workspace: Workspace) -> Iterator[Finding]:
    """Check the journals of sessions that still have something to publish."""
    places: list[tuple[Documents, str, str]] = []
    if workspace.git_documents is not None:
        places.append((workspace.git_documents, layout.in_git(layout.JOURNALS), f"{layout.GIT}/"))
    places.append((workspace.documents, f"{workspace.settings.paths.runtime}/{layout.JOURNALS}", ""))
    for documents, folder, start in places:
        for path in _list(documents, folder):
            if path.startswith(f"{folder}/{layout.ENDED}/"):  # nothing is left to publish there
                continue
            checked = check_document(documents, path)
            errors = [one for one in checked.problems if one.severity is Severity.ERROR]
            account = read_account(workspace, path.rpartition("/")[2].removesuffix(".jsonl"))
            if errors and not account.is_published:
                is_known = account.started_at is not None
                yield findings.damaged_journal(
                    f"{start}{path}", len(errors), errors[0].problem, is_known=is_known
                )


def _list(documents: Documents, folder: str) -> Sequence[str]:
    try:
        return [path for path in documents.list(folder) if path.endswith(".jsonl")]
    except StorageError:  # there is nothing to check in an unreadable folder
        return ()


# --- events and view --------------------------------------------------------------------------------


def _find_view(verdict: Verdict) -> Iterator[Finding]:
    """Check the view if it is a tracked file; otherwise the next synthesis rewrites it."""
    place, state = verdict.place, verdict.state
    is_missing = state is ViewState.MISSING
    if not place.is_tracked or state is ViewState.CURRENT or (is_missing and not verdict.event_count):
        return
    if state is ViewState.FOREIGN:
        yield findings.foreign_view(place.path)
    else:
        yield findings.outdated_view(place.path, state.value)


def _find_events(verdict: Verdict) -> Iterator[Finding]:
    if verdict.findings:
        yield findings.altered_events([found.path for found in verdict.findings])
    if verdict.left:
        yield findings.unread_events([left.path for left in verdict.left])


def _find_archive(workspace: Workspace) -> Iterator[Finding]:
    """Find conflicts that archiving made, and what waits for somebody to archive it."""
    if conflicts := describe_conflicts(workspace):
        yield findings.conflicts(*conflicts)
    due = find_due_archive(workspace)
    if due is not None and due.hint is not None:
        yield findings.due_archive(due.what, due.who, due.hint)


def _find_clock(workspace: Workspace, fresh: Index) -> Iterator[Finding]:
    now = workspace.now()
    ahead = find_ahead(fresh, now)
    yield from (findings.future_event(place.rank.id, place.rank.at) for place in ahead[:_AHEAD])
    near = (
        place.ranked_at
        for place in fresh.places()
        if not place.is_retracted and not too_far_ahead(now, place.ranked_at)
    )
    if found := findings.judge_clock(now, next(near, None)):
        yield found


def _find_layout(workspace: Workspace) -> Iterator[Finding]:
    settings = workspace.settings
    if settings.events.layout is EventLayout.FLAT:
        count = len(workspace.log.files(""))
        if found := findings.judge_layout(settings.paths.events, count):
            yield found


# --- the rest ---------------------------------------------------------------------------------------


def _find_documents(workspace: Workspace) -> Iterator[Finding]:
    """Check the project's documents, but not our copies of what a user edited."""
    documents, paths = workspace.documents, workspace.settings.paths
    journals = f"{paths.runtime}/{layout.JOURNALS}"
    apart = tuple(f"{one}/" for one in (paths.events, paths.event_archive, journals))
    broken: list[str] = []
    errors = 0
    for path in list_project(documents, paths):
        if path != paths.view and not path.startswith(apart):
            checked = check_document(documents, path)
            count = sum(one.severity is Severity.ERROR for one in checked.problems)
            broken += [path] if count else []
            errors += count
    if broken:
        yield findings.broken_documents(broken, errors)


def _find_cache(examination: Examination) -> Iterator[Finding]:
    folder = examination.workspace.settings.paths.runtime
    if examination.workspace.git_documents is not None:
        folder = layout.shown_in_git(layout.in_git(layout.CACHE))
    if found := findings.judge_cache(examination.cache, folder):
        yield found


def _find_hooks(examination: Examination) -> Iterator[Finding]:
    """Run the commands that hosts run, in an empty environment and without input (C71)."""
    for host, files in examination.installed:
        for line in map(find_called, read_hook_lines(files.get(f"{PLUGIN}/{HOOKS}", b""))):
            words = split_line(line)
            outcome = examination.programs.run(words) if words else ProgramResult(1, "not a command")
            if not outcome.is_done:
                said = [one for one in outcome.text.splitlines() if one.strip()]
                reason = said[-1] if said else f"exit code {outcome.code}"
                yield findings.silent_hooks(host.title, host.name, line, reason)


def _find_outdated(examination: Examination) -> Iterator[Finding]:
    """Compare what hosts have with what an install would write now (C88)."""
    for host, files in examination.installed:
        way = host.load_install
        if way and (paths := find_outdated(way(), examination.plugin, files)):
            yield findings.outdated_plugin(host.title, host.name, paths)


def _find_sandboxes(examination: Examination) -> Iterator[Finding]:
    """Find sandboxes that may not write to the folder where sessions record (C158)."""
    for target in examination.sandboxes:
        # The host itself reports unreadable settings.
        with suppress(PassdownError):
            if plan_sandbox(target).edits:
                yield findings.closed_sandbox(target.host.title, target.host.name, target.root)


def _find_transcripts(examination: Examination) -> Iterator[Finding]:
    """Find transcripts that a host will delete before they were imported (C134)."""
    if examination.past is not None and is_initialised(examination.workspace):
        workspace = examination.workspace
        for one in find_due(workspace, examination.past, workspace.clock.now()):
            yield findings.due_transcripts(one.host.title, one.host.name, one.transcripts, one.days)


# --- fixing -----------------------------------------------------------------------------------------


def fix_findings(examination: Examination, findings: Sequence[Finding]) -> FixResult:
    """Fix what is safe to fix; report what fails, and continue with the rest.

    1. Git rules are written, in marked blocks of our own.
    2. Unfinished writes of dead processes are removed.
    3. Sessions that never ended are published and ended.
    4. The view is rebuilt last, so that it includes new events.
    """
    workspace = examination.workspace

    def write_rules() -> str:
        changes = plan_rules(workspace, is_private=is_private(workspace))
        write_setup(workspace, changes)
        return f"wrote git rules: {', '.join(change.shown for change in changes)}"

    def sweep() -> str:
        count = examination.sweep()
        return f"removed {count} unfinished write{'' if count == 1 else 's'}"

    def end_sessions() -> str:
        names = [one.account.agent for one in recover(workspace)]
        return f"ended sessions and published their facts: {', '.join(names) or 'none'}"

    rules = {FindingKind.NOT_IGNORED, FindingKind.LINE_ENDS, FindingKind.VIEW_MERGE, FindingKind.GENERATED}
    steps: tuple[tuple[set[FindingKind], Callable[[], str]], ...] = (
        (rules, write_rules),  # 1
        ({FindingKind.LEFTOVERS}, sweep),  # 2
        ({FindingKind.SESSION}, end_sessions),  # 3
        ({FindingKind.VIEW}, lambda: f"rebuilt the view: {synthesize(workspace).written.path}"),  # 4
    )
    codes = {finding.code for finding in findings if finding.is_fixable}
    done: list[str] = []
    refused: list[str] = []
    for wanted, act in steps:
        if codes & wanted:
            try:
                done.append(act())
            except PassdownError as found:
                refused.append(found.message)
    return FixResult(done=tuple(done), refused=tuple(refused))


# --- costs ------------------------------------------------------------------------------------------


def read_costs(workspace: Workspace) -> tuple[list[Cost], int]:
    """Summarize the measured costs of Passdown; also return how many lines cannot be read."""
    measures, skipped = parse_measures(read_own_lines(workspace))
    return sum_up(measures), skipped
