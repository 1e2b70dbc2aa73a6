"""`passdown archive`: verify what is archived, and remove old copies."""

from collections.abc import Sequence
from typing import Final

import click

from passdown.core.safe_text import one_line
from passdown.core.times import render_seconds
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.commands.log import read_since
from passdown.faces.cli.lines import minute
from passdown.faces.cli.sessions import open_sessions
from passdown.faces.cli.status import say_index
from passdown.services.log.event_archive import (
    ArchiveProblem,
    ArchiveVerdict,
    CleaningPlan,
    clean,
    plan_cleaning,
    verify_archive,
)
from passdown.services.project.status import IndexState, find_index_state
from passdown.wiring.searches import open_search_scope

_USUAL: Final = "30d"
_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group(invoke_without_command=True)
@_json_option
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> int:
    """Verify what is archived, and remove old copies.

    Without a subcommand, verifies. `passdown search` finds what is archived, too.
    """
    context.obj = as_json
    return 0 if context.invoked_subcommand is not None else _verify(as_json=as_json)


@command.command(short_help="Check archived events and records.")
@_json_option
@click.pass_obj
def verify(above: bool, *, as_json: bool) -> int:
    """Check rollups, the archived events against them, and the records of sessions.

    Also says whether the search index has all of it. Exits with 1 if something is wrong.
    """
    return _verify(as_json=above or as_json)


def _verify(*, as_json: bool) -> int:
    workspace = open_sessions()
    verdict = verify_archive(workspace)
    index = find_index_state(open_search_scope(workspace))
    if as_json:
        output.say_json(_verdict_data(verdict, index))
    else:
        _say_verdict(verdict, index)
    return 1 if verdict.problems else 0


def _verdict_data(verdict: ArchiveVerdict, index: IndexState) -> dict[str, object]:
    return {
        "is_good": not verdict.problems,
        "copies": verdict.copies,
        "rollups": verdict.rollups,
        "events": verdict.events,
        "records": verdict.records,
        "index": {"state": index.health.value, "changes": index.changes},
        "problems": _problem_data(verdict.problems),
    }


def _problem_data(problems: Sequence[ArchiveProblem]) -> list[dict[str, str]]:
    return [{"path": one_line(one.path), "problem": one_line(one.problem)} for one in problems]


def _say_verdict(verdict: ArchiveVerdict, index: IndexState) -> None:
    output.say(f"archived events: {verdict.events} in {output.counted(verdict.rollups, 'rollup')}")
    output.say(f"copies of them: {verdict.copies}")
    output.say(f"records of sessions: {verdict.records}")
    output.say(say_index(index))
    _say_problems(verdict.problems)
    output.note(output.counted(len(verdict.problems), "problem") if verdict.problems else "no problems found")


def _say_problems(problems: Sequence[ArchiveProblem]) -> None:
    for one in problems:
        output.say(output.wrapped(f"{one_line(one.path)}: {one_line(one.problem)}", "", "  "))


@command.command("clean", short_help="Remove old copies of archived events.")
@click.option(
    "--older",
    default=_USUAL,
    metavar="AGE",
    help="Only events older than this age or date, as in 30d (the default).",
)
@click.option("--yes", is_flag=True, help="Remove them; without it, only shows what would be removed.")
@_json_option
@click.pass_obj
def clean_copies(above: bool, *, older: str, yes: bool, as_json: bool) -> int:
    """Remove the files of archived events that a rollup holds whole.

    Only events older than 30 days, or as --older says. Each is compared with its rollup first; one that no
    rollup holds, that cannot be read, or that is not committed yet stays. Rollups and records of sessions are
    never removed. Commit the removal yourself: Passdown commits no deletion.
    """
    workspace = open_sessions()
    before = read_since(older, workspace.clock.now())
    if before is None:
        raise UsageError(f"--older: `{older}` is before the first date", hint="write an age, as in 30d")
    plan = plan_cleaning(workspace, before)
    removed = clean(workspace, plan) if yes else ()
    if above or as_json:
        output.say_json(
            {
                "is_dry_run": not yes,
                "before": render_seconds(plan.before),
                "due": list(plan.due),
                "removed": list(removed),
                "kept": _problem_data(plan.kept),
            }
        )
    else:
        _say_cleaned(plan, removed, workspace.settings.paths.event_archive, is_done=yes)
    return 0


def _say_cleaned(plan: CleaningPlan, removed: Sequence[str], folder: str, *, is_done: bool) -> None:
    since = f"from before {minute(plan.before)}"
    if is_done:
        output.say(f"removed {output.counted(len(removed), 'copy', 'copies')} of archived events {since}")
    else:
        for path in plan.due:
            output.say(one_line(path))
        output.say(
            f"would remove {output.counted(len(plan.due), 'copy', 'copies')} of archived events {since}"
        )
    _say_problems([one._replace(problem=f"stays: it {one.problem}") for one in plan.kept])
    if plan.due and not is_done:
        output.note_hint("--yes removes them; their rollups hold the same events")
    elif removed:
        output.note_hint(f"commit it: `git add --update -- {folder}`, then `git commit`")
