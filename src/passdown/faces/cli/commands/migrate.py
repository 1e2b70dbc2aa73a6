"""`passdown migrate`: make an event of a `current.md` that was written by hand or by another tool."""

import os
from pathlib import Path

import click

from passdown.core.events import Event, render_event
from passdown.core.frontmatter import split_front_matter
from passdown.core.texts import one_line
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.commands.event import make_person
from passdown.faces.cli.project import Project, current_folder, open_here
from passdown.services.migrations import Migrated, Plan, migrate, plan_migration


@click.command()
@click.argument("file", required=False, type=click.Path(), metavar="[FILE]")
@click.option("--yes", is_flag=True, help="Publish without asking. Needed where there is no terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, file: str | None, yes: bool, as_json: bool) -> int:
    """Take over a `current.md` that Passdown did not make.

    FILE is a work stream, a view, or a view that was edited; without one it is the view's own place. What no
    event states yet is published as one event. The file is kept, whole, in the folder of local state, and the
    view takes its place if it stood there.

    Nothing is lost: what an event has no field for stays in the copy, and is named.

    Exits with 0 when it is done or there is nothing to do, and with 1 when it was shown and not agreed to.
    """
    project = open_here()
    path = _find(project, file)
    plan = project.call(lambda checkout: plan_migration(checkout, path))
    if not as_json:
        _preview(plan)
    if not (plan.says_something or plan.is_taken_over):
        if as_json:
            output.say_json(_as_data(plan, None))
        output.note(f"nothing to publish from {path}{_why_nothing(plan)}")
        return 0
    # With --json nobody has seen yet what would be published: only --yes can agree to it.
    if not (yes or (not as_json and _agrees(plan))):
        if as_json:
            output.say_json(_as_data(plan, None))
        output.note("nothing was written")
        if not output.has_person():
            output.note_hint("there is no terminal to ask at; --yes writes without asking")
        return 1
    agent = make_person(path, project.checkout.clock)
    done = project.call(lambda checkout: migrate(checkout, plan, agent))
    if as_json:
        output.say_json(_as_data(plan, done))
    else:
        _say_done(done)
    return 0


def _find(project: Project, file: str | None) -> str:
    """Give the path of the document from the project's root; raise `UsageError` when it is not there."""
    documents, path = project.checkout.documents, project.checkout.settings.paths.view
    if file is not None:
        here = Path(os.path.realpath(current_folder()))
        full = Path(os.path.normpath(here / file))
        root = Path(os.path.realpath(project.root))
        if not file or not full.is_relative_to(root):
            hint = "copy it into the project first"
            raise UsageError(f"{file or 'an empty name'} is not a file of this project", hint=hint)
        path = full.relative_to(root).as_posix()
    if not documents.exists(path) or documents.is_folder(path):
        raise UsageError(f"{file or path}: no such file", hint="name the FILE to take over")
    return path


def _preview(plan: Plan) -> None:
    if plan.says_something:
        output.say(f"from {one_line(plan.path)}, one event:")
        body = split_front_matter(render_event(plan.event)).body
        output.say("\n".join(f"  {line}".rstrip() for line in body.strip("\n").split("\n")))
    if plan.left:
        is_copied = plan.says_something or plan.is_taken_over
        where = "kept in the copy only" if is_copied else "not for an event"
        output.say(output.wrapped(f"{where}: {', '.join(plan.left)}", "", "  "))


def _why_nothing(plan: Plan) -> str:
    return ", which is left as it is" if plan.left else ": events state all of it already"


def _agrees(plan: Plan) -> bool:
    if not output.has_person():
        return False
    asked = "Publish this event" if plan.says_something else "Keep a copy"
    more = " and put the view in the file's place" if plan.is_taken_over else ""
    try:
        return click.confirm(f"{asked}{more}?", default=False, err=True)
    except click.Abort:
        output.draw("\n")  # what follows shall not stand behind the question
        raise


def _say_done(done: Migrated) -> None:
    if done.written is not None:
        output.say(f"published event {done.written.event.id}")
    if done.kept:
        output.say(f"kept the file as {one_line(done.kept)}")
    if done.view:
        output.say(f"view written: {one_line(done.view)}")
    else:
        output.note_hint("`passdown synthesize` brings the view up to date")


def _as_data(plan: Plan, done: Migrated | None) -> dict[str, object]:
    from passdown.core.schemas import to_data  # noqa: PLC0415 - people are answered without it

    event: Event = done.written.event if done and done.written else plan.event
    return {
        "path": plan.path,
        "written": done is not None,
        "event": to_data(event) if plan.says_something else None,
        "left": list(plan.left),
        "kept": (done.kept or None) if done else None,
        "view": (done.view or None) if done else None,
    }
