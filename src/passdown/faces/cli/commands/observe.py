"""Record what a host's transcript and git show about a session."""

from pathlib import Path

import click

from passdown.actions.sessions import observations as actions
from passdown.core.kinds import FactKind
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.hosts import HostChoice


@click.command()
@click.argument("transcript", required=False, type=click.Path(path_type=Path))
@click.option("--session", default="", metavar="ID", help="The session to observe.")
@click.option(
    "--host",
    type=HostChoice(),
    help="The program that wrote the transcript (default: guessed from the file name).",
)
@options.json
def command(transcript: Path | None, session: str, host: str | None, *, as_json: bool) -> int:
    """Record what a host's transcript and git show about a session.

    Without TRANSCRIPT, reads git only. Prompts, commands, plans, and which files were read, stay on this
    machine. Nothing is recorded twice.
    """
    answer = call(actions.observe, actions.ObserveRequest(transcript=transcript, host=host or ""), session)
    if unread := answer.result.passed_over:
        output.note(f"{output.counted(unread, 'line')} of the transcript could not be read")
    show(answer, _say_observed, as_json=as_json)
    return 0


def _say_observed(found: actions.ObservedFacts) -> None:
    """Print how many facts were new; kinds without a name of their own are counted together."""
    counted: list[str] = []
    rest = 0
    for kind in FactKind:
        one, many = kind.row.observed_as
        number = found.counts.get(many, 0)
        if not one:
            rest += number
        elif number:
            failed = f" ({found.failed_tests} failed)" if kind is FactKind.TEST and found.failed_tests else ""
            counted.append(f"{output.counted(number, one, many)}{failed}")
    if rest:
        counted.append(output.counted(rest, "other fact"))
    output.say(f"observed {', '.join(counted) or 'nothing new'}")
