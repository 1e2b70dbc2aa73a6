"""Check a commit before git makes it, a push or a branch; install the check in git's hooks."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

from passdown.actions.answers import HIDDEN
from passdown.actions.callers import Caller
from passdown.core.coordination.leases import PathVerdict
from passdown.errors import StorageError
from passdown.records import record
from passdown.services.coordination import guard as services
from passdown.services.coordination.guard_installs import GuardPlan, plan_guard, remove_hooks
from passdown.services.project.setups import SetupChange, write_setup
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.projects import find_root, open_hosts, read_settings


@record
class StagedVerdict:
    """The verdict of the guard on a commit."""

    passed: Annotated[bool, "Whether it may be made."] = True
    conflicts: Annotated[
        tuple[PathVerdict, ...], "The paths that another session holds, or has held since."
    ] = ()


@record
class CommitsVerdict:
    """The verdict of the guard on existing commits."""

    passed: Annotated[bool, "Whether they may stay, or be pushed."] = True
    refused: Annotated[
        tuple[services.JudgedCommit, ...], "The commits that change files held by another session."
    ] = ()
    merged_views: Annotated[
        tuple[str, ...], "The last commits of pushed branches whose view git merged and nobody regenerated."
    ] = ()
    is_judged: Annotated[bool, "Whether sessions coordinate here.", HIDDEN] = True
    view: Annotated[str, "The path of that view.", HIDDEN] = ""


@record
class GuardPlans:
    """How the guard is added to the hooks of a clone."""

    plans: Annotated[Sequence[GuardPlan], "For each hook, what is written, or must be added by hand."]


@record
class RemovedGuard:
    """The guard after it was uninstalled."""

    hooks: Annotated[Sequence[str], "The hooks that had it."]
    by_hand: Annotated[Sequence[str], "If no hook had it, the files of other tools that may have it."]


def judge_staged(caller: Caller, _request: None = None) -> StagedVerdict:
    """Check the commit for each project that has a staged file; the first refusal counts."""
    found = services.GuardResult()
    for workspace in _open_projects(caller, _list_staged):
        result = services.check_commit(workspace, _find_committer(caller))
        found = result if result.conflicts or result.trouble or result.is_stopped else found
        if result.is_stopped:
            break
    if found.trouble:
        caller.warn(found.trouble)
    return StagedVerdict(passed=not found.is_stopped, conflicts=found.conflicts)


def judge_push(caller: Caller, pushed: services.PushedRefs) -> CommitsVerdict:
    """Check the push for each project that has a changed file; the first refusal counts."""

    def list_paths(workspace: Workspace) -> Sequence[str]:
        contents = workspace.commit_contents.commits_pushed(*pushed) or ()
        return [path for content in contents for path in content.paths]

    found, view = services.PushResult(), ""
    for workspace in _open_projects(caller, list_paths):
        result = services.check_push(workspace, _find_committer(caller), pushed)
        found = result if result.refused or result.is_stopped else found
        if result.is_stopped:
            view = workspace.settings.paths.view
            break
    return CommitsVerdict(
        passed=not found.is_stopped, refused=found.refused, merged_views=found.merged_views, view=view
    )


def judge_branch(caller: Caller, span: str) -> CommitsVerdict:
    """Check the commits of a range, for no session."""
    judged = services.check_commits(caller.workspace, span)
    refused = tuple(one for one in judged or () if one.conflicts)
    return CommitsVerdict(passed=not refused, refused=refused, is_judged=judged is not None)


def _find_committer(caller: Caller) -> services.Committer:
    hosts, variables = open_hosts(), caller.around.variables
    return services.Committer(hosts.session_ids(variables), hosts.names_agent(variables))


def _list_staged(workspace: Workspace) -> Sequence[str]:
    content = workspace.commit_contents.staged()
    return content.paths if content else ()


def _open_projects(caller: Caller, list_paths: Callable[[Workspace], Sequence[str]]) -> Iterator[Workspace]:
    """Yield the project of the caller, and those below it that have changed files (C49)."""
    workspace, around = caller.workspace, caller.around
    yield workspace
    if not _coordinates(workspace):
        return
    top = Path(workspace.root)
    folders = {os.path.dirname(path) for path in list_paths(workspace)}
    for root in sorted({find_root(top / folder) for folder in folders} - {top}):
        settings, _ = read_settings(root, around.variables)
        yield caller.open_other(root, settings, caller.outside(str(root)), around.limits)


def _coordinates(workspace: Workspace) -> bool:
    try:
        return workspace.find_coordination() is not None
    except StorageError:  # each project is checked with what can be read
        return True


def plan_install(caller: Caller, _request: None = None) -> GuardPlans:
    """Find out how to add the guard to the hooks of this clone; nothing is changed."""
    return GuardPlans(plans=plan_guard(caller.workspace))


def write_hooks(caller: Caller, changes: tuple[SetupChange, ...]) -> None:
    """Write what was planned; raise a StorageError if a hook has changed since."""
    write_setup(caller.workspace, changes)


def uninstall(caller: Caller, _request: None = None) -> RemovedGuard:
    """Remove the guard from the hooks; the rest of each hook stays unchanged."""
    hooks = remove_hooks(caller.workspace)
    plans = () if hooks else plan_guard(caller.workspace)
    return RemovedGuard(hooks=hooks, by_hand=[plan.place for plan in plans if plan.lines])
