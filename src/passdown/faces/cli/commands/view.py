"""`passdown view`: the view, all that it leaves out, and whether it is what its events make."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, cast

import click

from passdown import wiring
from passdown.core.merge import REGISTERS, Digest, Held
from passdown.core.sources import (
    CHECKPOINTS,
    CONSTRAINTS,
    DECISIONS,
    DONE,
    FEEDBACK,
    GOAL,
    NEXT,
    NOW,
    QUESTIONS,
    RECEIPTS,
    Checkpoint,
    Section,
)
from passdown.core.times import render_millis
from passdown.errors import OutdatedError, PassdownError
from passdown.faces.cli import output
from passdown.faces.cli.lines import minute
from passdown.faces.cli.project import Project, Reading, open_here
from passdown.services.events import take_in
from passdown.services.synthesis import is_legacy, look_ahead
from passdown.services.verification import Verdict, verify
from passdown.services.views import ViewState, read_view

_ALL: Final = 2_000_000_000
_SECTIONS: Final[Mapping[str, Section]] = MappingProxyType(
    {
        "goal": GOAL,
        "now": NOW,
        "next": NEXT,
        "done": DONE,
        "decisions": DECISIONS,
        "constraints": CONSTRAINTS,
        "questions": QUESTIONS,
        "checkpoints": CHECKPOINTS,
        "receipts": RECEIPTS,
        "feedback": FEEDBACK,
    }
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group(invoke_without_command=True)
@_json_option
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """Show the view, list what it leaves out, or verify it.

    Without a verb the view is shown.
    """
    context.obj = as_json
    if context.invoked_subcommand is None:
        _show(as_json=as_json)


@command.command(short_help="Print the view of the events that are here.")
@_json_option
@click.pass_obj
def show(above: bool, *, as_json: bool) -> None:  # noqa: FBT001 - click passes it so
    """Print the view of the events that are here.

    It is made anew and not written; a note says when the file differs from it.
    """
    _show(as_json=above or as_json)


def _show(*, as_json: bool) -> None:
    project = open_here()
    if project.call(is_legacy):
        path = project.checkout.settings.paths.view
        text = (read_view(project.checkout.documents, path) or b"").decode("utf-8", "replace")
        _say_text(text, path, "legacy", as_json=as_json)
        output.note(f"{path} was not made from events")
        output.note_hint("`passdown migrate` makes an event of it")
        return
    with Reading() as reading:
        outlook = project.call(lambda checkout: look_ahead(checkout, reading.step))
    if outlook.event_count == 0 and not as_json:
        output.note(f"there are no events in {project.checkout.settings.paths.events}")
        return
    _say_text(outlook.text, outlook.place.path, outlook.state.value, as_json=as_json)
    if outlook.state is not ViewState.CURRENT:
        output.note(f"{outlook.place.path} is {_SHOWN[outlook.state]}; this is what the events make")


_SHOWN: Final[Mapping[ViewState, str]] = MappingProxyType(
    {
        ViewState.OUTDATED: "outdated",
        ViewState.MISSING: "not written yet",
        ViewState.EDITED: "edited by hand",
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


@command.command("list", short_help="List all that holds in a section.")
@click.argument("section", type=click.Choice(list(_SECTIONS)), metavar="SECTION")
@_json_option
@click.pass_obj
def list_section(above: bool, section: str, *, as_json: bool) -> None:  # noqa: FBT001 - click passes it so
    """List all that holds in a section, the newest first, each in full.

    SECTION is goal, now, next, done, decisions, constraints, questions, checkpoints, receipts or feedback.
    """
    project = open_here()
    with Reading() as reading:
        project.call(lambda checkout: take_in(checkout.log, checkout.index, reading.step))
    digest = project.call(lambda checkout: checkout.index.digest(_ALL))
    held = _held(digest, _SECTIONS[section])
    if above or as_json:
        items = (output.render_json(_as_data(one, _SECTIONS[section])) for one in held)
        output.say_json_list("facts", items, {"section": section, "count": len(held)})
        return
    for one in held:
        output.say(_text(one, _SECTIONS[section]))
        output.say(f"    {minute(one.at)}  {_line(one.rank.agent)}  {_line(one.rank.id)}")
    if not held:
        output.note(f"nothing holds in {section}")


def _line(text: str) -> str:
    return " ".join(text.split())


def _held(digest: Digest, section: Section) -> Sequence[Held]:
    """Give what holds in a section; each step of the list of next steps is one."""
    if section not in REGISTERS:
        return digest.sections[section].held
    held = digest.registers.get(section)
    if held is None:
        return ()
    values = (held.value,) if isinstance(held.value, str) else held.value
    return [held._replace(value=value) for value in values]


def _text(held: Held, section: Section) -> str:
    if section == DECISIONS:
        key, text = cast("tuple[str, str]", held.value)
        return f"{key}: {text}"
    if section == CHECKPOINTS:
        one = Checkpoint._make(held.value)
        of = " of " + one.task if one.task else ""
        name = f" ({one.name})" if one.name else ""
        return f"Phase {one.phase or '?'}{name}{of}, by {one.agent}: {one.status or 'pending'}"
    return str(held.value)


def _as_data(held: Held, section: Section) -> dict[str, object]:
    more: dict[str, object] = {}
    if section == DECISIONS:
        key, text = cast("tuple[str, str]", held.value)
        more = {"key": key, "text": text}
    elif section == CHECKPOINTS:
        more = {
            **Checkpoint._make(held.value)._asdict(),
            "checkpoint_agent": Checkpoint._make(held.value).agent,
        }
        del more["agent"]
    else:
        more = {"text": str(held.value)}
    return {
        **more,
        "at": render_millis(held.at),
        "agent": held.rank.agent,
        "event": held.rank.id,
        "sha256": held.rank.hash,
    }


# --- verify -----------------------------------------------------------------------------------------


@command.command("verify", short_help="Verify the view and its events, from scratch.")
@_json_option
@click.pass_obj
def verify_view(above: bool, *, as_json: bool) -> int:  # noqa: FBT001 - click passes it so
    """Verify the view and its events, from scratch.

    Every event is read again. The view must be what they make, to the byte; its footer must name these
    events; an event must be what its id, the last commit and the cache know of it. Events that cannot be
    read are listed with their problem; they are no failure, for the view counts them.

    Exits with 0 when all is as recorded, with 1 when an event is missing or altered or the view was changed,
    and with 4 when the view is only outdated.
    """
    project = open_here()
    with Reading() as reading:
        verdict = project.call(lambda checkout: verify(checkout, wiring.open_memory_index(), reading.step))
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


def _say_verdict(project: Project, verdict: Verdict) -> None:
    count = f"{verdict.event_count} event" + ("" if verdict.event_count == 1 else "s")
    path = verdict.place.path
    if _is_nothing(verdict):
        output.note(f"there are no events in {project.checkout.settings.paths.events}, and no view")
    elif verdict.is_good:
        output.note(f"{count}, view and events as recorded")
    elif verdict.is_outdated:
        output.note(f"{count}; {path} is {_SHOWN[verdict.state]}")
        output.note_hint("run `passdown synthesize`")
    else:
        for line in _failures(verdict, count):
            output.note(line)
        hint = (
            "`git log -- PATH` tells when a file was changed; a checkout of another branch has other events"
        )
        output.note_hint(hint if verdict.findings else "`passdown synthesize` makes the view anew")


def _failures(verdict: Verdict, count: str) -> Iterator[str]:
    path = verdict.place.path
    if verdict.findings:
        number = len(verdict.findings)
        yield f"{count}; {number} missing or altered"
    if verdict.state in {ViewState.EDITED, ViewState.FOREIGN}:
        yield f"{path} is {_SHOWN[verdict.state]}"
    elif not verdict.are_events_recorded and verdict.recorded_count is not None:
        yield f"{path} was made from other events: {verdict.recorded_count} then, {verdict.event_count} now"
    elif verdict.state is ViewState.OUTDATED:
        yield f"{path} is not what its events make"


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
