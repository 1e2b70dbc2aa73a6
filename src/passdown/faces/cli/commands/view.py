"""`passdown view`: show the view, list what it leaves out, and verify it."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import click

from passdown.actions.log import views as actions
from passdown.core.briefs.contested_lines import render_contested_for_person
from passdown.core.facts import show_alone
from passdown.core.kinds import MERGED, FactKind
from passdown.core.statements import CONTRADICTION
from passdown.errors import OutdatedError, PassdownError
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.lines import minute
from passdown.services.log.views import ViewState

_WHOLE: Final = 2_000_000_000
_KINDS: Final[Mapping[str, FactKind]] = MappingProxyType({kind.row.plural: kind for kind in MERGED})


@click.group(invoke_without_command=True)
@options.json
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """Show the view, list what it leaves out, or verify it.

    Without a subcommand, shows the view.
    """
    if context.invoked_subcommand is None:
        _show(as_json=as_json)


@command.command("show", short_help="Print the view of the current events.")
@options.json
def show_view(*, as_json: bool) -> None:
    """Print the view of the current events.

    The view is rebuilt but not written; a note says if the file differs from it.
    """
    _show(as_json=as_json)


def _show(*, as_json: bool) -> None:
    answer = call(actions.show_view, None)
    found = answer.result
    if found.count == 0 and not as_json:
        output.note(f"there are no events in {found.folder}")
        return
    show(answer, lambda it: output.say(it.text.removesuffix("\n")), as_json=as_json)
    if found.state == actions.LEGACY:
        output.note(f"{found.path} was not made from events")
        output.note_hint("run `passdown migrate` to import it")
    elif found.state != ViewState.CURRENT:
        shown = _SHOWN[ViewState(found.state)]
        output.note(f"{found.path} is {shown}; this is the view of the current events")


_SHOWN: Final[Mapping[ViewState, str]] = MappingProxyType(
    {
        ViewState.OUTDATED: "outdated",
        ViewState.MISSING: "not written yet",
        ViewState.EDITED: "edited by hand",
        ViewState.MERGED: "merged by git and not regenerated",
        ViewState.FOREIGN: "not made by Passdown",
        ViewState.OTHER_RENDERER: "made by another version of Passdown",
    }
)


# --- list -----------------------------------------------------------------------------------------


@command.command("list", short_help="List everything in force in a section.")
@click.argument("section", type=click.Choice(list(_KINDS)), metavar="SECTION")
@click.option("--about", default="", metavar="PATH", help="List only facts that name this file.")
@options.json
def list_section(section: str, *, about: str, as_json: bool) -> None:
    """List everything in force in a section, newest first, in full.

    SECTION is goal, now, next, done, decisions, constraints, questions, answers, checkpoints, gates,
    receipts, feedback or malformed (values of events that could not be read).

    PATH is relative to the project's root. A fact names a file by its path, by the last two parts of the
    path, or by its name alone if no other file in the events has that name.
    """
    answer = call(actions.list_section, actions.SectionRequest(kind=_KINDS[section], about=about))
    is_json = as_json
    found = show(answer, _say_section, as_json=is_json)
    count = found.section.count if isinstance(found, actions.ContestedSection) else found.count
    if is_json or count:
        return
    output.note(f"no fact in section {section} names {about}" if about else f"section {section} is empty")


def _say_section(found: actions.SectionFacts | actions.ContestedSection) -> None:
    if isinstance(found, actions.ContestedSection):
        for some in found.contested:
            output.say(
                f"{CONTRADICTION}{render_contested_for_person(some, lambda at: f'{at:%Y-%m-%d}', _WHOLE)}"
            )
        found = found.section
    for fact in found.facts:
        output.say(show_alone(fact))
        output.say(f"    {minute(fact.at)}  {_line(fact.agent)}  {_line(fact.event_id)}")


def _line(text: str) -> str:
    return " ".join(text.split())


# --- verify -----------------------------------------------------------------------------------------


@command.command("verify", short_help="Verify the view and its events, from scratch.")
@options.json
def verify_view(*, as_json: bool) -> int:
    """Verify the view and its events, from scratch.

    Reads every event again. The view must be exactly what the events produce; its footer must match these
    events; each event must match its id, the last commit and the cache. Events that cannot be read are listed
    with their problem; they do not fail the check, because the view counts them.

    Exits with 0 if everything is as recorded, with 1 if an event is missing or altered or the view was
    changed, and with 4 if the view is only outdated.
    """
    found = show(call(actions.verify_view, None), _say_verdict, as_json=as_json)
    if found.is_good:
        return 0
    return OutdatedError.exit_code if found.is_outdated else PassdownError.exit_code


def _say_verdict(found: actions.VerifiedView) -> None:
    for one in found.findings:
        name = f" event {_line(one.event)}" if one.event else ""
        output.say(f"{one.path}: {one.wrong.value}{name}: {one.reason}")
    for left in found.skipped:
        output.say(f"{left.path}: skipped: {left.problem}")
    count = output.counted(found.events, "event")
    if found.is_nothing:
        output.note(f"there are no events in {found.folder}, and no view")
    elif found.is_good:
        output.note(f"{count}; view and events are as recorded")
    elif found.is_outdated:
        output.note(f"{count}; {found.path} is {_SHOWN[found.state]}")
        output.note_hint("run `passdown synthesize`")
    else:
        for line in _list_failures(found, count):
            output.note(line)
        hint = "`git log -- PATH` shows when a file changed; another branch has other events"
        output.note_hint(hint if found.findings else "run `passdown synthesize` to rebuild the view")


def _list_failures(found: actions.VerifiedView, count: str) -> Iterator[str]:
    if found.findings:
        yield f"{count}; {len(found.findings)} missing or altered"
    if found.state in {ViewState.EDITED, ViewState.MERGED, ViewState.FOREIGN}:
        yield f"{found.path} is {_SHOWN[found.state]}"
    elif not found.are_events_recorded and found.recorded_events is not None:
        yield f"{found.path} was made from other events: {found.recorded_events} then, {found.events} now"
    elif found.state is ViewState.OUTDATED:
        yield f"{found.path} does not match its events"
