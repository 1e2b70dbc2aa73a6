"""Examine a project as a whole, and mend what is safe to mend."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Final

from passdown.core import ailments
from passdown.core.ailments import Ailment, Cache, Finding
from passdown.core.costs import FILE, Cost, parse_measures, sum_up
from passdown.core.installs import HOSTS, read_hook_lines, split_line
from passdown.core.pauses import OFF
from passdown.core.problems import Severity
from passdown.core.times import too_far_ahead
from passdown.errors import PassdownError, StorageError
from passdown.ports.documents import Documents
from passdown.ports.index import Index
from passdown.ports.programs import Outcome, Programs
from passdown.records import record
from passdown.services.checkouts import Site
from passdown.services.documents import check_document, list_project
from passdown.services.events import Step
from passdown.services.journals import Project, read_account, read_open
from passdown.services.local_files import list_places
from passdown.services.pauses import find_pauses
from passdown.services.presence import is_live
from passdown.services.sessions import recover
from passdown.services.setups import (
    ATTRIBUTES,
    EXCLUDE,
    IGNORE,
    areas_of,
    is_initialised,
    is_private,
    plan_rules,
    write_setup,
)
from passdown.services.synthesis import find_ahead, synthesize
from passdown.services.verification import Verdict, verify
from passdown.services.views import ViewState
from passdown.settings import EventLayout

_JOURNAL: Final = "journal"
_AHEAD: Final = 3
_MOST_BYTES: Final = 67_108_864
_PROBE: Final = "passdown-probe"
_CACHE: Final = ".git/passdown/cache"


@record
class Patient:
    """All that is looked at."""

    project: Annotated[Project, "What sessions work with."]
    site: Annotated[Site, "The checkout's folder, and git's own."]
    fresh: Annotated[Callable[[], Index], "Makes an empty index."]
    find_leftovers: Annotated[Callable[[], Sequence[str]], "Names the unfinished writes of dead processes."]
    sweep: Annotated[Callable[[], int], "Removes them, and says how many there were."]
    variables: Annotated[Mapping[str, str], "The environment."]
    hooks: Annotated[Mapping[str, bytes], "The hooks of the hosts that have the plugin."]
    programs: Annotated[Programs, "Runs programs with nothing in their environment."]
    cache: Annotated[Cache, "Whether the cache can be used."] = Cache.GOOD
    warnings: Annotated[tuple[str, ...], "What is odd about the settings."] = ()
    refused: Annotated[str, "Why the settings could not be read at all; then the defaults are used."] = ""


@record
class Mended:
    """What was mended, and what could not be."""

    done: Annotated[tuple[str, ...], "What was done."]
    refused: Annotated[tuple[str, ...], "What could not be done, and why."]


def examine(patient: Patient, step: Step | None = None) -> tuple[Finding, ...]:
    """Say what is wrong with a project; nothing is written but the cache.

    All events are read anew. Documents are checked but for events and journals, which have checks of their
    own here.
    """
    verdict, fresh = _verify(patient, step)
    return (
        *_find_settings(patient),
        *_find_rules(patient.site),
        *_find_leftovers(patient),
        *_find_sessions(patient.project),
        *_find_journals(patient),
        *_find_view(verdict),
        *_find_events(verdict),
        *_find_clock(patient.project, fresh),
        *_find_layout(patient.project),
        *_find_documents(patient.project),
        *_find_cache(patient),
        *_find_pauses(patient),
        *_find_hooks(patient),
    )


def _verify(patient: Patient, step: Step | None) -> tuple[Verdict, Index]:
    fresh = patient.fresh()
    return verify(patient.project.checkout, fresh, step), fresh


# --- set-up ---------------------------------------------------------------------------------------


def _find_settings(patient: Patient) -> Iterator[Finding]:
    if patient.refused:
        yield ailments.odd_settings(patient.refused, Severity.ERROR)
    yield from (ailments.odd_settings(warning) for warning in patient.warnings)
    if not is_initialised(patient.site):
        yield ailments.not_set_up()


def _find_rules(site: Site) -> Iterator[Finding]:
    """Judge git's rules by what they do, not by how they are written.

    Where nobody set the project up, only files that are there are worth a word.
    """
    if site.git is None:
        return
    areas, repository = areas_of(site.settings.paths), site.repository
    private, agreed = is_private(site), is_initialised(site)
    lacking = {change.path for change in plan_rules(site, is_private=private)}
    local = [path for path in areas.local if agreed or site.documents.exists(path)]
    if open_ := [path for path in local if not repository.is_ignored(f"{path}/{_PROBE}")]:
        has_rules = not lacking & {IGNORE, EXCLUDE}
        yield ailments.not_ignored(open_, is_set_up=agreed, has_rules=has_rules)
    for folder in areas.local:
        if paths := sorted(repository.listing(folder)):
            yield ailments.tracked(folder, paths)
    if private:
        return
    shared = [
        *((folder, f"{folder}/{_PROBE}.md") for folder in areas.shared),
        *((one, one) for one in areas.files),
    ]
    if hidden := [one for one in shared if repository.is_ignored(one[1])]:
        yield ailments.ignored([path for path, _ in hidden], hidden[0][1])
    if agreed and ATTRIBUTES in lacking:
        yield ailments.line_ends(ATTRIBUTES)


def _find_leftovers(patient: Patient) -> Iterator[Finding]:
    if paths := patient.find_leftovers():
        yield ailments.leftovers(paths)


# --- sessions -------------------------------------------------------------------------------------


def _find_sessions(project: Project) -> Iterator[Finding]:
    for account in read_open(project):
        if not is_live(project, account):
            last = account.ended_at or account.touched_at or project.now()
            yield ailments.stale_session(
                account.agent, project.now() - last, has_ended=account.ended_at is not None
            )


def _find_journals(patient: Patient) -> Iterator[Finding]:
    """Check the journals of sessions of which something is still to be published."""
    site = patient.site
    places: list[tuple[Documents, str, str]] = []
    if site.git is not None:
        places.append((site.git, f"passdown/{_JOURNAL}", ".git/"))
    places.append((site.documents, f"{site.settings.paths.runtime}/{_JOURNAL}", ""))
    for documents, folder, start in places:
        for path in _list(documents, folder):
            checked = check_document(documents, path)
            errors = [one for one in checked.problems if one.severity is Severity.ERROR]
            account = read_account(patient.project, path.rpartition("/")[2].removesuffix(".jsonl"))
            if errors and not account.is_published:
                is_known = account.started_at is not None
                yield ailments.damaged_journal(
                    f"{start}{path}", len(errors), errors[0].problem, is_known=is_known
                )


def _list(documents: Documents, folder: str) -> Sequence[str]:
    try:
        return [path for path in documents.list(folder) if path.endswith(".jsonl")]
    except StorageError:  # a folder that cannot be read holds nothing that we could check
        return ()


# --- events and view --------------------------------------------------------------------------------


def _find_view(verdict: Verdict) -> Iterator[Finding]:
    """Judge the view where it is a tracked file; elsewhere the next synthesis makes it anew."""
    place, state = verdict.place, verdict.state
    is_missing = state is ViewState.MISSING
    if not place.is_tracked or state is ViewState.CURRENT or (is_missing and not verdict.event_count):
        return
    if state is ViewState.FOREIGN:
        yield ailments.foreign_view(place.path)
    else:
        yield ailments.outdated_view(place.path, state.value)


def _find_events(verdict: Verdict) -> Iterator[Finding]:
    if verdict.findings:
        yield ailments.altered_events([found.path for found in verdict.findings])
    if verdict.left:
        yield ailments.unread_events([left.path for left in verdict.left])


def _find_clock(project: Project, fresh: Index) -> Iterator[Finding]:
    now = project.now()
    ahead = find_ahead(fresh, now)
    yield from (ailments.future_event(place.rank.id, place.rank.at) for place in ahead[:_AHEAD])
    near = (
        place.rank.at
        for place in fresh.places()
        if not place.is_retracted and not too_far_ahead(now, place.rank.at)
    )
    if found := ailments.judge_clock(now, next(near, None)):
        yield found


def _find_layout(project: Project) -> Iterator[Finding]:
    settings = project.checkout.settings
    if settings.events.layout is EventLayout.FLAT:
        count = len(project.checkout.log.files(""))
        if found := ailments.judge_layout(settings.paths.events, count):
            yield found


# --- the rest ---------------------------------------------------------------------------------------


def _find_documents(project: Project) -> Iterator[Finding]:
    """Check the documents that are kept; a copy of what somebody edited is as that one left it."""
    documents, paths = project.checkout.documents, project.checkout.settings.paths
    apart = tuple(f"{one}/" for one in (paths.events, paths.event_archive, f"{paths.runtime}/{_JOURNAL}"))
    broken: list[str] = []
    errors = 0
    for path in list_project(documents, paths):
        if path != paths.view and not path.startswith(apart):
            checked = check_document(documents, path)
            count = sum(one.severity is Severity.ERROR for one in checked.problems)
            broken += [path] if count else []
            errors += count
    if broken:
        yield ailments.broken_documents(broken, errors)


def _find_cache(patient: Patient) -> Iterator[Finding]:
    runtime = patient.site.settings.paths.runtime
    folder = _CACHE if patient.site.git is not None else runtime
    if found := ailments.judge_cache(patient.cache, folder):
        yield found


def _find_pauses(patient: Patient) -> Iterator[Finding]:
    for one in find_pauses(patient.site, patient.variables):
        yield ailments.paused(one.by, one.since, is_variable=one.by == OFF)


def _find_hooks(patient: Patient) -> Iterator[Finding]:
    """Call what hosts call, in an emptied environment and with nothing to answer (C71)."""
    for name, data in patient.hooks.items():
        for line in read_hook_lines(data):
            words = split_line(line)
            outcome = patient.programs.run(words) if words else Outcome(1, "it is no command")
            if not outcome.is_done:
                said = [one for one in outcome.text.splitlines() if one.strip()]
                reason = said[-1] if said else f"it ended with {outcome.code}"
                yield ailments.silent_hooks(HOSTS[name].title, name, line, reason)


# --- mending ----------------------------------------------------------------------------------------


def mend(patient: Patient, findings: Sequence[Finding]) -> Mended:
    """Mend what is safe to mend: what cannot be done is told, and the rest is done all the same.

    1. Rules of git, in marked blocks of our own.
    2. Unfinished writes of dead processes are removed.
    3. What sessions knew that never ended is published, and they end.
    4. The view is made anew, last, for new events are in it.
    """
    codes = {finding.code for finding in findings if finding.is_fixable}
    steps: tuple[tuple[frozenset[Ailment], Callable[[Patient], str]], ...] = (
        (frozenset({Ailment.NOT_IGNORED, Ailment.LINE_ENDS}), _write_rules),  # 1
        (frozenset({Ailment.LEFTOVERS}), _sweep),  # 2
        (frozenset({Ailment.SESSION}), _recover),  # 3
        (frozenset({Ailment.VIEW}), _synthesize),  # 4
    )
    done: list[str] = []
    refused: list[str] = []
    for wanted, act in steps:
        if codes & wanted:
            try:
                done.append(act(patient))
            except PassdownError as found:
                refused.append(found.message)
    return Mended(done=tuple(done), refused=tuple(refused))


def _write_rules(patient: Patient) -> str:
    changes = plan_rules(patient.site, is_private=is_private(patient.site))
    write_setup(patient.site, changes)
    return f"rules for git written: {', '.join(change.shown for change in changes)}"


def _sweep(patient: Patient) -> str:
    return f"unfinished writes removed: {patient.sweep()}"


def _recover(patient: Patient) -> str:
    names = [one.account.agent for one in recover(patient.project)]
    return f"sessions ended, and what they knew published: {', '.join(names) or 'none'}"


def _synthesize(patient: Patient) -> str:
    return f"view made anew: {synthesize(patient.project.checkout).written.path}"


# --- costs ------------------------------------------------------------------------------------------


def read_costs(site: Site) -> tuple[list[Cost], int]:
    """Sum up what Passdown measured of itself; say how many lines of it cannot be read."""
    texts: list[str] = []
    for documents, path, _ in list_places(site, FILE):
        if documents.exists(path):
            if documents.size(path) > _MOST_BYTES:
                hint = "move it away; a new one is begun"
                raise StorageError(f"{path} is over {_MOST_BYTES} bytes and is not read", hint=hint)
            texts.append(documents.read(path).decode("utf-8", "replace"))
    measures, skipped = parse_measures("\n".join(texts))
    return sum_up(measures), skipped
