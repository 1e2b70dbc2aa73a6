"""`passdown archive`: verify what is archived, and remove old copies."""

from collections.abc import Sequence
from typing import Final

import click

from passdown.actions.log import archives as actions
from passdown.core.safe_text import one_line
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.lines import minute
from passdown.faces.cli.status import say_index
from passdown.services.log.event_archive import ArchiveProblem

_USUAL: Final = "30d"


@click.group(invoke_without_command=True)
@options.json
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> int:
    """Verify the archive, and remove old copies.

    Without a subcommand, verifies the archive. `passdown search` also finds archived events.
    """
    return 0 if context.invoked_subcommand is not None else _verify(as_json=as_json)


@command.command(short_help="Check archived events and records.")
@options.json
def verify(*, as_json: bool) -> int:
    """Check rollups, the archived events against them, and the records of sessions.

    Also tells whether the search index is up to date. Exits with 1 if something is wrong.
    """
    return _verify(as_json=as_json)


def _verify(*, as_json: bool) -> int:
    found = show(call(actions.verify, None), _say_report, as_json=as_json)
    return 0 if found.is_good else 1


def _say_report(found: actions.ArchiveReport) -> None:
    output.say(f"archived events: {found.events} in {output.counted(found.rollups, 'rollup')}")
    output.say(f"separate copies: {found.copies}")
    output.say(f"session records: {found.records}")
    say_index(found.index)
    _say_problems(found.problems)
    output.note(output.counted(len(found.problems), "problem") if found.problems else "no problems found")


def _say_problems(problems: Sequence[ArchiveProblem]) -> None:
    for one in problems:
        output.say(output.wrapped(f"{one_line(one.path)}: {one_line(one.problem)}", "", "  "))


@command.command("clean", short_help="Remove old copies of archived events.")
@click.option(
    "--older",
    default=_USUAL,
    metavar="AGE",
    help="Only events older than this age or date (default: 30d).",
)
@click.option("--yes", is_flag=True, help="Remove them; without it, only shows what would be removed.")
@options.json
def clean_copies(*, older: str, yes: bool, as_json: bool) -> int:
    """Remove the files of archived events that a rollup holds completely.

    Removes only events older than 30 days, or as --older says. Each is compared with its rollup first; it
    stays if no rollup holds it, if it cannot be read, or if it is not committed yet. Rollups and records of
    sessions are never removed. Commit the removal yourself: Passdown commits no deletion.
    """
    request = actions.CleaningRequest(older=older, is_confirmed=yes)
    show(call(actions.clean, request), _say_cleaned, as_json=as_json)
    return 0


def _say_cleaned(found: actions.CleanedArchive) -> None:
    since = f"from before {minute(found.before)}"
    if found.is_dry_run:
        for path in found.due:
            output.say(one_line(path))
        output.say(
            f"would remove {output.counted(len(found.due), 'copy', 'copies')} of archived events {since}"
        )
    else:
        removed = output.counted(len(found.removed), "copy", "copies")
        output.say(f"removed {removed} of archived events {since}")
    _say_problems([one._replace(problem=f"kept: it {one.problem}") for one in found.kept])
    if found.due and found.is_dry_run:
        output.note_hint("remove them with --yes; the rollups keep the same events")
    elif found.removed:
        output.note_hint(f"commit it: `git add --update -- {found.folder}`, then `git commit`")
