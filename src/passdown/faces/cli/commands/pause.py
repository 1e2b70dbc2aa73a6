"""`passdown pause` and `unpause`: hold off whatever runs by itself, and let it go on."""

import os
from types import MappingProxyType
from typing import Final

import click

from passdown import wiring
from passdown.core.pauses import OFF
from passdown.core.times import render_seconds
from passdown.faces.cli import output
from passdown.faces.cli.project import current_folder
from passdown.services.checkouts import Site
from passdown.services.pauses import Pause, find_pauses
from passdown.services.pauses import pause as pause_project
from passdown.services.pauses import unpause as unpause_project

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.command()
@_json_option
def pause(*, as_json: bool) -> int:
    """Hold Passdown off in this project: what runs by itself does nothing until `unpause`.

    It holds for all checkouts of the project on this machine. Commands that you call still work. To turn
    Passdown off for one program only, set PASSDOWN_OFF=1 in its environment.
    """
    site = _open()
    paused = pause_project(site, wiring.open_clock().now())
    found = find_pauses(site, os.environ)
    if as_json:
        _say_json(found, changed=paused is not None)
    elif paused is not None:
        output.say(f"paused: {paused.by}")
    else:
        marks = [one for one in found if one.by != OFF]
        output.say(f"paused already{_since(marks[0])}")
    return 0


@click.command()
@_json_option
def unpause(*, as_json: bool) -> int:
    """Let Passdown work again in this project."""
    site = _open()
    gone = unpause_project(site)
    found = find_pauses(site, os.environ)
    if as_json:
        _say_json(found, changed=bool(gone))
    else:
        output.say("works again" if gone else "was not paused")
    if any(one.by == OFF for one in found):
        output.note(f"{OFF} is set in your environment, and still turns it off")
    return 0


def _open() -> Site:
    root = wiring.find_root(current_folder())
    settings, warnings = wiring.read_settings(root)
    for warning in warnings:
        output.note(warning)
    return wiring.open_site(root, settings)


def _since(paused: Pause) -> str:
    return f" since {render_seconds(paused.since)}" if paused.since else ""


def _say_json(found: tuple[Pause, ...], *, changed: bool) -> None:
    output.say_json({"is_paused": bool(found), "changed": changed, "where": [one.by for one in found]})


SWITCHES: Final = MappingProxyType({"pause": pause, "unpause": unpause})
