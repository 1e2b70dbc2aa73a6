"""`passdown view`: show the view, list what it leaves out, and verify it."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import click

from passdown.core.briefs.contested_lines import say_contested
from passdown.core.facts import Fact, read_phase, show_fact, show_phase
from passdown.core.kinds import MERGED, FactKind
from passdown.core.merge.named_files import NamedFiles
from passdown.core.statements import CONTRADICTION
from passdown.core.times import LAST_INSTANT, render_millis
from passdown.errors import OutdatedError, PassdownError
from passdown.faces.cli import output
from passdown.faces.cli.lines import minute
from passdown.faces.cli.progress import ReadingProgress
from passdown.faces.cli.project import CliProject, open_here
from passdown.ports.index import Neighbourhood
from passdown.services.log.events import update_index
from passdown.services.log.synthesis import is_legacy, preview_view
from passdown.services.log.verification import Verdict, verify
from passdown.services.log.views import ViewState, read_view
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.caches import open_memory_index

_ALL: Final = 2_000_000_000
_KEYED: Final = frozenset({FactKind.DECISION, FactKind.ANSWER})
_KINDS: Final[Mapping[str, FactKind]] = MappingProxyType({kind.row.plural: kind for kind in MERGED})
_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group(invoke_without_command=True)
@_json_option
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """Show the view, list what it leaves out, or verify it.

    Without a subcommand, shows the view.
    """
    context.obj = as_json
    if context.invoked_subcommand is None:
        _show(as_json=as_json)


@command.command(short_help="Print the view that the current events make.")
@_json_option
@click.pass_obj
def show(above: bool, *, as_json: bool) -> None:
    """Print the view that the current events make.

    The view is rebuilt but not written; a note says if the file differs from it.
    """
    _show(as_json=above or as_json)


def _show(*, as_json: bool) -> None:
    project = open_here()
    if project.call(is_legacy):
        path = project.workspace.settings.paths.view
        text = (read_view(project.workspace.documents, path) or b"").decode("utf-8", "replace")
        _say_text(text, path, "legacy", as_json=as_json)
        output.note(f"{path} was not made from events")
        output.note_hint("run `passdown migrate` to import it")
        return
    with ReadingProgress() as reading:
        preview = project.call(lambda workspace: preview_view(workspace, reading.step))
    if preview.event_count == 0 and not as_json:
        output.note(f"there are no events in {project.workspace.settings.paths.events}")
        return
    _say_text(preview.text, preview.place.path, preview.state.value, as_json=as_json)
    if preview.state is not ViewState.CURRENT:
        output.note(
            f"{preview.place.path} is {_SHOWN[preview.state]}; this is the view of the current events"
        )


_SHOWN: Final[Mapping[ViewState, str]] = MappingProxyType(
    {
        ViewState.OUTDATED: "outdated",
        ViewState.MISSING: "not written yet",
        ViewState.EDITED: "edited by hand",
        ViewState.MERGED: "merged by git, not regenerated",
        ViewState.FOREIGN: "not made by Passdown",
        ViewState.OTHER_RENDERER: "made by another version of Passdown",
    }
)


def _say_text(text: str, path: str, state: str, *, as_json: bool) -> None:
    if as_json:
        output.say_json({"path": path, "state": state, "text": text})
    else:
        output.say(text.removesuffix("\n"))


# --- list -----------------------------------------------------------------------------------------


@command.command("list", short_help="List everything that holds in a section.")
@click.argument("section", type=click.Choice(list(_KINDS)), metavar="SECTION")
@click.option("--about", default="", metavar="PATH", help="List only what names this file.")
@_json_option
@click.pass_obj
def list_section(above: bool, section: str, *, about: str, as_json: bool) -> None:
    """List everything that holds in a section, newest first, in full.

    SECTION is goal, now, next, done, decisions, constraints, questions, answers, checkpoints, gates,
    receipts, feedback or malformed: values of events that could not be read.

    PATH is written from the project's root. A fact names a file by its path, by the last two parts of it, or
    by its name alone if no other file that events tell of has that name.
    """
    project = open_here()
    with ReadingProgress() as reading:
        project.call(lambda workspace: update_index(workspace.log, workspace.index, reading.step))
    digest = project.call(lambda workspace: workspace.index.digest(_ALL))
    facts = digest.kinds[_KINDS[section]].facts
    contested = digest.contested if _KINDS[section] is FactKind.DECISION else ()
    if about:
        files = project.call(lambda workspace: _find_names(workspace, about))
        facts = tuple(fact for fact in facts if files.are_in(_text(fact)))
        contested = tuple(some for some in contested if any(files.are_in(fact.text) for fact in some))
    if above or as_json:
        items = (output.render_json(_as_data(fact)) for fact in facts)
        more = {"contested": [[_as_data(fact) for fact in some] for some in contested]} if contested else {}
        output.say_json_list("facts", items, {"section": section, "count": len(facts), **more})
        return
    for some in contested:
        output.say(f"{CONTRADICTION}{say_contested(some, lambda at: f'{at:%Y-%m-%d}', _ALL)}")
    for fact in facts:
        output.say(_text(fact))
        output.say(f"    {minute(fact.at)}  {_line(fact.agent)}  {_line(fact.event_id)}")
    if not facts and about:
        output.note(f"nothing in section {section} names {about}")
    elif not facts:
        output.note(f"section {section} is empty")


def _find_names(workspace: Workspace, path: str) -> NamedFiles:
    """Return how facts name a file."""
    return workspace.index.near(Neighbourhood(files=(path,)), LAST_INSTANT).files


def _line(text: str) -> str:
    return " ".join(text.split())


def _text(fact: Fact) -> str:
    if fact.kind in _KEYED:
        return f"{fact.key}: {fact.text}"
    if fact.kind == FactKind.CHECKPOINT:
        phase, _, status = show_phase(fact).rpartition(": ")
        return f"{phase}, by {fact.agent}: {status}"
    return show_fact(fact)


def _as_data(fact: Fact) -> dict[str, object]:
    more: dict[str, object] = {"text": fact.text}
    if fact.kind in _KEYED:
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


# --- verify -----------------------------------------------------------------------------------------


@command.command("verify", short_help="Verify the view and its events, from scratch.")
@_json_option
@click.pass_obj
def verify_view(above: bool, *, as_json: bool) -> int:
    """Verify the view and its events, from scratch.

    Reads every event again. The view must be exactly what the events make; its footer must match these
    events; each event must match its id, the last commit and the cache. Events that cannot be read are
    listed with their problem; they are not a failure, because the view counts them.

    Exits with 0 if everything is as recorded, with 1 if an event is missing or altered or the view was
    changed, and with 4 if the view is only outdated.
    """
    project = open_here()
    with ReadingProgress() as reading:
        verdict = project.call(lambda workspace: verify(workspace, open_memory_index(), reading.step))
    if above or as_json:
        output.say_json(_verdict_data(verdict))
    else:
        for line in _verdict_lines(verdict):
            output.say(line)
        _say_verdict(project, verdict)
    if verdict.is_good or _is_nothing(verdict):
        return 0
    return OutdatedError.exit_code if verdict.is_outdated else PassdownError.exit_code


def _is_nothing(verdict: Verdict) -> bool:
    return verdict.event_count == 0 and verdict.state is ViewState.MISSING and not verdict.findings


def _verdict_lines(verdict: Verdict) -> Iterator[str]:
    for one in verdict.findings:
        name = f" event {_line(one.event)}" if one.event else ""
        yield f"{one.path}: {one.wrong.value}{name}: {one.reason}"
    for left in verdict.left:
        yield f"{left.path}: skipped: {left.problem}"


def _say_verdict(project: CliProject, verdict: Verdict) -> None:
    count = f"{verdict.event_count} event" + ("" if verdict.event_count == 1 else "s")
    path = verdict.place.path
    if _is_nothing(verdict):
        output.note(f"there are no events in {project.workspace.settings.paths.events}, and no view")
    elif verdict.is_good:
        output.note(f"{count}; view and events are as recorded")
    elif verdict.is_outdated:
        output.note(f"{count}; {path} is {_SHOWN[verdict.state]}")
        output.note_hint("run `passdown synthesize`")
    else:
        for line in _failures(verdict, count):
            output.note(line)
        hint = "`git log -- PATH` shows when a file changed; another branch has other events"
        output.note_hint(hint if verdict.findings else "run `passdown synthesize` to rebuild the view")


def _failures(verdict: Verdict, count: str) -> Iterator[str]:
    path = verdict.place.path
    if verdict.findings:
        number = len(verdict.findings)
        yield f"{count}; {number} missing or altered"
    if verdict.state in {ViewState.EDITED, ViewState.MERGED, ViewState.FOREIGN}:
        yield f"{path} is {_SHOWN[verdict.state]}"
    elif not verdict.are_events_recorded and verdict.recorded_count is not None:
        yield f"{path} was made from other events: {verdict.recorded_count} then, {verdict.event_count} now"
    elif verdict.state is ViewState.OUTDATED:
        yield f"{path} does not match its events"


def _verdict_data(verdict: Verdict) -> dict[str, object]:
    return {
        "is_good": verdict.is_good or _is_nothing(verdict),
        "is_outdated": verdict.is_outdated and not _is_nothing(verdict),
        "path": verdict.place.path,
        "state": verdict.state.value,
        "events": verdict.event_count,
        "recorded_events": verdict.recorded_count,
        "are_events_recorded": verdict.are_events_recorded,
        "findings": [
            {"wrong": one.wrong.value, "event": one.event or None, "path": one.path, "reason": one.reason}
            for one in verdict.findings
        ],
        "skipped": [{"path": one.path, "problem": one.problem} for one in verdict.left],
    }
