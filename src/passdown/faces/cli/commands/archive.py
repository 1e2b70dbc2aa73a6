"""`passdown archive`: verify what is archived, archive what is due, and settle conflicts of archiving."""

from collections.abc import Sequence
from typing import Final

import click

from passdown.actions.log import archives as actions
from passdown.core.safe_text import one_line
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.lines import minute
from passdown.faces.cli.status import say_index
from passdown.ports.repository import Committed, Skipped, SkipReason
from passdown.services.log.event_archive import ArchiveProblem

_USUAL: Final = "30d"


@click.group(invoke_without_command=True)
@options.json
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> int:
    """Verify the archive, archive what is due, and settle conflicts.

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


@command.command(short_help="Archive everything that is due, in one commit.")
@click.option("--dry-run", is_flag=True, help="Only show what would be archived.")
@click.option("--yes", is_flag=True, help="Do not ask. Without a terminal it never asks.")
@click.option(
    "--always/--no-always",
    default=None,
    help="Let sessions in this clone archive from now on, or no longer.",
)
@options.json
def run(*, dry_run: bool, yes: bool, always: bool | None, as_json: bool) -> int:
    """Archive everything that is due, in one commit on the integration branch.

    Events older than [events] retention_days get a rollup of their day, and their files move to the
    archive. Copies in the archive are removed after 30 days. With [events] archiver = "job", while git tracks
    more than 2,000 single files, days that are over are rolled up at once, oldest first, and their files are
    removed.

    Only one clone of a project may archive: if two remove the same files, git reports conflicts. So a clone
    that others write events beside refuses, unless the committed passdown.toml sets `archive = false` or
    `archiver = "job"` below [events]. It also refuses where the branch lacks commits of its upstream as last
    fetched, and during a merge or rebase.

    A file is removed only if the last commit has it and a rollup holds the same event; all others are kept.
    If it is interrupted, nothing is lost, and the next run continues. Push the commit before another clone
    archives.

    Exits with 0 if it is done or nothing is due, and with 1 if it refused, or if git could not commit.
    """
    if not (dry_run or yes or as_json) and output.has_person():
        planned = call(actions.run, actions.ArchivingRequest(is_dry_run=True)).result
        _say_run(planned)
        is_due = bool(planned.moved or planned.removed or planned.interrupted)
        is_agreed = is_due and output.agrees("Archive them?", usual=True)
        if not is_agreed and always is None:
            return 0
    request = actions.ArchivingRequest(is_dry_run=dry_run, always=always)
    done = show(call(actions.run, request), _say_run, as_json=as_json)
    return 1 if _has_failed(done.commit) else 0


def _has_failed(commit: Committed | Skipped | None) -> bool:
    return isinstance(commit, Skipped) and commit.why is not SkipReason.NOTHING


def _say_commit(commit: Committed | Skipped | None) -> None:
    if isinstance(commit, Committed):
        output.say(f"committed as {commit.commit[:12]}")
        if output.has_person():
            output.note_hint("push it before another clone archives")
    elif isinstance(commit, Skipped) and _has_failed(commit):
        output.note(f"not committed: {commit.reason}")
        output.note_hint(f"{commit.hint}; then run `passdown archive run` again")


def _say_run(found: actions.ArchiveRun) -> None:
    would = "would be " if found.is_dry_run else ""
    parts = [
        f"{output.counted(found.moved, 'event')} {would}moved to the archive" if found.moved else "",
        f"{output.counted(found.removed, 'file')} {would}removed" if found.removed else "",
        f"{output.counted(found.interrupted, 'file')} removed by an interrupted run"
        if found.interrupted
        else "",
    ]
    output.say("; ".join(filter(None, parts)) or "nothing to archive")
    if found.rollups:
        output.say(f"new rollups: {found.rollups}")
    if found.uncommitted:
        events = output.counted(found.uncommitted, "event")
        output.say(f"{events} not committed yet, so not archived")
    _say_problems([one._replace(problem=f"kept: it {one.problem}") for one in found.kept])
    _say_commit(found.commit)
    if found.is_chosen and not found.is_dry_run:
        output.note("sessions archive in this clone; `passdown archive run --no-always` ends that")
        if not found.is_automatic:
            output.note("but `archive = false` below [events] keeps them from it; archive by hand")


@command.command(short_help="Settle conflicts that archiving in several clones made.")
@options.json
def resolve(*, as_json: bool) -> int:
    """Settle git's conflicts in events and archived events, during a merge, rebase or cherry-pick.

    Git reports them if several clones removed or moved the same files. A file is removed only if a rollup of
    the merged tree holds the same event, byte for byte; events that no rollup holds stay. Other files are
    left alone, and nothing is committed: it says how to go on. A rebase may stop again; then run it again.

    Exits with 0 if no conflict in files of events is left, and with 1 if you have to settle one yourself.
    """
    found = show(call(actions.resolve, None), _say_resolution, as_json=as_json)
    return 1 if found.left else 0


def _say_resolution(found: actions.Resolution) -> None:
    if found.command is None:
        output.say("no conflict in events or archived events")
        return
    output.say(f"settled {output.counted(len(found.settled), 'conflict')} of {found.command}")
    for path in found.left:
        output.say(f"not settled: {one_line(path)}: no rollup holds what it would lose, or its texts differ")
    if found.others:
        output.note(f"{output.counted(found.others, 'other file')} with conflicts; settle them, then go on")
    elif not found.left:
        output.note_hint(f"go on with `{found.proceed}`")


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

    Removes only events older than 30 days, or as --older says, and commits that, as `passdown archive run`
    does; it refuses where that refuses. Each file is compared with its rollup first; it stays if no intact
    rollup holds it, if it cannot be read, or if it is not as in the last commit. Rollups and records of
    sessions are never removed.
    """
    request = actions.CleaningRequest(older=older, is_confirmed=yes)
    done = show(call(actions.clean, request), _say_cleaned, as_json=as_json)
    return 1 if _has_failed(done.commit) else 0


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
    elif isinstance(found.commit, Committed):
        output.say(f"committed as {found.commit.commit[:12]}")
    elif isinstance(found.commit, Skipped) and _has_failed(found.commit):
        output.note(f"not committed: {found.commit.reason}")
        output.note_hint(f"{found.commit.hint}; then run `passdown archive run`")
