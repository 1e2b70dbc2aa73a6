"""Set up a project: find the open choices, plan the changes, and write what was shown."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from passdown.actions.answers import HIDDEN, NoticeKind
from passdown.actions.callers import Caller
from passdown.actions.project.installs import ShownChange, find_own_program, list_changes
from passdown.core.safe_text import one_line
from passdown.errors import PassdownError
from passdown.ports.host import Host
from passdown.records import record, replace
from passdown.services.project import setups
from passdown.services.project.installs import InstallPlan, InstallTarget, install, plan_sandbox
from passdown.services.project.setups import (
    SetupPlan,
    SetupRequest,
    is_initialised,
    is_private,
    write_setup,
)
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import FILE_NAME
from passdown.wiring.installs import compile_modules, list_hosts_without_us, list_sandbox_targets
from passdown.wiring.projects import read_settings
from passdown.wiring.workspaces import Outside, open_workspace


@record
class FolderRequest:
    """Which folder to set up."""

    is_here: Annotated[bool, "Whether to set up the caller's folder instead of the whole repository."] = False


@record
class SetupFolder:
    """The folder to set up."""

    workspace: Annotated[Workspace, "The folder, with its settings.", HIDDEN]
    is_decided: Annotated[bool, "Whether nothing is left to choose about sharing and committing."]


@record
class SetupOptions:
    """How to set up a folder."""

    folder: Annotated[SetupFolder, "The folder."]
    choices: Annotated[SetupRequest, "What the user wants."]


@record
class SetupResult:
    """The changes that a project needs, or that were written."""

    root: Annotated[str, "The folder of the project."]
    is_private: Annotated[bool, "Whether all files are kept out of git."]
    written: Annotated[bool, "Whether the changes are written."]
    changes: Annotated[tuple[ShownChange, ...], "The changes."]
    folder: Annotated[SetupFolder, "The folder of the project.", HIDDEN]
    plan: Annotated[SetupPlan, "The changes to the project.", HIDDEN]
    sandboxes: Annotated[
        tuple[tuple[InstallTarget, InstallPlan], ...], "The changes to settings of hosts (C158).", HIDDEN
    ]
    lacking: Annotated[tuple[Host, ...], "The hosts without the plugin, after writing.", HIDDEN] = ()

    @property
    def is_in_git(self) -> bool:
        """Return whether the folder is in a repository."""
        return self.folder.workspace.git_documents is not None


def find_folder(caller: Caller, request: FolderRequest) -> SetupFolder:
    """Find the folder to set up, and whether there is something to choose."""
    folder, root = caller.around.folder, Path(caller.workspace.root)
    if request.is_here:
        root = folder
    elif root != folder and not (root / FILE_NAME).is_file():
        shown = os.path.relpath(root, folder).replace(os.sep, "/")
        caller.note(NoticeKind.WHOLE_REPOSITORY, root=shown)
    settings, warnings = read_settings(root, caller.around.variables)
    for text in warnings:
        caller.warn(text)
    workspace = open_workspace(root, settings, Outside(variables=caller.around.variables))
    is_decided = workspace.git_documents is None or is_initialised(workspace) or is_private(workspace)
    return SetupFolder(workspace=workspace, is_decided=is_decided)


def plan_setup(caller: Caller, request: SetupOptions) -> SetupResult:
    """Find out which changes a project needs; nothing is changed yet."""
    workspace = request.folder.workspace
    plan = setups.plan_setup(workspace, request.choices)
    sandboxes = tuple(_plan_sandboxes(caller, Path(workspace.root)))
    own = [
        ShownChange(path=one.shown, is_new=one.before is None, difference=one.difference)
        for one in plan.changes
    ]
    return SetupResult(
        root=workspace.root,
        is_private=plan.is_private,
        written=False,
        changes=(*own, *(change for _, one in sandboxes for change in list_changes(one))),
        folder=request.folder,
        plan=plan,
        sandboxes=sandboxes,
    )


def _plan_sandboxes(caller: Caller, root: Path) -> Iterator[tuple[InstallTarget, InstallPlan]]:
    """Plan how to let the sandboxes of hosts write where the project's sessions record (C158)."""
    try:
        for target in list_sandbox_targets(find_own_program(caller), root):
            plan = plan_sandbox(target)
            for note in plan.notes:
                caller.note(NoticeKind.HOST_SETTINGS, path=one_line(target.settings.path), text=note)
            if plan.edits:
                yield target, plan
    except PassdownError as trouble:  # the settings of a host do not stop the setup of a project
        caller.warn(trouble.message)


def write(caller: Caller, planned: SetupResult) -> SetupResult:
    """Write what was planned; raise a StorageError if a file has changed since."""
    write_setup(planned.folder.workspace, planned.plan.changes)
    for target, plan in planned.sandboxes:
        install(target, plan)
    caller.after.append(compile_modules)
    lacking = list_hosts_without_us(caller.around.variables)
    return replace(planned, written=True, lacking=tuple(lacking))
