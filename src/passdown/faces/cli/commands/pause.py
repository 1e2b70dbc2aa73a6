"""`passdown pause` and `unpause`: turn everything that runs automatically off and on."""

import click

from passdown.actions.answers import encode
from passdown.actions.project import project
from passdown.core.project.pauses import OFF
from passdown.core.times import render_seconds
from passdown.faces.cli import output
from passdown.faces.cli.calls import call, settle

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.command()
@_json_option
def pause(*, as_json: bool) -> int:
    """Pause Passdown in this project: nothing runs automatically until `unpause`.

    The pause applies to all checkouts of the project on this machine. Commands that you run still work. To
    turn Passdown off for one program only, set PASSDOWN_OFF=1 in its environment.
    """
    answer = call(project.pause, None)
    found = answer.result
    if as_json:
        output.say_json(encode(found))
    elif found.changed:
        output.say(f"paused: {found.mark.by}")
    else:
        since = f" since {render_seconds(found.mark.since)}" if found.mark.since else ""
        output.say(f"already paused{since}")
    settle(answer)
    return 0


@click.command()
@_json_option
def unpause(*, as_json: bool) -> int:
    """Resume Passdown in this project after a pause."""
    answer = call(project.unpause, None)
    found = answer.result
    if as_json:
        output.say_json(encode(found))
    else:
        output.say("Passdown is active again" if found.changed else "Passdown was not paused")
    if OFF in found.where:
        output.note(f"{OFF} is set in your environment and still turns Passdown off")
    settle(answer)
    return 0
