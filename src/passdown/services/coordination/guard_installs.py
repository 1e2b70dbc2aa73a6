"""Install the guard as git hooks, and remove it again."""

import os
from collections.abc import Sequence
from typing import Annotated, Final

from passdown import layout
from passdown.core.coordination.guard_hooks import HookOwner, find_owner, list_lines, put_guard, remove_guard
from passdown.core.project.git_rules import has_block
from passdown.errors import UsageError
from passdown.ports.documents import Documents
from passdown.records import record
from passdown.services.project.setups import SetupChange
from passdown.services.workspace.local_files import read_if_there
from passdown.services.workspace.workspaces import Workspace

_HOOKS: Final = (layout.PRE_COMMIT, layout.PRE_MERGE_COMMIT, layout.PRE_PUSH)


@record
class GuardPlan:
    """The change to one hook that installs the guard, or the lines that the user adds by hand."""

    owner: Annotated[HookOwner, "Who owns the hook."]
    change: Annotated[
        SetupChange | None, "The change to the hook; None if we do not edit it, or nothing changes."
    ] = None
    place: Annotated[str, "The file to add lines to; empty if there is nothing to add."] = ""
    lines: Annotated[tuple[str, ...], "The lines to add."] = ()


def plan_guard(workspace: Workspace) -> Sequence[GuardPlan]:
    """Plan how to install the guard into the hooks of this clone, one plan per hook; nothing is changed.

    1. The folder in `core.hooksPath` is not ours: it belongs to a tool, or to all repositories.
    2. A tool that generates the hooks would overwrite ours, so the lines go into the tool's file.
    3. A hook that is not a shell script is not edited.
    4. Otherwise the hook is written to the folder that all checkouts share.
    """
    documents = _need_git(workspace)
    folder = _find_foreign_folder(workspace)
    if folder:  # 1
        return [_by_hand(HookOwner.FOLDER, f"{folder}/{name}", name) for name in _HOOKS]
    hooks = {name: read_if_there(documents, layout.git_hook(name)) for name in _HOOKS}
    owners = {name: find_owner(data) for name, data in hooks.items()}
    if HookOwner.PRE_COMMIT in owners.values() or workspace.documents.exists(layout.PRE_COMMIT_FILE):  # 2
        return [_by_hand(HookOwner.PRE_COMMIT, layout.PRE_COMMIT_FILE)]
    if HookOwner.LEFTHOOK in owners.values():
        return [_by_hand(HookOwner.LEFTHOOK, layout.LEFTHOOK_FILE)]
    return [_plan_hook(name, owners[name], data) for name, data in hooks.items()]


def _plan_hook(name: str, owner: HookOwner, before: bytes | None) -> GuardPlan:
    path = layout.git_hook(name)
    if owner is HookOwner.PROGRAM:  # 3
        return _by_hand(owner, layout.shown_in_git(path), name)
    after = put_guard(before, is_push=name == layout.PRE_PUSH)  # 4
    change = SetupChange(path, before, after, is_gits=True)
    return GuardPlan(owner=owner, change=change if after != before else None)


def remove_hooks(workspace: Workspace) -> Sequence[str]:
    """Remove the guard from the hooks exactly as it was added; return the names of those that had it."""
    documents = _need_git(workspace)
    return [name for name in _HOOKS if _remove_hook(documents, layout.git_hook(name))]


def _remove_hook(documents: Documents, path: str) -> bool:
    before = read_if_there(documents, path) or b""
    if not has_block(before):
        return False
    after = remove_guard(before)
    if after is None:
        documents.remove(path, before)
    else:
        documents.replace(path, after)
    return True


def _by_hand(owner: HookOwner, place: str, name: str = "") -> GuardPlan:
    return GuardPlan(owner=owner, place=place, lines=list_lines(owner, is_push=name == layout.PRE_PUSH))


def _need_git(workspace: Workspace) -> Documents:
    if workspace.git_documents is None:
        raise UsageError("the project is not in a git repository", hint="run `git init` first")
    return workspace.git_documents


def _find_foreign_folder(workspace: Workspace) -> str:
    """Return the folder of hooks, as shown to users, if it is not git's own."""
    folder = workspace.commit_contents.hooks_path()
    common = workspace.repository.common_folder() or ""
    if not folder or folder == os.path.join(common, layout.GIT_HOOKS):
        return ""
    for checkout in workspace.repository.checkouts():
        if folder.startswith(f"{checkout.path}{os.sep}"):
            return os.path.relpath(folder, checkout.path).replace(os.sep, "/")
    return folder
