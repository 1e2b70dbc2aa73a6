"""`passdown install` and `uninstall`: show the changes to a host, ask, and make them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from passdown.core.hosts.installs import hook_line, is_temporary
from passdown.core.safe_text import one_line
from passdown.faces.cli import output
from passdown.faces.cli.hosts import HostChoice
from passdown.faces.cli.lines import cut, width
from passdown.faces.cli.project import current_folder
from passdown.services.project.installs import (
    FileEdit,
    InstallPlan,
    InstallTarget,
    plan_install,
    plan_uninstall,
)
from passdown.services.project.installs import install as install_plugin
from passdown.services.project.installs import uninstall as uninstall_plugin
from passdown.services.project.purges import PurgeableFile, list_local, purge
from passdown.settings import FILE_NAME
from passdown.wiring.installs import open_install_target
from passdown.wiring.projects import find_root, read_settings
from passdown.wiring.workspaces import open_workspace

_SHOWN: Final = 20

_host_argument = click.argument("name", type=HostChoice())
_yes_option = click.option("--yes", is_flag=True, help="Do not ask. Needed without a terminal.")
_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.command()
@_host_argument
@_yes_option
@click.option(
    "--instructions",
    is_flag=True,
    help="Also write a block into the project's instruction file for agents.",
)
@click.option(
    "--edits/--no-edits",
    default=None,
    help="Also call Passdown before edits and commands, or stop that. Default: as installed; at first, no.",
)
@click.option(
    "--permissions/--no-permissions",
    "permits",
    default=True,
    help="Let agents record without asking; or leave the host's permissions as they are. Default: let them.",
)
@_json_option
def install(
    name: str, *, yes: bool, instructions: bool, edits: bool | None, permits: bool, as_json: bool
) -> int:
    """Install the plugin into a host; show the changes first.

    Writes the plugin to your data folder, with the path of this program in its hooks, and adds it with the
    host's own commands, for all your projects. If the host has a status line, adds Passdown's to its
    settings; an existing one is wrapped. The hooks do nothing in a project without a `passdown.toml`.

    The changes include what agents need to record: permission rules for commands that record, read and
    coordinate, in a host that has such rules; in a host with a sandbox that is told its folders, the folder
    in git's that sessions of the current project share. With --no-permissions neither is added.

    With --edits, the host also calls Passdown before it edits a file or runs a command; Passdown then refuses
    what a subagent must leave to its session. It is for projects in which several agents work: each call
    takes a moment. A later install keeps these hooks; --no-edits removes them.

    Exits with 0 if it is done or there is nothing to do, and with 1 if the changes were shown but not
    confirmed.
    """
    root = find_root(current_folder())
    target = open_install_target(
        name,
        sys.argv[0],
        root if instructions else None,
        edits=edits,
        permits=permits,
        project=root if (root / FILE_NAME).is_file() else None,
    )
    plan = plan_install(target)
    if is_temporary([target.line]):
        output.note("passdown runs from a temporary path, which may soon be gone")
        output.note_hint("install it with `uv tool install passdown`, then repeat")
    return _carry_out(
        target, plan, _InstallOptions(yes=yes, as_json=as_json, line=hook_line(target.line, target.host.name))
    )


@click.command()
@_host_argument
@click.option("--purge", "is_purge", is_flag=True, help="Also remove this project's local data.")
@_yes_option
@_json_option
def uninstall(name: str, *, is_purge: bool, yes: bool, as_json: bool) -> int:
    """Remove the plugin from a host; your own changes stay.

    Restores every file that `passdown install` edited, but keeps your changes since then. The data of
    projects stays. With --purge, the local data of the project in the current folder (journals, ledgers,
    caches) is listed and, if you confirm, deleted. Files that git tracks stay.

    Exits with 0 if it is done or there is nothing to do, and with 1 if the changes were shown but not
    confirmed.
    """
    target = open_install_target(name, sys.argv[0])
    local: Sequence[PurgeableFile] = _find_local() if is_purge else ()
    return _carry_out(target, plan_uninstall(target), _InstallOptions(yes=yes, as_json=as_json, local=local))


class _InstallOptions:
    """The options for carrying out a plan."""

    def __init__(
        self, *, yes: bool, as_json: bool, line: str = "", local: Sequence[PurgeableFile] = ()
    ) -> None:
        self.yes = yes
        self.as_json = as_json
        self.line = line
        self.is_install = bool(line)
        self.local = local


def _find_local() -> Sequence[PurgeableFile]:
    root = find_root(current_folder())
    settings, warnings = read_settings(root)
    for warning in warnings:
        output.note(warning)
    return list_local(open_workspace(root, settings))


def _carry_out(target: InstallTarget, plan: InstallPlan, options: _InstallOptions) -> int:
    if plan.is_empty and not options.local:
        return _say_nothing(target, plan, options)
    if not options.as_json:
        _show(plan, options)
    is_asked = not (options.yes or options.as_json) and output.has_person()
    is_agreed = options.yes or (is_asked and _agrees("Do this?", usual=not options.local))
    removed = _do(target, plan, options) if is_agreed else 0
    for note in plan.notes:
        output.note(note)
    if options.as_json:
        output.say_json(_as_data(target, plan, options, is_done=is_agreed))
    elif is_agreed:
        _say_done(target, options, removed)
    else:
        _say_not_done()
    return 0 if is_agreed else 1


def _do(target: InstallTarget, plan: InstallPlan, options: _InstallOptions) -> int:
    """Carry out the plan, and return how many local files were deleted."""
    if options.is_install:
        install_plugin(target, plan)
        return 0
    for note in uninstall_plugin(target, plan):
        output.note(note)
    return purge(options.local)


def _agrees(question: str, *, usual: bool) -> bool:
    try:
        return click.confirm(question, default=usual, err=True)
    except click.Abort:
        output.draw("\n")  # end the line of the question
        raise


def _say_nothing(target: InstallTarget, plan: InstallPlan, options: _InstallOptions) -> int:
    for note in plan.notes:
        output.note(note)
    if options.as_json:
        output.say_json(_as_data(target, plan, options, is_done=False))
    state = "already has the plugin" if options.is_install else "does not have the plugin"
    output.note(f"{target.host.title} {state}; nothing was changed")
    return 0


def _show(plan: InstallPlan, options: _InstallOptions) -> None:
    for edit in plan.edits:
        for line in edit.difference.splitlines():
            output.say(cut(line, width()))
    for folder, files in _by_folder(plan.files).items():
        output.say(f"{folder}: {files}")
    if plan.files and options.is_install:
        more = ", also before edits and commands" if plan.judges_edits else ""
        output.say(f"hooks call: {one_line(options.line)}{more}")
    for command in plan.commands:
        output.say(f"run: {_spoken(command)}")
    if options.local:
        output.say(f"{len(options.local)} local files of this project will be deleted:")
        for one in options.local[:_SHOWN]:
            output.say(f"  {one_line(one.shown)}")
        if len(options.local) > _SHOWN:
            output.say(f"  and {len(options.local) - _SHOWN} more")


def _by_folder(files: Sequence[FileEdit]) -> dict[str, str]:
    """Count the plugin files: they are ours, so they are not shown one by one."""
    if not files:
        return {}
    counts = {
        "added": sum(edit.before is None for edit in files),
        "changed": sum(edit.before is not None and edit.after is not None for edit in files),
        "removed": sum(edit.after is None for edit in files),
    }
    folder = str(Path(files[0].file.path).parents[len(Path(files[0].file.name).parts) - 1])
    words = [f"{_plural(count)} {word}" for word, count in counts.items() if count]
    return {one_line(folder): ", ".join(words)}


def _plural(count: int) -> str:
    return f"{count} plugin file{'' if count == 1 else 's'}"


def _spoken(command: Sequence[str]) -> str:
    name = Path(command[0]).stem
    return " ".join([name, *(f'"{word}"' if " " in word else word for word in map(one_line, command[1:]))])


def _say_done(target: InstallTarget, options: _InstallOptions, removed: int) -> None:
    if options.is_install:
        output.say(f"installed into {target.host.title}")
        if target.install.step:
            output.note_hint(target.install.step)
        else:
            output.note_hint("it is active from the next session on, in projects with a passdown.toml")
        return
    output.say(f"uninstalled from {target.host.title}")
    if options.local:
        output.say(f"deleted {removed} local files of this project")


def _say_not_done() -> None:
    output.note("nothing was changed")
    if not output.has_person():
        output.note_hint("there is no terminal to ask at; --yes skips the question")


def _as_data(
    target: InstallTarget, plan: InstallPlan, options: _InstallOptions, *, is_done: bool
) -> dict[str, object]:
    return {
        "host": target.host.name,
        "done": is_done,
        "line": hook_line(target.line, target.host.name),
        "changes": [
            {"path": edit.file.path, "is_new": edit.before is None, "difference": edit.difference}
            for edit in plan.edits
        ],
        "edits": plan.judges_edits,
        "files": [edit.file.path for edit in plan.files],
        "commands": [list(command) for command in plan.commands],
        "local": [one.shown for one in options.local],
        "notes": list(plan.notes),
        "step": target.install.step if options.is_install else "",
    }
