"""Install the guard as git's pre-commit hook, and remove it again."""

import os
from typing import Annotated

from passdown import layout
from passdown.core.coordination.guard_hooks import (
    HookOwner,
    find_owner,
    list_lines,
    put_guard,
    remove_guard,
)
from passdown.core.project.git_rules import has_block
from passdown.errors import UsageError
from passdown.ports.documents import Documents
from passdown.records import record
from passdown.services.project.setups import SetupChange
from passdown.services.workspace.workspaces import Workspace


@record
class GuardPlan:
    """What an install of the guard writes, or what the user adds by hand."""

    owner: Annotated[HookOwner, "Who writes the hook."]
    change: Annotated[SetupChange | None, "The hook; None if it is not ours to edit, or nothing changes."] = (
        None
    )
    place: Annotated[str, "The file to add lines to; empty if nothing is to be added."] = ""
    lines: Annotated[tuple[str, ...], "These lines."] = ()


def plan_guard(workspace: Workspace) -> GuardPlan:
    """Find out how the guard becomes the pre-commit hook of this clone; nothing is changed.

    1. A folder that `core.hooksPath` names belongs to whoever named it: a tool, or all repositories.
    2. A tool that generates the hook would overwrite it: the lines belong into the tool's file.
    3. A hook that is no shell script is not edited.
    4. Otherwise the hook is written to the folder that all checkouts share.
    """
    documents = _need_git(workspace)
    folder = _find_foreign_folder(workspace)
    if folder:  # 1
        return _by_hand(HookOwner.FOLDER, f"{folder}/{layout.PRE_COMMIT}")
    before = documents.read(layout.PRE_COMMIT_HOOK) if documents.exists(layout.PRE_COMMIT_HOOK) else None
    owner = find_owner(before)
    if owner in {HookOwner.NOBODY, HookOwner.SCRIPT} and workspace.documents.exists(layout.PRE_COMMIT_FILE):
        owner = HookOwner.PRE_COMMIT
    if owner is HookOwner.PRE_COMMIT:  # 2
        return _by_hand(owner, layout.PRE_COMMIT_FILE)
    if owner is HookOwner.LEFTHOOK:
        return _by_hand(owner, layout.LEFTHOOK_FILE)
    if owner is HookOwner.PROGRAM:  # 3
        return _by_hand(owner, layout.shown_in_git(layout.PRE_COMMIT_HOOK))
    after = put_guard(before)  # 4
    change = SetupChange(layout.PRE_COMMIT_HOOK, before, after, is_gits=True)
    return GuardPlan(owner=owner, change=change if after != before else None)


def remove_hook(workspace: Workspace) -> bool:
    """Remove the guard from the hook, to the byte; return whether it was there."""
    documents = _need_git(workspace)
    path = layout.PRE_COMMIT_HOOK
    before = documents.read(path) if documents.exists(path) else b""
    if not has_block(before):
        return False
    after = remove_guard(before)
    if after is None:
        documents.remove(path, before)
    else:
        documents.replace(path, after)
    return True


def _by_hand(owner: HookOwner, place: str) -> GuardPlan:
    return GuardPlan(owner=owner, place=place, lines=list_lines(owner))


def _need_git(workspace: Workspace) -> Documents:
    if workspace.git_documents is None:
        raise UsageError("the project is not in a git repository", hint="run `git init` first")
    return workspace.git_documents


def _find_foreign_folder(workspace: Workspace) -> str:
    """Return the folder of hooks if it is not git's own, in the form shown to users."""
    folder = workspace.commit_contents.hooks_path()
    common = workspace.repository.common_folder() or ""
    if not folder or folder == os.path.join(common, layout.GIT_HOOKS):
        return ""
    for checkout in workspace.repository.checkouts():
        if folder.startswith(f"{checkout.path}{os.sep}"):
            return os.path.relpath(folder, checkout.path).replace(os.sep, "/")
    return folder
