"""Show the view, list what it leaves out, and verify it."""

from collections.abc import Sequence
from typing import Annotated, Final

from passdown.actions.answers import HIDDEN, INLINE, Form
from passdown.actions.callers import Caller
from passdown.core.facts import MAPS, Fact, read_phase, show_alone
from passdown.core.kinds import FactKind
from passdown.core.times import LAST_INSTANT, render_millis
from passdown.ports.index import Neighbourhood
from passdown.records import record
from passdown.services.log import verification
from passdown.services.log.events import update_index
from passdown.services.log.synthesis import is_legacy, preview_view
from passdown.services.log.views import ViewState, read_view
from passdown.wiring.caches import open_memory_index

LEGACY: Final = "legacy"
"""The state of a file at the path of the view that was not made from events."""
_ALL: Final = 2_000_000_000


def _tell_fact(fact: Fact) -> dict[str, object]:
    more: dict[str, object] = {"text": fact.text}
    if fact.kind in MAPS:
        more = {"key": fact.key, "text": fact.text}
    elif fact.kind == FactKind.CHECKPOINT:
        more = {**read_phase(fact)._asdict(), "task": fact.task, "checkpoint_agent": fact.agent}
    elif fact.kind == FactKind.GATE:
        more = {"gate": fact.key, "status": fact.text, "track": fact.track, "notes": fact.because}
    return {
        **more,
        "at": render_millis(fact.at),
        "agent": fact.agent,
        "event": fact.event_id,
        "sha256": fact.event,
    }


def _tell_damage(findings: Sequence[verification.DamagedEvent]) -> list[dict[str, object]]:
    return [{**one._asdict(), "wrong": one.wrong.value, "event": one.event or None} for one in findings]


@record
class ShownView:
    """The view of the current events; a file that was not made from events is shown as it is."""

    path: Annotated[str, "The file of the view."]
    state: Annotated[str, "How that file compares with the events."]
    text: Annotated[str, "The view."]
    count: Annotated[int | None, "How many events there are; None if they were not read.", HIDDEN]
    folder: Annotated[str, "The folder of events.", HIDDEN]


@record
class SectionRequest:
    """A section of the view to list in full."""

    kind: Annotated[FactKind, "The kind of fact in it."]
    about: Annotated[str, "The file that facts must name; empty for all facts."] = ""


def _tell_facts(facts: Sequence[Fact]) -> list[object]:
    return [_tell_fact(one) for one in facts]


def _tell_contested(contested: Sequence[Sequence[Fact]]) -> list[object]:
    return [_tell_facts(facts) for facts in contested]


def _tell_unmerged(files: Sequence[verification.UnmergedFile]) -> list[dict[str, object]]:
    return [one._asdict() for one in files]


@record
class SectionFacts:
    """Everything in force in a section."""

    facts: Annotated[tuple[Fact, ...], "The facts, newest first.", Form(_tell_facts)]
    section: Annotated[str, "The name of the section."]
    count: Annotated[int, "How many facts there are."]


@record
class ContestedSection:
    """A section with decisions that contradict each other."""

    section: Annotated[SectionFacts, "What is in force.", INLINE]
    contested: Annotated[
        tuple[tuple[Fact, ...], ...],
        "The decisions under one key that contradict each other.",
        Form(_tell_contested),
    ]


@record
class VerifiedView:
    """Whether the view matches its events, and whether these are as recorded."""

    is_good: Annotated[bool, "Whether everything is as recorded, or there is nothing to check."]
    is_outdated: Annotated[bool, "Whether the only problem is that the view is older than its events."]
    path: Annotated[str, "The file of the view."]
    state: Annotated[ViewState, "How it compares with the events."]
    events: Annotated[int, "How many events there are."]
    recorded_events: Annotated[int | None, "How many the view was made from, according to its footer."]
    are_events_recorded: Annotated[bool, "Whether they are the events that the view was made from."]
    findings: Annotated[
        tuple[verification.DamagedEvent, ...], "Events that are missing or altered.", Form(_tell_damage)
    ]
    skipped: Annotated[
        tuple[verification.UnmergedFile, ...], "Files that cannot be merged.", Form(_tell_unmerged)
    ]
    is_nothing: Annotated[bool, "Whether there are neither events nor a view.", HIDDEN]
    folder: Annotated[str, "The folder of events.", HIDDEN]


def show_view(caller: Caller, _: None) -> ShownView:
    """Make the view from the current events; nothing is written."""
    workspace, paths = caller.workspace, caller.workspace.settings.paths
    if is_legacy(workspace):
        text = (read_view(workspace.documents, paths.view) or b"").decode("utf-8", "replace")
        return ShownView(path=paths.view, state=LEGACY, text=text, count=None, folder=paths.events)
    found = preview_view(workspace, caller.around.progress)
    return ShownView(
        path=found.place.path,
        state=found.state,
        text=found.text,
        count=found.event_count,
        folder=paths.events,
    )


def list_section(caller: Caller, request: SectionRequest) -> SectionFacts | ContestedSection:
    """List everything in force in a section, and decisions that contradict each other."""
    index = caller.workspace.index
    update_index(caller.workspace.log, index, caller.around.progress)
    digest = index.digest(_ALL)
    facts = digest.kinds[request.kind].facts
    contested = digest.contested if request.kind is FactKind.DECISION else ()
    if request.about:
        files = index.near(Neighbourhood(files=(request.about,)), LAST_INSTANT).files
        facts = tuple(fact for fact in facts if files.are_in(show_alone(fact)))
        contested = tuple(some for some in contested if any(files.are_in(fact.text) for fact in some))
    section = SectionFacts(facts=facts, section=request.kind.row.plural, count=len(facts))
    return ContestedSection(section=section, contested=contested) if contested else section


def verify_view(caller: Caller, _: None) -> VerifiedView:
    """Read every event again, and compare them with the view, the last commit and the cache."""
    found = verification.verify(caller.workspace, open_memory_index(), caller.around.progress)
    is_nothing = found.event_count == 0 and found.state is ViewState.MISSING and not found.findings
    return VerifiedView(
        is_good=found.is_good or is_nothing,
        is_outdated=found.is_outdated and not is_nothing,
        path=found.place.path,
        state=found.state,
        events=found.event_count,
        recorded_events=found.recorded_count,
        are_events_recorded=found.are_events_recorded,
        findings=found.findings,
        skipped=found.left,
        is_nothing=is_nothing,
        folder=caller.workspace.settings.paths.events,
    )
