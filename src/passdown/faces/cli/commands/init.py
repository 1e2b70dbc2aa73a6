"""`passdown init`: show the changes that a project needs, ask, and write them."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from passdown.core.safe_text import one_line
from passdown.errors import PassdownError
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, width
from passdown.faces.cli.project import current_folder
from passdown.records import replace
from passdown.services.project.installs import (
    FileEdit,
    InstallPlan,
    InstallTarget,
    install,
    plan_sandbox,
)
from passdown.services.project.setups import (
    SetupChange,
    SetupPlan,
    SetupRequest,
    is_initialised,
    is_private,
    plan_setup,
    write_setup,
)
from passdown.services.workspace.documents import Repair
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import FILE_NAME
from passdown.wiring.installs import list_hosts_without_us, list_sandbox_targets
from passdown.wiring.projects import find_root, read_settings
from passdown.wiring.workspaces import open_workspace


@click.command()
@click.option("--yes", is_flag=True, help="Write without asking. Needed without a terminal.")
@click.option(
    "--private/--shared",
    "private",
    default=None,
    help="Keep all files out of git; or share them through git.",
)
@click.option("--no-commit", is_flag=True, help="Never let Passdown commit automatically.")
@click.option("--here", is_flag=True, help="Set up this folder only, not the whole repository.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, yes: bool, private: bool | None, no_commit: bool, here: bool, as_json: bool) -> int:
    """Set up Passdown in this project: settings and rules for git.

    Writes `passdown.toml`, a block in `.gitignore` that keeps local files out of git, and a block in
    `.gitattributes` that keeps git from changing the line endings of shared files and lets it merge the view
    without conflicts. The rest of those files is not changed. With --private, writes a block in
    `.git/info/exclude` instead of the two, which keeps everything out of git. Nothing is committed.
    A host that has the plugin, and a sandbox that is told its folders, is told the one in git's folder that
    sessions of this project share, so that they can record there.

    The diff is shown first. On a terminal, at most three questions are asked; --yes asks none.

    Exits with 0 if it is done or there is nothing to do, and with 1 if the changes were shown but not
    confirmed.
    """
    root = _find_root(here=here)
    settings, warnings = read_settings(root)
    for warning in warnings:
        output.note(warning)
    workspace = open_workspace(root, settings)
    is_asked = not (yes or as_json) and output.has_person()
    request = SetupRequest(is_private=private, commits=not no_commit)
    plan = plan_setup(workspace, _ask(workspace, request) if is_asked else request)
    sandboxes = _plan_sandboxes(root)
    edits = [edit for _, one in sandboxes for edit in one.edits]
    if not (plan.changes or edits):
        return _say_nothing(root, plan, as_json=as_json)
    if not as_json:
        _show(root, plan, edits)
    # With --json the user has not seen the changes yet, so only --yes can confirm.
    is_agreed = yes or (is_asked and _agrees("Write this?"))
    if is_agreed:
        write_setup(workspace, plan.changes)
        _tell_sandboxes(sandboxes)
    if as_json:
        output.say_json(_as_data(root, plan, edits, is_written=is_agreed))
    else:
        _say_written(workspace, plan, edits, is_written=is_agreed)
    return 0 if is_agreed else 1


def _plan_sandboxes(root: Path) -> list[tuple[InstallTarget, InstallPlan]]:
    """Plan what lets the sandboxes of hosts write where sessions of the project record (C158)."""
    found: list[tuple[InstallTarget, InstallPlan]] = []
    try:
        for target in list_sandbox_targets(sys.argv[0], root):
            plan = plan_sandbox(target)
            for note in plan.notes:
                output.note(f"{one_line(target.settings.path)}: {note}")
            found += [(target, plan)] if plan.edits else []
    except PassdownError as trouble:  # the settings of a host do not stop the setup of a project
        output.note(trouble.message)
    return found


def _tell_sandboxes(sandboxes: Sequence[tuple[InstallTarget, InstallPlan]]) -> None:
    for target, plan in sandboxes:
        install(target, plan)


def _offer_installs() -> None:
    """Suggest `passdown install` for installed hosts that do not have the plugin."""
    for host in list_hosts_without_us():
        output.note_hint(f"`passdown install {host.name}` adds Passdown to {host.title}")


def _find_root(*, here: bool) -> Path:
    folder = current_folder()
    root = find_root(folder)
    if here or root == folder:
        return folder
    if not (root / FILE_NAME).is_file():
        shown = os.path.relpath(root, folder).replace(os.sep, "/")
        output.note(f"the project is the whole repository, {shown}; use --here for this folder only")
    return root


def _ask(workspace: Workspace, request: SetupRequest) -> SetupRequest:
    """Ask what neither the options nor the project decide."""
    if workspace.git_documents is None or is_initialised(workspace) or is_private(workspace):
        return request
    if request.is_private is None:
        is_shared = _agrees("Share events and handoffs with others through git?")
        request = replace(request, is_private=not is_shared)
    if request.commits and not request.is_private:
        request = replace(
            request,
            commits=_agrees("May Passdown commit them at session ends, handoffs and checkpoints?"),
        )
    return request


def _agrees(question: str) -> bool:
    try:
        return click.confirm(question, default=True, err=True)
    except click.Abort:
        output.draw("\n")  # end the line of the question
        raise


def _say_nothing(root: Path, plan: SetupPlan, *, as_json: bool) -> int:
    if as_json:
        output.say_json(_as_data(root, plan, (), is_written=False))
    output.note(f"{root.name} is already set up{_class(plan)}; nothing was changed")
    return 0


def _class(plan: SetupPlan) -> str:
    return ", privately" if plan.is_private else ""


def _show(root: Path, plan: SetupPlan, edits: Sequence[FileEdit]) -> None:
    if plan.changes:
        output.say(f"in {one_line(str(root))}:")
    for text in (*map(_difference, plan.changes), *(edit.difference for edit in edits)):
        for line in text.splitlines():
            output.say(cut(line, width()))


def _difference(change: SetupChange) -> str:
    before, after = (data.decode("utf-8", "replace") for data in (change.before or b"", change.after))
    return Repair(path=change.path, before=before, after=after).difference(one_line(change.shown))


def _say_written(
    workspace: Workspace, plan: SetupPlan, edits: Sequence[FileEdit], *, is_written: bool
) -> None:
    if not is_written:
        output.note("nothing was written")
        if not output.has_person():
            output.note_hint("there is no terminal to ask at; --yes writes without asking")
        return
    for path in (*(change.shown for change in plan.changes), *(edit.file.path for edit in edits)):
        output.say(f"written: {one_line(path)}")
    shared = [change.shown for change in plan.changes if not change.is_gits]
    if workspace.git_documents is None and plan.changes:
        output.note("the project is not in a git repository; nothing is committed")
    elif shared and not plan.is_private:
        output.note_hint(f"commit {', '.join(shared)} to share the setup")
    _offer_installs()


def _as_data(
    root: Path, plan: SetupPlan, edits: Sequence[FileEdit], *, is_written: bool
) -> dict[str, object]:
    return {
        "root": str(root),
        "is_private": plan.is_private,
        "written": is_written,
        "changes": [
            {
                "path": change.shown,
                "is_new": change.before is None,
                "difference": _difference(change),
            }
            for change in plan.changes
        ]
        + [
            {"path": edit.file.path, "is_new": edit.before is None, "difference": edit.difference}
            for edit in edits
        ],
    }
