"""`passdown migrate`: turn a `current.md` that a person or another tool wrote into an event."""

import os
from pathlib import Path

import click

from passdown.actions.events import make_person
from passdown.core.documents.frontmatter import split_front_matter
from passdown.core.formats.events import Event, render_event
from passdown.core.safe_text import one_line
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.project import CliProject, current_folder, open_here
from passdown.faces.cli.sessions import update_view
from passdown.services.log.migrations import Migrated, MigrationPlan, migrate, plan_migration


@click.command()
@click.argument("file", required=False, type=click.Path(), metavar="[FILE]")
@click.option("--yes", is_flag=True, help="Publish without asking. Needed without a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, file: str | None, yes: bool, as_json: bool) -> int:
    """Import a `current.md` that Passdown did not make.

    FILE is a work stream, a view or an edited view (default: the file in the view's place). Facts that no
    event states yet are published as one event. A full copy of the file is kept in the folder of local state,
    and the view replaces the file if it was in the view's place.

    Nothing is lost: content that does not fit into an event stays in the copy and is listed.

    Exits with 0 if it is done or there is nothing to do, and with 1 if the event was shown but not confirmed.
    """
    project = open_here()
    path = _find(project, file)
    plan = project.call(lambda workspace: plan_migration(workspace, path))
    if not as_json:
        _preview(plan)
    if not (plan.says_something or plan.is_taken_over):
        if as_json:
            output.say_json(_as_data(plan, None))
        output.note(f"nothing to publish from {path}{_why_nothing(plan)}")
        return 0
    # With --json the user has not seen the event yet, so only --yes can confirm.
    if not (yes or (not as_json and _agrees(plan))):
        if as_json:
            output.say_json(_as_data(plan, None))
        output.note("nothing was written")
        if not output.has_person():
            output.note_hint("there is no terminal to ask at; --yes writes without asking")
        return 1
    agent = make_person(path, project.workspace.clock)
    done = project.call(lambda workspace: migrate(workspace, plan, agent))
    update_view(project.workspace)
    if as_json:
        output.say_json(_as_data(plan, done))
    else:
        _say_done(done)
    return 0


def _find(project: CliProject, file: str | None) -> str:
    """Return the path of the document from the project's root; raise `UsageError` if it does not exist."""
    documents, path = project.workspace.documents, project.workspace.settings.paths.view
    if file is not None:
        here = Path(os.path.realpath(current_folder()))
        full = Path(os.path.normpath(here / file))
        root = Path(os.path.realpath(project.root))
        if not file or not full.is_relative_to(root):
            hint = "copy it into the project first"
            raise UsageError(f"{file or 'an empty name'} is not a file of this project", hint=hint)
        path = full.relative_to(root).as_posix()
    if not documents.exists(path) or documents.is_folder(path):
        raise UsageError(f"{file or path}: no such file", hint="name the FILE to import")
    return path


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
    try:
        return click.confirm(f"{asked}{more}?", default=False, err=True)
    except click.Abort:
        output.draw("\n")  # end the line of the question
        raise


def _say_done(done: Migrated) -> None:
    if done.written is not None:
        output.say(f"published event {done.written.event.id}")
    if done.kept:
        output.say(f"kept a copy of the file: {one_line(done.kept)}")
    if done.view:
        output.say(f"view written: {one_line(done.view)}")
    else:
        output.note_hint("run `passdown synthesize` to update the view")


def _as_data(plan: MigrationPlan, done: Migrated | None) -> dict[str, object]:
    from passdown.core.schemas import to_data  # text output does not need it

    event: Event = done.written.event if done and done.written else plan.event
    return {
        "path": plan.path,
        "written": done is not None,
        "event": to_data(event) if plan.says_something else None,
        "left": list(plan.left),
        "kept": (done.kept or None) if done else None,
        "view": (done.view or None) if done else None,
    }
