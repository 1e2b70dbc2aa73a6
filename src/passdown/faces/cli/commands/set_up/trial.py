"""`passdown try`: show the whole life of a few sessions in a temporary repository."""

import shlex
import sys

import click

from passdown.actions.project import trials
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call_bare, show


@click.command()
@options.json
def command(*, as_json: bool) -> int:
    """Show what Passdown does, in a temporary repository.

    Runs the commands that agents would type and prints their output: an agent records what it knows, its
    terminal is killed, and the next agent goes on. It takes a few seconds, needs git, and leaves nothing
    behind: the repository and its home folder are removed at the end.
    """
    show(call_bare(trials.try_out, None, is_anywhere=True), _say, as_json=as_json)
    return 0


def _say(found: trials.TrialResult) -> None:
    for step in found.steps:
        if step.title:
            output.say(("" if step is found.steps[0] else "\n") + _fit(step.title, "# ", "# "))
        output.say(f"\n{_fit(shlex.join(step.command), '$ ')}")
        output.say("\n".join(_fit(line) for line in step.output.rstrip().split("\n")))
    output.note("the temporary repository is gone; nothing was left behind")
    output.note_hint("to set it up in your own: `passdown init`, then `passdown install`")


def _fit(line: str, first: str = "", indent: str = "  ") -> str:
    """Break a long line between words at a terminal, as the commands themselves would there."""
    is_long = output.is_terminal(sys.stdout) and len(first) + len(line) > output.columns()
    return output.wrapped(line, first, indent) if is_long else f"{first}{line}"
