"""`passdown install` and `uninstall`: show the changes to a host, ask, and make them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from passdown.actions.answers import Answered, encode
from passdown.actions.project import installs
from passdown.core.safe_text import one_line
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call_bare, show
from passdown.faces.cli.hosts import HostChoice
from passdown.faces.cli.lines import say_difference
from passdown.services.project.installs import FileEdit

_SHOWN: Final = 20

_host_argument = click.argument("name", type=HostChoice(), required=False)


@click.command()
@_host_argument
@options.yes
@click.option(
    "--instructions",
    is_flag=True,
    help="Also write a block into the project's instruction file for agents.",
)
@click.option(
    "--edits/--no-edits",
    default=None,
    help="Also call Passdown before edits and commands, or stop that (default: as installed; at first, no).",
)
@click.option(
    "--permissions/--no-permissions",
    "permits",
    default=True,
    help="Let agents record without asking; or leave the host's permissions as they are. Default: let them.",
)
@options.json
def install(
    name: str | None, *, yes: bool, instructions: bool, edits: bool | None, permits: bool, as_json: bool
) -> int:
    """Install the plugin into a host, after showing you the changes.

    Writes the plugin to your data folder, with the path of this program in its hooks, and adds it with the
    host's own commands, for all your projects. If the host has a status line, adds Passdown's to its
    settings; an existing one is wrapped. The hooks do nothing in a project without a `passdown.toml`.

    The changes include what agents need to record: in a host with permission rules, rules for commands that
    record, read and coordinate; in a host with a sandbox, the folder that sessions of the current project
    share. --no-permissions adds neither.

    With --edits, the host also calls Passdown before it edits a file or runs a command, and Passdown refuses
    what a subagent must leave to its session. Use it where several agents work: each call takes a moment. A
    later install keeps these hooks; --no-edits removes them.

    Without a host, lists the hosts, which of them are on this machine, and which have the plugin.

    Exits with 0 if it is done or there is nothing to do, and with 1 if the changes were shown but not
    confirmed.
    """
    if name is None:
        return _list_hosts(as_json=as_json)
    request = installs.InstallRequest(host=name, has_instructions=instructions, edits=edits, permits=permits)
    answer = call_bare(installs.plan_install, request)
    if answer.result.is_temporary:
        output.note("passdown runs from a temporary path that may soon be gone")
        output.note_hint("install it with `uv tool install passdown`, then run this again")
    return _carry_out(answer, yes=yes, as_json=as_json)


@click.command()
@_host_argument
@click.option("--purge", "is_purge", is_flag=True, help="Also remove this project's local data.")
@options.yes
@options.json
def uninstall(name: str | None, *, is_purge: bool, yes: bool, as_json: bool) -> int:
    """Remove the plugin from a host; your own changes stay.

    Restores every file that `passdown install` edited, and keeps your changes since then. Project data stays.
    With --purge, lists the local data of the project in the current folder (journals, ledgers, caches) and
    deletes it once you confirm. Files that git tracks stay.

    Without a host, lists the hosts, which of them are on this machine, and which have the plugin.

    Exits with 0 if it is done or there is nothing to do, and with 1 if the changes were shown but not
    confirmed.
    """
    if name is None:
        return _list_hosts(as_json=as_json)
    request = installs.UninstallRequest(host=name, is_purge=is_purge)
    answer = call_bare(installs.plan_uninstall, request, is_anywhere=not is_purge)
    return _carry_out(answer, yes=yes, as_json=as_json)


def _list_hosts(*, as_json: bool) -> int:
    answer = call_bare(installs.list_hosts, None, is_anywhere=True)
    show(answer, _say_hosts, as_json=as_json)
    return 0


def _say_hosts(found: installs.HostStates) -> None:
    widest = max(len(one.host) for one in found.hosts)
    for one in found.hosts:
        output.say(f"{one.host.ljust(widest)}  {one.title}: {_describe_state(one)}")
    lacking = [one.host for one in found.hosts if one.is_present and not one.is_installed]
    if lacking:
        output.note_hint(f"run `passdown install {lacking[0]}` to add Passdown to it")


def _describe_state(one: installs.HostState) -> str:
    if one.is_installed:
        return "has the plugin" if one.is_present else "has the plugin, but was not found on this machine"
    return "on this machine, without the plugin" if one.is_present else "not found on this machine"


def _carry_out(answer: Answered[installs.InstallResult], *, yes: bool, as_json: bool) -> int:
    planned = answer.result
    if planned.plan.is_empty and not planned.local:
        return _say_nothing(planned, as_json=as_json)
    if not as_json:
        _show(planned)
    is_agreed = output.is_agreed("Proceed?", usual=not planned.local, yes=yes, as_json=as_json)
    if is_agreed:
        act = installs.install if planned.is_install else installs.uninstall
        answer = call_bare(act, planned, is_anywhere=True)
    for note in planned.notes:
        output.note(note)
    show(answer, _say_outcome, as_json=as_json)
    return 0 if is_agreed else 1


def _say_nothing(planned: installs.InstallResult, *, as_json: bool) -> int:
    for note in planned.notes:
        output.note(note)
    if as_json:
        output.say_json(encode(planned))
    state = "already has the plugin" if planned.is_install else "does not have the plugin"
    output.note(f"{planned.target.host.title} {state}; nothing was changed")
    return 0


def _show(planned: installs.InstallResult) -> None:
    for change in planned.changes:
        say_difference(change.difference)
    if planned.files:
        output.say(_count_files(planned.plan.files))
    if planned.files and planned.is_install:
        more = ", also before edits and commands" if planned.edits else ""
        output.say(f"hooks call: {one_line(planned.line)}{more}")
    for command in planned.commands:
        output.say(f"run: {_spoken(command)}")
    if planned.local:
        output.say(f"{len(planned.local)} local files of this project will be deleted:")
        for one in planned.local[:_SHOWN]:
            output.say(f"  {one_line(one.shown)}")
        if len(planned.local) > _SHOWN:
            output.say(f"  and {len(planned.local) - _SHOWN} more")


def _count_files(files: Sequence[FileEdit]) -> str:
    """Count the plugin files: they are ours, so they are not shown one by one."""
    counts = {
        "added": sum(edit.before is None for edit in files),
        "changed": sum(edit.before is not None and edit.after is not None for edit in files),
        "removed": sum(edit.after is None for edit in files),
    }
    folder = str(Path(files[0].file.path).parents[len(Path(files[0].file.name).parts) - 1])
    words = [f"{output.counted(count, 'plugin file')} {word}" for word, count in counts.items() if count]
    return f"{one_line(folder)}: {', '.join(words)}"


def _spoken(command: Sequence[str]) -> str:
    name = Path(command[0]).stem
    return " ".join([name, *(f'"{word}"' if " " in word else word for word in map(one_line, command[1:]))])


def _say_outcome(found: installs.InstallResult) -> None:
    title = found.target.host.title
    if not found.done:
        output.note("nothing was changed")
        if not output.has_person():
            output.note_hint("no terminal to ask on; pass --yes to skip the question")
    elif found.is_install:
        output.say(f"installed into {title}")
        usual = "active from your next session, in projects with a passdown.toml"
        output.note_hint(found.step or usual)
    else:
        output.say(f"uninstalled from {title}")
        if found.local:
            output.say(f"deleted {found.removed} local files of this project")
