"""Install the plugin into a host, and uninstall it: plan, then do what was shown."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from passdown.actions.answers import HIDDEN, Form
from passdown.actions.callers import Caller
from passdown.core.hosts.installs import Command, hook_line, is_temporary
from passdown.records import record, replace
from passdown.services.project import imports as service
from passdown.services.project import installs
from passdown.services.project.setups import PurgeableFile, list_local, purge
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import FILE_NAME
from passdown.wiring.imports import open_history, open_import
from passdown.wiring.installs import OwnProgram, compile_modules, list_host_states, open_install_target
from passdown.wiring.projects import read_settings
from passdown.wiring.workspaces import Outside, open_workspace


@record
class ShownChange:
    """A file that is created or changed."""

    path: Annotated[str, "Its path."]
    is_new: Annotated[bool, "Whether it is created."]
    difference: Annotated[str, "The change as a diff."]


@record
class InstallRequest:
    """How to install the plugin."""

    host: Annotated[str, "The name of the host."]
    has_instructions: Annotated[
        bool, "Whether to add a block to the project's instruction file for agents."
    ] = False
    edits: Annotated[bool | None, "Whether hooks check edits; null to leave it as it is."] = None
    permits: Annotated[bool, "Whether to add the permissions that agents need to record."] = True


@record
class UninstallRequest:
    """The host to remove the plugin from."""

    host: Annotated[str, "The name of the host."]
    is_purge: Annotated[bool, "Whether to remove the local data of the project as well."] = False


def _tell_local(files: Sequence[PurgeableFile]) -> list[str]:
    return [one.shown for one in files]


@record
class InstallResult:
    """What an install or uninstall changes, or has changed if it is done."""

    host: Annotated[str, "The name of the host."]
    done: Annotated[bool, "Whether it is done."]
    line: Annotated[str, "How hooks call Passdown."]
    changes: Annotated[tuple[ShownChange, ...], "The changes to the user's own files."]
    edits: Annotated[bool, "Whether hooks are called before edits and commands."]
    files: Annotated[tuple[str, ...], "The plugin files that are written or removed."]
    commands: Annotated[tuple[Command, ...], "The commands of the host that are run."]
    local: Annotated[
        tuple[PurgeableFile, ...], "The local files of the project that are removed.", Form(_tell_local)
    ]
    notes: Annotated[tuple[str, ...], "Notes for the user."]
    step: Annotated[str, "What the user must still do; empty if nothing."]
    target: Annotated[installs.InstallTarget, "The host on this machine.", HIDDEN]
    plan: Annotated[installs.InstallPlan, "The planned changes.", HIDDEN]
    is_install: Annotated[bool, "Whether this is an install, not an uninstall.", HIDDEN] = False
    is_temporary: Annotated[bool, "Whether the program that hooks call may soon be gone.", HIDDEN] = False
    removed: Annotated[int, "How many local files were removed.", HIDDEN] = 0


@record
class HostState:
    """A host, and what of it is on this machine."""

    host: Annotated[str, "Its name, as `install` takes it."]
    title: Annotated[str, "Its name for people."]
    is_present: Annotated[bool, "Whether its program is on the PATH."]
    is_installed: Annotated[bool, "Whether it has the plugin."]


@record
class HostStates:
    """The hosts that the plugin can be installed into."""

    hosts: Annotated[tuple[HostState, ...], "Each of them, in the order of the table of hosts."]


def list_hosts(caller: Caller, _request: None = None) -> HostStates:
    """List the hosts, which of them are on this machine, and which have the plugin."""
    found = list_host_states(caller.around.variables)
    return HostStates(
        hosts=tuple(
            HostState(host=host.name, title=host.title, is_present=is_present, is_installed=is_installed)
            for host, is_present, is_installed in found
        )
    )


def list_changes(plan: installs.InstallPlan) -> Sequence[ShownChange]:
    """Return the changes of a plan to the user's own files."""
    return [
        ShownChange(path=edit.file.path, is_new=edit.before is None, difference=edit.difference)
        for edit in plan.edits
    ]


def find_own_program(caller: Caller) -> OwnProgram:
    """Return how the caller started this program, so that a host can start it the same way."""
    around = caller.around
    return OwnProgram(around.program, str(around.folder), around.variables)


def plan_install(caller: Caller, request: InstallRequest) -> InstallResult:
    """Find out what an install would change; nothing is changed yet."""
    root = Path(caller.workspace.root)
    target = open_install_target(
        request.host,
        find_own_program(caller),
        root if request.has_instructions else None,
        edits=request.edits,
        permits=request.permits,
        project=root if (root / FILE_NAME).is_file() else None,
    )
    return replace(
        _describe(target, installs.plan_install(target)),
        step=target.install.step,
        is_install=True,
        is_temporary=is_temporary([target.line]),
    )


def plan_uninstall(caller: Caller, request: UninstallRequest) -> InstallResult:
    """Find out what an uninstall would remove; nothing is changed yet."""
    target = open_install_target(request.host, find_own_program(caller))
    local: Sequence[PurgeableFile] = ()
    if request.is_purge:
        root = Path(caller.workspace.root)
        settings, warnings = read_settings(root, caller.around.variables)
        for text in warnings:
            caller.warn(text)
        workspace = open_workspace(root, settings, Outside(variables=caller.around.variables))
        local = (*list_local(workspace), *_list_history(workspace))
    return replace(_describe(target, installs.plan_uninstall(target)), local=tuple(local))


def _list_history(workspace: Workspace) -> Sequence[PurgeableFile]:
    """List the history of a project without git; that of others is among the files in git's folder."""
    if workspace.git_documents is not None:
        return ()
    return service.list_files(open_history(workspace))


def _describe(target: installs.InstallTarget, plan: installs.InstallPlan) -> InstallResult:
    return InstallResult(
        host=target.host.name,
        done=False,
        line=hook_line(target.line, target.host.name),
        changes=tuple(list_changes(plan)),
        edits=plan.checks_edits,
        files=tuple(edit.file.path for edit in plan.files),
        commands=plan.commands,
        local=(),
        notes=plan.notes,
        step="",
        target=target,
        plan=plan,
    )


def install(caller: Caller, planned: InstallResult) -> InstallResult:
    """Install as planned; raise an error if the host refuses or a file has changed since.

    Our modules are compiled after the answer, if an installer left that to us.
    """
    installs.install(planned.target, planned.plan)
    caller.after.append(compile_modules)
    return replace(planned, done=True)


def uninstall(caller: Caller, planned: InstallResult) -> InstallResult:
    """Uninstall as planned; what the host refuses is reported, and the rest is done anyway."""
    for text in installs.uninstall(planned.target, planned.plan):
        caller.warn(text)
    removed = purge(planned.local)
    if planned.local:
        open_import(caller.workspace).sweep()  # what a killed import left unfinished is in no list
    return replace(planned, done=True, removed=removed)
