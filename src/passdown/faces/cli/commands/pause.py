"""`passdown pause` and `unpause`: turn everything that runs automatically off and on."""

import os

import click

from passdown.core.project.pauses import OFF
from passdown.core.times import render_seconds
from passdown.faces.cli import output
from passdown.faces.cli.project import current_folder
from passdown.services.project.pauses import Pause, find_pauses
from passdown.services.project.pauses import pause as pause_project
from passdown.services.project.pauses import unpause as unpause_project
from passdown.services.workspace.workspaces import Workspace
from passdown.wiring.projects import find_root, read_settings
from passdown.wiring.workspaces import open_workspace

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.command()
@_json_option
def pause(*, as_json: bool) -> int:
    """Pause Passdown in this project: nothing runs automatically until `unpause`.

    The pause applies to all checkouts of the project on this machine. Commands that you run still work. To
    turn Passdown off for one program only, set PASSDOWN_OFF=1 in its environment.
    """
    workspace = _open()
    paused = pause_project(workspace, workspace.now())
    found = find_pauses(workspace, os.environ)
    if as_json:
        _say_json(found, changed=paused is not None)
    elif paused is not None:
        output.say(f"paused: {paused.by}")
    else:
        marks = [one for one in found if one.by != OFF]
        output.say(f"already paused{_since(marks[0])}")
    return 0


@click.command()
@_json_option
def unpause(*, as_json: bool) -> int:
    """Resume Passdown in this project after a pause."""
    workspace = _open()
    gone = unpause_project(workspace)
    found = find_pauses(workspace, os.environ)
    if as_json:
        _say_json(found, changed=bool(gone))
    else:
        output.say("Passdown is active again" if gone else "Passdown was not paused")
    if any(one.by == OFF for one in found):
        output.note(f"{OFF} is set in your environment and still turns Passdown off")
    return 0


def _open() -> Workspace:
    root = find_root(current_folder())
    settings, warnings = read_settings(root)
    for warning in warnings:
        output.note(warning)
    return open_workspace(root, settings)


def _since(paused: Pause) -> str:
    return f" since {render_seconds(paused.since)}" if paused.since else ""


def _say_json(found: tuple[Pause, ...], *, changed: bool) -> None:
    output.say_json({"is_paused": bool(found), "changed": changed, "where": [one.by for one in found]})
