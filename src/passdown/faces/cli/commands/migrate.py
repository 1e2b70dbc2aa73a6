"""`passdown migrate`: import a `current.md` that a person or another tool wrote, as an event."""

import click

from passdown.actions.answers import encode
from passdown.actions.log import imports as actions
from passdown.core.documents.frontmatter import split_front_matter
from passdown.core.formats.events import render_event
from passdown.core.safe_text import one_line
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, settle, show
from passdown.services.log.migrations import MigrationPlan


@click.command()
@click.argument("file", required=False, type=click.Path(), metavar="[FILE]")
@click.option("--yes", is_flag=True, help="Publish without asking. Needed without a terminal.")
@options.json
def command(*, file: str | None, yes: bool, as_json: bool) -> int:
    """Import a `current.md` that Passdown did not write.

    FILE is a work stream, a view or an edited view (default: the file in the view's place). Facts that no
    event has yet are published as one event. A full copy of the file is kept in the folder of local state,
    and the view replaces the file if it was in the view's place.

    Nothing is lost: content that does not fit into an event stays in the copy and is listed.

    Exits with 0 if it is done or there is nothing to do, and with 1 if the event was shown but not confirmed.
    """
    planned = call(actions.plan_import, file)
    plan = planned.result.plan
    if not as_json:
        _preview(plan)
    has_work = plan.says_something or plan.is_taken_over
    # With --json the user has not seen the event yet, so only --yes can confirm.
    if has_work and (yes or (not as_json and _agrees(plan))):
        show(call(actions.carry_out, plan, is_first=False), _say_done, as_json=as_json)
        return 0
    if as_json:
        output.say_json(encode(planned.result))
    settle(planned)
    if not has_work:
        output.note(f"nothing to publish from {plan.path}{_why_nothing(plan)}")
        return 0
    output.note_unwritten()
    return 1


def _preview(plan: MigrationPlan) -> None:
    if plan.says_something:
        output.say(f"from {one_line(plan.path)}, one event:")
        body = split_front_matter(render_event(plan.event)).body
        output.say("\n".join(f"  {line}".rstrip() for line in body.strip("\n").split("\n")))
    if plan.left:
        is_copied = plan.says_something or plan.is_taken_over
        where = "kept in the copy only" if is_copied else "does not fit into an event"
        output.say(output.wrapped(f"{where}: {', '.join(plan.left)}", "", "  "))


def _why_nothing(plan: MigrationPlan) -> str:
    return ", which was not changed" if plan.left else ": its content is already in events"


def _agrees(plan: MigrationPlan) -> bool:
    if not output.has_person():
        return False
    asked = "Publish this event" if plan.says_something else "Keep a copy"
    more = " and replace the file with the view" if plan.is_taken_over else ""
    return output.agrees(f"{asked}{more}?", usual=False)


def _say_done(found: actions.ImportedDocument) -> None:
    if found.published:
        output.say(f"published event {found.published}")
    if found.kept:
        output.say(f"kept a copy of the file: {one_line(found.kept)}")
    if found.view:
        output.say(f"view written: {one_line(found.view)}")
    else:
        output.note_hint("run `passdown synthesize` to update the view")
