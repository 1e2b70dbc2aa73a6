"""Import a `current.md` that a person or another tool wrote as an event: plan, then carry out."""

import os
from pathlib import Path
from typing import Annotated

from passdown.actions.answers import HIDDEN, Form
from passdown.actions.callers import Caller
from passdown.actions.log.events import make_person
from passdown.actions.sessions.sessions import update_view
from passdown.core.formats.events import Event
from passdown.core.schemas import to_data
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.log.migrations import MigrationPlan, migrate, plan_migration


@record
class ImportedDocument:
    """What a document says that is in no event yet, and whether it was published."""

    path: Annotated[str, "The document, from the root of the project."]
    written: Annotated[bool, "Whether the plan was carried out."]
    event: Annotated[Event | None, "The event; null if the document says nothing new.", Form(to_data)]
    left: Annotated[tuple[str, ...], "What does not fit into an event."]
    kept: Annotated[str | None, "The copy of the document."]
    view: Annotated[str | None, "The view that replaced it."]
    plan: Annotated[MigrationPlan, "What the import does.", HIDDEN]
    published: Annotated[str | None, "The id of the event, if one was published.", HIDDEN] = None


def plan_import(caller: Caller, file: str | None) -> ImportedDocument:
    """Read a document, or the one at the path of the view, and return what importing it would do."""
    plan = plan_migration(caller.workspace, _find(caller, file))
    return ImportedDocument(
        path=plan.path,
        written=False,
        event=plan.event if plan.says_something else None,
        left=plan.left,
        kept=None,
        view=None,
        plan=plan,
    )


def carry_out(caller: Caller, plan: MigrationPlan) -> ImportedDocument:
    """Publish what a document says; it must not have changed since the import was planned."""
    done = migrate(caller.workspace, plan, make_person(plan.path, caller.workspace.clock))
    update_view(caller)
    event = done.written.event if done.written else plan.event
    return ImportedDocument(
        path=plan.path,
        written=True,
        event=event if plan.says_something else None,
        left=plan.left,
        kept=done.kept or None,
        view=done.view or None,
        plan=plan,
        published=done.written.event.id if done.written else None,
    )


def _find(caller: Caller, file: str | None) -> str:
    """Return the path of the document from the project's root; raise `UsageError` if it does not exist."""
    documents, path = caller.workspace.documents, caller.workspace.settings.paths.view
    if file is not None:
        full = Path(os.path.normpath(Path(os.path.realpath(caller.around.folder)) / file))
        root = Path(os.path.realpath(caller.workspace.root))
        if not file or not full.is_relative_to(root):
            hint = "copy it into the project first"
            raise UsageError(f"{file or 'an empty name'} is not a file of this project", hint=hint)
        path = full.relative_to(root).as_posix()
    if not documents.exists(path) or documents.is_folder(path):
        raise UsageError(f"{file or path}: no such file", hint="name the FILE to import")
    return path
