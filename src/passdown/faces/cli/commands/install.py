"""`passdown install` and `uninstall`: show what changes in a host, ask, and do it."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from passdown import wiring
from passdown.core.installs import HOSTS, hook_line, is_fleeting
from passdown.core.texts import one_line
from passdown.faces.cli import output
from passdown.faces.cli.lines import cut, width
from passdown.faces.cli.project import current_folder
from passdown.services.documents import Repair
from passdown.services.installs import Edit, Home, Plan, plan_install, plan_uninstall
from passdown.services.installs import install as install_plugin
from passdown.services.installs import uninstall as uninstall_plugin
from passdown.services.purges import Local, list_local, purge

_SHOWN: Final = 20

_host_argument = click.argument("name", metavar="HOST", type=click.Choice(list(HOSTS)))
_yes_option = click.option("--yes", is_flag=True, help="Do it without asking. Needed without a terminal.")
_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.command()
@_host_argument
@_yes_option
@click.option(
    "--instructions", is_flag=True, help="Also write a block into the project's CLAUDE.md or AGENTS.md."
)
@_json_option
def install(name: str, *, yes: bool, instructions: bool, as_json: bool) -> int:
    """Install the plugin into Claude Code, Codex or Copilot; show what changes first.

    The plugin is written to your own data folder, with the path of this program in its hooks, and the host's
    own commands add it, for all your projects. In Claude Code the status line is added to settings.json; one
    that is there is wrapped. Hooks do nothing in a project without a `passdown.toml`.

    Exits with 0 when it is done or there is nothing to do, and with 1 when it
    was shown and not agreed to.
    """
    root = wiring.find_root(current_folder()) if instructions else None
    home = wiring.open_home(name, sys.argv[0], root)
    plan = plan_install(home)
    if is_fleeting([home.line]):
        output.note("this program was started for once; its path may soon be gone")
        output.note_hint("install it first: `uv tool install passdown`, then repeat")
    return _carry_out(home, plan, _Way(yes=yes, as_json=as_json, line=hook_line(home.line, home.host)))


@click.command()
@_host_argument
@click.option("--purge", "is_purge", is_flag=True, help="Also remove this project's local data.")
@_yes_option
@_json_option
def uninstall(name: str, *, is_purge: bool, yes: bool, as_json: bool) -> int:
    """Take the plugin out of a host again; what you changed meanwhile stays.

    Every file that the install edited is as it was before, but for what you have changed meanwhile. Data of
    projects stays. With --purge the local data of the project around the current folder is listed and, if
    you agree, removed: journals, ledgers, caches. What git tracks stays.

    Exits with 0 when it is done or there is nothing to do, and with 1 when it was shown and not agreed to.
    """
    home = wiring.open_home(name, sys.argv[0])
    local: Sequence[Local] = _find_local() if is_purge else ()
    return _carry_out(home, plan_uninstall(home), _Way(yes=yes, as_json=as_json, local=local))


class _Way:
    """How a plan is to be carried out."""

    def __init__(self, *, yes: bool, as_json: bool, line: str = "", local: Sequence[Local] = ()) -> None:
        self.yes = yes
        self.as_json = as_json
        self.line = line
        self.is_install = bool(line)
        self.local = local


def _find_local() -> Sequence[Local]:
    root = wiring.find_root(current_folder())
    settings, warnings = wiring.read_settings(root)
    for warning in warnings:
        output.note(warning)
    return list_local(wiring.open_site(root, settings))


def _carry_out(home: Home, plan: Plan, way: _Way) -> int:
    if plan.is_empty and not way.local:
        return _say_nothing(home, plan, way)
    if not way.as_json:
        _show(plan, way)
    is_asked = not (way.yes or way.as_json) and output.has_person()
    is_agreed = way.yes or (is_asked and _agrees("Do this?", usual=not way.local))
    removed = _do(home, plan, way) if is_agreed else 0
    for note in plan.notes:
        output.note(note)
    if way.as_json:
        output.say_json(_as_data(home, plan, way, is_done=is_agreed))
    elif is_agreed:
        _say_done(home, way, removed)
    else:
        _say_not_done()
    return 0 if is_agreed else 1


def _do(home: Home, plan: Plan, way: _Way) -> int:
    """Do what was shown, and say how many local files are gone."""
    if way.is_install:
        install_plugin(home, plan)
        return 0
    for note in uninstall_plugin(home, plan):
        output.note(note)
    return purge(way.local)


def _agrees(question: str, *, usual: bool) -> bool:
    try:
        return click.confirm(question, default=usual, err=True)
    except click.Abort:
        output.draw("\n")  # what follows shall not stand behind the question
        raise


def _say_nothing(home: Home, plan: Plan, way: _Way) -> int:
    for note in plan.notes:
        output.note(note)
    if way.as_json:
        output.say_json(_as_data(home, plan, way, is_done=False))
    state = "has the plugin already" if way.is_install else "has nothing of Passdown"
    output.note(f"{home.host.title} {state}; nothing was changed")
    return 0


def _show(plan: Plan, way: _Way) -> None:
    for edit in plan.edits:
        for line in _difference(edit).splitlines():
            output.say(cut(line, width()))
    for folder, files in _by_folder(plan.files).items():
        output.say(f"{folder}: {files}")
    if plan.files and way.is_install:
        output.say(f"hooks call: {one_line(way.line)}")
    for command in plan.commands:
        output.say(f"run: {_spoken(command)}")
    if way.local:
        output.say(f"removed for good, {len(way.local)} local files of this project:")
        for one in way.local[:_SHOWN]:
            output.say(f"  {one_line(one.shown)}")
        if len(way.local) > _SHOWN:
            output.say(f"  and {len(way.local) - _SHOWN} more")


def _difference(edit: Edit) -> str:
    before, after = (data.decode("utf-8", "replace") for data in (edit.before or b"", edit.after or b""))
    return Repair(path=edit.file.path, before=before, after=after).difference(one_line(edit.file.path))


def _by_folder(files: Sequence[Edit]) -> dict[str, str]:
    """Count the files of the plugin: they are ours, and nobody reads them all."""
    if not files:
        return {}
    counts = {
        "new": sum(edit.before is None for edit in files),
        "changed": sum(edit.before is not None and edit.after is not None for edit in files),
        "removed": sum(edit.after is None for edit in files),
    }
    folder = str(Path(files[0].file.path).parents[len(Path(files[0].file.name).parts) - 1])
    words = [f"{count} {word}" for word, count in counts.items() if count]
    return {one_line(folder): f"{', '.join(words)} of the plugin's files"}


def _spoken(command: Sequence[str]) -> str:
    name = Path(command[0]).stem
    return " ".join([name, *(f'"{word}"' if " " in word else word for word in map(one_line, command[1:]))])


def _say_done(home: Home, way: _Way, removed: int) -> None:
    if way.is_install:
        output.say(f"installed into {home.host.title}")
        if home.host.step:
            output.note_hint(home.host.step)
        else:
            output.note_hint("it works from the next session on, in projects with a passdown.toml")
        return
    output.say(f"uninstalled from {home.host.title}")
    if way.local:
        output.say(f"removed: {removed} local files of this project")


def _say_not_done() -> None:
    output.note("nothing was changed")
    if not output.has_person():
        output.note_hint("there is no terminal to ask at; --yes does it without asking")


def _as_data(home: Home, plan: Plan, way: _Way, *, is_done: bool) -> dict[str, object]:
    return {
        "host": home.host.name,
        "done": is_done,
        "line": hook_line(home.line, home.host),
        "changes": [
            {"path": edit.file.path, "is_new": edit.before is None, "difference": _difference(edit)}
            for edit in plan.edits
        ],
        "files": [edit.file.path for edit in plan.files],
        "commands": [list(command) for command in plan.commands],
        "local": [one.shown for one in way.local],
        "notes": list(plan.notes),
        "step": home.host.step if way.is_install else "",
    }


INSTALLS: Final = MappingProxyType({"install": install, "uninstall": uninstall})
