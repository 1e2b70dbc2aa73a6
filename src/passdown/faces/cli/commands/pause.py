"""`passdown pause` and `unpause`: turn everything that runs automatically off and on."""

import click

from passdown.actions.project import project
from passdown.core.project.pauses import OFF
from passdown.core.times import render_seconds
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show


@click.command()
@options.json
def pause(*, as_json: bool) -> int:
    """Pause Passdown in this project; nothing runs automatically until `unpause`.

    Applies to all checkouts of the project on this machine. Commands that you run still work. To turn
    Passdown off for one program only, set PASSDOWN_OFF=1 in its environment.
    """
    show(call(project.pause, None), _say_paused, as_json=as_json)
    return 0


def _say_paused(found: project.PauseResult) -> None:
    since = f" since {render_seconds(found.mark.since)}" if found.mark.since else ""
    output.say(f"paused: {found.mark.by}" if found.changed else f"already paused{since}")


@click.command()
@options.json
def unpause(*, as_json: bool) -> int:
    """Resume Passdown in this project after a pause."""
    words = ("Passdown was not paused", "Passdown is active again")
    answer = call(project.unpause, None)
    found = show(answer, lambda one: output.say(words[one.changed]), as_json=as_json)
    if OFF in found.where:
        output.note(f"{OFF} is set in your environment and still turns Passdown off")
    return 0
